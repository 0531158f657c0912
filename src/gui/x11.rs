//! A second connection to the X server, for functions that the window library lacks.

mod keyboard;
mod places;
mod symbols;

use macroquad::miniquad::KeyCode;
use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::properties::{WmClass, WmSizeHints};
use x11rb::protocol::Event;
use x11rb::protocol::res::{ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _,
    EventMask, KEY_PRESS_EVENT, Visibility, Window,
};
use x11rb::resource_manager::new_from_resource_manager;
use x11rb::rust_connection::RustConnection;

use keyboard::Keyboard;

use super::key_event::KeyEvent;
use super::window::{SIZE_LEAST, WM_CLASS};

/// Maximum number of windows to examine.
const WINDOWS_MAX: usize = 4_096;

/// Resolution of an unscaled desktop, in dots per inch.
const DPI_USUAL: f32 = 96.0;
/// Plausible scales; others are ignored.
const SCALES: std::ops::RangeInclusive<f32> = 0.5..=8.0;

/// Position and size of a window, in pixels.
#[derive(Clone, Copy)]
struct Place {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
}

/// Position of the pointer, and pressed buttons and keys.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Hands {
    pointer: [i16; 2],
    /// Buttons and modifiers.
    pressed: u16,
    keys: [u8; 32],
}

/// Desktop on an X server.
pub(crate) struct X11Desktop {
    server: RustConnection,
    root: Window,
    /// Width and height, in pixels.
    screen: [u16; 2],
    /// Colour depth of its screen, in bits.
    colour_bits: u8,
    scale: f32,
}

/// The program's window on an X server.
pub(crate) struct X11Window {
    desktop: X11Desktop,
    window: Window,
    is_mapped: bool,
    is_covered: bool,
    /// Whether the desktop has moved, resized, covered, focused or exposed the window.
    is_touched: bool,
    /// Bounds of the window before it became full screen, if no window manager keeps them.
    place: Option<Place>,
    /// Keyboard; `None` on a server that does not describe it.
    keyboard: Option<Keyboard>,
    /// Key events received but not yet taken.
    keys: Vec<KeyEvent>,
}

impl X11Desktop {
    /// Connects to the desktop on which the window will open; `None` without an X server.
    pub(crate) fn connect() -> Option<Self> {
        let (server, screen) = x11rb::connect(None).ok()?;
        let roots = &server.setup().roots;
        // A desktop keeps its settings on its first screen, wherever the window is.
        let first = roots.first()?.root;
        let screen = roots.get(screen)?;
        let colour_bits = screen.root_depth;
        let (root, screen) = (screen.root, [screen.width_in_pixels, screen.height_in_pixels]);
        let news = ChangeWindowAttributesAux::new().event_mask(EventMask::PROPERTY_CHANGE);
        server.change_window_attributes(first, &news).ok()?.check().ok()?;
        let scale = scale_of(&server);
        Some(Self { server, root, screen, colour_bits, scale })
    }

    /// Returns the width and height of the screen, in pixels.
    pub(crate) const fn screen(&self) -> [u16; 2] {
        self.screen
    }

    /// Returns the colour depth of the screen, in bits.
    pub(crate) const fn colour_bits(&self) -> u8 {
        self.colour_bits
    }

    /// Returns the scale that the desktop requests.
    pub(crate) const fn scale(&self) -> f32 {
        self.scale
    }
}

/// Returns the scale that a desktop publishes for programs: `Xft.dpi` of its resources, as a multiple of 96.
fn scale_of(server: &RustConnection) -> f32 {
    let resources = new_from_resource_manager(server).ok().flatten();
    let dpi = resources.and_then(|all| all.get_string("Xft.dpi", "Xft.Dpi").map(scale_of_dpi));
    dpi.unwrap_or(1.0)
}

/// Converts dots per inch to a scale; 1 if the text is not a number.
fn scale_of_dpi(dpi: &str) -> f32 {
    let scale = dpi.trim().parse::<f32>().unwrap_or(DPI_USUAL) / DPI_USUAL;
    if SCALES.contains(&scale) { scale } else { 1.0 }
}

impl X11Window {
    /// Finds the window of this process on a desktop.
    pub(crate) fn find(desktop: X11Desktop) -> Option<Self> {
        let window = own_window(&desktop.server, desktop.root)?;
        let keyboard = Keyboard::read(&desktop.server).ok();
        let (place, keys) = (None, Vec::new());
        let (is_mapped, is_covered, is_touched) = (true, false, false);
        let found = Self { desktop, window, is_mapped, is_covered, is_touched, place, keyboard, keys };
        found.prepare().ok()?;
        Some(found)
    }

