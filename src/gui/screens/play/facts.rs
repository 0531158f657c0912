//! Facts of a match, for tests.

use macroquad::math::vec2;
use serde_json::{Value, json};

use super::PlayScreen;
use crate::gui::draw::layout;
use crate::gui::window::window;
use sim::{ControlBehaviour, PlayerId};

impl PlayScreen {
    /// Returns the positions of the player's units, so that a test can click them, and other facts.
    pub(crate) fn facts(&self) -> Value {
        let Some(view) = &self.view else { return Value::Null };
        let viewport = layout::arena_viewport(window());
        let mut look = self.camera_control;
        let camera = look.camera(&view.setup.map, viewport, window(), None);
        let units = &view.current.units;
        let me = view.me.unwrap_or(PlayerId::NONE);
        let place = |row: usize| {
            let at = camera.to_screen(vec2(units.x[row].to_num(), units.y[row].to_num()));
            json!([at.x, at.y])
        };
        let of = |own: bool| {
            let rows = (0..units.len()).filter(move |&row| {
                (units.owner[row] == me) == own && units.control[row] == ControlBehaviour::Minion
            });
            rows.map(place).collect::<Vec<_>>()
        };
        let orders: Vec<String> = (0..units.len())
            .filter(|&row| units.owner[row] == me && units.control[row] == ControlBehaviour::Minion)
            .map(|row| format!("{:?}", units.order[row]))
            .collect();
        json!({
            "tick": view.current.tick().0,
            "me": me.0,
            "hero": view.current.hero(me).map(place),
            "hero_tiles": view.current.hero(me).map(|row| [units.x[row].to_num::<f32>(), units.y[row].to_num()]),
            "minions": of(true),
            "orders": orders,
            "enemies": of(false),
            "queued": units.queued.iter().zip(&units.owner).filter(|(_, owner)| **owner == me)
                .map(|(queued, _)| u32::from(*queued)).sum::<u32>(),
            "base": view.setup.map.bases.get(me.index()).map(|&(x, y)| {
                let at = camera.to_screen(vec2(x as f32, y as f32) / 1000.0);
                json!([at.x, at.y])
            }),
            "base_selected": self.controller.base_selected,
            "rallies": view.current.players.rallies.get(me.index()) == Some(&1),
            "last_alert": self.alerts.last(),
            "selected": self.controller.selected.len(),
            "commands": view.current.players.commands.get(me.index()),
            "training": self.training.facts(view),
            "stalled": self.net_status(view).stalled,
            "overlay": format!("{:?}", self.overlay),
            "said": self.talk.said(),
            "is_paused": view.current.pause().is_some(),
            "is_locked": self.camera_control.is_locked(),
            "camera": [camera.centre.x, camera.centre.y, camera.tiles_high],
            "shielded": self.shielded_at.is_some(),
            "order_ran": self.controller.pointer_order(0.0).map(|order| order.left.is_some()),
            "is_halted": self.is_halting(),
            "is_practice": self.game.is_practice(),
            "task": self.task(view).map(|task| json!({
                "title": task.title,
                "progress": task.progress,
                "place": task.place.map(|at| camera.to_screen(at)).map(|at| json!([at.x, at.y])),
            })),
        })
    }
}
