//! Keyed random draws: the same key gives the same number, regardless of earlier draws.

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use super::tick::{PlayerId, Tick};

/// A uniform number that depends on its key alone. `ordinal` counts the draws of one player in one tick, so
/// that no player's draws shift another's.
#[must_use]
pub fn draw(seed: u64, tick: Tick, player: PlayerId, ordinal: u32) -> u64 {
    let mut key = [0; 32];
    key[..8].copy_from_slice(&seed.to_le_bytes());
    key[8..12].copy_from_slice(&tick.0.to_le_bytes());
    key[12..16].copy_from_slice(&ordinal.to_le_bytes());
    key[16] = player.0;
    ChaCha8Rng::from_seed(key).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_part_of_the_key_counts() {
        let of = |seed, tick, player, ordinal| draw(seed, Tick(tick), PlayerId(player), ordinal);
        let first = of(1, 2, 3, 4);
        assert_eq!(first, of(1, 2, 3, 4));
        for other in [of(2, 2, 3, 4), of(1, 3, 3, 4), of(1, 2, 2, 4), of(1, 2, 3, 5)] {
            assert_ne!(first, other);
        }
    }
}
