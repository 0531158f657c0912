//! Export for other programs: every command, and every change of a hero's controls.

use std::io::{self, Read, Seek, Write};

use std::sync::Arc;

use serde_json::{Value, json};

use super::command_json::command_to_json;
use super::format::ReplayEvent;
use super::reader::{Record, Replay};
use sim::{Command, HeroControl, PlayerId, Rules, Tick, TickRate};

/// Entry of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Tick of the entry.
    pub tick: Tick,
    /// Beginning of the tick, in milliseconds from the first tick of the match.
    pub at_ms: f64,
    /// Player concerned.
    pub player: PlayerId,
    /// Content of the entry.
    pub word: Word,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Command.
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
    let rules = rules_of(replay);
    let mut table = csv::Writer::from_writer(out);
    table.write_record(["tick", "at_ms", "player", "name", "kind", "value"])?;
    for said in said(replay) {
        let (kind, value) = said.word.to_json(rules.as_deref())?;
        let value = value.to_string();
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
    let rules = rules_of(replay);
    out.write_all(b"[")?;
    for (index, said) in said(replay).enumerate() {
        out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
        let (kind, value) = said.word.to_json(rules.as_deref())?;
        let entry = json!({"tick": said.tick, "at_ms": said.at_ms, "player": said.player, kind: value});
        serde_json::to_writer(&mut out, &entry)?;
    }
    out.write_all(b"\n]\n")?;
    out.flush()?;
    Ok(())
}

/// Returns the rules of the match, for the names of kinds.
fn rules_of<R: Read + Seek>(replay: &Replay<R>) -> Option<Arc<Rules>> {
    replay.header().setup().ok().map(|setup| setup.rules)
}

impl Word {
    /// Returns the kind of content, and the content; commands in the format of `--script`.
    fn to_json(&self, rules: Option<&Rules>) -> serde_json::Result<(&'static str, Value)> {
        Ok(match (self, rules) {
            (Self::Command(command), Some(rules)) => ("command", command_to_json(command, rules)),
            (Self::Command(command), None) => ("command", serde_json::to_value(command)?),
            (Self::Hero(control), _) => ("hero", serde_json::to_value(control)?),
            (Self::Event(event), _) => ("event", serde_json::to_value(event)?),
        })
    }
}

impl Said {
    fn new(rate: TickRate, tick: Tick, player: PlayerId, word: Word) -> Self {
        Self { tick, at_ms: rate.micros_to(tick) as f64 / 1000.0, player, word }
    }
}
