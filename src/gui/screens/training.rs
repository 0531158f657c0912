//! Input for the economy: keys, buttons and repeats become commands, or are refused with a reason.

use macroquad::math::Vec2;
use macroquad::miniquad::MouseButton;
use macroquad::prelude::Rect;
use serde_json::{Value, json};

use crate::gui::bindings::rules_in_play;
use crate::gui::draw::{REFUSAL_SHOWN_S, TrainingStatus, layout};
use crate::gui::production::{Economy, Production, Refusal};
use crate::gui::sent_commands::SentCommands;
use game::View;
use sim::{Command, KindId, PlayerId};

/// Training input of the player.
#[derive(Default)]
pub(super) struct Training {
    production: Production,
    /// Last refusal, and its time in seconds since the window opened.
    refusal: Option<(Refusal, f64)>,
}

/// Meaning of a press on a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pressed {
    Train(KindId),
    Repeat(KindId),
    /// A press on the plate beside the buttons: no effect, on the arena neither.
    Nothing,
}

impl Training {
    /// Starts with repeated training of the first kind.
    pub(super) fn repeating() -> Self {
        let mut production = Production::default();
        production.toggle(KindId(0));
        Self { production, ..Self::default() }
    }

    /// Trains one of a kind: returns the command, or none and shows the reason.
    pub(super) fn train(
        &mut self,
        view: &View,
        sent: &SentCommands,
        kind: KindId,
        now: f64,
    ) -> Option<Command> {
        let economy = economy(view)?;
        let number = next_number(sent, &economy);
        self.refusal = self.production.press(kind, &economy, number).err().map(|refusal| (refusal, now));
        self.refusal.is_none().then_some(Command::Train(kind))
    }

    /// Toggles repeated training of a kind.
    pub(super) fn toggle(&mut self, kind: KindId) {
        self.refusal = None;
        self.production.toggle(kind);
    }

    /// Whether the training of any kind repeats.
    pub(super) fn is_repeating(&self) -> bool {
        self.production.repeats().contains(&true)
    }

    /// Returns the next command of repeated training.
    pub(super) fn repeat(&mut self, view: &View, sent: &SentCommands) -> Option<Command> {
        let economy = economy(view)?;
        self.production.repeat(&economy, next_number(sent, &economy)).map(Command::Train)
    }

    /// Returns the effect of pressing a mouse button at a position; `None` outside the plate.
    pub(super) fn pressed(button: MouseButton, at: Vec2, shift: bool, window: Rect) -> Option<Pressed> {
        layout::economy_plate(window).contains(at).then(|| match (kind_at(at, window), button) {
            (Some(kind), MouseButton::Left) if !shift => Pressed::Train(kind),
            (Some(kind), MouseButton::Left | MouseButton::Right) => Pressed::Repeat(kind),
            _ => Pressed::Nothing,
        })
    }

    /// Returns the status for drawing.
    pub(super) fn status(
        &self,
        view: &View,
        pointer: Vec2,
        now: f64,
        window: Rect,
    ) -> Option<TrainingStatus> {
        let economy = economy(view)?;
        let refusal = self.refusal.map(|(refusal, since)| (refusal, (now - since) as f32));
        Some(TrainingStatus {
            repeats: self.production.repeats(),
            queued: core::array::from_fn(|kind| self.production.queued(KindId(kind as u8), &economy)),
            hovered: kind_at(pointer, window),
            refusal: refusal.filter(|&(_, age_s)| age_s < REFUSAL_SHOWN_S),
        })
    }

    /// Returns facts for tests.
    pub(super) fn facts(&self, view: &View) -> Value {
        let (economy, kinds) = (economy(view), view.setup.rules.minions.len());
        json!({
            "repeats": self.production.repeats()[..kinds],
            "refusal": self.refusal.map(|(refusal, _)| refusal.text(&view.setup.rules)),
            "supply": economy.map(|economy| economy.supply),
            "training": economy.map(|economy| economy.training[..kinds].to_vec()),
        })
    }
}

fn economy(view: &View) -> Option<Economy> {
    Some(Economy::of(&view.setup, &view.current, view.me.filter(|&me| me != PlayerId::NONE)?))
}

fn next_number(sent: &SentCommands, economy: &Economy) -> u32 {
    sent.next(economy.commands, economy.tick, economy.lost_after)
}

/// Returns the kind whose button is at a position.
fn kind_at(at: Vec2, window: Rect) -> Option<KindId> {
    let plate = layout::economy_plate(window);
    let mut kinds = rules_in_play().minion_kinds();
    kinds.find(|kind| layout::train_button(window, plate, kind.index()).contains(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_left_button_trains_and_the_right_one_repeats() {
        let window = Rect::new(0.0, 0.0, 1280.0, 720.0);
        let plate = layout::economy_plate(window);
        let [sword, bow] = [0, 1].map(|place| layout::train_button(window, plate, place).center());
        let pressed = |button, at, shift| Training::pressed(button, at, shift, window);
        assert_eq!(pressed(MouseButton::Left, sword, false), Some(Pressed::Train(KindId(0))));
        assert_eq!(pressed(MouseButton::Left, bow, true), Some(Pressed::Repeat(KindId(1))));
        assert_eq!(pressed(MouseButton::Right, bow, false), Some(Pressed::Repeat(KindId(1))));
        assert_eq!(pressed(MouseButton::Middle, bow, false), Some(Pressed::Nothing));
        assert_eq!(pressed(MouseButton::Right, plate.point() + 8.0, false), Some(Pressed::Nothing));
        assert_eq!(pressed(MouseButton::Left, Vec2::new(640.0, 300.0), false), None);
    }
}
