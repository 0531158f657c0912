//! The bottom of the interface beside the economy: the player's hero and the connection; and announcements in the
//! middle.

use std::f32::consts::{FRAC_PI_2, TAU};

use macroquad::prelude::{Rect, Vec2, vec2};
use sim::{ControlBehaviour, Outcome, PlayerId, Tick};

use super::NetStatus;
use super::colours::{self, GOLD, INK, NEUTRAL, RED, Side, WALL, mix};
use super::hud_canvas::{HudCanvas, grow};
use super::layout;
use super::production;
use super::text::{Align, Label, Size};
use super::view::View;
use crate::gui::bindings::{Action, key_name};

pub(super) fn draw(hud: &mut HudCanvas<'_>, view: &View<'_>) {
    let mut taken = 0.0;
    if let Some(me) = view.scene.me {
        production::draw(hud, view, me, true);
        taken = draw_hero(hud, view, me);
        draw_selection(hud, view, me);
    }
    if view.scene.me.is_none() && view.scene.net.is_none() && view.state().players.len() == 2 {
        production::draw(hud, view, PlayerId(0), true);
        production::draw(hud, view, PlayerId(1), false);
    }
    if view.state().outcome() != Outcome::Running {
        draw_verdict(hud, view);
    }
    if let Some(net) = view.scene.net {
        draw_connection(hud, view, net, taken);
        draw_stall(hud, view, net);
    }
}

// The hero.

/// Draws the hero's plate in the middle, or beside the economy if large text needs the room. Returns its right edge,
/// in pixels.
fn draw_hero(hud: &mut HudCanvas<'_>, view: &View<'_>, me: PlayerId) -> f32 {
    let (state, strip, unit) = (view.state(), layout::bottom_plates(view.window), layout::scale(view.window));
    let (seat, team) = (me.index(), state.team_of(me));
    let keys = [Action::Dash, Action::Banner].map(key_name);
    let key = keys
        .map(|key| hud.text.width(&key, Size::Small))
        .into_iter()
        .fold(hud.text.width("00 s", Size::Small), f32::max);
    let (pad, icon, dial) = (10.0 * unit, strip.h * 0.3, strip.h * 0.36);
    let (bar, cell) = (150.0 * unit, dial * 2.0 + key + pad * 1.6);
    let width = pad + icon * 3.2 + bar + pad * 1.5 + cell * 2.0;
    let beside = layout::economy_plate(view.window).right() + layout::PLATE_GAP * unit;
    let plate = Rect { x: ((view.window.w - width) / 2.0).max(beside).round(), w: width, ..strip };
    hud.plate("hero", plate);
    let row = plate.center().y;
    let rules = view.scene.setup.rules.unit(ControlBehaviour::Player, state.players.hero_kind[seat]);
    hud.icon(vec2(plate.x + pad + icon, row), icon * 0.85, (team, Side::Own), rules.glyph());
    let hp = state.hero(me).map_or(0, |hero| state.units.hp[hero].max(0));
    let away = state.hero(me).is_none() && state.outcome() == Outcome::Running;
    let rect = Rect::new(plate.x + pad + icon * 3.0, row - strip.h * 0.27, bar, strip.h * 0.54);
    let share = f32::from(hp) / f32::from(rules.hp);
    let colour = if share < 0.3 { RED } else { mix(colours::team(team), INK, 0.3) };
    hud.bar(rect, share, false, colour);
    hud.layout.record("health", "hero", grow(rect, 1.0), None);
    let text = if away { return_text(view, me) } else { format!("{hp}/{}", rules.hp) };
    let size = if away { Size::Body } else { Size::Small };
    let label = Label { name: "health: text", parent: "health", text: &text, size, colour: NEUTRAL };
    hud.write(&label, rect.center(), Align::Middle);
    let rules = &view.scene.setup.rules;
    let start = rect.right() + pad * 1.5 + dial;
    let dash = (state.players.dash_ready_at[seat], rules.dash_cooldown_ms);
    draw_dial(hud, view, me, ("dash", &key_name(Action::Dash)), vec2(start, row), dial, dash);
    let banner = (state.players.banner_ready_at[seat], rules.banner_cooldown_ms);
    draw_dial(hud, view, me, ("banner", &key_name(Action::Banner)), vec2(start + cell, row), dial, banner);
    plate.right()
}

