//! The frame loop: processes input and match news, draws the arena, and draws the screen over it.

use anyhow::Context as _;
use macroquad::miniquad;
use macroquad::prelude::{get_fps, get_screen_data, get_time, next_frame};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use egui_macroquad::egui;

use super::bindings::{self, Action, action_of};
use super::context::AppContext;
use super::draw::{ArenaPainter, Look, layout};
use super::input::{Input, Inputs};
use super::launch::LaunchRequest;
use super::native_window::{NativeDesktop, NativeWindow, Woken};
use super::page::{self, Feedback, Page};
use super::probe_file::ProbeFile;
use super::screens::{Next, Screen};
use super::settings::{Settings, SettingsFile};
use super::sound::{MusicState, Sound};
use super::still::StillPicture;
use super::theme;
use super::typing::Typing;
use super::window::{HAS_OPENED, clip, set_desktop_scale, set_text_percent, window};
use crate::cli::window::Opening;
use crate::cli::{console, paths};
use game::ladder::{KeptProgress, LADDER_FILE};

/// Frame rate limit of an idle menu and of any screen without keyboard focus.
const CALM_FRAMES_PER_S: u32 = 30;
/// Frame rate limit of a menu in use: the next frame must show a press, and its sound must play within 40 ms.
const MENU_FRAMES_PER_S: u32 = 60;
/// Frame interval of an idle menu that does not change. With other people in it, the interval is shorter.
const REST: Duration = Duration::from_millis(500);
const REST_WITH_OTHERS: Duration = Duration::from_millis(100);
/// Time without a key or a movement of the mouse after which a match plays behind a menu, in seconds.
const MOVES_AFTER_S: f64 = 10.0;
/// Time after an input for which a menu counts as in use, in seconds.
const IN_USE_S: f64 = 2.0;
/// Maximum number of consecutive frames without a picture: the window library processes requests of other programs,
/// such as to close the window, only when it shows a picture.
const STILL_FRAMES_MAX: u32 = 10;
/// Frame rate of a hidden window, which still processes match news.
const HIDDEN_FRAMES_PER_S: u32 = 10;
/// Time for which a notification is shown, in seconds.
const NOTE_SHOWN_S: f64 = 5.0;

/// Set by SIGINT (Ctrl-C) and SIGTERM.
static IS_INTERRUPTED: AtomicBool = AtomicBool::new(false);

/// Makes Ctrl-C close the window as its close button does.
pub(crate) fn leave_on_signals() {
    // Without the handler, a signal loses the match instead of leaving it; that is no reason not to play.
    let _ = console::on_signal(|| IS_INTERRUPTED.store(true, Ordering::Relaxed));
}

struct App {
    context: AppContext,
    screen: Screen,
    inputs: Inputs,
    menus: layout::Recorder,
    feedback: Feedback,
    still: StillPicture,
    probe: Option<ProbeFile>,
    native: NativeWindow,
    typing: Typing,
    has_focus: bool,
    /// Time of the last key or pointer input, in seconds since the window opened.
    used_at: f64,
    /// Frames since the last picture was shown.
    still_frames: u32,
    file: SettingsFile,
    /// Settings in effect.
    applied: Option<Settings>,
    is_done: bool,
}

/// Runs the frame loop until the window closes.
pub(crate) async fn run(opening: Opening, desktop: NativeDesktop) {
    macroquad::input::prevent_quit();
    let mut app = App::new(opening, desktop.window());
    let mut due = Instant::now();
    loop {
        app.frame();
        HAS_OPENED.store(true, Ordering::Relaxed);
        if app.is_done || IS_INTERRUPTED.load(Ordering::Relaxed) || macroquad::input::is_quit_requested() {
            break;
        }
        // The interval includes the buffer swap. A late frame does not shorten the next interval.
        let now = Instant::now();
        due = now.max(due + app.frame_time());
        match app.rest(now) {
            Some(Woken::Late) if !app.moves() && app.still_frames < STILL_FRAMES_MAX => {
                // What is shown already is not shown again.
                app.still_frames += 1;
                due = Instant::now();
                continue;
            }
            Some(_) => due = Instant::now(),
            None => std::thread::sleep(due - now),
        }
        app.still_frames = 0;
        next_frame().await;
    }
    app.close();
}

