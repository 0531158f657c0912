//! A guest's way into a match: it asks until the host answers, and ends with a [`Seat`] or a reason.
//!
//! Sans-IO, with the verbs of [`super::LockstepSession`]. Who answers decides what plays the match: a seat of
//! a peer is taken by [`super::LockstepSession::seated`], a seat of a server by
//! [`super::ClientSession::seated`].

use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

use super::connection::protection::PacketProtection;
use super::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use super::event::{End, Event, Traffic};
use super::outbox::{Outbox, Transmit};
use super::table::settings::{GuestConfig, Settings};
use super::time::Time;
use super::wire::architecture::Architecture;
use super::wire::message::{
    JoinChallenge, JoinConfirm, JoinRefused, JoinRequest, Malformed, PROTOCOL_VERSION, PacketId, Refusal,
    decode_handshake, handshake, handshake_nonce,
};
use crate::sim::{PLAYERS_MAX, PlayerId, SIMULATION_BUILD};

/// Interval between requests until there is an answer.
const REQUEST_EVERY: Duration = Duration::from_millis(200);

/// A request for a seat, until it is answered.
pub struct Join {
    now: Time,
    settings: Settings,
    host: SocketAddr,
    request: JoinRequest,
    /// When to ask again.
    ask_at: Time,
    via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
    give_up_at: Option<Time>,
    phase: Phase,
    rng: ChaCha12Rng,
    out: Outbox,
}

#[derive(Clone, Copy)]
enum Phase {
    Asking,
    Confirmed(JoinConfirm),
    Closed,
}

/// What a host or a server answers.
enum Answer {
    /// Ask again with this cookie.
    Cookie([u8; 16]),
    Confirmed(JoinConfirm),
    Refused(Refusal),
}

/// A seat that a host or a server gave.
pub struct Seat {
    /// The player's settings.
    pub(super) settings: Settings,
    /// The address that gave it.
    pub(super) at: SocketAddr,
    /// The host's or server's answer.
    pub(super) confirm: JoinConfirm,
    /// Protects the datagrams between both ends.
    pub(super) protection: PacketProtection,
    /// Fingerprint of the room code, for joining again.
    pub(super) room_code: u64,
    /// Fixed addresses of other guests.
    pub(super) via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
    /// How long to wait for the start of a match between peers.
    pub(super) give_up_at: Option<Time>,
    pub(super) rng: ChaCha12Rng,
    pub(super) out: Outbox,
}

impl Seat {
    /// Who computes the match.
    #[must_use]
    pub const fn architecture(&self) -> Architecture {
        self.confirm.config.architecture
    }
}

impl Join {
    /// Starts to ask. `entropy` must be unpredictable: the nonce and the connection id are derived from it.
    #[must_use]
    pub fn new(now: Time, settings: Settings, guest: GuestConfig, entropy: [u8; 32]) -> Self {
        let mut rng = ChaCha12Rng::from_seed(entropy);
        let request = request(&settings, &guest, rng.next_u64(), rng.next_u32());
        Self {
            now,
            give_up_at: settings.wait.map(|wait| now.plus(wait)),
            settings,
            host: guest.host,
            request,
            ask_at: now,
            via: guest.via,
            phase: Phase::Asking,
            rng,
            out: Outbox::new(Traffic::default()),
        }
    }

    /// The same, with datagrams that are still to be sent before the first request.
    pub(super) fn after(mut self, mut out: Outbox) -> Self {
        out.traffic = Traffic::default();
        self.out = out;
        self
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        self.now = self.now.max(now);
        self.out.count_received(bytes.len());
        let handled = self.on_answer(from, bytes);
        self.out.traffic.count(handled);
    }

    fn on_answer(&mut self, from: SocketAddr, bytes: &[u8]) -> Handled {
        let (&first, body) = bytes.split_first().ok_or(DropCause::Malformed)?;
        let id = PacketId::of(first).ok_or(DropCause::Malformed)?;
        let is_answer = matches!(id, PacketId::JoinChallenge | PacketId::JoinConfirm | PacketId::JoinRefused);
        if !is_answer || from != self.host || !matches!(self.phase, Phase::Asking) {
            return Err(OutOfPlace);
        }
        match self.read(id, body)? {
            Answer::Cookie(cookie) => (self.request.cookie, self.ask_at) = (cookie, self.now),
            Answer::Confirmed(confirm) if is_consistent(&confirm) => self.phase = Phase::Confirmed(confirm),
            // Counts as no answer.
            Answer::Confirmed(_) => return Err(OutOfPlace),
            Answer::Refused(reason) => self.close(End::Refused(reason)),
        }
        Ok(())
    }

