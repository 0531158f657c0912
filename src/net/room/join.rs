//! A guest's way into a match: it asks until the host answers, exchanges keys, and ends with a [`Seat`] or a
//! reason.
//!
//! Sans-IO, with the verbs of [`Host`](super::host::Host). The seat is a place in the room of who answers:
//! [`Guest`](super::guest::Guest).

use alloc::boxed::Box;
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;
use rand_chacha::rand_core::Rng as _;
use zeroize::{Zeroize as _, Zeroizing};

use super::admission::ASK_EVERY;
use super::settings::{GuestConfig, Settings};
use crate::connection::cpace::{Context, Exchange};
use crate::connection::handshake::{CHANNEL, derive, generator_id};
use crate::connection::keys::{CipherKind, Entropy, RoomCode, SecretRng, is_equal};
use crate::connection::pair_keys::PairSecret;
use crate::connection::protection::{OpeningRoom, PacketProtection};
use crate::connection::signing::Signer;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event, Traffic};
use crate::expected::Expected;
use crate::mutation::Mutation;
use crate::outbox::{Outbox, Source, Transmit};
use crate::rate_limit::TokenBucket;
use crate::time::Time;
use crate::wire::architecture::Architecture;
use crate::wire::limits::ALTERNATIVES_MAX;
use crate::wire::message::{
    EntryRefused, JoinChallenge, JoinConfirm, JoinEntry, JoinRefused, JoinRequest, JoinShare, Malformed,
    PROTOCOL_VERSION, PacketId, Refusal, decode, decode_handshake, encode, handshake, handshake_nonce,
};
use sim::{PLAYERS_MAX, PlayerId, SIMULATION_BUILD};

/// Interval between requests until there is an answer.
const REQUEST_EVERY: Duration = Duration::from_millis(100);
/// A refusal that comes before any keys is believed once it has answered this many requests in a row: somebody on
/// the way may have changed one of them.
const REFUSALS: u8 = 2;
/// Shares without the right proof after which a join ends with a wrong room code, from whatever host they came: each lets
/// somebody in the host's place test one code.
const UNPROVEN_MAX: u8 = 3;
/// Challenges and shares that are answered, a second: each costs a multiplication.
const CHECKS_PER_S: u64 = 20;
/// A host at one of several addresses that has not proven itself for so long is left for the others.
const EXCHANGE_FOR: Duration = Duration::from_secs(1);
/// Time for which a guest asks for a seat with its keys before it exchanges new ones.
const ENTER_FOR: Duration = Duration::from_secs(3);

/// A request for a seat, until it is answered.
pub struct Join {
    now: Time,
    guest: Applicant,
    request: JoinRequest,
    entry: JoinEntry,
    /// Other addresses of the host, which are asked with the first until one answers.
    alternatives: ArrayVec<SocketAddr, ALTERNATIVES_MAX>,
    /// Why an address that was left for another was no good.
    left_for: Option<Refusal>,
    /// Deadline of the proof, after which the address that has answered is left for another.
    prove_by: Time,
    /// Time of the next request.
    ask_at: Time,
    /// Number of requests without a cookie, with the current nonce, that no challenge has answered.
    unanswered: u32,
    /// The refusal of the last request, and how many requests in a row had one.
    refused: Option<Refusal>,
    refusals: u8,
    /// Shares without the right proof in this join.
    unproven: u8,
    phase: Phase,
    checks: TokenBucket,
    out: Outbox,
}

/// Data of a guest, before and after it has a seat.
#[derive(Clone)]
pub(crate) struct Applicant {
    pub(crate) settings: Settings,
    /// The host or server that it asks.
    pub(crate) host: SocketAddr,
    /// The room code, for joining again as well.
    pub(crate) code: RoomCode,
    pub(crate) cipher: CipherKind,
    /// From which the keys to other guests follow.
    pub(crate) pair_secret: PairSecret,
    /// Signs the heads of its seat.
    pub(crate) signer: Signer,
    /// Fixed addresses of other guests.
    pub(crate) via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
    /// Deadline for waiting for an answer, and then for the start of a match between peers.
    pub(crate) give_up_at: Option<Time>,
    pub(crate) rng: SecretRng,
}

enum Phase {
    /// The host has not sent a cookie.
    Asking,
    /// The request has a share.
    Exchanging(Exchange),
    /// Both ends have the same keys, and the guest asks for a seat with them.
    Entering(Box<Entering>),
    Closed,
}

struct Entering {
    share: JoinShare,
    protection: PacketProtection,
    until: Time,
    confirmed: Option<JoinConfirm>,
    /// The host's last answer, if it was that a seat may be free later.
    later: Option<Refusal>,
}

