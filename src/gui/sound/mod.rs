//! What a player hears. `cues` turns what happens in a match into sounds, `catalogue` knows every sound,
//! `mixer` makes one stream of them, and a thread of its own hands that to the system: nothing here makes a
//! frame wait.

#[cfg(target_os = "linux")]
mod alsa;
mod answers;
mod catalogue;
mod cues;
#[cfg(any(windows, target_os = "macos"))]
mod device;
mod ear;
mod mixer;
mod output;
#[cfg(target_os = "linux")]
mod pulse;
mod source;

use crossbeam_channel::Sender;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Instant;

pub(crate) use answers::answer;
pub(crate) use catalogue::Kind;
pub(crate) use cues::{Cue, Cues, Waiting};
pub(crate) use ear::Ear;

use crate::gui::settings::Volumes;
use catalogue::Priority;
use mixer::Start;
use source::{QUEUE_MAX, Request, Source};

/// The way to the loudspeakers, where there are any.
pub(crate) struct Sound {
    requests: Sender<Request>,
    volumes: Arc<SharedVolumes>,
}

impl Sound {
    /// Opens the way, in a thread of its own; without device or server all is silent, and the log says so once.
    pub(crate) fn new() -> Self {
        let volumes = Arc::new(SharedVolumes::default());
        let (requests, source) = Source::new(Arc::clone(&volumes));
        output::start(source);
        Self { requests, volumes }
    }

    /// From now on everything is that loud, also what is heard already.
    pub(crate) fn set_volumes(&self, volumes: Volumes) {
        self.volumes.set(volumes);
    }

    /// Plays a sound that has no place.
    pub(crate) fn play(&self, kind: Kind) {
        self.start(Start { kind, sides: ear::MIDDLE, pitch: 1.0 });
    }

    /// Plays a sound of the match where it is heard from.
    pub(crate) fn play_cue(&self, cue: &Cue, ear: &Ear) {
        let sides = cue.at.map_or(Some(ear::MIDDLE), |at| ear.sides(at, cue.kind));
        if let Some(sides) = sides {
            self.start(Start { kind: cue.kind, sides, pitch: cue.pitch });
        }
    }

    /// A queue that is full for a hit still takes danger.
    fn start(&self, start: Start) {
        let is_fight = start.kind.entry().priority == Priority::Fight;
        if !is_fight || self.requests.len() < QUEUE_MAX / 2 {
            let _ = self.requests.try_send(Request { start, asked_at: Instant::now() });
        }
    }
}

/// Volumes that one thread sets and another reads, in one word.
#[derive(Default)]
struct SharedVolumes(AtomicU32);

impl SharedVolumes {
    fn set(&self, Volumes { master, effects, interface }: Volumes) {
        self.0.store(u32::from_be_bytes([0, master, effects, interface]), Ordering::Relaxed);
    }

    fn get(&self) -> Volumes {
        let [_, master, effects, interface] = self.0.load(Ordering::Relaxed).to_be_bytes();
        Volumes { master, effects, interface }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_arrive_as_they_were_set() {
        let shared = SharedVolumes::default();
        for volumes in [Volumes::default(), Volumes { master: 1, effects: 2, interface: 3 }] {
            shared.set(volumes);
            assert_eq!(shared.get(), volumes);
        }
    }

    #[test]
    fn a_queue_full_of_hits_takes_danger() {
        let volumes = Arc::new(SharedVolumes::default());
        let (requests, source) = Source::new(Arc::clone(&volumes));
        let sound = Sound { requests, volumes };
        (0..2 * QUEUE_MAX).for_each(|_| sound.play(Kind::SwordHit));
        sound.play(Kind::CoreOpens);
        let last = source.requests.try_iter().last().map(|request| request.start.kind);
        assert_eq!(last, Some(Kind::CoreOpens));
    }
}
