//! The menu of a match.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use crate::gui::page::{Page, Weight};
use crate::gui::theme;

/// Choice in the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Resume,
    Surrender,
    Leave,
    Help,
    Settings,
}

/// Draws the menu of a match.
pub(crate) fn match_menu(page: &mut Page<'_>, is_asking: bool, is_halted: bool) -> Option<Choice> {
    const ROW: f32 = 44.0;
    let plate = page.centred(360.0, 356.0);
    page.plate("menu", plate);
    let surrender = if is_asking { "Surrender: sure?" } else { "Surrender" };
    let choices = [
        ("resume", "Resume", Choice::Resume, Weight::Primary),
        ("surrender", surrender, Choice::Surrender, Weight::Normal),
        ("leave", "Leave the match", Choice::Leave, Weight::Normal),
        ("settings", "Settings", Choice::Settings, Weight::Normal),
        ("help", "How to play", Choice::Help, Weight::Normal),
    ];
    page.within("menu", |page| {
        let inside = plate.shrink(22.0);
        let at = inside.left_top();
        let text = if is_halted { "The match waits for you" } else { "The match continues meanwhile" };
        page.text("continues", at, Align2::LEFT_TOP, (theme::SMALL, theme::QUIET), text, inside.width());
        let mut chosen = None;
        for (place, (name, text, choice, weight)) in choices.into_iter().enumerate() {
            let top = inside.top() + 32.0 + place as f32 * (ROW + 12.0);
            let rect = Rect::from_min_size(pos2(inside.left(), top), vec2(inside.width(), ROW));
            if page.button(name, rect, text, weight) {
                chosen = Some(choice);
            }
        }
        chosen
    })
}
