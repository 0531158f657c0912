//! Pauses: a command stops all clocks between two ticks, and any player may resume.
//!
//! Every peer stops after the same tick, because the command is part of its inputs. The instant of resuming
//! is not agreed to the microsecond: an early peer waits briefly for the others' inputs, and the clocks
//! converge.
//!
//! A long stall ends like a pause, with a countdown. A peer that was suspended begins it when it wakes up, the others
//! when they hear it again. Each tells all others, so that one whose stall was a little shorter counts, too.

use super::{LockstepSession, Phase};
use core::time::Duration;

use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{Event, Stall, StallCause};
use crate::mutation::Mutation;
use crate::table::pause::{LONG_STALL, PAUSE_LONGEST, Pause, PausesTaken, RESUME_COUNTDOWN};
use crate::time::Time;
use crate::wire::message::{PacketId, Resume};
use sim::{PlayerId, Tick, TickInputs};

/// The time of ticks from one countdown after a stall to the next.
const COUNTDOWNS_APART: Duration = Duration::from_secs(120);

/// The pauses of a match so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    /// The player whose pause request is in the tick that ran last.
    wish: Option<PlayerId>,
    current: Option<Current>,
    /// The end of the next pause, from a peer that has reached it before this one.
    early: Option<Resume>,
    /// The same instant on the local clock.
    early_at: Time,
    /// The tick that the last countdown after a stall led to.
    counted_down_to: Option<Tick>,
}

/// The match is paused.
#[derive(Clone, Copy, Debug)]
struct Current {
    by: PlayerId,
    /// When the next tick is due here.
    until: Time,
    /// Whether a player has ended it.
    is_ending: bool,
}

impl Pauses {
    /// Looks for a pause request in the inputs of a tick that runs.
    pub(super) fn see(&mut self, inputs: &TickInputs) {
        self.wish = self.taken.wish(inputs);
    }

    /// Whether the match is paused.
    pub(super) const fn is_on(&self) -> bool {
        self.current.is_some()
    }

    /// When the next action is due.
    pub(super) fn due_at(&self) -> Option<Time> {
        Some(self.current.as_ref()?.until)
    }
}

