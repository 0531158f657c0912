//! One peer as this one sees it: where it is, how far it is, what it has, what it has run.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::boxed::Box;
use arrayvec::ArrayVec;
use core::net::SocketAddr;
use core::time::Duration;

use super::given::{GivenQueue, RemoteClock};
use super::hold_up::HoldUp;
use super::message::{ADDRESSES_MAX, DesyncHashes, Seats};
use super::seal::Seal;
use super::table::Ring;
use super::time::Time;
use crate::sim::{PlayerId, Tick};

/// Between pings while a match is being set up.
pub(super) const PING_SETUP: Duration = Duration::from_millis(50);
/// Between pings while it runs.
pub(super) const PING_RUNNING: Duration = Duration::from_millis(500);
/// Longest time between pings to a peer that was never heard; it doubles up to that.
pub(super) const PING_UNHEARD_MAX: Duration = Duration::from_secs(1);
/// Of how many datagrams the loss is measured at a time.
const LOSS_WINDOW: u64 = 128;
/// A link that loses more than this gets a second datagram per tick, per mille; so does one of which nothing
/// is known yet.
pub(super) const LOSSY_PER_MILLE: u16 = 10;
/// How many such windows count together: of a loss of 2 % one window often shows nothing.
const LOSS_WINDOWS: usize = 8;
/// The most input delay beyond the longest way that a peer's word alone can ask for, in microseconds.
const NEED_BEYOND_WAY_MAX_US: i64 = 150_000;
/// A peer asks at most for so many ticks of delay beyond the longest way and one datagram that is sent again, while
/// few datagrams are lost.
const NEED_TICKS_BEYOND: i64 = 2;
/// How many ticks of a peer's hash chain wait for this peer to run them too.
const CHAINS: usize = 128;

/// A link to a peer, known by its connection id.
#[derive(Clone, Debug)]
pub(super) struct Link {
    /// Who is there.
    pub(super) player: PlayerId,
    /// Where datagrams go; several until the peer is heard from one of them.
    pub(super) addresses: ArrayVec<SocketAddr, ADDRESSES_MAX>,
    /// Whether the peer may move to another address (the address this peer was told stays).
    pub(super) follows: bool,
    /// Its envelopes.
    pub(super) seal: Seal,
    /// The way there and back.
    pub(super) rtt: Rtt,
    /// When it was last heard; when the link was made, before that.
    pub(super) heard_at: Time,
    /// Whether it was ever heard.
    pub(super) is_heard: bool,
    /// How long its player has held the match up.
    pub(super) hold_up: HoldUp,
    /// How many times it claimed a difference of hash chains and then took it back.
    pub(super) false_claims: u8,
    /// Whether its silence has been reported.
    pub(super) is_silent: bool,
    /// It has every input of ours before this tick.
    pub(super) acked: Tick,
    /// Ticks it has run.
    pub(super) ran: Tick,
    /// Host: whether it is ready for tick 0, and which seats it has not heard.
    pub(super) is_ready: bool,
    /// Host: the seats that it has not heard.
    pub(super) unheard: Seats,
    /// Host: when to send it the start again; `None` once it has it.
    pub(super) start_at: Option<Time>,
    /// Whether it said that it has all it needs.
    pub(super) said_bye: bool,
    /// The first tick for which it has no input, once it leaves.
    pub(super) left_at: Option<Tick>,
    /// Whether its seat has departed: nothing is sent to it, and its silence means nothing.
    pub(super) is_gone: bool,
    /// Its last hashes, once it searches for a difference.
    pub(super) hashes: Option<Box<DesyncHashes>>,
    /// How far this peer's tick clock is ahead of its, in microseconds.
    pub(super) ahead_us: Option<i64>,
    /// Share of our datagrams that it lost of late, per mille.
    pub(super) lost_there: u16,
    /// Share of its datagrams that we lost of late, per mille; `None` before that is known.
    pub(super) lost_here: Option<u16>,
    /// Of its inputs that arrived since our last datagram, the one with the least time to spare.
    pub(super) slack: Option<(Tick, i64)>,
    /// The last tick whose slack it reported.
    pub(super) slack_heard: Option<Tick>,
    /// Its clock beside ours.
    pub(super) clock: RemoteClock,
    /// Lockstep: when its commands were given, of inputs that wait for their tick.
    pub(super) given: GivenQueue,
    /// When to ping it next.
    pub(super) ping_at: Time,
    /// Pings that left before it was heard for the first time.
    pub(super) unanswered: u8,
    /// When to send the second datagram of this tick, while the link loses some.
    pub(super) second_at: Option<Time>,
    /// When to send again if nothing else is sent.
    pub(super) resend_at: Time,
    loss_from: (u64, u64),
    /// What was sent and what arrived in the last windows.
    losses: ArrayVec<(u64, u64), LOSS_WINDOWS>,
    chains: Ring<Option<(Tick, [u8; 4])>, CHAINS>,
}

