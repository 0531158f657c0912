//! The cards of the tutorial: the current step, and the end.

use egui_macroquad::egui::{Align2, Pos2, Rect, Shape, StrokeKind, pos2, vec2};

use super::Next;
use super::form::part;
use super::ladder::challenge;
use crate::gui::bindings::{Action, key_name, rules_in_play};
use crate::gui::context::AppContext;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use crate::gui::tutorial::{Task, Word};
use bot::BotLevel;
use game::data::opponents;

/// Draws the current task at the lower right above `bottom_px`. Returns whether the player skips the rest.
pub(super) fn task_card(page: &mut Page<'_>, task: &Task, bottom_px: f32) -> bool {
    const SIZE: [f32; 2] = [576.0, 104.0];
    const SKIP: [f32; 2] = [92.0, 30.0];
    let bottom = bottom_px / page.ui.ctx().pixels_per_point() - 8.0;
    let window = page.window();
    let right = window.right() - 8.0;
    let card = Rect::from_min_max(pos2(right - SIZE[0], bottom - SIZE[1]), pos2(right, bottom));
    page.plate("task", card);
    page.within("task", |page| {
        let inside = card.shrink2(vec2(18.0, 12.0));
        let (at, width) = (inside.left_top(), inside.width() - SKIP[0] - 12.0);
        page.text("task title", at, Align2::LEFT_TOP, (theme::SMALL, theme::GOLD), &task.title, width);
        words(page, pos2(at.x, at.y + 38.0), &task.words);
        let below = pos2(at.x, at.y + 56.0);
        let (size, colour) = (theme::SMALL, theme::QUIET);
        page.text("task reason", below, Align2::LEFT_TOP, (size, colour), task.reason, inside.width());
        bar(page, card, task.progress);
        let skip = Rect::from_min_size(pos2(inside.right() - SKIP[0], card.top() + 8.0), SKIP.into());
        let text = format!("Skip ({})", key_name(Action::Skip));
        page.button("skip", skip, &text, Weight::Normal)
    })
}

/// Draws words and keycaps in a row; `at` is the middle of its left edge.
fn words(page: &mut Page<'_>, mut at: Pos2, words: &[Word]) {
    const PAD: f32 = 8.0;
    const GAP: f32 = 7.0;
    let most = page.window().width();
    for (place, word) in words.iter().enumerate() {
        let name = format!("task word {place}");
        at.x = GAP
            + match word {
                Word::Text(text) => {
                    let style = (theme::BODY, theme::TEXT);
                    page.text(&name, at, Align2::LEFT_CENTER, style, text, most).right()
                }
                Word::Key(text) => {
                    // The cap is drawn below its text and takes the text's width.
                    let cap = page.ui.painter().add(Shape::Noop);
                    let style = (theme::BODY, theme::GOLD);
                    let inner = pos2(at.x + PAD, at.y);
                    let rect = page.text(&name, inner, Align2::LEFT_CENTER, style, text, most);
                    let rect = rect.expand2(vec2(PAD, 2.0));
                    let shapes = vec![
                        Shape::rect_filled(rect, theme::ROUNDING, theme::BUTTON),
                        Shape::rect_stroke(rect, theme::ROUNDING, (1.5, theme::LINE_LIT), StrokeKind::Inside),
                    ];
                    page.ui.painter().set(cap, Shape::Vec(shapes));
                    rect.right()
                }
            };
    }
}

/// Draws the progress of the step along the lower edge of its card.
fn bar(page: &Page<'_>, card: Rect, share: f32) {
    const HEIGHT: f32 = 5.0;
    let whole = card.shrink(3.0);
    let whole = Rect::from_min_max(pos2(whole.left(), whole.bottom() - HEIGHT), whole.max);
    let done = Rect::from_min_size(whole.min, vec2(whole.width() * share, HEIGHT));
    page.ui.painter().rect_filled(whole, 2.0, theme::BUTTON);
    page.ui.painter().rect_filled(done, 2.0, theme::GOLD);
}

/// Congratulates the player and leads on to an opponent who fights back.
pub(super) fn learned_card(context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
    const ROW: f32 = 44.0;
    let middle = page.centred(500.0, 232.0);
    // Below the middle of the window, where the fallen core is seen.
    let card = middle.translate(vec2(0.0, (page.window().bottom() - middle.bottom() - 72.0).max(0.0)));
    page.plate("learned", card);
    page.within("learned", |page| {
        let inside = card.shrink(24.0);
        let (at, width) = (inside.left_top(), inside.width());
        let style = (theme::LARGE, theme::GOLD);
        page.text("learned title", at, Align2::LEFT_TOP, style, "You know how to win", width);
        let ladder = opponents();
        let next = &ladder[context.ladder.progress().next().unwrap_or_default()];
        let training = if next.rivals.iter().all(|rival| rival.level == BotLevel::Easy) {
            let minions = rules_in_play().minions[0].plural();
            format!(
                "In the match against {}, {minions} train by themselves: a right click on a button turns that on and off. ",
                next.name.as_str()
            )
        } else {
            String::new()
        };
        let text = format!(
            "Lead, take circles, be in two places, spend: that wins matches. Now against somebody who fights back. \
             {training}{} shows all keys.",
            key_name(Action::Help)
        );
        let below = pos2(at.x, at.y + 44.0);
        page.paragraph("learned text", below, (theme::SMALL, theme::TEXT), &text, width);
        let row = Rect::from_min_max(pos2(inside.left(), inside.bottom() - ROW), inside.max);
        let menu = page.button("menu", part(row, 1, 2), "Menu", Weight::Normal);
        let menu = menu || (page.escapes() && !page.is_inert);
        let play = format!("Play against {}", next.name.as_str());
        match (page.button("next", part(row, 0, 2), &play, Weight::Primary), menu) {
            (true, _) => challenge(context, next),
            (_, true) => Some(Next::Start),
            _ => None,
        }
    })
}
