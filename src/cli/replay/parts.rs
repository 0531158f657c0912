//! `arena replay seek`, `cut`, `export` and `diff`.

use anyhow::{Context as _, bail, ensure};
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use crate::cli::args::ExportArguments;
use crate::cli::console::{found, print, stream};
use game::phrase::counted;
use game::{SCRIPT_BYTES_MAX, SCRIPT_COMMANDS_MAX, Script, ScriptLine};
use replay::{CutError, End, Form, Parting, Playback, Replay, Word};
use sim::{PlayerId, Tick};

/// Prints the state before a tick.
pub(crate) fn seek(file: &Path, to: Tick, json: bool) -> anyhow::Result<ExitCode> {
    let begun = Instant::now();
    let mut replay = open(file)?;
    let world = replay.world_at(to).with_context(|| file.display().to_string())?;
    let ms = begun.elapsed().as_secs_f64() * 1000.0;
    let (reached, begins) = (world.state().tick(), replay.begins());
    ensure!(
        reached == to,
        "{} goes from tick {begins} to {}: there is no tick {to}",
        file.display(),
        if reached < to { reached.0 } else { replay.promised_ticks().unwrap_or(reached.0) }
    );
    let hash = world.hash().whole;
    let text = || format!("{}: before tick {to} the state hash is {hash:016x} ({ms:.1} ms)", file.display());
    print(json, || json!({"tick": to.0, "state_hash": format!("{hash:016x}"), "ms": ms}), text);
    Ok(ExitCode::SUCCESS)
}

/// Cuts a part into a replay of its own. The file is renamed when it is complete, and overwrites nothing.
pub(crate) fn cut(file: &Path, from: Tick, to: Tick, out: &Path) -> anyhow::Result<ExitCode> {
    let mut replay = open(file)?;
    ensure!(!out.exists(), "{} exists already: choose another name", out.display());
    let part = out.with_added_extension("part");
    let file_out = File::create_new(&part).with_context(|| format!("cannot write {}", part.display()))?;
    let named = match replay::cut(&mut replay, from, to, file_out) {
        Ok((ticks, written)) => {
            let named = written.sync_all().and_then(|()| std::fs::rename(&part, out)).map(|()| ticks);
            named.with_context(|| format!("cannot write {}", out.display()))
        }
        Err(error @ CutError::Record(_)) => {
            Err(error).with_context(|| format!("cannot write {}", out.display()))
        }
        Err(error) => Err(error).with_context(|| file.display().to_string()),
    };
    if named.is_err() {
        // An incomplete part is useless.
        let _ = std::fs::remove_file(&part);
    }
    let ticks = named?;
    note_early_end(file, &replay);
    outln!("{}: {}, {from} to {}", out.display(), counted(ticks, "tick", "ticks"), from.0 + ticks - 1);
    Ok(ExitCode::SUCCESS)
}

/// Prints commands, events or units.
pub(crate) fn export(arguments: &ExportArguments) -> anyhow::Result<ExitCode> {
    let file = &arguments.file;
    let mut replay = open(file)?;
    replay.header().setup().with_context(|| file.display().to_string())?;
    let form = if arguments.csv { Form::Csv } else { Form::Json };
    if let Some(player) = arguments.player {
        let script = script_of(&mut replay, PlayerId(player)).with_context(|| file.display().to_string())?;
        out!("{script}");
    } else if arguments.events || arguments.states.is_some() {
        let mut playback = Playback::new(replay).with_context(|| file.display().to_string())?;
        stream(|out| match arguments.states {
            Some(every) => replay::write_states(&mut playback, every, form, out),
            None => replay::write_events(&mut playback, form, out),
        });
        if let Some(tick) = playback.mismatch() {
            bail!(
                "{}: after tick {tick} the simulation differs from the recording, and nothing later is exported",
                file.display()
            );
        }
        replay = playback.into_replay();
    } else {
        stream(|out| replay::write_said(&mut replay, form, out));
    }
    note_early_end(file, &replay);
    Ok(ExitCode::SUCCESS)
}

