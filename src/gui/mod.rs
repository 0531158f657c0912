//! The window: start screen, matches, replays. It shows the states of a match thread and sends it commands; it owns
//! no world.

mod alerts;
mod app;
mod bindings;
mod context;
mod debrief;
mod display;
mod draw;
mod input;
mod input_controller;
mod key_event;
mod launch;
mod native_window;
mod order_mark;
mod page;
mod probe_file;
mod production;
mod replay_marks;
mod screens;
mod sent_commands;
mod settings;
mod sound;
mod still;
mod talk;
#[cfg(test)]
mod test_page;
#[cfg(test)]
mod test_view;
mod theme;
mod tutorial;
mod typing;
mod window;
#[cfg(target_os = "linux")]
mod x11;

use macroquad::conf::Conf as WindowConf;
use macroquad::miniquad::conf::{Conf, Platform};
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::atomic::Ordering;

use crate::cli::window::Opening;
use display::NoWindow;
use native_window::NativeDesktop;
use window::{HAS_OPENED, WM_CLASS};

/// Opens the window and runs until it is closed.
///
/// # Errors
/// If no window can be opened.
pub(crate) fn open(opening: Opening) -> Result<ExitCode, NoWindow> {
    display::probe()?;
    let desktop = NativeDesktop::find()?;
    let conf = window_conf(&desktop)?;
    app::leave_on_signals();
    let default_hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        // Before the first frame, the window library panics if it cannot open a window.
        if HAS_OPENED.load(Ordering::Relaxed) {
            default_hook(panic);
        }
    }));
    let run = AssertUnwindSafe(|| {
        macroquad::Window::from_config(conf, app::run(opening, desktop));
    });
    match std::panic::catch_unwind(run) {
        Ok(()) => Ok(ExitCode::SUCCESS),
        Err(panic) if HAS_OPENED.load(Ordering::Relaxed) => std::panic::resume_unwind(panic),
        Err(panic) => {
            let _ = std::panic::take_hook();
            let text = panic.downcast_ref::<String>().cloned();
            let text = text.or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(NoWindow::Failed(text.unwrap_or_else(|| "the window could not be opened".into())))
        }
    }
}

fn window_conf(desktop: &NativeDesktop) -> Result<WindowConf, NoWindow> {
    let size = probe_file::window_size()?.unwrap_or_else(|| desktop.window_size());
    let [window_width, window_height] = size.map(i32::from);
    Ok(WindowConf {
        miniquad_conf: Conf {
            window_title: "Mini RTS Arena".into(),
            window_width,
            window_height,
            window_resizable: true,
            sample_count: 1,
            platform: Platform { linux_wm_class: WM_CLASS, ..Platform::default() },
            ..Conf::default()
        },
        draw_call_vertex_capacity: draw::VERTEX_CAPACITY,
        draw_call_index_capacity: draw::INDEX_CAPACITY,
        ..WindowConf::default()
    })
}
