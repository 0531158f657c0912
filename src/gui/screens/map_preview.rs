//! A map in a menu, and the shapes of the teams.

use egui_macroquad::egui::{Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, vec2};

use crate::gui::draw::{Sign, signs};
use crate::gui::page::Page;
use crate::gui::theme;
use sim::{Map, MapCircle, MilliPoint};

/// Size of a tile from which the signs in a circle can be told apart, in points.
const TILE_OF_SIGNS: f32 = 4.0;

/// Draws a map from above; `teams` holds the team of each base, if known.
pub(super) fn draw_map(page: &mut Page<'_>, map: &Map, teams: &[Option<u8>], area: Rect) {
    let painter = page.ui.painter().with_clip_rect(area);
    let milli = |(x, y): MilliPoint| vec2(x as f32, y as f32) / 1000.0;
    let size = milli(map.size);
    let tile = (area.width() / size.x).min(area.height() / size.y);
    let ground = Rect::from_center_size(area.center(), size * tile);
    // In the world, y points up.
    let at = |point: MilliPoint| -> Pos2 {
        let from_centre = milli(point) * tile;
        ground.center() + vec2(from_centre.x, -from_centre.y)
    };
    painter.rect(ground, 2.0, theme::GROUND, Stroke::new(1.0, theme::LINE), StrokeKind::Inside);
    for wall in &map.walls {
        let corners = Rect::from_two_pos(at(wall.min), at(wall.max));
        painter.rect_filled(corners, 0.0, theme::LINE_LIT);
    }
    for rock in &map.rocks {
        painter.circle_filled(at(rock.at), rock.radius as f32 / 1000.0 * tile, theme::LINE);
    }
    for circle in &map.circles {
        painter.circle_stroke(at(circle.at), 3.0 * tile, Stroke::new(2.0, theme::GOLD));
        if map.circles_differ() && tile >= TILE_OF_SIGNS {
            draw_given(&painter, circle, at(circle.at), tile);
        }
    }
    for (seat, &base) in map.bases.iter().enumerate() {
        let radius = (1.8 * tile).max(4.0);
        match teams.get(seat).copied().flatten() {
            Some(team) => draw_badge(&painter, at(base), radius, team),
            None => _ = painter.circle_filled(at(base), radius, theme::LINE_LIT),
        }
    }
    page.record("map picture", area, None);
}

/// Draws what a circle gives, as in a match.
fn draw_given(painter: &Painter, circle: &MapCircle, centre: Pos2, tile: f32) {
    let size = (0.25 * tile).max(1.5);
    let apart = (0.9 * tile).max(3.5 * size);
    for (sign, column) in signs(circle) {
        match sign {
            Sign::Point => _ = painter.circle_filled(centre + vec2(column * apart, -tile), size, theme::GOLD),
            Sign::Supply => {
                let at = centre + vec2(column * apart, tile);
                for arm in [vec2(1.4 * size, 0.0), vec2(0.0, 1.4 * size)] {
                    painter.line_segment([at - arm, at + arm], Stroke::new(1.0, theme::GOLD));
                }
            }
        }
    }
}

/// Draws the shape of a team in its colour.
pub(super) fn draw_badge(painter: &Painter, at: Pos2, radius: f32, team: u8) {
    let colour = theme::team(team);
    let corners = |angles: &[f32]| {
        let corner = |degrees: &f32| at + radius * 1.2 * Vec2::angled(degrees.to_radians());
        Shape::convex_polygon(angles.iter().map(corner).collect(), colour, Stroke::NONE)
    };
    painter.add(match team % 4 {
        0 => Shape::circle_filled(at, radius, colour),
        1 => corners(&[0.0, 90.0, 180.0, 270.0]),
        2 => corners(&[45.0, 135.0, 225.0, 315.0]),
        _ => corners(&[30.0, 150.0, 270.0]),
    });
}
