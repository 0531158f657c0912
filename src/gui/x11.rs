//! A second connection to the X server, for what the window library does not ask or tell it.

use x11rb::connection::Connection as _;
use x11rb::errors::ReplyError;
use x11rb::properties::{WmClass, WmSizeHints};
use x11rb::protocol::Event;
use x11rb::protocol::res::{ClientIdMask, ClientIdSpec, ConnectionExt as _};
use x11rb::protocol::xproto::{
    AtomEnum, ChangeWindowAttributesAux, ClientMessageEvent, ConfigureWindowAux, ConnectionExt as _,
    EventMask, Visibility, Window,
};
use x11rb::rust_connection::RustConnection;

use super::window::{SIZE_LEAST, WM_CLASS};

/// Most windows that are looked at.
const WINDOWS_MAX: usize = 4_096;

/// Where a window is and how large, pixels.
#[derive(Clone, Copy)]
struct Place {
    x: i32,
    y: i32,
    width: u32,
    height: u32,
}

/// The program's window on an X server.
pub(crate) struct X11Window {
    server: RustConnection,
    root: Window,
    window: Window,
    is_mapped: bool,
    is_covered: bool,
    /// Where the window was before it filled the screen, if no window manager remembers it.
    place: Option<Place>,
}

impl X11Window {
    /// The window of this process; `None` if it cannot be found.
    pub(crate) fn find() -> Option<Self> {
        let (server, screen) = x11rb::connect(None).ok()?;
        let root = server.setup().roots.get(screen)?.root;
        let window = own_window(&server, root)?;
        let found = Self { server, root, window, is_mapped: true, is_covered: false, place: None };
        found.prepare().ok()?;
        Some(found)
    }

    /// Names the least size, and asks for news of the window.
    fn prepare(&self) -> Result<(), ReplyError> {
        let news = EventMask::STRUCTURE_NOTIFY | EventMask::VISIBILITY_CHANGE;
        let news = ChangeWindowAttributesAux::new().event_mask(news);
        self.server.change_window_attributes(self.window, &news)?.check()?;
        let mut hints =
            WmSizeHints::get_normal_hints(&self.server, self.window)?.reply()?.unwrap_or_default();
        let [width, height] = SIZE_LEAST.map(i32::from);
        hints.min_size = Some((width, height));
        hints.set_normal_hints(&self.server, self.window)?.check()
    }

    /// Whether anything of it can be seen, as far as has been told.
    pub(crate) fn is_seen(&mut self) -> bool {
        while let Ok(Some(event)) = self.server.poll_for_event() {
            match event {
                Event::MapNotify(event) if event.window == self.window => self.is_mapped = true,
                Event::UnmapNotify(event) if event.window == self.window => self.is_mapped = false,
                Event::VisibilityNotify(event) => self.is_covered = event.state == Visibility::FULLY_OBSCURED,
                _ => {}
            }
        }
        self.is_mapped && !self.is_covered
    }

    /// Fills the screen, or gives the window its place back; nothing happens if the server refuses.
    pub(crate) fn set_fullscreen(&mut self, is_full: bool) {
        let _ = self.ask_for_fullscreen(is_full);
    }

    fn ask_for_fullscreen(&mut self, is_full: bool) -> Result<(), ReplyError> {
        let atom = |name: &str| -> Result<u32, ReplyError> {
            Ok(self.server.intern_atom(false, name.as_bytes())?.reply()?.atom)
        };
        let (state, full) = (atom("_NET_WM_STATE")?, atom("_NET_WM_STATE_FULLSCREEN")?);
        let supported = atom("_NET_SUPPORTED")?;
        let list = self.server.get_property(false, self.root, supported, AtomEnum::ATOM, 0, 4096)?.reply()?;
        if list.value32().is_some_and(|mut atoms| atoms.any(|atom| atom == full)) {
            // The window manager does it, and remembers where the window was.
            let (action, application) = (u32::from(is_full), 1);
            let request = ClientMessageEvent::new(32, self.window, state, [action, full, 0, application, 0]);
            let to = EventMask::SUBSTRUCTURE_REDIRECT | EventMask::SUBSTRUCTURE_NOTIFY;
            self.server.send_event(false, self.root, to, request)?.check()?;
            return Ok(());
        }
        let now = self.server.get_geometry(self.window)?.reply()?;
        let place = if is_full {
            let here = Place {
                x: now.x.into(),
                y: now.y.into(),
                width: now.width.into(),
                height: now.height.into(),
            };
            self.place.get_or_insert(here);
            let screen = self.server.get_geometry(self.root)?.reply()?;
            Some(Place { x: 0, y: 0, width: screen.width.into(), height: screen.height.into() })
        } else {
            self.place.take()
        };
        let Some(Place { x, y, width, height }) = place else { return Ok(()) };
        let place = ConfigureWindowAux::new().x(x).y(y).width(width).height(height);
        self.server.configure_window(self.window, &place)?.check()
    }
}

/// The window of this program's class that belongs to this process.
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

/// Which process has opened a window.
fn process_of(server: &RustConnection, window: Window) -> Option<u32> {
    let spec = ClientIdSpec { client: window, mask: ClientIdMask::LOCAL_CLIENT_PID };
    let answer = server.res_query_client_ids(&[spec]).ok()?.reply().ok()?;
    answer.ids.iter().find_map(|id| id.value.first().copied())
}
