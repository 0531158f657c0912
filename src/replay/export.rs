//! Export for other programs: every command, and every change of a hero's controls.

use std::io::{self, Read, Seek, Write};

use serde::Serialize;

use super::format::ReplayEvent;
use super::reader::{Record, Replay};
use sim::{Command, HeroControl, PlayerId, Tick, TickRate};

/// Entry of an export.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Said {
    /// Tick of the entry.
    pub tick: Tick,
    /// Beginning of the tick, in milliseconds from the first tick of the match.
    pub at_ms: f64,
    /// Player concerned.
    pub player: PlayerId,
    /// Content of the entry.
    #[serde(flatten)]
    pub word: Word,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Word {
    /// Command, in the format of `--script`.
    Command(Command),
    /// Hero controls from now on.
    Hero(HeroControl),
    /// Departure or loss of the player.
    Event(ReplayEvent),
}

/// Iterates over all entries, in the order of ticks, as far as the replay goes.
pub fn said<R: Read + Seek>(replay: &mut Replay<R>) -> impl Iterator<Item = Said> {
    let rate = replay.header().tick_rate;
    let mut held = vec![HeroControl::default(); replay.header().seats.len()];
    replay.flat_map(move |record| {
        let mut words = Vec::new();
        match record {
            Record::Tick { inputs, .. } => {
                for ((player, input), before) in inputs.iter().zip(&mut held) {
                    if *before != input.hero {
                        *before = input.hero;
                        words.push(Said::new(rate, inputs.tick, player, Word::Hero(input.hero)));
                    }
                    let commands = input.commands.iter().cloned().map(Word::Command);
                    words.extend(commands.map(|word| Said::new(rate, inputs.tick, player, word)));
                }
            }
            Record::Event { tick, event } => {
                let (ReplayEvent::Left(player) | ReplayEvent::Lost(player)) = event;
                words.push(Said::new(rate, tick, player, Word::Event(event)));
            }
            Record::Keyframe { .. } => {}
        }
        words
    })
}

/// Writes a row for each entry: `tick,at_ms,player,name,kind,value`, the value as JSON.
///
/// # Errors
/// If it cannot be written.
pub fn write_csv<R: Read + Seek>(replay: &mut Replay<R>, out: impl Write) -> io::Result<()> {
    let names: Vec<String> = replay.header().seats.iter().map(|seat| seat.name.clone()).collect();
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["tick", "at_ms", "player", "name", "kind", "value"])?;
    for said in said(replay) {
        let (kind, value) = match &said.word {
            Word::Command(command) => ("command", serde_json::to_string(command)?),
            Word::Hero(control) => ("hero", serde_json::to_string(control)?),
            Word::Event(event) => ("event", serde_json::to_string(event)?),
        };
        let name = names.get(said.player.index()).map_or("", String::as_str);
        let (tick, at_ms, player) =
            (said.tick.to_string(), format!("{:.3}", said.at_ms), said.player.to_string());
        table.write_record([&tick, &at_ms, &player, name, kind, &value])?;
    }
    table.flush()?;
    Ok(())
}

/// Writes one JSON array with an object for each entry: `tick`, `at_ms`, `player`, and `command`, `hero` or `event`.
///
/// # Errors
/// If it cannot be written.
pub fn write_json<R: Read + Seek>(replay: &mut Replay<R>, mut out: impl Write) -> io::Result<()> {
    out.write_all(b"[")?;
    for (index, said) in said(replay).enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut out, &said)?;
    }
    out.write_all(b"\n]\n")?;
    out.flush()?;
    Ok(())
}

impl Said {
    fn new(rate: TickRate, tick: Tick, player: PlayerId, word: Word) -> Self {
        Self { tick, at_ms: rate.micros_to(tick) as f64 / 1000.0, player, word }
    }
}
