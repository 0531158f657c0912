//! How the window begins.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::cli::args::{HostArguments, JoinArguments, PlayArguments};
use mini_rts_arena::lab::compare::Cell;

/// What the window begins with.
pub(crate) enum Opening {
    Menu,
    Practice(Box<PlayArguments>),
    Host(Box<HostArguments>),
    Join(Box<JoinArguments>),
    Watch(PathBuf),
    /// On the links of the cell, with this seed.
    Both(Box<Cell>, u64),
}

/// Whether a frame has been shown: from then on a panic is not about the window.
pub(crate) static HAS_OPENED: AtomicBool = AtomicBool::new(false);
