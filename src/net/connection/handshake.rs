//! The host's end of the handshake: who may ask for a seat. The guest's is `net/join.rs`.
//!
//! The host stores nothing for an address that has not echoed its cookie, and no reply is larger than the
//! request it answers. An address that has may exchange keys as often as the limits allow; an exchange counts even if it
//! ends in a seat. A guest gets a seat only by a datagram that opens with the keys.

use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::Rng;
use zeroize::Zeroizing;

use super::cpace::{Context, Exchange, Sent, key};
use super::keys::{CipherKind, Derived, RoomCode};
use super::limits::{ExchangeLimits, network};
use super::protection::{OpeningRoom, PacketProtection};
use crate::drop_cause::DropCause;
use crate::mutation::Mutation;
use crate::outbox::Source;
use crate::time::Time;
use crate::wire::limits::PENDING_MAX;
use crate::wire::message::{
    EntryRefused, JoinChallenge, JoinEntry, JoinRefused, JoinRequest, JoinShare, Malformed, MatchConfig,
    PROTOCOL_VERSION, PacketId, Refusal, decode, decode_handshake, encode, handshake, handshake_nonce,
};
use crate::wire::sealed::{SealedPacket, connection_id};
use sim::SIMULATION_BUILD;

/// The time slot of a cookie, which is valid in its own slot and the next one.
const COOKIE_SLOT: Duration = Duration::from_secs(30);
/// Time for which keys are kept for a guest that has not asked for a seat with them.
pub(crate) const ENTER_WITHIN: Duration = Duration::from_secs(5);
/// Most such guests of one address; its own oldest gives way.
const PENDING_PER_ADDRESS: usize = 2;

/// The channel identifier of the key exchange. The version of the protocol is in front of every message that
/// the key depends on.
pub(crate) const CHANNEL: &[u8] = b"mini-rts-arena guest and host";

/// Bytes that the generator of the key exchange depends on beside the code: the guest's nonce and the host's cookie. A guest
/// may use them again while the cookie is valid.
pub(crate) fn generator_id(request: &JoinRequest) -> [u8; 24] {
    let mut id = [0; 24];
    let parts = request.nonce.to_le_bytes().into_iter().chain(request.cookie);
    id.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
    id
}

/// The session id of the key exchange: with eight bytes that the host draws for each.
fn session_id(request: &JoinRequest, share: &JoinShare) -> [u8; 32] {
    let mut id = [0; 32];
    let parts = generator_id(request).into_iter().chain(share.session);
    id.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
    id
}

/// The keys of an exchange, given the point that both ends have in common. They depend on everything in both
/// messages: the version, what the guest insists on, and what the host plays.
pub(crate) fn derive(point: &[u8; 32], request: &JoinRequest, share: &JoinShare) -> Derived {
    let unproven = JoinShare { proof: [0; 16], ..*share };
    let (request_data, share_data) =
        (handshake(PacketId::JoinRequest, request), handshake(PacketId::JoinShare, &unproven));
    let initiator = Sent { share: &request.share, data: request_data.bytes() };
    let responder = Sent { share: &share.share, data: share_data.bytes() };
    Derived::of(&key(&session_id(request, share), point, initiator, responder))
}

/// Decides which requests the host admits.
#[derive(Debug)]
pub(crate) struct Listener {
    /// The configuration of the first match; those that follow differ in seed and number, which no guest compares.
    config: MatchConfig,
    code: RoomCode,
    cookie_key: [u8; 32],
    cipher: CipherKind,
    limits: ExchangeLimits,
    pending: Vec<Pending>,
}

/// A guest that has exchanged keys and has no seat.
#[derive(Debug)]
struct Pending {
    from: SocketAddr,
    request: JoinRequest,
    share: JoinShare,
    protection: PacketProtection,
    until: Time,
}

/// A guest that asks for a seat, and has shown that it knows the code.
pub(crate) struct Entrant {
    pub(crate) entry: JoinEntry,
    /// Finds the guest again when its seat is decided.
    connection_id: u32,
}

impl Listener {
    pub(crate) fn new(
        now: Time,
        config: MatchConfig,
        code: RoomCode,
        cipher: CipherKind,
        rng: &mut ChaCha12Rng,
    ) -> Self {
        let mut cookie_key = [0; 32];
        rng.fill_bytes(&mut cookie_key);
        let limits = ExchangeLimits::new(now, rng.next_u64(), code.is_open());
        Self { config, code, cookie_key, cipher, limits, pending: Vec::with_capacity(PENDING_MAX) }
    }

    /// The map of the matches that follow: other than seed and number, guests compare it.
    pub(crate) const fn set_map(&mut self, map: u64) {
        self.config.map = map;
    }

    /// The secret by which addresses are hashed.
    pub(crate) const fn address_key(&self) -> u64 {
        self.limits.key()
    }

