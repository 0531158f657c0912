//! Trace of each command: its times from input to display.

use twox_hash::XxHash3_64;

use game::Script;
use net::Time;
use sim::{Command, PLAYERS_MAX, Tick, TickInputs};

/// Frames per second of every display.
const FRAMES_PER_S: u64 = 60;

/// Times of one command.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommandTrace {
    pub(super) intended: Time,
    /// Time at which the session took it; `None` if it could not.
    pub(super) captured: Option<Time>,
    /// Tick in which it ran.
    pub(super) tick: Option<Tick>,
    /// Time at which the confirmed state had it, by player.
    pub(super) confirmed: [Option<Time>; PLAYERS_MAX],
    /// Time at which the displayed state had it, by player.
    pub(super) shown: [Option<Time>; PLAYERS_MAX],
}

/// All commands of a match.
#[derive(Debug)]
pub(super) struct CommandTraces {
    scripts: Vec<Script>,
    /// Commands given so far, by player.
    traces: Vec<Vec<CommandTrace>>,
    origin: Option<Time>,
    /// Time at which any node first ran each tick.
    ran_at: Vec<Option<Time>>,
}

/// Progress of one node through the commands of all players.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Applied {
    /// Index of the first command that has not run here, by player.
    next: [usize; PLAYERS_MAX],
}

impl Applied {
    /// Returns the index of a player's first command that has not run here.
    pub(super) const fn next(&self, player: usize) -> usize {
        self.next[player]
    }
}

impl CommandTraces {
    pub(super) fn new(scripts: Vec<Script>) -> Self {
        let traces = scripts.iter().map(|script| Vec::with_capacity(script.lines().len())).collect();
        Self { scripts, traces, origin: None, ran_at: Vec::new() }
    }

    /// Sets the time of tick 0, after which commands are due.
    pub(super) const fn begin(&mut self, origin: Time) {
        self.origin = Some(origin);
    }

    /// Returns the time at which the next command is due.
    pub(super) fn next_at(&self) -> Option<Time> {
        let origin = self.origin?;
        let next = self.scripts.iter().zip(&self.traces);
        next.filter_map(|(script, given)| Some(Time(origin.0 + script.lines().get(given.len())?.at_us))).min()
    }

    /// Returns the next command that is due and its player; [`Self::gave`] must follow.
    pub(super) fn next_due(&self, now: Time) -> Option<(usize, Command)> {
        let origin = self.origin?;
        let next = self.scripts.iter().zip(&self.traces).enumerate();
        let next =
            next.filter_map(|(player, (script, given))| Some((player, script.lines().get(given.len())?)));
        let due = next.filter(|(_, line)| origin.0 + line.at_us <= now.0);
        due.min_by_key(|(_, line)| line.at_us).map(|(player, line)| (player, line.command.clone()))
    }

    /// Records a player's next command as given, and as taken at `captured` if it was.
    pub(super) fn gave(&mut self, player: usize, captured: Option<Time>) {
        let given = &mut self.traces[player];
        let intended =
            Time(self.origin.unwrap_or_default().0 + self.scripts[player].lines()[given.len()].at_us);
        let nowhere = [None; PLAYERS_MAX];
        given.push(CommandTrace { intended, captured, tick: None, confirmed: nowhere, shown: nowhere });
    }

    /// Finds the commands in these inputs, for a node that has progressed to `applied`. A command that a server has
    /// removed is skipped, and never applied.
    pub(super) fn find(
        &self,
        applied: &mut Applied,
        inputs: &TickInputs,
        mut each: impl FnMut(usize, usize),
    ) {
        for (player, input) in inputs.inputs.iter().enumerate().take(self.scripts.len()) {
            let lines = &self.scripts[player].lines()[..self.traces[player].len()];
            for command in &input.commands {
                let next = applied.next[player];
                let found = lines[next..].iter().position(|line| line.command == *command);
                if let Some(ahead) = found {
                    applied.next[player] = next + ahead + 1;
                    each(player, next + ahead);
                }
            }
        }
    }

    /// Returns the index of a player's next command of which a node learns that it has run, but not which it was. What
    /// the session could not take never runs.
    pub(super) fn next(&self, applied: &mut Applied, player: usize) -> Option<usize> {
        let next = applied.next.get_mut(player)?;
        let ahead =
            self.traces.get(player)?.get(*next..)?.iter().position(|trace| trace.captured.is_some())?;
        *next += ahead + 1;
        Some(*next - 1)
    }

    /// Records that a node has run a tick.
    pub(super) fn ran(&mut self, tick: Tick, now: Time) {
        let at = tick.0 as usize;
        if self.ran_at.len() <= at {
            self.ran_at.resize(at + 1, None);
        }
        self.ran_at[at].get_or_insert(now);
    }

    /// Returns the trace of a command.
    pub(super) fn of(&mut self, player: usize, number: usize) -> Option<&mut CommandTrace> {
        self.traces.get_mut(player)?.get_mut(number)
    }

    /// Returns all commands that were given.
    pub(super) fn iter(&self) -> impl Iterator<Item = (usize, &CommandTrace)> {
        self.traces.iter().enumerate().flat_map(|(player, given)| given.iter().map(move |it| (player, it)))
    }

    /// Returns the time at which the first node ran a tick.
    pub(super) fn ran_at(&self, tick: Tick) -> Option<Time> {
        self.ran_at.get(tick.0 as usize).copied().flatten()
    }
}

/// Display with a fixed frame rate and a phase independent of that of the ticks.
#[derive(Clone, Copy, Debug)]
pub(in crate::compare) struct Display {
    /// Offset of the frames from tick 0, in microseconds.
    pub(super) phase_us: u64,
}

impl Display {
    /// Returns the display of a player in the match of a seed.
    pub(in crate::compare) fn of(player: usize, seed: u64) -> Self {
        const FRAME_US: u64 = 16_667;
        Self { phase_us: XxHash3_64::oneshot_with_seed(seed, &[player as u8, b'd']) % FRAME_US }
    }

    /// Returns the first frame after `at`; both count from tick 0. The view interpolates between states within a tick,
    /// so a frame at the very time of a new state shows nothing of it.
    pub(in crate::compare) fn frame_after(self, at_us: u64) -> u64 {
        let since = (at_us + 1_000_000 - self.phase_us) * FRAMES_PER_S / 1_000_000;
        self.phase_us + ((since + 1) * 1_000_000).div_ceil(FRAMES_PER_S) - 1_000_000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_comes_within_a_sixtieth_of_a_second() {
        let display = Display { phase_us: 5_000 };
        assert_eq!([0, 4_999, 5_000].map(|at| display.frame_after(at)), [5_000, 5_000, 21_667]);
        for at in (0..2_000_000).step_by(37) {
            let frame = display.frame_after(at);
            assert!(frame > at && frame - at <= 16_667, "{at}: {frame}");
        }
    }
}
