//! What the window asks to hear, as one stream of samples.

use crossbeam_channel::{Receiver, Sender, bounded};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::SharedVolumes;
use super::mixer::{Mixer, Start};

/// Frames a second where the device does not say.
pub(super) const RATE: u32 = 48_000;
/// Frames that are mixed at once, at most.
pub(super) const BLOCK_FRAMES: usize = 480;
/// Most sounds that wait to be started; what comes beyond is dropped.
pub(super) const QUEUE_MAX: usize = 256;
/// A sound that could not be started for this long, as while a server hangs, is no longer true.
const STALE_AFTER: Duration = Duration::from_millis(250);

/// A sound to be started, and since when.
pub(super) struct Request {
    pub(super) start: Start,
    pub(super) asked_at: Instant,
}

/// What the window asks for, and the mixer that makes it audible.
pub(super) struct Source {
    pub(super) requests: Receiver<Request>,
    volumes: Arc<SharedVolumes>,
    mixer: Mixer,
}

impl Source {
    /// And where to ask.
    pub(super) fn new(volumes: Arc<SharedVolumes>) -> (Sender<Request>, Self) {
        let (sender, requests) = bounded(QUEUE_MAX);
        (sender, Self { requests, volumes, mixer: Mixer::new(RATE) })
    }

    /// The same for a device of another rate, frames a second.
    #[cfg(any(windows, target_os = "macos"))]
    pub(super) fn at_rate(self, rate: u32) -> Self {
        Self { mixer: Mixer::new(rate), ..self }
    }

    /// Fills `frames` with left and right.
    pub(super) fn fill(&mut self, frames: &mut [[i16; 2]]) {
        for request in self.requests.try_iter() {
            if request.asked_at.elapsed() < STALE_AFTER {
                self.mixer.start(&request.start);
            }
        }
        self.mixer.mix(frames, self.volumes.get());
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Kind, Volumes, ear};
    use super::*;

    /// The loudest sample after a request of that age.
    fn loudest(age: Duration) -> u16 {
        let volumes = Arc::new(SharedVolumes::default());
        volumes.set(Volumes { master: 100, effects: 100, interface: 100 });
        let (requests, mut source) = Source::new(volumes);
        let start = Start { kind: Kind::Drum, sides: ear::MIDDLE, pitch: 1.0 };
        let asked_at = Instant::now().checked_sub(age).expect("the machine runs longer");
        requests.try_send(Request { start, asked_at }).expect("an empty queue");
        let mut frames = [[0; 2]; 4_800];
        source.fill(&mut frames);
        frames.iter().flatten().map(|side| side.unsigned_abs()).max().unwrap_or(0)
    }

    #[test]
    fn what_is_stale_is_not_played() {
        assert!(loudest(Duration::ZERO) > 3_000);
        assert_eq!(loudest(STALE_AFTER), 0);
    }
}
