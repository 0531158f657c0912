//! The events of a replay, found by a thread that plays it through while it is watched.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

use crate::cli::replay::moments::{self, Kind, Moment};
use replay::{Record, Replay};
use sim::PlayerId;

/// Maximum number of marks of a replay; a match has a few dozen.
const MARKS_MAX: usize = 2_000;

/// Marks found so far.
pub(crate) struct ReplayMarks {
    found: Vec<Moment>,
    coming: Receiver<Moment>,
    is_enough: Arc<AtomicBool>,
}

impl ReplayMarks {
    /// Starts the search; an unreadable file has no marks.
    pub(crate) fn of(file: PathBuf) -> Self {
        let (sender, coming) = sync_channel(MARKS_MAX);
        let is_enough = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&is_enough);
        let look = move || {
            let Ok(mut replay) = Replay::open(file) else { return };
            tell_of(&mut replay, |moment| {
                let is_marked = moment.kind != Kind::Other;
                !stop.load(Ordering::Relaxed) && (!is_marked || sender.try_send(moment).is_ok())
            });
        };
        // Without a thread there are no marks, but the replay can still be watched.
        let _ = std::thread::Builder::new().name("replay-marks".into()).spawn(look);
        Self { found: Vec::new(), coming, is_enough }
    }

    /// Returns the number of marks found and taken.
    pub(crate) const fn count(&self) -> usize {
        self.found.len()
    }

    /// Returns the marks, sorted by tick.
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

/// Plays a replay from its beginning and passes every event to `tell`, until that returns false.
fn tell_of(replay: &mut Replay, mut tell: impl FnMut(Moment) -> bool) {
    let names: Vec<String> = replay.header().seats.iter().map(|seat| seat.name.clone()).collect();
    let Ok(mut world) = replay.world_at(replay.begins()) else { return };
    let mut is_same = true;
    for record in replay.by_ref() {
        let told = match record {
            Record::Tick { inputs, hash } => {
                let before = world.state().clock();
                world.step(&inputs);
                let differs = is_same && hash.is_some_and(|hash| hash != world.hash().whole);
                is_same &= !differs;
                let text = "the recorded state differs".to_owned();
                let desync = Moment { tick: inputs.tick, kind: Kind::Desync, player: PlayerId::NONE, text };
                let desync = Some(desync).filter(|_| differs);
                let events =
                    world.events().iter().filter_map(|event| moments::of_event(inputs.tick, event, &names));
                events.chain(moments::of_step(before, &world)).chain(desync).all(&mut tell)
            }
            Record::Event { tick, event } => tell(moments::of_departure(tick, event, &names)),
            Record::Keyframe { .. } => true,
        };
        if !told {
            return;
        }
    }
}
