//! The start screen.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use std::path::PathBuf;

use super::form::{heading, named, part, you_are};
use super::help::HelpCard;
use super::ladder::{challenge, summary};
use super::settings::SettingsPanel;
use super::{Attract, Next, describe_replay, join, newest_replay};
use crate::cli::args::{BotChoice, PlayArguments, usual};
use crate::cli::kept_seats::{KeptSeat, abandoned_seats};
use crate::gui::context::AppContext;
use crate::gui::input::Input;
use crate::gui::launch::LaunchRequest;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use game::data::{TUTORIAL, opponents};

/// Size of the plate with everything on it, in points.
const SIZE: [f32; 2] = [452.0, 402.0];
const ROW: f32 = 38.0;

pub(crate) struct StartScreen {
    pub(super) attract: Attract,
    replay: Option<(PathBuf, String)>,
    /// Seat on a server that a process of this user left behind.
    seat: Option<KeptSeat>,
    help: Option<HelpCard>,
    settings: Option<SettingsPanel>,
}

impl StartScreen {
    pub(crate) fn new(attract: Attract) -> Self {
        let replay = newest_replay().map(|file| {
            let about = describe_replay(&file);
            (file, about)
        });
        let seat = abandoned_seats().into_iter().next();
        Self { attract, replay, seat, help: None, settings: None }
    }

    pub(crate) fn take(&mut self, context: &mut AppContext, inputs: &[Input]) {
        if let Some(panel) = &mut self.settings {
            inputs.iter().for_each(|&input| panel.take(input, &mut context.settings));
        }
    }

    pub(crate) const fn shows_help(&self) -> bool {
        self.help.is_some()
    }

    pub(crate) fn takes_keys(&self) -> bool {
        self.settings.as_ref().is_some_and(SettingsPanel::captures)
    }

    pub(crate) fn page(&mut self, context: &mut AppContext, page: &mut Page<'_>) -> Option<Next> {
        if let Some(panel) = &mut self.settings {
            if !panel.page(&mut context.settings, page) {
                self.settings = None;
            }
            return None;
        }
        if let Some(card) = &mut self.help {
            if card.page(page) || page.escapes() {
                self.help = None;
            }
            return None;
        }
        let window = page.window();
        let plate = start_plate(window);
        // On a plate of its own the title is legible whatever moves behind it.
        let above =
            Rect::from_min_max(plate.left_top() - vec2(0.0, 66.0), plate.right_top() - vec2(0.0, 8.0));
        page.plate("title plate", above);
        let (at, style) = (above.left_center() + vec2(18.0, 0.0), (theme::TITLE, theme::TEXT));
        page.within("title plate", |page| {
            page.text("title", at, Align2::LEFT_CENTER, style, "Mini RTS Arena", above.width() - 36.0);
        });
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
        let about_hero = you_are(&mut context.settings, page, row(38.0, 5.0));
        heading(page, "hero about", row(17.0, 8.0), &about_hero);
        next = self.return_or_learn(context, page, row(ROW, 10.0)).or(next);
        let about_ladder = format!("Climb the ladder: {}", summary(context.ladder.progress()));
        heading(page, "ladder about", row(17.0, 5.0), &about_ladder);
        next = self.climb(context, page, row(ROW, 10.0)).or(next);
        heading(page, "network", row(17.0, 5.0), "Play with somebody on this network");
        let lan = row(ROW, 10.0);
        if page.button("host", part(lan, 0, 2), "Host a match", Weight::Normal) {
            next = named(context, |_| Next::HostSetup);
        }
        if page.button("join", part(lan, 1, 2), "Join a match", Weight::Normal) {
            next = named(context, |_| Next::Join(None));
        }
        let about = self.replay.as_ref().map_or("none recorded yet", |(_, about)| about);
        heading(page, "replay about", row(17.0, 5.0), &format!("Newest replay: {about}"));
        let replay = row(ROW, 12.0);
        match &self.replay {
            Some((file, _)) if page.button("watch", part(replay, 0, 2), "Watch it", Weight::Normal) => {
                next = Some(Next::Watch(file.clone()));
            }
            Some(_) => {}
            None => page.barred("watch", part(replay, 0, 2), "Watch it", "play first"),
        }
        if page.button("replays", part(replay, 1, 2), "All replays", Weight::Normal) {
            next = Some(Next::Replays);
        }
        let last = row(ROW, 0.0);
        if page.button("settings", part(last, 0, 3), "Settings", Weight::Normal) {
            self.settings = Some(SettingsPanel::default());
        }
        if page.button("help", part(last, 1, 3), "How to play", Weight::Normal) {
            self.help = Some(HelpCard::default());
        }
        if page.button("quit", part(last, 2, 3), "Quit", Weight::Normal) {
            next = Some(Next::Quit);
        }
        next
    }
}

