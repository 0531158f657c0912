//! A host that strangers send garbage to, and the same beside a machine that is as busy: then the garbage goes to a
//! socket that nobody reads.

use anyhow::Context as _;
use serde::Serialize;
use std::net::{Ipv4Addr, SocketAddr, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crate::HZ;
use crate::arena::Arena;
use crate::figures::WARM_UP;
use crate::proxy::Link;

/// Datagrams a second.
const RATE: u64 = 200_000;
/// Bytes of a datagram: as many as of an idle player.
const BYTES: usize = 33;
/// How long the sender rests when it is ahead.
const REST: Duration = Duration::from_micros(50);

/// How late the host's ticks ran, of all runs together.
#[derive(Serialize)]
pub(crate) struct FloodReport {
    alone: Lateness,
    busy: Lateness,
    flooded: Lateness,
}

#[derive(Serialize)]
struct Lateness {
    ticks: usize,
    /// Ticks that ran more than a tick late.
    missed: usize,
    p99_ms: f64,
    /// Garbage sent meanwhile.
    datagrams_per_s: f64,
}

/// Plays `runs` matches of each kind in turn.
pub(crate) fn measure(arena: &Arena, seed: u64, runs: u64, seconds: u32) -> anyhow::Result<FloodReport> {
    let mut late: [Vec<u64>; 3] = Default::default();
    let mut sent = [0.0; 3];
    let unread = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).context("a socket")?;
    let sink = unread.local_addr().context("its address")?;
    let ticks = (WARM_UP.as_secs() as u32 + seconds) * HZ;
    for run in 0..runs {
        for (kind, late) in late.iter_mut().enumerate() {
            let beside = |host: SocketAddr| match kind {
                0 => None,
                1 => Some(Sender::start(sink)),
                _ => Some(Sender::start(host)),
            };
            let (played, sender) = arena.play(Link::default(), seed * 1000 + run, ticks, beside)?;
            sent[kind] += sender.map_or(0.0, Sender::stop) / runs as f64;
            late.extend(played.host_lateness_us(WARM_UP));
        }
        eprintln!("  run {} of {runs}", run + 1);
    }
    let [alone, busy, flooded] = late;
    Ok(FloodReport {
        alone: Lateness::of(alone, sent[0]),
        busy: Lateness::of(busy, sent[1]),
        flooded: Lateness::of(flooded, sent[2]),
    })
}

impl FloodReport {
    pub(crate) fn text(&self) -> String {
        let line = |name: &str, it: &Lateness| {
            format!(
                "{name}: {} of {} ticks missed, p99 {:.1} ms late, beside {:.0} datagrams/s",
                it.missed, it.ticks, it.p99_ms, it.datagrams_per_s
            )
        };
        [line("alone", &self.alone), line("machine as busy", &self.busy), line("flooded", &self.flooded)]
            .join("\n")
    }
}

impl Lateness {
    fn of(mut late_us: Vec<u64>, datagrams_per_s: f64) -> Self {
        late_us.sort_unstable();
        let p99 = late_us.get(late_us.len() * 99 / 100).copied().unwrap_or_default();
        let missed = late_us.iter().filter(|&&us| us > 1_000_000 / u64::from(HZ)).count();
        Self { ticks: late_us.len(), missed, p99_ms: p99 as f64 / 1e3, datagrams_per_s }
    }
}

/// Sends garbage at [`RATE`] until it is stopped.
struct Sender {
    is_over: Arc<AtomicBool>,
    thread: JoinHandle<f64>,
}

impl Sender {
    fn start(to: SocketAddr) -> Self {
        let is_over = Arc::new(AtomicBool::new(false));
        let thread = std::thread::spawn({
            let is_over = is_over.clone();
            move || send(to, &is_over)
        });
        Self { is_over, thread }
    }

    /// Ends it; datagrams per second.
    fn stop(self) -> f64 {
        self.is_over.store(true, Ordering::Relaxed);
        self.thread.join().unwrap_or_default()
    }
}

fn send(to: SocketAddr, is_over: &AtomicBool) -> f64 {
    let Ok(socket) = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)) else { return 0.0 };
    let (began, mut sent) = (Instant::now(), 0);
    let mut rng = fastrand::Rng::with_seed(1);
    let mut bytes = [0; BYTES];
    while !is_over.load(Ordering::Relaxed) {
        let due = began.elapsed().as_micros() as u64 * RATE / 1_000_000;
        if sent >= due {
            std::thread::sleep(REST);
            continue;
        }
        rng.fill(&mut bytes);
        // Every packet id there is, and some more.
        bytes[0] %= 0x28;
        // What the system refuses counts as sent: it has cost as much.
        let _ = socket.send_to(&bytes, to);
        sent += 1;
    }
    sent as f64 / began.elapsed().as_secs_f64()
}
