//! Supply, minions, and the two training buttons.

use std::f32::consts::TAU;

use macroquad::prelude::{Color, Rect, Vec2, vec2};
use sim::{AttackBehaviour, ControlBehaviour, KindId, PlayerId};

use super::colours::{self, GOLD, INK, NEUTRAL, RED, TABLE, WALL, alpha, mix};
use super::hud_canvas::HudCanvas;
use super::layout;
use super::text::{Align, Label, Size};
use super::view::View;
use crate::gui::bindings::{Action, key_name};
use crate::gui::production::{ByKind, Economy, Refusal};

/// Time for which the reason of a refusal is shown, in seconds.
pub(crate) const REFUSAL_SHOWN_S: f32 = 2.5;
/// Side of a keycap, in sizes of its text.
const KEY_SIDE: f32 = 1.25;
/// Time for which a missing resource flashes, in seconds.
const FLASH_S: f32 = 0.9;

/// Training input of the player that is not part of the match's state.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TrainingStatus {
    /// Whether training repeats, by kind.
    pub(crate) repeats: ByKind<bool>,
    /// Number in training, including commands in flight, by kind.
    pub(crate) queued: ByKind<u32>,
    /// Kind whose button is under the pointer.
    pub(crate) hovered: Option<KindId>,
    /// Last refusal, and its age in seconds.
    pub(crate) refusal: Option<(Refusal, f32)>,
}

/// Draws a player's economy: the player's own or the left player's on the left, the other player's on the right.
pub(super) fn draw(hud: &mut HudCanvas<'_>, view: &View<'_>, player: PlayerId, is_left: bool) {
    let economy = Economy::of(view.scene.setup, view.state(), player);
    let plate = layout::economy_plate(view.window);
    let right = layout::bottom_plates(view.window).right();
    let plate = Rect { x: if is_left { plate.x } else { right - plate.w }, ..plate };
    let parent = if is_left { "economy" } else { "right economy" };
    let card =
        Card { parent, plate, economy, player, status: view.scene.training, flashes: view.look.flashes };
    hud.plate(parent, plate);
    card.draw_counters(hud, view);
    for kind in view.scene.setup.rules.minion_kinds() {
        card.draw_button(hud, view, kind);
    }
    card.draw_note(hud, view);
}

/// Economy of one player.
struct Card<'a> {
    parent: &'static str,
    plate: Rect,
    economy: Economy,
    player: PlayerId,
    /// Training status; `None` for a spectator.
    status: Option<&'a TrainingStatus>,
    flashes: bool,
}

