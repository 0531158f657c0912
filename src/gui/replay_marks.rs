//! What happened in a replay, found by a thread that plays it through while it is watched.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::cli::replay::moments::{self, Kind, Moment};
use mini_rts_arena::replay::Replay;

/// Most marks of a replay; a match has a few dozen.
const MARKS_MAX: usize = 2_000;

/// The marks that have been found so far.
pub(crate) struct ReplayMarks {
    found: Vec<Moment>,
    coming: Receiver<Moment>,
    is_enough: Arc<AtomicBool>,
}

impl ReplayMarks {
    /// Begins to look; a file that cannot be read has none.
    pub(crate) fn of(file: PathBuf) -> Self {
        let (sender, coming) = sync_channel(MARKS_MAX);
        let is_enough = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_enough);
        let look = move || {
            let Ok(mut replay) = Replay::open(file) else { return };
            moments::of_replay(&mut replay, |moment| {
                let is_marked = moment.kind != Kind::Other;
                !stop.load(Ordering::Relaxed) && (!is_marked || sender.try_send(moment).is_ok())
            });
        };
        // Without a thread there are no marks; the replay can be watched as well.
        let _ = std::thread::Builder::new().name("replay-marks".into()).spawn(look);
        Self { found: Vec::new(), coming, is_enough }
    }

    /// How many have been found and taken.
    pub(crate) const fn count(&self) -> usize {
        self.found.len()
    }

    /// The marks by tick.
    pub(crate) fn found(&mut self) -> &[Moment] {
        let room = MARKS_MAX - self.found.len();
        self.found.extend(self.coming.try_iter().take(room));
        &self.found
    }
}

impl Drop for ReplayMarks {
    fn drop(&mut self) {
        self.is_enough.store(true, Ordering::Relaxed);
    }
}
