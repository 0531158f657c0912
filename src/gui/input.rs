//! Key and pointer events, in order: a press and a release within one frame are still two events.

use macroquad::input::utils::{register_input_subscriber, repeat_all_miniquad_input};
use macroquad::math::{Vec2, vec2};
use macroquad::miniquad::{EventHandler, KeyCode, KeyMods, MouseButton};
use std::collections::VecDeque;

use super::key_event::{Held, KeyEvent, Written};
use super::native_window::NativeWindow;

/// Input event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// A key went down.
    Down(KeyCode, Held),
    /// A key went up.
    Up(KeyCode),
    /// The pointer moved to this position, in pixels.
    Moved(Vec2),
    /// A button went down here.
    Pressed(MouseButton, Vec2),
    /// A button went up here.
    Released(MouseButton, Vec2),
    /// The wheel turned; up is positive.
    Wheel(f32),
    /// The window lost keyboard focus: releases are not reported from now on.
    FocusLost,
    /// The window regained keyboard focus.
    FocusGained,
}

/// Collects the window's input.
pub(crate) struct Inputs {
    subscriber: usize,
    inbox: Inbox,
    keys: Keys,
}

/// Events reported by the window library.
#[derive(Default)]
struct Inbox {
    told: Vec<Told>,
    /// Dead-key state for the next letter.
    letter: Option<char>,
}

enum Told {
    Key(KeyEvent),
    Other(Input),
}

/// Keys by position, from a system that reports it.
#[derive(Default)]
struct Keys {
    /// Events reported by the system but not yet by the window library.
    waiting: VecDeque<KeyEvent>,
    /// Keys that are down, by key code.
    down: Vec<(u8, KeyCode)>,
    /// Key events of this frame.
    taken: Vec<KeyEvent>,
}

impl Inputs {
    /// Starts listening; the window must be open.
    pub(crate) fn new() -> Self {
        Self { subscriber: register_input_subscriber(), inbox: Inbox::default(), keys: Keys::default() }
    }

    /// Returns the events since the last call.
    pub(crate) fn take(&mut self, native: &mut NativeWindow) -> Vec<Input> {
        repeat_all_miniquad_input(&mut self.inbox, self.subscriber);
        let told = core::mem::take(&mut self.inbox.told);
        native.poll(told.iter().any(|told| matches!(told, Told::Key(_))));
        match native.keys() {
            Some(keys) => self.keys.place(told, keys),
            None => told.into_iter().filter_map(Told::input).collect(),
        }
    }

    /// Returns the key events of the last call, for text; `None` where the window library reports text.
    pub(crate) fn keys(&self, native: &NativeWindow) -> Option<&[KeyEvent]> {
        native.tells_keys().then_some(&self.keys.taken)
    }
}

impl Told {
    /// Converts a key of the window library to an event.
    fn input(self) -> Option<Input> {
        match self {
            Self::Key(event) if event.is_repeat => None,
            Self::Key(KeyEvent { place, is_down: true, held, .. }) => Some(Input::Down(place?, held)),
            Self::Key(KeyEvent { place, .. }) => Some(Input::Up(place?)),
            Self::Other(input) => Some(input),
        }
    }
}

impl Keys {
    /// Merges the system's key events into the window library's order of keys and pointer. The system reports each
    /// key no later; events that the library does not report within a frame are delivered anyway.
    fn place(&mut self, told: Vec<Told>, keys: impl Iterator<Item = KeyEvent>) -> Vec<Input> {
        self.taken.clear();
        let mut old = self.waiting.len();
        self.waiting.extend(keys);
        let mut inputs = Vec::new();
        for told in told {
            match told {
                Told::Key(told) => {
                    old = old.saturating_sub(1);
                    // Only the window library receives an event that another program sent.
                    let system = self
                        .waiting
                        .pop_front()
                        .map(|key| KeyEvent { place: key.place.or(told.place), ..key });
                    inputs.extend(self.note(system.unwrap_or(told)));
                }
                Told::Other(input) => {
                    if input == Input::FocusLost {
                        self.down.clear();
                    }
                    inputs.push(input);
                }
            }
        }
        for key in self.waiting.drain(..old).collect::<Vec<_>>() {
            inputs.extend(self.note(key));
        }
        inputs
    }

    /// Tracks the keys that are down: a key is released as the key that was pressed, even if the layout has changed
    /// since.
    fn note(&mut self, mut event: KeyEvent) -> Option<Input> {
        let at = self.down.iter().position(|&(code, _)| code == event.code);
        if let Some(at) = at.filter(|_| event.code != 0) {
            event.place = Some(self.down[at].1);
            event.is_repeat = event.is_down;
            if !event.is_down {
                self.down.swap_remove(at);
            }
        } else if let (true, Some(key)) = (event.is_down && event.code != 0, event.place) {
            self.down.push((event.code, key));
        }
        self.taken.push(event);
        Told::Key(event).input()
    }
}

