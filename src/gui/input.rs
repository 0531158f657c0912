//! Keys and pointer in the order in which they came: what is pressed and released within one frame is still
//! two events.

use macroquad::input::utils::{register_input_subscriber, repeat_all_miniquad_input};
use macroquad::math::{Vec2, vec2};
use macroquad::miniquad::{EventHandler, KeyCode, KeyMods, MouseButton};

/// One thing that happened.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Input {
    /// A key went down.
    Down(KeyCode, Held),
    /// A key went up.
    Up(KeyCode),
    /// The pointer is here now, pixels.
    Moved(Vec2),
    /// A button went down here.
    Pressed(MouseButton, Vec2),
    /// A button went up here.
    Released(MouseButton, Vec2),
    /// The wheel turned: up is positive.
    Wheel(f32),
    /// The window lost the keyboard: what is released from now on is not heard.
    FocusLost,
    /// The window has the keyboard again.
    FocusGained,
}

/// Keys that change what others mean.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Held {
    pub(crate) shift: bool,
    pub(crate) ctrl: bool,
}

/// Collects what happens in the window.
pub(crate) struct Inputs {
    subscriber: usize,
    inbox: Inbox,
}

#[derive(Default)]
struct Inbox {
    inputs: Vec<Input>,
}

impl Inputs {
    /// Begins to listen; the window must be open.
    pub(crate) fn new() -> Self {
        Self { subscriber: register_input_subscriber(), inbox: Inbox::default() }
    }

    /// What happened since the last call.
    pub(crate) fn take(&mut self) -> Vec<Input> {
        repeat_all_miniquad_input(&mut self.inbox, self.subscriber);
        core::mem::take(&mut self.inbox.inputs)
    }
}

impl EventHandler for Inbox {
    fn update(&mut self) {}

    fn draw(&mut self) {}

    fn mouse_motion_event(&mut self, x: f32, y: f32) {
        self.inputs.push(Input::Moved(vec2(x, y)));
    }

    fn mouse_wheel_event(&mut self, _: f32, y: f32) {
        self.inputs.push(Input::Wheel(y.signum()));
    }

    fn mouse_button_down_event(&mut self, button: MouseButton, x: f32, y: f32) {
        self.inputs.push(Input::Pressed(button, vec2(x, y)));
    }

    fn mouse_button_up_event(&mut self, button: MouseButton, x: f32, y: f32) {
        self.inputs.push(Input::Released(button, vec2(x, y)));
    }

    fn key_down_event(&mut self, key: KeyCode, held: KeyMods, is_repeat: bool) {
        if !is_repeat {
            self.inputs.push(Input::Down(key, Held { shift: held.shift, ctrl: held.ctrl }));
        }
    }

    // So miniquad calls it on every system, on X11 and Wayland for the focus alone.
    fn window_minimized_event(&mut self) {
        self.inputs.push(Input::FocusLost);
    }

    fn window_restored_event(&mut self) {
        self.inputs.push(Input::FocusGained);
    }

    fn key_up_event(&mut self, key: KeyCode, _: KeyMods) {
        self.inputs.push(Input::Up(key));
    }
}
