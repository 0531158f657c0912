//! Both seats of a match side by side, with lockstep and with a server: the two players' screens at the same instant.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use macroquad::math::{Rect as MacroquadRect, Vec2};
use macroquad::miniquad::KeyCode;
use serde_json::{Value, json};
use std::time::Duration;

use super::Next;
use super::camera_control::CameraControl;
use super::play::match_clock;
use crate::gui::bindings::Action;
use crate::gui::context::AppContext;
use crate::gui::draw::{Camera, Ghost, Panel, Scene};
use crate::gui::input::Input;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use crate::gui::window::window;
use lab::compare::{Cell, Figures, Screens, TrialError, base_cell};
use net::Architecture;
use sim::{GameState, PlayerId};

/// Height of the bar at the bottom, in points.
const BAR: f32 = 68.0;
/// Height of the line of figures under each screen, in points.
const LINE: f32 = 20.0;
/// Distance of the figures from the left edge of their screen, in points, as that of its title.
const INSET: f32 = 9.0;
/// Gap between panels, in points.
const GAP: f32 = 6.0;
/// Maximum frame time that the matches catch up with, in seconds.
const FRAME_MAX_S: f64 = 0.1;
/// Maximum distance that is invisible, in tiles.
const SEEN: f32 = 0.05;
/// Length of an outage.
const OUTAGE: Duration = Duration::from_secs(1);
/// Interval over which stalls and traffic are averaged.
const AVERAGED: Duration = Duration::from_secs(1);
/// Sliders: label, unit, and value at the right end.
const SLIDERS: [(&str, &str, f64); 3] = [("RTT", "ms", 500.0), ("jitter", "ms", 50.0), ("loss", "%", 50.0)];
/// Weight of a new frame in a moving average.
const FOLLOWS: f32 = 0.02;

/// The four screens.
pub(crate) struct BothScreen {
    rows: [Row; 2],
    /// Each player's camera, in both rows.
    cameras: [CameraControl; 2],
    pointer: Vec2,
    names: Vec<String>,
    elapsed: Duration,
    drawn_at: Option<f64>,
    is_paused: bool,
    wants_out: bool,
    /// Link that the sliders set.
    cell: Cell,
    /// End of the outage in progress, if any.
    out_until: Option<Duration>,
}

/// A match and its players' views.
struct Row {
    architecture: Architecture,
    screens: Screens,
    pictures: [GameState; 2],
    ghosts: [Vec<Ghost>; 2],
    titles: [String; 2],
    /// Average over units and frames, and recent maximum of the distance between the screens, in tiles.
    apart: (f32, f32),
    /// Reason why it has ended.
    over: Option<String>,
    readings: [Reading; 2],
}

/// Figures of one player as they are shown.
#[derive(Default)]
struct Reading {
    /// Moving averages of the latency of own and others' commands, in milliseconds.
    clicks: [Option<f64>; 2],
    /// Stalled time in milliseconds and traffic sent in kbit, both per second.
    rates: [f64; 2],
    /// Start of the interval over which the next rates are averaged, and the figures at that time.
    since: (Duration, Figures),
    text: String,
}

