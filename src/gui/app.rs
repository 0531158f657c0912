//! The frame loop: take in what happened, draw the arena, draw the screen over it, go on.

use macroquad::miniquad;
use macroquad::prelude::{Rect, get_fps, get_screen_data, get_time, next_frame, screen_height, screen_width};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use egui_macroquad::egui;

use super::draw::{ArenaPainter, layout};
use super::input::Inputs;
use super::launch::Wish;
use super::page::Page;
use super::probe_file::ProbeFile;
use super::screens::{Next, Screen, You};
use super::{HAS_OPENED, Opening, theme};
use crate::cli::paths;

/// Most frames per second where the screen does not say when to draw.
const FRAMES_PER_S_MAX: u32 = 144;
/// How long a note at the edge of the window stays.
const NOTE_SHOWN_S: f64 = 5.0;

/// Set by Ctrl-C and by SIGTERM.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Lets Ctrl-C close the window as a click on its cross does.
pub(crate) fn leave_on_signals() {
    // Where that cannot be had, a match is lost instead of left; no reason not to play.
    let _ = ctrlc::set_handler(|| IS_INTERRUPTED.store(true, Ordering::Relaxed));
}

/// What every screen may use.
pub(crate) struct Desk {
    pub(crate) painter: ArenaPainter,
    pub(crate) you: You,
    /// Seconds since the window opened.
    pub(crate) now: f64,
    note: Option<(String, f64)>,
    wants_picture: bool,
}

impl Desk {
    /// Tells the player something that needs no answer.
    pub(crate) fn note(&mut self, text: String) {
        self.note = Some((text, self.now));
    }

    /// Saves what is shown at the end of this frame.
    pub(crate) const fn picture(&mut self) {
        self.wants_picture = true;
    }

    /// Pixels per point of the screens.
    pub(crate) fn points(&self) -> f32 {
        scale()
    }

    /// The part of the window that no interface covers.
    pub(crate) fn arena(&self) -> Rect {
        layout::arena_viewport(window())
    }
}

/// The window in pixels.
pub(crate) fn window() -> Rect {
    Rect::new(0.0, 0.0, screen_width(), screen_height())
}

struct App {
    desk: Desk,
    screen: Screen,
    inputs: Inputs,
    menus: layout::Recorder,
    probe: Option<ProbeFile>,
    is_done: bool,
}

/// Runs until the window is closed.
pub(crate) async fn run(opening: Opening) {
    macroquad::input::prevent_quit();
    let mut app = App::new(opening);
    let least = Duration::from_secs(1) / super::probe_file::frames_per_s().unwrap_or(FRAMES_PER_S_MAX);
    loop {
        let began = Instant::now();
        app.frame();
        HAS_OPENED.store(true, Ordering::Relaxed);
        if app.is_done || IS_INTERRUPTED.load(Ordering::Relaxed) || macroquad::input::is_quit_requested() {
            break;
        }
        std::thread::sleep(least.saturating_sub(began.elapsed()));
        next_frame().await;
    }
    app.screen.close();
}

impl App {
    fn new(opening: Opening) -> Self {
        let probe = ProbeFile::from_environment();
        let is_probed = probe.is_some();
        let mut painter = ArenaPainter::new();
        painter.layout.enabled = is_probed;
        let mut menus = layout::Recorder::default();
        menus.enabled = is_probed;
        let mut desk =
            Desk { painter, you: You::default(), now: get_time(), note: None, wants_picture: false };
        egui_macroquad::cfg(theme::apply);
        let screen = first_screen(opening, &mut desk);
        Self { desk, screen, inputs: Inputs::new(), menus, probe, is_done: false }
    }

    fn frame(&mut self) {
        self.desk.now = get_time();
        let inputs = self.inputs.take();
        let mut next = self.screen.arena(&mut self.desk, inputs);
        self.menus.begin(window());
        let Self { desk, screen, menus, .. } = self;
        egui_macroquad::ui(|ctx| {
            ctx.set_pixels_per_point(scale());
            let frame = egui::Frame::NONE;
            egui::CentralPanel::default().frame(frame).show(ctx, |ui| {
                let mut page = Page::new(ui, menus);
                if let Some(chosen) = screen.page(desk, &mut page) {
                    next = Some(chosen);
                }
                show_note(desk, &mut page);
            });
        });
        egui_macroquad::draw();
        if self.screen.is_aiming() {
            miniquad::window::set_mouse_cursor(miniquad::CursorIcon::Crosshair);
        }
        if core::mem::take(&mut self.desk.wants_picture) {
            let saved = save_picture();
            let text = saved.map_or_else(
                |error| format!("no picture: {error:#}"),
                |to| format!("picture {}", to.display()),
            );
            logln!("{text}");
            self.desk.note(text);
        }
        if let Some(probe) = &mut self.probe {
            probe.write(&self.screen, &self.desk, &self.menus, get_fps());
        }
        if let Some(next) = next {
            self.go(next);
        }
    }

    fn go(&mut self, next: Next) {
        self.desk.painter.forget();
        if matches!(next, Next::Quit) {
            self.is_done = true;
            return;
        }
        let old = core::mem::replace(&mut self.screen, Screen::Gone);
        self.screen = old.follow(next, &mut self.desk);
    }
}

fn first_screen(opening: Opening, desk: &mut Desk) -> Screen {
    let next = match opening {
        Opening::Menu => Next::Start,
        Opening::Practice(arguments) => Next::Launch(Wish::Practice(arguments)),
        Opening::Host(arguments) => Next::Launch(Wish::Host(arguments)),
        Opening::Join(arguments) => Next::Join(Some(arguments)),
        Opening::Watch(file) => Next::Watch(file),
        Opening::Both(cell, seed) => Next::Both(cell, seed),
    };
    Screen::Gone.follow(next, desk)
}

/// Pixels of the interface per point: it grows with the window, and never below what can be read.
fn scale() -> f32 {
    let window = window();
    (window.w / 1280.0).min(window.h / 720.0).max(1.0)
}

fn show_note(desk: &Desk, page: &mut Page<'_>) {
    let Some((text, since)) = &desk.note else { return };
    if desk.now - since > NOTE_SHOWN_S {
        return;
    }
    let window = page.window();
    let at = egui::pos2(window.left() + 16.0, window.bottom() - 60.0);
    let width = window.width() - 32.0;
    page.text("note", at, egui::Align2::LEFT_BOTTOM, (theme::SMALL, theme::GOLD), text, width);
}

/// Saves what was drawn in this frame.
fn save_picture() -> anyhow::Result<PathBuf> {
    let mut image = get_screen_data();
    // What was blended is not fully opaque, and nobody wants a picture to see through.
    for pixel in image.bytes.chunks_exact_mut(4) {
        pixel[3] = 255;
    }
    let folder = paths::data_folder("pictures")?;
    let stamp: String = humantime::format_rfc3339_millis(std::time::SystemTime::now()).to_string();
    let stamp: String = stamp.chars().filter(char::is_ascii_alphanumeric).collect();
    let file = folder.join(format!("{stamp}.png"));
    image.export_png(&file.display().to_string());
    anyhow::ensure!(file.exists(), "{} cannot be written", file.display());
    Ok(file)
}
