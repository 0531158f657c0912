//! A client as the server sees it: its link, its inputs, and how it has behaved.

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::ops::{Deref, DerefMut};

use super::queue::InputQueue;
use crate::net::connection::protection::SealedPacket;
use crate::net::drop_cause::{DropCause, Handled};
use crate::net::rate_limit::TokenBucket;
use crate::net::table::chat::ChatLimit;
use crate::net::table::link::Link;
use crate::net::time::Time;
use crate::net::wire::message::{SeatInfo, Token};
use crate::sim::{PLAYERS_MAX, PlayerId, Tick, TickRate};

/// How many refusals a client may collect before it is expelled. What does not open, a repetition above all, is not
/// one of them: links and strangers repeat datagrams, too.
const REFUSALS_MAX: u32 = 128;
/// Refusals that are forgiven each second: inputs of an honest client may come out of place after an outage.
const FORGIVEN_PER_S: u64 = 4;
/// Datagrams that a client may send in a tick, over a second.
const DATAGRAMS_PER_TICK: u64 = 3;

/// Whether somebody sits in a seat.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Here,
    /// Not heard; the seat is kept until then.
    Away {
        until: Time,
    },
    Left,
    Lost,
}

/// How a client was let in: said again where the request comes again.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) nonce: u64,
    /// Where the request came from, and the only address that [`Self::confirm`] goes to: it holds the token.
    pub(super) from: SocketAddr,
    pub(super) token: Token,
    pub(super) confirm: SealedPacket,
}

/// The clients, by seat.
#[derive(Debug)]
pub(super) struct Clients(ArrayVec<Option<ClientConnection>, PLAYERS_MAX>);

impl Clients {
    pub(super) fn new(seats: usize) -> Self {
        Self(core::iter::repeat_with(|| None).take(seats).collect())
    }

    /// Who sits there.
    pub(super) fn at(&self, seat: usize) -> Option<&ClientConnection> {
        self.0.get(seat)?.as_ref()
    }

    /// The same.
    pub(super) fn at_mut(&mut self, seat: usize) -> Option<&mut ClientConnection> {
        self.0.get_mut(seat)?.as_mut()
    }

    /// Who sits there gets up.
    pub(super) fn take(&mut self, seat: usize) -> Option<ClientConnection> {
        self.0.get_mut(seat)?.take()
    }

    /// Sits down in its seat.
    pub(super) fn put(&mut self, client: ClientConnection) {
        if let Some(seat) = self.0.get_mut(client.player.index()) {
            *seat = Some(client);
        }
    }
}

impl Deref for Clients {
    type Target = [Option<ClientConnection>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Clients {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// One client's end of the server.
#[derive(Debug)]
pub(super) struct ClientConnection {
    pub(super) player: PlayerId,
    pub(super) seat: SeatInfo,
    pub(super) admission: Admission,
    pub(super) link: Link,
    pub(super) queue: InputQueue,
    pub(super) chat_limit: ChatLimit,
    pub(super) standing: Standing,
    /// The surrender that a departure makes is still to be played.
    pub(super) departs: bool,
    /// The tick of the newest update it has: everything before it is known there. `None` for one that has come
    /// back and has nothing yet.
    pub(super) updated: Option<Tick>,
    /// Commands that named units of others.
    pub(super) foreign_commands: u32,
    /// How much was refused of what it is answerable for.
    pub(super) rejected: u32,
    /// Updates left out: they were too large, or beyond the cap.
    pub(super) skipped: u32,
    /// Inputs that came, and those of them that came after their tick was due.
    pub(super) inputs: u32,
    pub(super) late: u32,
    refusals: TokenBucket,
    datagrams: TokenBucket,
    pub(super) bits: TokenBucket,
}

impl ClientConnection {
    pub(super) fn new(
        now: Time,
        seat: SeatInfo,
        admission: Admission,
        link: Link,
        rate: TickRate,
        bits_per_s: u64,
    ) -> Self {
        let datagrams = DATAGRAMS_PER_TICK * u64::from(rate.hz());
        Self {
            player: link.player,
            seat,
            admission,
            link,
            queue: InputQueue::new(),
            chat_limit: ChatLimit::of_others(now, 1),
            standing: Standing::Here,
            departs: false,
            updated: Some(Tick(0)),
            foreign_commands: 0,
            rejected: 0,
            skipped: 0,
            inputs: 0,
            late: 0,
            refusals: TokenBucket::new(now, u64::from(REFUSALS_MAX), FORGIVEN_PER_S),
            datagrams: TokenBucket::new(now, datagrams, datagrams),
            bits: TokenBucket::new(now, bits_per_s / 20, bits_per_s),
        }
    }

    /// The same player, who has nothing yet, on another link.
    pub(super) fn returned(self, admission: Admission, link: Link) -> Self {
        let (queue, standing, updated) = (InputQueue::new(), Standing::Here, None);
        let mut link = link;
        link.connection.traffic = self.link.connection.traffic;
        Self { admission, link, queue, standing, updated, ..self }
    }

    /// Whether there is still somebody whose seat this is.
    pub(super) const fn is_in(&self) -> bool {
        matches!(self.standing, Standing::Here | Standing::Away { .. })
    }

    /// Whether updates go there.
    pub(super) fn is_playing(&self) -> bool {
        matches!(self.standing, Standing::Here) && self.link.is_ready()
    }

    /// Counts what came under its connection id.
    pub(super) const fn count_received(&mut self, bytes: usize) {
        let traffic = &mut self.link.connection.traffic;
        traffic.packets_received += 1;
        traffic.bytes_received += bytes as u64;
    }

    /// Counts a datagram that was opened, unless there are too many.
    pub(super) fn count_opened(&mut self, now: Time) -> Handled {
        if self.datagrams.take(now, 1) { Ok(()) } else { Err(DropCause::RateLimited) }
    }

    /// Counts something that this client is answerable for. False if there was too much of it.
    pub(super) fn reject(&mut self, now: Time) -> bool {
        self.rejected = self.rejected.saturating_add(1);
        self.refusals.take(now, 1)
    }
}
