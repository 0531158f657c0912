//! Texts over a match: the countdown, a pause, hints, and the reason why an order is not carried out.

use egui_macroquad::egui::{Align2, Shape, pos2, vec2};

use crate::gui::bindings::{Action, key_name};
use crate::gui::page::Page;
use crate::gui::theme;
use game::{MatchEvent, View};
use net::Time;
use sim::{Outcome, Pause, PlayerId, RESUME_COUNTDOWN_MS};

pub(super) fn name_of(view: &View, player: PlayerId) -> &str {
    view.names.get(player.index()).map_or("the other player", String::as_str)
}

/// Length of the count-down at the end of a pause, in seconds.
const COUNTDOWN_S: f64 = RESUME_COUNTDOWN_MS as f64 / 1e3;

/// Shows the matchup and the countdown before tick 0.
pub(super) fn count_down(page: &mut Page<'_>, view: &View, now: Time) {
    const PRESS_LEAST_S: f64 = 1.0;
    let Some(begin) = view.begin.filter(|&begin| now < begin) else { return };
    let left_s = begin.since(now).as_secs_f64();
    if left_s < PRESS_LEAST_S && view.names.is_empty() {
        return;
    }
    let number = format!("{}", left_s.ceil());
    announce(page, ("count-down", &number), ("against", &opponents(view)));
}

/// Shows a large line in the middle of the window and a small one below it, on a plate.
fn announce(page: &mut Page<'_>, (name, large): (&str, &str), (name_below, below): (&str, &str)) {
    let (middle, width) = (page.window().center(), page.window().width());
    let plate = page.ui.painter().add(Shape::Noop);
    let at = pos2(middle.x, middle.y - 10.0);
    let upper = page.text(name, at, Align2::CENTER_BOTTOM, (theme::TITLE, theme::GOLD), large, width);
    let style = (theme::LARGE, theme::TEXT);
    let lower = page.text(name_below, middle, Align2::CENTER_TOP, style, below, width);
    let plated = upper.union(lower).expand2(vec2(28.0, 12.0));
    page.ui.painter().set(plate, Shape::rect_filled(plated, theme::ROUNDING, theme::PLATE));
}

/// Returns the seconds of the visible countdown, to the start or to the end of a pause.
pub(super) fn seconds_to_go(view: &View, now: Time) -> Option<f64> {
    let resumes = view.current.pause().map(|pause| left_of(view, &pause));
    let resumes = resumes.filter(|&left| left <= COUNTDOWN_S);
    view.begin.filter(|&begin| now < begin).map(|begin| begin.since(now).as_secs_f64()).or(resumes)
}

/// The time that is left of a pause, in seconds of ticks.
fn left_of(view: &View, pause: &Pause) -> f64 {
    f64::from(pause.until.since(view.current.tick())) / f64::from(view.setup.tick_rate.hz())
}

/// Whether the match is paused or waits for a lost player.
pub(super) fn is_held_up(view: &View) -> bool {
    view.current.pause().is_some() || view.lost.is_some()
}

/// Returns how much of the server's recording has arrived, in per cent, while a match that is over waits for the rest.
pub(super) fn fetched_percent(view: &View) -> Option<u32> {
    let (has, of) = view.fetching.filter(|_| view.current.outcome() != Outcome::Running)?;
    u32::try_from(u64::from(has) * 100 / u64::from(of.max(1))).ok()
}

/// Shows that a match that is over waits for the rest of its recording. A little that lacks is there before it is read.
pub(super) fn fetch_card(page: &mut Page<'_>, view: &View) {
    const NOTABLE_BYTES: u32 = 16 << 10;
    let lacks = view.fetching.is_some_and(|(has, of)| of.saturating_sub(has) >= NOTABLE_BYTES);
    let Some(percent) = fetched_percent(view).filter(|_| lacks) else { return };
    let below = format!("Fetching the recording: {percent} %. {} skips it", key_name(Action::Menu));
    announce(page, ("over", "The match is over"), ("fetching", &below));
}

