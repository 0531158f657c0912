//! The end of a match: its summary, and whether another one follows.

use super::super::options::MatchOptions;
use super::super::outcome::{MatchError, MatchOutcome};
use super::super::session::Session;
use super::super::sheet::MatchSheet;
use super::super::summary::Summary;
use super::{Match, MatchEvent};
use net::{End, Follower, Time};
use sim::{PlayerId, Tick, World};
use transport::clock::cpu_time_us;

impl Match {
    /// Returns the summary, or why there was no match.
    ///
    /// # Errors
    /// If the match could not be played.
    ///
    /// # Panics
    /// If it is not over.
    pub fn into_summary(self) -> Result<Summary, MatchError> {
        self.conclude().0
    }

    /// Returns the summary, and, if all have stayed, the room in which another match may follow.
    ///
    /// # Panics
    /// If it is not over.
    pub fn into_rematch(self, now: Time) -> (Result<Summary, MatchError>, Option<Self>) {
        let lasted_s = now.since(self.begin).as_secs();
        let (result, session, options) = self.conclude();
        let next = session.into_room(now).map(|room| Self::new(room, options.again(lasted_s)));
        (result, next)
    }

    fn conclude(mut self) -> (Result<Summary, MatchError>, Session, MatchOptions) {
        let finished = self.finished.take().expect("the match is over");
        let result = finished.map(|outcome| self.summary(outcome));
        (result, self.session, self.options)
    }

    fn summary(&mut self, outcome: MatchOutcome) -> Summary {
        let world = self.world.as_ref().expect("a match that was played has a world");
        let config = *self.session.config().expect("confirmed");
        let (state, player) = (world.state(), self.session.player());
        let winner = self.winner(outcome);
        let sheet = MatchSheet::new(world, &self.roster, &self.recording, winner, outcome);
        // In lockstep a room has the name of its host, who sits in the first seat.
        let room = self.roster.first().filter(|_| !self.session.is_served()).map(|seat| seat.name);
        let players = &state.players;
        let own = player.index();
        Summary {
            outcome,
            winner,
            winners: sheet.winners.clone(),
            sheet: MatchSheet { room, lasted: self.lasted, ..sheet },
            config,
            player,
            ticks: state.tick().0,
            hash: state.hash(),
            counts: [players.commands[own], players.deaths[own].into(), players.captures[own].into()],
            scores: players.score.iter().copied().collect(),
            roster: self.roster.clone(),
            words: self.words,
            history: core::mem::take(&mut self.history),
            latencies: core::mem::take(&mut self.measures.latencies),
            prediction: self.predictor.as_ref().map(|found| found.counts().clone()),
            updates: self.session.client().map(Follower::updates),
            bot: self.controller.report(),
            rejected: self.session.client().map_or(0, Follower::rejected),
            stalls: self.measures.stalls,
            desync: self.desync.take(),
            bundle: self.bundle.take(),
            replay: self.recording.take_path(),
            not_written: [self.recording.take_error(), self.measures.trace.failure()]
                .into_iter()
                .flatten()
                .collect(),
        }
    }

    /// Returns the team that has won: by a claim, by the rules, or as the only one left.
    fn winner(&self, outcome: MatchOutcome) -> Option<u8> {
        let team = |player: PlayerId| Some(self.roster.get(player.index())?.team);
        let own = team(self.session.player());
        let by_rules = || self.world.as_ref()?.state().winner();
        let is_left = || {
            let MatchOutcome::PeerLeft(player) = outcome else { return false };
            let gone = team(player);
            gone.is_some()
                && gone != own
                && self.roster.iter().all(|seat| [gone, own].contains(&Some(seat.team)))
        };
        own.filter(|_| self.has_claimed).or_else(by_rules).or_else(|| own.filter(|_| is_left()))
    }

    pub(super) fn on_closed(&mut self, now: Time, end: End) {
        if self.finished.is_some() {
            return;
        }
        if self.session.is_served() {
            self.compare_with_server();
        }
        let has_begun = self.begin != Time::default();
        self.lasted = now.since(self.begin);
        let outcome = match end {
            // The world before tick 0 may be built already.
            End::Finished if has_begun => {
                let departed = self.session.departed();
                let departed = departed.map(|(player, is_lost)| MatchOutcome::departed(player, is_lost));
                MatchOutcome::finished(self.world.as_ref(), departed)
            }
            End::Left if has_begun => Ok(MatchOutcome::Interrupted),
            End::PeerLeft(player) if has_begun => Ok(MatchOutcome::PeerLeft(player)),
            End::PeerLost(player) if has_begun => Ok(MatchOutcome::PeerLost(player)),
            End::Desync => Ok(MatchOutcome::Desync),
            end => Err(MatchError::of(end)),
        };
        if let Ok(outcome) = outcome {
            self.close_files(now, outcome);
            self.events.tell([MatchEvent::Ended(outcome)]);
        }
        self.finished = Some(outcome);
    }

    fn close_files(&mut self, now: Time, outcome: MatchOutcome) {
        let state = self.world.as_ref().map(World::state);
        let ticks = state.map_or(0, |state| state.tick().0);
        let winner = self.winner(outcome);
        match outcome {
            // With a server, departures have been recorded already, and the server itself is not a player.
            _ if matches!(self.session, Session::Client(_)) => {}
            MatchOutcome::PeerLeft(player) => self.recording.departed(player, Tick(ticks), false),
            MatchOutcome::PeerLost(player) => self.recording.departed(player, Tick(ticks), true),
            _ => {}
        }
        self.events.tell(self.recording.finish(outcome.as_str(), winner));
        self.measures.give_up_unshown();
        let traffic = self.session.traffic();
        let (cpu_us, sent) = (cpu_time_us(), (traffic.bytes_sent, traffic.packets_sent));
        self.measures.trace.summary([self.begin, now], ticks, cpu_us, sent);
    }
}
