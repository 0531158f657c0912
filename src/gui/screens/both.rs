//! Both seats of a match side by side, with lockstep and with a server: the two players' screens at the same instant.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};
use macroquad::miniquad::KeyCode;
use serde_json::{Value, json};
use std::time::Duration;

use super::Next;
use super::play::match_clock;
use crate::gui::bindings::Action;
use crate::gui::context::AppContext;
use crate::gui::draw::{Ghost, Panel, Scene};
use crate::gui::input::Input;
use crate::gui::page::{Page, Weight};
use crate::gui::theme;
use crate::gui::window::window;
use lab::compare::{Cell, Screens, TrialError, base_cell};
use net::Architecture;
use sim::{GameState, PlayerId};

/// Height of the bar at the bottom, in points.
const BAR: f32 = 44.0;
/// Gap between panels, in points.
const GAP: f32 = 6.0;
/// Maximum frame time that the matches catch up with, in seconds.
const FRAME_MAX_S: f64 = 0.1;
/// Maximum distance that is invisible, in tiles.
const SEEN: f32 = 0.05;
/// Weight of a new frame in a moving average.
const FOLLOWS: f32 = 0.02;

/// The four screens.
pub(crate) struct BothScreen {
    rows: [Row; 2],
    names: Vec<String>,
    elapsed: Duration,
    drawn_at: Option<f64>,
    is_paused: bool,
    wants_out: bool,
    cell: Cell,
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
}

impl BothScreen {
    /// Starts bots on the links of `cell`.
    pub(crate) fn open(cell: &Cell, seed: u64) -> Result<Self, TrialError> {
        let rows =
            [Row::open(Architecture::P2p, cell, seed)?, Row::open(Architecture::ClientServer, cell, seed)?];
        Ok(Self {
            rows,
            names: vec!["player 1".into(), "player 2".into()],
            elapsed: Duration::ZERO,
            drawn_at: None,
            is_paused: false,
            wants_out: false,
            cell: cell.clone(),
        })
    }

    pub(crate) fn arena(&mut self, context: &mut AppContext, inputs: &[Input]) {
        for input in inputs {
            match input {
                Input::Down(KeyCode::Space, _) => self.is_paused = !self.is_paused,
                Input::Down(key, _) if super::play::means(*key, Action::Picture) => context.picture(),
                Input::Down(key, _) if super::play::means(*key, Action::Menu) => self.wants_out = true,
                _ => {}
            }
        }
        let passed = self.drawn_at.map_or(0.0, |at| (context.now - at).min(FRAME_MAX_S));
        self.drawn_at = Some(context.now);
        if !self.is_paused {
            self.elapsed += Duration::from_secs_f64(passed);
            for row in &mut self.rows {
                row.advance(self.elapsed);
            }
        }
        let places = places(context.points());
        let panels = self.rows.iter().zip(&places).flat_map(|(row, places)| {
            (0..2).map(|player| row.panel(player, places[player], &self.names, context.now as f32))
        });
        let panels: Vec<Panel<'_>> = panels.collect();
        context.painter.draw_panels(&panels);
    }

    pub(crate) fn page(&mut self, page: &mut Page<'_>) -> Option<Next> {
        let window = page.window();
        let bar = Rect::from_min_max(pos2(window.left(), window.bottom() - BAR), window.right_bottom());
        page.plate("bar", bar);
        page.within("bar", |page| {
            let inside = bar.shrink2(vec2(8.0, 5.0));
            let button = |at: f32| Rect::from_min_size(pos2(at, inside.top()), vec2(76.0, inside.height()));
            let text = if self.is_paused { "Play" } else { "Pause" };
            if page.button("pause", button(inside.left()), text, Weight::Primary) {
                self.is_paused = !self.is_paused;
            }
            if page.button("back", button(inside.right() - 76.0), "Menu", Weight::Normal) {
                self.wants_out = true;
            }
            let Cell { rtt_ms, jitter_ms, loss, .. } = &self.cell;
            let legend = format!(
                "{}   RTT {rtt_ms:.0} ms, jitter {jitter_ms:.0} ms, loss {:.0} %.   A ring: where the other screen \
                 shows the unit at this instant.",
                match_clock((self.elapsed.as_secs_f64() * 60.0) as u32, 60),
                loss * 100.0
            );
            let at = pos2(inside.left() + 92.0, inside.center().y);
            let width = inside.width() - 184.0;
            page.text("legend", at, Align2::LEFT_CENTER, (theme::SMALL, theme::TEXT), &legend, width);
        });
        self.wants_out.then_some(Next::Start)
    }

    pub(crate) fn facts(&self) -> Value {
        let row = |row: &Row| {
            json!({
                "architecture": row.architecture.as_str(),
                "ticks": row.pictures.each_ref().map(tick),
                "apart_mean": row.apart.0,
                "over": row.over,
            })
        };
        let least = self.rows.iter().flat_map(|row| &row.pictures).map(tick).min();
        let rows: Vec<Value> = self.rows.iter().map(row).collect();
        json!({ "tick": least, "rows": rows, "is_paused": self.is_paused })
    }
}

fn tick(picture: &GameState) -> u32 {
    if picture.globals.is_empty() { 0 } else { picture.tick().0 }
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
        place: macroquad::math::Rect,
        names: &'a [String],
        now: f32,
    ) -> Panel<'a> {
        let setup = self.screens.setup();
        let picture = &self.pictures[player];
        let scene = Scene {
            setup,
            previous: picture,
            current: picture,
            alpha: 1.0,
            time_s: now,
            me: Some(PlayerId(player as u8)),
            names,
            selected: &[],
            hovered: None,
            drag: None,
            pointer_order: None,
            base_selected: false,
            alert: None,
            goal: None,
            net: None,
            is_core_hit: false,
            training: None,
        };
        Panel {
            place,
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
fn places(points: f32) -> [[macroquad::math::Rect; 2]; 2] {
    let whole = window();
    let gap = GAP * points;
    let width = (whole.w - 3.0 * gap) / 2.0;
    let height = (whole.h - BAR * points - 3.0 * gap) / 2.0;
    let place = |row: f32, column: f32| {
        macroquad::math::Rect::new(gap + column * (width + gap), gap + row * (height + gap), width, height)
    };
    [0.0, 1.0].map(|row| [0.0, 1.0].map(|column| place(row, column)))
}

/// Finds units whose positions differ between `here` and `there`.
fn find_ghosts(here: &GameState, there: &GameState, ghosts: &mut Vec<Ghost>) {
    ghosts.clear();
    let at = |state: &GameState, row: usize| {
        macroquad::math::vec2(state.units.x[row].to_num(), state.units.y[row].to_num())
    };
    for row in 0..here.units.len() {
        let Some(other) = there.row(here.units.id[row]) else { continue };
        let ghost = Ghost {
            here: at(here, row),
            there: at(there, other),
            team: here.team(row),
            kind: (here.units.control[row], here.units.kind[row]),
        };
        if ghost.here.distance(ghost.there) >= SEEN {
            ghosts.push(ghost);
        }
    }
}