impl EventHandler for Inbox {
    fn update(&mut self) {}

    fn draw(&mut self) {}

    fn mouse_motion_event(&mut self, x: f32, y: f32) {
        self.told.push(Told::Other(Input::Moved(vec2(x, y))));
    }

    fn mouse_wheel_event(&mut self, _: f32, y: f32) {
        self.told.push(Told::Other(Input::Wheel(y.signum())));
    }

    fn mouse_button_down_event(&mut self, button: MouseButton, x: f32, y: f32) {
        self.told.push(Told::Other(Input::Pressed(button, vec2(x, y))));
    }

    fn mouse_button_up_event(&mut self, button: MouseButton, x: f32, y: f32) {
        self.told.push(Told::Other(Input::Released(button, vec2(x, y))));
    }

    fn char_event(&mut self, letter: char, _: KeyMods, _: bool) {
        self.letter = Some(letter).filter(|letter| !letter.is_control());
    }

    fn key_down_event(&mut self, key: KeyCode, held: KeyMods, is_repeat: bool) {
        let written = self.letter.take().map_or(Written::Nothing, Written::Letter);
        let held = Held { shift: held.shift, ctrl: held.ctrl };
        let place = Some(key);
        self.told.push(Told::Key(KeyEvent { code: 0, place, written, is_down: true, is_repeat, held }));
    }

    // Despite its name, miniquad calls it on every system; on X11 and Wayland only for focus.
    fn window_minimized_event(&mut self) {
        self.told.push(Told::Other(Input::FocusLost));
    }

    fn window_restored_event(&mut self) {
        self.told.push(Told::Other(Input::FocusGained));
    }

    fn key_up_event(&mut self, key: KeyCode, _: KeyMods) {
        self.told.push(Told::Key(KeyEvent { place: Some(key), ..KeyEvent::default() }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HELD: Held = Held { shift: false, ctrl: false };

    /// Builds the window library's event of a key on an unknown keyboard.
    fn told(is_down: bool) -> Told {
        Told::Key(KeyEvent { place: Some(KeyCode::Unknown), is_down, ..KeyEvent::default() })
    }

    fn key(code: u8, place: KeyCode, is_down: bool) -> KeyEvent {
        KeyEvent { code, place: Some(place), is_down, ..KeyEvent::default() }
    }

    #[test]
    fn keys_by_position_keep_their_order_with_the_pointer() {
        let mut keys = Keys::default();
        let click = || Told::Other(Input::Pressed(MouseButton::Left, Vec2::ZERO));
        let pair = [key(25, KeyCode::W, true), key(25, KeyCode::W, false)];
        let inputs = keys.place(vec![told(true), click(), told(false)], pair.into_iter());
        let pressed = Input::Pressed(MouseButton::Left, Vec2::ZERO);
        assert_eq!(inputs, [Input::Down(KeyCode::W, HELD), pressed, Input::Up(KeyCode::W)]);
        // An event that only the system has reported is held for one frame, and no longer.
        assert_eq!(keys.place(Vec::new(), pair.into_iter()), []);
        let inputs = keys.place(vec![click(), told(true)], std::iter::empty());
        assert_eq!(inputs, [pressed, Input::Down(KeyCode::W, HELD), Input::Up(KeyCode::W)]);
    }

    #[test]
    fn a_held_key_is_released_as_the_key_that_was_pressed() {
        let mut keys = Keys::default();
        let down = keys.place(vec![told(true), told(true)], [key(25, KeyCode::W, true); 2].into_iter());
        assert_eq!(down, [Input::Down(KeyCode::W, HELD)], "the second is a repetition");
        let up = keys.place(vec![told(false)], [key(25, KeyCode::Z, false)].into_iter());
        assert_eq!(up, [Input::Up(KeyCode::W)], "though the keyboard has changed");
        // A key that was released while another window had the focus is pressed, not repeated, afterwards.
        keys.place(vec![told(true)], [key(25, KeyCode::W, true)].into_iter());
        keys.place(vec![Told::Other(Input::FocusLost)], std::iter::empty());
        let again = keys.place(vec![told(true)], [key(25, KeyCode::W, true)].into_iter());
        assert_eq!(again, [Input::Down(KeyCode::W, HELD)]);
    }

    #[test]
    fn a_key_without_a_known_position_is_identified_by_its_letter() {
        let mut keys = Keys::default();
        let by_letter =
            || Told::Key(KeyEvent { place: Some(KeyCode::D), is_down: true, ..KeyEvent::default() });
        let nameless = KeyEvent { code: 8, is_down: true, ..KeyEvent::default() };
        assert_eq!(keys.place(vec![by_letter()], [nameless].into_iter()), [Input::Down(KeyCode::D, HELD)]);
        assert_eq!(keys.place(vec![by_letter()], std::iter::empty()), [Input::Down(KeyCode::D, HELD)]);
    }
}