    /// Answers a join request, given without its packet id, and returns the reason of a refusal with it; an error if it
    /// gets no answer.
    pub(crate) fn answer(
        &mut self,
        now: Time,
        from: Source,
        bytes: &[u8],
        rng: &mut ChaCha12Rng,
    ) -> Result<(SealedPacket, Option<Refusal>), DropCause> {
        let request: JoinRequest = match decode_handshake(PacketId::JoinRequest, bytes) {
            Ok(request) => request,
            Err(Malformed::Version { theirs })
                if bytes.len() + 1 == crate::wire::message::JOIN_REQUEST_BYTES =>
            {
                let reason = Refusal::Protocol { host: PROTOCOL_VERSION, guest: theirs };
                return Ok((refuse(handshake_nonce(bytes).unwrap_or(0), reason), Some(reason)));
            }
            Err(error) => return Err(error.into()),
        };
        let slot = now.0 / COOKIE_SLOT.as_micros() as u64;
        let good = |slot| request.cookie == self.cookie(from.address, request.nonce, slot);
        if !good(slot) && !slot.checked_sub(1).is_some_and(good) {
            let cookie = self.cookie(from.address, request.nonce, slot);
            let challenge = JoinChallenge { nonce: request.nonce, cookie };
            return Ok((handshake(PacketId::JoinChallenge, &challenge), None));
        }
        match self.objection(&request) {
            Some(reason) => Ok((refuse(request.nonce, reason), Some(reason))),
            None => self.exchange(now, from, request, rng).map(|share| (share, None)),
        }
    }

    /// Exchanges keys with a guest at an address that has echoed its cookie. A repeated request gets the same
    /// answer.
    fn exchange(
        &mut self,
        now: Time,
        from: Source,
        request: JoinRequest,
        rng: &mut ChaCha12Rng,
    ) -> Result<SealedPacket, DropCause> {
        self.pending.retain(|pending| now < pending.until);
        let known =
            self.pending.iter().find(|pending| pending.from == from.address && pending.request == request);
        if let Some(known) = known {
            return Ok(handshake(PacketId::JoinShare, &known.share));
        }
        if !self.limits.take(now, from.ip()) && !Mutation::UnlimitedExchanges.is_planted() {
            return Err(DropCause::RateLimited);
        }
        let session = generator_id(&request);
        let context = Context { password: self.code.password(), channel: CHANNEL, session: &session };
        let mut random = Zeroizing::new([0; 64]);
        rng.fill_bytes(&mut *random);
        let exchange = Exchange::new(&context, &random);
        let mut drawn = [0; 8];
        rng.fill_bytes(&mut drawn);
        let point = exchange.shared_point(&request.share).ok_or(DropCause::Malformed)?;
        let mut share = JoinShare {
            nonce: request.nonce,
            connection_id: rng.next_u32(),
            simulation_build: SIMULATION_BUILD,
            architecture: self.config.architecture,
            rules: self.config.rules,
            map: self.config.map,
            is_fair: self.config.is_fair,
            session: drawn,
            share: *exchange.share(),
            proof: [0; 16],
        };
        let derived = derive(&point, &request, &share);
        share.proof = derived.proof;
        let ids = (share.connection_id, request.connection_id);
        let protection = PacketProtection::new(ids, &derived.host, self.cipher).with_words(derived.words);
        self.make_room_for(from.address);
        let until = now.plus(ENTER_WITHIN);
        self.pending.push(Pending { from: from.address, request, share, protection, until });
        Ok(handshake(PacketId::JoinShare, &share))
    }

    /// Makes room for one more guest at this address: nobody pushes out another address's guest while an address has
    /// two.
    fn make_room_for(&mut self, from: SocketAddr) {
        let of = |at: &Pending| network(at.from.ip());
        let has = |address: u64| self.pending.iter().filter(|other| of(other) == address).count();
        let own = network(from.ip());
        let is_unfair = Mutation::UnlimitedExchanges.is_planted();
        let is_crowded = has(own) >= PENDING_PER_ADDRESS && !is_unfair;
        let is_full = self.pending.len() >= PENDING_MAX;
        if !is_crowded && !is_full {
            return;
        }
        let rank = |at: &Pending| {
            let gives_way =
                if is_crowded { of(at) == own } else { is_unfair || has(of(at)) >= PENDING_PER_ADDRESS };
            (!gives_way, at.until)
        };
        let oldest = self.pending.iter().enumerate().min_by_key(|(_, at)| rank(at)).map(|(at, _)| at);
        if let Some(at) = oldest {
            self.pending.remove(at);
        }
    }

    /// Opens a datagram of a guest that has exchanged keys: it asks for a seat. An error if it is of no such
    /// guest.
    pub(crate) fn open(&mut self, now: Time, from: Source, bytes: &[u8]) -> Result<Entrant, DropCause> {
        let connection_id = connection_id(bytes).ok_or(DropCause::Malformed)?;
        let is_it = |pending: &&mut Pending| {
            pending.protection.local_id() == connection_id
                && pending.from == from.address
                && now < pending.until
        };
        let pending = self.pending.iter_mut().find(is_it).ok_or(DropCause::Unauthenticated)?;
        let mut room = OpeningRoom::new();
        let opened = pending.protection.open(bytes, &mut room)?;
        if opened.packet_id != PacketId::JoinEntry as u8 {
            return Err(DropCause::OutOfPlace);
        }
        Ok(Entrant { entry: decode(opened.body)?, connection_id })
    }

