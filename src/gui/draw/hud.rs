//! The interface at the top: scores with the progress toward the win, the clock between them, and the status line.
//! The player's own state is at the bottom, see [`super::own`].

use arrayvec::ArrayVec;
use macroquad::prelude::{Color, Rect, get_frame_time, vec2};
use sim::{PLAYERS_MAX, PlayerId, Tick};

use super::colours::{self, GOLD, INK, NEUTRAL, RED, alpha};
use super::hud_canvas::HudCanvas;
use super::layout;
use super::outlines::base_points;
use super::text::{Align, Label, Size, Type};
use super::view::View;
use super::{own, status};
use crate::gui::bindings::{Action, key_name};
use game::phrase::clock;

/// Duration of animations of the interface, in seconds.
const EASE_S: f32 = 0.12;

/// Animated state of the interface.
#[derive(Default)]
pub(super) struct Hud {
    /// Shown progress toward the win, by team.
    scores: [f32; 4],
    /// Status line, and its colour.
    line: String,
    line_colour: Color,
    /// Instant and player of the line: it is composed once a tick, since it counts the units around each minion.
    line_of: Option<(Tick, Option<PlayerId>)>,
    /// Progress of a new line's animation, from 0 to 1.
    line_shown: f32,
}

impl Hud {
    pub(super) fn draw(&mut self, hud: &mut HudCanvas<'_>, view: &View<'_>) {
        self.draw_scores(hud, view);
        draw_clock(hud, view);
        let below = self.draw_line(hud, view);
        draw_alert(hud, view, &self.line, below);
        own::draw(hud, view);
    }

    /// Draws the teams whose bases are on the left to the left of the clock, the others to the right.
    fn draw_scores(&mut self, hud: &mut HudCanvas<'_>, view: &View<'_>) {
        let state = view.state();
        let teams = teams_from_left(view);
        let count = teams.len();
        let best = teams[..count].iter().map(|&team| status::score(state, team)).max().unwrap_or(0);
        let (clock, unit) = (clock_rect(hud.text, view), layout::scale(view.window));
        let (gap, left) = (6.0 * unit, count.div_ceil(2));
        let wide = ((view.window.w - clock.w) / 2.0 - 3.0 * gap).min(470.0 * unit);
        for (place, &team) in teams[..count].iter().enumerate() {
            let (is_left, number, of) =
                if place < left { (true, place, left) } else { (false, place - left, count - left) };
            let w = (wide - gap * (of as f32 - 1.0)) / of as f32;
            let start = if is_left { clock.x - gap - wide } else { clock.right() + gap };
            let plate = Rect { x: start + (w + gap) * number as f32, w, ..clock };
            let points = status::score(state, team);
            let others = teams[..count].iter().filter(|&&other| other != team);
            let leads = points == best && others.clone().all(|&other| status::score(state, other) < best);
            self.draw_score(hud, view, &Score { team, points, leads, is_left, plate });
        }
    }

    fn draw_score(&mut self, hud: &mut HudCanvas<'_>, view: &View<'_>, score: &Score) {
        let Score { team, plate, is_left, .. } = *score;
        let unit = layout::scale(view.window);
        let name = format!("score of team {team}");
        hud.plate(&name, plate);
        let colour = colours::team(team);
        let (pad, bar_height) = (8.0 * unit, (9.0 * unit).round().max(6.0));
        let limit = view.scene.setup.rules.score_to_win.max(1) as f32;
        let shown = &mut self.scores[usize::from(team) % 4];
        *shown = ease(*shown, score.points as f32 / limit);
        let bar = Rect::new(
            plate.x + pad,
            plate.bottom() - bar_height - 5.0 * unit,
            plate.w - 2.0 * pad,
            bar_height,
        );
        hud.bar(bar, *shown, !is_left, colour);
        let goal = if is_left { bar.right() - 2.0 } else { bar.x };
        hud.canvas.rect(Rect::new(goal, bar.y - 2.0, 2.0, bar.h + 4.0), GOLD);
        let row = (plate.y + bar.y) / 2.0 + 1.0 * unit;
        let (outer, inner) =
            if is_left { (plate.x + pad, bar.right()) } else { (plate.right() - pad, bar.x) };
        let side = if is_left { 1.0 } else { -1.0 };
        if view.my_team() == Some(team) {
            let w = 3.0 * unit;
            let x = if is_left { plate.x } else { plate.right() - w };
            hud.canvas.rect(Rect { x, w, ..plate }, colour);
        }
        let icon = hud.text.px(Size::Body) * 0.42;
        let shape = base_points(&hud.canvas.circle, vec2(outer + side * icon * 1.3, row), icon, team);
        hud.canvas.outlined(&shape, colour, INK, 1.5);
        let (near, far) = if is_left { (Align::Left, Align::Right) } else { (Align::Right, Align::Left) };
        let colour = if score.leads { GOLD } else { NEUTRAL };
        let points = score.points.to_string();
        let label = Label {
            name: &format!("{name}: points"),
            parent: &name,
            text: &points,
            size: Size::Large,
            colour,
        };
        hud.write(&label, vec2(inner, row), far);
        let start = outer + side * icon * 3.2;
        // The room for the score is that of the widest one.
        let room = (inner - start).abs() - hud.text.width("0000", Size::Large);
        let label = Label {
            name: &format!("{name}: name"),
            parent: &name,
            text: &team_names(hud.text, view, team, room),
            size: Size::Body,
            colour: NEUTRAL,
        };
        hud.write(&label, vec2(start, row), near);
    }