impl BothScreen {
    /// Starts bots on the links of `cell`.
    pub(crate) fn open(cell: &Cell, seed: u64) -> Result<Self, TrialError> {
        let rows =
            [Row::open(Architecture::P2p, cell, seed)?, Row::open(Architecture::ClientServer, cell, seed)?];
        Ok(Self {
            rows,
            cameras: [CameraControl::following(); 2],
            pointer: Vec2::ZERO,
            names: vec!["player 1".into(), "player 2".into()],
            elapsed: Duration::ZERO,
            drawn_at: None,
            is_paused: false,
            wants_out: false,
            cell: cell.clone(),
            out_until: None,
        })
    }

    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: &[Input]) {
        for input in inputs {
            match input {
                Input::Down(KeyCode::Space, _) => self.is_paused = !self.is_paused,
                Input::Down(key, _) if super::play::means(*key, Action::Picture) => context.picture(),
                Input::Down(key, _) if super::play::means(*key, Action::Menu) => self.wants_out = true,
                Input::Down(key, _) if super::play::means(*key, Action::LockCamera) => {
                    self.cameras.iter_mut().for_each(CameraControl::toggle_lock);
                }
                _ => {}
            }
        }
        let passed = self.drawn_at.map_or(0.0, |at| (context.now - at).min(FRAME_MAX_S));
        self.drawn_at = Some(context.now);
        if !self.is_paused {
            self.elapsed += Duration::from_secs_f64(passed);
            if self.out_until.take_if(|until| *until <= self.elapsed).is_some() {
                self.set_link();
            }
            for row in &mut self.rows {
                row.advance(self.elapsed);
            }
        }
        let places = places(context.points());
        inputs.iter().for_each(|&input| self.look(context, &places, input));
        let cameras = self.cameras(context, &places);
        let panels = self
            .rows
            .iter()
            .zip(&places)
            .flat_map(|(row, places)| (0..2).map(move |player| (row, player, places[player])));
        let now = context.now as f32;
        let panels = panels
            .zip(cameras)
            .map(|((row, player, place), camera)| row.panel(player, (place, camera), &self.names, now));
        let panels: Vec<Panel<'_>> = panels.collect();
        context.painter.draw_panels(&panels);
    }

    /// Passes an input to the camera of the panel under the pointer.
    fn look(&mut self, context: &AppContext, places: &[[MacroquadRect; 2]; 2], input: Input) {
        if let Input::Moved(at) | Input::Pressed(_, at) | Input::Released(_, at) = input {
            self.pointer = at;
        }
        let cameras = self.cameras(context, places);
        let is_over = |camera: &Camera| camera.viewport.contains(self.pointer);
        let Some(panel) = cameras.iter().position(is_over) else {
            if matches!(input, Input::Released(..) | Input::FocusLost) {
                self.cameras.iter_mut().for_each(CameraControl::let_go);
            }
            return;
        };
        let map = &self.rows[panel / 2].screens.setup().map;
        let whole = Camera::whole(map, cameras[panel].viewport).tiles_high;
        let minimap = context.minimap(map, cameras[panel].viewport);
        self.cameras[panel % 2].take(input, (&cameras[panel], &minimap), whole, self.pointer);
    }

    /// Returns the cameras of the panels, row by row.
    fn cameras(&mut self, context: &AppContext, places: &[[MacroquadRect; 2]; 2]) -> [Camera; 4] {
        core::array::from_fn(|panel| {
            let (row, player) = (&self.rows[panel / 2], panel % 2);
            let viewport = context.painter.panel_arena(places[panel / 2][player]);
            let picture = &row.pictures[player];
            let hero = picture.hero(PlayerId(player as u8)).map(|hero| unit_place(picture, hero));
            self.cameras[player].camera(&row.screens.setup().map, viewport, window(), hero)
        })
    }

    pub(crate) fn page(&mut self, page: &mut Page<'_>) -> Option<Next> {
        let window = page.window();
        self.figures(page);
        let bar = Rect::from_min_max(pos2(window.left(), window.bottom() - BAR), window.right_bottom());
        page.plate("bar", bar);
        page.within("bar", |page| {
            let inside = bar.shrink2(vec2(8.0, 5.0));
            let button = |at: f32, width: f32| Rect::from_min_size(pos2(at, inside.top()), vec2(width, 34.0));
            let text = if self.is_paused { "Play" } else { "Pause" };
            if page.button("pause", button(inside.left(), 76.0), text, Weight::Primary) {
                self.is_paused = !self.is_paused;
            }
            if page.button("outage", button(inside.left() + 84.0, 110.0), "Outage, 1 s", Weight::Normal) {
                self.out_until = Some(self.elapsed + OUTAGE);
                self.set_link();
            }
            if page.button("back", button(inside.right() - 76.0, 76.0), "Menu", Weight::Normal) {
                self.wants_out = true;
            }
            self.sliders(
                page,
                Rect::from_min_max(
                    pos2(inside.left() + 210.0, inside.top()),
                    pos2(inside.right() - 92.0, inside.top() + 34.0),
                ),
            );
            let time = match_clock((self.elapsed.as_secs_f64() * 60.0) as u32, 60);
            let legend = format!(
                "{time}   Clicks: time until this world runs them, own / the other's. \
                 Ring: the unit's place on the other screen."
            );
            let at = pos2(inside.left(), inside.bottom() - 10.0);
            let style = (theme::SMALL, theme::TEXT);
            page.text("legend", at, Align2::LEFT_CENTER, style, &legend, inside.width());
        });
        self.wants_out.then_some(Next::Start)
    }

    /// Draws the sliders of the link side by side, and puts a change in force.
    fn sliders(&mut self, page: &mut Page<'_>, area: Rect) {
        let width = area.width() / SLIDERS.len() as f32;
        let Cell { rtt_ms, jitter_ms, loss, .. } = self.cell;
        let mut values = [rtt_ms, jitter_ms, loss * 100.0];
        let mut is_moved = false;
        for (place, ((name, unit, most), value)) in SLIDERS.into_iter().zip(&mut values).enumerate() {
            let left = area.left() + place as f32 * width;
            let at = pos2(left, area.center().y);
            page.text(
                &format!("{name} label"),
                at,
                Align2::LEFT_CENTER,
                (theme::SMALL, theme::TEXT),
                name,
                42.0,
            );
            let slider = Rect::from_min_size(pos2(left + 42.0, area.top() + 6.0), vec2(width - 60.0, 22.0));
            let before = (*value / most * 100.0).round().min(100.0) as u8;
            let mut share = before;
            page.slider(name, slider, &mut share, &format!("{value:.0} {unit}"));
            if share != before {
                (*value, is_moved) = (f64::from(share) / 100.0 * most, true);
            }
        }
        if is_moved {
            let [rtt_ms, jitter_ms, loss] = values;
            self.cell = Cell { rtt_ms, jitter_ms, loss: loss / 100.0, ..self.cell.clone() };
            self.set_link();
        }
    }

    /// Puts the link in force: during an outage every datagram is lost.
    fn set_link(&mut self) {
        let loss = if self.out_until.is_some() { 1.0 } else { self.cell.loss };
        let cell = Cell { loss, ..self.cell.clone() };
        for row in &mut self.rows {
            row.screens.set_link(&cell);
        }
    }

    /// Draws the line of figures under each screen.
    fn figures(&self, page: &mut Page<'_>) {
        let window = page.window();
        let width = (window.width() - 3.0 * GAP) / 2.0;
        let height = (window.height() - BAR - 2.0 * LINE - 3.0 * GAP) / 2.0;
        for (line, row) in self.rows.iter().enumerate() {
            let y = (GAP + height) * (line + 1) as f32 + LINE * (line as f32 + 0.5);
            for (player, reading) in row.readings.iter().enumerate() {
                let at = window.min + vec2(GAP + INSET + player as f32 * (width + GAP), y);
                let name = format!("figures {} {}", row.architecture, player + 1);
                let style = (theme::SMALL, theme::TEXT);
                page.text(&name, at, Align2::LEFT_CENTER, style, &reading.text, width - INSET);
            }
        }
    }

    pub(crate) fn facts(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "architecture": row.architecture.as_str(),
                "ticks": row.pictures.each_ref().map(tick),
                "apart_mean": row.apart.0,
                "over": row.over,
                "figures": row.readings.each_ref().map(|it| json!({
                    "clicks_ms": it.clicks, "stalled_ms_s": it.rates[0], "kbit_s": it.rates[1],
                })),
            })
        };
        let least = self.rows.iter().flat_map(|row| &row.pictures).map(tick).min();
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        let link = [self.cell.rtt_ms, self.cell.jitter_ms, self.cell.loss * 100.0];
        let (is_paused, is_out) = (self.is_paused, self.out_until.is_some());
        json!({ "tick": least, "rows": rows, "is_paused": is_paused, "is_out": is_out, "link": link })
    }
}

