//! The keyboard of an X server: the position of each key, and the text of its layout.

use macroquad::miniquad::KeyCode;
use x11rb::errors::ReplyError;
use x11rb::protocol::xkb::{
    BoolCtrl, ConnectionExt as _, EventType, GetMapReply, KeySymMap, KeyType, MapPart, NameDetail,
    PerClientFlag, SelectEventsAux, SelectEventsAuxStateNotify, StatePart, VMod,
};
use x11rb::protocol::xproto::{KeyButMask, KeyPressEvent};
use x11rb::rust_connection::RustConnection;

use super::places::place_of;
use super::symbols::written;
use crate::gui::key_event::{Held, KeyEvent};

/// The keyboard that all clients share.
const DEVICE: u16 = 0x100;
/// Returns the parts of the keyboard's map that this program reads.
fn parts() -> MapPart {
    MapPart::KEY_TYPES | MapPart::KEY_SYMS
}

/// Keyboard as the server describes it.
pub(super) struct Keyboard {
    /// First key code.
    first: u8,
    /// Position of each key, from the first code.
    places: Vec<Option<KeyCode>>,
    /// Symbols of each key, from the first code.
    symbols: Vec<KeySymMap>,
    /// Key types: the levels that modifiers select.
    types: Vec<KeyType>,
    /// Layout in effect, of those that the user switches between.
    group: u8,
    /// Whether the symbols of keys have changed since the labels were taken.
    has_changed: bool,
    /// Whether the server has reported another keyboard.
    is_stale: bool,
}

impl Keyboard {
    /// Reads the keyboard, and subscribes to its changes and to detectable auto-repeat: a held key is pressed
    /// repeatedly, and released once.
    pub(super) fn read(server: &RustConnection) -> Result<Self, ReplyError> {
        server.xkb_use_extension(1, 0)?.reply()?;
        let (repeat, none) = (PerClientFlag::DETECTABLE_AUTO_REPEAT, BoolCtrl::from(0_u8));
        server.xkb_per_client_flags(DEVICE, repeat, repeat, none, none, none)?.reply()?;
        let state = StatePart::GROUP_STATE;
        let group = SelectEventsAuxStateNotify { affect_state: state, state_details: state };
        let (nothing, details) = (EventType::from(0_u8), SelectEventsAux::new().state_notify(group));
        let news = EventType::NEW_KEYBOARD_NOTIFY | EventType::MAP_NOTIFY;
        server.xkb_select_events(DEVICE, nothing, news, parts(), parts(), &details)?.check()?;
        Self::map(server)
    }

    fn map(server: &RustConnection) -> Result<Self, ReplyError> {
        let (nothing, none) = (MapPart::from(0_u8), VMod::from(0_u8));
        let asked =
            server.xkb_get_map(DEVICE, parts(), nothing, 0, 0, 0, 0, 0, 0, 0, 0, none, 0, 0, 0, 0, 0, 0)?;
        let names = server.xkb_get_names(DEVICE, NameDetail::KEY_NAMES)?.reply()?;
        let state = server.xkb_get_state(DEVICE)?.reply()?;
        let GetMapReply { min_key_code, first_key_sym, map, .. } = asked.reply()?;
        let mut places = Vec::new();
        for (index, name) in names.value_list.key_names.into_iter().flatten().enumerate() {
            let at = (usize::from(names.first_key) + index).saturating_sub(usize::from(min_key_code));
            places.resize(at, None);
            places.push(place_of(name.name));
        }
        let mut symbols = map.syms_rtrn.unwrap_or_default();
        let skipped = usize::from(first_key_sym.saturating_sub(min_key_code));
        symbols.splice(0..0, std::iter::repeat_n(KeySymMap::default(), skipped));
        Ok(Self {
            first: min_key_code,
            places,
            symbols,
            types: map.types_rtrn.unwrap_or_default(),
            group: state.group.into(),
            has_changed: true,
            is_stale: false,
        })
    }

    /// Marks the keyboard as changed.
    pub(super) const fn outdate(&mut self) {
        self.is_stale = true;
    }

