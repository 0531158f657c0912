//! `arena replay watch --headless`: a match as lines of text.

use anyhow::Context as _;
use std::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use super::moments;
use crate::cli::console::stream;
use game::phrase::{clock, joined};
use replay::{Playback, Record, Replay};
use sim::{GameState, PlayerId, Tick};

/// Interval between status lines, in seconds of match time.
const STATUS_SECONDS: u32 = 15;

/// Prints the events of a replay.
pub(crate) fn watch(file: &Path) -> anyhow::Result<ExitCode> {
    let replay = Replay::open(file).with_context(|| file.display().to_string())?;
    let playback = Playback::new(replay).with_context(|| file.display().to_string())?;
    let names = playback.replay().header().seats.iter().map(|seat| seat.name.clone()).collect();
    let mut timeline = Timeline { playback, names };
    stream(|out| timeline.tell(out));
    Ok(ExitCode::SUCCESS)
}

struct Timeline {
    playback: Playback,
    names: Vec<String>,
}

impl Timeline {
    fn tell(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let header = self.playback.replay().header();
        writeln!(
            out,
            "{} on {}, {} rules",
            self.names.join(" against "),
            header.map_name,
            header.rules_name
        )?;
        let every = STATUS_SECONDS * header.tick_rate.hz();
        loop {
            let before = self.playback.world().state().clock();
            let Some(record) = self.playback.next_record() else { break };
            match record {
                Record::Tick { inputs, .. } => {
                    let world = self.playback.world();
                    let events = world.events().iter();
                    let told = events.filter_map(|event| moments::of_event(inputs.tick, event, &self.names));
                    for moment in told.chain(moments::of_step(before, world)) {
                        self.line(out, moment.tick, &moment.text)?;
                    }
                    if world.state().tick().0.is_multiple_of(every) {
                        self.line(out, world.state().tick(), &self.status())?;
                    }
                }
                Record::Event { tick, event } => {
                    self.line(out, tick, &moments::of_departure(tick, event, &self.names).text)?;
                }
                Record::Keyframe { .. } => {}
            }
        }
        let ends = self.playback.world().state().tick();
        self.line(out, ends, &self.status())?;
        self.line(out, ends, &self.end())
    }

    /// Describes the end of the match, or of what can be played.
    fn end(&self) -> String {
        let replay = self.playback.replay();
        match (self.playback.mismatch(), replay.trailer()) {
            (Some(tick), _) => {
                format!(
                    "after tick {tick} the simulation differs from the recording: see `arena replay verify`"
                )
            }
            (None, Some(trailer)) => {
                let team = trailer.result.winner;
                let winners =
                    team.map(|team| replay.header().players_of(team).map(|player| self.name(player)));
                let won = winners.map(|names| format!(", {} won", joined(&names.collect::<Vec<_>>())));
                format!("ended by {}{}", trailer.result.outcome, won.unwrap_or_default())
            }
            (None, None) => "the recording ends here".into(),
        }
    }

    fn line(&self, out: &mut dyn Write, tick: Tick, told: &str) -> io::Result<()> {
        let ms = self.playback.world().setup().tick_rate.micros_to(tick) / 1000;
        writeln!(out, "{}.{}  {told}", clock(ms / 1000), ms / 100 % 10)
    }

    fn name(&self, player: PlayerId) -> &str {
        moments::name(&self.names, player)
    }

    /// Formats each player's minions, circles and core, and the points of the team.
    fn status(&self) -> String {
        let state: &GameState = self.playback.world().state();
        let mut text = String::new();
        for player in state.player_ids() {
            let team = state.team_of(player);
            let core = state.cores.hp.get(player.index()).copied().unwrap_or_default();
            let score = state.players.score.get(player.index()).copied().unwrap_or_default();
            let between = if text.is_empty() { "" } else { " | " };
            let (name, minions, circles) =
                (self.name(player), state.minions(player), state.circles_held(team));
            write!(text, "{between}{name}: minions {minions}, circles {circles}, core {core}, score {score}")
                .expect("a string takes all");
        }
        text
    }
}
