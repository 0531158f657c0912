//! A match whose server runs the world: its states are adopted here, and no tick is run.

use core::time::Duration;

use super::super::match_event::MatchEvent;
use super::super::outcome::MatchError;
use super::super::report::{DesyncReport, Party};
use super::{Confirmed, Match};
use net::{Snapshot, Time};
use sim::{ControlBehaviour, Event, Outcome, Rules, StateHash, Tick, TickEvent};

impl Match {
    /// Adopts the newest state of a server, and tells `ran` of it. Returns whether there was one.
    pub(super) fn adopt_newest(
        &mut self,
        now: Time,
        ran: &mut impl FnMut(Confirmed<'_>, &StateHash),
    ) -> bool {
        let Some(tick) = self.session.poll_snapshot(now) else { return false };
        self.compare_with_server();
        match self.take_over(now, ran) {
            Ok(is_over) => {
                self.session.adopted(now, tick, is_over);
                if !is_over {
                    self.think(now);
                }
            }
            Err(error) => self.fail(error),
        }
        self.events.tell(self.recording.failure());
        true
    }

    /// Takes over the state that was polled last, with what happened before it. Returns whether the match has ended.
    fn take_over(
        &mut self,
        now: Time,
        ran: &mut impl FnMut(Confirmed<'_>, &StateHash),
    ) -> Result<bool, MatchError> {
        let me = self.session.player();
        let snapshot = self.session.last_snapshot().expect("polled");
        let Snapshot { tick, state, hash, events, commands, .. } = snapshot;
        let world = self.world.as_mut().expect("prepared");
        let (before, paused_before) = (world.state().tick(), world.state().pause());
        world.adopt(state).map_err(|_| MatchError::StartState)?;
        self.events.tell(MatchEvent::of_pauses(paused_before, state.pause()));
        let rules = &world.setup().rules;
        let events = events.iter().copied().filter(|event| fits(rules, event));
        self.history.observe(world, events.clone());
        match (&mut self.interpolated, &mut self.backlog) {
            (Some(view), _) => view.keep(state, events),
            (None, Some(backlog)) => backlog.extend(events),
            (None, None) => {}
        }
        let client = self.session.client();
        let sealed_at = |tick| client.map(|client| client.sealed_at(tick));
        self.measures.adopted(now, &snapshot, me, before, sealed_at);
        ran(Confirmed::Snapshot { tick: Tick(tick.0.saturating_sub(1)), commands }, &hash);
        let is_over = state.outcome() != Outcome::Running;
        if let Some(inject) = self.options.inject.take_if(|inject| inject.tick < tick)
            && let Err(error) = world.disturb(&inject.field)
        {
            return Err(MatchError::Inject { field: inject.field, error });
        }
        Ok(is_over)
    }

    /// Compares the state here with the server's of the same tick, before another takes its place and at the end: nothing
    /// but a fault of this computer changes it.
    pub(super) fn compare_with_server(&mut self) {
        let (Some(world), me) = (&mut self.world, Party::Seat(self.session.player())) else { return };
        let (own, tick) = (world.state(), world.state().tick());
        let Some(theirs) = self.session.snapshot(tick).filter(|theirs| *theirs != own) else { return };
        let sides = [(me, Some(own)), (Party::Server, Some(theirs))].into_iter().collect();
        let mut report = DesyncReport::new(Tick(tick.0.saturating_sub(1)), world.setup().seed, sides);
        report.odd.push(me);
        // Only the first is reported.
        self.desync.get_or_insert(report);
        // It was adopted before.
        let _ = world.adopt(theirs);
        self.session.count_differing();
    }

    /// Advances the interpolated view.
    pub(super) fn interpolate(&mut self, now: Time) {
        let (behind, bridged) = (self.behind(), self.bridged());
        let Some(view) = &mut self.interpolated else { return };
        let is_due = |tick: &Tick| self.session.seen_at(*tick, behind).is_some_and(|at| at <= now);
        let due = view.ahead(bridged).take_while(is_due).last();
        let seen = due.map_or(view.state().tick(), |tick| tick.plus(1));
        let backlog = &mut self.backlog;
        view.advance(now, seen, |event| {
            if let Some(backlog) = backlog {
                backlog.extend([event]);
            }
        });
    }

    /// Returns the number of ticks for which the interpolated view continues without an update: until the next one
    /// should arrive.
    pub(super) fn bridged(&self) -> u32 {
        let hz = self.world.as_ref().map_or(0, |world| world.setup().tick_rate.hz());
        hz.div_ceil(self.options.updates.max(1))
    }

    /// Returns the interpolation delay of a match with a server, which adds to the network delay.
    pub(super) fn behind(&self) -> Duration {
        Duration::from_secs(1) * self.options.interpolation / self.options.updates.max(1)
    }
}

/// Whether the kind that an event names is one of these rules.
fn fits(rules: &Rules, event: &TickEvent) -> bool {
    let kinds = |control| match control {
        ControlBehaviour::Player => rules.heroes.len(),
        ControlBehaviour::Minion => rules.minions.len(),
    };
    match event.event {
        Event::Train { kind, .. } => kind.index() < rules.minions.len(),
        Event::Death { control, kind, .. } => kind.index() < kinds(control),
        _ => true,
    }
}