    /// Draws the status line. Returns its lower edge.
    fn draw_line(&mut self, hud: &mut HudCanvas<'_>, view: &View<'_>) -> f32 {
        let line_of = Some((view.state().tick(), view.scene.me));
        if self.line_of != line_of {
            let (line, colour) = status::line(view);
            if line != self.line {
                self.line_shown = 0.0;
            }
            (self.line, self.line_colour, self.line_of) = (line, colour, line_of);
        }
        let colour = self.line_colour;
        self.line_shown = ease(self.line_shown, 1.0);
        let unit = layout::scale(view.window);
        let (px, width) = (hud.text.px(Size::Body), hud.text.width(&self.line, Size::Body));
        let (mark, pad) = (px * 0.3, 12.0 * unit);
        let size = vec2(width + 2.0 * pad + mark * 3.0, px * 1.6);
        let top = layout::top_strip(view.window) - (1.0 - self.line_shown) * 6.0 * unit;
        let plate = Rect::new((view.window.w - size.x) / 2.0, top, size.x, size.y);
        hud.plate("line", plate);
        let row = plate.center().y;
        let fade = |colour| alpha(colour, self.line_shown);
        hud.canvas.disc(vec2(plate.x + pad + mark, row), mark, fade(colour));
        let at = vec2(plate.x + pad + mark * 3.0, row);
        if colour == RED {
            // The text stays light: red text is illegible to people who do not see red.
            hud.canvas.frame(plate, (2.0 * unit).max(1.5), fade(RED));
        }
        let label = Label {
            name: "line: text",
            parent: "line",
            text: &self.line,
            size: Size::Body,
            colour: fade(NEUTRAL),
        };
        hud.write(&label, at, Align::Left);
        plate.bottom()
    }
}

/// Draws the last alert below the status line, unless that says the same.
fn draw_alert(hud: &mut HudCanvas<'_>, view: &View<'_>, line: &str, below: f32) {
    let Some(alert) = &view.scene.alert else { return };
    let (unit, px) = (layout::scale(view.window), hud.text.px(Size::Small));
    let what = if line.starts_with(alert.text) { "" } else { alert.text };
    let text = format!("{what}   {}: look", key_name(Action::LastAlert)).trim_start().to_owned();
    let size = vec2(hud.text.width(&text, Size::Small) + 2.0 * px, px * 1.5);
    let plate = Rect::new((view.window.w - size.x) / 2.0, below + 2.0 * unit, size.x, size.y);
    hud.plate("alert", plate);
    hud.canvas.frame(plate, (1.5 * unit).max(1.0), RED);
    let label =
        Label { name: "alert: text", parent: "alert", text: &text, size: Size::Small, colour: NEUTRAL };
    hud.write(&label, plate.center(), Align::Middle);
}

#[derive(Clone, Copy)]
struct Score {
    team: u8,
    points: i32,
    leads: bool,
    is_left: bool,
    plate: Rect,
}

/// Moves `shown` toward `goal` by this frame's share.
fn ease(shown: f32, goal: f32) -> f32 {
    // Three time constants cover 95 % of the distance.
    shown + (goal - shown) * (1.0 - (-3.0 * get_frame_time() / EASE_S).exp())
}

fn clock_rect(text: &Type, view: &View<'_>) -> Rect {
    let unit = layout::scale(view.window);
    let (width, height) = (text.width("00:00", Size::Large) + 24.0 * unit, layout::top_strip(view.window));
    let gap = (4.0 * unit).round();
    Rect::new(((view.window.w - width) / 2.0).round(), gap, width.round(), height - 2.0 * gap)
}

/// Draws the match time; below it the owner of each circle.
fn draw_clock(hud: &mut HudCanvas<'_>, view: &View<'_>) {
    let (plate, unit) = (clock_rect(hud.text, view), layout::scale(view.window));
    hud.plate("clock", plate);
    let time = clock(u64::from(view.state().clock().0 / view.scene.setup.tick_rate.hz()));
    let colour = if view.is_sudden() { RED } else { NEUTRAL };
    let pip = (4.0 * unit).max(3.0);
    let row = plate.bottom() - 5.0 * unit - pip;
    let label = Label { name: "clock: time", parent: "clock", text: &time, size: Size::Large, colour };
    hud.write(&label, vec2(plate.center().x, (plate.y + row - pip) / 2.0 + unit), Align::Middle);
    let circles = &view.state().circles.owner;
    let apart = pip * 3.6;
    let first = plate.center().x - apart * (circles.len() as f32 - 1.0) / 2.0;
    for (circle, &owner) in circles.iter().enumerate() {
        let at = vec2(first + apart * circle as f32, row);
        if owner == PlayerId::NONE {
            hud.canvas.ring(at, pip, 1.5, alpha(GOLD, 0.9));
        } else {
            let team = view.state().team_of(owner);
            let shape = base_points(&hud.canvas.circle, at, pip, team);
            hud.canvas.convex(&shape, colours::team(team));
        }
    }
}

