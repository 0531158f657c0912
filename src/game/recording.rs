//! Records a match while it is played, on a peer and on a server alike.

use std::path::{Path, PathBuf};

use super::match_event::MatchEvent;
use super::outcome::MatchError;
use crate::net::Roster;
use crate::replay::{RecordStatus, ReplayEvent, ReplayHeader, ReplayRecorder, ReplayResult};
use crate::sim::{GameState, PlayerId, StateHash, Tick, TickInputs, World};

/// A recording, or none; ticks written to none are dropped.
#[derive(Default)]
pub(super) struct Recording {
    recorder: Option<ReplayRecorder>,
    /// Whether its failure has been reported.
    is_reported: bool,
    /// The finished file.
    path: Option<PathBuf>,
}

impl Recording {
    /// Starts recording what `player`, or a server, sees. Call it only once tick 0 is agreed, so that a match
    /// that never starts leaves no file.
    pub(super) fn begin(
        &mut self,
        path: &Path,
        world: &World,
        roster: &Roster,
        player: Option<PlayerId>,
        started_unix_s: u64,
    ) -> Result<(), MatchError> {
        let names: Vec<&str> = roster.iter().map(|seat| seat.name.as_str()).collect();
        let header = ReplayHeader::new(world.setup(), &names, player, started_unix_s)?;
        self.recorder = Some(ReplayRecorder::create(path, &header)?);
        Ok(())
    }

    /// Adds a tick, and the state after it.
    pub(super) fn record(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(inputs, hash, state);
        }
    }

    /// Notes that a player has no input from `tick` on.
    pub(super) fn departed(&mut self, player: PlayerId, tick: Tick, is_lost: bool) {
        if let Some(recorder) = &mut self.recorder {
            recorder.event(tick, if is_lost { ReplayEvent::Lost(player) } else { ReplayEvent::Left(player) });
        }
    }

    /// Its failure, returned once.
    pub(super) fn failure(&mut self) -> Option<MatchEvent> {
        let recorder = self.recorder.as_ref().filter(|_| !self.is_reported)?;
        let RecordStatus::Stopped(error) = recorder.status() else { return None };
        self.is_reported = true;
        Some(MatchEvent::RecordingStopped(error.to_string()))
    }

    /// Stops recording without a result. False if nothing was recorded.
    pub(super) fn stop(&mut self) -> bool {
        self.recorder.take().is_some()
    }

    /// Closes the file with the match's outcome, and reports an error.
    pub(super) fn finish(&mut self, outcome: &str, winner: Option<u8>) -> Option<MatchEvent> {
        match self.recorder.take()?.finish(ReplayResult { outcome: outcome.into(), winner }) {
            Ok(path) => {
                self.path = Some(path);
                None
            }
            Err(error) => (!self.is_reported).then(|| MatchEvent::RecordingStopped(error.to_string())),
        }
    }

    /// The path of the finished file.
    pub(super) fn take_path(&mut self) -> Option<PathBuf> {
        self.path.take()
    }
}
