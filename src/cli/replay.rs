//! `arena replay`: here `info` and `verify`; the other actions are in submodules.

pub(crate) mod list;
pub(crate) mod moments;
mod parts;
mod timeline;

use serde_json::{Value, json};
use std::path::Path;
use std::process::ExitCode;

use super::args::{ReplayAction, ReplayFiles};
use super::console::shown;
use super::headless::progress_bar;
use super::paths;
use super::{FAILED, FOUND};
use game::data;
use game::phrase::counted;
use replay::{OpenError, ReplayHeader, ReplayInfo, ReplaySeat, Verdict, VerifyReport};
use sim::{ControlBehaviour, KindName, Tick};

/// Runs an action.
pub(crate) fn run(action: ReplayAction) -> anyhow::Result<ExitCode> {
    match action {
        ReplayAction::Info(files) => Ok(look_into(&files, true, info)),
        ReplayAction::Verify(files) => Ok(look_into(&files, false, verify)),
        ReplayAction::List { folder, json } => list::list(folder, json),
        ReplayAction::Watch { file, .. } => timeline::watch(&file),
        ReplayAction::Seek { file, to, json } => parts::seek(&file, Tick(to), json),
        ReplayAction::Cut { file, from, to, out } => parts::cut(&file, Tick(from), Tick(to), &out),
        ReplayAction::Export(export) => parts::export(&export),
        ReplayAction::Diff { one, other, json } => parts::diff(&one, &other, json),
    }
}

/// Examines every file; the worst result decides the exit code. With `single`, the JSON of a lone file is no list.
fn look_into(files: &ReplayFiles, single: bool, look: fn(&Path) -> Looked) -> ExitCode {
    let (mut values, mut worst) = (Vec::new(), 0);
    for file in &files.files {
        let looked = look(file);
        worst = worst.max(looked.code);
        match (&looked.error, files.json) {
            (Some(error), _) => logln!("error: {}: {error}", file.display()),
            (None, false) => outln!("{}", looked.text),
            (None, true) => {}
        }
        values.push(looked.json);
    }
    if files.json {
        let single = single && values.len() == 1;
        outln!("{}", if single { values.remove(0) } else { Value::Array(values) });
    }
    ExitCode::from(worst)
}

struct Looked {
    json: Value,
    text: String,
    /// Reason why nothing is known about a match.
    error: Option<String>,
    code: u8,
}

fn verify(file: &Path) -> Looked {
    let bar = progress_bar(None);
    let result = replay::verify(file, |progress| {
        if let Some(ticks) = progress.of {
            bar.set_length(u64::from(ticks));
        }
        bar.set_position(u64::from(progress.tick.0));
    });
    bar.finish_and_clear();
    match result {
        Ok(report) => verified(file, &report),
        Err(error) => unreadable(file, &error),
    }
}

fn verified(file: &Path, report: &VerifyReport) -> Looked {
    let verdict = report.verdict.as_str();
    let tick = |tick: Option<Tick>| tick.map(|tick| tick.0);
    let json = json!({
        "file": shown(file),
        "verdict": verdict,
        "ticks": report.ticks,
        "first_bad_tick": tick(report.first_bad_tick),
        "last_good_tick": tick(report.last_good_tick),
        "x_real_time": report.x_real_time,
        "reason": report.reason,
    });
    let ticks = counted(report.ticks, "tick", "ticks");
    let mut text = format!("{}: {verdict}, {ticks}", file.display());
    if report.verdict == Verdict::Equal {
        text += &format!(" at {:.0} x real time", report.x_real_time);
    } else {
        text += &format!(": {}", report.reason);
    }
    let code = if report.verdict == Verdict::Equal { 0 } else { FOUND };
    Looked { json, text, error: None, code }
}

fn info(file: &Path) -> Looked {
    match replay::info(file) {
        Ok(info) => informed(file, &info),
        Err(error) => Looked { code: FAILED, ..unreadable(file, &error) },
    }
}

/// Names a seat's hero. The rules of another simulation build cannot be read: its heroes were those of the standard
/// rules.
fn hero_name(header: &ReplayHeader, seat: &ReplaySeat) -> Option<KindName> {
    let rules = header.setup().map(|setup| setup.rules).or_else(|_| data::rules("standard")).ok()?;
    Some(rules.unit(ControlBehaviour::Player, seat.setup.hero).name)
}

fn informed(file: &Path, info: &ReplayInfo) -> Looked {
    // A complete file is `complete` here; only a simulation can tell whether it is `equal`.
    let verdict = info.verdict.as_str();
    let header = info.header.as_ref();
    let hz = header.map_or(60, |header| header.tick_rate.hz());
    let seconds = f64::from(info.ticks) / f64::from(hz);
    let seats = |header: &replay::ReplayHeader| -> Vec<Value> {
        let seats = header.seats.iter();
        seats
            .map(|seat| json!({"name": seat.name, "hero": hero_name(header, seat), "team": seat.setup.team}))
            .collect()
    };
    let json = json!({
        "file": shown(file),
        "verdict": verdict,
        "reason": info.reason,
        "ticks": info.ticks,
        "seconds": seconds,
        "last_good_tick": info.last_good_tick.map(|tick| tick.0),
        "outcome": info.result.as_ref().map(|result| result.outcome.as_str()),
        "winner_team": info.result.as_ref().and_then(|result| result.winner),
        "seed": header.map(|header| header.seed),
        "tick_rate": header.map(|header| header.tick_rate.hz()),
        "rules": header.map(|header| header.rules_name.as_str()),
        "map": header.map(|header| header.map_name.as_str()),
        "simulation_build": header.map(|header| header.simulation_build),
        "program": header.map(|header| header.program.as_str()),
        "machine": header.map(|header| header.machine.as_str()),
        "started_unix_s": header.map(|header| header.started_unix_s),
        "recorder": header.and_then(|header| header.recorder).map(|player| player.0),
        "seats": header.map(seats),
    });
    let ticks = counted(info.ticks, "tick", "ticks");
    let mut text = format!("{}: {verdict}, {ticks} ({seconds:.1} s)", file.display());
    if let Some(header) = header {
        let names: Vec<&str> = header.seats.iter().map(|seat| seat.name.as_str()).collect();
        text += &format!(
            "\n  {} on {} by {} rules, seed {}, {hz} ticks/s\n  recorded {} by arena {} (simulation {}) on {}",
            names.join(" against "),
            header.map_name,
            header.rules_name,
            header.seed,
            paths::utc(header.started_unix_s),
            header.program,
            header.simulation_build,
            header.machine
        );
    }
    if let Some(result) = &info.result {
        let winner = result.winner.map_or_else(String::new, |team| format!(", team {team} won"));
        text += &format!("\n  ended by {}{winner}", result.outcome);
    }
    if info.verdict != Verdict::Complete {
        text += &format!("\n  {}", info.reason);
    }
    let (error, code) = if header.is_some() { (None, 0) } else { (Some(info.reason.clone()), FAILED) };
    Looked { json, text, error, code }
}

/// Describes a file that is no replay: a verdict only if its bytes could be read, else an error.
fn unreadable(file: &Path, error: &OpenError) -> Looked {
    let is_read = !matches!(error, OpenError::Io(_));
    let json = json!({
        "file": shown(file),
        "verdict": is_read.then(|| Verdict::Corrupt.as_str()),
        "ticks": 0,
        "first_bad_tick": null,
        "last_good_tick": null,
        "x_real_time": 0.0,
        "reason": error.to_string(),
    });
    let code = if is_read { FOUND } else { FAILED };
    Looked { json, text: String::new(), error: Some(error.to_string()), code }
}
