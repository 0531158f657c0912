//! A bot in a process of its own, in any language: a line of the world on its stdin, a line of commands on its stdout.
//!
//! It is asked every [`THINK_MS`], and each answer is taken when the next question is due: in real time if it is there,
//! in virtual time once it is. So its commands take effect in the same ticks, however fast it is.
#![cfg_attr(not(test), deny(clippy::unwrap_used, clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod process;
mod view;

use arrayvec::ArrayVec;
use core::time::Duration;
use crossbeam_channel::RecvTimeoutError;
use serde::Deserialize;
use std::time::Instant;

use self::process::{ANSWER_BYTES_MAX, Log, Process};
use crate::text_file::Escaped;
use bot::{Player, PlayerReport};
use replay::{command_from_json, command_to_json};
use sim::{COMMANDS_PER_TICK_MAX, Command, PlayerId, PlayerInput, Rules, Tick, TickRate, World};

/// Time from one question to the next, in milliseconds of the match; in real time the limit of an answer.
const THINK_MS: u32 = 100;
/// Time from the end of that limit to the effect of the commands, in milliseconds of the match.
const REACTION_MS: u32 = 33;
/// Limit of an answer in virtual time, where it costs no tick.
pub const EXEC_WAITS_MAX: Duration = Duration::from_secs(5);
/// Lines that are read while one answer is sought; the others of a flood wait for the next question.
const LINES_MAX: usize = 16;
/// Longest part of a bad line that is quoted, in characters.
const QUOTED_MAX: usize = 120;

/// Options of a bot in a process of its own.
#[derive(Clone, Copy, Debug)]
pub struct ExecOptions {
    /// Command for the system's shell.
    pub command: &'static str,
    /// Time for which a late answer is waited for: none in real time, [`EXEC_WAITS_MAX`] in virtual time.
    pub waits: Duration,
    /// Prints a line for the author, on a thread of its own.
    pub log: fn(&str),
}

/// Bot in a process of its own. Whatever the process does, the seat is idle at worst.
#[derive(Debug)]
pub struct ExecBot {
    options: ExecOptions,
    player: PlayerId,
    rate: TickRate,
    /// The process, until it has ended.
    process: Option<Process>,
    /// Tick of the question that is not answered yet.
    asked: Option<Tick>,
    /// Whether that answer is too late already.
    is_late: bool,
    /// First tick at which the next question is due.
    due: Tick,
    report: PlayerReport,
    log: Log,
}

/// A line of the process.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answer {
    tick: u32,
    commands: Vec<serde_json::Value>,
}

/// Commands of one answer.
type Commands = ArrayVec<Command, COMMANDS_PER_TICK_MAX>;

impl ExecBot {
    /// Starts the process for `player`'s seat of a match.
    #[must_use]
    pub fn new(options: ExecOptions, player: PlayerId, rate: TickRate) -> Self {
        let mut bot = Self {
            options,
            player,
            rate,
            process: None,
            asked: None,
            is_late: false,
            due: Tick(0),
            report: PlayerReport::default(),
            log: Log::new(options.log),
        };
        match Process::start(options.command, format!("bot {player}"), &bot.log) {
            Ok(process) => bot.process = Some(process),
            Err(error) => bot.fault(1, format!("cannot start the shell: {error}; the seat stays idle")),
        }
        bot
    }

    /// Takes the answer to the last question, if it has come in time. An answer to an older question is dropped.
    fn take_answer(&mut self, world: &World) -> Commands {
        let (Some(process), Some(asked)) = (&self.process, self.asked) else { return Commands::new() };
        let answers = process.answers.clone();
        // What was waited for in vain once is not waited for again.
        let waits = if self.is_late { Duration::ZERO } else { self.options.waits };
        let until = Instant::now().checked_add(waits).expect("some seconds");
        for _ in 0..LINES_MAX {
            let line = match answers.recv_deadline(until) {
                Ok(line) => line,
                Err(RecvTimeoutError::Timeout) => break,
                Err(RecvTimeoutError::Disconnected) => {
                    self.end();
                    break;
                }
            };
            let read = line.ok_or_else(|| format!("the line is longer than {ANSWER_BYTES_MAX} bytes"));
            match read.and_then(|line| read_answer(&line, asked, &world.setup().rules)) {
                Ok(None) => continue,
                Ok(Some(commands)) => {
                    self.asked = None;
                    let is_late = core::mem::take(&mut self.is_late);
                    return if is_late { Commands::new() } else { commands };
                }
                Err(why) => {
                    (self.asked, self.is_late) = (None, false);
                    self.report.counts.invalid = self.report.counts.invalid.saturating_add(1);
                    self.fault(self.report.counts.invalid, format!("tick {asked}: {why}"));
                    return Commands::new();
                }
            }
        }
        self.is_late = true;
        self.count_late(world);
        Commands::new()
    }

    /// Asks about `world`, unless an answer is still awaited.
    fn ask(&mut self, world: &World) {
        let (Some(process), None) = (&self.process, self.asked) else { return };
        if process.ask(view::line(world, self.player)) {
            self.asked = Some(world.state().tick());
        } else {
            // It does not read: the question before still fills its pipe.
            self.count_late(world);
        }
    }

