//! Replays: the inputs of a match, appended while it runs, from which the simulation reproduces it.
//!
//! [`ReplayRecorder`] writes beside a match, [`Replay`] reads record by record, [`verify()`] simulates and compares.
//! `docs/REPLAY_FORMAT.md` specifies the bytes.
#![forbid(unsafe_code)]
// No file may crash the process.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

mod against;
mod canonical;
mod command_json;
mod cut;
mod diff;
mod encoder;
mod export;
mod format;
mod frames;
mod playback;
mod reader;
mod record_error;
mod setup_data;
mod verify;
mod writer;

pub use against::{Comparison, compare};
pub use command_json::{command_from_json, command_to_json};
pub use cut::{CutError, cut};
pub use diff::{Parting, diff};
pub use encoder::ReplayEncoder;
pub use export::{
    EventRow, Form, Said, UnitRow, Word, events, said, states, write_events, write_said, write_states,
};
pub use format::{
    CUT_VERSION, EXTENSION, FILE_MAX, FORMAT_VERSION, FRAME_MAX, HASH_TICKS, HEADER_MAX, HeaderError,
    KEYFRAME_SECONDS, NAME_MAX, PART_EXTENSION, ReplayEvent, ReplayHeader, ReplayResult, ReplaySeat,
};
pub use playback::Playback;
pub use reader::{End, OpenError, Record, Replay, SeekError, Trailer};
pub use record_error::RecordError;
pub use setup_data::{SetupData, SetupError};
pub use verify::{Progress, ReplayInfo, Verdict, VerifyReport, info, verify, verify_replay};
pub use writer::{RecordStatus, ReplayFile, ReplayRecorder, ReplaySink};

/// Version of this program with the commit from which it was built, such as `0.2.0+abc1234`, for recordings, beacons
/// and refusals. It ends in `+unknown` if the build had neither `ARENA_COMMIT` nor a `.git`.
pub const VERSION: &str = env!("PROGRAM_VERSION");

/// First twelve digits of that commit, or `unknown`.
pub const COMMIT: &str = env!("ARENA_COMMIT");
