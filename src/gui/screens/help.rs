//! The card "How to play": the rules with the units on one page, the keys on the other.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use crate::gui::bindings::{Action, BINDINGS, Chapter, key_name, rules_in_play};
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use game::phrase::clock;
use sim::{KindId, MinionRules, Rules, UnitRules};

/// Size that the card and the lobby need, in points.
pub(super) const LARGEST_ROOM: [f32; 2] = [SIZE[0] + 16.0, SIZE[1] + 16.0];
const SIZE: [f32; 2] = [908.0, 508.0];
/// Line height of the keys, in points.
const LINE: f32 = 23.0;
/// Line height of the table of units, in points.
const ROW: f32 = 20.0;

/// Columns of the table of units, as shares of the width.
const COLUMNS: [(&str, f32); 8] = [
    ("unit", 0.0),
    ("key", 0.22),
    ("price", 0.30),
    ("hit points", 0.40),
    ("damage", 0.52),
    ("cooldown", 0.62),
    ("reach, tiles", 0.72),
    ("tiles a second", 0.86),
];

/// Page of the card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Tab {
    #[default]
    Rules,
    Keys,
}

/// The card, with the page that it shows.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HelpCard {
    tab: Tab,
}

impl HelpCard {
    /// Creates the card with its keys shown first, which players look for during a match.
    pub(crate) const fn of_keys() -> Self {
        Self { tab: Tab::Keys }
    }

    /// Draws the card. Returns whether it was closed.
    pub(crate) fn page(&mut self, page: &mut Page<'_>) -> bool {
        const CLOSE: f32 = 40.0;
        let card = page.centred(SIZE[0], SIZE[1]);
        page.plate("help", card);
        page.within("help", |page| {
            let inside = card.shrink(20.0);
            let style = (theme::LARGE, theme::TEXT);
            page.text("title", inside.left_top(), Align2::LEFT_TOP, style, "How to play", 400.0);
            let tabs = Rect::from_min_size(inside.right_top() - vec2(260.0, 0.0), vec2(260.0, 32.0));
            page.choice("help", tabs, &[("Rules", Tab::Rules), ("Keys", Tab::Keys)], &mut self.tab);
            let middle = Rect::from_min_max(
                pos2(inside.left(), inside.top() + 48.0),
                pos2(inside.right(), inside.bottom() - CLOSE - 12.0),
            );
            match self.tab {
                Tab::Rules => draw_rules(page, &rules_in_play(), middle),
                Tab::Keys => draw_keys(page, middle),
            }
            let close = Rect::from_min_size(
                pos2(inside.center().x - 110.0, inside.bottom() - CLOSE),
                vec2(220.0, CLOSE),
            );
            page.button("close", close, "Close", Weight::Primary)
        })
    }
}

fn draw_rules(page: &mut Page<'_>, rules: &Rules, area: Rect) {
    const GAP: f32 = 10.0;
    let mut top = chapter_text(page, ("to win", "To win"), &to_win(rules), area) + GAP;
    for (column, share) in COLUMNS {
        let at = pos2(area.left() + share * area.width(), top);
        page.text(
            &format!("{column} head"),
            at,
            Align2::LEFT_TOP,
            (theme::SMALL, theme::GOLD),
            column,
            200.0,
        );
    }
    for (row, cells) in unit_rows(rules).iter().enumerate() {
        top += ROW;
        for (cell, (column, share)) in cells.iter().zip(COLUMNS) {
            let at = pos2(area.left() + share * area.width(), top);
            let colour = if share == 0.0 { theme::TEXT } else { theme::QUIET };
            let name = format!("{column} {row}");
            page.text(&name, at, Align2::LEFT_TOP, (theme::SMALL, colour), cell, 180.0);
        }
    }
    let area = area.with_min_y(top + ROW + GAP);
    let below = chapter_text(page, ("supply", "Supply"), &supply(rules), area) + GAP;
    chapter_text(page, ("hero", "Your hero and your minions"), &leading(rules), area.with_min_y(below));
}

/// Draws a heading and a paragraph at the top of `area`. Returns its lower edge.
fn chapter_text(page: &mut Page<'_>, (name, title): (&str, &str), text: &str, area: Rect) -> f32 {
    let (heading, width) = ((theme::SMALL, theme::GOLD), area.width());
    page.text(&format!("{name} head"), area.left_top(), Align2::LEFT_TOP, heading, title, width);
    let at = area.left_top() + vec2(0.0, 19.0);
    page.paragraph(name, at, (theme::SMALL, theme::QUIET), text, width)
}

/// Describes how a match is won.
fn to_win(rules: &Rules) -> String {
    let circles = "Stand in a circle to take it: it gives a point a second, or one for each dot in it, and a supply a \
                   minute for each plus sign. While you hold more than half of them, the enemy cores are open";
    if rules.endless {
        return format!("{circles}. By these rules the match has no winner.");
    }
    format!(
        "{circles}: destroy them, or reach {} points. At {} sudden death begins: all cores are open and burn, those of \
         a team with fewer circles the fastest, and heroes who fall no longer return.",
        rules.score_to_win,
        clock_of(rules.sudden_death_ms)
    )
}

