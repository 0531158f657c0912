//! One peer as this one sees it: its address, its distance, what it has received, and what it has run.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::time::Duration;

use super::clock::STALL_MOVES_US;
use crate::connection::{Connection, LOSSY_PER_MILLE};
use crate::drop_cause::DropCause;
use crate::event::LinkStatus;
use crate::indexed::Ring;
use crate::mutation::Mutation;
use crate::time::Time;
use crate::wire::message::{DesyncHashes, DesyncState, Pong, ShownHead};
use sim::{PlayerId, Tick};

/// The most input delay beyond the longest one-way delay that a peer can demand by its own report alone, in
/// microseconds.
const NEED_BEYOND_WAY_MAX_US: i64 = 150_000;
/// While few datagrams are lost, a peer can demand at most this many ticks of delay beyond the longest
/// one-way delay and one retransmission.
const NEED_TICKS_BEYOND: i64 = 2;
/// For how long the longest time to an acknowledgement counts: as long as the round trips of pings.
const RECENT: Duration = Duration::from_secs(2);
/// The furthest that a tick clock may be from tick 0: a hundred hours is far beyond any match that is still in step.
const CLOCK_MAX_US: u64 = 100 * 3_600_000_000;
/// Number of a peer's hash chains that are kept until this peer has run the same ticks.
const CHAINS: usize = 128;

/// A link to a peer, known by its connection id.
#[derive(Debug)]
pub(crate) struct Link {
    /// The player at the other end.
    pub(crate) player: PlayerId,
    pub(crate) connection: Connection,
    /// Claims of the peer about its states.
    pub(crate) claims: Claims,
    /// Our inputs that the peer has acknowledged.
    pub(crate) acked: Front,
    /// Times that our inputs have recently taken to be acknowledged.
    acked_after: LongestRecent,
    /// Whether it has reported that it has everything it needs.
    pub(crate) said_bye: bool,
    /// Whether it then stays for another match.
    pub(crate) stays: bool,
    /// The first tick for which it has no input, once it leaves.
    pub(crate) left_at: Option<Tick>,
    /// Whether it has been disconnected: nothing is sent to it, and its silence is ignored.
    pub(crate) is_gone: bool,
    /// Whether it is suspected: nothing is accepted from it directly.
    pub(crate) is_suspect: bool,
    /// Lead of the local tick clock over this peer's.
    pub(crate) ahead: Option<Ahead>,
    pub(crate) margin: Margin,
    /// The same of commitments.
    pub(crate) commitment_margin: Margin,
}

/// The longest of recent durations: of the last [`RECENT`] to twice that.
#[derive(Clone, Copy, Debug, Default)]
struct LongestRecent {
    before: Option<Duration>,
    current: Option<Duration>,
    since: Time,
}

impl LongestRecent {
    fn note(&mut self, now: Time, took: Duration) {
        if now.since(self.since) >= RECENT {
            (self.before, self.since) = (self.current.take(), now);
        }
        self.current = self.current.max(Some(took));
    }

    fn longest(&self) -> Option<Duration> {
        self.current.max(self.before)
    }
}

/// The first tick of the inputs, and that of the commitments, that somebody does not have. Without commitments both
/// are the same.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Front {
    pub(crate) inputs: Tick,
    pub(crate) commitments: Tick,
}

/// Time between the arrival of inputs and their ticks, at both ends.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Margin {
    /// Of its inputs that arrived since our last datagram, the one with the smallest arrival margin: its tick, and the
    /// margin in microseconds.
    pub(crate) least: Option<(Tick, i64)>,
    /// The last tick of ours whose margin it reported.
    pub(crate) heard: Option<Tick>,
}

/// Claims of a peer about its states.
#[derive(Clone, Debug, Default)]
pub(crate) struct Claims {
    /// The number of ticks it has run.
    pub(crate) ran: Tick,
    /// Its hash chain after each of the last ticks.
    chains: Ring<Option<(Tick, [u8; 2])>, CHAINS>,
    /// The last hashes that it sent.
    pub(crate) hashes: Option<Box<DesyncHashes>>,
    /// Its state after the tick that differs.
    pub(crate) state: Option<DesyncState>,
    /// The signed heads that it has shown, whose signatures are good.
    pub(crate) shown: Vec<ShownHead>,
    /// Number of times that it claimed a difference of hash chains and then took it back.
    pub(crate) taken_back: u8,
}

impl Front {
    /// The later tick of each.
    pub(crate) fn max(self, other: Self) -> Self {
        Self { inputs: self.inputs.max(other.inputs), commitments: self.commitments.max(other.commitments) }
    }
}

impl Margin {
    /// Notes what arrived `margin_us` before it was due.
    pub(crate) fn note(&mut self, tick: Tick, margin_us: i64) {
        if self.least.is_none_or(|(_, least)| margin_us < least) {
            self.least = Some((tick, margin_us));
        }
    }