impl LockstepSession {
    /// The pause in progress, if any.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        let current = self.play.as_ref()?.pauses.current.as_ref()?;
        Some(Pause { by: current.by, until: current.until })
    }

    /// Ends the pause in progress, after a countdown. (A pause begins with [`sim::Command::Pause`].)
    pub fn resume(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.resume_at(self.now.plus(RESUME_COUNTDOWN));
    }

    /// The tick that asked for a pause has run.
    pub(super) fn begin_pause(&mut self) {
        let (now, Some(play)) = (self.now, &mut self.play) else { return };
        let Some(by) = play.pauses.wish.take() else { return };
        play.pauses.taken.take(by);
        let until = now.plus(PAUSE_LONGEST);
        play.pauses.current = Some(Current { by, until, is_ending: false });
        let early = play.pauses.early.take().filter(|early| early.pause == play.pauses.taken.count);
        let early_at = play.pauses.early_at;
        self.out.event(Event::Paused { player: by });
        if early.is_some() {
            self.resume_at(early_at.max(now));
        }
    }

    /// A player is heard again, or this process continues: if that ends a long stall, ticks resume after a
    /// countdown, and the others are told.
    pub(super) fn count_down_after_stall(&mut self, player: PlayerId) {
        let at = self.now.plus(RESUME_COUNTDOWN);
        let suspects = self.play.as_ref().map(|play| play.departures.suspects()).unwrap_or_default();
        // The match no longer waits for a suspect.
        if self.has_stalled_for(LONG_STALL) && !suspects.contains(player) {
            self.count_down_to(at, player);
        }
    }

    /// Whether the next tick has been due for at least this long.
    fn has_stalled_for(&self, least: Duration) -> bool {
        let play = self.play.as_ref().filter(|_| matches!(self.phase, Phase::Running));
        play.is_some_and(|play| play.is_due(self.now) && self.now.since(play.due()) >= least)
    }

    /// The stall that this player caused is over, and the next tick runs at `at`. No budget is charged for the
    /// countdown, so there is at most one in [`COUNTDOWNS_APART`] of ticks: a peer that stalls the match again and again gains no more
    /// time by them.
    fn count_down_to(&mut self, at: Time, player: PlayerId) {
        let (now, me, Some(play)) = (self.now, self.me, &mut self.play) else { return };
        let (next, apart) =
            (play.gate.next(), play.own.clock.rate().ticks_in_ms(COUNTDOWNS_APART.as_millis() as u32));
        let charged = Mutation::ChargedCountdown.is_planted();
        let apart = if charged { 1 } else { apart };
        if play.pauses.counted_down_to.is_some_and(|last| next.since(last) < apart) {
            return;
        }
        if charged {
            play.stalls.charge(player, RESUME_COUNTDOWN);
        }
        play.pauses.counted_down_to = Some(next);
        // The others resume within the same time, and not sooner.
        play.stalls.excuse_all_until(now.plus(RESUME_COUNTDOWN));
        let cause = if player == me { StallCause::Computer } else { StallCause::Network };
        play.long_stall = Some(Stall { due: play.due(), ran: now, peer: player, cause });
        play.pauses.current = Some(Current { by: player, until: at, is_ending: true });
        let resume = Resume { pause: play.pauses.taken.count, at_us: at.0 };
        self.send_to_all(PacketId::Resume, &resume);
    }

    /// Resumes ticks once the pause is over.
    pub(super) fn end_pause_if_due(&mut self) {
        let (now, Some(play)) = (self.now, &mut self.play) else { return };
        if let Some(current) = play.pauses.current.take_if(|current| now >= current.until) {
            play.resume(current.until);
            self.out.event(Event::Resumed);
        }
    }

    /// A peer ends the pause.
    pub(super) fn on_resume(&mut self, link: usize, resume: Resume) -> Handled {
        let at = self
            .links
            .get(link)
            .ok_or(OutOfPlace)?
            .connection
            .clock
            .local(resume.at_us, self.now)
            .ok_or(OutOfPlace)?;
        let (now, has_stalled) = (self.now, self.has_stalled_for(LONG_STALL / 2));
        let is_running = matches!(self.phase, Phase::Running);
        // If a search finds no difference, the match continues, and this message is not repeated.
        let is_on_time = is_running || matches!(self.phase, Phase::Searching { .. });
        let play = self.play.as_mut().filter(|_| is_on_time).ok_or(OutOfPlace)?;
        let (count, is_on) = (play.pauses.taken.count, play.pauses.is_on());
        let sender = self.links.get(link).ok_or(OutOfPlace)?.player;
        // It commits nothing while it counts down.
        let is_blamed = play.gate.lacks(sender) || Mutation::ChargedCountdown.is_planted();
        let waits_for_sender = is_running && play.is_due(now) && is_blamed;
        if resume.pause == count && is_on {
            self.resume_at(at.max(self.now));
        } else if resume.pause == count && at > now && (has_stalled || waits_for_sender) {
            // Who is named, and who is judged, is what is known here.
            let player = play.waits_for(now).map_or(sender, |(player, _)| player);
            self.count_down_to(at.min(now.plus(RESUME_COUNTDOWN)), player);
        } else if resume.pause == count.wrapping_add(1) {
            // Here the pause begins with a tick that has not run yet.
            (play.pauses.early, play.pauses.early_at) = (Some(resume), at);
        }
        Ok(())
    }

    /// Ends the pause in progress at `at`, if that is sooner. The first request counts and is forwarded to
    /// all others, because its sender may be lost before they have received it.
    fn resume_at(&mut self, at: Time) {
        let Some(play) = &mut self.play else { return };
        let pause = play.pauses.taken.count;
        let Some(current) =
            play.pauses.current.as_mut().filter(|current| !current.is_ending && at < current.until)
        else {
            return;
        };
        (current.until, current.is_ending) = (at, true);
        // Who ends it may have told others another instant: they resume within this time.
        play.stalls.excuse_all_until(self.now.plus(RESUME_COUNTDOWN));
        self.send_to_all(PacketId::Resume, &Resume { pause, at_us: at.0 });
        self.end_pause_if_due();
    }
}
