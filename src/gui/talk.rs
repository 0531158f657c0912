//! The chat: the last lines at the edge of the window, and the line being typed.

use egui_macroquad::egui::{Align2, Color32, Rect, pos2, vec2};
use std::collections::VecDeque;

use super::bindings::{Action, key_name};
use super::page::Page;
use super::theme;
use game::MatchEvent;
use net::{CHAT_BYTES_MAX, ChatText};
use sim::PlayerId;

/// Maximum number of visible lines.
const LINES_MAX: usize = 6;
/// Time for which a line is shown, and of this the time in which it fades, in seconds.
const SHOWN_S: f64 = 9.0;
const FADES_S: f64 = 1.5;
/// Line height, and height of the text field, in points.
const LINE: f32 = 22.0;
const FIELD: f32 = 36.0;
const WIDTH: f32 = 460.0;
/// Distance from the lower edge of the window to the text field in a match, in points: above the player's state and
/// the notifications.
const ABOVE: f32 = 88.0;
/// Gap between the text field and the lines above it, in points.
const GAP: f32 = 6.0;

/// The last lines, and the one being typed.
#[derive(Default)]
pub(crate) struct Talk {
    lines: VecDeque<Line>,
    typed: Option<String>,
}

struct Line {
    name: String,
    colour: Color32,
    text: ChatText,
    /// Receive time, in seconds since the window opened.
    since: f64,
}

impl Talk {
    /// Takes the chat lines out of the events; `who` maps a player to name and team. Returns the sender of the last.
    pub(crate) fn hear<'a>(
        &mut self,
        news: &mut Vec<MatchEvent>,
        now: f64,
        who: impl Fn(PlayerId) -> (&'a str, u8),
    ) -> Option<PlayerId> {
        let mut speaker = None;
        news.retain(|event| {
            let MatchEvent::Said(player, text) = event else { return true };
            speaker = Some(*player);
            let (name, team) = who(*player);
            if self.lines.len() == LINES_MAX {
                self.lines.pop_front();
            }
            let (name, colour) = (name.to_owned(), theme::team(team));
            self.lines.push_back(Line { name, colour, text: *text, since: now });
            false
        });
        speaker
    }

    /// Opens the text field.
    pub(crate) fn open(&mut self) {
        self.typed.get_or_insert_default();
    }

    /// Closes the text field and discards its text.
    pub(crate) fn close(&mut self) {
        self.typed = None;
    }

    pub(crate) const fn is_open(&self) -> bool {
        self.typed.is_some()
    }

    /// Draws the chat over a match: lines that fade, and the text field while it is open. Returns the entered text,
    /// or why it cannot be sent.
    pub(crate) fn over_match(&mut self, page: &mut Page<'_>, now: f64) -> Option<Result<ChatText, String>> {
        let window = page.window();
        let size = vec2(WIDTH.min(window.width() - 32.0), FIELD + GAP + LINES_MAX as f32 * LINE);
        let bottom = pos2(window.left() + 16.0, window.bottom() - ABOVE);
        self.page(page, Some(now), Rect::from_min_size(bottom - vec2(0.0, size.y), size))
    }

    /// Draws the chat on a plate: the lines that fit into `area`, and the text field or the key that opens it.
    pub(crate) fn on_plate(&mut self, page: &mut Page<'_>, area: Rect) -> Option<Result<ChatText, String>> {
        if !self.is_open() {
            let at = area.left_bottom() - vec2(0.0, FIELD / 2.0);
            let text = format!("{}: say something to the others", key_name(Action::Talk));
            let size = theme::SMALL;
            page.text("how to say", at, Align2::LEFT_CENTER, (size, theme::QUIET), &text, area.width());
        }
        self.page(page, None, area)
    }

    /// Returns the height of a panel with `lines` lines and the text field.
    pub(crate) const fn height(lines: usize) -> f32 {
        FIELD + GAP + lines as f32 * LINE
    }

    /// Draws the chat; lines fade if `now` is given.
    fn page(
        &mut self,
        page: &mut Page<'_>,
        now: Option<f64>,
        area: Rect,
    ) -> Option<Result<ChatText, String>> {
        let field = Rect::from_min_max(pos2(area.left(), area.bottom() - FIELD), area.right_bottom());
        let lines = Rect::from_min_max(area.min, pos2(area.right(), field.top() - GAP));
        self.lay_lines(page, lines, now);
        let typed = self.typed.as_mut()?;
        if !page.line("say", field, typed, "say something: Enter sends, Esc closes", CHAT_BYTES_MAX) {
            return None;
        }
        let said = self.typed.take().filter(|text| !text.trim().is_empty())?;
        Some(ChatText::new(&said).map_err(|why| why.to_string()))
    }

    /// Draws lines from the bottom up, the newest lowest.
    fn lay_lines(&self, page: &mut Page<'_>, area: Rect, now: Option<f64>) {
        let room = ((area.height() + 1.0) / LINE) as usize;
        for (place, line) in self.lines.iter().rev().take(room).enumerate() {
            let fades_at = now.filter(|_| !self.is_open());
            let left_s = fades_at.map_or(FADES_S, |now| SHOWN_S - (now - line.since));
            if left_s <= 0.0 {
                continue;
            }
            let share = (left_s / FADES_S).min(1.0) as f32;
            let at = area.left_bottom() - vec2(0.0, place as f32 * LINE + LINE - 2.0);
            let plate = Rect::from_min_size(at, vec2(area.width(), LINE - 2.0));
            page.ui.painter().rect_filled(plate, 3.0, Color32::from_black_alpha((130.0 * share) as u8));
            let faded = |colour: Color32| (theme::SMALL, colour.gamma_multiply(share));
            let left = pos2(plate.left() + 6.0, plate.center().y);
            let (by, said) = (format!("by {place}"), format!("said {place}"));
            let name = format!("{}:", line.name);
            let name =
                page.text(&by, left, Align2::LEFT_CENTER, faded(line.colour), &name, area.width() / 3.0);
            let right = pos2(name.right() + 6.0, left.y);
            let room = plate.right() - 6.0 - right.x;
            page.open_ended(&said, right, Align2::LEFT_CENTER, faded(theme::TEXT), line.text.as_str(), room);
        }
    }

    /// Returns the visible lines, for a test.
    pub(crate) fn said(&self) -> Vec<String> {
        self.lines.iter().map(|line| format!("{}: {}", line.name, line.text)).collect()
    }
}
