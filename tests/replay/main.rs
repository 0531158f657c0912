//! Replays: their files, parts of them, and the recorder beside a match.

mod exports;
mod files;
mod parts;
mod recorder;
mod scripted;
