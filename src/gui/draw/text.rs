//! Text: one font family in four sizes, collected while shapes are drawn, and rendered last in one draw call.

use egui_macroquad::egui::{Color32, FontDefinitions, FontId, epaint::text::Fonts};
use macroquad::prelude::{Color, FilterMode, Image, Mesh, Rect, Texture2D, Vec2, Vertex, draw_mesh, vec2};
use std::collections::HashMap;

use super::canvas::{INDEX_CAPACITY, VERTEX_CAPACITY};
use super::layout::{Recorder, TEXT_LEAST_PX};

/// Maximum side of the glyph texture, in pixels: the limit of the weakest graphics cards.
const ATLAS_SIDE_MAX: usize = 2_048;
/// Share of used texture above which the atlas is rebuilt.
const ATLAS_FULL: f32 = 0.7;
/// Maximum number of letters in one draw call.
const LETTERS_MAX: usize =
    if VERTEX_CAPACITY / 4 < INDEX_CAPACITY / 6 { VERTEX_CAPACITY / 4 - 1 } else { INDEX_CAPACITY / 6 - 1 };
/// Height of capitals and digits, relative to the font size.
const CAPITALS: f32 = 0.69;
/// Ascent and descent of a line, relative to the font size.
const ASCENT: f32 = 0.76;
const DESCENT: f32 = 0.2;

/// Font size, in pixels at a window height of 720.
#[derive(Clone, Copy)]
pub(super) enum Size {
    Small = 14,
    Body = 18,
    Large = 28,
    Huge = 48,
}

/// Horizontal alignment of a text.
#[derive(Clone, Copy)]
pub(super) enum Align {
    Left,
    Middle,
    Right,
}

/// All texts of a frame.
pub(super) struct Type {
    fonts: Fonts,
    /// Glyphs in use, by letter and size.
    glyphs: HashMap<(char, u16), Glyph>,
    /// Texture of all glyphs used so far; `None` before the first.
    atlas: Option<Texture2D>,
    mesh: Mesh,
    queue: Vec<Line>,
    letters: String,
    scale: f32,
}

/// Position of a letter in the atlas, and its offset from the baseline, in pixels.
#[derive(Clone, Copy, Default)]
struct Glyph {
    from: Rect,
    offset: Vec2,
}

struct Line {
    until: usize,
    baseline: Vec2,
    px: u16,
    colour: Color,
}

/// Text, and its name in the layout record.
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    pub(super) parent: &'a str,
    pub(super) text: &'a str,
    pub(super) size: Size,
    pub(super) colour: Color,
}

impl Type {
    /// Creates an empty atlas: glyphs are rasterised on first use.
    pub(super) fn new() -> Self {
        // A scale of 1 makes points equal pixels.
        let fonts = Fonts::new(1.0, ATLAS_SIDE_MAX, FontDefinitions::default());
        let mesh = Mesh { vertices: Vec::new(), indices: Vec::new(), texture: None };
        let (queue, letters) = (Vec::new(), String::new());
        Self { fonts, glyphs: HashMap::new(), atlas: None, mesh, queue, letters, scale: 0.0 }
    }

    /// Begins a frame.
    pub(super) fn clear(&mut self, scale: f32) {
        self.queue.clear();
        self.letters.clear();
        self.scale = scale;
        if self.fonts.font_atlas_fill_ratio() > ATLAS_FULL {
            let Self { fonts, mesh, .. } = Self::new();
            (self.fonts, self.mesh) = (fonts, mesh);
            self.glyphs.clear();
        }
        // This releases the layouts of the previous frame.
        self.fonts.begin_pass(1.0, ATLAS_SIDE_MAX);
    }

    /// Returns the letter's glyph, rasterised on first use.
    fn glyph(&mut self, letter: char, px: u16) -> Glyph {
        *self.glyphs.entry((letter, px)).or_insert_with(|| {
            let galley =
                self.fonts.layout_no_wrap(letter.into(), FontId::proportional(px.into()), Color32::WHITE);
            let glyph = galley.rows.first().and_then(|row| row.glyphs.first());
            glyph.map_or_else(Glyph::default, |glyph| {
                let ([left, top], [right, bottom]) =
                    (glyph.uv_rect.min.map(f32::from), glyph.uv_rect.max.map(f32::from));
                let offset = vec2(glyph.uv_rect.offset.x, glyph.uv_rect.offset.y).round();
                Glyph { from: Rect::new(left, top, right - left, bottom - top), offset }
            })
        })
    }

