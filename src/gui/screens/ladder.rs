//! The ladder: its opponents one above the other, and the chosen one's match; practice against any level.

use egui_macroquad::egui::{Align2, Color32, Rect, Stroke, pos2, vec2};

use super::form::{capitalised, choose_level, heading, named};
use super::map_preview::draw_map;
use super::{Attract, Next};
use crate::cli::args::{BotChoice, PlayArguments, usual};
use crate::gui::context::AppContext;
use crate::gui::launch::LaunchRequest;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use game::data::{Opponent, Rival, opponents};
use game::ladder::Progress;
use game::phrase::clock;
use sim::KindId;

const SIZE: [f32; 2] = [892.0, 500.0];
const ROW: f32 = 38.0;
/// Width of the list, and its distance from the top and from the practice below it, in points.
const LIST: f32 = 492.0;
const TOP: f32 = 44.0;
const PRACTICE: f32 = 17.0 + 5.0 + ROW;
const GAP: f32 = 14.0;

pub(crate) struct LadderScreen {
    pub(super) attract: Attract,
    /// Place of the opponent whose match is described.
    chosen: usize,
}

impl LadderScreen {
    pub(super) fn new(attract: Attract, progress: &Progress) -> Self {
        Self { attract, chosen: progress.next().unwrap_or_default() }
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        let plate = page.centred(SIZE[0], SIZE[1]);
        page.plate("ladder", plate);
        let inside = plate.shrink(20.0);
        page.within("ladder", |page| {
            let style = (theme::LARGE, theme::TEXT);
            page.text("title", inside.min, Align2::LEFT_TOP, style, "The ladder", LIST / 2.0);
            let progress = context.ladder.progress().clone();
            let streak = pos2(inside.left() + LIST, inside.top() + 24.0);
            let style = (theme::SMALL, theme::GOLD);
            page.text("streak", streak, Align2::RIGHT_BOTTOM, style, &summary(&progress), LIST / 2.0);
            let below = inside.bottom() - PRACTICE;
            let list =
                Rect::from_min_max(inside.min + vec2(0.0, TOP), pos2(inside.left() + LIST, below - GAP));
            self.rows(page, list, &progress);
            let right = Rect::from_min_max(
                pos2(list.right() + 24.0, inside.top()),
                pos2(inside.right(), list.bottom()),
            );
            let next = self.described(context, page, right, &progress);
            let last = Rect::from_min_max(pos2(inside.left(), below), inside.max);
            next.or_else(|| last_row(context, page, last, right.left()))
        })
    }

    /// Draws the opponents, the easiest at the top.
    fn rows(&mut self, page: &mut Page<'_>, list: Rect, progress: &Progress) {
        let step = (list.height() + 4.0) / opponents().len() as f32;
        for (place, opponent) in opponents().iter().enumerate() {
            let at = list.min + vec2(0.0, step * place as f32);
            let row = Rect::from_min_size(at, vec2(list.width(), step - 4.0));
            let name = format!("opponent {}", place + 1);
            let weight = if place == self.chosen { Weight::Chosen } else { Weight::Normal };
            if page.pressable(&name, row, weight, true) {
                self.chosen = place;
            }
            page.within(&name, |page| draw_row(page, row, &name, (place, opponent), progress));
        }
    }

    /// Draws the chosen opponent and its match. Returns the match if it is to be played.
    fn described(
        &self,
        context: &mut AppContext,
        page: &mut Page<'_>,
        area: Rect,
        progress: &Progress,
    ) -> Option<Next> {
        const MAP: f32 = 150.0;
        let opponent = opponents().get(self.chosen)?;
        let teams: Vec<_> = opponent.seats(KindId(0)).iter().map(|seat| Some(seat.team)).collect();
        let picture = Rect::from_min_size(area.min, vec2(area.width(), MAP));
        draw_map(page, &opponent.map, &teams, picture);
        let mut top = picture.bottom() + 10.0;
        let mut line = |page: &mut Page<'_>, name: &str, style: (f32, Color32), text: &str, step: f32| {
            page.text(name, pos2(area.left(), top), Align2::LEFT_TOP, style, text, area.width());
            top += step;
        };
        line(page, "name", (theme::LARGE, theme::TEXT), opponent.name.as_str(), 35.0);
        line(page, "about", (theme::SMALL, theme::QUIET), &opponent.about, 22.0);
        line(page, "twist", (theme::BODY, theme::GOLD), &capitalised(&opponent.twist), 29.0);
        for (place, rival) in opponent.rivals.iter().enumerate() {
            let name = format!("rival {place}");
            line(page, &name, (theme::SMALL, theme::TEXT), &introduced(rival), 19.0);
        }
        let button = Rect::from_min_max(pos2(area.left(), area.bottom() - ROW), area.max);
        if progress.is_open(self.chosen) {
            let text = format!("Play against {}", opponent.name.as_str());
            let is_pressed = page.button("play opponent", button, &text, Weight::Primary);
            return is_pressed.then(|| challenge(context, opponent)).flatten();
        }
        let before = self.chosen.checked_sub(1).and_then(|before| opponents().get(before));
        let why = before.map_or_else(String::new, |before| format!("beat {} first", before.name.as_str()));
        page.barred("play opponent", button, "Locked", &why);
        None
    }
}

