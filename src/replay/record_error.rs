//! Reasons for which a match is not recorded.

use std::io;
use std::path::{Path, PathBuf};

use super::format::{FRAME_MAX, HeaderError};
use sim::Tick;

/// Reason why a match is not, or no longer, recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The match cannot be described.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// There already is such a replay.
    #[error("{} exists already: choose another name, or move it away", .0.display())]
    Exists(PathBuf),
    /// The folder is missing.
    #[error("there is no folder for {}: create it, or record elsewhere", .0.display())]
    NoSuchFolder(PathBuf),
    /// The folder is not writable.
    #[error("no permission to write {}: record elsewhere, or change its folder's permissions", .0.display())]
    NoPermission(PathBuf),
    /// The disk is full.
    #[error("the disk is full: free some space before the next match; the replay plays up to here")]
    DiskFull,
    /// The disk refused for another reason.
    #[error("the replay cannot be written: {0}")]
    Io(String),
    /// The disk is too slow.
    #[error("the disk is too slow: {0} writes wait; record to another one")]
    QueueFull(usize),
    /// The tick was not the next one, or had another number of players.
    #[error("tick {got} was recorded where tick {expected} was due: the replay ends before it")]
    OutOfOrder {
        /// Tick that was due.
        expected: Tick,
        /// Tick that was given.
        got: Tick,
    },
    /// The match exceeds a limit of the format.
    #[error("the match is too long for one replay: it ends at tick {0}")]
    TooLong(Tick),
    /// A replay cannot begin with such a large state.
    #[error("the state at tick {0} takes more than {FRAME_MAX} bytes: no replay can begin with it")]
    StateTooLong(Tick),
    /// The outcome is not a word.
    #[error("{0:?} cannot be the outcome of a match")]
    Outcome(String),
}

impl From<io::Error> for RecordError {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(error.to_string()),
        }
    }
}

impl RecordError {
    /// Returns the file that the message names, if any.
    #[must_use]
    pub fn file(&self) -> Option<&Path> {
        match self {
            Self::Exists(file) | Self::NoSuchFolder(file) | Self::NoPermission(file) => Some(file),
            _ => None,
        }
    }

    pub(super) fn opening(path: &Path, error: &io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AlreadyExists => Self::Exists(path.into()),
            io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => Self::NoSuchFolder(path.into()),
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                Self::NoPermission(path.into())
            }
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::DiskFull,
            _ => Self::Io(error.to_string()),
        }
    }
}
