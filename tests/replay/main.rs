//! Replays: their files, parts of them, and the recorder beside a match.

#[path = "../counting/mod.rs"]
mod counting;
mod files;
mod parts;
mod recorder;
mod scripted;
