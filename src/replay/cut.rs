//! A part of a recorded match as a replay of its own.

use std::io::{Read, Seek, Write};

use super::encoder::ReplayEncoder;
use super::format::ReplayResult;
use super::reader::{Record, Replay, SeekError};
use super::record_error::RecordError;
use sim::Tick;

/// Number of ticks between two writes, which are buffered in memory.
const WRITE_TICKS: u32 = 600;

/// Reason why a part cannot be cut out.
#[derive(Debug, thiserror::Error)]
pub enum CutError {
    /// The beginning cannot be reached.
    #[error(transparent)]
    Seek(#[from] SeekError),
    /// It cannot be recorded.
    #[error(transparent)]
    Record(#[from] RecordError),
    /// The part is empty.
    #[error("there are no ticks from {from} to {to}: the replay goes from {begins} to {ends}")]
    Nothing {
        /// First tick requested.
        from: Tick,
        /// Tick after the last one requested.
        to: Tick,
        /// First tick of the replay.
        begins: Tick,
        /// Tick after the last one of the replay.
        ends: Tick,
    },
    /// The simulation does not reproduce the recording, so no part of it would verify.
    #[error("after tick {0} the simulation differs from the recording: no later part can be cut")]
    Mismatch(Tick),
}

/// Writes the ticks from `from` up to `to`, which is excluded, or up to the end if that comes first. Returns their
/// number, and the writer. The ticks are simulated, and compared with the recording.
///
/// # Errors
/// If there are no such ticks, the simulation does not reproduce the recording, or nothing can be written.
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

/// Returns the result of the part: that of the match if it ends there, else an interruption.
fn result_at<R: Read + Seek>(replay: &mut Replay<R>, ends: Tick) -> ReplayResult {
    if replay.promised_ticks() == Some(ends.0) {
        // The trailer is read and checked once all records before it are.
        for _ in replay.by_ref() {}
    }
    match replay.trailer() {
        Some(trailer) => trailer.result.clone(),
        None => ReplayResult { outcome: "tick_limit".into(), winner: None },
    }
}