    /// The worst margin as a datagram reports it: how many ticks before `wanted` it was, 0 for none, and the margin in
    /// 0.1 ms.
    pub(crate) fn report(&self, wanted: Tick) -> (u8, i16) {
        let least = self.least.and_then(|(tick, margin_us)| {
            let ticks = u8::try_from(wanted.since(tick)).ok().filter(|&ticks| ticks > 0)?;
            let tenths = (margin_us / 100).clamp(i64::from(i16::MIN), i64::from(i16::MAX));
            Some((ticks, tenths as i16))
        });
        least.unwrap_or_default()
    }

    /// Reads such a report: the tick and the margin in microseconds, if there is one and it is news. An error if it
    /// names a tick before tick 0.
    pub(crate) fn hear(
        &mut self,
        wanted: Tick,
        (margin_tick, margin): (u8, i16),
    ) -> Result<Option<(Tick, i64)>, DropCause> {
        if margin_tick == 0 {
            return Ok(None);
        }
        let tick = Tick(wanted.0.checked_sub(u32::from(margin_tick)).ok_or(DropCause::OutOfPlace)?);
        let is_news = self.heard.is_none_or(|heard| tick > heard);
        if is_news {
            self.heard = Some(tick);
        }
        Ok(is_news.then_some((tick, i64::from(margin).saturating_mul(100))))
    }
}

impl Claims {
    /// Keeps the hash chain after `ran` ticks until this peer has run as many.
    pub(crate) fn keep_chain(&mut self, ran: Tick, chain: [u8; 2]) {
        self.chains[ran] = Some((ran, chain));
    }

    /// The hash chain after `ran` ticks, if it is known.
    pub(crate) fn chain(&self, ran: Tick) -> Option<[u8; 2]> {
        self.chains[ran].filter(|&(of, _)| of == ran).map(|(_, chain)| chain)
    }
}

/// Lead of the local tick clock over a peer's.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ahead {
    /// The lead as measured, in microseconds; negative if the local clock lags.
    pub(crate) us: i64,
    /// Longest lead or lag that counts, in microseconds: what the path explains, or the present one if a longer path explained
    /// it. So two clocks that are apart when their path becomes shorter still converge.
    pub(crate) most_us: i64,
}

impl Link {
    /// A link on which no inputs have been exchanged.
    pub(crate) fn new(player: PlayerId, connection: Connection) -> Self {
        Self {
            player,
            connection,
            claims: Claims::default(),
            acked: Front::default(),
            acked_after: LongestRecent::default(),
            said_bye: false,
            stays: false,
            left_at: None,
            is_gone: false,
            is_suspect: false,
            ahead: None,
            margin: Margin::default(),
            commitment_margin: Margin::default(),
        }
    }

    /// Whether inputs are exchanged with this peer directly: it is neither disconnected nor suspected.
    pub(crate) const fn is_direct(&self) -> bool {
        !self.is_gone && !self.is_suspect
    }

    /// Whether the peer has acknowledged the own input for the tick that it runs next: if it stalls, it lacks another
    /// peer's.
    pub(crate) fn lacks_anothers(&self) -> bool {
        self.acked.inputs > self.claims.ran
    }

    /// Notes that the peer has ours up to `acked`; the last of it left here at `sent`, if it is new to the peer.
    pub(crate) fn acknowledge(&mut self, now: Time, acked: Front, sent: Option<Time>) {
        let sent = sent.filter(|_| !Mutation::PongsAlone.is_planted());
        if let Some(sent) = sent.filter(|_| acked.commitments > self.acked.commitments) {
            self.acked_after.note(now, now.since(sent));
        }
        self.acked = self.acked.max(acked);
    }

    /// The longest recent one-way delay, in microseconds. Pongs and acknowledgements may both come late, but who
    /// acknowledges late may not commit far ahead: the shorter of the two counts.
    fn longest_way_us(&self) -> i64 {
        let acked_us = self.acked_after.longest().map_or(i64::MAX, |after| after.as_micros() as i64 / 2);
        self.connection.rtt.longest_way_us().min(acked_us)
    }

    /// Handles a measurement of the local tick clock's lead over the peer's, in microseconds.
    pub(crate) fn clock_is_ahead(&mut self, us: i64) {
        let explained_us = self.longest_way_us().saturating_mul(2).saturating_add(STALL_MOVES_US);
        let before_us = self.ahead.map_or(0, |before| before.most_us);
        self.ahead = Some(Ahead { us, most_us: explained_us.max(before_us.min(us.saturating_abs())) });
    }

