//! Anti-aliased shapes, batched into few triangle meshes, with or without pictures from one texture.

use std::f32::consts::TAU;

use super::atlas::{self, Sprite};
use super::colours::INK;
use super::shapes::{Circle, Points, corners, for_each_mitre, for_each_triangle, grown};
use macroquad::miniquad::{BlendFactor, BlendState, BlendValue, Equation, PipelineParams};
use macroquad::prelude::{
    Color, FilterMode, Image, Material, MaterialParams, Mesh, Rect, ShaderSource, Texture2D, Vec2, Vertex,
    draw_mesh, gl_use_default_material, gl_use_material, load_material, vec2,
};

/// Value for `Conf::draw_call_vertex_capacity`: the maximum number of vertices of a mesh.
pub(crate) const VERTEX_CAPACITY: usize = 24_576;
/// Value for `Conf::draw_call_index_capacity`: the maximum number of indices of a mesh.
pub(crate) const INDEX_CAPACITY: usize = 65_536;

/// Half the width over which an edge fades, in pixels.
const FEATHER: f32 = 0.5;
/// Side of the two upper cells of the atlas, in pixels: a white one, then a soft disc. Sprites follow below.
const CELL: u16 = 64;

/// Point in the white cell, in texture coordinates.
const WHITE_AT: Vec2 = vec2(0.02, 0.02);

/// Shader of shapes without pictures.
const PLAIN_VERTEX: &str = "#version 100
attribute vec3 position;
attribute vec4 color0;
varying lowp vec4 color;
uniform mat4 Model;
uniform mat4 Projection;
void main() {
    gl_Position = Projection * Model * vec4(position, 1);
    color = color0 / 255.0;
}";
const PLAIN_FRAGMENT: &str = "#version 100
varying lowp vec4 color;
void main() {
    gl_FragColor = color;
}";

/// All shapes of a frame.
pub(super) struct Canvas {
    batches: Vec<Batch>,
    current: usize,
    atlas: Texture2D,
    /// Material of batches without pictures; `None` if its shader does not compile: they are then drawn with the texture,
    /// which is slower.
    plain: Option<Material>,
    /// Size of a pixel of the atlas, in texture coordinates.
    texel: Vec2,
    /// Corners of round shapes.
    pub(super) circle: Circle,
    /// Whether soft discs are drawn.
    pub(super) has_shadows: bool,
}

impl Canvas {
    pub(super) fn new() -> Self {
        let circle = Circle::new();
        let mut image = plain_atlas();
        atlas::paint(&circle, &mut image, (0, CELL));
        let texel = vec2(1.0 / f32::from(image.width), 1.0 / f32::from(image.height));
        let atlas = Texture2D::from_image(&image);
        atlas.set_filter(FilterMode::Linear);
        let plain = plain_material();
        let batches = vec![Batch::new(&atlas)];
        Self { batches, current: 0, atlas, plain, texel, circle, has_shadows: true }
    }

    /// Discards the last frame but keeps its allocations.
    pub(super) fn clear(&mut self) {
        for Batch { mesh, .. } in &mut self.batches {
            mesh.vertices.clear();
            mesh.indices.clear();
        }
        self.current = 0;
        self.batches[0].has_pictures = false;
    }

    /// Draws the shapes that follow without the texture, up to the next picture: software rendering draws a frame in two
    /// thirds of the time without it. Each change is a draw call.
    pub(super) fn begin_plain(&mut self) {
        if self.batches[self.current].has_pictures {
            self.begin(false);
        }
    }

    /// Blends everything drawn so far with the darkest colour, like a translucent layer over it.
    pub(super) fn darken(&mut self, share: f32) {
        let ink: [u8; 4] = INK.into();
        let mixed = |from: u8, to: u8| (f32::from(from) + (f32::from(to) - f32::from(from)) * share) as u8;
        for vertex in self.batches.iter_mut().flat_map(|batch| &mut batch.mesh.vertices) {
            let [r, g, b, a] = vertex.color;
            vertex.color = [mixed(r, ink[0]), mixed(g, ink[1]), mixed(b, ink[2]), a];
        }
    }