/// Returns the teams in the order of their bases from left to right; sides change with every rematch. Of two at the
/// same distance, the team of the first seat comes first.
fn teams_from_left(view: &View<'_>) -> ArrayVec<u8, PLAYERS_MAX> {
    let (state, bases) = (view.state(), &view.scene.setup.map.bases);
    let mut teams: ArrayVec<u8, PLAYERS_MAX> = ArrayVec::new();
    for team in state.player_ids().map(|player| state.team_of(player)) {
        if !teams.contains(&team) && !teams.is_full() {
            teams.push(team);
        }
    }
    teams.sort_by_key(|&team| {
        let members = state.player_ids().filter(|&player| state.team_of(player) == team);
        let bases: ArrayVec<i64, PLAYERS_MAX> =
            members.filter_map(|player| bases.get(player.index())).map(|&(x, _)| i64::from(x)).collect();
        bases.iter().sum::<i64>() / bases.len().max(1) as i64
    });
    teams
}

/// Joins the names of a team's players, cut to `room` pixels; the player's own name comes first and is marked.
fn team_names(text: &Type, view: &View<'_>, team: u8, room: f32) -> String {
    const MARK: &str = " (you)";
    let state = view.state();
    let mut names = String::new();
    let own = view.scene.me.filter(|&me| state.player_ids().any(|player| player == me));
    let members = state.player_ids().filter(|&player| state.team_of(player) == team);
    let mut others = members.filter(|&player| Some(player) != own).peekable();
    if let Some(own) = own.filter(|&own| state.team_of(own) == team) {
        names.push_str(view.name(own));
        // Dots for the others, who may not fit, must not take the mark's place.
        let dots = if others.peek().is_some() { "..." } else { "" };
        let taken = text.width(MARK, Size::Body) + text.width(dots, Size::Body);
        text.fit(&mut names, Size::Body, room - taken);
        names.push_str(MARK);
    }
    for player in others {
        if !names.is_empty() {
            names.push_str(", ");
        }
        names.push_str(view.name(player));
    }
    text.fit(&mut names, Size::Body, room);
    names
}

#[cfg(test)]
mod tests {
    use super::super::{Camera, Scene};
    use super::*;
    use crate::gui::test_view::{test_view, test_view_of};
    use std::sync::Arc;

    #[test]
    fn the_own_name_comes_first_and_no_other_is_marked_as_you() {
        let names = ["Anna", "Easy bot 1", "Ben", "Easy bot 3"];
        let window = Rect::new(0.0, 0.0, 1280.0, 720.0);
        let mut text = Type::new();
        text.clear(1.0);
        for (me, expected) in [
            (Some(0), ["Anna (you), Ben", "Easy bot 1, Easy bot 3"]),
            (Some(2), ["Ben (you), Anna", "Easy bot 1, Easy bot 3"]),
            (Some(1), ["Anna, Ben", "Easy bot 1 (you), Easy bot 3"]),
            (None, ["Anna, Ben", "Easy bot 1, Easy bot 3"]),
        ] {
            let view = test_view_of(&[0, 1, 0, 1], &names, me.map(PlayerId));
            let (camera, scene) = (Camera::whole(&view.setup.map, window), Scene::of(&view, 1.0, 0.0));
            let shown =
                [0, 1].map(|team| team_names(&text, &View::new(&camera, &scene, window), team, 400.0));
            assert_eq!(shown, expected, "{me:?}");
        }
        // However little room there is, the mark is whole and the text fits.
        let names = ["Maximiliane Zoe", "b", "Ben", "d"];
        let view = test_view_of(&[0, 1, 0, 1], &names, Some(PlayerId(0)));
        let (camera, scene) = (Camera::whole(&view.setup.map, window), Scene::of(&view, 1.0, 0.0));
        for room in 90..300 {
            let room = room as f32;
            let shown = team_names(&text, &View::new(&camera, &scene, window), 0, room);
            assert!(shown.contains(" (you)") && text.width(&shown, Size::Body) <= room, "{room}: {shown}");
        }
    }

    #[test]
    fn the_bar_has_each_team_on_the_side_of_its_base_after_a_rematch_too() {
        let window = Rect::new(0.0, 0.0, 1280.0, 720.0);
        let mut view = test_view(Some(PlayerId(0)));
        for expected in [[0, 1], [1, 0]] {
            let camera = Camera::whole(&view.setup.map, window);
            let scene = Scene::of(&view, 1.0, 0.0);
            assert_eq!(teams_from_left(&View::new(&camera, &scene, window))[..], expected);
            // As in the next match.
            let setup = Arc::make_mut(&mut view.setup);
            Arc::make_mut(&mut setup.map).bases.reverse();
        }
    }
}