/// Draws the number of selected units of each kind above the hero.
fn draw_selection(hud: &mut HudCanvas<'_>, view: &View<'_>, me: PlayerId) {
    let (state, unit) = (view.state(), layout::scale(view.window));
    let rows = || view.scene.selected.iter().filter_map(|&id| state.row(id));
    let rules = &view.scene.setup.rules;
    let hero = (String::from("hero"), ControlBehaviour::Player, state.players.hero_kind[me.index()]);
    let minions = rules.minion_kinds().zip(&rules.minions);
    let minions = minions.map(|(kind, minion)| (minion.plural(), ControlBehaviour::Minion, kind));
    let counted = [hero].into_iter().chain(minions).map(|(name, control, kind)| {
        let is_of = |row: &usize| (state.units.control[*row], state.units.kind[*row]) == (control, kind);
        (name, rules.unit(control, kind).glyph(), rows().filter(is_of).count())
    });
    let counted: Vec<_> = counted.filter(|&(_, _, count)| count > 0).collect();
    if counted.is_empty() {
        return;
    }
    let (cell, h) = (58.0 * unit, hud.text.px(Size::Body) * 1.6);
    let bottom = layout::bottom_plates(view.window).y - 6.0 * unit;
    // The last count has no gap after it.
    let w = cell * counted.len() as f32 - 8.0 * unit;
    let plate = Rect::new((view.window.w - w) / 2.0, bottom - h, w, h);
    hud.plate("selection", plate);
    let mut at = vec2(plate.x + h * 0.5, plate.center().y);
    for (name, glyph, count) in counted {
        let radius = h * if name == "hero" { 0.34 } else { 0.27 };
        hud.icon(at + vec2(0.0, h * 0.04), radius, (state.team_of(me), Side::Own), glyph);
        let label = Label {
            name: &format!("selection: {name}"),
            parent: "selection",
            text: &count.to_string(),
            size: Size::Body,
            colour: NEUTRAL,
        };
        hud.write(&label, at + vec2(h * 0.55, 0.0), Align::Left);
        at.x += cell;
    }
}

/// Draws a cooldown: its ring closes, and the sign lights up when the ability is ready.
fn draw_dial(
    hud: &mut HudCanvas<'_>,
    view: &View<'_>,
    me: PlayerId,
    (name, key): (&str, &str),
    at: Vec2,
    radius: f32,
    (ready_at, cooldown_ms): (Tick, u32),
) {
    let left = ((ready_at.0 as f32 - view.now) / view.hz).max(0.0);
    let total = (cooldown_ms as f32 / 1000.0).max(0.1);
    let is_ready = left <= 0.0 && view.state().hero(me).is_some();
    let bright = colours::light(colours::team(view.state().team_of(me)));
    let colour = if is_ready { bright } else { mix(WALL, bright, 0.25) };
    let width = (radius * 0.22).max(2.0);
    hud.canvas.ring(at, radius * 0.86, width, mix(colours::TABLE, WALL, 0.6));
    let share = 1.0 - (left / total).min(1.0);
    hud.canvas.arc(at, radius * 0.86, width, (-FRAC_PI_2, -FRAC_PI_2 + TAU * share.max(0.01)), colour);
    let size = radius * 0.45;
    if name == "dash" {
        for shift in [-0.45, 0.35] {
            let tip = at + vec2(size * (shift + 0.6), 0.0);
            hud.canvas.line(tip, tip + vec2(-size * 0.8, -size * 0.8), width * 0.8, colour);
            hud.canvas.line(tip, tip + vec2(-size * 0.8, size * 0.8), width * 0.8, colour);
        }
    } else {
        let foot = at + vec2(-size * 0.5, size);
        let top = at + vec2(-size * 0.5, -size * 1.1);
        hud.canvas.line(foot, top, width * 0.8, colour);
        hud.canvas.convex(&[top, top + vec2(size * 1.5, size * 0.55), top + vec2(0.0, size * 1.1)], colour);
    }
    let text = if left > 0.0 { format!("{:.0} s", left.ceil()) } else { key.to_owned() };
    let ink = if is_ready { NEUTRAL } else { mix(WALL, NEUTRAL, 0.5) };
    let label = Label { name, parent: "hero", text: &text, size: Size::Small, colour: ink };
    hud.write(&label, at + vec2(radius * 1.35, 0.0), Align::Left);
}

/// Says when the hero returns.
fn return_text(view: &View<'_>, me: PlayerId) -> String {
    let returns = view.state().players.respawn_at[me.index()];
    if returns == Tick::NEVER || returns >= view.sudden_death() {
        return "gone for good".into();
    }
    let left = (returns.0 as f32 - view.now) / view.hz;
    format!("returns in {:.0} s", left.max(0.0).ceil())
}