impl Link {
    pub(super) fn new(
        now: Time,
        player: PlayerId,
        addresses: &[SocketAddr],
        follows: bool,
        seal: Seal,
    ) -> Self {
        Self {
            player,
            addresses: addresses.iter().copied().take(ADDRESSES_MAX).collect(),
            follows,
            seal,
            rtt: Rtt::default(),
            heard_at: now,
            is_heard: false,
            hold_up: HoldUp::default(),
            false_claims: 0,
            is_silent: false,
            acked: Tick(0),
            ran: Tick(0),
            is_ready: false,
            unheard: Seats::default(),
            start_at: None,
            said_bye: false,
            left_at: None,
            is_gone: false,
            hashes: None,
            ahead_us: None,
            lost_there: LOSSY_PER_MILLE + 1,
            lost_here: None,
            slack: None,
            slack_heard: None,
            clock: RemoteClock::default(),
            given: GivenQueue::new(),
            ping_at: now,
            unanswered: 0,
            second_at: None,
            resend_at: now,
            loss_from: (0, 0),
            losses: ArrayVec::new(),
            chains: Ring::default(),
        }
    }

    /// It was heard from `from`; `newest` if no later datagram has been.
    pub(super) fn hear(&mut self, now: Time, from: SocketAddr, newest: bool) {
        self.heard_at = now;
        self.measure_loss();
        let is_first = !core::mem::replace(&mut self.is_heard, true);
        if self.follows && (newest || is_first) {
            self.addresses.clear();
            self.addresses.push(from);
        }
    }

    /// Measures the loss once enough datagrams have gone by.
    fn measure_loss(&mut self) {
        let (sent, arrived) = self.seal.arrivals();
        let (sent, arrived) =
            (sent.saturating_sub(self.loss_from.0), arrived.saturating_sub(self.loss_from.1));
        if sent < LOSS_WINDOW {
            return;
        }
        self.loss_from = self.seal.arrivals();
        if self.losses.is_full() {
            self.losses.remove(0);
        }
        self.losses.push((sent, arrived));
        let share = |sent: u64, arrived: u64| {
            let lost = sent.saturating_sub(arrived).saturating_mul(1000);
            lost.checked_div(sent).unwrap_or(0) as u16
        };
        let all = (
            self.losses.iter().map(|window| window.0).sum(),
            self.losses.iter().map(|window| window.1).sum(),
        );
        // A loss that begins shows at once, one that ends when the windows have forgotten it.
        self.lost_here = Some(share(sent, arrived).max(share(all.0, all.1)));
    }

    /// The longest input delay that the peer may ask for, in microseconds: what the way, its jitter and its losses
    /// explain. The way is our own measurement, and so is what it loses; what the peer says it needs is its word.
    pub(super) fn need_max_us(&self, tick_us: i64) -> i64 {
        let least = Duration::from_micros(tick_us.unsigned_abs().saturating_mul(3) / 2);
        let again_us = self.rtt.timeout(least).as_micros() as i64;
        // How many are lost in a row nobody can tell.
        let is_lossy = self.lost_here.is_none_or(|lost| lost > LOSSY_PER_MILLE);
        let repair_us = if is_lossy {
            i64::MAX
        } else {
            again_us.saturating_add(tick_us.saturating_mul(NEED_TICKS_BEYOND))
        };
        self.rtt.longest_way_us().saturating_add(repair_us.min(NEED_BEYOND_WAY_MAX_US))
    }

    /// Notes an input that arrived `slack_us` before it was due.
    pub(super) fn note_slack(&mut self, tick: Tick, slack_us: i64) {
        if self.slack.is_none_or(|(_, least)| slack_us < least) {
            self.slack = Some((tick, slack_us));
        }
    }

    /// Keeps the peer's hash chain after `ran` ticks until this peer has run as many.
    pub(super) fn keep_chain(&mut self, ran: Tick, chain: [u8; 4]) {
        self.chains[ran] = Some((ran, chain));
    }

    /// The peer's hash chain after `ran` ticks, if it told.
    pub(super) fn chain(&self, ran: Tick) -> Option<[u8; 4]> {
        self.chains[ran].filter(|&(of, _)| of == ran).map(|(_, chain)| chain)
    }
}

/// The time to a peer and back, by the answers to our pings, smoothed as in RFC 6298.
#[derive(Clone, Debug, Default)]
pub(super) struct Rtt {
    /// When the pings left that have no answer yet, oldest first.
    unanswered: ArrayVec<Time, UNANSWERED_MAX>,
    smoothed_us: Option<u64>,
    deviation_us: u64,
    latest_us: Ring<u64, LATEST>,
    samples: usize,
}

/// How many of the latest samples are remembered one by one: before a match those of 0.4 s.
const LATEST: usize = 8;
/// Most pings whose answer still counts: those of the last 3 s before a match, of the last half minute in it.
const UNANSWERED_MAX: usize = 64;

