//! Commit and reveal: in a fair match nobody can choose an input by those of the others.
//!
//! What a peer commits for a tick it sends as a [`Commitment`] first, and reveals once it has the commitments of all
//! seats for that tick. Commitments run ahead of their ticks as inputs do without them: they add their own way to
//! the input delay, and no tick waits for another.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;
use rand_chacha::rand_core::Rng as _;

use crate::connection::keys::SecretRng;
use crate::drop_cause::{DropCause, Handled};
use crate::indexed::{BySeat, Ring};
use crate::play::clock::TickClock;
use crate::play::delay::DelayControl;
use crate::play::local_inputs::COMMITTED_MAX;
use crate::time::Time;
use crate::wire::fair_inputs::{Commitment, Nonce};
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::{Seating, Seats, encode};
use sim::{PlayerId, Tick};

const CONTEXT: &str = "mini-rts-arena 2026-11 commitments to inputs";
/// Maximum time that a reveal waits for the next commitment, to leave in one datagram with it.
const REVEAL_WAITS_MAX: Duration = Duration::from_millis(4);
// Those of ticks that may still run, and the own ones that others may lack.
const _: () = assert!(COMMITTED_MAX >= 2 * QUEUE_TICKS as usize);

/// The commitments of all seats, and what opens the own ones.
pub(crate) struct FairPlay {
    /// Of this seating: a commitment cannot be prepared before the match, nor used in another one.
    key: [u8; 32],
    rng: SecretRng,
    players: u8,
    seats: BySeat<Commitments>,
    own: Ring<Own, COMMITTED_MAX>,
    revealed: Tick,
    reveal_at: Option<Time>,
    /// Time before its tick at which an input must be revealed to be in time everywhere.
    pub(crate) lead: DelayControl,
}

/// The commitments of one seat.
#[derive(Debug, Default)]
struct Commitments {
    ring: Ring<Commitment, COMMITTED_MAX>,
    /// The first tick whose commitment is missing.
    until: Tick,
}

/// An own input.
#[derive(Clone, Copy, Debug, Default)]
struct Own {
    nonce: Nonce,
    /// Time before its tick at which it could be revealed, in microseconds.
    lead_us: i64,
}

impl FairPlay {
    /// Before tick 0. `rng` must be unpredictable.
    pub(crate) fn new(seating: &Seating, rng: SecretRng, lead: DelayControl) -> Self {
        Self {
            key: blake3::derive_key(CONTEXT, &encode(seating)),
            rng,
            players: seating.roster.len() as u8,
            seats: BySeat::from_fn(Commitments::default),
            own: Ring::default(),
            revealed: Tick(0),
            reveal_at: None,
            lead,
        }
    }

    /// The commitment to an input in its canonical bytes. The seat is part of it, or a peer could repeat another's
    /// commitment, and reveal what that one has revealed.
    fn commitment(&self, player: PlayerId, tick: Tick, nonce: &Nonce, input: &[u8]) -> Commitment {
        let mut hasher = blake3::Hasher::new_keyed(&self.key);
        hasher.update(&[player.0]).update(&tick.0.to_le_bytes()).update(nonce).update(input);
        let mut commitment = Commitment::default();
        hasher.finalize_xof().fill(&mut commitment);
        commitment
    }

    /// Commits this player to the input of the next tick.
    pub(crate) fn commit(&mut self, me: PlayerId, tick: Tick, input: &[u8]) {
        let mut nonce = Nonce::default();
        self.rng.fill_bytes(&mut nonce);
        self.own[tick] = Own { nonce, lead_us: 0 };
        let commitment = self.commitment(me, tick, &nonce, input);
        self.seats[me].push(commitment);
    }

    /// The first tick for which this seat's commitment is missing.
    pub(crate) fn until(&self, player: PlayerId) -> Tick {
        self.seats[player].until
    }

