//! For tests: what is shown, and where, as a JSON file that is written anew several times a second.
//!
//! `ARENA_LAYOUT` names the file, `ARENA_WINDOW` the size of the window as `1280x720`, `ARENA_FPS` the most
//! frames per second.

use serde_json::{Value, json};
use std::path::PathBuf;

use super::context::AppContext;
use super::draw::layout::{Item, Recorder};
use super::screens::Screen;
use super::window::window;

/// Between two writes.
const EVERY_S: f64 = 0.1;

/// A file that says what a player sees.
pub(crate) struct ProbeFile {
    path: PathBuf,
    write_at: f64,
    frames: u64,
}

/// The size of the window, if one is given.
pub(crate) fn window_size() -> Option<(i32, i32)> {
    let text = std::env::var("ARENA_WINDOW").ok()?;
    let (width, height) = text.split_once('x')?;
    Some((width.parse().ok()?, height.parse().ok()?))
}

/// The most frames per second, if that is given.
pub(crate) fn frames_per_s() -> Option<u32> {
    std::env::var("ARENA_FPS").ok()?.parse().ok().filter(|&frames| frames > 0)
}

impl ProbeFile {
    pub(crate) fn from_environment() -> Option<Self> {
        let path = std::env::var_os("ARENA_LAYOUT")?.into();
        Some(Self { path, write_at: 0.0, frames: 0 })
    }

    /// Writes, if it is time to.
    pub(crate) fn write(&mut self, screen: &Screen, context: &AppContext, menus: &Recorder, fps: i32) {
        self.frames += 1;
        if context.now < self.write_at {
            return;
        }
        self.write_at = context.now + EVERY_S;
        let shows_arena = screen.shows_arena();
        let arena: &[Item] = if shows_arena { &context.painter.layout.items } else { &[] };
        let mut problems = menus.problems();
        if shows_arena {
            problems.extend(context.painter.layout.problems());
        }
        let value = json!({
            "screen": screen.name(),
            "seconds": context.now,
            "frames": self.frames,
            "fps": fps,
            "draw_calls": context.painter.draw_calls,
            "window": [window().w, window().h],
            "match": screen.facts(),
            "items": menus.items.iter().map(item).collect::<Vec<_>>(),
            "arena_items": arena.iter().map(item).collect::<Vec<_>>(),
            "problems": problems,
        });
        // Whole or not at all: a reader must not meet half a file.
        let draft = self.path.with_extension("tmp");
        if std::fs::write(&draft, value.to_string()).is_ok() {
            let _ = std::fs::rename(&draft, &self.path);
        }
    }
}

fn item(item: &Item) -> Value {
    let rect = item.rect;
    json!({
        "name": item.name,
        "parent": item.parent,
        "rect": [rect.x, rect.y, rect.w, rect.h],
        "text_px": item.text_px,
    })
}
