//! Records a match while it is played, on a peer and on a server alike; a client of a server copies its recording.

use arrayvec::ArrayVec;
use std::path::{Path, PathBuf};

use super::match_event::MatchEvent;
use net::Roster;
use replay::{
    RecordError, RecordStatus, ReplayEvent, ReplayFile, ReplayHeader, ReplayRecorder, ReplayResult,
};
use sim::{GameState, PLAYERS_MAX, PlayerId, StateHash, Tick, TickInputs, World};

/// Recording, or none; ticks written to none are dropped.
#[derive(Default)]
pub(super) struct Recording {
    recorder: Option<ReplayRecorder>,
    copy: Option<Copy>,
    /// Whether its failure has been reported.
    is_reported: bool,
    /// Path of the file, once it is closed.
    path: Option<PathBuf>,
    /// Path of a file that could not be written, with the reason.
    error: Option<String>,
    /// Players who have departed, each with its first tick without input; kept without a file, too.
    departures: ArrayVec<(PlayerId, Tick), PLAYERS_MAX>,
}

/// Copy of a server's recording.
struct Copy {
    path: PathBuf,
    /// The file, once there is something to write.
    file: Option<ReplayFile>,
    is_whole: bool,
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
        let header = header(world, roster, player, started_unix_s);
        match header.and_then(|header| ReplayRecorder::create(path, &header)) {
            Ok(recorder) => {
                self.recorder = Some(recorder);
                None
            }
            Err(error) => Some(self.failed(path, &error)),
        }
    }

    /// Starts recording what a server sees for its clients, who get [`Self::stream`], and into a file at `path`. Returns a
    /// failure event if there is no file though there should be.
    pub(super) fn begin_streaming(
        &mut self,
        path: Option<&Path>,
        world: &World,
        roster: &Roster,
        started_unix_s: u64,
    ) -> Option<MatchEvent> {
        let header = match header(world, roster, None, started_unix_s) {
            Ok(header) => header,
            Err(error) => return path.map(|path| self.failed(path, &error)),
        };
        let mut failed = None;
        let file = path.and_then(|path| match ReplayFile::with_header(path, &header) {
            Ok(file) => Some(file),
            Err(error) => {
                failed = Some(self.failed(path, &error));
                None
            }
        });
        self.recorder = ReplayRecorder::streaming(file, &header).ok();
        failed
    }

    /// Begins to copy a server's recording, of which [`Self::append`] gets the bytes, to `path`.
    pub(super) fn begin_copy(&mut self, path: PathBuf) {
        self.copy = Some(Copy { path, file: None, is_whole: false });
    }

    /// Appends bytes of a server's recording; returns a failure event if there can be no file.
    pub(super) fn append(&mut self, bytes: &[u8], is_whole: bool) -> Option<MatchEvent> {
        let copy = self.copy.as_mut()?;
        copy.is_whole = is_whole;
        if let Some(file) = &mut copy.file {
            file.append(bytes);
            return None;
        }
        match ReplayFile::create(&copy.path, bytes) {
            Ok(file) => {
                copy.file = Some(file);
                None
            }
            Err(error) => {
                let path = self.copy.take()?.path;
                Some(self.failed(&path, &error))
            }
        }
    }

    /// Adds a tick, and the state after it.
    pub(super) fn record(&mut self, inputs: &TickInputs, hash: &StateHash, state: &GameState) {
        if let Some(recorder) = &mut self.recorder {
            recorder.record(inputs, hash, state);
        }
    }

    /// Returns what has been recorded for a server's clients since they last took and cleared it.
    pub(super) fn stream(&mut self) -> Option<&mut Vec<u8>> {
        self.recorder.as_mut()?.stream().filter(|stream| !stream.is_empty())
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
        if self.is_reported {
            return None;
        }
        let copy = || self.copy.as_ref()?.file.as_ref().map(|file| (file.status(), file.path()));
        let recorder = self.recorder.as_ref().map(|recorder| (recorder.status(), recorder.path()));
        let (RecordStatus::Stopped(error), file) = recorder.or_else(copy)? else { return None };
        let file = file.map(Path::to_owned).unwrap_or_default();
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

    /// Adds the match's outcome, after which nothing is recorded.
    pub(super) fn end(&mut self, outcome: &str, winner: Option<u8>) {
        if let Some(recorder) = &mut self.recorder {
            recorder.end(ReplayResult { outcome: outcome.into(), winner });
        }
    }

    /// Closes the file, with the match's outcome unless it has one, and reports an error. A copy that has not arrived whole
    /// stays incomplete.
    pub(super) fn finish(&mut self, outcome: &str, winner: Option<u8>) -> Option<MatchEvent> {
        self.end(outcome, winner);
        let (file, closed) = if let Some(recorder) = self.recorder.take() {
            (recorder.path().map(Path::to_owned), recorder.close())
        } else {
            let Copy { file, is_whole, .. } = self.copy.take()?;
            let file = file?;
            let part = file.path().map(Path::to_owned);
            (
                part.clone(),
                if is_whole { file.finish() } else { file.leave().map(|()| part.unwrap_or_default()) },
            )
        };
        match closed {
            Ok(path) => {
                self.path = Some(path).filter(|path| !path.as_os_str().is_empty());
                None
            }
            Err(error) => (!self.is_reported).then(|| self.failed(&file.unwrap_or_default(), &error)),
        }
    }

    /// Returns the path of a file that could not be written, with the reason, once.
    pub(super) fn take_error(&mut self) -> Option<String> {
        self.error.take()
    }

    /// Returns the path of the closed file.
    pub(super) fn take_path(&mut self) -> Option<PathBuf> {
        self.path.take()
    }
}

fn header(
    world: &World,
    roster: &Roster,
    player: Option<PlayerId>,
    started_unix_s: u64,
) -> Result<ReplayHeader, RecordError> {
    let names: Vec<&str> = roster.iter().map(|seat| seat.name.as_str()).collect();
    Ok(ReplayHeader::new(world.setup(), &names, player, started_unix_s)?)
}
