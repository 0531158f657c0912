//! Score and army size of each team over a match, side by side, with marks at the highlights.

use egui_macroquad::egui::{Align2, Pos2, Rect, Shape, Stroke, pos2, vec2};

use super::form::part;

use crate::gui::page::Page;
use crate::gui::theme;
use game::phrase::clock;
use game::{History, Sample};
use sim::PLAYERS_MAX;

/// Height of the title above each plot, in points.
const TITLE: f32 = 20.0;
/// Dash and gap of each team's line, in points; the first line is solid.
const DASHES: [Option<(f32, f32)>; PLAYERS_MAX] =
    [None, Some((7.0, 4.0)), Some((2.0, 3.0)), Some((12.0, 3.0))];

/// Value of a team in a sample.
type Value<'a> = &'a dyn Fn(&Sample, u8) -> f32;

/// Draws both plots; `teams` holds each seat's team.
pub(super) fn draw(page: &mut Page<'_>, area: Rect, history: &History, teams: &[u8]) {
    let scores = |sample: &Sample, seat: usize| f32::from(sample.scores[seat].clamp(0, 9_999) as u16);
    let armies = |sample: &Sample, seat: usize| f32::from(sample.armies[seat]);
    let most = |values: &dyn Fn(&Sample) -> f32| history.samples().iter().map(values).fold(1.0, f32::max);
    // All players of a team share its score; their minions are added up.
    let score = |sample: &Sample, team: u8| {
        seats_of(teams, team).map(|seat| scores(sample, seat)).fold(0.0, f32::max)
    };
    let army =
        |sample: &Sample, team: u8| seats_of(teams, team).map(|seat| armies(sample, seat)).sum::<f32>();
    let plots: [(&str, Value<'_>); 2] = [("Score", &score), ("Army", &army)];
    for (place, (title, value)) in plots.into_iter().enumerate() {
        let top = most(&|sample| teams.iter().map(|&team| value(sample, team)).fold(0.0, f32::max));
        let rect = part(area, place, 2);
        let name = title.to_lowercase();
        let style = (theme::SMALL, theme::QUIET);
        let half = rect.width() / 2.0;
        page.text(&format!("graph {name}"), rect.left_top(), Align2::LEFT_TOP, style, title, half);
        let text = format!("up to {top:.0}");
        page.text(&format!("graph {name} most"), rect.right_top(), Align2::RIGHT_TOP, style, &text, half);
        let plot = Rect::from_min_max(rect.min + vec2(0.0, TITLE), rect.max);
        draw_plot(page, plot, history, teams, (top, value));
    }
}

fn seats_of(teams: &[u8], team: u8) -> impl Iterator<Item = usize> + '_ {
    (0..teams.len().min(PLAYERS_MAX)).filter(move |&seat| teams[seat] == team)
}

/// Draws one plot: a line for each team, and marks at the highlights.
fn draw_plot(page: &Page<'_>, plot: Rect, history: &History, teams: &[u8], (top, value): (f32, Value<'_>)) {
    let painter = page.ui.painter();
    painter.rect_filled(plot, 2.0, theme::GROUND);
    let inside = plot.shrink(6.0);
    let long = history.seconds().max(1) as f32;
    for (second, _) in history.moments() {
        let x = inside.left() + inside.width() * second as f32 / long;
        painter.add(Shape::dashed_line(
            &[pos2(x, plot.top()), pos2(x, plot.bottom())],
            Stroke::new(1.0, theme::GOLD),
            2.0,
            4.0,
        ));
    }
    let samples = history.samples();
    let at = |place: usize, number: f32| {
        let share = (place + 1) as f32 / samples.len().max(1) as f32;
        pos2(
            inside.left() + inside.width() * share,
            inside.bottom() - inside.height() * (number / top).min(1.0),
        )
    };
    let mut drawn = [false; PLAYERS_MAX];
    for &team in teams {
        let place = usize::from(team) % PLAYERS_MAX;
        if core::mem::replace(&mut drawn[place], true) || samples.is_empty() {
            continue;
        }
        let points: Vec<Pos2> =
            samples.iter().enumerate().map(|(place, sample)| at(place, value(sample, team))).collect();
        let end = points.last().copied().unwrap_or(inside.min);
        let stroke = Stroke::new(2.0, theme::team(team));
        match DASHES[place] {
            None => painter.add(Shape::line(points, stroke)),
            Some((dash, gap)) => painter.add(Shape::Vec(Shape::dashed_line(&points, stroke, dash, gap))),
        };
        draw_end(page, end, team);
    }
}

/// Draws the shape of a team at the end of its line: round, diamond, square or triangle.
fn draw_end(page: &Page<'_>, at: Pos2, team: u8) {
    const SIZE: f32 = 5.0;
    let (painter, colour) = (page.ui.painter(), theme::team(team));
    let corners: &[[f32; 2]] = match team {
        0 => {
            painter.circle_filled(at, SIZE * 0.9, colour);
            return;
        }
        1 => &[[0.0, -1.2], [1.2, 0.0], [0.0, 1.2], [-1.2, 0.0]],
        2 => &[[-0.9, -0.9], [0.9, -0.9], [0.9, 0.9], [-0.9, 0.9]],
        _ => &[[0.0, -1.2], [1.1, 0.9], [-1.1, 0.9]],
    };
    let points = corners.iter().map(|&[x, y]| at + vec2(x, y) * SIZE).collect();
    painter.add(Shape::convex_polygon(points, colour, Stroke::NONE));
}

/// Draws the highlights, a line each. Returns the end of the last.
pub(super) fn moments(page: &mut Page<'_>, mut at: Pos2, width: f32, lines: &[(u32, String)]) -> f32 {
    const CLOCK: f32 = 48.0;
    for (place, (second, text)) in lines.iter().enumerate() {
        let style = (theme::SMALL, theme::GOLD);
        page.text(
            &format!("moment {place} at"),
            at,
            Align2::LEFT_TOP,
            style,
            &clock((*second).into()),
            CLOCK,
        );
        let (right, style) = (at + vec2(CLOCK, 0.0), (theme::SMALL, theme::TEXT));
        page.text(&format!("moment {place}"), right, Align2::LEFT_TOP, style, text, width - CLOCK);
        at.y += 20.0;
    }
    at.y
}