impl StartScreen {
    /// Draws the buttons that play the next opponent of the ladder and lead to all of them.
    fn climb(&self, context: &mut AppContext, page: &mut Page<'_>, row: Rect) -> Option<Next> {
        const ALL: f32 = 122.0;
        let is_golden = has_learned(context) && self.seat.is_none();
        let weight = if is_golden { Weight::Primary } else { Weight::Normal };
        let (left, right) = row.split_left_right_at_x(row.right() - ALL - 10.0);
        let next = context.ladder.progress().next().and_then(|place| opponents().get(place));
        let shows_all =
            page.button("ladder", right.with_min_x(right.left() + 10.0), "All, practice", Weight::Normal);
        let text = next.map_or_else(
            || "All beaten: beat your times".to_owned(),
            |next| format!("Next: {}, {}", next.name.as_str(), next.twist),
        );
        match (page.button("next", left, &text, weight), next) {
            (true, Some(next)) => challenge(context, next),
            (true, None) => Some(Next::Ladder),
            (false, _) => shows_all.then_some(Next::Ladder),
        }
    }

    /// Draws the tutorial's button, next to a button that returns to a match in which this user still has a seat.
    fn return_or_learn(&self, context: &mut AppContext, page: &mut Page<'_>, row: Rect) -> Option<Next> {
        let Some(seat) = &self.seat else {
            let weight = if has_learned(context) { Weight::Normal } else { Weight::Primary };
            let is_pressed = page.button("learn", row, "Learn to play: 90 seconds", weight);
            return is_pressed.then(|| tutorial(context)).flatten();
        };
        if page.button("return", part(row, 0, 2), "Return to the match", Weight::Primary) {
            return named(context, |name| join::returning(seat, name));
        }
        let is_pressed = page.button("learn", part(row, 1, 2), "Learn to play", Weight::Normal);
        is_pressed.then(|| tutorial(context)).flatten()
    }
}

/// Whether the tutorial is behind the player.
const fn has_learned(context: &AppContext) -> bool {
    context.settings.has_learned || context.settings.has_won
}

/// Starts the tutorial. Its player leads a sword hero, whatever hero is chosen for other matches.
fn tutorial(context: &mut AppContext) -> Option<Next> {
    named(context, |name| {
        let mut arguments = PlayArguments { bot: BotChoice::Sparring, ..usual() };
        arguments.player.name = Some(name);
        arguments.terms.rules = Some(TUTORIAL.into());
        arguments.terms.map = Some(TUTORIAL.into());
        Next::Launch(LaunchRequest::Practice(Box::new(arguments)))
    })
}

/// Returns the bounds of the plate: on the left of a wide window, in the middle of a narrow one.
fn start_plate(window: Rect) -> Rect {
    let size = vec2(SIZE[0], SIZE[1]);
    let top = (window.center().y - size.y / 2.0 + 30.0).max(68.0);
    let left = (window.width() * 0.07).max(16.0);
    Rect::from_min_size(pos2(left, top), size)
}
