//! `arena replay list`: the replays of a folder.

use anyhow::Context as _;
use comfy_table::Table;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use super::informed;
use crate::cli::console::{self, print};
use crate::cli::local_time::local_time;
use crate::cli::paths::data_folder;
use game::phrase::clock;
use replay::{EXTENSION, PART_EXTENSION, ReplayInfo};

/// Maximum number of files to examine.
const LISTED_MAX: usize = 10_000;

/// Lists the replays of a folder, complete or not, newest first.
pub(crate) fn list(folder: Option<PathBuf>, json: bool) -> anyhow::Result<ExitCode> {
    let folder = folder.map_or_else(|| data_folder("replays"), Ok)?;
    let mut listed = Vec::new();
    for file in replays_in(&folder)? {
        match replay::info(&file) {
            Ok(info) => listed.push((file, info)),
            Err(error) => logln!("{}: {error}", file.display()),
        }
    }
    let started = |info: &ReplayInfo| info.header.as_ref().map(|header| header.started_unix_s);
    listed.sort_by(|(a, first), (b, second)| started(second).cmp(&started(first)).then_with(|| a.cmp(b)));
    let value = |(file, info): &(PathBuf, ReplayInfo)| informed(file, info).json;
    let text = || match &listed[..] {
        [] => format!("no replays in {}", folder.display()),
        listed => table(listed).to_string(),
    };
    print(json, || listed.iter().map(value).collect(), text);
    Ok(ExitCode::SUCCESS)
}

/// Returns the files of a folder with a replay's extension.
pub(crate) fn replays_in(folder: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let endings = [EXTENSION, PART_EXTENSION].map(|ending| format!(".{ending}"));
    let mut files = Vec::new();
    for entry in entries {
        let path = entry.with_context(|| format!("cannot read {}", folder.display()))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        if !endings.iter().any(|ending| name.ends_with(ending)) || !path.is_file() {
            continue;
        }
        if files.len() == LISTED_MAX {
            logln!("{} has more than {LISTED_MAX} replays: not all are listed", folder.display());
            break;
        }
        files.push(path);
    }
    Ok(files)
}

fn table(listed: &[(PathBuf, ReplayInfo)]) -> Table {
    let mut table = console::table(["file", "recorded", "players", "map", "length", "result", "state"]);
    for (file, info) in listed {
        let header = info.header.as_ref();
        let text = |of: &dyn Fn(&replay::ReplayHeader) -> String| header.map_or_else(String::new, of);
        let seconds = header.map_or(0, |header| info.ticks / header.tick_rate.hz());
        table.add_row([
            file.file_name().unwrap_or_default().to_string_lossy().into_owned(),
            text(&|header| local_time(header.started_unix_s)),
            text(&|header| {
                let names: Vec<&str> = header.seats.iter().map(|seat| seat.name.as_str()).collect();
                names.join(" against ")
            }),
            text(&|header| header.map_name.clone()),
            clock(seconds.into()),
            info.result.as_ref().map_or_else(String::new, |result| result.outcome.clone()),
            info.verdict.to_string(),
        ]);
    }
    table
}
