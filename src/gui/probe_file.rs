//! Test probe: everything that is shown, with its bounds, as a JSON file that is rewritten after each frame.
//!
//! `ARENA_LAYOUT` names the file, `ARENA_WINDOW` the size of the window as `1280x720`, `ARENA_FPS` the frame rate
//! limit; with `ARENA_PIXELS` every frame is searched for text drawn as black boxes.

use macroquad::math::Rect;
use macroquad::texture::{Image, get_screen_data};
use serde_json::{Value, json};
use std::path::PathBuf;

use super::bindings;
use super::context::AppContext;
use super::display::{NoWindow, SIDE_LEAST, SIDE_MAX};
use super::draw::layout::{Item, Recorder};
use super::screens::Screen;
use super::window::window;

/// File that describes what a player sees.
pub(crate) struct ProbeFile {
    path: PathBuf,
    frames: u64,
    /// Number of pictures shown.
    drawn: u64,
    /// Number of frames with black boxes in place of text; `None` if not checked.
    black_texts: Option<u64>,
    /// Size of the last frame if it had black boxes. It counts once the next one has that size: the system may have made
    /// the window smaller before the frame was read, and pixels outside of a window read as black.
    last_black: Option<[u16; 2]>,
}

/// Returns the size of the window, if one is given.
///
/// # Errors
/// If no window can have that size.
pub(crate) fn window_size() -> Result<Option<[u16; 2]>, NoWindow> {
    let Some(text) = std::env::var_os("ARENA_WINDOW").filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    let text = text.to_string_lossy().into_owned();
    size_of(&text).map(Some).ok_or(NoWindow::Size(text))
}

fn size_of(text: &str) -> Option<[u16; 2]> {
    let side = |text: &str| text.parse().ok().filter(|side| (SIDE_LEAST..=SIDE_MAX).contains(side));
    let (width, height) = text.split_once('x')?;
    Some([side(width)?, side(height)?])
}

/// Returns the frame rate limit, if one is given.
pub(crate) fn frames_per_s() -> Option<u32> {
    std::env::var("ARENA_FPS").ok()?.parse().ok().filter(|&frames| frames > 0)
}

impl ProbeFile {
    pub(crate) fn from_environment() -> Option<Self> {
        let path = std::env::var_os("ARENA_LAYOUT")?.into();
        let black_texts = std::env::var_os("ARENA_PIXELS").map(|_| 0);
        Some(Self { path, frames: 0, drawn: 0, black_texts, last_black: None })
    }

    /// Inspects the frame that was just drawn.
    pub(crate) fn look(&mut self, screen: &Screen, context: &AppContext) {
        self.drawn += 1;
        let Some(found) = self.black_texts.as_mut().filter(|_| screen.shows_arena()) else { return };
        let picture = get_screen_data();
        let texts = context.painter.layout.items.iter().filter(|item| item.text_px.is_some());
        let has_black = texts.map(|item| item.rect).any(|rect| is_black(&picture, rect));
        let size = [picture.width, picture.height];
        *found += u64::from(self.last_black == Some(size));
        self.last_black = has_black.then_some(size);
    }

    /// Writes the file.
    pub(crate) fn write(&mut self, screen: &Screen, context: &AppContext, menus: &Recorder, fps: i32) {
        self.frames += 1;
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
            "drawn": self.drawn,
            "black_texts": self.black_texts,
            "settings": context.settings,
            "keys": bindings::labels(),
            "takes_keys": screen.takes_keys(),
            "fps": fps,
            "draw_calls": context.painter.draw_calls,
            "window": [window().w, window().h],
            "match": screen.facts(),
            "focused": menus.focused,
            "is_inert": menus.is_inert,
            "items": menus.items.iter().map(item).collect::<Vec<_>>(),
            "arena_items": arena.iter().map(item).collect::<Vec<_>>(),
            "problems": problems,
        });
        // An atomic replacement: a reader must never find half a file.
        let draft = self.path.with_extension("tmp");
        if std::fs::write(&draft, value.to_string()).is_ok() {
            let _ = std::fs::rename(&draft, &self.path);
        }
    }
}

/// Whether a text is drawn as black boxes: the interface does not use pure black.
fn is_black(picture: &Image, text: Rect) -> bool {
    const SHARE: usize = 10;
    let (width, height) = (usize::from(picture.width), usize::from(picture.height));
    let side = |from: f32, to: f32, most: usize| (from.max(0.0) as usize)..(to.max(0.0) as usize).min(most);
    let (mut black, mut all) = (0, 0);
    for y in side(text.y, text.bottom(), height) {
        for x in side(text.x, text.right(), width) {
            // Rows start at the bottom.
            let at = ((height - 1 - y) * width + x) * 4;
            all += 1;
            black += usize::from(picture.bytes[at..at + 3] == [0, 0, 0]);
        }
    }
    all > 0 && black * SHARE > all
}

fn item(item: &Item) -> Value {
    let rect = item.rect;
    json!({
        "name": item.name,
        "parent": item.parent,
        "rect": [rect.x, rect.y, rect.w, rect.h],
        "text_px": item.text_px,
        "text": item.text,
    })
}

#[cfg(test)]
mod tests {
    use super::size_of;

    #[test]
    fn impossible_window_sizes_are_rejected() {
        assert_eq!(size_of("1280x720"), Some([1280, 720]));
        for text in
            ["0x0", "1280x0", "-5x720", "1280", "x", "70000x720", "16384x720", "1280x720x24", "1e3x720"]
        {
            assert_eq!(size_of(text), None, "{text}");
        }
    }
}
