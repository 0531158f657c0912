//! A page without a window, for tests: it is laid out as in one, and what is pressed on it is made up.

use egui_macroquad::egui::{self, Event, Pos2, RawInput, Rect, vec2};

use super::draw::layout::Recorder;
use super::page::{Feedback, Page};

/// The pages of one screen, frame by frame.
pub(crate) struct PageTest {
    ctx: egui::Context,
    pub(crate) recorder: Recorder,
    feedback: Feedback,
    /// Of the window, points.
    size: [f32; 2],
}

impl PageTest {
    pub(crate) fn new(size: [f32; 2]) -> Self {
        let mut recorder = Recorder::default();
        recorder.enabled = true;
        Self { ctx: egui::Context::default(), recorder, feedback: Feedback::default(), size }
    }

    /// Lays out a frame in which `events` arrive.
    pub(crate) fn frame<T>(&mut self, events: Vec<Event>, mut page: impl FnMut(&mut Page<'_>) -> T) -> T {
        let [w, h] = self.size;
        let screen_rect = Some(Rect::from_min_size(Pos2::ZERO, vec2(w, h)));
        let mut result = None;
        let Self { ctx, recorder, feedback, .. } = self;
        let _ = ctx.run(RawInput { screen_rect, events, ..RawInput::default() }, |ctx| {
            recorder.begin(macroquad::math::Rect::new(0.0, 0.0, w, h));
            let frame = egui::Frame::NONE;
            egui::CentralPanel::default().frame(frame).show(ctx, |ui| {
                result = Some(page(&mut Page::new(ui, recorder, feedback)));
            });
        });
        result.expect("a frame")
    }

    /// The middle of an item of the last frame.
    pub(crate) fn middle(&self, name: &str) -> Pos2 {
        let item = self.recorder.items.iter().find(|item| item.name == name);
        let rect = item.unwrap_or_else(|| panic!("no {name}")).rect;
        egui::pos2(rect.x + rect.w / 2.0, rect.y + rect.h / 2.0)
    }
}

/// A press of a key.
pub(crate) fn press(key: egui::Key) -> Event {
    Event::Key { key, physical_key: None, pressed: true, repeat: false, modifiers: egui::Modifiers::NONE }
}

/// The pointer goes to a place, presses and lets go.
pub(crate) fn click(at: Pos2) -> [Vec<Event>; 3] {
    let button = |pressed| Event::PointerButton {
        pos: at,
        button: egui::PointerButton::Primary,
        pressed,
        modifiers: egui::Modifiers::NONE,
    };
    [vec![Event::PointerMoved(at)], vec![button(true)], vec![button(false)]]
}
