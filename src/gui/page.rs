//! Layout of a screen: texts, buttons and fields at given positions. One call draws, polls and records each item, so
//! that a test reads exactly what a player sees.

use egui_macroquad::egui::{
    self, Align2, Color32, CursorIcon, FontId, Pos2, Rect, Sense, Stroke, StrokeKind, Ui, pos2, vec2,
};

use super::draw::layout::{Recorder, TEXT_LEAST_PX};
use super::sound::Kind;
use super::theme;

/// Keys that move the focus.
const ARROWS: [egui::Key; 4] =
    [egui::Key::ArrowUp, egui::Key::ArrowDown, egui::Key::ArrowLeft, egui::Key::ArrowRight];
/// Horizontal padding of a button, in points.
const INSET: f32 = 12.0;
/// Smallest scale to which a line that is too long is reduced.
const LEAST_SHARE: f32 = 0.66;
/// Maximum length of a name, an address or a code in a field, in bytes.
pub(crate) const FIELD_BYTES_MAX: usize = 80;

/// Layout of a screen; points are pixels at 1280 x 720.
pub(crate) struct Page<'a> {
    pub(crate) ui: &'a mut Ui,
    pub(crate) recorder: &'a mut Recorder,
    feedback: &'a mut Feedback,
    /// Whether buttons can have keyboard focus; false where keys have other meanings.
    pub(crate) is_focusable: bool,
    /// Whether buttons do not accept presses yet, because the screen opened by itself while the player was pressing
    /// something else.
    pub(crate) is_inert: bool,
    parent: String,
}

/// Pointer feedback of the buttons in the last frames.
#[derive(Default)]
pub(crate) struct Feedback {
    hovered: Option<egui::Id>,
    hovered_before: Option<egui::Id>,
    is_pressed: bool,
}

impl Feedback {
    /// Takes the sound of the feedback, once per frame.
    pub(crate) fn take(&mut self) -> Option<Kind> {
        let hovered = self.hovered.take();
        let before = core::mem::replace(&mut self.hovered_before, hovered);
        if core::mem::take(&mut self.is_pressed) {
            return Some(Kind::Click);
        }
        (hovered.is_some() && hovered != before).then_some(Kind::Hover)
    }
}

/// Emphasis of a button.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Weight {
    Primary,
    Normal,
    Chosen,
}

impl<'a> Page<'a> {
    pub(crate) fn new(ui: &'a mut Ui, recorder: &'a mut Recorder, feedback: &'a mut Feedback) -> Self {
        Self { ui, recorder, feedback, is_focusable: true, is_inert: false, parent: String::new() }
    }

    /// Returns the whole window.
    pub(crate) fn window(&self) -> Rect {
        self.ui.ctx().screen_rect()
    }

    /// Returns a rectangle of this size in the centre of the window, no larger than it.
    pub(crate) fn centred(&self, width: f32, height: f32) -> Rect {
        let window = self.window().shrink(8.0);
        Rect::from_center_size(window.center(), vec2(width, height).min(window.size()))
    }

    /// Makes `name` the parent of everything that `inside` adds.
    pub(crate) fn within<T>(&mut self, name: &str, inside: impl FnOnce(&mut Self) -> T) -> T {
        let outer = core::mem::replace(&mut self.parent, name.into());
        let result = inside(self);
        self.parent = outer;
        result
    }

    /// Draws a plate, the background of other items.
    pub(crate) fn plate(&mut self, name: &str, rect: Rect) {
        let painter = self.ui.painter();
        painter.rect(rect, theme::ROUNDING, theme::PLATE, Stroke::new(1.0, theme::LINE), StrokeKind::Inside);
        self.record(name, rect, None);
    }

    /// Draws one line of text. If it is longer than `width`, it is set smaller, down to the legible minimum; if it is
    /// still too long, it is truncated, which counts as a layout error.
    pub(crate) fn text(
        &mut self,
        name: &str,
        at: Pos2,
        align: Align2,
        style: (f32, Color32),
        text: &str,
        width: f32,
    ) -> Rect {
        let (rect, is_cut) = self.line_of_text(name, at, align, style, text, width);
        if is_cut {
            self.recorder.note_cut(name, text);
        }
        rect
    }

    /// Draws a line of external text of any length: a chat line, an error of the system, a file name. It may be
    /// truncated.
    pub(crate) fn open_ended(
        &mut self,
        name: &str,
        at: Pos2,
        align: Align2,
        style: (f32, Color32),
        text: &str,
        width: f32,
    ) -> Rect {
        self.line_of_text(name, at, align, style, text, width).0
    }