/// A seat that a host or a server gave.
pub struct Seat {
    pub(crate) guest: Applicant,
    /// The host's or server's answer.
    pub(crate) confirm: JoinConfirm,
    /// Protects the datagrams between both ends.
    pub(crate) protection: PacketProtection,
    pub(crate) out: Outbox,
}

impl Seat {
    /// Returns where the match is computed.
    #[must_use]
    pub const fn architecture(&self) -> Architecture {
        self.confirm.config.architecture
    }

    /// The host's answer and the connection's protection, for who speaks past a session.
    #[cfg(feature = "doors")]
    #[must_use]
    pub fn into_parts(self) -> (JoinConfirm, PacketProtection) {
        (self.confirm, self.protection)
    }
}

impl Join {
    /// Starts to ask. `entropy` must be unpredictable: the nonce, the connection id and the keys follow from it.
    #[must_use]
    pub fn new(now: Time, settings: Settings, guest: GuestConfig, entropy: impl Into<Entropy>) -> Self {
        let Entropy { seed, cipher } = entropy.into();
        let mut rng = SecretRng::new(&seed);
        let request = request(&guest, rng.next_u64(), rng.next_u32());
        let mut drawn = [0; 32];
        rng.fill_bytes(&mut drawn);
        let (pair_secret, signer) = (PairSecret::new(drawn), Signer::new(&drawn, cipher));
        drawn.zeroize();
        let entry = JoinEntry {
            name: settings.name,
            hero: settings.hero,
            is_ready: settings.is_ready,
            seat: guest.seat,
            addresses: guest.addresses,
            token: guest.token,
            public_key: pair_secret.public(),
            signing_key: signer.public(),
        };
        let applicant = Applicant {
            give_up_at: settings.wait.map(|wait| now.plus(wait)),
            settings,
            host: guest.host,
            code: guest.room_code,
            cipher,
            pair_secret,
            signer,
            via: guest.via,
            rng,
        };
        Self {
            now,
            guest: applicant,
            request,
            entry,
            alternatives: guest.alternatives,
            left_for: None,
            prove_by: now,
            ask_at: now,
            refused: None,
            refusals: 0,
            unanswered: 0,
            unproven: 0,
            phase: Phase::Asking,
            checks: TokenBucket::new(now, CHECKS_PER_S, CHECKS_PER_S),
            out: Outbox::new(Traffic::default()),
        }
    }

    /// Handles a received datagram.
    pub fn handle_datagram(&mut self, now: Time, from: impl Into<Source>, bytes: &[u8]) {
        self.now = self.now.max(now);
        self.out.count_received(bytes.len());
        let handled = self.on_answer(from.into(), bytes);
        self.out.traffic.count(handled);
    }

    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let asked = core::iter::once(self.guest.host).chain(self.alternatives.iter().copied());
        Expected::new(core::iter::once(self.request.connection_id), asked)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    fn on_answer(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let (&first, body) = bytes.split_first().ok_or(DropCause::Malformed)?;
        let id = PacketId::of(first).ok_or(DropCause::Malformed)?;
        if from.address != self.guest.host {
            // The first that answers is the host, unless it cannot prove itself.
            let other = self.alternatives.iter_mut().find(|other| **other == from.address);
            let other = other.filter(|_| matches!(self.phase, Phase::Asking)).ok_or(OutOfPlace)?;
            if handshake_nonce(body) != Some(self.request.nonce) {
                return Err(DropCause::Unauthenticated);
            }
            core::mem::swap(other, &mut self.guest.host);
        }
        match id {
            PacketId::JoinChallenge | PacketId::JoinShare | PacketId::JoinRefused => self.on_reply(id, body),
            PacketId::JoinConfirm | PacketId::EntryRefused => self.on_verdict(bytes),
            _ => Err(OutOfPlace),
        }
    }

    /// An answer to the request, given without its packet id. A host of another version refuses.
    fn on_reply(&mut self, id: PacketId, bytes: &[u8]) -> Handled {
        if !matches!(self.phase, Phase::Asking | Phase::Exchanging(_)) {
            return Err(OutOfPlace);
        }
        let is_ours = handshake_nonce(bytes) == Some(self.request.nonce);
        let handled = match id {
            PacketId::JoinChallenge => {
                decode_handshake(id, bytes).map(|answer| self.on_challenge(is_ours, answer))
            }
            PacketId::JoinShare => decode_handshake(id, bytes).map(|answer| self.on_share(is_ours, &answer)),
            _ => {
                decode_handshake(id, bytes).map(|JoinRefused { reason, .. }| self.on_refused(is_ours, reason))
            }
        };
        match handled {
            Err(Malformed::Version { theirs }) => {
                self.on_refused(is_ours, Refusal::Protocol { host: theirs, guest: PROTOCOL_VERSION })
            }
            other => other?,
        }
    }