impl App {
    fn new(opening: Opening, native: NativeWindow) -> Self {
        set_desktop_scale(native.scale());
        let probe = ProbeFile::from_environment();
        let is_probed = probe.is_some();
        let mut painter = ArenaPainter::new();
        painter.layout.enabled = is_probed;
        let mut menus = layout::Recorder::default();
        menus.enabled = is_probed;
        let (file, settings, said) = SettingsFile::open();
        let (ladder, ladder_said) = match paths::data_folder("") {
            Ok(folder) => KeptProgress::open(folder.join(LADDER_FILE)),
            // The settings' warning says so.
            Err(_) => (KeptProgress::unkept(), None),
        };
        let mut context = AppContext {
            painter,
            sound: Sound::new(),
            settings,
            ladder,
            now: get_time(),
            note: None,
            wants_picture: false,
        };
        let said: Vec<String> = said.into_iter().chain(ladder_said).collect();
        if !said.is_empty() {
            said.iter().for_each(|said| logln!("{said}"));
            context.note(said.join("; "));
        }
        egui_macroquad::cfg(|ctx| {
            theme::apply(ctx);
            page::apply_input_options(ctx);
        });
        let screen = first_screen(opening, &mut context);
        Self {
            context,
            screen,
            inputs: Inputs::new(),
            menus,
            feedback: Feedback::default(),
            still: StillPicture::new(),
            probe,
            native,
            typing: Typing::default(),
            has_focus: true,
            used_at: 0.0,
            still_frames: 0,
            file,
            applied: None,
            is_done: false,
        }
    }

    /// Returns the minimum frame time.
    fn frame_time(&self) -> Duration {
        let set = self.context.settings.frames_per_s;
        let most = if self.context.painter.is_hidden {
            Some(HIDDEN_FRAMES_PER_S)
        } else if !self.has_focus {
            Some(CALM_FRAMES_PER_S)
        } else if self.screen.is_lively() {
            Some(set).filter(|&set| set > 0)
        } else if self.context.now - self.used_at < IN_USE_S {
            Some(MENU_FRAMES_PER_S)
        } else {
            Some(CALM_FRAMES_PER_S)
        };
        let most = most.into_iter().chain(super::probe_file::frames_per_s()).min();
        most.map_or(Duration::ZERO, |most| Duration::from_secs(1) / most)
    }

    /// Sleeps for longer than a frame interval while a menu is idle and unchanged; returns `None` immediately
    /// otherwise.
    fn rest(&mut self, now: Instant) -> Option<Woken> {
        if self.context.painter.is_hidden || self.context.now - self.used_at < IN_USE_S {
            return None;
        }
        let rest = if self.moves() {
            let next_s = self.screen.attract()?.next_in(get_time());
            Duration::from_secs_f64(next_s)
        } else if !(self.screen.has_backdrop() && self.still.is_kept()) {
            return None;
        } else if self.screen.awaits_others() {
            REST_WITH_OTHERS
        } else {
            REST
        };
        self.native.wait_for_hands(now + rest, self.has_focus)
    }

    /// Whether a match plays behind the menu: not behind a window without the keyboard, nor while the menu is in use,
    /// where it would delay the answer to a click on a slow machine.
    fn moves(&mut self) -> bool {
        let is_in_use = self.context.now - self.used_at < MOVES_AFTER_S;
        !is_in_use && self.has_focus && !self.context.settings.minimal && self.screen.attract().is_some()
    }