    /// Draws all meshes. Returns the number of draw calls, one per mesh.
    pub(super) fn flush(&self) -> usize {
        let used = self.batches.iter().filter(|batch| !batch.mesh.indices.is_empty());
        used.map(|batch| batch.draw(self.plain.as_ref())).count()
    }

    /// Begins the next batch.
    fn begin(&mut self, has_pictures: bool) {
        if !self.batches[self.current].mesh.indices.is_empty() {
            self.current += 1;
            if self.current == self.batches.len() {
                self.batches.push(Batch::new(&self.atlas));
            }
        }
        self.batches[self.current].has_pictures = has_pictures;
    }

    /// Returns a mesh with room for a shape, and the index of its next vertex.
    fn room(&mut self, vertices: usize, indices: usize) -> (&mut Mesh, u16) {
        let Batch { mesh, has_pictures } = &self.batches[self.current];
        if mesh.vertices.len() + vertices >= VERTEX_CAPACITY || mesh.indices.len() + indices >= INDEX_CAPACITY
        {
            self.begin(*has_pictures);
        }
        let mesh = &mut self.batches[self.current].mesh;
        let first = mesh.vertices.len() as u16;
        (mesh, first)
    }

    // Plain shapes.

    pub(super) fn rect(&mut self, rect: Rect, colour: Color) {
        let corners = [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)];
        self.shade(corners.map(|(x, y)| (vec2(rect.x + rect.w * x, rect.y + rect.h * y), colour)));
    }

    /// Draws a frame inside the edge of `rect`.
    pub(super) fn frame(&mut self, rect: Rect, width: f32, colour: Color) {
        let Rect { x, y, w, h } = rect;
        self.rect(Rect::new(x, y, w, width), colour);
        self.rect(Rect::new(x, y + h - width, w, width), colour);
        self.rect(Rect::new(x, y + width, width, h - 2.0 * width), colour);
        self.rect(Rect::new(x + w - width, y + width, width, h - 2.0 * width), colour);
    }

    /// Draws a quadrilateral with a colour for each corner and hard edges.
    pub(super) fn shade(&mut self, corners: [(Vec2, Color); 4]) {
        let (mesh, first) = self.room(4, 6);
        mesh.vertices.extend(corners.map(|(at, colour)| vertex(at, colour)));
        mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }

    /// Draws a disc that fades from its centre to its edge.
    pub(super) fn soft(&mut self, at: Vec2, radius: Vec2, colour: Color) {
        if !self.has_shadows {
            return;
        }
        let cell = f32::from(CELL);
        let (across, down) = (vec2(radius.x, 0.0), vec2(0.0, radius.y));
        // Leaves out the cell's edge, which texture filtering blends with the neighbours.
        let from = Rect::new(cell + 1.0, 1.0, cell - 2.0, cell - 2.0);
        self.picture(from, at, (across, down), colour);
    }

    /// Draws a sprite that faces along `forward`; `radius` is that of the base it belongs to.
    pub(super) fn sprite(&mut self, sprite: Sprite, at: Vec2, forward: Vec2, radius: f32, colour: Color) {
        let (cell, covers) = atlas::place(sprite, radius);
        let (ahead, down) = (forward * radius, forward.perp() * radius);
        let middle = at + ahead * covers.center().x + down * covers.center().y;
        let from = Rect { y: cell.y + f32::from(CELL), ..cell };
        self.picture(from, middle, (ahead * covers.w / 2.0, down * covers.h / 2.0), colour);
    }

    /// Draws a part of the atlas over a rectangle around `at`, given by its half axes.
    fn picture(&mut self, from: Rect, at: Vec2, (across, down): (Vec2, Vec2), colour: Color) {
        let texel = self.texel;
        if !self.batches[self.current].has_pictures {
            self.begin(true);
        }
        let (mesh, first) = self.room(4, 6);
        for (x, y) in [(0.0, 0.0), (1.0, 0.0), (1.0, 1.0), (0.0, 1.0)] {
            let place = at + across * (x * 2.0 - 1.0) + down * (y * 2.0 - 1.0);
            let (u, v) = ((from.x + from.w * x) * texel.x, (from.y + from.h * y) * texel.y);
            mesh.vertices.push(Vertex::new(place.x, place.y, 0.0, u, v, colour));
        }
        mesh.indices.extend([0, 1, 2, 0, 2, 3].map(|corner| first + corner));
    }

    // Anti-aliased shapes.

    /// Draws a convex shape.
    pub(super) fn convex(&mut self, points: &[Vec2], colour: Color) {
        let count = points.len() as u16;
        if count < 3 {
            return;
        }
        let clear = Color { a: 0.0, ..colour };
        let (mesh, first) = self.room(points.len() * 2, points.len() * 9);
        for_each_mitre(points, |at, outward| {
            mesh.vertices.push(vertex(at - outward * FEATHER, colour));
            mesh.vertices.push(vertex(at + outward * FEATHER, clear));
        });
        for_each_triangle(count, |corners| mesh.indices.extend(corners.map(|corner| first + 2 * corner)));
        for corner in 0..count {
            let (a, b) = (first + 2 * corner, first + 2 * ((corner + 1) % count));
            mesh.indices.extend([a, a + 1, b + 1, a, b + 1, b]);
        }
    }

    /// Draws a convex shape with a dark outline around it.
    pub(super) fn outlined(&mut self, points: &[Vec2], fill: Color, outline: Color, width: f32) {
        self.convex(&grown(points, width), outline);
        self.convex(points, fill);
    }

    pub(super) fn disc(&mut self, at: Vec2, radius: f32, colour: Color) {
        let points = self.round(at, radius);
        self.convex(&points, colour);
    }

    /// Returns the corners of a circle; their number depends on its size.
    pub(super) fn round(&self, at: Vec2, radius: f32) -> Points {
        self.circle.round(at, radius)
    }

    /// Draws a whole ring; `radius` is that of its centre line.
    pub(super) fn ring(&mut self, at: Vec2, radius: f32, width: f32, colour: Color) {
        self.arc(at, radius, width, (0.0, TAU), colour);
    }

    /// Draws a part of a ring between two angles, clockwise on the screen from the right.
    pub(super) fn arc(&mut self, at: Vec2, radius: f32, width: f32, (from, to): (f32, f32), colour: Color) {
        let share = (to - from).abs() / TAU;
        let parts = (corners(radius) as f32 * share).ceil().max(1.0) as u16;
        let (clear, half) = (Color { a: 0.0, ..colour }, width / 2.0);
        let thin = colour.a * (width / (2.0 * FEATHER)).min(1.0);
        let full = Color { a: thin, ..colour };
        let core = (half - FEATHER).max(0.0);
        let rows = [(half + FEATHER, clear), (core, full), (-core, full), (-half - FEATHER, clear)];
        let (mesh, first) = self.room(usize::from(parts + 1) * 4, usize::from(parts) * 18);
        for part in 0..=parts {
            let angle = from + (to - from) * f32::from(part) / f32::from(parts);
            let out = Vec2::from_angle(angle);
            mesh.vertices.extend(rows.map(|(by, colour)| vertex(at + out * (radius + by).max(0.0), colour)));
        }
        for part in 0..parts {
            strip(mesh, first + part * 4, first + part * 4 + 4);
        }
    }

    pub(super) fn line(&mut self, a: Vec2, b: Vec2, width: f32, colour: Color) {
        self.fading_line((a, colour), (b, colour), width);
    }

    /// Draws a line with a colour gradient.
    pub(super) fn fading_line(&mut self, (a, from): (Vec2, Color), (b, to): (Vec2, Color), width: f32) {
        let side = (b - a).perp().normalize_or_zero();
        let (half, core) = (width / 2.0 + FEATHER, (width / 2.0 - FEATHER).max(0.0));
        let thin = (width / (2.0 * FEATHER)).min(1.0);
        let (mesh, first) = self.room(8, 18);
        for (at, colour) in [(a, from), (b, to)] {
            let (clear, full) = (Color { a: 0.0, ..colour }, Color { a: colour.a * thin, ..colour });
            let rows = [(half, clear), (core, full), (-core, full), (-half, clear)];
            mesh.vertices.extend(rows.map(|(by, colour)| vertex(at + side * by, colour)));
        }
        strip(mesh, first, first + 4);
    }

    /// Draws a dashed line; `shift` moves the dashes toward `b`, in pixels.
    pub(super) fn dashes(
        &mut self,
        (a, b): (Vec2, Vec2),
        (on, off): (f32, f32),
        shift: f32,
        width: f32,
        colour: Color,
    ) {
        let (length, way) = ((b - a).length(), (b - a).normalize_or_zero());
        let mut at = shift.rem_euclid(on + off) - on - off;
        while at < length {
            let (from, to) = (at.max(0.0), (at + on).min(length));
            if to > from {
                self.line(a + way * from, a + way * to, width, colour);
            }
            at += on + off;
        }
    }
}