    /// The host has sent a cookie: the request gets a share, for an exchange of its own.
    fn on_challenge(&mut self, is_ours: bool, JoinChallenge { cookie, .. }: JoinChallenge) -> Handled {
        if !is_ours {
            return Err(DropCause::Unauthenticated);
        }
        // The answer to a repeated request may have the cookie of the next time slot. The first cookie is still valid, and
        // its exchange has begun.
        let is_late = self.unanswered > 0;
        self.unanswered = self.unanswered.saturating_sub(1);
        if matches!(self.phase, Phase::Exchanging(_)) && (is_late || cookie == self.request.cookie) {
            return Err(DropCause::Repeated);
        }
        if !self.checks.take(self.now, 1) {
            return Err(DropCause::RateLimited);
        }
        if Mutation::UncountedGuesses.is_planted() {
            self.unproven = 0;
        }
        self.request.cookie = cookie;
        let session = generator_id(&self.request);
        let context = Context { password: self.guest.code.password(), channel: CHANNEL, session: &session };
        let mut random = Zeroizing::new([0; 64]);
        self.guest.rng.fill_bytes(&mut *random);
        let exchange = Exchange::new(&context, &random);
        self.request.share = *exchange.share();
        if matches!(self.phase, Phase::Asking) {
            self.prove_by = self.now.plus(EXCHANGE_FOR);
        }
        self.phase = Phase::Exchanging(exchange);
        self.progress();
        Ok(())
    }

    /// The host has answered: the next message leaves at once, and refusals of the last are no longer believed.
    fn progress(&mut self) {
        (self.refused, self.refusals, self.ask_at) = (None, 0, self.now);
    }

    /// The host has sent its share. Without the right proof it was damaged, or made by somebody who does not know
    /// the code: the guest begins anew, so that no secret answers twice.
    fn on_share(&mut self, is_ours: bool, share: &JoinShare) -> Handled {
        let Phase::Exchanging(exchange) = &self.phase else { return Err(OutOfPlace) };
        if !is_ours || !self.checks.take(self.now, 1) {
            return Err(if is_ours { DropCause::RateLimited } else { DropCause::Unauthenticated });
        }
        let point = exchange.shared_point(&share.share);
        let derived = point.map(|point| derive(&point, &self.request, share));
        let Some(derived) = derived.filter(|derived| is_equal(&derived.proof, &share.proof)) else {
            self.unproven = self.unproven.saturating_add(1);
            if self.unproven >= UNPROVEN_MAX {
                self.close(End::Refused(Refusal::RoomCode));
            } else if self.alternatives.is_empty() {
                self.begin_anew();
                self.ask_at = self.now.plus(REQUEST_EVERY);
            } else {
                self.leave_address(Some(Refusal::RoomCode));
            }
            return Err(DropCause::Unauthenticated);
        };
        let ids = (self.request.connection_id, share.connection_id);
        let protection =
            PacketProtection::new(ids, &derived.host.swapped(), self.guest.cipher).with_words(derived.words);
        let until = self.now.plus(ENTER_FOR);
        self.phase = Phase::Entering(Box::new(Entering {
            share: *share,
            protection,
            until,
            confirmed: None,
            later: None,
        }));
        self.progress();
        Ok(())
    }

    /// Asks with another nonce: answers to earlier requests no longer count.
    fn begin_anew(&mut self) {
        self.request.nonce = self.guest.rng.next_u64();
        (self.request.cookie, self.request.share) = ([0; 16], [0; 32]);
        (self.refused, self.refusals, self.unanswered) = (None, 0, 0);
        self.phase = Phase::Asking;
    }

    fn on_refused(&mut self, is_ours: bool, reason: Refusal) -> Handled {
        if !is_ours {
            return Err(DropCause::Unauthenticated);
        }
        self.refused = Some(reason);
        Ok(())
    }