fn tick(picture: &GameState) -> u32 {
    if picture.globals.is_empty() { 0 } else { picture.tick().0 }
}

impl Reading {
    /// Takes the figures at `now`, a time since tick 0.
    fn take(&mut self, now: Duration, figures: Figures) {
        for (shown, click) in self.clicks.iter_mut().zip(figures.clicks) {
            let Some(ms) = click.map(|click| click.as_secs_f64() * 1000.0) else { continue };
            let before = shown.unwrap_or(ms);
            *shown = Some(before + (ms - before) * f64::from(FOLLOWS));
        }
        let (since, before) = self.since;
        let passed = now.saturating_sub(since);
        if passed >= AVERAGED {
            let stalled_ms = (figures.stalled_ms - before.stalled_ms).max(0.0);
            let kbit = (figures.bytes_sent - before.bytes_sent) as f64 * 8.0 / 1000.0;
            self.rates = [stalled_ms, kbit].map(|sum| sum / passed.as_secs_f64());
            self.since = (now, figures);
        }
        let [own, other] = self.clicks.map(|ms| ms.map_or_else(|| "-".to_owned(), |ms| format!("{ms:.0}")));
        let [stalled, kbit] = self.rates;
        self.text = format!("clicks {own} / {other} ms, stalled {stalled:.0} ms/s, {kbit:.0} kbit/s");
        if let Some(delay) = figures.input_delay {
            self.text += &format!(", delay {} ms", delay.as_millis());
        }
    }
}

