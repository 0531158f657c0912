//! A part of a recorded match as a replay of its own.

use std::io::{Read, Seek, Write};

use super::encoder::ReplayEncoder;
use super::format::ReplayResult;
use super::reader::{Record, Replay, SeekError};
use super::record_error::RecordError;
use sim::Tick;

/// Ticks between two writes: what is kept in memory meanwhile.
const WRITE_TICKS: u32 = 600;

/// Why a part cannot be cut out.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// One cannot go to where it begins.
    #[error(transparent)]
    Seek(#[from] SeekError),
    /// It cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// There is nothing there.
    #[error("nothing lies between ticks {from} and {to}: the replay goes from {begins} to {ends}")]
    Nothing {
        /// The first tick asked for.
        from: Tick,
        /// The one after the last.
        to: Tick,
        /// The first tick there is.
        begins: Tick,
        /// The one after the last there is.
        ends: Tick,
    },
    /// The match does not simulate to what was recorded, so no part of it would.
    #[error("after tick {0} the replay simulates to another state than recorded: nothing can be cut beyond")]
    Mismatch(Tick),
}

/// Writes the ticks from `from` up to `to`, which is not among them, or up to the end if that comes first.
/// Gives how many there are, and what was written to. They are simulated, and compared with what was recorded.
///
/// # Errors
/// If there are no such ticks, the replay does not simulate to what was recorded, or nothing can be written.
pub fn cut<R: Read + Seek, W: Write>(
    replay: &mut Replay<R>,
    from: Tick,
    to: Tick,
    out: W,
) -> Result<(u32, W), CutError> {
    let begins = replay.begins();
    let mut world = replay.world_at(from)?;
    let reached = world.state().tick();
    if from < begins || reached < from || to <= from {
        let ends = if reached < from { reached } else { replay.promised_ticks().map_or(reached, Tick) };
        return Err(CutError::Nothing { from, to, begins, ends });
    }
    let mut encoder = match from {
        Tick(0) => ReplayEncoder::new(out, replay.header())?,
        _ => ReplayEncoder::from_state(out, replay.header(), world.state())?,
    };
    while world.state().tick() < to {
        match replay.next() {
            Some(Record::Tick { inputs, hash }) => {
                world.step(&inputs);
                let here = world.hash().whole;
                if hash.is_some_and(|recorded| recorded != here) {
                    return Err(CutError::Mismatch(inputs.tick));
                }
                encoder.tick(&inputs, here)?;
                if inputs.tick.0.is_multiple_of(WRITE_TICKS) {
                    encoder.write()?;
                }
            }
            Some(Record::Keyframe { .. }) => encoder.keyframe(world.state()),
            Some(Record::Event { tick, event }) => encoder.event(tick, event),
            None => break,
        }
    }
    let ends = world.state().tick();
    if ends == from {
        return Err(CutError::Nothing { from, to, begins, ends });
    }
    Ok((ends.since(from), encoder.finish(result_at(replay, ends))?))
}

/// How the part ends: like the match if it ends there, else as interrupted.
fn result_at<R: Read + Seek>(replay: &mut Replay<R>, ends: Tick) -> ReplayResult {
    if replay.promised_ticks() == Some(ends.0) {
        // The trailer is read, and checked, when nothing comes before it.
        for _ in replay.by_ref() {}
    }
    match replay.trailer() {
        Some(trailer) => trailer.result.clone(),
        None => ReplayResult { outcome: "tick_limit".into(), winner: None },
    }
}