/// Shapes that are drawn by one call.
struct Batch {
    mesh: Mesh,
    /// Whether some of them are pictures, which need the texture.
    has_pictures: bool,
}

impl Batch {
    fn new(atlas: &Texture2D) -> Self {
        let mesh = Mesh { vertices: Vec::new(), indices: Vec::new(), texture: Some(atlas.clone()) };
        Self { mesh, has_pictures: false }
    }

    fn draw(&self, plain: Option<&Material>) {
        let plain = plain.filter(|_| !self.has_pictures);
        if let Some(plain) = plain {
            gl_use_material(plain);
        }
        draw_mesh(&self.mesh);
        if plain.is_some() {
            gl_use_default_material();
        }
    }
}

/// Compiles the material of shapes without pictures, blended as all others are.
fn plain_material() -> Option<Material> {
    let source = ShaderSource::Glsl { vertex: PLAIN_VERTEX, fragment: PLAIN_FRAGMENT };
    let over = BlendState::new(
        Equation::Add,
        BlendFactor::Value(BlendValue::SourceAlpha),
        BlendFactor::OneMinusValue(BlendValue::SourceAlpha),
    );
    let pipeline_params = PipelineParams { color_blend: Some(over), ..PipelineParams::default() };
    load_material(source, MaterialParams { pipeline_params, ..MaterialParams::default() }).ok()
}

