//! The view of a running match for a window: its two latest states, passed by pointer so that neither side waits for
//! the other, and the events between them.

use arrayvec::ArrayVec;
use core::time::Duration;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::backlog::EventBacklog;
use super::matches::Match;
use net::{AuthString, DropCounts, LinkStatus, Time, WaitsFor};
use sim::{GameState, PLAYERS_MAX, PlayerId, Setup, World};

/// Number of buffers kept for reuse; two are being shown, and a reader rarely holds more than two others.
const BUFFERS_MAX: usize = 6;
/// Interval at which the parts of the view outside the states are refreshed.
const REFRESH: Duration = Duration::from_millis(50);

/// Match at one instant. Clones share the states.
#[derive(Clone, Debug)]
pub struct View {
    /// The setup of the match.
    pub setup: Arc<Setup>,
    /// The players' names, by seat.
    pub names: Arc<[String]>,
    /// Player who sees this view; `None` for a replay.
    pub me: Option<PlayerId>,
    /// State that was shown before `current`.
    pub previous: Arc<GameState>,
    /// Latest state: with prediction the predicted one.
    pub current: Arc<GameState>,
    /// Number of commands of `me` that have run in the confirmed world; prediction is ahead of it.
    pub commands_run: u32,
    /// Time at which the last tick of `current` ran.
    pub ran_at: Time,
    /// Time of tick 0, once that is agreed.
    pub begin: Option<Time>,
    /// State of the links to the other peers, or of the one to the server.
    pub links: ArrayVec<LinkStatus, PLAYERS_MAX>,
    /// Counts of received datagrams that were dropped, by cause.
    pub dropped: DropCounts,
    /// Authentication string of the table.
    pub words: Option<AuthString>,
    /// The input delay, in microseconds.
    pub delay_us: i64,
    /// Player for whom the match waits.
    pub waits_for: Option<WaitsFor>,
    /// Lost player for whom the match waits, and the time at which that player was last heard; [`PlayerId::NONE`] for
    /// a server.
    pub lost: Option<(PlayerId, Time)>,
    /// Player of three or more who has spent its budget of stalls, and the time at which the match continues without
    /// it.
    pub held_up: Option<(PlayerId, Time)>,
    /// Updates that have arrived from a server in the last second; `None` without one.
    pub updates_per_s: Option<u32>,
    /// Bytes of the server's recording that have arrived, and those that there are so far; `None` once all have.
    pub fetching: Option<(u32, u32)>,
}

impl View {
    /// Creates the view of a world before anything has been shown.
    #[must_use]
    pub fn new(world: &World, names: Arc<[String]>, me: Option<PlayerId>, now: Time) -> Self {
        let current = Arc::new(world.state().clone());
        Self {
            setup: Arc::new(world.setup().clone()),
            names,
            me,
            previous: Arc::clone(&current),
            current,
            commands_run: 0,
            ran_at: now,
            begin: None,
            links: ArrayVec::new(),
            dropped: DropCounts::default(),
            words: None,
            delay_us: 0,
            waits_for: None,
            lost: None,
            held_up: None,
            updates_per_s: None,
            fetching: None,
        }
    }

    /// Returns the interpolation factor from `previous` to `current`, from 0 to 1.
    #[must_use]
    pub fn alpha(&self, now: Time) -> f32 {
        let tick_us = 1e6 / self.setup.tick_rate.hz() as f32;
        (now.since(self.ran_at).as_micros() as f32 / tick_us).clamp(0.0, 1.0)
    }
}

/// States that no reader holds any more, for reuse.
#[derive(Debug, Default)]
pub(super) struct Buffers {
    pool: Vec<Arc<GameState>>,
}

impl Buffers {
    /// Copies `state`, into a reused buffer if there is one.
    pub(super) fn copy(&mut self, state: &GameState) -> Arc<GameState> {
        for buffer in &mut self.pool {
            if let Some(free) = Arc::get_mut(buffer) {
                free.copy_from(state);
                return Arc::clone(buffer);
            }
        }
        let buffer = Arc::new(state.clone());
        if self.pool.len() < BUFFERS_MAX {
            self.pool.push(Arc::clone(&buffer));
        }
        buffer
    }
}

/// Latest view, and the events up to it. The lock is held only to copy or swap a few pointers and to add the events
/// of a tick.
#[derive(Clone, Debug, Default)]
pub struct ViewReader(Arc<Mutex<Shown>>);

#[derive(Debug, Default)]
struct Shown {
    view: Option<View>,
    /// Events not yet taken.
    events: EventBacklog,
}

impl ViewReader {
    /// Returns the latest view; `None` until all players have joined.
    #[must_use]
    pub fn latest(&self) -> Option<View> {
        self.lock().view.clone()
    }

    /// Returns the latest view; replaces `events` by all events of the ticks up to it since the last call.
    pub fn take(&self, events: &mut EventBacklog) -> Option<View> {
        events.clear();
        let mut shown = self.lock();
        core::mem::swap(&mut shown.events, events);
        shown.view.clone()
    }

    fn put(&self, view: View, events: Option<&mut EventBacklog>) {
        let mut shown = self.lock();
        let old = shown.view.replace(view);
        if let Some(events) = events {
            shown.events.append(events);
        }
        drop(shown);
        // Dropped after the lock is released.
        drop(old);
    }

