//! Type: one family, four sizes, gathered while shapes are drawn and set last in one draw call.

use macroquad::prelude::{
    Color, FilterMode, Font, Rect, TextParams, Vec2, draw_text_ex, load_ttf_font_from_bytes, measure_text,
};

use super::layout::{Recorder, TEXT_LEAST_PX};

/// Sizes whose glyphs are kept; with more of them the atlas begins anew.
const KEPT_MAX: usize = 16;
/// Height of capitals and digits, of the size.
const CAPITALS: f32 = 0.69;
/// Height above the baseline and depth below it that a line takes, of the size.
const ASCENT: f32 = 0.76;
const DESCENT: f32 = 0.2;

/// A size of type, in pixels at 720.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Small = 14,
    Body = 18,
    Large = 28,
    Huge = 48,
}

/// Which part of a text lies at its place.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// The texts of a frame.
pub(super) struct Type {
    font: Option<Font>,
    queue: Vec<Line>,
    letters: String,
    scale: f32,
    /// Sizes whose usual glyphs are in the atlas, pixels.
    prepared: Vec<u16>,
}

struct Line {
    until: usize,
    baseline: Vec2,
    px: u16,
    colour: Color,
}

/// A text and what the record of the layout calls it.
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    pub(super) parent: &'a str,
    pub(super) text: &'a str,
    pub(super) size: Size,
    pub(super) colour: Color,
}

impl Type {
    /// Without glyphs: [`Self::clear`] sets those of a scale.
    pub(super) fn new() -> Self {
        let (queue, letters) = (Vec::new(), String::new());
        Self { font: load_font(), queue, letters, scale: 0.0, prepared: Vec::new() }
    }

    /// Begins a frame. Glyphs of a new scale are set here, before anything is drawn: an atlas that outgrows its
    /// texture deletes it, and what was drawn with it in the same frame would be black boxes.
    pub(super) fn clear(&mut self, scale: f32) {
        self.queue.clear();
        self.letters.clear();
        if self.scale != scale {
            self.scale = scale;
            self.prepare();
        }
    }

    /// Sets the usual glyphs of all four sizes.
    fn prepare(&mut self) {
        let usual: String = (' '..='~').chain('\u{a0}'..='\u{ff}').collect();
        for size in [Size::Small, Size::Body, Size::Large, Size::Huge] {
            let px = self.px(size) as u16;
            if self.prepared.contains(&px) {
                continue;
            }
            if self.prepared.len() >= KEPT_MAX {
                self.font = load_font();
                self.prepared.clear();
                return self.prepare();
            }
            measure_text(&usual, self.font.as_ref(), px, 1.0);
            self.prepared.push(px);
        }
    }

    /// The size in pixels, never too small to read.
    pub(super) fn px(&self, size: Size) -> f32 {
        (size as u16 as f32 * self.scale).round().max(TEXT_LEAST_PX)
    }

    pub(super) fn width(&self, text: &str, size: Size) -> f32 {
        let px = self.px(size) as u16;
        text.chars().map(|letter| self.advance(letter, px)).sum()
    }

    /// Cuts a text to a width, with dots where something is missing.
    pub(super) fn fit(&self, text: &mut String, size: Size, width: f32) {
        if self.width(text, size) <= width {
            return;
        }
        while !text.is_empty() && self.width(text, size) + self.width("...", size) > width {
            text.pop();
        }
        text.push_str("...");
    }

    /// How far the next letter follows; every digit takes as much, so that numbers do not twitch.
    fn advance(&self, letter: char, px: u16) -> f32 {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        measure_text(letter.encode_utf8(&mut [0; 4]), self.font.as_ref(), px, 1.0).width
    }

    /// Sets a text with the middle of its capitals at the height of `at`; where it lies.
    pub(super) fn set(&mut self, layout: &mut Recorder, label: &Label<'_>, at: Vec2, align: Align) -> Rect {
        let (px, width) = (self.px(label.size), self.width(label.text, label.size));
        let left = match align {
            Align::Left => at.x,
            Align::Middle => at.x - width / 2.0,
            Align::Right => at.x - width,
        };
        let baseline = Vec2::new(left.round(), (at.y + px * CAPITALS / 2.0).round());
        let rect = Rect::new(baseline.x, baseline.y - px * ASCENT, width, px * (ASCENT + DESCENT));
        layout.record(label.name, label.parent, rect, Some(px));
        // Digits, too, which `width` takes for zeros: no glyph is new to the atlas once texts are drawn.
        measure_text(label.text, self.font.as_ref(), px as u16, 1.0);
        self.letters.push_str(label.text);
        self.queue.push(Line { until: self.letters.len(), baseline, px: px as u16, colour: label.colour });
        rect
    }

    /// Draws all texts; how many draw calls that took.
    pub(super) fn flush(&self) -> usize {
        let mut from = 0;
        for line in &self.queue {
            let mut x = line.baseline.x;
            for letter in self.letters[from..line.until].chars() {
                let params = TextParams {
                    font: self.font.as_ref(),
                    font_size: line.px,
                    color: line.colour,
                    ..TextParams::default()
                };
                // Each letter on whole pixels stays sharp.
                draw_text_ex(letter.encode_utf8(&mut [0; 4]), x.round(), line.baseline.y, params);
                x += self.advance(letter, line.px);
            }
            from = line.until;
        }
        usize::from(!self.queue.is_empty())
    }
}

/// The font that egui brings; none, and with it the built-in one, if it should not load.
fn load_font() -> Option<Font> {
    let fonts = egui_macroquad::egui::FontDefinitions::default();
    let bytes = fonts.font_data.get("Ubuntu-Light").map(|data| &data.font);
    let mut font = bytes.and_then(|bytes| load_ttf_font_from_bytes(bytes).ok());
    if let Some(font) = &mut font {
        // Glyphs are drawn pixel for pixel; filtered, they would lose their edges between pixels.
        font.set_filter(FilterMode::Nearest);
    }
    font
}