    /// Returns the scale that the desktop requests, if it has one.
    pub(crate) const fn scale(&self) -> f32 {
        self.desktop.scale
    }

    /// Sets the minimum size, and subscribes to events of the window.
    fn prepare(&self) -> Result<(), ReplyError> {
        let server = &self.desktop.server;
        let keys = EventMask::KEY_PRESS | EventMask::KEY_RELEASE;
        let place = EventMask::STRUCTURE_NOTIFY | EventMask::VISIBILITY_CHANGE | EventMask::EXPOSURE;
        let news = place | EventMask::FOCUS_CHANGE | keys;
        let news = ChangeWindowAttributesAux::new().event_mask(news);
        server.change_window_attributes(self.window, &news)?.check()?;
        let mut hints = WmSizeHints::get_normal_hints(server, self.window)?.reply()?.unwrap_or_default();
        let [width, height] = SIZE_LEAST.map(i32::from);
        hints.min_size = Some((width, height));
        hints.set_normal_hints(server, self.window)?.check()
    }

    /// Whether any part of the window is visible, by the last events.
    pub(crate) const fn is_seen(&self) -> bool {
        self.is_mapped && !self.is_covered
    }

    /// Processes the server's events since the last call; if `is_whole`, all events sent to any client until now.
    pub(crate) fn poll(&mut self, is_whole: bool) {
        if is_whole {
            // The reply follows all earlier events.
            let _ = self.desktop.server.get_input_focus().map(|asked| asked.reply());
        }
        while let Ok(Some(event)) = self.desktop.server.poll_for_event() {
            self.note(&event);
        }
        if let Some(keyboard) = &mut self.keyboard {
            keyboard.refresh(&self.desktop.server);
        }
    }

    /// Whether an event since the last call touched the window.
    pub(crate) const fn take_is_touched(&mut self) -> bool {
        core::mem::replace(&mut self.is_touched, false)
    }

    fn note(&mut self, event: &Event) {
        use Event::{ConfigureNotify, Expose, FocusIn, FocusOut, MapNotify, UnmapNotify, VisibilityNotify};
        self.is_touched |= matches!(
            event,
            ConfigureNotify(_)
                | Expose(_)
                | FocusIn(_)
                | FocusOut(_)
                | MapNotify(_)
                | UnmapNotify(_)
                | VisibilityNotify(_)
        );
        match (event, &mut self.keyboard) {
            (Event::PropertyNotify(event), _) if event.atom == u32::from(AtomEnum::RESOURCE_MANAGER) => {
                self.desktop.scale = scale_of(&self.desktop.server);
            }
            (Event::MapNotify(event), _) if event.window == self.window => self.is_mapped = true,
            (Event::UnmapNotify(event), _) if event.window == self.window => self.is_mapped = false,
            (Event::VisibilityNotify(event), _) => {
                self.is_covered = event.state == Visibility::FULLY_OBSCURED
            }
            (Event::KeyPress(event) | Event::KeyRelease(event), Some(keyboard)) => {
                keyboard.refresh(&self.desktop.server);
                // The highest bit marks events that another program sent.
                let is_down = event.response_type & 0x7f == KEY_PRESS_EVENT;
                self.keys.push(keyboard.event(event, is_down));
            }
            (Event::XkbNewKeyboardNotify(_) | Event::XkbMapNotify(_), Some(keyboard)) => keyboard.outdate(),
            (Event::XkbStateNotify(event), Some(keyboard)) => keyboard.set_group(event.group.into()),
            _ => {}
        }
    }

    /// Takes the key events since the last call; `None` on a server that does not describe its keyboard.
    pub(crate) fn keys(&mut self) -> Option<impl Iterator<Item = KeyEvent>> {
        self.tells_keys().then(|| self.keys.drain(..))
    }

    /// Whether the server reports key positions and text.
    pub(crate) const fn tells_keys(&self) -> bool {
        self.keyboard.is_some()
    }

    /// Takes the labels of the keys, if they have changed.
    pub(crate) fn take_labels(&mut self) -> Option<Vec<(KeyCode, String)>> {
        self.keyboard.as_mut()?.take_labels()
    }

