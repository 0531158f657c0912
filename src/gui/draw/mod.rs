//! A plain arena, to be replaced: circles for units, rectangles for walls, numbers for the score.

pub(crate) mod layout;

use macroquad::prelude::{
    BLACK, Color, Rect, Vec2, clear_background, draw_circle, draw_circle_lines, draw_line, draw_rectangle,
    draw_rectangle_lines, draw_text, screen_height, screen_width, vec2,
};
use mini_rts_arena::sim::{self, ControlBehaviour, PlayerId};

/// Most vertices and indices of a draw call.
pub(crate) const VERTEX_CAPACITY: usize = 10_000;
pub(crate) const INDEX_CAPACITY: usize = 5_000;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Camera {
    pub(crate) centre: Vec2,
    pub(crate) tiles_high: f32,
    pub(crate) viewport: Rect,
}

impl Camera {
    pub(crate) fn whole(map: &sim::Map, viewport: Rect) -> Self {
        let size = vec2(map.size.0 as f32, map.size.1 as f32) / 1000.0;
        let tiles_high = size.y.max(size.x * viewport.h / viewport.w.max(1.0));
        Self { centre: Vec2::ZERO, tiles_high, viewport }
    }

    pub(crate) fn to_screen(&self, tiles: Vec2) -> Vec2 {
        let from_centre = (tiles - self.centre) * self.px_per_tile();
        self.viewport.center() + vec2(from_centre.x, -from_centre.y)
    }

    pub(crate) fn to_tiles(&self, px: Vec2) -> Vec2 {
        let from_centre = (px - self.viewport.center()) / self.px_per_tile();
        self.centre + vec2(from_centre.x, -from_centre.y)
    }

    pub(crate) fn px_per_tile(&self) -> f32 {
        self.viewport.h / self.tiles_high
    }
}

pub(crate) struct Scene<'a> {
    pub(crate) setup: &'a sim::Setup,
    pub(crate) previous: &'a sim::GameState,
    pub(crate) current: &'a sim::GameState,
    pub(crate) alpha: f32,
    #[expect(dead_code)]
    pub(crate) time_s: f32,
    #[expect(dead_code)]
    pub(crate) me: Option<PlayerId>,
    pub(crate) names: &'a [String],
    pub(crate) selected: &'a [sim::UnitId],
    pub(crate) hovered: Option<sim::UnitId>,
    pub(crate) drag: Option<Rect>,
    pub(crate) pointer_order: Option<PointerOrder>,
    pub(crate) net: Option<&'a NetStatus>,
}

#[derive(Clone, Debug)]
pub(crate) struct NetStatus {
    pub(crate) rtt_ms: f32,
    pub(crate) delay_ms: f32,
    pub(crate) stalled: Option<String>,
    #[expect(dead_code)]
    pub(crate) loss: f32,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct PointerOrder {
    pub(crate) at: Vec2,
    pub(crate) is_attack: bool,
    pub(crate) age_s: f32,
}

pub(crate) struct ArenaPainter {
    pub(crate) layout: layout::Recorder,
    pub(crate) draw_calls: usize,
}

impl ArenaPainter {
    pub(crate) fn new() -> Self {
        Self { layout: layout::Recorder::default(), draw_calls: 0 }
    }

    pub(crate) fn observe(&mut self, _: &sim::Setup, _: &sim::GameState, _: &sim::GameState) {}

    pub(crate) fn forget(&mut self) {}

    pub(crate) fn draw(&mut self, camera: &Camera, scene: &Scene<'_>) {
        const TEAMS: [u32; 4] = [0x003f_a7ff, 0x00ff_9a3c, 0x00b5_8cff, 0x007f_e0b0];
        let colour = |player: PlayerId| TEAMS.get(player.index()).map_or(BLACK, |&hex| Color::from_hex(hex));
        clear_background(Color::from_hex(0x001e_2430));
        self.layout.begin(Rect::new(0.0, 0.0, screen_width(), screen_height()));
        self.layout.record("arena", "", camera.viewport, None);
        let tile = camera.px_per_tile();
        let place = |(x, y): sim::MilliPoint| camera.to_screen(vec2(x as f32, y as f32) / 1000.0);
        let map = &scene.setup.map;
        for wall in &map.walls {
            let (a, b) = (place(wall.min), place(wall.max));
            draw_rectangle(a.x, b.y, b.x - a.x, a.y - b.y, Color::from_hex(0x004a_5468));
        }
        for rock in &map.rocks {
            let at = place(rock.at);
            draw_circle(at.x, at.y, rock.radius as f32 / 1000.0 * tile, Color::from_hex(0x006b_7280));
        }
        for (row, &circle) in map.circles.iter().enumerate() {
            let at = place(circle);
            draw_circle_lines(at.x, at.y, 3.0 * tile, 3.0, colour(scene.current.circles.owner[row]));
        }
        for (seat, &base) in map.bases.iter().enumerate().take(scene.setup.seats.len()) {
            let at = place(base);
            draw_circle(at.x, at.y, 1.5 * tile, colour(PlayerId(seat as u8)));
        }
        let units = &scene.current.units;
        for row in 0..units.len() {
            let now = vec2(units.x[row].to_num(), units.y[row].to_num());
            let old = scene.previous.row(units.id[row]).map_or(now, |row| {
                let units = &scene.previous.units;
                vec2(units.x[row].to_num(), units.y[row].to_num())
            });
            let at = camera.to_screen(old.lerp(now, scene.alpha));
            let radius = if units.control[row] == ControlBehaviour::Player { 0.6 } else { 0.4 } * tile;
            draw_circle(at.x, at.y, radius, colour(units.owner[row]));
            if scene.selected.contains(&units.id[row]) || scene.hovered == Some(units.id[row]) {
                draw_circle_lines(at.x, at.y, radius + 2.0, 2.0, Color::from_hex(0x00ff_ffff));
            }
        }
        let arrows = &scene.current.projectiles;
        for row in 0..arrows.len() {
            let age = scene.current.tick().since(arrows.born_at[row]) as f32;
            let way = vec2(arrows.vx[row].to_num(), arrows.vy[row].to_num());
            let at = vec2(arrows.x[row].to_num(), arrows.y[row].to_num()) + way * age;
            let (a, b) = (camera.to_screen(at), camera.to_screen(at - way * 2.0));
            draw_line(a.x, a.y, b.x, b.y, 2.0, colour(arrows.owner[row]));
        }
        if let Some(order) = &scene.pointer_order {
            let at = camera.to_screen(order.at);
            let hex = if order.is_attack { 0x00ff_4d5e } else { 0x00c9_cd_d6 };
            draw_circle_lines(at.x, at.y, 12.0 * (1.0 - order.age_s).max(0.0), 2.0, Color::from_hex(hex));
        }
        if let Some(drag) = scene.drag {
            draw_rectangle_lines(drag.x, drag.y, drag.w, drag.h, 2.0, Color::from_hex(0x00ff_ffff));
        }
        let score: Vec<String> = scene
            .names
            .iter()
            .zip(&scene.current.players.score)
            .map(|(name, score)| format!("{name} {score}"))
            .collect();
        let net = scene.net.map_or_else(String::new, |net| {
            format!(
                "RTT {:.0} delay {:.0} {}",
                net.rtt_ms,
                net.delay_ms,
                net.stalled.as_deref().unwrap_or("")
            )
        });
        let line = format!("{}   tick {}   {net}", score.join("  "), scene.current.tick());
        draw_text(&line, 20.0, 28.0, 24.0, Color::from_hex(0x00c9_cdd6));
    }
}
