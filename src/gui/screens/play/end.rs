//! The end of a match: the last look, the result, and leaving.

use super::super::prompt::Prompt;
use super::super::{Next, over};
use super::{Overlay, Party, PlayScreen};
use crate::gui::context::AppContext;
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

    /// Shows the result of the finished match. The tutorial has none: a player who wins it has learned everything.
    pub(super) fn finish(&mut self, context: &mut AppContext) -> Option<Next> {
        if self.tutorial.is_some() && self.has_asked_to_leave {
            return Some(Next::Start);
        }
        if self.tutorial.as_ref().is_some_and(|tutorial| tutorial.step().is_none()) {
            context.settings.has_learned = true;
            if self.overlay != Overlay::Learned {
                (self.overlay, self.prompt) = (Overlay::Learned, Prompt::new(context.now));
            }
            return None;
        }
        let (finished, _) = self.finished.take()?;
        Some(over(&mut self.game, self.view.clone(), finished))
    }

    /// Returns the players who may play again and their chat; `None` once anyone has left.
    pub(in crate::gui::screens) fn into_party(self) -> Option<Party> {
        self.game.is_alive().then_some(Party { game: self.game, talk: self.talk })
    }

    /// Leaves the match, since the window is closing. On the ladder it counts as it stands.
    pub(crate) fn close(mut self, context: &mut AppContext) {
        let finished = self.finished.take();
        let next = finished.map(|(finished, _)| over(&mut self.game, self.view.clone(), finished));
        match (next, self.game.request.opponent()) {
            (Some(Next::Over(mut over)), _) => over.count(context),
            (None, Some(opponent)) => context.count(opponent, None),
            _ => {}
        }
        self.game.close();
    }
}
