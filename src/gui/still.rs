//! Cache of a menu's picture while nothing on it changes.
//!
//! In software rendering a copy of a menu costs less than half of drawing it, since thin edges cost as much as whole
//! blocks of pixels, and most of a menu is blended. The page is laid out in every frame and compared with the last
//! one, so that no screen has to report its changes.

use egui_macroquad::egui::{self, LayerId, epaint::ClippedShape, layers::PaintList};
use macroquad::material::{
    Material, MaterialParams, gl_use_default_material, gl_use_material, load_material,
};
use macroquad::prelude::{
    DrawTextureParams, FilterMode, Image, ShaderSource, Texture2D, WHITE, draw_texture_ex, vec2,
};

use super::window::window;

const VERTEX: &str = "#version 100
attribute vec3 position;
attribute vec2 texcoord;
varying highp vec2 uv;
uniform mat4 Model;
uniform mat4 Projection;
void main() {
    gl_Position = Projection * Model * vec4(position, 1);
    uv = texcoord;
}";
const FRAGMENT: &str = "#version 100
precision highp float;
varying highp vec2 uv;
uniform sampler2D Texture;
void main() {
    gl_FragColor = texture2D(Texture, uv);
}";

pub(crate) struct StillPicture {
    /// Material that overwrites the framebuffer: blended shapes leave alpha below 1 in the picture. Without it the
    /// picture is blended with the background.
    opaque: Option<Material>,
    page: PaintedPage,
    texture: Option<Texture2D>,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// The page differs from that of the last frame. A copy during a transition would be useless.
    Changed,
    /// The page is unchanged, but there is no copy of it.
    Settled,
    /// The texture is a copy of the page.
    Kept,
}

/// Everything that determines the look of a page.
#[derive(Default)]
struct PaintedPage {
    shapes: Vec<ClippedShape>,
    pixels_per_point: f32,
    /// Width and height, in pixels.
    window: [u16; 2],
}

impl StillPicture {
    /// Compiles the shader; the window must be open.
    pub(crate) fn new() -> Self {
        let source = ShaderSource::Glsl { vertex: VERTEX, fragment: FRAGMENT };
        // The default pipeline does not blend.
        let opaque = load_material(source, MaterialParams::default()).ok();
        Self { opaque, page: PaintedPage::default(), texture: None, state: State::Changed }
    }

    /// Discards the picture, after a change of the background.
    pub(crate) fn forget(&mut self) {
        self.page = PaintedPage::default();
    }

    /// Compares the page that was just laid out with that of the last frame. Takes its shapes if the picture contains
    /// them. A page paints only in this layer.
    pub(crate) fn compare(&mut self, ctx: &egui::Context) {
        let size = [window().w, window().h].map(|side| side as u16);
        let pixels_per_point = ctx.pixels_per_point();
        ctx.graphics_mut(|graphics| {
            let list = graphics.entry(LayerId::background());
            let is_same = self.page.replace(list, pixels_per_point, size);
            self.state = match self.state {
                _ if !is_same => State::Changed,
                State::Changed => State::Settled,
                state => state,
            };
            if self.state == State::Kept {
                *list = PaintList::default();
            }
        });
    }

    /// Whether the page has not changed since the picture was taken.
    pub(crate) fn is_kept(&self) -> bool {
        self.state == State::Kept
    }

    /// Draws the picture if it shows the page. Returns whether it does.
    pub(crate) fn draw(&self) -> bool {
        let Some(texture) = self.texture.as_ref().filter(|_| self.state == State::Kept) else { return false };
        if let Some(opaque) = &self.opaque {
            gl_use_material(opaque);
        }
        // Rows of a framebuffer start at the bottom.
        let params = DrawTextureParams { flip_y: true, ..DrawTextureParams::default() };
        draw_texture_ex(texture, 0.0, 0.0, WHITE, params);
        gl_use_default_material();
        true
    }

    /// Copies the frame if it is the same as the one before.
    pub(crate) fn keep(&mut self) {
        if self.state != State::Settled {
            return;
        }
        let [width, height] = self.page.window;
        let fits = |texture: &Texture2D| texture.size() == vec2(width.into(), height.into());
        let texture = self.texture.take().filter(fits).unwrap_or_else(|| {
            let texture = Texture2D::from_image(&Image::gen_image_color(width, height, WHITE));
            texture.set_filter(FilterMode::Nearest);
            texture
        });
        texture.grab_screen();
        self.texture = Some(texture);
        self.state = State::Kept;
    }
}

impl PaintedPage {
    /// Sets the page's shapes. Returns whether they are unchanged.
    fn replace(&mut self, list: &PaintList, pixels_per_point: f32, window: [u16; 2]) -> bool {
        let is_same = self.window == window
            && self.pixels_per_point == pixels_per_point
            && self.shapes.iter().eq(list.all_entries());
        if !is_same {
            let shapes = list.all_entries().cloned().collect();
            *self = Self { shapes, pixels_per_point, window };
        }
        is_same
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZE: [u16; 2] = [1280, 720];

    fn painted(text: &str) -> PaintList {
        let ctx = egui::Context::default();
        let mut list = PaintList::default();
        let _ = ctx.run(egui::RawInput::default(), |ctx| {
            let painter = ctx.layer_painter(LayerId::background());
            let font = egui::FontId::proportional(18.0);
            painter.text(egui::Pos2::ZERO, egui::Align2::LEFT_TOP, text, font, egui::Color32::WHITE);
            ctx.graphics(|graphics| list = graphics.get(LayerId::background()).expect("a layer").clone());
        });
        list
    }

    #[test]
    fn a_page_is_the_same_until_text_scale_or_window_change() {
        let mut page = PaintedPage::default();
        assert!(!page.replace(&painted("Quit"), 1.0, SIZE), "the first one");
        assert!(page.replace(&painted("Quit"), 1.0, SIZE));
        assert!(!page.replace(&painted("Back"), 1.0, SIZE), "another text");
        assert!(!page.replace(&painted("Back"), 1.5, SIZE), "another scale");
        assert!(!page.replace(&painted("Back"), 1.5, [800, 450]), "another window");
        assert!(page.replace(&painted("Back"), 1.5, [800, 450]));
    }
}
