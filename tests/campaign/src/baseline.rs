//! A fair rival for the session: classic lockstep as it is usually built, on the same virtual links.
//!
//! Input delay in whole ticks, fixed for the match: the inputs of tick t + D are taken when tick t runs. One
//! datagram a tick carries every input that the peer has not acknowledged; when none is due, a timer of 200 ms
//! sends again. It needs no handshake and no world here: only when inputs are taken and ticks run counts.

use core::time::Duration;
use serde::Serialize;

use super::interference::{VirtualMatch, virtual_match};
use super::scenario::Scenario;
use game::{Histogram, Percentiles};
use lab::VirtualSetup;
use lab::milliseconds;
use lab::simnet::{FaultyLinks, LinkFaults, SimNetwork};
use net::{Time, Traffic};
use sim::{Tick, TickRate};

/// Without anything else to send, inputs are sent again so often.
const RESEND_EVERY: Duration = Duration::from_millis(200);
/// A peer that is later than this does not catch up, as in the session.
const CATCH_UP_MAX: Duration = Duration::from_millis(250);
/// Bytes sent beside inputs: acknowledgement, hash, envelope.
const HEADER_BYTES: usize = 20;
/// Of an IPv4 and a UDP header.
const IP_UDP_BYTES: u64 = 28;
/// Interval at which a match of sessions is sampled.
pub(super) const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Latency and stalls of one of the two.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LockstepFigures {
    /// From the moment an input is taken to the tick that runs it at the other peer, in milliseconds.
    pub opponent_ms: Percentiles,
    /// Stalled time, as a share of the match.
    pub stalled: f64,
    /// Bandwidth of one peer, with IP and UDP headers, in thousands of bits per second.
    pub kbit_s: f64,
    /// The input delay in the end, in ticks.
    pub delay_ticks: f64,
}

/// Both on one link.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct BaselineCell {
    /// There and back.
    #[serde(rename = "rtt_ms", serialize_with = "milliseconds")]
    pub rtt: Duration,
    /// Either way, more or less.
    #[serde(rename = "jitter_ms", serialize_with = "milliseconds")]
    pub jitter: Duration,
    /// As a share.
    pub loss: f64,
    /// The session.
    pub ours: LockstepFigures,
    /// Classic lockstep.
    pub classic: LockstepFigures,
}

/// Plays `setup`, a match of two, on a link of each round trip, jitter and loss, in both ways. `None` for a
/// cell in which no tick ran.
pub fn baseline(setup: &VirtualSetup) -> impl Iterator<Item = Option<BaselineCell>> {
    const LOSSES: [u32; 4] = [0, 20_000, 50_000, 100_000];
    let links = [0, 50, 100, 200].into_iter().flat_map(|rtt_ms| {
        let one_way = Duration::from_millis(rtt_ms) / 2;
        let jitters = if rtt_ms == 0 { vec![Duration::ZERO] } else { vec![Duration::ZERO, one_way / 10] };
        jitters.into_iter().flat_map(move |jitter| {
            LOSSES.map(|loss| LinkFaults { delay: one_way, jitter, loss, ..LinkFaults::default() })
        })
    });
    links.map(|link| {
        Some(BaselineCell {
            rtt: 2 * link.delay,
            jitter: link.jitter,
            loss: f64::from(link.loss) / 1e6,
            ours: play_sessions(setup.clone(), Scenario::steady(2, link), |_| {})?,
            classic: Classic::new(setup, link).play()?,
        })
    })
}

/// Plays a match of two sessions; `watch` sees it after every [`LOOK_EVERY`]. `None` if no tick ran.
pub(super) fn play_sessions(
    setup: VirtualSetup,
    scenario: Scenario,
    mut watch: impl FnMut(&VirtualMatch),
) -> Option<LockstepFigures> {
    let tick_us = 1e6 / f64::from(setup.tick_rate.hz());
    let mut game = virtual_match(setup, scenario);
    let (mut delay_us, mut sent_bytes) = (0, [0; 2]);
    while game.play_until(game.now().plus(LOOK_EVERY)) {
        delay_us = game.link_of(0).map_or(delay_us, |(_, delay_us)| delay_us);
        for (peer, bytes) in sent_bytes.iter_mut().enumerate() {
            let on_wire = |traffic: Traffic| traffic.bytes_sent + IP_UDP_BYTES * traffic.packets_sent;
            *bytes = game.traffic_of(peer).map_or(*bytes, on_wire);
        }
        watch(&game);
    }
    let stalled: u64 = (0..2).map(|peer| game.record(peer).stalled_us().iter().sum::<u64>()).sum();
    let ran: u64 = (0..2).map(|peer| u64::from(game.record(peer).next.0)).sum();
    let played_us = ran as f64 * tick_us + stalled as f64;
    Some(LockstepFigures {
        opponent_ms: game.opponent_latency().percentiles()?,
        stalled: stalled as f64 / played_us,
        kbit_s: kbit_s(sent_bytes.iter().sum(), played_us),
        delay_ticks: delay_us as f64 / tick_us,
    })
}

fn kbit_s(bytes: u64, over_us: f64) -> f64 {
    bytes as f64 * 8_000.0 / over_us
}

