//! Parts of a campaign, a study or a sweep.

use core::fmt;
use core::str::FromStr;

/// A part of a campaign, a study or a sweep, to be played on its own: number `index` of `count`, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shard {
    /// Which.
    pub index: u32,
    /// Of how many; at least 1.
    pub count: u32,
}

impl Shard {
    /// Everything.
    pub const WHOLE: Self = Self { index: 0, count: 1 };

    /// Returns the number of `matches` matches that are in it.
    #[must_use]
    pub const fn share(self, matches: u32) -> u32 {
        matches.saturating_sub(self.index).div_ceil(self.count)
    }

    /// Whether the match at this place of all is in it.
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

    /// Reads `0/4`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (index, count) = text.split_once('/').ok_or("expected K/N, such as 0/4")?;
        let number = |text: &str| text.parse::<u32>().map_err(|_| "expected K/N, such as 0/4".to_owned());
        let (index, count) = (number(index)?, number(count)?);
        if index < count {
            Ok(Self { index, count })
        } else {
            Err(format!("the shards of {count} count from 0"))
        }
    }
}