    /// The host has decided about the seat.
    fn on_verdict(&mut self, bytes: &[u8]) -> Handled {
        let Phase::Entering(entering) = &mut self.phase else { return Err(OutOfPlace) };
        let mut room = OpeningRoom::new();
        let opened = entering.protection.open(bytes, &mut room)?;
        if opened.packet_id == PacketId::EntryRefused as u8 {
            let EntryRefused { reason } = decode(opened.body)?;
            if matches!(reason, Refusal::Later { .. }) {
                // In the line for a seat; the host keeps the keys meanwhile.
                self.ask_at = self.now.plus(ASK_EVERY);
                (entering.later, entering.until) = (Some(reason), self.ask_at.plus(ENTER_FOR));
            } else {
                self.close(End::Refused(reason));
            }
            return Ok(());
        }
        let confirm: JoinConfirm = decode(opened.body)?;
        // Any other counts as no answer.
        is_consistent(&confirm, &entering.share).then_some(()).ok_or(OutOfPlace)?;
        entering.confirmed = Some(confirm);
        Ok(())
    }

    /// Asks again, or gives up, if either is due.
    pub fn handle_timeout(&mut self, now: Time) {
        self.now = self.now.max(now);
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        if self.guest.give_up_at.is_some_and(|at| self.now >= at) {
            let later = if let Phase::Entering(entering) = &self.phase { entering.later } else { None };
            let why = later.or(self.left_for);
            self.close(why.map_or(End::NoAnswer, End::Refused));
        } else if self.now >= self.ask_at {
            let refused = self.refused.take();
            self.refusals = if refused.is_some() { self.refusals.saturating_add(1) } else { 0 };
            match refused.filter(|_| self.refusals >= REFUSALS) {
                Some(reason) => self.leave_address(Some(reason)),
                None => self.ask(),
            }
        }
    }

    fn ask(&mut self) {
        self.ask_at = self.now.plus(REQUEST_EVERY);
        match &mut self.phase {
            Phase::Exchanging(_) if !self.alternatives.is_empty() && self.now >= self.prove_by => {
                self.leave_address(None);
            }
            Phase::Entering(entering) if self.now >= entering.until => {
                self.begin_anew();
                self.ask();
            }
            Phase::Entering(entering) => {
                let entry = entering.protection.seal(PacketId::JoinEntry as u8, &encode(&self.entry));
                self.out.transmit(self.guest.host, entry);
            }
            Phase::Asking => {
                self.unanswered = self.unanswered.saturating_add(1);
                for at in 0..=self.alternatives.len() {
                    let other = at.checked_sub(1).and_then(|at| self.alternatives.get(at));
                    let to = other.copied().unwrap_or(self.guest.host);
                    self.out.transmit(to, handshake(PacketId::JoinRequest, &self.request));
                }
            }
            Phase::Exchanging(_) => {
                self.out.transmit(self.guest.host, handshake(PacketId::JoinRequest, &self.request));
            }
            Phase::Closed => {}
        }
    }

    /// The address that answered has not proven itself: asks the others, or gives up if there are none.
    fn leave_address(&mut self, why: Option<Refusal>) {
        let Some(next) = self.alternatives.pop() else {
            return self.close(End::Refused(why.unwrap_or(Refusal::RoomCode)));
        };
        self.left_for = why.or(self.left_for);
        self.guest.host = next;
        self.begin_anew();
        self.ask_at = self.now.plus(REQUEST_EVERY);
    }

    /// Returns when [`Self::handle_timeout`] has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let asks = (!matches!(self.phase, Phase::Closed)).then_some(self.ask_at)?;
        Some(self.guest.give_up_at.map_or(asks, |at| at.min(asks)))
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
        let Phase::Entering(entering) = &self.phase else { return None };
        let confirm = entering.confirmed?;
        let Phase::Entering(entering) = core::mem::replace(&mut self.phase, Phase::Closed) else {
            return None;
        };
        let out = core::mem::replace(&mut self.out, Outbox::new(Traffic::default()));
        Some(Seat { guest: self.guest.clone(), confirm, protection: entering.protection, out })
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

/// Whether such a seat exists, in the match that the keys were exchanged for: a host has seat 0 itself.
fn is_consistent(confirm: &JoinConfirm, share: &JoinShare) -> bool {
    let config = &confirm.config;
    let first = u8::from(config.architecture == Architecture::P2p);
    let is_same = (config.architecture, config.rules, config.map, config.is_fair)
        == (share.architecture, share.rules, share.map, share.is_fair);
    let is_possible = !config.is_fair || config.architecture == Architecture::P2p;
    is_same && is_possible && (first..config.seats).contains(&confirm.player.0)
}

/// The first request, without a cookie.
const fn request(guest: &GuestConfig, nonce: u64, connection_id: u32) -> JoinRequest {
    JoinRequest {
        nonce,
        cookie: [0; 16],
        connection_id,
        simulation_build: SIMULATION_BUILD,
        rules: guest.rules,
        map: guest.map,
        ticks: guest.ticks,
        tick_rate: guest.tick_rate,
        share: [0; 32],
    }
}
