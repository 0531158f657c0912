//! A player's progress on the ladder, kept between starts of the program.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::KeptFile;
use super::data::{Opponent, opponents};

/// Name of the file in the user's data folder.
pub const LADDER_FILE: &str = "ladder.toml";
/// Maximum size of the file, in bytes; with every opponent in it, it has a fiftieth of that.
const BYTES_MAX: u64 = 64 * 1024;

/// Progress on the ladder. The file uses the same names.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Progress {
    /// Number of matches won in a row.
    streak: u32,
    /// Largest such number.
    longest_streak: u32,
    /// Shortest match won against each opponent, by its name, in milliseconds; those of other versions of the program
    /// are kept, too.
    best_ms: BTreeMap<String, u32>,
    /// Keys of other versions of the program, kept unchanged.
    #[serde(flatten)]
    rest: toml::Table,
}

impl Progress {
    /// Returns the place of the first opponent that was never beaten; `None` at the top.
    #[must_use]
    pub fn next(&self) -> Option<usize> {
        opponents().iter().position(|opponent| self.best_ms(opponent).is_none())
    }

    /// Whether the opponent at this place may be played: it was beaten, or is the next.
    #[must_use]
    pub fn is_open(&self, place: usize) -> bool {
        let is_beaten = opponents().get(place).is_some_and(|opponent| self.best_ms(opponent).is_some());
        is_beaten || self.next() == Some(place)
    }

    /// Returns the length of the shortest match won against an opponent, in milliseconds.
    #[must_use]
    pub fn best_ms(&self, opponent: &Opponent) -> Option<u32> {
        self.best_ms.get(opponent.name.as_str()).copied()
    }

    /// Returns the number of matches won in a row, and the largest such number.
    #[must_use]
    pub const fn streak(&self) -> (u32, u32) {
        (self.streak, self.longest_streak)
    }

    /// Returns the progress after a match against an opponent, won after this many milliseconds or not won. A match
    /// against an opponent who is not open yet does not count.
    #[must_use]
    pub fn after(&self, opponent: &Opponent, won_ms: Option<u32>) -> Self {
        let mut after = self.clone();
        let place = opponents().iter().position(|other| other.name == opponent.name);
        if !place.is_some_and(|place| self.is_open(place)) {
            return after;
        }
        match won_ms {
            Some(ms) => {
                after.streak = self.streak.saturating_add(1);
                after.longest_streak = self.longest_streak.max(after.streak);
                let best = after.best_ms.entry(opponent.name.as_str().to_owned()).or_insert(ms);
                *best = ms.min(*best);
            }
            None => after.streak = 0,
        }
        after
    }

    fn parse(text: &str) -> Result<Self, String> {
        let progress: Self = toml::from_str(text).map_err(|error| error.message().to_owned())?;
        let Self { streak, longest_streak, .. } = progress;
        if streak > longest_streak {
            return Err(format!("streak is {streak}, more than longest_streak, {longest_streak}"));
        }
        Ok(progress)
    }
}

/// Progress, and the file in which it is kept.
#[derive(Debug)]
pub struct KeptProgress {
    progress: Progress,
    file: KeptFile,
}

impl KeptProgress {
    /// Reads the file, and returns a warning if it is broken or cannot be read.
    #[must_use]
    pub fn open(path: PathBuf) -> (Self, Option<String>) {
        let (file, progress, said) = KeptFile::open(path, BYTES_MAX, Progress::parse);
        (Self { progress: progress.unwrap_or_default(), file }, said)
    }

    /// Returns a progress that lasts until the program ends, where no file can be kept.
    #[must_use]
    pub fn unkept() -> Self {
        Self { progress: Progress::default(), file: KeptFile::nowhere() }
    }

    /// Returns the progress.
    #[must_use]
    pub const fn progress(&self) -> &Progress {
        &self.progress
    }

