//! Pauses: a command stops all clocks between two ticks, and whoever wants to go on says so.
//!
//! Every peer stops after the same tick, since the command is part of its inputs. When a peer goes on is not
//! agreed to the microsecond: who is early waits a moment for the others' inputs, and the clocks close ranks.

use core::time::Duration;

use super::{Event, LockstepSession, Phase};
use crate::net::message::{Acknowledge, PacketId, Resume, Seats};
use crate::net::table::BySeat;
use crate::net::time::Time;
use crate::sim::{Command, PlayerId, Tick, TickInputs};

/// Pauses of each player in a match; more are like any command that is not allowed.
pub const PAUSES_MAX: u8 = 3;
/// How long a pause may be, with the count-down at its end.
pub const PAUSE_LONGEST: Duration = Duration::from_secs(30);
/// From the word that it goes on to the next tick.
pub const RESUME_COUNTDOWN: Duration = Duration::from_secs(3);
/// Between two messages that it goes on, at least.
pub(in crate::net) const RESUME_EVERY: Duration = Duration::from_millis(50);

/// Which commands to pause count: the first [`PAUSES_MAX`] of each player.
#[derive(Clone, Debug, Default)]
pub(in crate::net) struct PausesTaken {
    taken: BySeat<u8>,
    /// Pauses begun, whoever began them.
    pub(in crate::net) count: u8,
}

impl PausesTaken {
    /// Who may pause and asks for it in this tick.
    pub(in crate::net) fn wish(&self, inputs: &TickInputs) -> Option<PlayerId> {
        let asks = |(player, input): (PlayerId, &crate::sim::PlayerInput)| {
            let is_left = self.taken[player] < PAUSES_MAX;
            (is_left && input.commands.contains(&Command::Pause)).then_some(player)
        };
        inputs.iter().find_map(asks)
    }

    /// The wish is granted.
    pub(in crate::net) fn take(&mut self, by: PlayerId) {
        self.taken[by] += 1;
        self.count += 1;
    }
}

/// The pauses of a match so far.
#[derive(Clone, Debug, Default)]
pub(super) struct Pauses {
    taken: PausesTaken,
    /// By whom the tick that passed last asks for one.
    wish: Option<PlayerId>,
    current: Option<Current>,
}

/// The match stands still.
#[derive(Clone, Copy, Debug)]
struct Current {
    by: PlayerId,
    /// When the next tick is due here.
    until: Time,
    /// Once it goes on sooner: who need not be told any more.
    told: Option<Seats>,
    send_at: Time,
}

/// A pause, as one sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pause {
    /// Who asked for it.
    pub by: PlayerId,
    /// When the match goes on here at the latest.
    pub until: Time,
}

impl Pauses {
    /// Looks at the inputs of a tick that passes.
    pub(super) fn see(&mut self, inputs: &TickInputs) {
        self.wish = self.taken.wish(inputs);
    }

    /// Whether the match stands still.
    pub(super) const fn is_on(&self) -> bool {
        self.current.is_some()
    }

    /// When there is something to do.
    pub(super) fn due_at(&self) -> Option<Time> {
        let current = self.current.as_ref()?;
        Some(current.told.map_or(current.until, |_| current.until.min(current.send_at)))
    }
}

impl LockstepSession {
    /// The pause that is on, if one is.
    #[must_use]
    pub fn pause(&self) -> Option<Pause> {
        let current = self.play.as_ref()?.pauses.current.as_ref()?;
        Some(Pause { by: current.by, until: current.until })
    }

    /// Ends the pause that is on, after a count-down. (A pause begins with [`Command::Pause`].)
    pub fn resume(&mut self, now: Time) {
        self.now = self.now.max(now);
        self.resume_at(self.now.plus(RESUME_COUNTDOWN), Seats::default());
    }

    /// The tick that asked for a pause has run.
    pub(super) fn begin_pause(&mut self) {
        let (now, Some(play)) = (self.now, &mut self.play) else { return };
        let Some(by) = play.pauses.wish.take() else { return };
        play.pauses.taken.take(by);
        let until = now.plus(PAUSE_LONGEST);
        play.pauses.current = Some(Current { by, until, told: None, send_at: now });
        self.out.event(Event::Paused { player: by });
    }

    /// Tells the others that it goes on, and goes on.
    pub(super) fn pursue_pause(&mut self) {
        let (now, Some(play)) = (self.now, &mut self.play) else { return };
        let Some(current) = &mut play.pauses.current else { return };
        if now >= current.until {
            let until = current.until;
            play.pauses.current = None;
            play.resume(until);
            self.out.event(Event::Resumed);
            return;
        }
        let Some(told) = current.told.filter(|_| now >= current.send_at) else { return };
        current.send_at = now.plus(RESUME_EVERY);
        let in_us = current.until.since(now).as_micros() as u32;
        let resume = Resume { pause: play.pauses.taken.count, in_us };
        for link in 0..self.links.len() {
            if self.links.get(link).is_some_and(|peer| !peer.is_gone && !told.has(peer.player)) {
                self.send(link, PacketId::Resume, &resume);
            }
        }
    }

    /// A peer says that the match goes on.
    pub(super) fn on_resume(&mut self, link: usize, resume: Resume) -> Option<()> {
        let play = self.play.as_ref().filter(|_| matches!(self.phase, Phase::Running))?;
        // Who has not come to the pause yet cannot go on from it: the peer says it again.
        if resume.pause > play.pauses.taken.count {
            return None;
        }
        let peer = self.links.get(link)?;
        let (player, is_current) = (peer.player, resume.pause == play.pauses.taken.count);
        let one_way = Duration::from_micros(peer.rtt.smoothed_us().unwrap_or(0) / 2);
        self.send(link, PacketId::Acknowledge, &Acknowledge::Resume { pause: resume.pause });
        if is_current {
            let left = Duration::from_micros(u64::from(resume.in_us)).saturating_sub(one_way);
            self.resume_at(self.now.plus(left), Seats::default().with(player));
        }
        Some(())
    }

    pub(super) fn on_resume_acknowledged(&mut self, link: usize, pause: u8) -> Option<()> {
        let player = self.links.get(link)?.player;
        let play = self.play.as_mut()?;
        let current = play.pauses.current.as_mut().filter(|_| pause == play.pauses.taken.count)?;
        current.told = Some(current.told?.with(player));
        Some(())
    }

    /// It goes on at `at`, if that is earlier than it was to be; all but `told` must hear of it.
    fn resume_at(&mut self, at: Time, told: Seats) {
        let now = self.now;
        let Some(current) = self.play.as_mut().and_then(|play| play.pauses.current.as_mut()) else { return };
        match current.told {
            None if at < current.until => {
                *current = Current { until: at, told: Some(told.with(self.me)), send_at: now, ..*current };
            }
            None => {}
            Some(known) => current.told = Some(known.and(told)),
        }
        self.pursue_pause();
    }
}

impl super::play::Play {
    /// The next tick is due at `at`, and what was due before it no longer counts.
    fn resume(&mut self, at: Time) {
        let next: Tick = self.gate.next();
        self.clock.set(at, next);
        self.restart_at(at);
    }
}