    /// Keeps a peer's commitments of the ticks from `first` on that are missing; the first version of each counts.
    /// `lacked` is the first of its inputs that is missing: others may have relayed those before it, to which it then
    /// sends no commitments. `next` is the next tick to run.
    pub(crate) fn take(
        &mut self,
        player: PlayerId,
        lacked: Tick,
        first: Tick,
        commitments: &[Commitment],
        next: Tick,
    ) -> Handled {
        let tick = first.plus((commitments.len() as u32).saturating_sub(1));
        if tick.since(next) >= QUEUE_TICKS {
            return Err(DropCause::TooFarAhead);
        }
        let seat = &mut self.seats[player];
        seat.until = seat.until.max(lacked);
        // After a gap nothing is kept: all from the gap on are resent.
        let known = seat.until.0.checked_sub(first.0);
        let fresh = known.and_then(|known| commitments.get(known as usize..)).unwrap_or_default();
        fresh.iter().for_each(|commitment| seat.push(*commitment));
        Ok(())
    }

    /// Whether the seat has committed to this input, in its canonical bytes.
    pub(crate) fn opens(&self, player: PlayerId, tick: Tick, nonce: &Nonce, input: &[u8]) -> bool {
        let seat = &self.seats[player];
        let is_kept = tick < seat.until && seat.until.since(tick) <= COMMITTED_MAX as u32;
        is_kept && seat.ring[tick] == self.commitment(player, tick, nonce, input)
    }

    /// The commitments of `me` from `from` on.
    pub(crate) fn since(&self, me: PlayerId, from: Tick) -> impl Iterator<Item = Commitment> {
        let seat = &self.seats[me];
        (from.0..seat.until.0).map(|tick| seat.ring[Tick(tick)])
    }

    /// Returns the nonce of the own commitment of `tick`.
    pub(crate) fn nonce(&self, tick: Tick) -> Nonce {
        self.own[tick].nonce
    }

    /// The first tick whose own input is not revealed.
    pub(crate) const fn revealed(&self) -> Tick {
        self.revealed
    }

    /// Returns the time before its tick at which the own input could be revealed, in microseconds.
    pub(crate) fn lead_us(&self, tick: Tick) -> i64 {
        self.own[tick].lead_us
    }

    /// The seats whose commitments of `tick` are missing.
    pub(crate) fn lacking(&self, tick: Tick) -> Seats {
        (0..self.players).map(PlayerId).filter(|&player| self.seats[player].until <= tick).collect()
    }

    /// Reveals the own inputs of all ticks for which all seats but `gone` have committed.
    pub(crate) fn reveal(&mut self, now: Time, clock: &TickClock, gone: Seats) {
        let bound = (0..self.players).map(PlayerId).filter(|&player| !gone.contains(player));
        let until = bound.map(|player| self.seats[player].until).min().unwrap_or_default();
        while self.revealed < until {
            self.own[self.revealed].lead_us = clock.at(self.revealed).minus(now);
            self.revealed = self.revealed.plus(1);
            self.reveal_at.get_or_insert(now.plus(REVEAL_WAITS_MAX));
        }
    }

    /// Returns when a reveal must be sent, if it has not been.
    pub(crate) const fn reveal_at(&self) -> Option<Time> {
        self.reveal_at
    }

    /// Records that the reveals have been sent.
    pub(crate) const fn has_left(&mut self) {
        self.reveal_at = None;
    }
}