/// Describes a match event that the arena does not show by itself.
pub(super) fn news_line(view: &View, event: &MatchEvent) -> Option<String> {
    match event {
        MatchEvent::RecordingStopped(why) => Some(format!("recording stopped, the match continues: {why}")),
        MatchEvent::Left(player) => Some(format!("{} has left; the match continues", name_of(view, *player))),
        // Only with a server does a match continue while a player is silent.
        MatchEvent::Silent(player) if is_on_a_server(view) && *player != PlayerId::NONE => {
            Some(format!("{} is away and may come back; the match continues", name_of(view, *player)))
        }
        MatchEvent::Heard(player) if is_on_a_server(view) && *player != PlayerId::NONE => {
            Some(format!("{} is back", name_of(view, *player)))
        }
        MatchEvent::Lost(player) => Some(format!("{} is lost; the match continues", name_of(view, *player))),
        _ => None,
    }
}

fn is_on_a_server(view: &View) -> bool {
    view.links.iter().any(|link| link.player == PlayerId::NONE)
}

/// Shows who paused the match, and how much longer.
pub(super) fn pause_card(page: &mut Page<'_>, view: &View, is_halted: bool) {
    let pause = view.current.pause().map(|pause| (pause.by, left_of(view, &pause).ceil()));
    if pause.is_none() && !is_halted {
        return;
    }
    let (title, below) = if let Some((by, left_s)) = pause {
        pause_words(view, by, left_s)
    } else {
        ("Paused".to_owned(), format!("{}: resume", key_name(Action::Pause)))
    };
    announce(page, ("pause", &title), ("pause-by", &below));
}

/// Describes a pause that all players share.
fn pause_words(view: &View, by: Option<PlayerId>, left_s: f64) -> (String, String) {
    let Some(by) = by.filter(|_| left_s > COUNTDOWN_S) else {
        return (format!("{left_s}"), "The match continues".to_owned());
    };
    let text = format!(
        "by {}; no orders until it continues: in {left_s} s, or when anybody presses {}",
        name_of(view, by),
        key_name(Action::Pause)
    );
    ("Paused".to_owned(), text)
}

/// Names the opponents: the players of each team.
fn opponents(view: &View) -> String {
    let mut teams: Vec<(u8, String)> = Vec::new();
    for (player, name) in view.current.player_ids().zip(view.names.iter()) {
        let team = view.current.team_of(player);
        match teams.iter_mut().find(|(found, _)| *found == team) {
            Some((_, names)) => *names = format!("{names} and {name}"),
            None => teams.push((team, name.clone())),
        }
    }
    teams.into_iter().map(|(_, names)| names).collect::<Vec<_>>().join(" against ")
}

/// Explains what the selected base is for.
pub(super) fn hint_text(view: &View, base_selected: bool) -> Option<&'static str> {
    let rallies = view.me.and_then(|me| view.current.players.rallies.get(me.index()));
    match (base_selected, rallies) {
        (true, Some(1)) => {
            Some("New minions go to your flag. Right click on your core: they follow your hero")
        }
        (true, _) => Some("New minions follow your hero. Right click: where they go instead"),
        (false, _) => None,
    }
}

pub(super) fn hint(page: &mut Page<'_>, text: Option<&str>, bottom_px: f32) {
    let Some(text) = text else { return };
    let bottom = bottom_px / page.ui.ctx().pixels_per_point();
    // Above the counts of the selection.
    let at = pos2(page.window().center().x, bottom - 44.0);
    let width = page.window().width();
    // The plate takes the width of the text.
    let plate = page.ui.painter().add(Shape::Noop);
    let rect = page.text("hint", at, Align2::CENTER_BOTTOM, (theme::SMALL, theme::TEXT), text, width);
    let plated = Shape::rect_filled(rect.expand2(vec2(10.0, 4.0)), theme::ROUNDING, theme::PLATE);
    page.ui.painter().set(plate, plated);
}

/// Explains why an enemy core cannot be attacked.
pub(super) fn shield_text(view: &View) -> String {
    let needed = view.current.circles.len() / 2 + 1;
    format!("That core is shielded: hold {needed} of the {} circles to open it", view.current.circles.len())
}
