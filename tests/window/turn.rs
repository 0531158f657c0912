//! Tests with windows take turns with the processors.

use std::num::NonZero;
use std::sync::{Condvar, LazyLock, Mutex, PoisonError};

/// Tests that share a processor: drawing in software, each window on a display of its own, a test draws for up to half
/// of its time, and waits otherwise.
const PER_PROCESSOR: usize = 2;

/// The turns that no test has.
static FREE: LazyLock<Mutex<usize>> = LazyLock::new(|| Mutex::new(all_turns()));
/// Notified whenever turns become free.
static FREED: Condvar = Condvar::new();

/// The turns of a test.
pub(crate) struct Turn(usize);

impl Turn {
    fn take(wanted: usize) -> Self {
        let free = FREE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = FREED.wait_while(free, |free| *free < wanted).unwrap_or_else(PoisonError::into_inner);
        *free -= wanted;
        Self(wanted)
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        *FREE.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        FREED.notify_all();
    }
}

fn all_turns() -> usize {
    PER_PROCESSOR * std::thread::available_parallelism().map_or(1, NonZero::get)
}

/// The share of a test in the processors; `None`, and a line that says why, where it cannot run.
pub(crate) fn turn() -> Option<Turn> {
    can_run().then(|| Turn::take(1))
}

/// The same with all processors, for a window so large that drawing it takes the whole machine.
pub(crate) fn turn_alone() -> Option<Turn> {
    can_run().then(|| Turn::take(all_turns()))
}

/// Whether the tools of these tests are installed; if not, a line says which is missing.
///
/// # Panics
/// If one is missing in CI, or where the tests were asked for with `--ignored`.
fn can_run() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_here = |tool: &&str| std::env::split_paths(&path).any(|folder| folder.join(tool).exists());
    let missing = ["Xvfb", "xdotool", "import", "xrdb", "setxkbmap"].into_iter().find(|tool| !is_here(tool));
    if let Some(tool) = missing {
        // A skipped test counts as passed: only plain `cargo test` on a user's machine may skip it.
        let is_asked_for = std::env::var_os("CI").is_some()
            || std::env::args().any(|flag| flag == "--ignored" || flag == "--include-ignored");
        assert!(!is_asked_for, "{tool} is not installed");
        println!("skipped: {tool} is not installed");
    }
    missing.is_none()
}
