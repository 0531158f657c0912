//! Overlays of a match: the help card and the menu.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use super::clock;
use crate::gui::bindings::{BINDINGS, Chapter, rules_in_play};
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use sim::Rules;

/// Choice in the menu.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Choice {
    Resume,
    Surrender,
    Leave,
    Help,
    Settings,
}

/// Describes the rules, in as many lines as a newcomer reads.
fn described(rules: &Rules) -> String {
    format!(
        "Stand on a circle to take it: circles give points. Hold more than half and enemy cores open: destroy them, or \
         reach {} points. Supply trains minions; who is behind gets more. Who follows you guards you, who is sent fights \
         all around. At {} shields fall and heroes no longer return.",
        rules.score_to_win,
        clock(f64::from(rules.sudden_death_ms) / 1000.0)
    )
}

/// Size that the card and the lobby need, in points.
pub(super) const LARGEST_ROOM: [f32; 2] = [HELP[0] + 16.0, HELP[1] + 16.0];
const HELP: [f32; 2] = [908.0, 508.0];
/// Line height of the card, in points.
const LINE: f32 = 23.0;

/// Draws all keys on one card. Returns whether it was closed.
pub(crate) fn help_card(page: &mut Page<'_>) -> bool {
    const CLOSE: f32 = 40.0;
    let card = page.centred(HELP[0], HELP[1]);
    page.plate("help", card);
    page.within("help", |page| {
        let inside = card.shrink(20.0);
        let (size, colour) = (theme::LARGE, theme::TEXT);
        page.text("title", inside.left_top(), Align2::LEFT_TOP, (size, colour), "Keys and rules", 400.0);
        let below = page.paragraph(
            "rules",
            inside.left_top() + vec2(0.0, 38.0),
            (theme::SMALL, theme::QUIET),
            &described(&rules_in_play()),
            inside.width(),
        );
        let columns = Rect::from_min_max(
            pos2(inside.left(), below + 14.0),
            pos2(inside.right(), inside.bottom() - CLOSE - 12.0),
        );
        // The chapters form two rows; the longer chapter sets the height of the first.
        let rows = BINDINGS.iter().take(2).map(|chapter| chapter.bindings.len() + 1).max().unwrap_or(0);
        let second = LINE * rows as f32 + 12.0;
        for (place, chapter) in BINDINGS.iter().enumerate() {
            let half = columns.width() / 2.0;
            let at = vec2((place % 2) as f32 * (half + 8.0), (place / 2) as f32 * second);
            chapter_rows(page, chapter, Rect::from_min_size(columns.min + at, vec2(half - 8.0, 0.0)));
        }
        let close =
            Rect::from_min_size(pos2(inside.center().x - 110.0, inside.bottom() - CLOSE), vec2(220.0, CLOSE));
        page.button("close", close, "Close", Weight::Primary)
    })
}

fn chapter_rows(page: &mut Page<'_>, chapter: &Chapter, column: Rect) {
    const KEYS: f32 = 112.0;
    let title = chapter.title.to_lowercase();
    let at = column.left_top();
    page.text(&title, at, Align2::LEFT_TOP, (theme::SMALL, theme::GOLD), chapter.title, column.width());
    for (row, binding) in chapter.bindings.iter().enumerate() {
        let at = at + vec2(0.0, LINE * (row + 1) as f32);
        let name = format!("{title} {row}");
        page.text(&name, at, Align2::LEFT_TOP, (theme::SMALL, theme::TEXT), &binding.keys(), KEYS - 6.0);
        let right = at + vec2(KEYS, 0.0);
        let width = column.width() - KEYS;
        page.text(
            &format!("{name} does"),
            right,
            Align2::LEFT_TOP,
            (14.0, theme::QUIET),
            &binding.does(),
            width,
        );
    }
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
        ("help", "Keys and rules", Choice::Help, Weight::Normal),
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

#[cfg(test)]
mod tests {
    use super::described;
    use game::data::rules;

    #[test]
    fn the_help_card_has_the_numbers_of_the_rules() {
        let rules = rules("dusk").expect("built in");
        let text = described(&rules);
        for number in [&format!("reach {} points", rules.score_to_win), "At 2:00 shields fall"] {
            assert!(text.contains(number), "{text}");
        }
    }
}