    /// Reads an answer to this request, given without its packet id. A host of another version refuses.
    fn read(&self, id: PacketId, bytes: &[u8]) -> Result<Answer, DropCause> {
        let is_ours = handshake_nonce(bytes) == Some(self.request.nonce);
        let read = match id {
            PacketId::JoinChallenge => {
                decode_handshake(id, bytes).map(|challenge: JoinChallenge| Answer::Cookie(challenge.cookie))
            }
            PacketId::JoinConfirm => decode_handshake(id, bytes).map(Answer::Confirmed),
            _ => decode_handshake(id, bytes).map(|refused: JoinRefused| Answer::Refused(refused.reason)),
        };
        match read {
            Ok(_) | Err(Malformed::Version { .. }) if !is_ours => Err(DropCause::Unauthenticated),
            Err(Malformed::Version { theirs }) => {
                Ok(Answer::Refused(Refusal::Protocol { host: theirs, guest: PROTOCOL_VERSION }))
            }
            other => Ok(other?),
        }
    }

    /// Asks again, or gives up, if either is due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        if !matches!(self.phase, Phase::Asking) {
            return;
        }
        if self.give_up_at.is_some_and(|at| self.now >= at) {
            self.close(End::NoAnswer);
        } else if self.now >= self.ask_at {
            self.ask_at = self.now.plus(REQUEST_EVERY);
            self.out.transmit(self.host, handshake(PacketId::JoinRequest, &self.request));
        }
    }

    /// When [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let asks = matches!(self.phase, Phase::Asking).then_some(self.ask_at)?;
        Some(self.give_up_at.map_or(asks, |at| at.min(asks)))
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        self.out.poll_transmit()
    }

    /// The next event: only [`Event::Closed`].
    pub fn poll_event(&mut self) -> Option<Event> {
        self.out.poll_event()
    }

    /// The seat, once it is given; what is still to be sent goes with it. This object is then closed.
    pub fn take_seat(&mut self) -> Option<Seat> {
        let Phase::Confirmed(confirm) = self.phase else { return None };
        self.phase = Phase::Closed;
        Some(Seat {
            settings: self.settings.clone(),
            at: self.host,
            confirm,
            protection: PacketProtection::new(self.request.connection_id, confirm.connection_id),
            room_code: self.request.room,
            via: self.via.clone(),
            give_up_at: self.give_up_at,
            rng: self.rng.clone(),
            out: core::mem::replace(&mut self.out, Outbox::new(Traffic::default())),
        })
    }

    /// Stops asking.
    pub fn leave(&mut self) {
        self.close(End::Left);
    }

    /// The traffic so far.
    #[must_use]
    pub const fn traffic(&self) -> &Traffic {
        &self.out.traffic
    }

    fn close(&mut self, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.out.event(Event::Closed(end));
        }
    }
}

/// Whether such a seat exists: a host has seat 0 itself.
fn is_consistent(confirm: &JoinConfirm) -> bool {
    let first = u8::from(confirm.config.architecture == Architecture::P2p);
    (first..confirm.config.seats).contains(&confirm.player.0)
}

/// The first request, without a cookie.
fn request(settings: &Settings, guest: &GuestConfig, nonce: u64, connection_id: u32) -> JoinRequest {
    JoinRequest {
        nonce,
        cookie: [0; 16],
        connection_id,
        simulation_build: SIMULATION_BUILD,
        name: settings.name,
        hero: settings.hero,
        is_ready: settings.is_ready,
        seat: guest.seat,
        room: guest.room_code,
        rules: guest.rules,
        map: guest.map,
        ticks: guest.ticks,
        tick_rate: guest.tick_rate,
        addresses: guest.addresses.clone(),
        token: guest.token,
    }
}