    /// Draws the line. Returns its bounds, and whether it was truncated.
    fn line_of_text(
        &mut self,
        name: &str,
        at: Pos2,
        align: Align2,
        (mut size, colour): (f32, Color32),
        text: &str,
        width: f32,
    ) -> (Rect, bool) {
        let least = (TEXT_LEAST_PX / self.ui.ctx().pixels_per_point()).max(size * LEAST_SHARE).min(size);
        let galley = loop {
            let font = FontId::proportional(size);
            let mut job = egui::text::LayoutJob::simple_singleline(text.into(), font, colour);
            job.wrap = egui::text::TextWrapping::truncate_at_width(width);
            let galley = self.ui.fonts(|fonts| fonts.layout_job(job));
            if !galley.elided || size <= least {
                break galley;
            }
            size = (size - 1.0).max(least);
        };
        let (rect, is_cut) = (align.anchor_size(at, galley.size()), galley.elided);
        self.ui.painter().galley(rect.min, galley, colour);
        self.record(name, rect, Some(size));
        self.recorder.note_text(text);
        (rect, is_cut)
    }

    /// Draws one line of text that floats over everything else.
    pub(crate) fn floating(
        &mut self,
        name: &str,
        at: Pos2,
        align: Align2,
        style: (f32, Color32),
        text: &str,
        width: f32,
    ) -> Rect {
        self.within(name, |page| page.text(name, at, align, style, text, width))
    }

    /// Draws wrapped text. Returns its lower edge.
    pub(crate) fn paragraph(
        &mut self,
        name: &str,
        at: Pos2,
        (size, colour): (f32, Color32),
        text: &str,
        width: f32,
    ) -> f32 {
        let galley =
            self.ui.fonts(|fonts| fonts.layout(text.into(), FontId::proportional(size), colour, width));
        let rect = Rect::from_min_size(at, galley.size());
        self.ui.painter().galley(rect.min, galley, colour);
        self.record(name, rect, Some(size));
        self.recorder.note_text(text);
        rect.bottom()
    }

    /// Returns the height of wrapped text.
    pub(crate) fn paragraph_height(&self, size: f32, text: &str, width: f32) -> f32 {
        let font = FontId::proportional(size);
        self.ui.fonts(|fonts| fonts.layout(text.into(), font, Color32::WHITE, width)).size().y
    }

    /// Draws a button. Returns whether it was clicked.
    pub(crate) fn button(&mut self, name: &str, rect: Rect, text: &str, weight: Weight) -> bool {
        let response = self.pressable(name, rect, weight, true);
        let colour = if weight == Weight::Primary && !self.is_inert { theme::GROUND } else { theme::TEXT };
        let width = rect.width() - 2.0 * INSET;
        self.within(name, |page| {
            let name = format!("{name} text");
            page.text(&name, rect.center(), Align2::CENTER_CENTER, (theme::BODY, colour), text, width);
        });
        response
    }

    /// Draws a disabled button with the reason.
    pub(crate) fn barred(&mut self, name: &str, rect: Rect, text: &str, why: &str) {
        self.pressable(name, rect, Weight::Normal, false);
        let width = rect.width() - 2.0 * INSET;
        self.within(name, |page| {
            let left = pos2(rect.left() + INSET, rect.center().y);
            let quiet = theme::LINE_LIT;
            let shown = page.text(
                &format!("{name} text"),
                left,
                Align2::LEFT_CENTER,
                (theme::BODY, quiet),
                text,
                width,
            );
            let right = pos2(rect.right() - INSET, rect.center().y);
            let room = (right.x - shown.right() - INSET).max(0.0);
            page.text(&format!("{name} why"), right, Align2::RIGHT_CENTER, (theme::SMALL, quiet), why, room);
        });
    }