impl Card<'_> {
    fn team(&self, view: &View<'_>) -> u8 {
        view.state().team_of(self.player)
    }

    /// Returns the remaining flash, from 0 to 1, of the resource that the last refusal was about.
    fn flash(&self, is_it: impl Fn(Refusal) -> bool) -> f32 {
        let refusal = self.status.and_then(|status| status.refusal);
        let refusal = refusal.filter(|&(refusal, _)| self.flashes && is_it(refusal));
        refusal.map_or(0.0, |(_, age_s)| (1.0 - age_s / FLASH_S).max(0.0))
    }

    /// Draws supply above, minions below.
    fn draw_counters(&self, hud: &mut HudCanvas<'_>, view: &View<'_>) {
        let (unit, economy, team) = (layout::scale(view.window), &self.economy, self.team(view));
        let (icon, row) = (self.plate.h * 0.17, self.plate.h * 0.25);
        let at = vec2(self.plate.x + 10.0 * unit + icon, self.plate.y + row);
        let missing = self.flash(|refusal| matches!(refusal, Refusal::Supply { .. }));
        self.draw_flash(hud, Rect::new(self.plate.x, self.plate.y, 88.0 * unit, row * 2.0), missing);
        draw_coins(hud, at, icon * 1.1, colours::light(colours::team(team)));
        // Supply that no army has room for is not lost by waiting.
        let is_full = economy.supply >= economy.supply_max && economy.minions < economy.minions_max;
        let counted = [
            ("supply", economy.supply, economy.supply_max, if is_full { RED } else { NEUTRAL }),
            ("minions", economy.minions, economy.minions_max, NEUTRAL),
        ];
        let below = at + vec2(0.0, self.plate.h * 0.5);
        let missing = self.flash(|refusal| matches!(refusal, Refusal::Army(_)));
        let lower = Rect::new(self.plate.x, self.plate.y + row * 2.0, 88.0 * unit, row * 2.0);
        self.draw_flash(hud, lower, missing);
        let first = view.scene.setup.rules.unit(ControlBehaviour::Minion, KindId(0));
        hud.icon(below, icon, (team, view.side(team)), first.glyph());
        for (line, (name, number, most, colour)) in counted.into_iter().enumerate() {
            let label = Label {
                name: &format!("{}: {name}", self.parent),
                parent: self.parent,
                text: &format!("{number}/{most}"),
                size: Size::Body,
                colour,
            };
            let at = at + vec2(icon + 7.0 * unit, self.plate.h * 0.5 * line as f32);
            hud.write(&label, at, Align::Left);
        }
    }

    fn draw_flash(&self, hud: &mut HudCanvas<'_>, rect: Rect, share: f32) {
        if share > 0.0 {
            hud.canvas.rect(rect, alpha(RED, 0.6 * share));
            hud.canvas.frame(rect, 2.0, alpha(RED, share));
        }
    }

    /// Draws icon, name and key; below them price, queue, and the repeat sign.
    fn draw_button(&self, hud: &mut HudCanvas<'_>, view: &View<'_>, kind: KindId) {
        let (unit, at, team) = (layout::scale(view.window), kind.index(), self.team(view));
        let rules = view.scene.setup.rules.unit(ControlBehaviour::Minion, kind);
        let rect = layout::train_button(view.window, self.plate, at);
        let name = format!("{}: {}", self.parent, rules.name);
        hud.layout.record(&name, self.parent, rect, None);
        let is_affordable = self.economy.supply >= self.economy.costs[at];
        let is_hovered = self.status.is_some_and(|status| status.hovered == Some(kind));
        let repeats = self.status.is_some_and(|status| status.repeats[at]);
        let colour = colours::team(team);
        hud.canvas.rect(rect, mix(TABLE, WALL, if is_hovered { 0.75 } else { 0.45 }));
        self.draw_progress(hud, view, kind, rect);
        let icon = rect.h * 0.27;
        hud.icon(vec2(rect.x + icon * 1.5, rect.center().y), icon, (team, view.side(team)), rules.glyph());
        // Repeated training waits for its price; it is not refused.
        if !is_affordable && !repeats {
            hud.canvas.rect(rect, alpha(TABLE, 0.62));
        }
        let ink = if is_affordable || repeats { NEUTRAL } else { mix(WALL, NEUTRAL, 0.55) };
        let (left, right) = (rect.x + icon * 3.1, rect.right() - 7.0 * unit);
        let (upper, lower) = (rect.y + rect.h * 0.29, rect.y + rect.h * 0.72);
        let write = |hud: &mut HudCanvas<'_>, what: &str, text: &str, at: Vec2, align, colour| {
            let label_name = format!("{name}: {what}");
            let label = Label { name: &label_name, parent: &name, text, size: Size::Small, colour };
            hud.write(&label, at, align)
        };
        let is_named = self.names_kinds(hud, view, (left, right));
        if is_named {
            write(hud, "name", &rules.name.capitalised(), vec2(left, upper), Align::Left, ink);
        }
        let price = self.economy.costs[at].to_string();
        let coin = rect.h * 0.13;
        draw_coins(
            hud,
            vec2(left + coin, lower),
            coin,
            if is_affordable { colours::light(colour) } else { WALL },
        );
        let colour_of_price = if is_affordable { ink } else { RED };
        write(hud, "price", &price, vec2(left + coin * 2.6, lower), Align::Left, colour_of_price);
        let queued = self.status.map_or(self.economy.training[at], |status| status.queued[at]);
        if queued > 0 {
            let full = self.flash(|refusal| matches!(refusal, Refusal::Queue(_)));
            let end = write(
                hud,
                "queue",
                &format!("x {queued}"),
                if is_named { vec2(left + 46.0 * unit, lower) } else { vec2(left, upper) },
                Align::Left,
                NEUTRAL,
            );
            self.draw_flash(hud, super::hud_canvas::grow(end, 3.0 * unit), full);
        }
        if self.status.is_some() {
            self.draw_key(hud, &name, kind, vec2(right, upper), unit);
        }
        if repeats {
            let bright = colours::light(colour);
            draw_loop(hud, vec2(right - 8.0 * unit, lower), rect.h * 0.16, bright);
            hud.canvas.frame(rect, (2.0 * unit).max(1.5), bright);
        } else if is_hovered {
            hud.canvas.frame(rect, (1.5 * unit).max(1.0), NEUTRAL);
        }
    }

    /// Whether the names of all kinds fit between the icon and the key of their buttons.
    fn names_kinds(&self, hud: &HudCanvas<'_>, view: &View<'_>, (left, right): (f32, f32)) -> bool {
        let key = if self.status.is_some() { hud.text.px(Size::Small) * KEY_SIDE } else { 0.0 };
        let room = right - key - 4.0 * layout::scale(view.window) - left;
        let fits = |name: &str| hud.text.width(name, Size::Small) <= room;
        layout::names_kinds()
            && view.scene.setup.rules.minions.iter().all(|minion| fits(&minion.unit.name.capitalised()))
    }

    /// Draws the progress of the first minion in training, in its button.
    fn draw_progress(&self, hud: &mut HudCanvas<'_>, view: &View<'_>, kind: KindId, rect: Rect) {
        let (players, seat) = (&view.state().players, self.player.index());
        if view.state().training(self.player).next() != Some(kind) {
            return;
        }
        let setup = view.scene.setup;
        let total = setup.tick_rate.ticks_in_ms(setup.rules.training_ms).max(1) as f32;
        let left = (players.training_done_at[seat].0 as f32 - view.now) / total;
        let (done, colour) = ((1.0 - left).clamp(0.0, 1.0), colours::team(self.team(view)));
        hud.canvas.rect(Rect { w: rect.w * done, ..rect }, alpha(colour, 0.28));
        let h = (rect.h * 0.08).max(3.0);
        hud.canvas.rect(Rect { y: rect.bottom() - h, h, w: rect.w * done, ..rect }, colour);
    }

    /// Draws a keycap with its right edge at `at`.
    fn draw_key(&self, hud: &mut HudCanvas<'_>, parent: &str, kind: KindId, at: Vec2, unit: f32) {
        let key = key_name(Action::Train(kind));
        if key.is_empty() {
            return;
        }
        let side = hud.text.px(Size::Small) * KEY_SIDE;
        let cap = Rect::new(at.x - side, at.y - side / 2.0, side, side);
        hud.canvas.rect(cap, alpha(INK, 0.75));
        hud.canvas.frame(cap, unit.max(1.0), mix(WALL, NEUTRAL, 0.4));
        let name = format!("{parent}: key");
        let label = Label { name: &name, parent, text: &key, size: Size::Small, colour: GOLD };
        hud.write(&label, cap.center(), Align::Middle);
    }

    /// Draws, above the plate, the last refusal, or a description of the button under the pointer.
    fn draw_note(&self, hud: &mut HudCanvas<'_>, view: &View<'_>) {
        let Some(status) = self.status else { return };
        let plate = self.plate;
        if let Some((refusal, _)) = status.refusal {
            draw_lines(hud, view, ("refusal", plate), &[&refusal.text(&view.scene.setup.rules)], RED);
        } else if let Some(kind) = status.hovered {
            let lines = description(view, kind, &self.economy);
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            draw_lines(hud, view, ("tooltip", plate), &lines, WALL);
        }
    }
}