/// Says in large letters who has won.
fn draw_verdict(hud: &mut HudCanvas<'_>, view: &View<'_>) {
    let text = match (view.state().winner(), view.my_team()) {
        (Some(winner), Some(mine)) if winner == mine => "Victory",
        (Some(_), Some(_)) => "Defeat",
        (None, _) => "A draw",
        (Some(_), None) => return,
    };
    let (seen, px) = (view.camera.viewport, hud.text.px(Size::Huge));
    let (w, h) = (hud.text.width(text, Size::Huge) + 2.0 * px, px * 1.6);
    let plate = Rect::new((seen.center().x - w / 2.0).round(), (seen.y + seen.h * 0.16).round(), w, h);
    hud.plate("verdict", plate);
    let colour = if text == "Victory" { GOLD } else { NEUTRAL };
    let rule = Rect::new(plate.x, plate.bottom() - px * 0.06, plate.w, px * 0.06);
    hud.canvas.rect(rule, colour);
    let label = Label { name: "verdict: text", parent: "verdict", text, size: Size::Huge, colour };
    hud.write(&label, plate.center(), Align::Middle);
}

// The connection.

/// Draws the connection at the right of the strip, or above the strip if that is occupied up to `taken`, in pixels.
fn draw_connection(hud: &mut HudCanvas<'_>, view: &View<'_>, net: &NetStatus, taken: f32) {
    let (strip, unit) = (layout::bottom_plates(view.window), layout::scale(view.window));
    let rate = net.updates_per_s.map_or(String::new(), |rate| format!("   {rate} updates/s"));
    let text = if net.is_silent {
        "nothing arrives".to_owned()
    } else {
        let (rtt, delay, loss) = (net.rtt_ms, net.delay_ms, net.loss * 100.0);
        format!("RTT {rtt:.0} ms   delay {delay:.0} ms   loss {loss:.0} %{rate}")
    };
    // The widest text sets the width, so that the plate does not flicker.
    let widest = if rate.is_empty() { "" } else { "   00 updates/s" };
    let widest = hud.text.width(&format!("RTT 000 ms   delay 000 ms   loss 00 %{widest}"), Size::Small);
    let (pad, bars) = (10.0 * unit, strip.h * 0.5);
    let w = widest.max(hud.text.width(&text, Size::Small)) + pad * 2.5 + bars;
    let x = strip.right() - w;
    let above = if x < taken + 4.0 * unit { strip.h + 6.0 * unit } else { 0.0 };
    let plate = Rect { x, w, y: strip.y - above, ..strip };
    hud.plate("connection", plate);
    let row = plate.center().y;
    let quality = match (net.rtt_ms, net.loss) {
        _ if net.is_silent => 0,
        (rtt, loss) if net.stalled.is_some() || rtt > 250.0 || loss > 0.1 => 1,
        (rtt, loss) if rtt > 120.0 || loss > 0.03 => 2,
        (rtt, _) if rtt > 60.0 => 3,
        _ => 4,
    };
    for bar in 0..4 {
        let height = bars * (0.4 + 0.2 * bar as f32);
        let rect = Rect::new(
            plate.x + pad + bars * 0.25 * bar as f32,
            row + bars / 2.0 - height,
            bars * 0.17,
            height,
        );
        let lit = if quality == 1 { RED } else { NEUTRAL };
        hud.canvas.rect(rect, if bar < quality { lit } else { mix(colours::TABLE, WALL, 0.6) });
    }
    let label = Label {
        name: "connection: text",
        parent: "connection",
        text: &text,
        size: Size::Small,
        colour: NEUTRAL,
    };
    hud.write(&label, vec2(plate.x + pad * 1.5 + bars, row), Align::Left);
}

/// Draws the reason for a stall.
fn draw_stall(hud: &mut HudCanvas<'_>, view: &View<'_>, net: &NetStatus) {
    let Some(stalled) = &net.stalled else { return };
    let (px, seen) = (hud.text.px(Size::Body), view.camera.viewport);
    let width = hud.text.width(stalled, Size::Body) + px * 3.0;
    let plate = Rect::new(seen.center().x - width / 2.0, seen.y + seen.h * 0.14, width, px * 1.9);
    hud.plate("stall", plate);
    let row = plate.center().y;
    hud.canvas.disc(vec2(plate.x + px, row), px * 0.3, RED);
    let label =
        Label { name: "stall: text", parent: "stall", text: stalled, size: Size::Body, colour: NEUTRAL };
    hud.write(&label, vec2(plate.x + px * 1.8, row), Align::Left);
}