    fn frame(&mut self) {
        self.context.now = get_time();
        let inputs = self.inputs.take(&mut self.native);
        set_desktop_scale(self.native.scale());
        self.context.painter.is_hidden = !self.native.is_seen();
        clip(None);
        if !inputs.is_empty() {
            self.used_at = self.context.now;
        }
        if let Some(mut labels) = self.native.take_labels() {
            labels.retain(|(_, label)| self.context.painter.can_write(label));
            bindings::label_keys(labels);
        }
        self.note_window_inputs(&inputs);
        self.apply_settings();
        let mut next = self.screen.arena(&mut self.context, inputs);
        let is_hidden = self.context.painter.is_hidden;
        self.context.sound.set_music(if is_hidden { MusicState::Silent } else { self.screen.music() });
        if !self.context.painter.is_hidden {
            next = self.page().or(next);
        }
        if let Some(probe) = &mut self.probe {
            probe.write(&self.screen, &self.context, &self.menus, get_fps());
        }
        if let Some(next) = next {
            self.go(next);
        }
    }

    /// Handles inputs that concern the window on every screen: focus, full screen and music.
    fn note_window_inputs(&mut self, inputs: &[Input]) {
        for &input in inputs {
            match input {
                Input::FocusLost => {
                    self.has_focus = false;
                    self.typing.forget();
                }
                Input::FocusGained => self.has_focus = true,
                // A text field may be taking the letter.
                Input::Down(key, _) if !self.screen.takes_keys() && !page::is_typing() => {
                    let settings = &mut self.context.settings;
                    match action_of(key) {
                        Some(Action::Fullscreen) => settings.fullscreen ^= true,
                        Some(Action::Music) => {
                            settings.music ^= true;
                            let state = if settings.music { "on" } else { "off" };
                            self.context.note(format!("music {state}"));
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
        }
    }

    /// Applies changed settings and saves them.
    fn apply_settings(&mut self) {
        let settings = &self.context.settings;
        if self.applied.as_ref() != Some(settings) {
            let was_full = self.applied.as_ref().is_some_and(|applied| applied.fullscreen);
            if settings.fullscreen != was_full {
                self.native.set_fullscreen(settings.fullscreen);
            }
            bindings::put_in_force(&settings.keys);
            set_text_percent(settings.text_percent);
            let (flashes, shakes) = (settings.flashes, settings.shakes);
            self.context.painter.look = Look { flashes, shakes, is_minimal: settings.minimal };
            self.context.sound.set_volumes(settings.volumes_in_effect());
            self.applied = Some(settings.clone());
        }
        if let Err(error) = self.file.keep(settings, self.context.now) {
            self.context.note(format!("settings are not kept: {error:#}"));
        }
    }

    /// Leaves the match and closes the window.
    fn close(mut self) {
        if let Err(error) = self.file.write(&self.context.settings) {
            logln!("settings are not kept: {error:#}");
        }
        self.screen.close(&mut self.context);
    }

    /// Lays out and draws the screen over the arena.
    fn page(&mut self) -> Option<Next> {
        let mut next = None;
        self.menus.begin(window());
        let now = self.context.now;
        if self.moves() && self.screen.attract().is_some_and(|attract| attract.play_on(now)) {
            self.still.forget();
        }
        let Self { context, screen, menus, feedback, still, inputs, native, typing, .. } = self;
        let typed = inputs.keys(native).map(|keys| typing.events(keys));
        let has_backdrop = screen.has_backdrop();
        egui_macroquad::cfg(|ctx| ctx.set_pixels_per_point(screen.scale()));
        egui_macroquad::ui(|ctx| {
            if let Some(typed) = &typed {
                ctx.input_mut(|input| write_as_typed(&mut input.events, typed));
            }
            let frame = egui::Frame::NONE;
            egui::CentralPanel::default().frame(frame).show(ctx, |ui| {
                let mut page = Page::new(ui, menus, feedback);
                if let Some(chosen) = screen.page(context, &mut page) {
                    next = Some(chosen);
                }
                show_note(context, &mut page, has_backdrop);
            });
            if has_backdrop {
                still.compare(ctx);
            }
        });
        if let Some(kind) = self.feedback.take() {
            self.context.sound.play(kind);
        }
        let is_shown = has_backdrop && self.still.is_kept() && self.still_frames > 0;
        if has_backdrop && !is_shown && !self.still.draw() {
            self.screen.draw_backdrop(&mut self.context);
        }
        egui_macroquad::draw();
        if has_backdrop {
            self.still.keep();
        }
        if let Some(probe) = self.probe.as_mut().filter(|_| !is_shown) {
            probe.look(&self.screen, &self.context);
        }
        if self.screen.is_aiming() {
            miniquad::window::set_mouse_cursor(miniquad::CursorIcon::Crosshair);
        }
        if core::mem::take(&mut self.context.wants_picture) {
            let saved = save_picture();
            let text = saved.map_or_else(
                |error| format!("no picture: {error:#}"),
                |to| format!("picture {}", to.display()),
            );
            logln!("{text}");
            self.context.note(text);
        }
        next
    }

    fn go(&mut self, next: Next) {
        self.context.painter.forget();
        self.still.forget();
        if matches!(next, Next::Quit) {
            self.is_done = true;
            return;
        }
        let old = core::mem::replace(&mut self.screen, Screen::Gone);
        self.screen = old.follow(next, &mut self.context);
    }
}

fn first_screen(opening: Opening, context: &mut AppContext) -> Screen {
    let next = match opening {
        Opening::Menu => Next::Start,
        Opening::Practice(arguments) => Next::Launch(LaunchRequest::Practice(arguments)),
        Opening::Host(arguments) => Next::Launch(LaunchRequest::Host(arguments)),
        Opening::Join(arguments) => Next::Join(Some(arguments)),
        Opening::Watch(file) => Next::Watch(file),
        Opening::Both(cell, seed) => Next::Both(cell, seed),
    };
    Screen::Gone.follow(next, context)
}

/// Replaces the window library's key and text events by our own.
fn write_as_typed(events: &mut Vec<egui::Event>, typed: &[egui::Event]) {
    use egui::Event::{Copy, Cut, Key, Paste, Text};
    events.retain(|event| !matches!(event, Key { .. } | Text(_) | Copy | Cut | Paste(_)));
    events.extend_from_slice(typed);
}

/// Shows the last note over everything else: in a menu at the top, where no field is that it may be about.
fn show_note(context: &AppContext, page: &mut Page<'_>, is_menu: bool) {
    let Some((text, since)) = &context.note else { return };
    if context.now - since > NOTE_SHOWN_S {
        return;
    }
    let window = page.window();
    let (left, width) = (window.left() + 16.0, window.width() - 32.0);
    let (top, bottom) = (window.top() + 12.0, window.bottom() - 60.0);
    let (y, align) =
        if is_menu { (top, egui::Align2::LEFT_TOP) } else { (bottom, egui::Align2::LEFT_BOTTOM) };
    page.within("note", |page| {
        let plate = page.ui.painter().add(egui::Shape::Noop);
        let style = (theme::SMALL, theme::GOLD);
        let rect = page.open_ended("note", egui::pos2(left, y), align, style, text, width);
        let rect = rect.expand2(egui::vec2(10.0, 6.0));
        page.ui.painter().set(plate, egui::Shape::rect_filled(rect, theme::ROUNDING, theme::GROUND));
    });
}

/// Saves this frame as a screenshot.
fn save_picture() -> anyhow::Result<PathBuf> {
    let drawn = get_screen_data();
    let (width, height) = (drawn.width, drawn.height);
    // Rows start at the bottom. Blending leaves alpha below 1; a screenshot must be opaque.
    let rows = drawn.bytes.chunks_exact(4 * usize::from(width)).rev();
    let bytes: Vec<u8> =
        rows.flat_map(|row| row.chunks_exact(4)).flat_map(|pixel| &pixel[..3]).copied().collect();
    let since = paths::since_1970(std::time::SystemTime::now());
    let name = format!("{}-{:03}.png", paths::stamp(since.as_secs()), since.subsec_millis());
    let file = paths::data_folder("pictures")?.join(name);
    let saved =
        image::save_buffer(&file, &bytes, u32::from(width), u32::from(height), image::ColorType::Rgb8);
    if saved.is_err() {
        // Half an image is useless.
        let _ = std::fs::remove_file(&file);
    }
    saved.with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