    /// Counts a match, as [`Progress::after`] does, and writes the file if that changes anything.
    ///
    /// # Errors
    /// If writing fails; the match counts until the program ends.
    pub fn count(&mut self, opponent: &Opponent, won_ms: Option<u32>) -> io::Result<()> {
        let after = self.progress.after(opponent, won_ms);
        if after == self.progress {
            return Ok(());
        }
        self.progress = after;
        self.file.write(&toml::to_string(&self.progress).map_err(io::Error::other)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn climbed(places: &[usize]) -> Progress {
        let climb = |progress: Progress, &place: &usize| progress.after(&opponents()[place], Some(90_000));
        places.iter().fold(Progress::default(), climb)
    }

    #[test]
    fn an_opponent_opens_when_the_one_before_is_beaten() {
        let new = Progress::default();
        assert_eq!((new.next(), new.is_open(0), new.is_open(1)), (Some(0), true, false));
        let one = climbed(&[0]);
        assert_eq!(
            (one.next(), one.is_open(0), one.is_open(1), one.is_open(2)),
            (Some(1), true, true, false)
        );
        assert_eq!(climbed(&[0, 2]), one, "a locked one does not count");
        let all: Vec<usize> = (0..opponents().len()).collect();
        let top = climbed(&all);
        assert_eq!((top.next(), top.streak()), (None, (10, 10)));
        assert!(all.iter().all(|&place| top.is_open(place)) && !top.is_open(10));
    }

    #[test]
    fn a_win_adds_to_the_streak_and_anything_else_ends_it() {
        let first = &opponents()[0];
        let progress = climbed(&[0, 1, 0]);
        assert_eq!(progress.streak(), (3, 3));
        let lost = progress.after(first, None);
        assert_eq!((lost.streak(), lost.best_ms(first)), ((0, 3), Some(90_000)), "it stays beaten");
        assert_eq!(lost.after(first, Some(1)).streak(), (1, 3));
        let locked = progress.after(&opponents()[9], None);
        assert_eq!(locked.streak(), (3, 3), "a locked one ends no streak");
    }

    #[test]
    fn the_best_time_is_the_shortest() {
        let first = &opponents()[0];
        let best = [90_000, 120_000, 60_000].map(|ms| climbed(&[0]).after(first, Some(ms)).best_ms(first));
        assert_eq!(best, [Some(90_000), Some(90_000), Some(60_000)]);
    }

    #[test]
    fn progress_survives_a_restart() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join(LADDER_FILE);
        let (mut kept, said) = KeptProgress::open(path.clone());
        assert_eq!((kept.progress(), said), (&Progress::default(), None));
        kept.count(&opponents()[0], None).expect("nothing to write");
        assert!(!path.exists(), "a lost match changes nothing");
        kept.count(&opponents()[0], Some(61_000)).expect("written");
        kept.count(&opponents()[1], Some(73_000)).expect("written");
        let (again, said) = KeptProgress::open(path);
        assert_eq!((again.progress(), said), (kept.progress(), None));
        assert_eq!((again.progress().next(), again.progress().streak()), (Some(2), (2, 2)));
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1, "no drafts are left");
    }

    #[test]
    fn a_broken_file_is_set_aside_and_said_once() {
        let large = vec![b' '; BYTES_MAX as usize + 1];
        let broken: [(&[u8], &str); 7] = [
            (b"[[", "ladder.toml is broken"),
            (b"streak = -1", "is broken"),
            (b"best_ms = 3", "is broken"),
            (b"[best_ms]\nPip = \"fast\"", "is broken"),
            (b"streak = 3\nlongest_streak = 2", "streak is 3, more than longest_streak, 2"),
            (b"\xff", "is not UTF-8"),
            (&large, "more than 65536 bytes"),
        ];
        for (bytes, why) in broken {
            let folder = tempfile::tempdir().expect("a folder");
            let path = folder.path().join(LADDER_FILE);
            std::fs::write(&path, bytes).expect("a file");
            let (mut kept, said) = KeptProgress::open(path.clone());
            assert!(said.as_ref().is_some_and(|said| said.contains(why)), "{why}: {said:?}");
            assert_eq!(kept.progress(), &Progress::default());
            let aside = std::fs::read(folder.path().join("ladder.toml.broken")).expect("set aside");
            assert_eq!((aside, path.exists()), (bytes.to_vec(), false));
            kept.count(&opponents()[0], Some(61_000)).expect("a new file");
            let (again, said) = KeptProgress::open(path);
            assert_eq!((again.progress().next(), said), (Some(1), None), "once");
        }
    }

    #[test]
    fn keys_of_other_versions_are_kept() {
        let text = "streak = 1\nlongest_streak = 4\nhat = \"red\"\n\n[best_ms]\nNobody = 7\nPip = 61000\n";
        let progress = Progress::parse(text).expect("progress");
        assert_eq!((progress.streak(), progress.next()), ((1, 4), Some(1)));
        let again = toml::to_string(&progress.after(&opponents()[1], None)).expect("text");
        assert!(again.contains("hat = \"red\"") && again.contains("Nobody = 7"), "{again}");
        assert!(again.contains("streak = 0\nlongest_streak = 4"), "{again}");
    }
}