impl Rtt {
    /// A ping leaves.
    pub(super) fn ping(&mut self, now: Time) {
        if self.unanswered.is_full() {
            self.unanswered.remove(0);
        }
        self.unanswered.push(now);
    }

    /// Learns from the answer to the ping that left at `left`, and returns how long it took. `None` if no such ping
    /// waits for one: a peer may answer late, but cannot choose what it answers.
    pub(super) fn answer(&mut self, now: Time, left: Time) -> Option<Duration> {
        let at = self.unanswered.iter().position(|&ping| ping == left)?;
        self.unanswered.remove(at);
        let sample = now.since(left);
        self.observe(sample);
        Some(sample)
    }

    fn observe(&mut self, sample: Duration) {
        let sample = sample.as_micros() as u64;
        self.latest_us[self.samples] = sample;
        self.samples = self.samples.wrapping_add(1);
        match self.smoothed_us {
            None => (self.smoothed_us, self.deviation_us) = (Some(sample), sample / 2),
            Some(smoothed) => {
                self.deviation_us =
                    self.deviation_us.saturating_mul(3).saturating_add(smoothed.abs_diff(sample)) / 4;
                self.smoothed_us = Some(smoothed.saturating_mul(7).saturating_add(sample) / 8);
            }
        }
    }

    /// Smoothed, in microseconds; `None` before the first sample.
    pub(super) const fn smoothed_us(&self) -> Option<u64> {
        self.smoothed_us
    }

    /// Its mean deviation, in microseconds.
    pub(super) const fn deviation_us(&self) -> u64 {
        self.deviation_us
    }

    /// The longest way there of late, as far as one can tell, in microseconds: half the longest of the latest round
    /// trips. 0 before the first.
    pub(super) fn longest_way_us(&self) -> i64 {
        (self.latest_us.iter().max().copied().unwrap_or(0) / 2).cast_signed()
    }

    /// How long to wait for an answer before sending again: never under `least`.
    pub(super) fn timeout(&self, least: Duration) -> Duration {
        const BEFORE_FIRST_SAMPLE_US: u64 = 100_000;
        let of = |smoothed: u64| smoothed.saturating_add(self.deviation_us.saturating_mul(4));
        let us = self.smoothed_us.map_or(BEFORE_FIRST_SAMPLE_US, of);
        Duration::from_micros(us).max(least)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rtt_settles_and_its_timeout_has_a_floor() {
        let mut rtt = Rtt::default();
        for _ in 0..100 {
            rtt.observe(Duration::from_millis(50));
        }
        assert_eq!(rtt.smoothed_us(), Some(50_000));
        assert_eq!(rtt.timeout(Duration::from_millis(80)), Duration::from_millis(80));
        assert!(rtt.timeout(Duration::ZERO) < Duration::from_millis(51));
    }

    #[test]
    fn only_what_was_asked_is_answered_and_only_once() {
        let mut rtt = Rtt::default();
        let ms = |ms: u64| Time(ms * 1_000);
        for n in 0..=UNANSWERED_MAX as u64 {
            rtt.ping(ms(50 * n));
        }
        let now = ms(5_000);
        assert_eq!(rtt.answer(now, ms(0)), None, "too long ago");
        assert_eq!(rtt.answer(now, ms(4_999)), None, "never asked");
        assert_eq!(rtt.answer(now, ms(3_200)), Some(Duration::from_millis(1_800)));
        assert_eq!(rtt.answer(now, ms(3_200)), None, "answered already");
        assert_eq!((rtt.samples, rtt.smoothed_us()), (1, Some(1_800_000)));
    }

    #[test]
    fn the_longest_way_is_that_of_the_latest_samples() {
        let mut rtt = Rtt::default();
        assert_eq!(rtt.longest_way_us(), 0);
        for ms in [90, 50, 60, 55] {
            rtt.observe(Duration::from_millis(ms));
        }
        assert_eq!(rtt.longest_way_us(), 45_000);
        for _ in 0..LATEST - 2 {
            rtt.observe(Duration::from_millis(50));
        }
        assert_eq!(rtt.longest_way_us(), 30_000);
    }

    #[test]
    fn loss_is_the_share_of_counters_that_never_came() {
        let address = SocketAddr::from(([127, 0, 0, 1], 1));
        let mut there = Seal::new(2, 1);
        let mut link = Link::new(Time(0), PlayerId(1), &[address], true, Seal::new(1, 2));
        for n in 0..1280 {
            let sealed = there.seal(5, &[]);
            if n % 10 != 0 {
                link.seal.open(Time(0), sealed.bytes()).expect("new");
            }
            link.measure_loss();
        }
        let lost = link.lost_here.expect("ten windows have gone by");
        assert!((85..=110).contains(&lost), "{lost} per mille");
    }
}