    /// Draws the background of a button or of a list row. Returns whether it was clicked.
    pub(crate) fn pressable(&mut self, name: &str, rect: Rect, weight: Weight, is_enabled: bool) -> bool {
        self.recorder.is_inert |= self.is_inert;
        let is_enabled = is_enabled && !self.is_inert;
        let sense = match (is_enabled, self.is_focusable) {
            (true, true) => Sense::click(),
            (true, false) => Sense::CLICK,
            (false, _) => Sense::hover(),
        };
        let id = egui::Id::new((&self.parent, name));
        let response = self.ui.interact(rect, id, sense);
        let lit = self.ui.ctx().animate_bool(id, is_enabled && response.hovered());
        let (calm, bright) = match weight {
            Weight::Primary => (theme::GOLD, Color32::from_rgb(0xff, 0xe2, 0x9c)),
            Weight::Normal => (theme::BUTTON, theme::BUTTON_LIT),
            Weight::Chosen => (theme::BUTTON_LIT, theme::BUTTON_LIT),
        };
        let fill = if is_enabled { mix(calm, bright, lit) } else { Color32::TRANSPARENT };
        let edge = match weight {
            Weight::Chosen => theme::BLUE,
            _ => mix(theme::LINE, theme::LINE_LIT, lit),
        };
        let pressed =
            if response.is_pointer_button_down_on() { rect.translate(vec2(0.0, 1.0)) } else { rect };
        let painter = self.ui.painter();
        painter.rect(pressed, theme::ROUNDING, fill, Stroke::new(1.5, edge), StrokeKind::Inside);
        if is_enabled {
            // A click by keyboard has no press before it.
            let (pressed, released) =
                self.ui.input(|input| (input.pointer.any_pressed(), input.pointer.any_released()));
            self.feedback.is_pressed |= response.is_pointer_button_down_on() && pressed;
            self.feedback.is_pressed |= response.clicked() && !released;
        }
        if is_enabled && response.hovered() {
            self.feedback.hovered = Some(id);
            self.ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
        }
        if is_enabled && self.is_focusable {
            self.show_focus(name, &response, weight == Weight::Primary);
        }
        self.record(name, rect, None);
        is_enabled && response.clicked()
    }

    /// Draws a ring around the focused item. The first arrow key on a screen focuses its `primary` button, one frame
    /// later, since egui would move the focus on in this one.
    fn show_focus(&mut self, name: &str, response: &egui::Response, is_primary: bool) {
        if is_primary && self.ui.memory(|memory| memory.focused().is_none()) {
            let (ctx, id) = (self.ui.ctx(), egui::Id::new("an arrow came"));
            let has_come = ARROWS.iter().any(|&key| ctx.input(|input| input.key_pressed(key)));
            if ctx.data_mut(|data| data.remove_temp::<bool>(id)).is_some() {
                response.request_focus();
            } else if has_come {
                ctx.data_mut(|data| data.insert_temp(id, true));
            }
        }
        if response.has_focus() {
            let ring = response.rect.expand(2.5);
            let stroke = Stroke::new(2.0, theme::TEXT);
            self.ui.painter().rect_stroke(ring, theme::ROUNDING + 2.0, stroke, StrokeKind::Middle);
            name.clone_into(&mut self.recorder.focused);
        }
    }

    /// Draws a slider from 0 to 100 that shows `text`. It is dragged, or moved by the arrow keys in increments of 5 while
    /// it has focus.
    pub(crate) fn slider(&mut self, name: &str, rect: Rect, value: &mut u8, text: &str) {
        const STEP: u8 = 5;
        let id = egui::Id::new((&self.parent, name));
        let response = self.ui.interact(rect, id, Sense::click_and_drag());
        let line = Rect::from_min_max(rect.min, pos2(rect.right() - 52.0, rect.bottom()));
        let track = line.shrink2(vec2(8.0, 0.0));
        if let Some(pointer) = response.interact_pointer_pos() {
            let share = ((pointer.x - track.left()) / track.width().max(1.0)).clamp(0.0, 1.0);
            *value = (share * 100.0).round() as u8;
        }
        if response.has_focus() {
            let filter = egui::EventFilter { horizontal_arrows: true, ..egui::EventFilter::default() };
            self.ui.memory_mut(|memory| memory.set_focus_lock_filter(id, filter));
            let pressed = |key| self.ui.input(|input| input.key_pressed(key));
            if pressed(egui::Key::ArrowLeft) {
                *value = value.saturating_sub(STEP);
            }
            if pressed(egui::Key::ArrowRight) {
                *value = value.saturating_add(STEP).min(100);
            }
        }
        let at = track.left() + track.width() * f32::from(*value) / 100.0;
        let (y, painter) = (track.center().y, self.ui.painter());
        painter.hline(track.x_range(), y, Stroke::new(4.0, theme::LINE));
        painter.hline(track.left()..=at, y, Stroke::new(4.0, theme::GOLD));
        painter.circle_filled(pos2(at, y), 7.0, theme::GOLD);
        self.show_focus(name, &response, false);
        self.record(name, rect, None);
        self.within(name, |page| {
            let right = rect.right_center() - vec2(4.0, 0.0);
            let style = (theme::SMALL, theme::TEXT);
            page.text(&format!("{name} text"), right, Align2::RIGHT_CENTER, style, text, 50.0);
        });
    }