    /// Sets the layout in effect.
    pub(super) const fn set_group(&mut self, group: u8) {
        self.has_changed |= self.group != group;
        self.group = group;
    }

    /// Reads the keyboard again if it has changed.
    pub(super) fn refresh(&mut self, server: &RustConnection) {
        if core::mem::take(&mut self.is_stale)
            && let Ok(now) = Self::map(server)
        {
            *self = now;
        }
    }

    /// Converts a key press or release.
    pub(super) fn event(&self, event: &KeyPressEvent, is_down: bool) -> KeyEvent {
        let held = |mask| event.state.contains(mask);
        KeyEvent {
            code: event.detail,
            place: self.place(event.detail),
            written: written(self.symbol(event.detail, event.state.into())),
            is_down,
            is_repeat: false,
            held: Held { shift: held(KeyButMask::SHIFT), ctrl: held(KeyButMask::CONTROL) },
        }
    }

    fn place(&self, code: u8) -> Option<KeyCode> {
        let at = code.checked_sub(self.first)?;
        self.places.get(usize::from(at)).copied().flatten()
    }

    /// Returns the symbol of a key while these modifiers are held; 0 for none.
    fn symbol(&self, code: u8, state: u16) -> u32 {
        // The layout's bits are between the modifiers and the pointer's buttons.
        let group = (state >> 13 & 3) as u8;
        let level = |kind: &KeyType| {
            let held = state & u16::from(kind.mods_mask);
            let entry = kind.map.iter().find(|entry| entry.active && u16::from(entry.mods_mask) == held);
            entry.map_or(0, |entry| entry.level)
        };
        self.symbol_at(code, group, level).unwrap_or(0)
    }

    fn symbol_at(&self, code: u8, group: u8, level: impl FnOnce(&KeyType) -> u8) -> Option<u32> {
        let key = self.symbols.get(usize::from(code.checked_sub(self.first)?))?;
        let group = group_of(key.group_info, group)?;
        let kind = self.types.get(usize::from(*key.kt_index.get(usize::from(group))?))?;
        let at = usize::from(group) * usize::from(key.width) + usize::from(level(kind));
        key.syms.get(at).copied()
    }

    /// Returns the labels of the layout in effect, if they have changed since the last call.
    pub(super) fn take_labels(&mut self) -> Option<Vec<(KeyCode, String)>> {
        if !core::mem::take(&mut self.has_changed) {
            return None;
        }
        let label = |code| {
            let shifted = |kind: &KeyType| kind.num_levels.saturating_sub(1).min(1);
            let plain = written(self.symbol_at(code, self.group, |_| 0)?);
            plain.label(written(self.symbol_at(code, self.group, shifted)?))
        };
        let keys = (self.first..=u8::MAX).filter_map(|code| Some((self.place(code)?, label(code)?)));
        Some(keys.collect())
    }
}

/// Returns the layout that a key uses under this layout of the keyboard: keys may have fewer.
const fn group_of(info: u8, group: u8) -> Option<u8> {
    const CLAMP: u8 = 0x40;
    const REDIRECT: u8 = 0x80;
    let groups = info & 0x0f;
    if groups == 0 {
        return None;
    }
    if group < groups {
        return Some(group);
    }
    Some(match info & (CLAMP | REDIRECT) {
        CLAMP => groups - 1,
        REDIRECT if info >> 4 & 3 < groups => info >> 4 & 3,
        REDIRECT => 0,
        _ => group % groups,
    })
}

#[cfg(test)]
mod tests {
    use super::group_of;

    #[test]
    fn a_key_with_fewer_layouts_uses_one_of_its_own() {
        assert_eq!((group_of(0, 0), group_of(1, 0), group_of(2, 1)), (None, Some(0), Some(1)));
        assert_eq!((group_of(1, 1), group_of(2, 3)), (Some(0), Some(1)), "around");
        assert_eq!((group_of(0x42, 3), group_of(0x92, 3), group_of(0xb2, 3)), (Some(1), Some(1), Some(0)));
    }
}
