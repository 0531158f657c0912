//! The window itself: whether it has shown a frame, and its size.

use std::sync::atomic::AtomicBool;

use macroquad::prelude::{Rect, screen_height, screen_width};

/// Whether a frame has been shown: from then on a panic is not about the window.
pub(crate) static HAS_OPENED: AtomicBool = AtomicBool::new(false);

/// The window in pixels.
pub(crate) fn window() -> Rect {
    Rect::new(0.0, 0.0, screen_width(), screen_height())
}

/// Pixels of the interface per point: it grows with the window, and never below what can be read.
pub(crate) fn scale() -> f32 {
    let window = window();
    (window.w / 1280.0).min(window.h / 720.0).max(1.0)
}
