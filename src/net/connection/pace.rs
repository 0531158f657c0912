//! How many datagrams a connection carries: fewer while the path cannot carry all.
//!
//! A slow upstream holds what is sent faster than it passes in a queue, first late and then lost, and every repetition
//! makes that worse. What fills the queue is seen in the pings: their way there stays longer than the shortest of the
//! last seconds. Then repetitions stop, and inputs go together, those of two ticks in a datagram and then of three: most
//! of a datagram is its headers.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use core::time::Duration;

use crate::net::time::Time;

/// The last level: three ticks in a datagram.
const LEVEL_MAX: u8 = 3;
/// The level at which datagrams are a quarter of what repetitions make of them.
const LEVEL_QUARTER: u8 = 2;
/// A way there that stays longer than the shortest by this is a queue, in microseconds: twice what jitter of 30 ms makes.
const QUEUE_US: i64 = 60_000;
/// The same where more than [`LOST_IN_QUEUE`] is lost, as at a short queue.
const SHORT_QUEUE_US: i64 = 30_000;
/// A queue that is as deep is not emptied by sending no repetitions, and shows in a single ping, in microseconds.
const DEEP_QUEUE_US: i64 = 150_000;
/// Loss that a full queue explains, per mille.
const LOST_IN_QUEUE: u16 = 200;
/// Loss that is taken for a queue too short to be seen, per mille.
const LOST_ALONE: u16 = 300;
/// How long a level is tried before the next.
const SETTLE: Duration = Duration::from_secs(2);
/// When a queue must have become shorter at the last level, or it is no queue: the path has become longer. Another's
/// traffic may fill it, too.
const EMPTIES_WITHIN: Duration = Duration::from_secs(6);
/// How long the way there does not count then: as long as the shorter ways are remembered.
const PATH_IS_LONGER_FOR: Duration = Duration::from_secs(20);
/// How long without a queue until the level below is tried again. A trial that fails costs a full queue.
const HOLD_MIN: Duration = Duration::from_secs(60);
/// The same after trials that failed, each of which doubles it.
const HOLD_MAX: Duration = Duration::from_mins(8);
/// A trial has failed if there is a queue again within this.
const TRIAL: Duration = Duration::from_secs(10);
/// When loss alone must have fallen: its measure spans 1,024 datagrams.
const LOSS_FALLS_WITHIN: Duration = Duration::from_secs(45);
/// How long loss alone is not taken for a queue after fewer datagrams have not helped.
const LOSS_IS_CHANCE_FOR: Duration = Duration::from_mins(5);

/// How far a connection keeps its datagrams down.
#[derive(Clone, Debug)]
pub(in crate::net) struct Pace {
    /// 0: all are sent, and repeated where some are lost. 1: none is repeated. 2 and 3: as many ticks share a datagram.
    level: u8,
    changed_at: Time,
    /// How long without a queue until the level falls.
    hold: Duration,
    /// Whether the level has fallen last.
    is_trial: bool,
    /// The queue at the last change.
    queue_before_us: i64,
    /// From when on the way there counts.
    queue_counts_from: Time,
    /// The loss before, where the level rose for loss alone and may not have helped.
    lost_before: Option<u16>,
    /// From when on loss alone counts.
    loss_counts_from: Time,
    /// When inputs were last sent.
    sent_at: Time,
    /// Whether there was a queue on either way, and whether it has emptied since somebody asked.
    is_queued: bool,
    has_emptied: bool,
}

impl Pace {
    pub(super) const fn new(now: Time) -> Self {
        Self {
            level: 0,
            changed_at: now,
            hold: HOLD_MIN,
            is_trial: false,
            queue_before_us: 0,
            queue_counts_from: now,
            lost_before: None,
            loss_counts_from: now,
            sent_at: now,
            is_queued: false,
            has_emptied: false,
        }
    }

