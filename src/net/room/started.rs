//! The end of a room's work: what all have agreed on before tick 0.

use alloc::boxed::Box;

use super::agreed::Handover;
use super::guest::Guest;
use super::host::Host;
use super::settings::Settings;
use crate::connection::Connection;
use crate::connection::keys::{CipherKind, SecretRng};
use crate::connection::signing::Signer;
use crate::discovery::Beacon;
use crate::drop_cause::{DropCause, Handled};
use crate::outbox::{Outbox, Source};
use crate::time::Time;
use crate::wire::message::{MatchConfig, Seats};
use sim::PlayerId;

/// A room whose players have agreed on tick 0: a match begins with it.
pub struct Started {
    pub(crate) given: Handover,
    pub(crate) room: Room,
}

/// The room of a match while ticks run: it answers those who are not in the match, and takes all back after it.
pub enum Room {
    /// That of a host, or a server.
    Host(Box<Host>),
    /// That of a guest, or a server's client.
    Guest(Box<Guest>),
}

impl Host {
    /// Hands over the connections to the match that begins.
    ///
    /// # Panics
    /// If tick 0 is not agreed.
    #[must_use]
    pub fn into_started(mut self) -> Started {
        Started { given: self.hand_over(), room: Room::Host(Box::new(self)) }
    }
}

impl Guest {
    /// Hands over the connections to the match that begins.
    ///
    /// # Panics
    /// If tick 0 is not agreed.
    #[must_use]
    pub fn into_started(mut self) -> Started {
        Started { given: self.hand_over(), room: Room::Guest(Box::new(self)) }
    }
}

impl Started {
    /// The configuration of the match.
    #[must_use]
    pub const fn config(&self) -> &MatchConfig {
        self.room.config()
    }

    /// Reports each datagram of the match as [`Event::Datagram`](crate::Event::Datagram).
    pub fn trace_datagrams(&mut self) {
        let config = *self.config();
        for (player, connection) in self.given.peers.iter_mut() {
            connection.trace_datagrams(player, config);
        }
    }
}

impl Room {
    pub(crate) const fn config(&self) -> &MatchConfig {
        match self {
            Self::Host(host) => host.config(),
            Self::Guest(guest) => guest.config(),
        }
    }

    pub(crate) const fn player(&self) -> PlayerId {
        match self {
            Self::Host(host) => host.player(),
            Self::Guest(guest) => guest.player(),
        }
    }

    /// The settings of the player here, and the key with which it signs; none at a server.
    pub(crate) fn own(&self) -> Option<(&Settings, &Signer, CipherKind)> {
        match self {
            Self::Host(host) => host.own(),
            Self::Guest(guest) => Some(guest.own()),
        }
    }

    /// Takes all back after a match.
    pub(crate) fn again(
        self,
        now: Time,
        peers: impl Iterator<Item = (PlayerId, Connection)>,
        out: Outbox,
    ) -> Self {
        match self {
            Self::Host(mut host) => {
                host.again(now, peers, out);
                Self::Host(host)
            }
            Self::Guest(mut guest) => {
                guest.again(now, peers, out);
                Self::Guest(guest)
            }
        }
    }

    pub(crate) fn draw(&mut self) -> SecretRng {
        match self {
            Self::Host(host) => host.draw(),
            Self::Guest(guest) => guest.draw(),
        }
    }

    /// Handles a datagram of no connection of the match.
    pub(crate) fn receive(&mut self, now: Time, from: Source, bytes: &[u8], out: &mut Outbox) -> Handled {
        match self {
            // Nobody gets a seat while ticks run.
            Self::Host(host) => host.receive(now, (from, bytes), Seats::default(), out).map(drop),
            Self::Guest(_) => Err(DropCause::Unauthenticated),
        }
    }

    pub(crate) fn connection_ids(&self) -> impl Iterator<Item = u32> {
        let host = if let Self::Host(host) = self { Some(host) } else { None };
        host.into_iter().flat_map(|host| host.reception.connection_ids())
    }

    pub(crate) fn flush(&mut self, now: Time, out: &mut Outbox) {
        if let Self::Host(host) = self {
            host.reception.closing.flush(now, out);
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Time> {
        if let Self::Host(host) = self { host.reception.closing.poll_timeout() } else { None }
    }

    pub(crate) const fn beacon(&self) -> Option<&Beacon> {
        if let Self::Host(host) = self { host.beacon() } else { None }
    }
}
