//! The connections between guests: their keys and ids follow from a seating.

use arrayvec::ArrayVec;
use core::net::SocketAddr;

use super::peers::Peers;
use crate::connection::Connection;
use crate::connection::keys::{CipherKind, SecretRng};
use crate::connection::pair_keys::PairSecret;
use crate::connection::path::Trust;
use crate::connection::protection::PacketProtection;
use crate::connection::signing::{SIGNED_SEATS_MIN, Signer};
use crate::time::Time;
use crate::wire::message::{Seating, encode};
use sim::{PLAYERS_MAX, PlayerId};

/// From which the connections to the other guests follow.
pub(super) struct Mesh {
    pub(super) cipher: CipherKind,
    pub(super) pair_secret: PairSecret,
    pub(super) signer: Signer,
    /// The round of the last Seating: the keys that follow from one are used once.
    pub(super) round: u32,
    /// Fixed addresses of other guests.
    pub(super) via: ArrayVec<(PlayerId, SocketAddr), { PLAYERS_MAX - 1 }>,
}

impl Mesh {
    /// Whether all have the key with which the seat `me` signs, where it signs.
    pub(super) fn is_own_key(&self, me: PlayerId, seating: &Seating) -> bool {
        let (keys, seats) = (&seating.signing_keys, seating.roster.len());
        let is_own = || keys.get(me.index()) == Some(&self.signer.public());
        if seats >= SIGNED_SEATS_MIN { keys.len() == seats && is_own() } else { keys.is_empty() }
    }

    /// Creates connections from the seat `me` to the other guests. They are heard once both ends know the other's address.
    pub(super) fn link(
        &self,
        now: Time,
        (me, seating): (PlayerId, &Seating),
        peers: &mut Peers,
        rng: &mut SecretRng,
    ) {
        let to_all = encode(seating);
        for player in (1..seating.roster.len() as u8).map(PlayerId).filter(|&player| player != me) {
            let public_key = seating.public_keys.get(player.index()).copied().unwrap_or_default();
            let keys = self.pair_secret.keys((me, player), public_key, &to_all);
            let id = |from, to| mesh_id(seating.mesh_key, from, to);
            let protection = PacketProtection::new((id(player, me), id(me, player)), &keys, self.cipher);
            let given = self.via.iter().find(|&&(seat, _)| seat == player).map(|&(_, address)| [address]);
            let named = seating.addresses.get(player.index()).map_or(&[][..], |named| named);
            let addresses = given.as_ref().map_or(named, |given| given);
            let trust = if given.is_some() { Trust::Fixed } else { Trust::Told };
            peers.put(player, Connection::new(now, (addresses, trust), protection, rng));
        }
    }
}

/// The connection id in datagrams from the guest `from` to the guest `to`.
fn mesh_id(key: u64, from: PlayerId, to: PlayerId) -> u32 {
    twox_hash::XxHash3_64::oneshot_with_seed(key, &[from.0, to.0]) as u32
}

/// Whether every guest is addressed by distinct ids, that of the host included.
pub(super) fn are_distinct(seating: &Seating, with_host: impl Fn(PlayerId) -> Option<u32>) -> bool {
    let guests = || (1..seating.roster.len() as u8).map(PlayerId);
    guests().all(|to| {
        let others = guests().filter(|&from| from != to).map(|from| mesh_id(seating.mesh_key, from, to));
        let ids: ArrayVec<u32, PLAYERS_MAX> = others.chain(with_host(to)).collect();
        ids.iter().enumerate().all(|(i, id)| ids.iter().position(|other| other == id) == Some(i))
    })
}
