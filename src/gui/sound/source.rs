//! The window's sounds as one stream of samples.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::mixer::{Mixer, Start};
use super::{SharedMusic, SharedVolumes};

/// Frames per second where the device does not say.
pub(super) const RATE: u32 = 48_000;
/// Maximum number of queued sounds; further ones are dropped.
pub(super) const QUEUE_MAX: usize = 256;
/// Age at which a queued sound is dropped, as after the server has hung.
const STALE_AFTER: Duration = Duration::from_millis(250);

/// Sound to start, and the time of the request.
pub(super) struct Request {
    pub(super) start: Start,
    pub(super) asked_at: Instant,
}

/// Queue of the window's requests, and the mixer that plays them.
pub(super) struct Source {
    pub(super) requests: Receiver<Request>,
    volumes: Arc<SharedVolumes>,
    music: Arc<SharedMusic>,
    mixer: Mixer,
}

impl Source {
    /// Creates a source and the sender of its queue.
    pub(super) fn new(volumes: Arc<SharedVolumes>, music: Arc<SharedMusic>) -> (Sender<Request>, Self) {
        let (sender, requests) = bounded(QUEUE_MAX);
        (sender, Self { requests, volumes, music, mixer: Mixer::new(RATE) })
    }

    /// Sets the rate of the device, in frames per second.
    #[cfg(any(windows, target_os = "macos"))]
    pub(super) fn at_rate(self, rate: u32) -> Self {
        Self { mixer: Mixer::new(rate), ..self }
    }

    /// Fills `frames` with stereo samples.
    pub(super) fn fill(&mut self, frames: &mut [[i16; 2]]) {
        for request in self.requests.try_iter() {
            if request.asked_at.elapsed() < STALE_AFTER {
                self.mixer.start(&request.start);
            }
        }
        self.mixer.set_music(self.music.get());
        self.mixer.mix(frames, self.volumes.get());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Volumes, ear};
    use super::*;

    /// Returns the peak level after a request of this age.
    fn loudest(age: Duration) -> u16 {
        let volumes = Arc::new(SharedVolumes::default());
        volumes.set(Volumes { master: 100, effects: 100, interface: 100, music: 100 });
        let (requests, mut source) = Source::new(volumes, Arc::default());
        let start = Start { kind: Kind::Drum, sides: ear::MIDDLE, pitch: 1.0 };
        let asked_at = Instant::now().checked_sub(age).expect("the machine runs longer");
        requests.try_send(Request { start, asked_at }).expect("an empty queue");
        let mut frames = [[0; 2]; 4_800];
        source.fill(&mut frames);
        frames.iter().flatten().map(|side| side.unsigned_abs()).max().unwrap_or(0)
    }

    #[test]
    fn stale_sounds_are_dropped() {
        assert!(loudest(Duration::ZERO) > 3_000);
        assert_eq!(loudest(STALE_AFTER), 0);
    }
}
