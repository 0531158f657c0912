//! Wakes a thread that waits on channels, on time.

use core::time::Duration;
use crossbeam_channel::{Receiver, Sender, bounded, never};
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};

use super::clock;
use net::Time;

/// Not armed.
const NEVER: u64 = u64::MAX;
/// How often the thread checks whether it was armed again: the most by which it fires late.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Fires at an instant, through a channel.
///
/// Time-outs of channels are rounded up to the system's timer, on Windows 15.6 ms: a whole tick. Sleeping is exact
/// to a millisecond there, so a thread sleeps in its place. Elsewhere time-outs are exact, and this does nothing.
#[derive(Debug)]
pub struct Timer {
    /// In microseconds, or [`NEVER`].
    due: Arc<AtomicU64>,
    fired: Receiver<()>,
    is_wanted: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Timer {
    /// The timer that this system needs.
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

    /// Lets it fire once, at `at`; an earlier instant is replaced.
    pub fn arm(&self, at: Time) {
        self.due.store(at.0, Ordering::Relaxed);
    }

    /// Receives a message each time it fires. An unread message may be from an earlier instant than the last one armed.
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
            // Armed anew in between it fires again; full, it has not been received, and wakes all the same.
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
    fn it_fires_once_and_never_too_soon() {
        let timer = Timer::with_thread().expect("a thread");
        let at = clock::now().plus(Duration::from_millis(20));
        timer.arm(at);
        timer.fired().recv_timeout(PATIENCE).expect("fires");
        assert!(clock::now() >= at);
        assert!(timer.fired().recv_timeout(Duration::from_millis(20)).is_err());
    }

    #[test]
    fn the_last_instant_counts() {
        let timer = Timer::with_thread().expect("a thread");
        timer.arm(Time(u64::MAX - 1));
        let at = clock::now().plus(Duration::from_millis(5));
        timer.arm(at);
        timer.fired().recv_timeout(PATIENCE).expect("fires, though it was armed for the end of days");
        assert!(clock::now() >= at);
    }
}
