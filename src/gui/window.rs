//! The window itself: whether it has shown a frame, and its size.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use macroquad::prelude::{Rect, screen_height, screen_width};

/// Whether a frame has been shown: from then on a panic is not about the window.
pub(crate) static HAS_OPENED: AtomicBool = AtomicBool::new(false);

/// The window in pixels.
pub(crate) fn window() -> Rect {
    Rect::new(0.0, 0.0, screen_width(), screen_height())
}

/// What window managers know the window by.
pub(crate) const WM_CLASS: &str = "mini-rts-arena";
/// The smallest window, pixels.
pub(crate) const SIZE_LEAST: [u16; 2] = [800, 450];
/// The room that every screen needs, points.
const ROOM: [f32; 2] = [853.0, 480.0];

/// Size of the interface that the player has set, percent.
static TEXT_PERCENT: AtomicU32 = AtomicU32::new(100);

/// Sets the size of the interface, percent.
pub(crate) fn set_text_percent(percent: u32) {
    TEXT_PERCENT.store(percent, Ordering::Relaxed);
}

/// How much larger the interface is than usual.
pub(crate) fn text_factor() -> f32 {
    TEXT_PERCENT.load(Ordering::Relaxed) as f32 / 100.0
}

/// Pixels of the screens per point: they grow with the window and with the player's setting, as far as there is
/// room.
pub(crate) fn scale() -> f32 {
    scale_for(ROOM)
}

/// The same for a screen that needs more room, points.
pub(crate) fn scale_for(room: [f32; 2]) -> f32 {
    fitting(window(), room, text_factor())
}

fn fitting(window: Rect, room: [f32; 2], factor: f32) -> f32 {
    let usual = (window.w / 1280.0).min(window.h / 720.0).max(1.0);
    (usual * factor).min(window.w / room[0]).min(window.h / room[1]).max(0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interface_grows_as_far_as_there_is_room() {
        let of = |w, h, factor| fitting(Rect::new(0.0, 0.0, w, h), ROOM, factor);
        assert_eq!((of(1280.0, 720.0, 1.0), of(1920.0, 1080.0, 1.0)), (1.0, 1.5));
        assert_eq!(of(1280.0, 720.0, 1.5), 1.5);
        assert_eq!(of(960.0, 540.0, 1.0), 1.0);
        assert!(of(960.0, 540.0, 1.5) < 1.13, "there is no room for more");
        let [w, h] = SIZE_LEAST.map(f32::from);
        assert!(of(w, h, 1.0) * 14.0 > 12.0, "small text can be read in the smallest window");
    }
}