/// Describes a kind: its strength, price, time, and where it appears.
fn description(view: &View<'_>, kind: KindId, economy: &Economy) -> Vec<String> {
    let setup = view.scene.setup;
    let rules = setup.rules.unit(ControlBehaviour::Minion, kind);
    let speed = f64::from(rules.speed) / 1000.0;
    let good_at = match rules.attack {
        AttackBehaviour::Swordsman => format!("{} HP, speed {speed}. Cuts up to three at once.", rules.hp),
        AttackBehaviour::Archer => {
            format!("{} HP, speed {speed}. Shoots {} tiles far; weak up close.", rules.hp, rules.reach / 1000)
        }
    };
    let (cost, seconds) = (economy.costs[kind.index()], setup.rules.training_ms as f32 / 1000.0);
    let key = key_name(Action::Train(kind));
    let mut lines =
        vec![rules.name.capitalised().to_string(), good_at, format!("{cost} supply, {seconds} s to train.")];
    let more = setup.rules.behind_supply_percent.saturating_sub(100);
    if more > 0 {
        lines.push(format!("Supply comes by itself, and {more} % more of it"));
        lines.push("while your team is behind in points.".to_owned());
    }
    lines.extend([
        "Appears in a circle you hold while".to_owned(),
        "your hero is in it, else at your core.".to_owned(),
        if key.is_empty() { "Click: train one.".into() } else { format!("Click or {key}: train one.") },
        if key.is_empty() {
            "Right click: repeat.".into()
        } else {
            format!("Right click or Shift + {key}: repeat.")
        },
    ]);
    lines
}