/// Two peers of classic lockstep.
struct Classic {
    network: SimNetwork<FaultyLinks>,
    rate: TickRate,
    ticks: u32,
    /// In ticks.
    delay: u32,
    peers: [ClassicPeer; 2],
    latency: Histogram,
    sent_bytes: u64,
    now: Time,
}

#[derive(Default)]
struct ClassicPeer {
    /// The next tick.
    next: Tick,
    /// When tick 0 was due.
    begin: Time,
    ran_at: Time,
    /// When the input of each tick was taken.
    taken: Vec<Time>,
    /// The first tick whose input is not here.
    wanted: Tick,
    /// The first of its inputs that the other has not acknowledged.
    acked: Tick,
    sent_at: Time,
    stalled_us: u64,
}

impl Classic {
    fn new(setup: &VirtualSetup, link: LinkFaults) -> Self {
        let mut links = FaultyLinks::new(2, setup.seed);
        (*links.faults(0, 1), *links.faults(1, 0)) = (link, link);
        let tick_us = 1_000_000_u128.div_ceil(u128::from(setup.tick_rate.hz()));
        let worst_us = (link.delay + link.jitter).as_micros();
        let delay = worst_us.div_ceil(tick_us) as u32 + 1;
        // The inputs of the first ticks are empty and known to all.
        let peer = || ClassicPeer {
            taken: vec![Time(0); delay as usize],
            wanted: Tick(delay),
            acked: Tick(delay),
            ..ClassicPeer::default()
        };
        let (rate, ticks) = (setup.tick_rate, setup.ticks);
        Self {
            network: SimNetwork::new(2, links),
            rate,
            ticks,
            delay,
            peers: [peer(), peer()],
            latency: Histogram::default(),
            sent_bytes: 0,
            now: Time(0),
        }
    }

    fn play(mut self) -> Option<LockstepFigures> {
        let length = Duration::from_micros(self.rate.micros_to(Tick(self.ticks)));
        let end = Time(0).plus(length);
        while self.now < end {
            while let Some(arrival) = self.network.pop(self.now) {
                let word = |at: usize| [0, 1, 2, 3].map(|i| arrival.bytes[at + i]);
                let [first, last, acked] = [0, 4, 8].map(|at| Tick(u32::from_le_bytes(word(at))));
                let peer = &mut self.peers[arrival.to];
                if first <= peer.wanted {
                    peer.wanted = peer.wanted.max(last);
                }
                peer.acked = peer.acked.max(acked);
            }
            for peer in 0..2 {
                while self.run(peer) {}
                if self.now.since(self.peers[peer].sent_at) >= RESEND_EVERY {
                    self.send(peer);
                }
            }
            let due = |peer: &ClassicPeer| {
                let tick = (peer.next < peer.wanted).then(|| self.due(peer));
                tick.into_iter().chain([peer.sent_at.plus(RESEND_EVERY)]).min()
            };
            let next = self.peers.iter().filter_map(due).chain(self.network.next_at()).min();
            self.now = next.unwrap_or(end).max(Time(self.now.0 + 1));
        }
        let stalled: u64 = self.peers.iter().map(|peer| peer.stalled_us).sum();
        let played_us = 2.0 * length.as_micros() as f64;
        Some(LockstepFigures {
            opponent_ms: self.latency.percentiles()?,
            stalled: stalled as f64 / played_us,
            kbit_s: kbit_s(self.sent_bytes, played_us),
            delay_ticks: f64::from(self.delay),
        })
    }

    fn due(&self, peer: &ClassicPeer) -> Time {
        peer.begin.plus(Duration::from_micros(self.rate.micros_to(peer.next)))
    }

    /// Runs the next tick if it is due and complete, takes the input of a later one, and sends.
    fn run(&mut self, at: usize) -> bool {
        let (now, scheduled) = (self.now, self.due(&self.peers[at]));
        let tick = self.peers[at].next;
        if now < scheduled || self.peers[at].wanted <= tick {
            return false;
        }
        let taken = self.peers[1 - at].taken[tick.0 as usize];
        if tick >= Tick(self.delay) {
            self.latency.add(now.since(taken));
        }
        let peer = &mut self.peers[at];
        peer.stalled_us += now.since(scheduled.max(peer.ran_at)).as_micros() as u64;
        let late = now.since(scheduled);
        if late > CATCH_UP_MAX {
            peer.begin = peer.begin.plus(late);
        }
        (peer.next, peer.ran_at) = (tick.plus(1), now);
        peer.taken.push(now);
        self.send(at);
        true
    }

    fn send(&mut self, at: usize) {
        let peer = &mut self.peers[at];
        let last = Tick(peer.taken.len() as u32);
        let first = peer.acked.min(last);
        let mut bytes = vec![0; HEADER_BYTES + last.since(first) as usize];
        for (place, tick) in [first, last, peer.wanted].into_iter().enumerate() {
            bytes[4 * place..4 * place + 4].copy_from_slice(&tick.0.to_le_bytes());
        }
        peer.sent_at = self.now;
        self.sent_bytes += bytes.len() as u64 + IP_UDP_BYTES;
        let to = self.network.address(1 - at);
        self.network.send(self.now, at, to, &bytes);
    }
}