    /// The entrant gets a seat: the protection of its connection, which belongs to that seat from now on.
    pub(crate) fn admit(&mut self, entrant: &Entrant) -> Option<PacketProtection> {
        let at = self.pending.iter().position(|pending| entrant.is(pending))?;
        Some(self.pending.remove(at).protection)
    }

    /// The entrant gets no seat; it may ask again. While it is in the line its keys are kept.
    pub(crate) fn refuse(&mut self, now: Time, entrant: &Entrant, reason: Refusal) -> Option<SealedPacket> {
        let pending = self.pending.iter_mut().find(|pending| entrant.is(pending))?;
        if matches!(reason, Refusal::Later { .. }) {
            pending.until = now.plus(ENTER_WITHIN);
        }
        Some(pending.protection.seal(PacketId::EntryRefused as u8, &encode(&EntryRefused { reason })))
    }

    /// The connection ids of guests that have no seat.
    pub(crate) fn connection_ids(&self) -> impl Iterator<Item = u32> {
        self.pending.iter().map(|pending| pending.protection.local_id())
    }

    fn objection(&self, request: &JoinRequest) -> Option<Refusal> {
        let ours = &self.config;
        if request.simulation_build != SIMULATION_BUILD {
            let (host, guest) = (SIMULATION_BUILD, request.simulation_build);
            return Some(Refusal::SimulationBuild { host, guest });
        }
        if let Some(guest) = request.rules.filter(|&rules| rules != ours.rules) {
            return Some(Refusal::Rules { host: ours.rules, guest });
        }
        if let Some(guest) = request.map.filter(|&map| map != ours.map) {
            return Some(Refusal::Map { host: ours.map, guest });
        }
        if let Some(guest) = request.ticks.filter(|&ticks| Some(ticks) != ours.ticks) {
            return Some(Refusal::Ticks { host: ours.ticks, guest });
        }
        if let Some(guest) = request.tick_rate.filter(|&rate| rate != ours.tick_rate) {
            return Some(Refusal::TickRate { host: ours.tick_rate, guest });
        }
        None
    }

    /// A value that only a receiver at `from` can know.
    fn cookie(&self, from: SocketAddr, nonce: u64, slot: u64) -> [u8; 16] {
        let mut hasher = blake3::Hasher::new_keyed(&self.cookie_key);
        match from.ip() {
            IpAddr::V4(ip) => hasher.update(&ip.octets()),
            IpAddr::V6(ip) => hasher.update(&ip.octets()),
        };
        hasher.update(&from.port().to_le_bytes());
        hasher.update(&nonce.to_le_bytes());
        hasher.update(&slot.to_le_bytes());
        let mut cookie = [0; 16];
        hasher.finalize_xof().fill(&mut cookie);
        cookie
    }
}

impl Entrant {
    const fn is(&self, pending: &Pending) -> bool {
        pending.protection.local_id() == self.connection_id
    }
}

/// The refusal of a request.
fn refuse(nonce: u64, reason: Refusal) -> SealedPacket {
    handshake(PacketId::JoinRefused, &JoinRefused { nonce, reason })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::architecture::Architecture;
    use alloc::collections::BTreeSet;
    use rand_chacha::rand_core::SeedableRng as _;
    use sim::TickRate;

    #[test]
    fn a_cookie_holds_for_one_host_address_port_request_and_time_slot() {
        let config = MatchConfig {
            room_id: 1,
            architecture: Architecture::P2p,
            seed: 7,
            tick_rate: TickRate::HZ_60,
            ticks: None,
            rules: 11,
            map: 12,
            seats: 2,
            game: 0,
            is_fair: false,
        };
        let rng = &mut ChaCha12Rng::from_seed([1; 32]);
        let mut listener = || Listener::new(Time(0), config, RoomCode::OPEN, CipherKind::Null, rng);
        let (host, other_host) = (listener(), listener());
        let [from, other_address, other_port] =
            [([10, 0, 0, 1], 4124), ([10, 0, 0, 2], 4124), ([10, 0, 0, 1], 4125)].map(SocketAddr::from);
        let cookies = [
            host.cookie(from, 1, 1),
            other_host.cookie(from, 1, 1),
            host.cookie(other_address, 1, 1),
            host.cookie(other_port, 1, 1),
            host.cookie(from, 2, 1),
            host.cookie(from, 1, 2),
        ];
        assert_eq!(BTreeSet::from(cookies).len(), cookies.len());
        assert_eq!(host.cookie(from, 1, 1), cookies[0]);
    }
}
