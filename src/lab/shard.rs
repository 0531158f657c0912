//! Shards of a campaign, a study or a sweep.

use core::fmt;
use core::str::FromStr;

/// Shard of a campaign, a study or a sweep: part `index` of `count`, from 0, to be played on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Index of the shard.
    pub index: u32,
    /// Number of shards; at least 1.
    pub count: u32,
}

impl Shard {
    /// Single shard with all matches.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Returns the number of the shard's matches, out of `matches`.
    #[must_use]
    pub const fn share(self, matches: u32) -> u32 {
        matches.saturating_sub(self.index).div_ceil(self.count)
    }

    /// Whether the match with this index belongs to the shard.
    #[must_use]
    pub const fn has(self, place: usize) -> bool {
        place % self.count as usize == self.index as usize
    }
}

impl Default for Shard {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl fmt::Display for Shard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.index, self.count)
    }
}

impl FromStr for Shard {
    type Err = String;

    /// Parses `0/4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let parse = || {
            let (index, count) = text.split_once('/')?;
            let (index, count) = (index.parse().ok()?, count.parse().ok()?);
            (index < count).then_some(Self { index, count })
        };
        parse().ok_or_else(|| "expected K/N with K from 0 to N - 1, such as 0/4".to_owned())
    }
}
