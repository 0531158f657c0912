//! Elements of forms: headings, parts of rows, and the player's name and hero.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use super::Next;
use crate::cli::args::BotChoice;
use crate::gui::context::AppContext;
use crate::gui::page::{Page, Weight};
use crate::gui::settings::Settings;
use crate::gui::theme;
use game::data;
use sim::{AttackBehaviour, ControlBehaviour, KindId, Rules, UnitRules};

/// Draws a button for each level of the computer's players, the weakest first; `weight` is that of a level's button, and
/// their names begin with `prefix`. Returns the level that is chosen.
pub(super) fn choose_level(
    page: &mut Page<'_>,
    row: Rect,
    prefix: &str,
    weight: impl Fn(BotChoice) -> Weight,
) -> Option<BotChoice> {
    // Each with its width, in tenths of the row.
    const LEVELS: [(BotChoice, &str, f32); 6] = [
        (BotChoice::Easy, "Easy", 2.0),
        (BotChoice::One, "1", 1.0),
        (BotChoice::Two, "2", 1.0),
        (BotChoice::Normal, "Normal", 3.0),
        (BotChoice::Four, "4", 1.0),
        (BotChoice::Hard, "Hard", 2.0),
    ];
    let (tenth, gap) = (row.width() / 10.0, 6.0);
    let (mut left, mut chosen) = (row.left(), None);
    for (bot, text, tenths) in LEVELS {
        let right = left + tenths * tenth;
        let rect = Rect::from_min_max(pos2(left, row.top()), pos2(right - gap, row.bottom()));
        left = right;
        if page.button(&format!("{prefix} {}", text.to_lowercase()), rect, text, weight(bot)) {
            chosen = Some(bot);
        }
    }
    chosen
}

/// Draws the fields for name and hero. Returns a line about how the chosen hero of the standard rules fights.
pub(super) fn you_are(settings: &mut Settings, page: &mut Page<'_>, row: Rect) -> String {
    page.field("name", part(row, 0, 2), &mut settings.you.name, "your name");
    let rules = data::rules("standard").expect("built in");
    let mut hero = settings.you.hero.and_then(|name| rules.hero_named(name.as_str())).unwrap_or_default();
    if choose_hero(page, part(row, 1, 2), &rules, &mut hero) {
        settings.you.hero = Some(rules.unit(ControlBehaviour::Player, hero).name);
    }
    let UnitRules { attack, hp, damage, reach, .. } = rules.unit(ControlBehaviour::Player, hero);
    match attack {
        AttackBehaviour::Swordsman => format!("Leads from the front: {hp} hit points, blows of {damage}"),
        AttackBehaviour::Archer => {
            format!("Shoots from behind: {hp} hit points, arrows of {damage} over {} tiles", reach / 1_000)
        }
    }
}

/// Draws a button for each hero of the rules. Returns whether another one is chosen.
pub(super) fn choose_hero(page: &mut Page<'_>, rect: Rect, rules: &Rules, hero: &mut KindId) -> bool {
    let names: Vec<_> = rules.heroes.iter().map(|hero| hero.name.capitalised()).collect();
    let heroes: Vec<_> = names.iter().map(|name| &**name).zip(rules.hero_kinds()).collect();
    page.choice("hero", rect, &heroes, hero)
}

pub(super) fn heading(page: &mut Page<'_>, name: &str, row: Rect, text: &str) {
    page.text(name, row.left_top(), Align2::LEFT_TOP, (theme::SMALL, theme::QUIET), text, row.width());
}

/// Returns one of several equal parts of a row.
pub(super) fn part(row: Rect, place: usize, of: usize) -> Rect {
    const GAP: f32 = 10.0;
    let width = (row.width() - GAP * (of - 1) as f32) / of as f32;
    let left = row.left() + place as f32 * (width + GAP);
    Rect::from_min_size(pos2(left, row.top()), vec2(width, row.height()))
}

/// Continues if the name is valid, else shows why it is not.
pub(super) fn named(context: &mut AppContext, go: impl FnOnce(net::PlayerName) -> Next) -> Option<Next> {
    match context.settings.you.player_name() {
        Ok(name) => Some(go(name)),
        Err(why) => {
            context.note(why);
            None
        }
    }
}

/// Capitalises the first letter, for a sentence of its own.
pub(super) fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
