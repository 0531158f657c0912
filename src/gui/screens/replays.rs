//! The recorded replays, newest first.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::form::part;
use super::play::match_clock;
use super::{Attract, Next};
use crate::cli::local_time::local_time;
use crate::cli::paths;
use crate::cli::replay::list::replays_in;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use game::phrase::joined;
use replay::ReplayInfo;

/// Maximum number of listed replays; `arena replay list` lists them all.
const LISTED_MAX: usize = 200;
const ROW: f32 = 42.0;
const STEP: f32 = ROW + 5.0;
/// Columns of a replay's row, as shares of the width.
const COLUMNS: [(&str, f32); 5] =
    [("players", 0.02), ("recorded", 0.42), ("map", 0.60), ("length", 0.71), ("result", 0.79)];

pub(crate) struct ReplaysScreen {
    pub(super) attract: Attract,
    replays: Vec<Listed>,
    /// First visible row.
    first: usize,
    /// Reason why there is no list.
    fault: Option<String>,
}

struct Listed {
    file: PathBuf,
    /// Description, read when the row is first shown.
    about: Option<[String; 5]>,
}

impl ReplaysScreen {
    pub(crate) fn new(attract: Attract) -> Self {
        let (files, fault) = match newest_replays() {
            Ok(files) => (files, None),
            Err(error) => (Vec::new(), Some(format!("{error:#}"))),
        };
        let replays = files.into_iter().map(|file| Listed { file, about: None }).collect();
        Self { attract, replays, first: 0, fault }
    }

    pub(crate) fn page(&mut self, page: &mut Page<'_>) -> Option<Next> {
        let plate = page.centred(836.0, 462.0);
        page.plate("replays", plate);
        let inside = plate.shrink(20.0);
        page.within("replays", |page| {
            let style = (theme::LARGE, theme::TEXT);
            page.text("title", inside.min, Align2::LEFT_TOP, style, "Replays", inside.width());
            let last = Rect::from_min_max(pos2(inside.left(), inside.bottom() - ROW), inside.max);
            let list =
                Rect::from_min_max(inside.min + vec2(0.0, 44.0), pos2(inside.right(), last.top() - 8.0));
            self.rows(page, list).or_else(|| self.buttons(page, last, list))
        })
    }

    fn rows(&mut self, page: &mut Page<'_>, list: Rect) -> Option<Next> {
        for (name, share) in COLUMNS {
            let at = pos2(list.left() + share * list.width(), list.top());
            let style = (theme::SMALL, theme::QUIET);
            page.text(&format!("{name} head"), at, Align2::LEFT_TOP, style, name, 140.0);
        }
        if self.replays.is_empty() {
            let text = self.fault.as_deref().unwrap_or("Nothing has been recorded yet: play a match first.");
            let style = (theme::BODY, theme::QUIET);
            page.paragraph("empty", list.min + vec2(0.0, 40.0), style, text, list.width());
        }
        // Describing a file reads all of it, so at most one is read per frame.
        let mut may_read = true;
        let mut next = None;
        let shown = self.replays.iter_mut().enumerate().skip(self.first).take(rows_in(list));
        for (row, (place, listed)) in shown.enumerate() {
            if listed.about.is_none() && may_read {
                may_read = false;
                listed.about = Some(describe(&listed.file));
            }
            let at = list.min + vec2(0.0, 24.0 + STEP * row as f32);
            let rect = Rect::from_min_size(at, vec2(list.width(), ROW));
            if listed.about(page, &format!("replay {place}"), rect) {
                next = Some(Next::Watch(listed.file.clone()));
            }
        }
        next
    }

    fn buttons(&mut self, page: &mut Page<'_>, row: Rect, list: Rect) -> Option<Next> {
        let shown = rows_in(list);
        if self.first > 0 && page.button("newer", part(row, 0, 4), "Newer", Weight::Normal) {
            self.first = self.first.saturating_sub(shown);
        }
        let has_older = self.first + shown < self.replays.len();
        if has_older && page.button("older", part(row, 1, 4), "Older", Weight::Normal) {
            self.first += shown;
        }
        let is_left = page.button("back", part(row, 3, 4), "Back", Weight::Primary) || page.escapes();
        is_left.then_some(Next::Start)
    }
}

impl Listed {
    /// Draws a row. Returns whether it was chosen.
    fn about(&self, page: &mut Page<'_>, name: &str, row: Rect) -> bool {
        let is_pressed = page.pressable(name, row, Weight::Normal, true);
        let Some(about) = &self.about else { return is_pressed };
        page.within(name, |page| {
            for (place, (text, (column, share))) in about.iter().zip(COLUMNS).enumerate() {
                let at = pos2(row.left() + share * row.width(), row.center().y);
                let until = COLUMNS.get(place + 1).map_or(0.99, |next| next.1 - 0.01);
                let size = if place == 0 { theme::BODY } else { theme::SMALL };
                let width = (until - share) * row.width();
                let name = format!("{name} {column}");
                page.text(&name, at, Align2::LEFT_CENTER, (size, theme::TEXT), text, width);
            }
        });
        is_pressed
    }
}

/// Returns the number of rows that fit.
fn rows_in(list: Rect) -> usize {
    (((list.height() - 24.0 + 5.0) / STEP) as usize).max(1)
}

/// Returns the replays of the data folder, last written first. A recording that was cut off plays up to its end.
pub(super) fn newest_replays() -> anyhow::Result<Vec<PathBuf>> {
    let files = replays_in(&paths::data_folder("replays")?)?;
    let written = |file: &PathBuf| std::fs::metadata(file).and_then(|data| data.modified());
    let mut dated: Vec<(SystemTime, PathBuf)> =
        files.into_iter().map(|file| (written(&file).unwrap_or(SystemTime::UNIX_EPOCH), file)).collect();
    dated.sort_by(|(a, first), (b, second)| b.cmp(a).then_with(|| first.cmp(second)));
    dated.truncate(LISTED_MAX);
    Ok(dated.into_iter().map(|(_, file)| file).collect())
}

/// Describes a replay in five columns.
fn describe(file: &Path) -> [String; 5] {
    let nothing = String::new;
    let unreadable = |why: String| [why, nothing(), nothing(), nothing(), nothing()];
    let info = match replay::info(file) {
        Ok(info) => info,
        Err(error) => return unreadable(error.to_string()),
    };
    let Some(header) = &info.header else { return unreadable(info.reason) };
    let names: Vec<&str> = header.seats.iter().map(|seat| seat.name.as_str()).collect();
    [
        names.join(" against "),
        local_time(header.started_unix_s),
        header.map_name.clone(),
        match_clock(info.ticks, header.tick_rate.hz()),
        result_of(&info),
    ]
}

/// Describes the result.
fn result_of(info: &ReplayInfo) -> String {
    let (Some(header), Some(result)) = (&info.header, &info.result) else { return "unfinished".into() };
    let winners = |team| {
        let names = header.players_of(team).map(|player| header.seats[player.index()].name.as_str());
        joined(&names.collect::<Vec<_>>())
    };
    result.winner.map_or_else(|| result.outcome.replace('_', " "), |team| format!("{} won", winners(team)))
}