    /// The longest input delay that the peer may demand, in microseconds: what the delay, jitter and losses
    /// of the path explain. These are our own measurements; what the peer says it requires is only its claim.
    pub(crate) fn required_max_us(&self, tick_us: i64) -> i64 {
        let least = Duration::from_micros(tick_us.unsigned_abs().saturating_mul(3) / 2);
        let acked_after = self.acked_after.longest().unwrap_or(Duration::MAX).max(least);
        let again_us = self.connection.rtt.timeout(least).min(acked_after).as_micros() as i64;
        // The length of a burst of losses is unpredictable.
        let is_lossy = self.connection.lost_here().is_none_or(|lost| lost > LOSSY_PER_MILLE);
        let repair_us = if is_lossy {
            i64::MAX
        } else {
            again_us.saturating_add(tick_us.saturating_mul(NEED_TICKS_BEYOND))
        };
        self.longest_way_us().saturating_add(repair_us.min(NEED_BEYOND_WAY_MAX_US))
    }

    /// The state of the link now.
    pub(crate) fn status(&self, now: Time) -> LinkStatus {
        self.connection.status(self.player, now)
    }

    /// Handles the answer to a ping. Returns where the peer's tick clock stands now, in microseconds, if the answer
    /// says so and took no longer than usual: after a long round trip it says little.
    pub(crate) fn on_pong(&mut self, now: Time, pong: &Pong) -> Result<Option<i64>, DropCause> {
        if pong.clock_us.is_some_and(|us| us.unsigned_abs() > CLOCK_MAX_US) {
            return Err(DropCause::OutOfPlace);
        }
        let took = self.connection.on_pong(now, pong).ok_or(DropCause::OutOfPlace)?.as_micros() as i64;
        let rtt = &self.connection.rtt;
        let usual_us = rtt.smoothed_us().unwrap_or(0).saturating_add(rtt.deviation_us());
        let theirs_us = pong.clock_us.filter(|_| took.unsigned_abs() <= usual_us);
        Ok(theirs_us.map(|theirs_us| theirs_us.saturating_add(took / 2)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::connection::path::Trust;
    use crate::connection::protection::PacketProtection;
    use core::net::SocketAddr;
    use rand_chacha::ChaCha12Rng;
    use rand_chacha::rand_core::SeedableRng as _;

    fn link() -> Link {
        let rng = &mut ChaCha12Rng::from_seed([1; 32]);
        let path = (&[SocketAddr::from(([10, 0, 0, 1], 4124))][..], Trust::Proven);
        let connection = Connection::new(Time(0), path, PacketProtection::plaintext(1, 2), rng);
        Link::new(PlayerId(1), connection)
    }

    #[test]
    fn a_pong_tells_the_clock_of_half_a_round_trip_ago() {
        let mut link = link();
        link.connection.rtt.ping(Time(0));
        let pong = Pong { echo_us: 0, clock_us: Some(5_000), time_us: 0, error_us: 0, lost_per_mille: 0 };
        assert_eq!(link.on_pong(Time(80_000), &pong), Ok(Some(45_000)));
    }

    #[test]
    fn the_longest_of_recent_times_is_forgotten_after_two_to_four_seconds() {
        let (ms, mut longest) = (Duration::from_millis, LongestRecent::default());
        assert_eq!(longest.longest(), None);
        for (at, took, is) in
            [(0, 90, 90), (1_000, 40, 90), (2_500, 50, 90), (4_400, 30, 90), (4_600, 20, 50)]
        {
            longest.note(Time(at * 1_000), ms(took));
            assert_eq!(longest.longest(), Some(ms(is)), "at {at} ms");
        }
    }

    #[test]
    fn the_way_is_half_of_a_pong_or_an_acknowledgement_whichever_took_less() {
        let way_us = |pong_ms: u64, acked_ms: u64| {
            let mut link = link();
            link.connection.rtt.ping(Time(0));
            link.connection.rtt.answer(Time(1_000 * pong_ms), Time(0)).expect("a sample");
            let acked = Front { inputs: Tick(1), commitments: Tick(1) };
            link.acknowledge(Time(1_000 * acked_ms), acked, Some(Time(0)));
            link.longest_way_us()
        };
        assert_eq!(way_us(80, 100), 40_000);
        assert_eq!(way_us(80, 60), 30_000);
    }

    #[test]
    fn the_worst_margin_is_reported_and_counts_once() {
        let mut here = Margin::default();
        assert_eq!(here.report(Tick(10)), (0, 0), "nothing has arrived");
        here.note(Tick(7), 4_250);
        here.note(Tick(8), -1_250);
        here.note(Tick(9), 300);
        let report = here.report(Tick(10));
        assert_eq!(report, (2, -12), "two ticks before, in tenths of a millisecond");
        let mut there = Margin::default();
        assert_eq!(there.hear(Tick(10), (0, 0)), Ok(None));
        assert_eq!(there.hear(Tick(10), report), Ok(Some((Tick(8), -1_200))));
        assert_eq!(there.hear(Tick(10), report), Ok(None), "it is no news");
        assert_eq!(there.hear(Tick(1), report), Err(DropCause::OutOfPlace), "before tick 0");
    }
}