    /// A ping was answered: by how many microseconds the way there, and the way back, were longer than the shortest, for
    /// this ping and the one before it, and the share of our datagrams that the other end lost, per mille.
    pub(super) fn observe(&mut self, now: Time, longer_us: [[i64; 2]; 2], lost: u16) {
        let since = now.since(self.changed_at);
        let [there_us, back_us] = longer_us.map(|[last, before]| last.min(before));
        let is_seen_once = longer_us.iter().any(|&[last, _]| last > DEEP_QUEUE_US);
        let is_queue = (there_us > QUEUE_US || (lost > LOST_IN_QUEUE && there_us > SHORT_QUEUE_US))
            && now >= self.queue_counts_from;
        let is_queued = is_queue || back_us > QUEUE_US || is_seen_once;
        self.has_emptied |= core::mem::replace(&mut self.is_queued, is_queued) && !is_queued;
        let is_shorter = there_us < self.queue_before_us / 4 * 3;
        if is_queue && self.level == LEVEL_MAX && lost <= LOST_IN_QUEUE && !is_shorter {
            if since >= EMPTIES_WITHIN {
                self.queue_counts_from = now.plus(PATH_IS_LONGER_FOR);
                self.change(now, 0);
            }
        } else if is_queue {
            if since >= SETTLE && self.level < LEVEL_MAX {
                let is_failed = self.is_trial && since < TRIAL;
                self.hold = if is_failed { self.hold.saturating_mul(2).min(HOLD_MAX) } else { HOLD_MIN };
                self.lost_before = None;
                self.queue_before_us = there_us;
                let is_full = lost > LOST_IN_QUEUE || there_us > DEEP_QUEUE_US;
                self.change(now, self.level.saturating_add(if is_full { 2 } else { 1 }));
            }
        } else if lost > LOST_ALONE && self.level < LEVEL_QUARTER && now >= self.loss_counts_from {
            self.lost_before = Some(lost);
            self.change(now, LEVEL_QUARTER);
        } else if let Some(before) = self.lost_before.filter(|_| since >= LOSS_FALLS_WITHIN) {
            self.lost_before = None;
            if u32::from(lost).saturating_mul(4) > u32::from(before).saturating_mul(3) {
                self.loss_counts_from = now.plus(LOSS_IS_CHANCE_FOR);
                self.change(now, 0);
            }
        } else if self.level > 0 && since >= self.hold.max(TRIAL) && self.lost_before.is_none() {
            self.change(now, self.level.saturating_sub(1));
            self.is_trial = true;
        }
    }

    fn change(&mut self, now: Time, level: u8) {
        self.level = level.min(LEVEL_MAX);
        self.changed_at = now;
        self.is_trial = false;
    }

    /// Whether a queue has emptied since this was asked before: what was measured in it does not tell of the path.
    pub(in crate::net) const fn has_emptied(&mut self) -> bool {
        core::mem::replace(&mut self.has_emptied, false)
    }

    /// Whether datagrams may be repeated where some are lost.
    pub(in crate::net) const fn may_repeat(&self) -> bool {
        self.level == 0
    }

    /// The most time from one datagram with inputs to the next, where a tick takes `tick`.
    pub(in crate::net) fn apart(&self, tick: Duration) -> Duration {
        tick.saturating_mul(u32::from(self.level.max(1)))
    }

    /// Whether new inputs wait for those of the next tick, and until when if none come.
    pub(in crate::net) fn defers(&self, now: Time, tick: Duration) -> Option<Time> {
        let slack = tick / 2;
        let apart = self.apart(tick);
        let is_early = self.level > 1 && now < self.sent_at.plus(apart.saturating_sub(slack));
        is_early.then(|| self.sent_at.plus(apart.saturating_add(slack)))
    }

