//! The size of the window.

use macroquad::prelude::{Rect, screen_height, screen_width};

/// The window in pixels.
pub(crate) fn window() -> Rect {
    Rect::new(0.0, 0.0, screen_width(), screen_height())
}

/// Pixels of the interface per point: it grows with the window, and never below what can be read.
pub(crate) fn scale() -> f32 {
    let window = window();
    (window.w / 1280.0).min(window.h / 720.0).max(1.0)
}