impl Commitments {
    fn push(&mut self, commitment: Commitment) {
        self.ring[self.until] = commitment;
        self.until = self.until.plus(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::message::SeatInfo;
    use crate::wire::name::PlayerName;
    use sim::{KindId, TickRate};

    const ME: PlayerId = PlayerId(0);
    const OTHER: PlayerId = PlayerId(1);
    const NOW: Time = Time(5_000);

    fn seating(round: u32) -> Seating {
        let name = PlayerName::new("Ann").expect("a name");
        let seat = SeatInfo { name, hero: KindId(1), team: 0 };
        Seating {
            round,
            map: 12,
            roster: [seat, seat, seat].into_iter().collect(),
            mesh_key: 1,
            addresses: arrayvec::ArrayVec::new(),
            public_keys: arrayvec::ArrayVec::new(),
            signing_keys: arrayvec::ArrayVec::new(),
            words: arrayvec::ArrayVec::new(),
        }
    }

    fn fair(round: u32) -> FairPlay {
        let lead = DelayControl::new(NOW, 2, 10_000, 16_667, false);
        FairPlay::new(&seating(round), SecretRng::new(&[round as u8; 32]), lead)
    }

    fn clock() -> TickClock {
        TickClock::new(TickRate::HZ_60, NOW, NOW)
    }

    #[test]
    fn nothing_is_revealed_before_all_have_committed() {
        let mut fair = fair(1);
        let reveal = |fair: &mut FairPlay, gone| {
            fair.reveal(NOW, &clock(), gone);
            fair.revealed()
        };
        (0..3).for_each(|tick| fair.commit(ME, Tick(tick), &[0, 0, 0]));
        assert_eq!(reveal(&mut fair, Seats::default()), Tick(0));
        assert_eq!(fair.take(OTHER, Tick(0), Tick(0), &[[1; 16]; 2], Tick(0)), Ok(()));
        assert_eq!((reveal(&mut fair, Seats::default()), fair.reveal_at()), (Tick(0), None));
        assert_eq!(fair.take(PlayerId(2), Tick(0), Tick(0), &[[1; 16]], Tick(0)), Ok(()));
        assert_eq!(reveal(&mut fair, Seats::default()), Tick(1));
        assert!(fair.reveal_at().is_some());
        assert_eq!(
            reveal(&mut fair, Seats::one(PlayerId(2))),
            Tick(2),
            "a seat that is gone commits to nothing"
        );
        assert_eq!(reveal(&mut fair, Seats::default()), Tick(2), "what is revealed stays so");
    }

    #[test]
    fn the_first_version_of_a_commitment_counts_and_the_far_future_is_refused() {
        let mut fair = fair(1);
        assert_eq!(fair.take(OTHER, Tick(0), Tick(0), &[[1; 16], [2; 16]], Tick(0)), Ok(()));
        assert_eq!(fair.take(OTHER, Tick(0), Tick(1), &[[9; 16], [3; 16]], Tick(0)), Ok(()));
        assert_eq!(fair.take(OTHER, Tick(0), Tick(4), &[[4; 16]], Tick(0)), Ok(()), "after a gap");
        assert_eq!(fair.until(OTHER), Tick(3));
        assert!(fair.since(OTHER, Tick(0)).eq([[1; 16], [2; 16], [3; 16]]));
        assert!(fair.take(OTHER, Tick(0), Tick(63), &[[1; 16], [2; 16]], Tick(0)).is_err());
        assert_eq!(fair.until(OTHER), Tick(3));
    }

    #[test]
    fn after_inputs_that_others_relayed_its_commitments_count_again() {
        let mut fair = fair(1);
        assert_eq!(fair.take(OTHER, Tick(0), Tick(0), &[[1; 16]], Tick(0)), Ok(()));
        assert_eq!(fair.take(OTHER, Tick(40), Tick(40), &[[2; 16], [3; 16]], Tick(40)), Ok(()));
        assert_eq!(fair.until(OTHER), Tick(42));
        assert!(fair.since(OTHER, Tick(40)).eq([[2; 16], [3; 16]]));
    }

    #[test]
    fn a_commitment_opens_for_one_input_of_one_seat_tick_and_seating_alone() {
        let (mut here, mut there, mut later) = (fair(1), fair(1), fair(2));
        (0..2).for_each(|tick| here.commit(ME, Tick(tick), &[0, 0, 0]));
        let told: alloc::vec::Vec<Commitment> = here.since(ME, Tick(0)).collect();
        assert_ne!(told[0], told[1], "a dictionary of likely inputs yields nothing");
        for peer in [&mut there, &mut later] {
            for player in [ME, OTHER] {
                peer.take(player, Tick(0), Tick(0), &told, Tick(0)).expect("near");
            }
        }
        let nonces = [here.nonce(Tick(0)), here.nonce(Tick(1))];
        assert!(there.opens(ME, Tick(0), &nonces[0], &[0, 0, 0]));
        assert!(there.opens(ME, Tick(1), &nonces[1], &[0, 0, 0]));
        assert!(!there.opens(ME, Tick(0), &nonces[0], &[0, 0, 1]), "another input");
        assert!(!there.opens(ME, Tick(0), &nonces[1], &[0, 0, 0]), "another nonce");
        assert!(!there.opens(ME, Tick(1), &nonces[0], &[0, 0, 0]), "another tick");
        assert!(!there.opens(OTHER, Tick(0), &nonces[0], &[0, 0, 0]), "another seat");
        assert!(!later.opens(ME, Tick(0), &nonces[0], &[0, 0, 0]), "another seating");
        assert!(!there.opens(ME, Tick(2), &nonces[1], &[0, 0, 0]), "no commitment");
    }
}
