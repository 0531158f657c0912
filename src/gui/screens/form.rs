//! Elements of forms: headings, parts of rows, and the player's name and hero.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use super::Next;
use crate::cli::args::BotChoice;
use crate::gui::context::AppContext;
use crate::gui::page::Page;
use crate::gui::settings::Settings;
use crate::gui::theme;
use game::data;
use sim::{AttackBehaviour, ControlBehaviour, KindId, Rules, UnitRules};

/// Levels of the computer's players, and their names in the window.
pub(super) const LEVELS: [(BotChoice, &str); 6] = [
    (BotChoice::Easy, "Easy"),
    (BotChoice::One, "Recruit"),
    (BotChoice::Two, "Soldier"),
    (BotChoice::Normal, "Normal"),
    (BotChoice::Four, "Veteran"),
    (BotChoice::Hard, "Hard"),
];

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