    fn lock(&self) -> MutexGuard<'_, Shown> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writing end, of the match thread.
#[derive(Debug, Default)]
pub(super) struct ViewWriter {
    shown: ViewReader,
    latest: Option<View>,
    buffers: Buffers,
    /// Predicted state, with corrections still blending.
    picture: GameState,
    refresh_at: Time,
    /// A time about a second ago, and the updates that had arrived by then.
    counted: (Time, u64),
}

impl ViewWriter {
    pub(super) fn reader(&self) -> ViewReader {
        self.shown.clone()
    }

    /// Discards the last match's view before another match begins.
    pub(super) fn restart(&mut self) {
        (self.latest, self.counted) = (None, Default::default());
        let mut shown = self.shown.lock();
        shown.view = None;
        shown.events.clear();
    }

    /// Publishes changes; must be called after the match has advanced.
    pub(super) fn show(&mut self, now: Time, game: &mut Match) {
        let Some(world) = game.world() else { return };
        let session = game.session();
        let view = self.latest.get_or_insert_with(|| {
            let names = game.roster().iter().map(|seat| seat.name.as_str().to_owned());
            View::new(world, names.collect(), Some(session.player()), now)
        });
        // Predicted or interpolated world, if one is shown.
        let state = game.seen().map_or(world.state(), |seen| {
            seen.show(now, &mut self.picture);
            &self.picture
        });
        let is_new = state.tick() != view.current.tick();
        if is_new {
            let state = self.buffers.copy(state);
            view.previous = core::mem::replace(&mut view.current, state);
            view.ran_at = now;
        }
        let run = world.state().players.commands.get(session.player().index()).copied().unwrap_or_default();
        if is_new || run != view.commands_run || now >= self.refresh_at {
            view.commands_run = run;
            self.refresh_at = now.plus(REFRESH);
            view.begin = game.begin();
            view.links = session.links().collect();
            view.dropped = session.traffic().dropped;
            view.words = game.words();
            view.delay_us = session.delay_us().unwrap_or(0);
            view.waits_for = session.waits_for();
            view.lost = session.lost();
            view.held_up = session.held_up();
            view.fetching = session.fetching();
            if let Some(client) = session.client().filter(|_| session.is_served()) {
                let (since, before) = self.counted;
                let (passed, applied) = (now.since(since), client.updates().applied);
                if passed >= Duration::from_secs(1) {
                    let rate = applied.saturating_sub(before) as f64 / passed.as_secs_f64();
                    view.updates_per_s = (since > Time::default()).then_some(rate.round() as u32);
                    self.counted = (now, applied);
                }
            }
            self.shown.put(view.clone(), game.backlog());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{Event, Tick, TickInputs};

    fn world() -> World {
        use sim::{KindId, SeatSetup, TickRate};
        let seat = |team| SeatSetup { hero: KindId(0), team };
        World::new(Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: super::super::data::rules("standard").expect("built in"),
            map: super::super::data::map("standard").expect("built in"),
        })
    }

    #[test]
    fn buffers_are_reused_once_no_reader_holds_them() {
        let (mut world, mut buffers) = (world(), Buffers::default());
        let first = buffers.copy(world.state());
        world.step(&TickInputs::idle(Tick(0), 2));
        let second = buffers.copy(world.state());
        assert_eq!((first.tick(), second.tick()), (Tick(0), Tick(1)));
        let address = Arc::as_ptr(&first);
        drop(first);
        let third = buffers.copy(world.state());
        assert_eq!(Arc::as_ptr(&third), address);
        assert_eq!(*third, *second);
        let kept: Vec<_> = (0..20).map(|_| buffers.copy(world.state())).collect();
        assert!(kept.iter().all(|state| **state == *second) && buffers.pool.len() == BUFFERS_MAX);
    }

    #[test]
    fn a_slow_reader_takes_every_event_once() {
        let (world, reader) = (world(), ViewReader::default());
        let view = View::new(&world, Arc::new([]), None, Time(0));
        let event = |points| Event::Score { team: 0, points };
        let (mut waiting, mut taken) = (EventBacklog::default(), EventBacklog::default());
        let numbers = |taken: &EventBacklog| taken.iter().map(|found| found.tick.0).collect::<Vec<_>>();
        assert!(reader.take(&mut taken).is_none() && taken.is_empty());
        for tick in 0..3 {
            waiting.add(Tick(tick), &[event(1), event(2)]);
            reader.put(view.clone(), Some(&mut waiting));
        }
        // Neither a call that takes nothing nor a view without a tick loses an event.
        assert!(reader.latest().is_some());
        reader.put(view.clone(), Some(&mut waiting));
        assert!(reader.take(&mut taken).is_some());
        assert_eq!(numbers(&taken), [0, 0, 1, 1, 2, 2]);
        waiting.add(Tick(3), &[event(3)]);
        reader.put(view, Some(&mut waiting));
        assert!(reader.take(&mut taken).is_some());
        assert_eq!(numbers(&taken), [3]);
        assert!(reader.take(&mut taken).is_some() && taken.is_empty());
    }

    #[test]
    fn the_view_interpolates_over_one_tick() {
        let view = View::new(&world(), Arc::new([]), None, Time(1_000_000));
        let alpha = |us| view.alpha(Time(us));
        assert_eq!((alpha(999_000), alpha(1_000_000), alpha(2_000_000)), (0.0, 0.0, 1.0));
        assert!((alpha(1_008_333) - 0.5).abs() < 0.01);
    }
}
