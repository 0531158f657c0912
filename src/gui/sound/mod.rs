//! Sound. `cues` derives sounds from a match, `catalogue` describes them all, `mixer` combines them into one stream,
//! and a separate thread passes that to the system, so that no frame waits for it.

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

/// Connection to the sound thread.
pub(crate) struct Sound {
    requests: Sender<Request>,
    volumes: Arc<SharedVolumes>,
}

impl Sound {
    /// Starts the output in a separate thread. Without a device or a sound server the program stays silent, and the log
    /// says so once.
    pub(crate) fn new() -> Self {
        let volumes = Arc::new(SharedVolumes::default());
        let (requests, source) = Source::new(Arc::clone(&volumes));
        output::start(source);
        Self { requests, volumes }
    }

    /// Sets the volumes, also of sounds that are playing.
    pub(crate) fn set_volumes(&self, volumes: Volumes) {
        self.volumes.set(volumes);
    }

    /// Plays a sound without a position.
    pub(crate) fn play(&self, kind: Kind) {
        self.start(Start { kind, sides: ear::MIDDLE, pitch: 1.0 });
    }

    /// Plays a sound of the match as heard from `ear`.
    pub(crate) fn play_cue(&self, cue: &Cue, ear: &Ear) {
        let sides = cue.at.map_or(Some(ear::MIDDLE), |at| ear.sides(at, cue.kind));
        if let Some(sides) = sides {
            self.start(Start { kind: cue.kind, sides, pitch: cue.pitch });
        }
    }

    /// Queues a sound. A queue that is full for hits still accepts alerts.
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
    fn a_queue_full_of_hits_accepts_alerts() {
        let volumes = Arc::new(SharedVolumes::default());
        let (requests, source) = Source::new(Arc::clone(&volumes));
        let sound = Sound { requests, volumes };
        (0..2 * QUEUE_MAX).for_each(|_| sound.play(Kind::SwordHit));
        sound.play(Kind::CoreOpens);
        let last = source.requests.try_iter().last().map(|request| request.start.kind);
        assert_eq!(last, Some(Kind::CoreOpens));
    }
}