/// Adds the triangles between two rows of four vertices.
fn strip(mesh: &mut Mesh, a: u16, b: u16) {
    for row in 0..3 {
        mesh.indices.extend([a + row, a + row + 1, b + row + 1, a + row, b + row + 1, b + row]);
    }
}

/// Returns a vertex of plain colour: its texture coordinates lie in the white cell, regardless of the atlas's size.
fn vertex(at: Vec2, colour: Color) -> Vertex {
    Vertex::new(at.x, at.y, 0.0, WHITE_AT.x, WHITE_AT.y, colour)
}

/// Paints the atlas without sprites.
fn plain_atlas() -> Image {
    let (width, height) = atlas::extent();
    let clear = Color::new(0.0, 0.0, 0.0, 0.0);
    let mut image = Image::gen_image_color(width.max(CELL * 2), height + CELL, clear);
    let side = u32::from(CELL);
    for (x, y) in (0..side).flat_map(|y| (0..side).map(move |x| (x, y))) {
        let middle = f32::from(CELL) / 2.0;
        let apart = vec2(x as f32 + 0.5 - middle, y as f32 + 0.5 - middle).length() / (middle - 2.0);
        let fall = (1.0 - apart).clamp(0.0, 1.0);
        image.set_pixel(x, y, Color::new(1.0, 1.0, 1.0, 1.0));
        image.set_pixel(side + x, y, Color::new(1.0, 1.0, 1.0, fall * fall * (3.0 - 2.0 * fall)));
    }
    image
}
