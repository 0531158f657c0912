//! Sound. `cues` derives sounds and the state of the music from a match, `catalogue` describes the sounds and `scores`
//! the music, `mixer` combines them into one stream, and a separate thread passes that to the system, so that no frame
//! waits for it.

#[cfg(target_os = "linux")]
mod alsa;
mod answers;
mod catalogue;
mod cues;
#[cfg(any(windows, target_os = "macos"))]
mod device;
mod ear;
mod mixer;
mod music;
mod output;
#[cfg(target_os = "linux")]
mod pulse;
mod scores;
mod source;
mod voice;

use crossbeam_channel::Sender;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, AtomicU32, Ordering};
use std::time::Instant;

pub(crate) use answers::answer;
pub(crate) use catalogue::Kind;
pub(crate) use cues::{Cue, Cues, Waiting};
pub(crate) use ear::Ear;
pub(crate) use music::MusicState;

use crate::gui::settings::Volumes;
use catalogue::Priority;
use mixer::Start;
use source::{QUEUE_MAX, Request, Source};

/// Connection to the sound thread.
pub(crate) struct Sound {
    requests: Sender<Request>,
    volumes: Arc<SharedVolumes>,
    music: Arc<SharedMusic>,
}

impl Sound {
    /// Starts the output in a separate thread. Without a device or a sound server the program stays silent, and the log
    /// says so once.
    pub(crate) fn new() -> Self {
        let volumes = Arc::new(SharedVolumes::default());
        let music = Arc::new(SharedMusic::default());
        let (requests, source) = Source::new(Arc::clone(&volumes), Arc::clone(&music));
        output::start(source);
        Self { requests, volumes, music }
    }

    /// Sets the volumes, also of sounds that are playing.
    pub(crate) fn set_volumes(&self, volumes: Volumes) {
        self.volumes.set(volumes);
    }

    /// Sets the state of the match that the music follows.
    pub(crate) fn set_music(&self, state: MusicState) {
        self.music.set(state);
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
    fn set(&self, Volumes { master, effects, interface, music }: Volumes) {
        self.0.store(u32::from_be_bytes([music, master, effects, interface]), Ordering::Relaxed);
    }

    fn get(&self) -> Volumes {
        let [music, master, effects, interface] = self.0.load(Ordering::Relaxed).to_be_bytes();
        Volumes { master, effects, interface, music }
    }
}

/// State of the music that one thread sets and another reads, by its number.
#[derive(Default)]
struct SharedMusic(AtomicU8);

impl SharedMusic {
    fn set(&self, state: MusicState) {
        self.0.store(state as u8, Ordering::Relaxed);
    }

    fn get(&self) -> MusicState {
        let number = usize::from(self.0.load(Ordering::Relaxed));
        MusicState::ALL.get(number).copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn volumes_arrive_as_they_were_set() {
        let shared = SharedVolumes::default();
        for volumes in [Volumes::default(), Volumes { master: 1, effects: 2, interface: 3, music: 4 }] {
            shared.set(volumes);
            assert_eq!(shared.get(), volumes);
        }
    }

    #[test]
    fn the_state_of_the_music_arrives_as_it_was_set() {
        let shared = SharedMusic::default();
        for state in MusicState::ALL {
            shared.set(state);
            assert_eq!(shared.get(), state);
        }
    }

    #[test]
    fn a_queue_full_of_hits_accepts_alerts() {
        let volumes = Arc::new(SharedVolumes::default());
        let music = Arc::new(SharedMusic::default());
        let (requests, source) = Source::new(Arc::clone(&volumes), Arc::clone(&music));
        let sound = Sound { requests, volumes, music };
        (0..2 * QUEUE_MAX).for_each(|_| sound.play(Kind::SwordHit));
        sound.play(Kind::CoreOpens);
        let last = source.requests.try_iter().last().map(|request| request.start.kind);
        assert_eq!(last, Some(Kind::CoreOpens));
    }
}
