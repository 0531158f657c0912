//! Playback of a recorded match, with the same view as a live one.

use std::path::Path;
use std::sync::Arc;

use super::backlog::EventBacklog;
use super::view::{Buffers, View};
use net::Time;
use replay::{HeaderError, OpenError, Record, Replay, ReplayHeader, SeekError, Trailer};
use sim::{Tick, World};

/// Maximum number of ticks simulated in one call, so that a slow machine lags instead of freezing.
const TICKS_PER_CALL_MAX: u32 = 240;
/// Playback speeds, as multiples of real time.
pub const REPLAY_SPEEDS: [f32; 7] = [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0];

/// Reason why a replay cannot be watched.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The file cannot be opened.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The file is for another simulation.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The file does not allow the seek.
    #[error(transparent)]
    Seek(#[from] SeekError),
}

/// Replay being watched. It has no thread: the user interface calls [`Self::advance`].
pub struct ReplayMatch {
    replay: Replay,
    world: World,
    view: View,
    buffers: Buffers,
    /// Events since they were last taken, or since the last seek.
    backlog: EventBacklog,
    /// Time last passed to [`Self::advance`].
    now: Time,
    /// Playback position, in microseconds of match time.
    played_us: f64,
    speed: f32,
    is_paused: bool,
    is_over: bool,
}

impl ReplayMatch {
    /// Opens a replay at its beginning.
    ///
    /// # Errors
    /// If it cannot be played.
    pub fn open(path: &Path, now: Time) -> Result<Self, WatchError> {
        let mut replay = Replay::open(path)?;
        let world = match replay.begins() {
            Tick(0) => World::new(replay.header().setup()?),
            begins => replay.world_at(begins)?,
        };
        let names = replay.header().seats.iter().map(|seat| seat.name.clone()).collect();
        let view = View::new(&world, names, None, now);
        Ok(Self {
            replay,
            view,
            buffers: Buffers::default(),
            backlog: EventBacklog::default(),
            now,
            played_us: world.setup().tick_rate.micros_to(world.state().tick()) as f64,
            speed: 1.0,
            is_paused: false,
            is_over: false,
            world,
        })
    }

    /// Plays up to `now`.
    pub fn advance(&mut self, now: Time) {
        let passed_us = now.since(self.now).as_micros() as f64;
        self.now = now;
        if self.is_paused || self.is_over {
            return;
        }
        self.played_us += passed_us * f64::from(self.speed);
        for _ in 0..TICKS_PER_CALL_MAX {
            let tick = self.view.current.tick();
            if self.played_us < self.view.setup.tick_rate.micros_to(tick.plus(1)) as f64 {
                return;
            }
            if !self.step() {
                return;
            }
        }
        // The machine is too slow for this speed: playback slows down.
        let reached = self.view.setup.tick_rate.micros_to(self.view.current.tick());
        self.played_us = self.played_us.min(reached as f64);
    }

    /// Runs one tick, also while paused. Returns false at the end.
    pub fn step(&mut self) -> bool {
        let inputs = loop {
            match self.replay.next() {
                Some(Record::Tick { inputs, .. }) => break inputs,
                Some(_) => {}
                None => {
                    self.is_over = true;
                    return false;
                }
            }
        };
        self.world.step(&inputs);
        self.backlog.add(inputs.tick, self.world.events());
        let state = self.buffers.copy(self.world.state());
        self.view.previous = core::mem::replace(&mut self.view.current, state);
        let reached = self.view.setup.tick_rate.micros_to(self.view.current.tick()) as f64;
        self.played_us = self.played_us.max(reached);
        true
    }

    /// Seeks to a tick, or to the end if that comes first.
    ///
    /// # Errors
    /// If the file does not allow it.
    pub fn seek(&mut self, tick: Tick) -> Result<(), WatchError> {
        self.world = self.replay.world_at(tick)?;
        self.is_over = self.world.state().tick() < tick;
        // Events in the skipped ticks are not reported.
        self.backlog.clear();
        self.view.current = self.buffers.copy(self.world.state());
        self.view.previous = Arc::clone(&self.view.current);
        self.played_us = self.view.setup.tick_rate.micros_to(self.view.current.tick()) as f64;
        Ok(())
    }

    /// Returns the view, and the interpolation factor from its previous to its current state.
    #[must_use]
    pub fn view(&self) -> (&View, f32) {
        let rate = self.view.setup.tick_rate;
        let since_us = self.played_us - rate.micros_to(self.view.current.tick()) as f64;
        (&self.view, (since_us * f64::from(rate.hz()) / 1e6).clamp(0.0, 1.0) as f32)
    }

    /// Replaces `events` by all events since the last call. A seek drops the events of the ticks it skipped.
    pub fn take_events(&mut self, events: &mut EventBacklog) {
        events.clear();
        core::mem::swap(&mut self.backlog, events);
    }

    /// Returns the header: players and match configuration.
    #[must_use]
    pub fn header(&self) -> &ReplayHeader {
        self.replay.header()
    }

    /// Returns the tick at which it ends, if the file is complete.
    #[must_use]
    pub fn length(&self) -> Option<u32> {
        self.replay.promised_ticks()
    }

    /// Returns the outcome, once the end has been reached.
    #[must_use]
    pub fn trailer(&self) -> Option<&Trailer> {
        self.replay.trailer()
    }

    /// Whether the end has been reached.
    #[must_use]
    pub const fn is_over(&self) -> bool {
        self.is_over
    }

    /// Returns the speed, as a multiple of real time.
    #[must_use]
    pub const fn speed(&self) -> f32 {
        self.speed
    }

    /// Sets the speed, within [`REPLAY_SPEEDS`].
    pub const fn set_speed(&mut self, speed: f32) {
        self.speed = speed.clamp(REPLAY_SPEEDS[0], REPLAY_SPEEDS[REPLAY_SPEEDS.len() - 1]);
    }

    /// Whether it is paused.
    #[must_use]
    pub const fn is_paused(&self) -> bool {
        self.is_paused
    }

    /// Pauses or resumes.
    pub const fn set_paused(&mut self, is_paused: bool) {
        self.is_paused = is_paused;
    }
}
