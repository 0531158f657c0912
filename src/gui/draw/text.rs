//! Type: one family, four sizes, gathered while shapes are drawn and set last in one draw call.

use egui_macroquad::egui::{Color32, FontDefinitions, FontId, epaint::text::Fonts};
use macroquad::prelude::{Color, FilterMode, Image, Mesh, Rect, Texture2D, Vec2, Vertex, draw_mesh, vec2};
use std::collections::HashMap;

use super::canvas::{INDEX_CAPACITY, VERTEX_CAPACITY};
use super::layout::{Recorder, TEXT_LEAST_PX};

/// Largest side of the texture with all glyphs, pixels: what every graphics card takes.
const ATLAS_SIDE_MAX: usize = 2_048;
/// Share of that texture from which on glyphs are set anew.
const ATLAS_FULL: f32 = 0.7;
/// Most letters in one draw call.
const LETTERS_MAX: usize =
    if VERTEX_CAPACITY / 4 < INDEX_CAPACITY / 6 { VERTEX_CAPACITY / 4 - 1 } else { INDEX_CAPACITY / 6 - 1 };
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
    fonts: Fonts,
    /// The glyphs in use, by letter and size.
    glyphs: HashMap<(char, u16), Glyph>,
    /// All glyphs that were ever needed; none before the first.
    atlas: Option<Texture2D>,
    mesh: Mesh,
    queue: Vec<Line>,
    letters: String,
    scale: f32,
}

/// Place of a letter in the atlas, and its offset from the baseline, in pixels.
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

/// A text and what the record of the layout calls it.
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    pub(super) parent: &'a str,
    pub(super) text: &'a str,
    pub(super) size: Size,
    pub(super) colour: Color,
}

impl Type {
    /// Without glyphs: they are set when they are first needed.
    pub(super) fn new() -> Self {
        // Points of these fonts are pixels.
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
        // It forgets what it laid out a frame ago.
        self.fonts.begin_pass(1.0, ATLAS_SIDE_MAX);
    }

    /// The letter in the atlas, set there if it is new.
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
        self.fonts.glyph_width(&FontId::proportional(px.into()), letter)
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
        layout.note_text(label.text);
        self.letters.push_str(label.text);
        self.queue.push(Line { until: self.letters.len(), baseline, px: px as u16, colour: label.colour });
        rect
    }

    /// Draws all texts; how many draw calls that took.
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
                // Each letter on whole pixels stays sharp.
                self.letter(from, vec2(x.round(), line.baseline.y) + offset, line.colour);
                x += self.advance(letter, line.px);
            }
            from = line.until;
        }
        (self.queue, self.letters) = (queue, letters);
        calls + self.draw()
    }

    /// A part of the atlas, pixel for pixel. Its coordinates are in pixels until it is drawn: the atlas may yet grow.
    fn letter(&mut self, from: Rect, at: Vec2, colour: Color) {
        let first = self.mesh.vertices.len() as u16;
        for (x, y) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
            let by = vec2(from.w * x, from.h * y);
            let (place, (u, v)) = (at + by, (from.x + by.x, from.y + by.y));
            self.mesh.vertices.push(Vertex::new(place.x, place.y, 0.0, u, v, colour));
        }
        self.mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }

    /// Draws the letters that were gathered, and forgets them; how many draw calls that took.
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

    /// Brings the texture up to date with the glyphs.
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
                // Glyphs are drawn pixel for pixel; filtered, they would lose their edges between pixels.
                atlas.set_filter(FilterMode::Nearest);
                self.atlas = Some(atlas);
            }
        }
    }
}
