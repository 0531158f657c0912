//! The first screen: what can be played.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use std::path::PathBuf;

use super::{Attract, Next, describe_replay, menu, newest_replay};
use crate::cli::args::{BotChoice, PlayArguments, usual};
use crate::cli::paths::Milestone;
use crate::gui::context::AppContext;
use crate::gui::launch::LaunchRequest;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use mini_rts_arena::game::data::TUTORIAL;

/// Of the plate with everything on it.
const SIZE: [f32; 2] = [452.0, 426.0];
const ROW: f32 = 42.0;

pub(crate) struct StartScreen {
    pub(super) attract: Attract,
    replay: Option<(PathBuf, String)>,
    shows_help: bool,
    has_won: bool,
    has_learned: bool,
}

impl StartScreen {
    pub(crate) fn new(attract: Attract) -> Self {
        let replay = newest_replay().map(|file| {
            let about = describe_replay(&file);
            (file, about)
        });
        let [has_won, learned] = [Milestone::FirstWin, Milestone::Tutorial].map(Milestone::is_reached);
        Self { attract, replay, shows_help: false, has_won, has_learned: learned || has_won }
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        page.shade(110);
        if self.shows_help {
            self.shows_help = !(menu::help_card(page) || page.escapes());
            return None;
        }
        let window = page.window();
        let plate = start_plate(window);
        let above = pos2(plate.left(), plate.top() - 10.0);
        page.text(
            "title",
            above,
            Align2::LEFT_BOTTOM,
            (theme::TITLE, theme::TEXT),
            "Mini RTS Arena",
            window.width(),
        );
        page.plate("menu", plate);
        page.within("menu", |page| self.rows(context, page, plate.shrink(18.0)))
    }

    fn rows(&mut self, context: &mut AppContext, page: &mut Page<'_>, inside: Rect) -> Option<Next> {
        let mut next = None;
        let mut top = inside.top();
        let mut row = |height: f32, gap: f32| {
            let rect = Rect::from_min_size(pos2(inside.left(), top), vec2(inside.width(), height));
            top += height + gap;
            rect
        };
        you_are(context, page, row(38.0, 14.0));
        let weight = if self.has_learned { Weight::Normal } else { Weight::Primary };
        if page.button("learn", row(ROW, 14.0), "Learn to play: 90 seconds", weight) {
            next = tutorial(context);
        }
        heading(page, "against", row(17.0, 5.0), "Play against the computer");
        let levels = row(ROW, 14.0);
        for (place, (bot, text)) in
            [(BotChoice::Easy, "Easy"), (BotChoice::Normal, "Normal"), (BotChoice::Hard, "Hard")]
                .into_iter()
                .enumerate()
        {
            // The recommended opponent: easy until the first win, and none before the tutorial.
            let recommended = if self.has_won { BotChoice::Normal } else { BotChoice::Easy };
            let is_recommended = bot == recommended && self.has_learned;
            let weight = if is_recommended { Weight::Primary } else { Weight::Normal };
            let name = format!("play {}", text.to_lowercase());
            if page.button(&name, part(levels, place, 3), text, weight) {
                next = practice(context, bot);
            }
        }
        heading(page, "network", row(17.0, 5.0), "Play with somebody on this network");
        let lan = row(ROW, 14.0);
        if page.button("host", part(lan, 0, 2), "Host a match", Weight::Normal) {
            next = named(context, |_| Next::HostSetup);
        }
        if page.button("join", part(lan, 1, 2), "Join a match", Weight::Normal) {
            next = named(context, |_| Next::Join(None));
        }
        let about = self.replay.as_ref().map_or("none recorded yet", |(_, about)| about);
        heading(page, "replay about", row(17.0, 5.0), &format!("Newest replay: {about}"));
        let replay = row(ROW, 20.0);
        match &self.replay {
            Some((file, _)) if page.button("watch", replay, "Watch it", Weight::Normal) => {
                next = Some(Next::Watch(file.clone()));
            }
            Some(_) => {}
            None => page.barred("watch", replay, "Watch it", "play a match first"),
        }
        let last = row(ROW, 0.0);
        if page.button("help", part(last, 0, 2), "Keys and rules", Weight::Normal) {
            self.shows_help = true;
        }
        if page.button("quit", part(last, 1, 2), "Quit", Weight::Normal) {
            next = Some(Next::Quit);
        }
        next
    }
}

/// A match against one bot, by the usual rules.
pub(super) fn practice(context: &mut AppContext, bot: BotChoice) -> Option<Next> {
    let hero = context.you.hero();
    named(context, |name| {
        let mut arguments = PlayArguments { bot, ..usual() };
        arguments.player.name = Some(name);
        arguments.player.hero = hero;
        Next::Launch(LaunchRequest::Practice(Box::new(arguments)))
    })
}

/// The match that teaches. Its player leads a sword hero, whatever hero is chosen for other matches.
fn tutorial(context: &mut AppContext) -> Option<Next> {
    named(context, |name| {
        let mut arguments = PlayArguments { bot: BotChoice::Sparring, ..usual() };
        arguments.player.name = Some(name);
        arguments.terms.rules = Some(TUTORIAL.into());
        arguments.terms.map = Some(TUTORIAL.into());
        Next::Launch(LaunchRequest::Practice(Box::new(arguments)))
    })
}

/// On the left of a wide window, in the middle of a narrow one.
fn start_plate(window: Rect) -> Rect {
    let size = vec2(SIZE[0], SIZE[1]);
    let top = (window.center().y - size.y / 2.0 + 30.0).max(72.0);
    let left = (window.width() * 0.07).max(16.0);
    Rect::from_min_size(pos2(left, top), size)
}

/// Name and hero.
pub(super) fn you_are(context: &mut AppContext, page: &mut Page<'_>, row: Rect) {
    page.field("name", part(row, 0, 2), &mut context.you.name, "your name");
    page.choice("hero", part(row, 1, 2), &["Sword", "Bow"], &mut context.you.hero);
}

pub(super) fn heading(page: &mut Page<'_>, name: &str, row: Rect, text: &str) {
    page.text(name, row.left_top(), Align2::LEFT_TOP, (theme::SMALL, theme::QUIET), text, row.width());
}

/// One of several equal parts of a row.
pub(super) fn part(row: Rect, place: usize, of: usize) -> Rect {
    const GAP: f32 = 10.0;
    let width = (row.width() - GAP * (of - 1) as f32) / of as f32;
    let left = row.left() + place as f32 * (width + GAP);
    Rect::from_min_size(pos2(left, row.top()), vec2(width, row.height()))
}

/// Continues if the name is valid, else says why it is not.
pub(super) fn named(
    context: &mut AppContext,
    go: impl FnOnce(mini_rts_arena::net::PlayerName) -> Next,
) -> Option<Next> {
    match context.you.player_name() {
        Ok(name) => Some(go(name)),
        Err(why) => {
            context.note(why);
            None
        }
    }
}
