//! Wakes a thread that waits on channels, punctually.

use core::time::Duration;
use crossbeam_channel::{Receiver, Sender, bounded, never};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::clock;
use net::Time;

/// Value of a timer that is not armed.
const NEVER: u64 = u64::MAX;
/// Polling interval of the thread: the maximum delay after it is armed again.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Timer that fires at an instant, through a channel.
///
/// Timeouts of channels are rounded up to the system's timer, on Windows 15.6 ms: a whole tick. Sleeping is exact to
/// a millisecond there, so a thread sleeps instead. Elsewhere timeouts are exact, and this does nothing.
#[derive(Debug)]
pub struct Timer {
    /// Due time in microseconds, or [`NEVER`].
    due: Arc<AtomicU64>,
    fired: Receiver<()>,
    is_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    /// Creates the timer that this system needs.
    ///
    /// # Errors
    /// If it needs a thread, and the system has none left.
    pub fn new() -> io::Result<Self> {
        if cfg!(windows) {
            return Self::with_thread();
        }
        let (due, is_wanted) = (Arc::new(AtomicU64::new(NEVER)), Arc::default());
        Ok(Self { due, fired: never(), is_wanted, thread: None })
    }

    fn with_thread() -> io::Result<Self> {
        let (due, is_wanted) = (Arc::new(AtomicU64::new(NEVER)), Arc::new(AtomicBool::new(true)));
        let (fire, fired) = bounded(1);
        let thread = thread::Builder::new().name("timer".into()).spawn({
            let (due, is_wanted) = (due.clone(), is_wanted.clone());
            move || run(&due, &fire, &is_wanted)
        })?;
        Ok(Self { due, fired, is_wanted, thread: Some(thread) })
    }

    /// Arms the timer to fire once, at `at`; replaces an earlier instant.
    pub fn arm(&self, at: Time) {
        self.due.store(at.0, Ordering::Relaxed);
    }

    /// Returns the channel that receives a message each time the timer fires. An unread message may be from an
    /// earlier instant than the last one armed.
    #[must_use]
    pub const fn fired(&self) -> &Receiver<()> {
        &self.fired
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        self.is_wanted.store(false, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // It ends within LOOK_EVERY, and a panic in it has been printed already.
            let _ = thread.join();
        }
    }
}

fn run(due: &AtomicU64, fire: &Sender<()>, is_wanted: &AtomicBool) {
    while is_wanted.load(Ordering::Relaxed) {
        let at = due.load(Ordering::Relaxed);
        let left = Time(at).since(clock::now());
        if left.is_zero() {
            // If armed again in between, it fires again; if the channel is full, the unread message wakes the
            // receiver anyway.
            if due.compare_exchange(at, NEVER, Ordering::Relaxed, Ordering::Relaxed).is_ok() {
                let _ = fire.try_send(());
            }
            continue;
        }
        thread::sleep(left.min(LOOK_EVERY));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn a_timer_fires_once_and_never_early() {
        let timer = Timer::with_thread().expect("a thread");
        let at = clock::now().plus(Duration::from_millis(20));
        timer.arm(at);
        timer.fired().recv_timeout(PATIENCE).expect("fires");
        assert!(clock::now() >= at);
        assert!(timer.fired().recv_timeout(Duration::from_millis(20)).is_err());
    }

    #[test]
    fn arming_again_replaces_the_instant() {
        let timer = Timer::with_thread().expect("a thread");
        timer.arm(Time(u64::MAX - 1));
        let at = clock::now().plus(Duration::from_millis(5));
        timer.arm(at);
        timer.fired().recv_timeout(PATIENCE).expect("fires, though it was armed for the end of days");
        assert!(clock::now() >= at);
    }
}
