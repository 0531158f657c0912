//! The window itself: whether it has shown a frame, its size, and how large everything in it is. Every place is in
//! pixels of the window, as the pointer is: the window library would divide by the scale of an X11 desktop.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use macroquad::camera::{Camera2D, set_camera};
use macroquad::miniquad;
use macroquad::prelude::{Rect, vec2};

/// Whether a frame has been shown: from then on a panic is not about the window.
pub(crate) static HAS_OPENED: AtomicBool = AtomicBool::new(false);

/// The window in pixels.
pub(crate) fn window() -> Rect {
    let (width, height) = miniquad::window::screen_size();
    Rect::new(0.0, 0.0, width, height)
}

/// Keeps what is drawn from now on within a rectangle of the window, or within all of it. Places are pixels of the
/// window in either case.
pub(crate) fn clip(within: Option<Rect>) {
    let rounded = |Rect { x, y, w, h }: Rect| Rect::new(x.round(), y.round(), w.round(), h.round());
    let (within, rect) = (within.map(rounded), within.map_or_else(window, rounded));
    // A viewport is counted from the lower edge.
    let viewport = within.map(|Rect { x, w, h, .. }| {
        let sides = [x, window().h - rect.bottom(), w, h].map(|side| side as i32);
        sides.into()
    });
    // Downward, as in the window.
    let zoom = vec2(2.0 / rect.w, 2.0 / rect.h);
    set_camera(&Camera2D { viewport, target: rect.center(), zoom, ..Camera2D::default() });
}

/// What window managers know the window by.
pub(crate) const WM_CLASS: &str = "mini-rts-arena";
/// The window of a first start, pixels; at this size a point is a pixel.
pub(crate) const SIZE_USUAL: [u16; 2] = [1280, 720];
/// The smallest window, pixels.
#[cfg(any(target_os = "linux", test))]
pub(crate) const SIZE_LEAST: [u16; 2] = [800, 450];
/// The room that every screen needs, points.
const ROOM: [f32; 2] = [853.0, 480.0];

/// Size of the interface that the player has set, percent.
static TEXT_PERCENT: AtomicU32 = AtomicU32::new(100);

/// Scale that the desktop asks for, in percent.
static DESKTOP_PERCENT: AtomicU32 = AtomicU32::new(100);

/// Sets how much larger than usual the desktop wants everything.
pub(crate) fn set_desktop_scale(scale: f32) {
    DESKTOP_PERCENT.store((scale * 100.0) as u32, Ordering::Relaxed);
}

/// Pixels per point before the player's setting: as the window grows and as the desktop wants.
pub(crate) fn usual_scale(window: Rect) -> f32 {
    let [width, height] = SIZE_USUAL.map(f32::from);
    let of_desktop = DESKTOP_PERCENT.load(Ordering::Relaxed) as f32 / 100.0;
    let of_window = (window.w / width).min(window.h / height);
    if of_desktop > 1.0 { of_window.max(of_desktop) } else { of_window }
}

/// Sets the size of the interface, percent.
pub(crate) fn set_text_percent(percent: u32) {
    TEXT_PERCENT.store(percent, Ordering::Relaxed);
}

/// How much larger the interface is than usual.
pub(crate) fn text_factor() -> f32 {
    TEXT_PERCENT.load(Ordering::Relaxed) as f32 / 100.0
}

/// Pixels of the screens per point: they grow with the window, the desktop and the player's setting, as far as there
/// is room.
pub(crate) fn scale() -> f32 {
    scale_for(ROOM)
}

/// The same for a screen that needs more room, points.
pub(crate) fn scale_for(room: [f32; 2]) -> f32 {
    fitting(window(), room, text_factor())
}

fn fitting(window: Rect, room: [f32; 2], factor: f32) -> f32 {
    (usual_scale(window).max(1.0) * factor).min(window.w / room[0]).min(window.h / room[1]).max(0.5)
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