    fn count_late(&mut self, world: &World) {
        let counts = &mut self.report.counts;
        counts.late = counts.late.saturating_add(1);
        if self.process.is_some() {
            let limit = self.options.waits.max(Duration::from_millis(THINK_MS.into())).as_millis();
            let what = format!("tick {}: no answer within {limit} ms; idle", world.state().tick());
            self.fault(self.report.counts.late, what);
        }
    }

    /// Notes that the process has ended: the seat stays idle.
    fn end(&mut self) {
        let Some(mut process) = self.process.take() else { return };
        let how = process.status().map_or_else(String::new, |status| format!(" ({status})"));
        self.fault(1, format!("the process has ended or closed its stdout{how}; the seat stays idle"));
    }

    /// Tells the author why commands have no effect.
    fn tell_refusals(&mut self, world: &World, commands: &[Command]) {
        if commands.is_empty() {
            return;
        }
        for (command, refusal) in commands.iter().zip(world.refusals(self.player, commands)) {
            if let Some(why) = refusal {
                self.report.counts.refused = self.report.counts.refused.saturating_add(1);
                let command = command_to_json(command, &world.setup().rules).to_string();
                let what = format!("tick {}: {} is refused: {why}", world.state().tick(), quoted(&command));
                self.fault(self.report.counts.refused, what);
            }
        }
    }

    /// Notes a fault, the `count`th of its kind. The 1st, 2nd, 4th, 8th and so on are printed: at most 64 lines of a kind.
    fn fault(&mut self, count: u64, what: String) {
        if count.is_power_of_two() {
            let times = if count == 1 { String::new() } else { format!(" ({count} such faults)") };
            self.log.print(format!("bot {}: {what}{times}", self.player));
        }
        self.report.last_fault = Some(what);
    }
}

impl Player for ExecBot {
    fn think(&mut self, world: &World) -> PlayerInput {
        let (now, mut input) = (world.state().tick(), PlayerInput::default());
        if now < self.due {
            return input;
        }
        let period = self.rate.ticks_in_ms(THINK_MS).max(1);
        self.due = Tick(now.0.saturating_add(1).next_multiple_of(period));
        self.report.counts.thinks = self.report.counts.thinks.saturating_add(1);
        if self.process.is_none() {
            self.count_late(world);
        }
        input.commands = self.take_answer(world);
        self.tell_refusals(world, &input.commands);
        self.ask(world);
        input
    }

    fn reaction(&self) -> u32 {
        self.rate.ticks_in_ms(REACTION_MS)
    }

    fn report(&self) -> Option<PlayerReport> {
        Some(self.report.clone())
    }
}

/// Reads the answer to the question of tick `asked`; `None` if it is the answer to an earlier one. An empty line answers
/// with no commands.
fn read_answer(line: &[u8], asked: Tick, rules: &Rules) -> Result<Option<Commands>, String> {
    if line.is_empty() {
        return Ok(Some(Commands::new()));
    }
    let answer: Answer = serde_json::from_slice(line).map_err(|why| {
        format!("{} is not {{\"tick\":N,\"commands\":[…]}}: {why}", quoted(&String::from_utf8_lossy(line)))
    })?;
    if answer.tick < asked.0 {
        return Ok(None);
    }
    if answer.tick > asked.0 {
        return Err(format!("the answer is of tick {}", answer.tick));
    }
    let given = answer.commands.len();
    if given > COMMANDS_PER_TICK_MAX {
        return Err(format!("{given} commands in an answer, which has at most {COMMANDS_PER_TICK_MAX}"));
    }
    let read = |command: serde_json::Value| {
        let shown = command.to_string();
        command_from_json(command, rules).map_err(|why| format!("{} is not a command: {why}", quoted(&shown)))
    };
    answer.commands.into_iter().map(read).collect::<Result<_, _>>().map(Some)
}

/// Returns the beginning of a text from outside, fit for a terminal.
fn quoted(text: &str) -> String {
    let cut: String = text.chars().take(QUOTED_MAX).collect();
    let rest = if cut.len() < text.len() { "…" } else { "" };
    format!("{}{rest}", Escaped(&cut))
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use sim::{SeatSetup, Setup, TickInputs};

    #[test]
    fn old_answers_do_not_prolong_the_wait_for_the_present_one() {
        let seat = |team| SeatSetup { hero: sim::KindId(0), team };
        let mut world = World::new(Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: crate::data::rules("standard").expect("built in"),
            map: crate::data::map("standard").expect("built in"),
        });
        // Each line comes within the limit of an answer, and the last after three times as long.
        let command = r#"for _ in 1 2 3 4 5 6 7 8 9 10; do sleep 0.3; echo '{"tick":0,"commands":[]}'; done"#;
        let options = ExecOptions { command, waits: Duration::from_secs(1), log: |_| {} };
        let mut bot = ExecBot::new(options, PlayerId(0), TickRate::HZ_60);
        while bot.report.counts.late == 0 {
            world.step(&TickInputs::idle(world.state().tick(), 2));
            bot.think(&world);
        }
        let fault = bot.report.last_fault.as_deref().expect("it is late");
        assert!(bot.process.is_some() && fault.contains("no answer within 1000 ms"), "{fault}");
    }

    #[test]
    fn a_quote_of_an_answer_is_short() {
        let (short, long) = ("é".repeat(QUOTED_MAX), "é".repeat(QUOTED_MAX + 1));
        assert_eq!((quoted(&short), quoted(&long)), (short.clone(), format!("{short}…")));
    }
}
