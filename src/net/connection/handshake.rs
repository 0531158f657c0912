//! The host's end of the handshake: who may join. The guest's is `net/join.rs`.
//!
//! The host stores nothing for an address that has not echoed its cookie, and no reply is larger than the
//! request it answers.

use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use super::protection::SealedPacket;
use crate::net::time::Time;
use crate::net::wire::message::{
    JoinChallenge, JoinRefused, JoinRequest, Malformed, MatchConfig, PROTOCOL_VERSION, PacketId, Refusal,
    decode_handshake, handshake, handshake_nonce,
};
use crate::sim::SIMULATION_BUILD;

/// The time slot of a cookie, which is valid in its own slot and the next one.
const COOKIE_SLOT: Duration = Duration::from_secs(30);

/// Decides which requests the host admits.
#[derive(Clone, Debug)]
pub(in crate::net) struct Listener {
    pub(in crate::net) config: MatchConfig,
    pub(in crate::net) room_code: u64,
    cookie_key: [u8; 32],
}

/// The outcome of a request.
#[expect(clippy::large_enum_variant, reason = "it lives for one call, and a reply must not allocate")]
pub(in crate::net) enum JoinReply {
    /// Send this reply; the sender is not admitted.
    Answer(SealedPacket),
    /// The guest may join, if there is a free seat.
    Accept(JoinRequest),
}

impl Listener {
    pub(in crate::net) const fn new(config: MatchConfig, room_code: u64, cookie_key: [u8; 32]) -> Self {
        Self { config, room_code, cookie_key }
    }

    /// Checks a join request, given without its packet id.
    pub(in crate::net) fn judge(
        &self,
        now: Time,
        from: SocketAddr,
        bytes: &[u8],
    ) -> Result<JoinReply, Malformed> {
        let request: JoinRequest = match decode_handshake(PacketId::JoinRequest, bytes) {
            Ok(request) => request,
            Err(Malformed::Version { theirs })
                if bytes.len() + 1 == crate::net::wire::message::JOIN_REQUEST_BYTES =>
            {
                let reason = Refusal::Protocol { host: PROTOCOL_VERSION, guest: theirs };
                let nonce = handshake_nonce(bytes).unwrap_or(0);
                return Ok(JoinReply::Answer(refuse(nonce, reason)));
            }
            Err(error) => return Err(error),
        };
        let slot = now.0 / COOKIE_SLOT.as_micros() as u64;
        let good = |slot| request.cookie == self.cookie(from, request.nonce, slot);
        if !good(slot) && !slot.checked_sub(1).is_some_and(good) {
            let cookie = self.cookie(from, request.nonce, slot);
            let challenge = JoinChallenge { nonce: request.nonce, cookie };
            return Ok(JoinReply::Answer(handshake(PacketId::JoinChallenge, &challenge)));
        }
        Ok(match self.objection(&request) {
            Some(reason) => JoinReply::Answer(refuse(request.nonce, reason)),
            None => JoinReply::Accept(request),
        })
    }

    fn objection(&self, request: &JoinRequest) -> Option<Refusal> {
        let ours = &self.config;
        if request.simulation_build != SIMULATION_BUILD {
            let (host, guest) = (SIMULATION_BUILD, request.simulation_build);
            return Some(Refusal::SimulationBuild { host, guest });
        }
        if request.room != self.room_code {
            return Some(Refusal::RoomCode);
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

/// The refusal of a request.
pub(in crate::net) fn refuse(nonce: u64, reason: Refusal) -> SealedPacket {
    handshake(PacketId::JoinRefused, &JoinRefused { nonce, reason })
}