    /// Whether the font has all letters of a text.
    pub(super) fn has_letters(&self, text: &str) -> bool {
        self.fonts.has_glyphs(&FontId::proportional(TEXT_LEAST_PX), text)
    }

    /// Returns the size in pixels, never below the legible minimum.
    pub(super) fn px(&self, size: Size) -> f32 {
        (size as u16 as f32 * self.scale).round().max(TEXT_LEAST_PX)
    }

    pub(super) fn width(&self, text: &str, size: Size) -> f32 {
        let px = self.px(size) as u16;
        text.chars().map(|letter| self.advance(letter, px)).sum()
    }

    /// Truncates a text to a width, with an ellipsis.
    pub(super) fn fit(&self, text: &mut String, size: Size, width: f32) {
        if self.width(text, size) <= width {
            return;
        }
        while !text.is_empty() && self.width(text, size) + self.width("...", size) > width {
            text.pop();
        }
        text.push_str("...");
    }

    /// Returns the advance of a letter; all digits have the same, so that changing numbers do not flicker.
    fn advance(&self, letter: char, px: u16) -> f32 {
        let letter = if letter.is_ascii_digit() { '0' } else { letter };
        self.fonts.glyph_width(&FontId::proportional(px.into()), letter)
    }

    /// Draws a line of text, cap height centred on `at`. Returns its bounds.
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
        layout.note_text(label.text);
        self.letters.push_str(label.text);
        self.queue.push(Line { until: self.letters.len(), baseline, px: px as u16, colour: label.colour });
        rect
    }

    /// Draws all texts. Returns the number of draw calls.
    pub(super) fn flush(&mut self) -> usize {
        let mut calls = 0;
        let (queue, letters) = (core::mem::take(&mut self.queue), core::mem::take(&mut self.letters));
        let mut from = 0;
        for line in &queue {
            let mut x = line.baseline.x;
            for letter in letters[from..line.until].chars() {
                if self.mesh.vertices.len() >= LETTERS_MAX * 4 {
                    calls += self.draw();
                }
                let Glyph { from, offset } = self.glyph(letter, line.px);
                // Letters on whole pixels stay sharp.
                self.letter(from, vec2(x.round(), line.baseline.y) + offset, line.colour);
                x += self.advance(letter, line.px);
            }
            from = line.until;
        }
        (self.queue, self.letters) = (queue, letters);
        calls + self.draw()
    }

    /// Adds a part of the atlas, unscaled. Its coordinates stay in pixels until it is drawn, since the atlas may
    /// still grow.
    fn letter(&mut self, from: Rect, at: Vec2, colour: Color) {
        let first = self.mesh.vertices.len() as u16;
        for (x, y) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
            let by = vec2(from.w * x, from.h * y);
            let (place, (u, v)) = (at + by, (from.x + by.x, from.y + by.y));
            self.mesh.vertices.push(Vertex::new(place.x, place.y, 0.0, u, v, colour));
        }
        self.mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }

    /// Draws the collected letters and discards them. Returns the number of draw calls.
    fn draw(&mut self) -> usize {
        if self.mesh.vertices.is_empty() {
            return 0;
        }
        self.keep_atlas();
        if let Some(atlas) = &self.atlas {
            let size = atlas.size();
            for vertex in &mut self.mesh.vertices {
                vertex.uv /= size;
            }
            self.mesh.texture = Some(atlas.clone());
            draw_mesh(&self.mesh);
        }
        self.mesh.vertices.clear();
        self.mesh.indices.clear();
        1
    }

    /// Updates the texture with new glyphs.
    fn keep_atlas(&mut self) {
        if self.fonts.font_image_delta().is_none() {
            return;
        }
        let glyphs = self.fonts.image();
        let image = Image {
            bytes: glyphs
                .pixels
                .iter()
                .flat_map(|&share| [255, 255, 255, (share * 255.0).round() as u8])
                .collect(),
            width: glyphs.width() as u16,
            height: glyphs.height() as u16,
        };
        let fits = |atlas: &&Texture2D| atlas.size() == vec2(image.width.into(), image.height.into());
        match self.atlas.as_ref().filter(fits) {
            Some(atlas) => atlas.update(&image),
            None => {
                let atlas = Texture2D::from_image(&image);
                // Glyphs are drawn unscaled; filtering would blur their edges.
                atlas.set_filter(FilterMode::Nearest);
                self.atlas = Some(atlas);
            }
        }
    }
}