/// Draws what is on an opponent's row.
fn draw_row(
    page: &mut Page<'_>,
    row: Rect,
    name: &str,
    (place, opponent): (usize, &Opponent),
    progress: &Progress,
) {
    const BADGE: f32 = 11.0;
    const NAME: f32 = 138.0;
    let (best, is_next) = (progress.best_ms(opponent), progress.next() == Some(place));
    let (edge, fill, number, text) = match (best, is_next) {
        (Some(_), _) => (theme::GOLD, theme::GOLD, theme::GROUND, theme::TEXT),
        (None, true) => (theme::GOLD, Color32::TRANSPARENT, theme::GOLD, theme::TEXT),
        (None, false) => (theme::LINE_LIT, Color32::TRANSPARENT, theme::QUIET, theme::QUIET),
    };
    let middle = pos2(row.left() + 22.0, row.center().y);
    page.ui.painter().circle(middle, BADGE, fill, Stroke::new(1.5, edge));
    let digits = format!("{}", place + 1);
    page.text(
        &format!("{name} number"),
        middle,
        Align2::CENTER_CENTER,
        (theme::SMALL, number),
        &digits,
        20.0,
    );
    let right = pos2(row.right() - 14.0, middle.y);
    let (state, colour) = match (best, is_next) {
        (Some(ms), _) => (clock(u64::from(ms) / 1000), theme::TEXT),
        (None, true) => ("next".to_owned(), theme::GOLD),
        (None, false) => ("locked".to_owned(), theme::QUIET),
    };
    page.text(&format!("{name} state"), right, Align2::RIGHT_CENTER, (theme::SMALL, colour), &state, 60.0);
    let at = pos2(row.left() + 44.0, middle.y);
    let title = opponent.name.as_str();
    page.text(&format!("{name} name"), at, Align2::LEFT_CENTER, (theme::BODY, text), title, NAME);
    let at = pos2(at.x + NAME + 8.0, middle.y);
    let width = right.x - 64.0 - at.x;
    let style = (theme::SMALL, theme::QUIET);
    page.text(&format!("{name} twist"), at, Align2::LEFT_CENTER, style, &opponent.twist, width);
}

/// Draws practice against any level, and the way back.
fn last_row(context: &mut AppContext, page: &mut Page<'_>, row: Rect, right: f32) -> Option<Next> {
    heading(page, "practice", row, "Practice against any level, by the standard rules");
    let buttons = row.with_min_y(row.bottom() - ROW);
    // A gap follows each level, the last one, too.
    let levels = buttons.with_max_x(row.left() + LIST + 6.0);
    if let Some(bot) = choose_level(page, levels, "play", |_| Weight::Normal) {
        return practice(context, bot);
    }
    let is_left = page.button("back", buttons.with_min_x(right), "Back", Weight::Normal) || page.escapes();
    is_left.then_some(Next::Start)
}

/// Summarises the progress in a line.
pub(super) fn summary(progress: &Progress) -> String {
    let all = opponents().len();
    let won = opponents().iter().filter(|opponent| progress.best_ms(opponent).is_some()).count();
    match progress.streak() {
        (_, 0) => format!("{won} of {all} beaten"),
        (streak, longest) => format!("{won} of {all} beaten; streak {streak}, longest {longest}"),
    }
}

/// Describes what a match against an opponent has brought: the time, the best one, and the streak after it.
pub(super) fn outcome(progress: &Progress, opponent: &Opponent, won_ms: Option<u32>) -> String {
    let time = |ms: u32| clock(u64::from(ms) / 1000);
    let best = progress.best_ms(opponent);
    let result = match (won_ms, best) {
        (Some(ms), Some(best)) if ms > best => format!("Beaten in {}, your best is {}", time(ms), time(best)),
        (Some(ms), _) => format!("Beaten in {}, your best time", time(ms)),
        (None, Some(best)) => format!("Your best time is {}", time(best)),
        (None, None) => "Not beaten yet".to_owned(),
    };
    let (streak, longest) = progress.streak();
    if longest == 0 { result } else { format!("{result}; streak {streak}, longest {longest}") }
}

/// Introduces a bot of a match in a line.
fn introduced(rival: &Rival) -> String {
    let side = if rival.team == 0 { ", with you" } else { "" };
    format!("{}{side}: level {}, {} hero", rival.name.as_str(), rival.level.as_str(), rival.hero)
}

/// Starts a match against one bot, by the standard rules.
fn practice(context: &mut AppContext, bot: BotChoice) -> Option<Next> {
    launch(context, PlayArguments { bot, ..usual() })
}

/// Starts a match against an opponent of the ladder.
pub(super) fn challenge(context: &mut AppContext, opponent: &'static Opponent) -> Option<Next> {
    launch(context, PlayArguments { opponent: Some(opponent), ..usual() })
}

fn launch(context: &mut AppContext, mut arguments: PlayArguments) -> Option<Next> {
    arguments.player.hero = context.settings.you.hero;
    named(context, |name| {
        arguments.player.name = Some(name);
        Next::Launch(LaunchRequest::Practice(Box::new(arguments)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_match_is_summed_up_with_its_time_the_best_one_and_the_streak() {
        let first = &opponents()[0];
        let new = Progress::default();
        assert_eq!(outcome(&new.after(first, None), first, None), "Not beaten yet");
        let won = new.after(first, Some(184_999));
        let text = "Beaten in 3:04, your best time; streak 1, longest 1";
        assert_eq!(outcome(&won, first, Some(184_999)), text);
        let slower = won.after(first, Some(200_000));
        let text = "Beaten in 3:20, your best is 3:04; streak 2, longest 2";
        assert_eq!(outcome(&slower, first, Some(200_000)), text);
        let lost = slower.after(first, None);
        assert_eq!(outcome(&lost, first, None), "Your best time is 3:04; streak 0, longest 2");
        assert_eq!(summary(&new), "0 of 10 beaten");
        assert_eq!(summary(&lost), "1 of 10 beaten; streak 0, longest 2");
    }
}