    /// Inputs were sent.
    pub(in crate::net) const fn sent(&mut self, now: Time) {
        self.sent_at = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_micros(16_667);

    fn at(seconds: f64) -> Time {
        Time((seconds * 1e6) as u64)
    }

    /// Pings every half second from `from` to `to`, which say the same; the level at the end.
    fn pinged(pace: &mut Pace, (from, to): (f64, f64), queued_ms: i64, lost: u16) -> u8 {
        let steps = ((to - from) * 2.0) as u32;
        (0..steps).for_each(|step| {
            pace.observe(at(from + f64::from(step) / 2.0), [[queued_ms * 1_000; 2], [0; 2]], lost)
        });
        pace.level
    }

    #[test]
    fn a_standing_queue_lowers_the_rate_step_by_step_and_a_quiet_path_raises_it() {
        let mut pace = Pace::new(at(0.0));
        assert_eq!(pinged(&mut pace, (0.0, 10.0), 50, 0), 0, "jitter of 30 ms");
        assert_eq!(pinged(&mut pace, (10.0, 11.0), 100, 0), 1);
        assert_eq!(pinged(&mut pace, (11.0, 13.0), 100, 0), 2);
        assert_eq!(pinged(&mut pace, (13.0, 70.0), 0, 0), 2);
        assert_eq!(pinged(&mut pace, (70.0, 75.0), 0, 0), 1, "a trial");
        assert_eq!(pinged(&mut pace, (75.0, 76.0), 100, 0), 2, "which fails");
        assert_eq!(pinged(&mut pace, (76.0, 190.0), 0, 0), 2, "and makes the next one wait twice as long");
        assert_eq!(pinged(&mut pace, (190.0, 320.0), 0, 0), 0);
    }

    #[test]
    fn a_full_queue_that_loses_lowers_it_at_once_however_short_it_is() {
        for queued_ms in [35, 200] {
            let mut pace = Pace::new(at(0.0));
            assert_eq!(pinged(&mut pace, (2.0, 2.5), queued_ms, 600), 2);
            assert_eq!(pinged(&mut pace, (2.5, 5.0), queued_ms, 600), 3);
        }
    }

    #[test]
    fn loss_that_does_not_fall_with_the_rate_is_chance() {
        let mut pace = Pace::new(at(0.0));
        assert_eq!(pinged(&mut pace, (0.0, 40.0), 0, 350), 2);
        assert_eq!(pinged(&mut pace, (40.0, 50.0), 0, 350), 0);
        assert_eq!(pinged(&mut pace, (50.0, 300.0), 0, 350), 0);
        let mut pace = Pace::new(at(0.0));
        assert_eq!(pinged(&mut pace, (0.0, 40.0), 0, 600), 2);
        assert_eq!(pinged(&mut pace, (40.0, 60.0), 0, 20), 2, "it has fallen");
        assert_eq!(pinged(&mut Pace::new(at(0.0)), (0.0, 300.0), 0, 200), 0, "as Wi-Fi may lose");
    }

    #[test]
    fn a_path_that_has_become_longer_is_no_queue() {
        let mut pace = Pace::new(at(0.0));
        assert_eq!(pinged(&mut pace, (10.0, 16.0), 100, 0), 3);
        assert_eq!(pinged(&mut pace, (16.0, 30.0), 100, 0), 0);
        // A queue that becomes shorter is one, and so is one that loses.
        for (then_ms, lost) in [(70, 0), (100, 400)] {
            let mut pace = Pace::new(at(0.0));
            assert_eq!(pinged(&mut pace, (10.0, 16.0), 100, lost), 3);
            assert_eq!(pinged(&mut pace, (16.0, 30.0), then_ms, lost), 3);
        }
    }

    #[test]
    fn the_end_of_a_queue_on_either_way_is_told_once() {
        for way in [0, 1] {
            let mut pace = Pace::new(at(0.0));
            let mut told = |seconds, queued_ms: i64| {
                let mut longer_us = [[0; 2]; 2];
                longer_us[way] = [queued_ms * 1_000; 2];
                pace.observe(at(seconds), longer_us, 0);
                pace.has_emptied()
            };
            assert_eq!([told(1.0, 0), told(1.5, 100), told(2.0, 100)], [false; 3]);
            assert_eq!([told(2.5, 10), told(3.0, 0)], [true, false]);
        }
    }

    #[test]
    fn inputs_of_up_to_three_ticks_share_a_datagram() {
        let mut pace = Pace::new(at(0.0));
        for (level, expected) in [(0, 60), (1, 60), (2, 30), (3, 20)] {
            pace.level = level;
            pace.sent_at = at(0.0);
            let mut sent = 0;
            for tick in 1..=60 {
                let now = at(1.0 + f64::from(tick) / 60.0);
                if let Some(until) = pace.defers(now, TICK) {
                    assert!(until > now && until.since(now) <= TICK * 3, "{until:?}");
                } else {
                    pace.sent(now);
                    sent += 1;
                }
            }
            assert_eq!(sent, expected, "level {level}");
        }
    }
}
