//! Derives the settings of a rematch from the match before it.

use crate::wire::message::{MatchConfig, Roster};

/// The configuration of the match after the one with `config`. Its seed is as short as the seed that a host draws.
pub(crate) fn next_config(config: MatchConfig) -> MatchConfig {
    let seed = u64::from(twox_hash::XxHash3_64::oneshot_with_seed(config.seed, b"rematch") as u32);
    MatchConfig { seed, game: config.game.wrapping_add(1), ..config }
}

/// Whether the same players sit in the same seats and teams; heroes may change between matches.
pub(crate) fn are_same_players(a: &Roster, b: &Roster) -> bool {
    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| (a.name, a.team) == (b.name, b.team))
}
