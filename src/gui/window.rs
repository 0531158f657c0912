//! The window: whether it has shown a frame, its size, and the scale of everything in it. All positions are in pixels
//! of the window, as the pointer's are; the window library would divide by the scale of an X11 desktop.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use macroquad::camera::{Camera2D, set_camera};
use macroquad::miniquad;
use macroquad::prelude::{Rect, vec2};

/// Whether a frame has been shown: a later panic is not due to opening the window.
pub(crate) static HAS_OPENED: AtomicBool = AtomicBool::new(false);

/// Returns the window, in pixels.
pub(crate) fn window() -> Rect {
    let (width, height) = miniquad::window::screen_size();
    Rect::new(0.0, 0.0, width, height)
}

/// Clips drawing to a rectangle of the window, or to all of it. Positions stay in pixels of the window.
pub(crate) fn clip(within: Option<Rect>) {
    let rounded = |Rect { x, y, w, h }: Rect| Rect::new(x.round(), y.round(), w.round(), h.round());
    let (within, rect) = (within.map(rounded), within.map_or_else(window, rounded));
    // A viewport is measured from the lower edge.
    let viewport = within.map(|Rect { x, w, h, .. }| {
        let sides = [x, window().h - rect.bottom(), w, h].map(|side| side as i32);
        sides.into()
    });
    // Downward, as in the window.
    let zoom = vec2(2.0 / rect.w, 2.0 / rect.h);
    set_camera(&Camera2D { viewport, target: rect.center(), zoom, ..Camera2D::default() });
}

/// Class name of the window, for window managers.
pub(crate) const WM_CLASS: &str = "mini-rts-arena";
/// Default size, in pixels; at this size a point is a pixel.
pub(crate) const SIZE_USUAL: [u16; 2] = [1280, 720];
/// Minimum size, in pixels.
#[cfg(any(target_os = "linux", test))]
pub(crate) const SIZE_LEAST: [u16; 2] = [800, 450];
/// Size that every screen needs, in points.
const ROOM: [f32; 2] = [853.0, 480.0];

/// Player's setting of the interface's size, in percent.
static TEXT_PERCENT: AtomicU32 = AtomicU32::new(100);

/// Scale that the desktop requests, in percent.
static DESKTOP_PERCENT: AtomicU32 = AtomicU32::new(100);

/// Sets the scale that the desktop requests.
pub(crate) fn set_desktop_scale(scale: f32) {
    DESKTOP_PERCENT.store((scale * 100.0) as u32, Ordering::Relaxed);
}

/// Returns the pixels per point before the player's setting: it grows with the window and the desktop's scale.
pub(crate) fn usual_scale(window: Rect) -> f32 {
    let [width, height] = SIZE_USUAL.map(f32::from);
    let of_desktop = DESKTOP_PERCENT.load(Ordering::Relaxed) as f32 / 100.0;
    let of_window = (window.w / width).min(window.h / height);
    if of_desktop > 1.0 { of_window.max(of_desktop) } else { of_window }
}

/// Sets the size of the interface, in percent.
pub(crate) fn set_text_percent(percent: u32) {
    TEXT_PERCENT.store(percent, Ordering::Relaxed);
}

/// Returns the player's scale factor of the interface.
pub(crate) fn text_factor() -> f32 {
    TEXT_PERCENT.load(Ordering::Relaxed) as f32 / 100.0
}

/// Returns the screens' pixels per point: it grows with the window, the desktop's scale and the player's setting, as
/// long as everything fits.
pub(crate) fn scale() -> f32 {
    scale_for(ROOM)
}

/// Returns the scale for a screen that needs more room, in points.
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
    fn the_interface_scales_up_while_it_fits() {
        let of = |w, h, factor| fitting(Rect::new(0.0, 0.0, w, h), ROOM, factor);
        assert_eq!((of(1280.0, 720.0, 1.0), of(1920.0, 1080.0, 1.0)), (1.0, 1.5));
        assert_eq!(of(1280.0, 720.0, 1.5), 1.5);
        assert_eq!(of(960.0, 540.0, 1.0), 1.0);
        assert!(of(960.0, 540.0, 1.5) < 1.13, "there is no room for more");
        let [w, h] = SIZE_LEAST.map(f32::from);
        assert!(of(w, h, 1.0) * 14.0 > 12.0, "small text can be read in the smallest window");
    }
}