impl Row {
    fn open(architecture: Architecture, cell: &Cell, seed: u64) -> Result<Self, TrialError> {
        let base = base_cell(architecture);
        let (updates, interpolation) = (base.updates, base.interpolation);
        let cell = Cell { architecture, updates, interpolation, ..cell.clone() };
        let mut row = Self {
            architecture,
            screens: Screens::open(&cell, seed)?,
            pictures: [GameState::default(), GameState::default()],
            ghosts: [Vec::new(), Vec::new()],
            titles: [String::new(), String::new()],
            apart: (0.0, 0.0),
            over: None,
            readings: Default::default(),
        };
        row.advance(Duration::ZERO);
        Ok(row)
    }

    fn advance(&mut self, until: Duration) {
        if self.over.is_none() {
            match self.screens.advance(until) {
                Ok(true) => {}
                Ok(false) => self.over = Some("over".into()),
                Err(error) => self.over = Some(error.to_string()),
            }
        }
        for (player, picture) in self.pictures.iter_mut().enumerate() {
            self.screens.show(player, picture);
        }
        for player in 0..2 {
            find_ghosts(&self.pictures[player], &self.pictures[1 - player], &mut self.ghosts[player]);
        }
        self.measure();
        for (player, reading) in self.readings.iter_mut().enumerate() {
            reading.take(until, self.screens.figures(player));
        }
    }

    fn measure(&mut self) {
        let units = self.pictures[0].units.len().max(1) as f32;
        let apart = self.ghosts[0].iter().map(|ghost| ghost.here.distance(ghost.there));
        let (sum, most) = apart.fold((0.0, 0.0_f32), |(sum, most), far| (sum + far, most.max(far)));
        let (mean, late) = &mut self.apart;
        *mean += (sum / units - *mean) * FOLLOWS;
        *late = most.max(*late * (1.0 - FOLLOWS));
        let how = match self.architecture {
            Architecture::P2p => "Lockstep",
            Architecture::ClientServer => "Client-server",
            Architecture::Relay => "Relayed lockstep",
        };
        for (player, title) in self.titles.iter_mut().enumerate() {
            let what = match (&self.over, player) {
                (Some(why), _) => why.clone(),
                (None, 0) => format!("screens apart: {mean:.2} tiles, most {late:.1}"),
                (None, _) => String::new(),
            };
            *title = format!("{how}, player {}   {what}", player + 1);
        }
    }

    fn panel<'a>(
        &'a self,
        player: usize,
        (place, camera): (MacroquadRect, Camera),
        names: &'a [String],
        now: f32,
    ) -> Panel<'a> {
        let setup = self.screens.setup();
        let picture = &self.pictures[player];
        let scene = Scene {
            time_s: now,
            me: Some(PlayerId(player as u8)),
            names,
            ..Scene::watched(setup, picture, picture)
        };
        Panel {
            place,
            camera,
            scene,
            ghosts: &self.ghosts[player],
            name: match (self.architecture, player) {
                (Architecture::P2p, 0) => "lockstep 1",
                (Architecture::P2p, _) => "lockstep 2",
                (_, 0) => "served 1",
                (_, _) => "served 2",
            },
            title: &self.titles[player],
        }
    }
}

/// Returns the bounds of each row's two panels.
fn places(points: f32) -> [[MacroquadRect; 2]; 2] {
    let whole = window();
    let gap = GAP * points;
    let width = (whole.w - 3.0 * gap) / 2.0;
    let line = LINE * points;
    let height = (whole.h - (BAR + 2.0 * LINE) * points - 3.0 * gap) / 2.0;
    let place = |row: f32, column: f32| {
        MacroquadRect::new(gap + column * (width + gap), gap + row * (height + line + gap), width, height)
    };
    [0.0, 1.0].map(|row| [0.0, 1.0].map(|column| place(row, column)))
}

/// Returns the position of a unit, in tiles.
fn unit_place(state: &GameState, row: usize) -> Vec2 {
    macroquad::math::vec2(state.units.x[row].to_num(), state.units.y[row].to_num())
}

/// Finds units whose positions differ between `here` and `there`.
fn find_ghosts(here: &GameState, there: &GameState, ghosts: &mut Vec<Ghost>) {
    ghosts.clear();
    for row in 0..here.units.len() {
        let Some(other) = there.row(here.units.id[row]) else { continue };
        let ghost = Ghost {
            here: unit_place(here, row),
            there: unit_place(there, other),
            team: here.team(row),
            kind: (here.units.control[row], here.units.kind[row]),
        };
        if ghost.here.distance(ghost.there) >= SEEN {
            ghosts.push(ghost);
        }
    }
}
