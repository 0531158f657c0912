//! What a rematch derives from the match before it.

/// The seed of the match after the one with `seed`. As short as a seed that a host draws.
pub(in crate::net) fn next_seed(seed: u64) -> u64 {
    u64::from(twox_hash::XxHash3_64::oneshot_with_seed(seed, b"rematch") as u32)
}