/// Describes where supply comes from and what limits it.
fn supply(rules: &Rules) -> String {
    let behind = match rules.behind_supply_percent.saturating_sub(100) {
        0 => String::new(),
        more => format!(" A team with fewer points than another gets {more} % more."),
    };
    format!(
        "Minions cost supply. You start with {} and get {} a minute; half as much again from {} on, twice as \
         much in sudden death.{behind} You can save up to {}. Training takes {} s, with at most {} in training; you lead \
         at most {} minions.",
        rules.supply_start,
        rules.supply_per_minute,
        clock_of(rules.escalation_ms),
        rules.supply_max,
        thousandths(rules.training_ms),
        rules.training_max,
        rules.minions_max
    )
}

/// Describes how hero and minions fight, and how a hero returns.
fn leading(rules: &Rules) -> String {
    format!(
        "Minions that follow your hero guard him; minions that you send fight whatever they meet. A fallen hero returns \
         after {} s, and {} s more for each minute played; killing one gives {} points.",
        thousandths(rules.respawn_ms),
        thousandths(rules.respawn_per_minute_ms),
        rules.hero_score
    )
}

/// Lists the cells of each unit, in the order of [`COLUMNS`].
fn unit_rows(rules: &Rules) -> Vec<[String; COLUMNS.len()]> {
    let minion = |(kind, minion): (KindId, &MinionRules)| {
        let name = minion.unit.name.capitalised().to_string();
        cells(&minion.unit, name, key_name(Action::Train(kind)), minion.cost.to_string())
    };
    let hero = |hero: &UnitRules| cells(hero, format!("Hero: {}", hero.name), String::new(), String::new());
    let minions = rules.minion_kinds().zip(&rules.minions).map(minion);
    minions.chain(rules.heroes.iter().map(hero)).collect()
}

fn cells(unit: &UnitRules, name: String, key: String, price: String) -> [String; COLUMNS.len()] {
    let every = format!("{} s", thousandths(unit.cooldown_ms));
    let (reach, speed) = (thousandths(unit.reach), thousandths(unit.speed));
    [name, key, price, unit.hp.to_string(), unit.damage.to_string(), every, reach, speed]
}

/// Formats thousandths as a decimal: 1500 is "1.5".
fn thousandths(number: impl Into<f64>) -> String {
    (number.into() / 1000.0).to_string()
}

fn clock_of(ms: u32) -> String {
    clock(u64::from(ms / 1000))
}

/// Draws the keys: two chapters beside each other in each of two rows.
fn draw_keys(page: &mut Page<'_>, area: Rect) {
    // The longer chapter sets the height of the first row.
    let rows = BINDINGS.iter().take(2).map(|chapter| chapter.bindings.len() + 1).max().unwrap_or(0);
    let second = LINE * rows as f32 + 12.0;
    for (place, chapter) in BINDINGS.iter().enumerate() {
        let half = area.width() / 2.0;
        let at = vec2((place % 2) as f32 * (half + 8.0), (place / 2) as f32 * second);
        chapter_rows(page, chapter, Rect::from_min_size(area.min + at, vec2(half - 8.0, 0.0)));
    }
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
        let (style, width) = ((theme::SMALL, theme::QUIET), column.width() - KEYS);
        page.text(&format!("{name} does"), right, Align2::LEFT_TOP, style, &binding.does(), width);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use game::data;

    #[test]
    fn the_card_has_the_units_prices_and_numbers_of_the_rules_in_play() {
        let standard = data::rules("standard").expect("built in");
        let mut rules = (*standard).clone();
        rules.score_to_win = 123;
        rules.sudden_death_ms = 241_000;
        (rules.supply_start, rules.supply_per_minute, rules.supply_max) = (11, 37, 53);
        rules.behind_supply_percent = 113;
        (rules.training_ms, rules.training_max, rules.minions_max) = (2_500, 6, 9);
        rules.escalation_ms = 125_000;
        (rules.minions[1].cost, rules.minions[1].unit.hp, rules.minions[1].unit.reach) = (7, 61, 8_250);
        let text = to_win(&rules) + &supply(&rules);
        for part in [
            "reach 123 points. At 4:01 sudden death",
            "start with 11 and get 37 a minute;",
            "again from 2:05 on",
            "gets 13 % more. You can save up to 53. Training takes 2.5 s, with at most 6 in training",
            "at most 9 minions",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
        let rows = unit_rows(&rules);
        assert_eq!(rows.len(), rules.minions.len() + rules.heroes.len());
        let cells: Vec<&str> = rows[1].iter().map(String::as_str).collect();
        assert_eq!(cells, ["Archer", "N", "7", "61", "16", "1 s", "8.25", "3.2"]);
        assert_eq!(rows.last().map(|cells| &*cells[0]), Some("Hero: archer"));
        rules.endless = true;
        rules.behind_supply_percent = 100;
        let text = to_win(&rules) + &supply(&rules);
        assert!(!text.contains("sudden death begins") && !text.contains("fewer points"));
    }
}
