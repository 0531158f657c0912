//! The end of a match, before its result is shown.

use super::PlayScreen;
use crate::gui::draw::place;
use sim::PlayerId;

impl PlayScreen {
    /// Shows the core whose fall has ended the match.
    pub(super) fn look_at_the_end(&mut self) {
        let Some(view) = self.view.as_ref().filter(|_| self.finished.is_some()) else { return };
        let state = &view.current;
        let lost = |player: &PlayerId| {
            state.cores.hp[player.index()] <= 0 && Some(state.team_of(*player)) != state.winner()
        };
        if let Some(player) = state.player_ids().find(lost).filter(|_| state.winner().is_some()) {
            self.camera_control.turn_to(place(view.setup.map.bases.get(player.index())));
        }
    }
}
