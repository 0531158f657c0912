//! Platform functions that the window library lacks: the desktop's scale, key positions, the window's visibility, its
//! minimum size, and toggling full screen.

use macroquad::miniquad::KeyCode;
#[cfg(target_os = "linux")]
use std::time::Duration;
use std::time::Instant;

#[cfg(target_os = "linux")]
use super::display::COLOUR_BITS_LEAST;
use super::display::NoWindow;
use super::key_event::KeyEvent;
#[cfg(target_os = "linux")]
use super::window::SIZE_LEAST;
use super::window::SIZE_USUAL;
#[cfg(target_os = "linux")]
use super::x11::{X11Desktop, X11Window};

/// Maximum share of the screen for an enlarged window when it opens: the desktop's panels and the window's frame need
/// the rest.
#[cfg(target_os = "linux")]
const SHARE_OF_SCREEN: f32 = 0.9;

/// The system's desktop, before the window is opened.
pub(crate) struct NativeDesktop {
    #[cfg(target_os = "linux")]
    x11: Option<X11Desktop>,
}

/// The end of a wait.
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only X11 wakes a window that rests"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Woken {
    /// The time is over.
    Late,
    /// The player has done something, or something has happened to the window.
    Early,
}

/// The window as the system knows it.
pub(crate) struct NativeWindow {
    #[cfg(target_os = "linux")]
    x11: Option<X11Window>,
    /// State of input devices at the last poll.
    #[cfg(target_os = "linux")]
    hands: Option<super::x11::Hands>,
}

impl NativeDesktop {
    /// Finds the desktop on which the window will open.
    ///
    /// # Errors
    /// If its colour depth is too low.
    pub(crate) fn find() -> Result<Self, NoWindow> {
        #[cfg(target_os = "linux")]
        let x11 = X11Desktop::connect();
        #[cfg(target_os = "linux")]
        if let Some(bits) = x11.as_ref().map(X11Desktop::colour_bits).filter(|&bits| bits < COLOUR_BITS_LEAST)
        {
            return Err(NoWindow::FewColours(bits));
        }
        Ok(Self {
            #[cfg(target_os = "linux")]
            x11,
        })
    }

    /// Returns the width and height with which the window opens: scaled like everything on this desktop, as far as
    /// the screen has room.
    pub(crate) fn window_size(&self) -> [u16; 2] {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &self.x11 {
            return size_on(x11.screen(), x11.scale());
        }
        SIZE_USUAL
    }

    /// Returns the window that was just opened here.
    pub(crate) fn window(self) -> NativeWindow {
        NativeWindow {
            #[cfg(target_os = "linux")]
            x11: self.x11.and_then(X11Window::find),
            #[cfg(target_os = "linux")]
            hands: None,
        }
    }
}

/// Returns the size of the window on a screen of this size and scale.
#[cfg(target_os = "linux")]
fn size_on(screen: [u16; 2], scale: f32) -> [u16; 2] {
    let [width, height] = [0, 1].map(|side| f32::from(screen[side]) / f32::from(SIZE_USUAL[side]));
    let room = width.min(height);
    let scale = scale.max(1.0).min((room * SHARE_OF_SCREEN).max(1.0)).min(room);
    [0, 1].map(|side| ((f32::from(SIZE_USUAL[side]) * scale) as u16).max(SIZE_LEAST[side]))
}

impl NativeWindow {
    /// Processes the system's events since the last frame; if `is_whole`, all events sent to any client until now.
    pub(crate) fn poll(&mut self, is_whole: bool) {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &mut self.x11 {
            x11.poll(is_whole);
        }
        #[cfg(not(target_os = "linux"))]
        let _ = is_whole;
    }

    /// Takes the key events since the last call; `None` where only the window library reports them.
    pub(crate) fn keys(&mut self) -> Option<impl Iterator<Item = KeyEvent>> {
        #[cfg(target_os = "linux")]
        return self.x11.as_mut()?.keys();
        #[cfg(not(target_os = "linux"))]
        None::<std::iter::Empty<KeyEvent>>
    }

    /// Whether the system reports key positions and text.
    pub(crate) const fn tells_keys(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &self.x11 {
            return x11.tells_keys();
        }
        false
    }

    /// Takes the labels of the keys, if the system reports them and they have changed.
    pub(crate) fn take_labels(&mut self) -> Option<Vec<(KeyCode, String)>> {
        #[cfg(target_os = "linux")]
        return self.x11.as_mut()?.take_labels();
        #[cfg(not(target_os = "linux"))]
        None
    }

    /// Returns the scale that the desktop requests; 1 where the system scales by itself.
    pub(crate) fn scale(&self) -> f32 {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &self.x11 {
            return x11.scale();
        }
        1.0
    }

    /// Whether any part of the window is visible; assumed where the system does not say.
    pub(crate) fn is_seen(&self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &self.x11 {
            return x11.is_seen();
        }
        true
    }

    /// Waits until `until` or any input of the player. Returns `None` immediately where the system does not report
    /// input.
    pub(crate) fn wait_for_hands(&mut self, until: Instant, has_focus: bool) -> Option<Woken> {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &mut self.x11 {
            /// Polling interval: a press is noticed as soon as in a menu in use.
            const LOOK_EVERY: Duration = Duration::from_millis(16);
            loop {
                let hands = x11.hands(has_focus)?;
                let left = until.saturating_duration_since(Instant::now());
                // The comparison with the previous wait includes input between the two.
                let before = self.hands.replace(hands);
                if before != self.hands || x11.take_is_touched() {
                    return Some(Woken::Early);
                }
                if left.is_zero() {
                    return Some(Woken::Late);
                }
                std::thread::sleep(left.min(LOOK_EVERY));
            }
        }
        let _ = (until, has_focus);
        None
    }

    /// Enters or leaves full screen.
    pub(crate) fn set_fullscreen(&mut self, is_full: bool) {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &mut self.x11 {
            return x11.set_fullscreen(is_full);
        }
        macroquad::window::set_fullscreen(is_full);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_window_opens_at_the_desktop_scale_within_the_screen() {
        assert_eq!(size_on([1920, 1080], 1.0), SIZE_USUAL);
        assert_eq!(size_on([3840, 2160], 2.0), [2560, 1440]);
        assert_eq!(size_on([3840, 2160], 0.75), SIZE_USUAL, "never smaller than usual");
        assert_eq!(size_on([2560, 1440], 2.0), [2304, 1296]);
        assert_eq!(size_on([1366, 768], 1.25), SIZE_USUAL);
        assert_eq!(size_on([1024, 768], 1.0), [1024, 576]);
        assert_eq!(size_on([640, 480], 1.0), SIZE_LEAST);
    }
}
