//! Circles, shields, score and the end of the match.

/// The progress at which a circle changes hands.
pub const CAPTURED: i32 = 60_000;