    /// Draws a text field of at most [`FIELD_BYTES_MAX`] bytes. Returns whether Enter was pressed in it.
    pub(crate) fn field(&mut self, name: &str, rect: Rect, text: &mut String, hint: &str) -> bool {
        self.edit(name, rect, text, hint, FIELD_BYTES_MAX).1
    }

    /// Draws a text field with keyboard focus, of at most `bytes` bytes. Returns whether Enter was pressed in it.
    pub(crate) fn line(
        &mut self,
        name: &str,
        rect: Rect,
        text: &mut String,
        hint: &str,
        bytes_max: usize,
    ) -> bool {
        let (response, is_entered) = self.edit(name, rect, text, hint, bytes_max);
        if !is_entered {
            response.request_focus();
        }
        is_entered
    }

    /// Draws the field. Returns its response, and whether Enter was pressed in it.
    fn edit(
        &mut self,
        name: &str,
        rect: Rect,
        text: &mut String,
        hint: &str,
        bytes_max: usize,
    ) -> (egui::Response, bool) {
        let edit = egui::TextEdit::singleline(text)
            .hint_text(egui::RichText::new(hint).color(theme::LINE_LIT))
            .font(FontId::proportional(theme::BODY))
            .margin(egui::Margin::symmetric(INSET as i8, 8))
            .vertical_align(egui::Align::Center)
            .char_limit(bytes_max);
        let response = self.ui.put(rect, edit);
        while text.len() > bytes_max {
            text.pop();
        }
        self.record(name, rect, Some(theme::BODY));
        let is_entered = response.lost_focus() && self.ui.input(|input| input.key_pressed(egui::Key::Enter));
        (response, is_entered)
    }

    /// Draws a row of exclusive options. Returns whether another one was chosen.
    pub(crate) fn choice<T: Copy + PartialEq>(
        &mut self,
        name: &str,
        rect: Rect,
        options: &[(&str, T)],
        chosen: &mut T,
    ) -> bool {
        const GAP: f32 = 8.0;
        let before = *chosen;
        let width = (rect.width() - GAP * (options.len() - 1) as f32) / options.len() as f32;
        for (index, &(option, value)) in options.iter().enumerate() {
            let left = rect.left() + index as f32 * (width + GAP);
            let part = Rect::from_min_size(pos2(left, rect.top()), vec2(width, rect.height()));
            let weight = if value == *chosen { Weight::Chosen } else { Weight::Normal };
            if self.button(&format!("{name} {}", option.to_lowercase()), part, option, weight) {
                *chosen = value;
            }
        }
        *chosen != before
    }

    /// Whether Escape was pressed, which leads back from everywhere.
    pub(crate) fn escapes(&self) -> bool {
        self.ui.input(|input| input.key_pressed(egui::Key::Escape))
    }

    /// Draws a horizontal rule.
    pub(crate) fn rule(&mut self, left: Pos2, width: f32) {
        self.ui.painter().hline(left.x..=left.x + width, left.y, Stroke::new(1.0, theme::LINE));
    }

    /// Records the bounds of an item, in pixels.
    pub(crate) fn record(&mut self, name: &str, rect: Rect, size: Option<f32>) {
        let scale = self.ui.ctx().pixels_per_point();
        let px = macroquad::math::Rect::new(
            rect.left() * scale,
            rect.top() * scale,
            rect.width() * scale,
            rect.height() * scale,
        );
        self.recorder.record(name, &self.parent, px, size.map(|size| size * scale));
    }
}

fn mix(from: Color32, to: Color32, share: f32) -> Color32 {
    from.lerp_to_gamma(to, share)
}

/// Makes a press of a button count however long it is held: by a slow hand, or over the slow frames of a busy machine.
pub(crate) fn apply_input_options(ctx: &egui::Context) {
    ctx.options_mut(|options| options.input_options.max_click_duration = f64::INFINITY);
}

/// Whether a widget has keyboard focus.
pub(crate) fn has_focus() -> bool {
    let mut focused = None;
    egui_macroquad::cfg(|ctx| focused = ctx.memory(|memory| memory.focused()));
    focused.is_some()
}

/// Whether a text field has keyboard focus.
pub(crate) fn is_typing() -> bool {
    let mut is_typing = false;
    egui_macroquad::cfg(|ctx| {
        let focused = ctx.memory(|memory| memory.focused());
        is_typing = focused.is_some_and(|id| egui::TextEdit::load_state(ctx, id).is_some());
    });
    is_typing
}