    /// Returns the present state of the input devices, for comparison with an earlier one. Keys count only while this
    /// window has the focus.
    pub(crate) fn hands(&self, has_focus: bool) -> Option<Hands> {
        let server = &self.desktop.server;
        let pointer = server.query_pointer(self.window).ok()?.reply().ok()?;
        let keys = if has_focus { server.query_keymap().ok()?.reply().ok()?.keys } else { [0; 32] };
        Some(Hands { pointer: [pointer.win_x, pointer.win_y], pressed: u16::from(pointer.mask), keys })
    }

    /// Enters or leaves full screen; no effect if the server refuses.
    pub(crate) fn set_fullscreen(&mut self, is_full: bool) {
        let _ = self.ask_for_fullscreen(is_full);
    }

    fn ask_for_fullscreen(&mut self, is_full: bool) -> Result<(), ReplyError> {
        let X11Desktop { server, root, .. } = &self.desktop;
        let atom = |name: &str| -> Result<u32, ReplyError> {
            Ok(server.intern_atom(false, name.as_bytes())?.reply()?.atom)
        };
        let (state, full) = (atom("_NET_WM_STATE")?, atom("_NET_WM_STATE_FULLSCREEN")?);
        let supported = atom("_NET_SUPPORTED")?;
        let list = server.get_property(false, *root, supported, AtomEnum::ATOM, 0, 4096)?.reply()?;
        if list.value32().is_some_and(|mut atoms| atoms.any(|atom| atom == full)) {
            // The window manager does it, and restores the window's bounds afterwards.
            let (action, application) = (u32::from(is_full), 1);
            let request = ClientMessageEvent::new(32, self.window, state, [action, full, 0, application, 0]);
            let to = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
            server.send_event(false, *root, to, request)?.check()?;
            return Ok(());
        }
        let now = server.get_geometry(self.window)?.reply()?;
        let place = if is_full {
            let here = Place {
                x: now.x.into(),
                y: now.y.into(),
                width: now.width.into(),
                height: now.height.into(),
            };
            self.place.get_or_insert(here);
            let screen = server.get_geometry(*root)?.reply()?;
            Some(Place { x: 0, y: 0, width: screen.width.into(), height: screen.height.into() })
        } else {
            self.place.take()
        };
        let Some(Place { x, y, width, height }) = place else { return Ok(()) };
        let place = ConfigureWindowAux::new().x(x).y(y).width(width).height(height);
        server.configure_window(self.window, &place)?.check()
    }
}

/// Returns the window of this program's class that belongs to this process.
fn own_window(server: &RustConnection, root: Window) -> Option<Window> {
    let mut open = vec![root];
    let mut seen = 0;
    while let Some(window) = open.pop() {
        seen += 1;
        if seen > WINDOWS_MAX {
            return None;
        }
        if is_of_class(server, window) && process_of(server, window) == Some(std::process::id()) {
            return Some(window);
        }
        let tree = server.query_tree(window).ok().and_then(|asked| asked.reply().ok());
        open.extend(tree.into_iter().flat_map(|tree| tree.children));
    }
    None
}

fn is_of_class(server: &RustConnection, window: Window) -> bool {
    let class = WmClass::get(server, window).ok().and_then(|asked| asked.reply_unchecked().ok().flatten());
    class.is_some_and(|class| class.class() == WM_CLASS.as_bytes())
}

/// Returns the process that opened a window.
fn process_of(server: &RustConnection, window: Window) -> Option<u32> {
    let spec = ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID };
    let answer = server.res_query_client_ids(&[spec]).ok()?.reply().ok()?;
    answer.ids.iter().find_map(|id| id.value.first().copied())
}

#[cfg(test)]
mod tests {
    use super::scale_of_dpi;

    #[test]
    fn the_scale_is_that_of_the_desktop_unless_it_is_implausible() {
        for (dpi, scale) in [("96", 1.0), ("120", 1.25), ("144", 1.5), (" 168 ", 1.75), ("192", 2.0)] {
            assert_eq!(scale_of_dpi(dpi), scale, "{dpi}");
        }
        assert!((scale_of_dpi("109.71") - 1.1428).abs() < 0.001);
        for absurd in ["0", "-96", "10000", "abc", "", "nan", "inf", "1e9"] {
            assert_eq!(scale_of_dpi(absurd), 1.0, "{absurd}");
        }
    }
}
