//! What must hold at any time, and what is said of a match once it is over.

use core::time::Duration;

use super::super::oracles::{
    CAUGHT_UP_MAX, CAUGHT_UP_USUAL, DELAY_BEYOND_WAY_MAX, DELAY_MAX, HELD_MAX, QUEUED_MAX, SEAT_BEYOND_RTT,
};
use super::super::plan::Goal;
use super::{ASK_AGAIN, NOTE_EVERY, Played, Player, Stage};
use game::{MatchOutcome, Session};
use lab::Oracle;
use lab::{PeerEnd, end};
use net::Time;
use sim::{PlayerId, Tick};

impl Stage<'_> {
    /// Notes when an honest seat was given, and asks again where it was refused.
    pub(super) fn watch_seat(&mut self, seat: usize) {
        let Player::Honest(machine) = &self.players[seat] else { return };
        if machine.node().is_some_and(|game| {
            !matches!(game.session(), Session::Joining(_)) && game.session().config().is_some()
        }) {
            self.seated_at[seat].get_or_insert(self.now);
        }
        let is_over = !machine.is_open();
        let has_begun = self.audit.peer(seat).next > Tick(0) || !self.progress[seat].is_new();
        if is_over && self.plan.standby.is_some() && !has_begun && seat != self.host() {
            self.players[seat] = self.absent(seat, self.now.plus(ASK_AGAIN));
            self.seated_at[seat] = None;
        }
    }

    /// Looks at everything that must hold at any time.
    pub(super) fn look(&mut self) {
        let notes = self.now >= self.note_at;
        if notes {
            self.note_at = self.now.plus(NOTE_EVERY);
        }
        for seat in 0..self.players.len() {
            if self.plan.is_judged(seat) {
                self.look_at_seat(seat, notes);
            }
        }
    }

    fn look_at_seat(&mut self, seat: usize, notes: bool) {
        let now = self.now;
        let (seated, asked) = (self.seated_at[seat], self.asked_at[seat]);
        if let (None, Some(asked)) = (seated, asked) {
            let rtt = (self.plan.access[seat] + self.plan.access[self.host()]) * 2;
            let most = match self.plan.goal {
                // Somebody else may have the seat for a while.
                Goal::Hold | Goal::Crowd => HELD_MAX,
                _ => rtt * 3 + SEAT_BEYOND_RTT,
            };
            if seat != self.host() && now.since(asked) > most && self.takes_guests() {
                let what = format!(
                    "no seat after {:.3} s, at a round trip of {:.3} s",
                    now.since(asked).as_secs_f64(),
                    rtt.as_secs_f64()
                );
                self.violated(Oracle::Seat, seat, what);
            }
        }
        let Player::Honest(machine) = &self.players[seat] else { return };
        let Some(game) = machine.node() else { return };
        let way = self.plan.access.iter().copied().max().unwrap_or_default() * 2;
        let mut found = Vec::new();
        let delay = Duration::from_micros(game.session().delay_us().unwrap_or(0).unsigned_abs());
        if delay > self.delay_max(way) {
            let (delay, way) = (delay.as_millis(), way.as_millis());
            let what = format!("an input delay of {delay} ms, where no way is longer than {way} ms");
            found.push((Oracle::Delay, what));
        }
        let me = self.me();
        for link in game.session().links().filter(|link| Some(link.player) != me) {
            if link.unacknowledged > QUEUED_MAX {
                let what = format!("{} messages wait for player {}", link.unacknowledged, link.player);
                found.push((Oracle::Connection, what));
            }
        }
        if let Some(world) = game.world().filter(|_| notes && game.begin().is_some_and(|at| at <= now)) {
            let run_us = self.options.tick_rate.micros_to(world.state().tick());
            let catches_up = if self.plan.goal == Goal::Clock { CAUGHT_UP_USUAL } else { CAUGHT_UP_MAX };
            found.extend(
                self.progress[seat].note(now, run_us, catches_up).map(|what| (Oracle::Progress, what)),
            );
        }
        for (oracle, what) in found {
            self.violated(oracle, seat, what);
        }
    }

    /// Whether there still is a room: once a match is agreed on with those who were there first, nobody else gets a seat.
    fn takes_guests(&self) -> bool {
        let has_begun = |player: &Player| match player {
            Player::Honest(machine) => machine.node().is_some_and(|game| game.begin().is_some()),
            Player::Insider(_) => false,
        };
        match self.players.get(self.host()) {
            Some(host @ Player::Honest(machine)) => machine.is_open() && !has_begun(host),
            Some(Player::Insider(_)) => true,
            // A server begins for all its clients at once.
            None => !self.players.iter().any(has_begun),
        }
    }

    /// Longest input delay of an honest player, where no way between two is longer than `way`.
    fn delay_max(&self, way: Duration) -> Duration {
        let is_compared = self.plan.seats > 2 && self.server.is_none() && !self.options.is_fair;
        if self.seems_far() && !is_compared { DELAY_MAX } else { way + DELAY_BEYOND_WAY_MAX }
    }

    /// Says what came of it.
    pub(super) fn judge(mut self) -> Played {
        let insider = self.me().map(PlayerId::index).or(self.plan.insider);
        let takes_guests = self.takes_guests();
        let players = core::mem::take(&mut self.players);
        let honest = players.into_iter().map(|player| match player {
            Player::Honest(machine) => Some(end(machine)),
            Player::Insider(_) => None,
        });
        let ends: Vec<Option<PeerEnd>> = honest.collect();
        let is_early = !self.audit.violations().is_empty();
        if self.server.is_none() {
            self.audit
                .compare(|seat| ends.get(seat).is_some_and(|end| matches!(end, Some(PeerEnd::Played(_)))));
        }
        for (seat, end) in ends.iter().enumerate().filter(|_| !is_early) {
            let is_judged = self.plan.is_judged(seat) && (takes_guests || self.seated_at[seat].is_some());
            let Some(end) = end.as_ref().filter(|_| is_judged) else { continue };
            if let Some(what) = fault_of(end, insider, self.plan.seats) {
                self.violated(Oracle::Outcome, seat, what);
            }
        }
        let departed =
            |end: &PeerEnd| end.outcome().is_some_and(|outcome| !matches!(outcome, MatchOutcome::TickLimit));
        let played = ends.iter().flatten();
        let ticks = played.clone().filter_map(|end| end.played()).map(|summary| summary.ticks).max();
        Played {
            has_departed: played.clone().any(departed),
            violations: self.audit.violations().to_vec(),
            log: self.network.log().hash(),
            took: self.now.since(Time(0)),
            ticks: ticks.unwrap_or(0),
            outcome: played.clone().next().map_or("unfinished", PeerEnd::as_str),
            plan: self.plan,
        }
    }
}

/// What is wrong with the end of an honest player, in a match with this number of seats.
fn fault_of(end: &PeerEnd, insider: Option<usize>, seats: usize) -> Option<String> {
    let summary = match end {
        PeerEnd::Played(summary) => summary,
        other => return Some(format!("it ended as {}: {other}", other.as_str())),
    };
    let is_fine = match summary.outcome {
        MatchOutcome::Rules(_) | MatchOutcome::TickLimit => true,
        // Of two, who is left has nobody to play with.
        _ if seats == 2 => true,
        MatchOutcome::PeerLost(gone) | MatchOutcome::PeerLeft(gone) => {
            summary.winner.is_some() && Some(gone.index()) == insider
        }
        _ => false,
    };
    (!is_fine).then(|| format!("it ended as {}: {end}", end.as_str()))
}
