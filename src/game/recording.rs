//! Records a match while it is played, on a peer and on a server alike.

use arrayvec::ArrayVec;
use std::path::{Path, PathBuf};

use super::match_event::MatchEvent;
use net::Roster;
use replay::{RecordError, RecordStatus, ReplayEvent, ReplayHeader, ReplayRecorder, ReplayResult};
use sim::{GameState, PLAYERS_MAX, PlayerId, StateHash, Tick, TickInputs, World};

/// Recording, or none; ticks written to none are dropped.
#[derive(Default)]
pub(super) struct Recording {
    recorder: Option<ReplayRecorder>,
    /// Whether its failure has been reported.
    is_reported: bool,
    /// Path of the finished file.
    path: Option<PathBuf>,
    /// Path of an incomplete file, with the reason.
    error: Option<String>,
    /// Players who have departed, each with its first tick without input; kept without a file, too.
    departures: ArrayVec<(PlayerId, Tick), PLAYERS_MAX>,
}

impl Recording {
    /// Starts recording what `player` or a server sees, or returns a failure event, since a failure does not end the
    /// match. Must not be called before tick 0 is agreed, so that a match that never starts leaves no file.
    pub(super) fn begin(
        &mut self,
        path: &Path,
        world: &World,
        roster: &Roster,
        player: Option<PlayerId>,
        started_unix_s: u64,
    ) -> Option<MatchEvent> {
        let names: Vec<&str> = roster.iter().map(|seat| seat.name.as_str()).collect();
        let header = ReplayHeader::new(world.setup(), &names, player, started_unix_s);
        match header.map_err(RecordError::from).and_then(|header| ReplayRecorder::create(path, &header)) {
            Ok(recorder) => {
                self.recorder = Some(recorder);
                None
            }
            Err(error) => Some(self.failed(path, &error)),
        }
    }

    /// Adds a tick, and the state after it.
    pub(super) fn record(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(inputs, hash, state);
        }
    }

    /// Records that a player has no input from `tick` on.
    pub(super) fn departed(&mut self, player: PlayerId, tick: Tick, is_lost: bool) {
        if self.departed_at(player).is_none() {
            // It is full only if it holds every player.
            let _ = self.departures.try_push((player, tick));
        }
        if let Some(recorder) = &mut self.recorder {
            recorder.event(tick, if is_lost { ReplayEvent::Lost(player) } else { ReplayEvent::Left(player) });
        }
    }

    /// Returns the first tick without input of a player who has departed.
    pub(super) fn departed_at(&self, player: PlayerId) -> Option<Tick> {
        self.departures.iter().find(|(departed, _)| *departed == player).map(|&(_, tick)| tick)
    }

    /// Returns its failure, once.
    pub(super) fn failure(&mut self) -> Option<MatchEvent> {
        let recorder = self.recorder.as_ref().filter(|_| !self.is_reported)?;
        let RecordStatus::Stopped(error) = recorder.status() else { return None };
        let file = recorder.path().map(Path::to_owned).unwrap_or_default();
        self.is_reported = true;
        Some(self.failed(&file, &error))
    }

    /// Records a failure with its file.
    fn failed(&mut self, file: &Path, error: &RecordError) -> MatchEvent {
        let why =
            if error.file().is_some() { error.to_string() } else { format!("{}: {error}", file.display()) };
        self.error = Some(why.clone());
        MatchEvent::RecordingStopped(why)
    }

    /// Stops recording without a result. Returns false if nothing was recorded.
    pub(super) fn stop(&mut self) -> bool {
        self.recorder.take().is_some()
    }

    /// Closes the file with the match's outcome, and reports an error.
    pub(super) fn finish(&mut self, outcome: &str, winner: Option<u8>) -> Option<MatchEvent> {
        let recorder = self.recorder.take()?;
        let file = recorder.path().map(Path::to_owned).unwrap_or_default();
        match recorder.finish(ReplayResult { outcome: outcome.into(), winner }) {
            Ok(path) => {
                self.path = Some(path);
                None
            }
            Err(error) => (!self.is_reported).then(|| self.failed(&file, &error)),
        }
    }

    /// Returns the path of an incomplete file, with the reason, once.
    pub(super) fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }

    /// Returns the path of the finished file.
    pub(super) fn take_path(&mut self) -> Option<PathBuf> {
        self.path.take()
    }
}
