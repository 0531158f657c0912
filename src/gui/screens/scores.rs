//! The scores of all seats, shown while their key is held.

use egui_macroquad::egui::{Align2, Rect, pos2, vec2};

use super::notices::name_of;
use crate::gui::page::Page;
use crate::gui::theme;
use game::View;
use net::LinkStatus;
use sim::PlayerId;

const WIDTH: f32 = 620.0;
const ROW: f32 = 34.0;
/// Left edges of the columns, as shares of the width.
const COLUMNS: [(&str, f32); 6] =
    [("name", 0.03), ("team", 0.36), ("score", 0.53), ("units", 0.65), ("lost", 0.77), ("RTT", 0.88)];

/// Draws the scores in the middle of the window.
pub(super) fn scores(page: &mut Page<'_>, view: &View) {
    let seats = view.current.players.len();
    let plate = page.centred(WIDTH, 46.0 + ROW * seats as f32);
    page.plate("scores", plate);
    page.within("scores", |page| {
        let inside = plate.shrink2(vec2(0.0, 10.0));
        let at = |share: f32, y: f32| pos2(inside.left() + share * inside.width(), y);
        let quiet = (theme::SMALL, theme::QUIET);
        for (name, share) in COLUMNS {
            page.text(&format!("{name} head"), at(share, inside.top()), Align2::LEFT_TOP, quiet, name, 90.0);
        }
        for (place, player) in view.current.player_ids().enumerate() {
            let row = inside.top() + 24.0 + ROW * place as f32;
            let row =
                Rect::from_min_size(pos2(inside.left() + 6.0, row), vec2(inside.width() - 12.0, ROW - 4.0));
            if view.me == Some(player) {
                page.ui.painter().rect_filled(row, theme::ROUNDING, theme::BUTTON);
            }
            let team = theme::team(view.current.team_of(player));
            for ((name, share), text) in COLUMNS.into_iter().zip(facts(view, player)) {
                let colour = if matches!(name, "name" | "team") { team } else { theme::TEXT };
                let width = if name == "name" { 0.32 * inside.width() } else { 0.11 * inside.width() };
                let (name, at) = (format!("{name} {place}"), at(share, row.center().y));
                page.text(&name, at, Align2::LEFT_CENTER, (theme::BODY, colour), &text, width);
            }
        }
    });
}

/// Returns the columns of a player's row.
fn facts(view: &View, player: PlayerId) -> [String; 6] {
    const TEAMS: [&str; 4] = ["Blue", "Orange", "Violet", "Mint"];
    let (state, seat) = (&view.current, player.index());
    let units = state.units.owner.iter().filter(|&&owner| owner == player).count();
    let own = if view.me == Some(player) { " (you)" } else { "" };
    [
        format!("{}{own}", name_of(view, player)),
        TEAMS[usize::from(state.team_of(player)) % TEAMS.len()].to_owned(),
        state.players.score[seat].to_string(),
        units.to_string(),
        state.players.deaths[seat].to_string(),
        rtt_to(&view.links, player),
    ]
}

/// Returns the round-trip time to a player, or to the server that relays it.
fn rtt_to(links: &[LinkStatus], player: PlayerId) -> String {
    let link = links.iter().find(|link| link.player == player);
    let rtt_us = link.and_then(|link| link.rtt_us);
    rtt_us.map_or_else(|| "-".to_owned(), |rtt_us| format!("{:.0} ms", rtt_us as f64 / 1000.0))
}
