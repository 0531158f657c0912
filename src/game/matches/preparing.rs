//! A match before tick 0: rules and map of the host, the world, the recording.

use super::super::controller::{Controller, ControllerChoice};
use super::super::data::{received, world_of};
use super::super::interpolated::Interpolated;
use super::super::match_event::MatchEvent;
use super::super::options::MatchOptions;
use super::super::outcome::MatchError;
use super::Match;
use net::Roster;
use sim::StateHash;

impl Match {
    /// Plays by the rules and on the map that the host has sent.
    pub(super) fn receive_setup(&mut self, bytes: &[u8]) {
        let Some(config) = self.session.config() else { return };
        let given = (self.options.rules.as_ref(), self.options.map.as_ref());
        match received(config, given, bytes) {
            Ok((rules, map)) => {
                self.events.tell([MatchEvent::Received(rules.clone(), map.clone())]);
                (self.options.rules, self.options.map) = (Some(rules), Some(map));
            }
            Err(error) => self.fail(error.into()),
        }
    }

    /// Builds the world before tick 0.
    pub(super) fn prepare(&mut self, roster: Roster) -> Result<StateHash, MatchError> {
        let config = *self.session.config().expect("confirmed");
        let MatchOptions { rules, map, first, .. } = &self.options;
        let world = world_of(&config, &roster, rules.as_ref(), map.as_ref(), first.as_deref())?;
        let player = self.session.player();
        let choice = self.options.controller.unwrap_or(ControllerChoice::None);
        let lies_behind = !self.options.prediction && self.session.is_served();
        self.interpolated = lies_behind.then(|| Interpolated::new(&world));
        self.controller = match &self.options.script {
            Some(script) => Controller::Script(script.clone(), 0),
            None => Controller::new(choice, player, &world),
        };
        self.roster = roster;
        let hash = world.hash();
        (self.world, self.state_hash) = (Some(world), Some(hash));
        Ok(hash)
    }

    pub(super) fn begin_recording(&mut self) {
        let (Some(path), Some(world)) = (&self.options.record, &self.world) else { return };
        if self.session.is_served() {
            self.session.fetch_recording();
            return self.recording.begin_copy(path.clone());
        }
        if self.session.has_come_back() {
            self.events.tell([MatchEvent::RecordingStopped("the earlier ticks are not known here".into())]);
            return;
        }
        let (me, started) = (Some(self.session.player()), self.options.started_unix_s);
        let failed = self.recording.begin(path, world, &self.roster, me, started);
        self.events.tell(failed);
    }
}
