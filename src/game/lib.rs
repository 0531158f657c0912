//! A match: session or replay, gate, world, hash and recorder in one synchronous [`Match::advance`]; and the thread
//! that runs it beside a window or a terminal.
#![forbid(unsafe_code)]

mod backlog;
mod bundle;
mod clock;
mod controller;
pub mod data;
mod deviation;
mod exec_bot;
mod history;
mod internal;
#[cfg(test)]
mod internal_tests;
mod interpolated;
mod kept_file;
pub mod ladder;
mod match_event;
mod matches;
mod measures;
mod node;
mod options;
mod outcome;
pub mod phrase;
mod predictor;
mod recent;
mod recording;
mod replay_match;
mod report;
mod runner;
mod script;
mod server;
mod session;
mod shared_steps;
mod sheet;
mod smoothing;
mod stats;
mod summary;
pub mod text_file;
mod trace;
mod view;

/// Whether what only attackers need is part of this build: ways past a session.
pub const DOORS_OPEN: bool = cfg!(feature = "doors");

pub use backlog::{BACKLOG_MAX, EventBacklog};
pub use bundle::{BUNDLE_BYTES_MAX, BundleError, BundleVerdict, DesyncBundle, SideVerdict};
pub use clock::MatchClock;
pub use controller::{Controller, ControllerChoice};
pub use exec_bot::{EXEC_WAITS_MAX, ExecBot, ExecOptions};
pub use history::{History, MOMENTS_MAX, Moment, SAMPLES_MAX, Sample, Tally};
pub use interpolated::Interpolated;
pub use kept_file::KeptFile;
pub use match_event::MatchEvent;
pub use matches::{Confirmed, Control, Finished, Match, MatchThread, Progress, Seen};
pub use node::Node;
pub use options::{Inject, MatchOptions};
pub use outcome::{MatchError, MatchOutcome};
pub use predictor::{HORIZON_TICKS_MAX, PredictionCounts, Predictor};
pub use replay_match::{REPLAY_SPEEDS, ReplayMatch, WatchError};
pub use report::{DesyncReport, Party};
pub use runner::{MatchEnded, NodeThread, Threaded};
pub use script::{SCRIPT_BYTES_MAX, SCRIPT_COMMANDS_MAX, Script, ScriptError, ScriptLine};
pub use server::{Server, ServerControl, ServerOptions, ServerProgress, ServerSummary, ServerThread, Stage};
pub use session::Session;
pub use shared_steps::SharedSteps;
pub use sheet::{MatchSheet, SeatResult};
pub use stats::{Histogram, Latencies, Percentiles};
pub use summary::Summary;
pub use trace::Trace;
pub use view::{View, ViewReader};