/// Returns the commands of a player as a file for `--script`: each at the beginning of its tick. Hero keys are no
/// commands.
fn script_of(replay: &mut Replay, player: PlayerId) -> anyhow::Result<String> {
    let (seats, rate) = (replay.header().seats.len(), replay.header().tick_rate);
    let rules = replay.header().setup()?.rules;
    ensure!(player.index() < seats, "there is no player {player}: they count from 0 to {}", seats - 1);
    let lines =
        replay::said(replay).filter(|said| said.player == player).filter_map(|said| match said.word {
            Word::Command(command) if command.is_given() => {
                Some(ScriptLine { at_us: rate.micros_to(said.tick), command })
            }
            _ => None,
        });
    // One more than a script may have is enough to know.
    let script: Script = lines.take(SCRIPT_COMMANDS_MAX + 1).collect();
    let mut bytes = Vec::new();
    script.write(&rules, &mut bytes)?;
    let text = String::from_utf8(bytes)?;
    let is_short = script.lines().len() <= SCRIPT_COMMANDS_MAX && text.len() as u64 <= SCRIPT_BYTES_MAX;
    ensure!(
        is_short,
        "player {player} gave more than the {SCRIPT_COMMANDS_MAX} commands, or {} MiB, of a script: cut a part out",
        SCRIPT_BYTES_MAX >> 20
    );
    Ok(text)
}

/// Prints the first difference of two recordings. Exit code 1 if there is one.
pub(crate) fn diff(one: &Path, other: &Path, json: bool) -> anyhow::Result<ExitCode> {
    let parting = replay::diff(open(one)?, open(other)?)
        .with_context(|| format!("{} or {}", one.display(), other.display()))?;
    print(json, || parting_json(&parting), || parting_text(&parting, [one, other]));
    Ok(found(!parting.is_none()))
}

/// Warns that the file ends before the match.
fn note_early_end(file: &Path, replay: &Replay) {
    if let Some(End::Truncated { .. } | End::Corrupt { .. }) = replay.end() {
        let ends = replay.begins().plus(replay.ticks_read());
        logln!("{}: the file is intact up to tick {ends}; see `arena replay verify`", file.display());
    }
}

fn open(file: &Path) -> anyhow::Result<Replay> {
    Replay::open(file).with_context(|| file.display().to_string())
}

fn parting_json(found: &Parting) -> Value {
    let tick = |tick: Option<Tick>| tick.map(|tick| tick.0);
    let inputs = found.inputs.map(|(tick, player)| json!({"tick": tick.0, "player": player.0}));
    let state = found.state.as_ref().map(|(tick, difference)| {
        json!({
            "tick": tick.0,
            "part": difference.part,
            "row": difference.row,
            "unit": difference.unit.map(|unit| unit.to_string()),
            "field": difference.field,
            "values": difference.values,
        })
    });
    json!({
        "verdict": if found.is_none() { "equal" } else { "different" },
        "setup": found.setup,
        "inputs": inputs,
        "hashes": tick(found.hashes),
        "state": state,
        "astray": found.astray.map(tick),
        "ends": found.ends.map(|end| end.0),
        "ticks_compared": found.ticks,
    })
}

fn parting_text(found: &Parting, files: [&Path; 2]) -> String {
    if let Some(setup) = found.setup {
        return format!("different matches: not the same {setup}");
    }
    let mut lines = Vec::new();
    if let Some((tick, player)) = found.inputs {
        lines.push(format!("in tick {tick} the inputs of player {player} differ"));
    }
    if let Some(tick) = found.hashes {
        lines.push(format!("after tick {tick} the recorded state hashes differ, with the same inputs"));
    }
    if let Some((tick, difference)) = &found.state {
        lines.push(format!("after tick {tick} the states differ: {difference}"));
    }
    for (file, astray) in files.iter().zip(found.astray) {
        if let Some(tick) = astray {
            lines.push(format!(
                "{}: after tick {tick} the recorded hash differs from that of its inputs, simulated here",
                file.display()
            ));
        }
    }
    if found.ends[0] != found.ends[1] {
        lines
            .push(format!("one ends before tick {}, the other before tick {}", found.ends[0], found.ends[1]));
    }
    if lines.is_empty() {
        lines.push(format!("equal: {}", counted(found.ticks, "tick", "ticks")));
    }
    lines.join("\n")
}