/// Draws lines on a plate above another one.
fn draw_lines(
    hud: &mut HudCanvas<'_>,
    view: &View<'_>,
    (name, below): (&str, Rect),
    lines: &[&str],
    frame: Color,
) {
    let (unit, px) = (layout::scale(view.window), hud.text.px(Size::Small));
    let widest = lines.iter().map(|line| hud.text.width(line, Size::Small)).fold(0.0, f32::max);
    let (pad, step) = (10.0 * unit, px * 1.45);
    let h = step * lines.len() as f32 + pad * 0.8;
    let plate = Rect::new(below.x, below.y - h - 6.0 * unit, widest + 2.0 * pad, h);
    // The plate is more opaque than others, since it holds more text.
    hud.canvas.rect(plate, TABLE);
    hud.plate(name, plate);
    hud.canvas.frame(plate, (1.5 * unit).max(1.0), frame);
    for (place, line) in lines.iter().enumerate() {
        let label = Label {
            name: &format!("{name}: {place}"),
            parent: name,
            text: line,
            size: Size::Small,
            colour: if place == 0 && lines.len() > 1 { GOLD } else { NEUTRAL },
        };
        let at = vec2(plate.x + pad, plate.y + pad * 0.4 + step * (place as f32 + 0.5));
        hud.write(&label, at, Align::Left);
    }
}

/// Draws two stacked tokens.
fn draw_coins(hud: &mut HudCanvas<'_>, at: Vec2, size: f32, colour: Color) {
    for (lift, shade) in [(0.35, 0.45), (-0.3, 0.0)] {
        let middle = at + vec2(0.0, size * lift);
        let hexagon = [0, 1, 2, 3, 4, 5]
            .map(|i| middle + Vec2::from_angle(i as f32 * TAU / 6.0) * vec2(size * 0.85, size * 0.55));
        hud.canvas.outlined(&hexagon, mix(colour, INK, shade), INK, 1.5);
    }
}

/// Draws the repeat sign: a circular arrow.
fn draw_loop(hud: &mut HudCanvas<'_>, at: Vec2, radius: f32, colour: Color) {
    let width = (radius * 0.34).max(1.5);
    hud.canvas.arc(at, radius, width, (0.0, TAU * 0.8), colour);
    let end = Vec2::from_angle(TAU * 0.8);
    let (tip, out) = (at + end * radius, end * radius * 0.75);
    hud.canvas.convex(&[tip + out, tip + end.perp() * radius * 0.9, tip - out], colour);
}
