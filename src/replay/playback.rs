//! Plays a replay back: the world that its inputs lead to, tick by tick.

use std::fs::File;
use std::io::{BufReader, Read, Seek};

use super::reader::{Record, Replay, SeekError};
use sim::{Tick, TickInputs, World};

/// Replay and the world that runs its inputs, from the first tick of the file: 0, or that of a cut. It ends with the
/// file, or with the first recorded hash that is not that of the world ([`Self::mismatch`]): what follows that tick is
/// not what was played.
#[derive(Debug)]
pub struct Playback<R = BufReader<File>> {
    replay: Replay<R>,
    world: World,
    /// Inputs of the last tick that ran.
    inputs: TickInputs,
    mismatch: Option<Tick>,
}

impl<R: Read + Seek> Playback<R> {
    /// Begins at the first tick of a replay.
    ///
    /// # Errors
    /// If the file cannot be read, is of another simulation build, or begins with a damaged state.
    pub fn new(mut replay: Replay<R>) -> Result<Self, SeekError> {
        let begins = replay.begins();
        let world = replay.world_at(begins)?;
        Ok(Self { replay, world, inputs: TickInputs::idle(begins, 0), mismatch: None })
    }

    /// Runs the next tick. Returns the world after it and its inputs, `None` at the end.
    pub fn next_tick(&mut self) -> Option<(&World, &TickInputs)> {
        loop {
            if let Record::Tick { inputs, .. } = self.next_record()? {
                self.inputs = inputs;
                return Some((&self.world, &self.inputs));
            }
        }
    }

    /// Reads the next record, and runs it if it is a tick: [`Self::world`] is then the world after it. Returns `None`
    /// at the end.
    pub fn next_record(&mut self) -> Option<Record> {
        if self.mismatch.is_some() {
            return None;
        }
        let record = self.replay.next()?;
        if let Record::Tick { inputs, hash } = &record {
            self.world.step(inputs);
            let differs = hash.is_some_and(|recorded| recorded != self.world.hash().whole);
            self.mismatch = differs.then_some(inputs.tick);
        }
        Some(record)
    }

    /// Returns the first tick after which the recorded hash is not that of the world, once it has run. Hashes are
    /// recorded after every tenth tick, so the states diverge at most nine ticks before.
    #[must_use]
    pub const fn mismatch(&self) -> Option<Tick> {
        self.mismatch
    }

    /// Returns the world before the next tick.
    #[must_use]
    pub const fn world(&self) -> &World {
        &self.world
    }

    /// Returns the replay, with header, and the recorded end once it is reached.
    #[must_use]
    pub const fn replay(&self) -> &Replay<R> {
        &self.replay
    }

    /// Returns the replay, as far as it has been read.
    #[must_use]
    pub fn into_replay(self) -> Replay<R> {
        self.replay
    }
}
