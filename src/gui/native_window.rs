//! What the window library leaves out: whether the window is seen, its least size, and full screen and back.

/// The window as the system knows it.
pub(crate) struct NativeWindow {
    #[cfg(target_os = "linux")]
    x11: Option<super::x11::X11Window>,
}

impl NativeWindow {
    /// The window that was just opened.
    pub(crate) fn find() -> Self {
        Self {
            #[cfg(target_os = "linux")]
            x11: super::x11::X11Window::find(),
        }
    }

    /// Whether anything of the window can be seen. Where the system does not say, it can.
    pub(crate) fn is_seen(&mut self) -> bool {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &mut self.x11 {
            return x11.is_seen();
        }
        true
    }

    /// Fills the screen with the window, or gives it its place back.
    pub(crate) fn set_fullscreen(&mut self, is_full: bool) {
        #[cfg(target_os = "linux")]
        if let Some(x11) = &mut self.x11 {
            return x11.set_fullscreen(is_full);
        }
        macroquad::window::set_fullscreen(is_full);
    }
}
