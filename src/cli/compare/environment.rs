//! Environment of a study: everything needed to repeat the measurement.

use clap::ValueEnum as _;
use std::fs;

use super::super::args::CompareArguments;
use lab::compare::{Size, Study};

const LOCK_FILE: &[u8] = include_bytes!("../../../Cargo.lock");
/// Value of facts that the machine does not report.
const UNKNOWN: &str = "unknown";

/// Collects names and values.
pub(super) fn facts(
    arguments: &CompareArguments,
    size: Size,
    load_before: &str,
    repeated: Option<u32>,
) -> Vec<(String, String)> {
    let lock = blake3::hash(LOCK_FILE).to_hex();
    let cores =
        std::thread::available_parallelism().map_or_else(|_| UNKNOWN.into(), |cores| cores.to_string());
    let facts = [
        ("command", command(arguments, size)),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("commit", replay::COMMIT.into()),
        ("Cargo.lock, BLAKE3", lock[..16].into()),
        ("processor", cpu()),
        ("cores", cores),
        ("system", format!("{} {}, {}", std::env::consts::OS, kernel(), std::env::consts::ARCH)),
    ];
    // Matches in virtual time do not depend on the machine's load.
    let of_real = repeated.into_iter().flat_map(|count| {
        [
            ("load before and after", format!("{load_before}; {}", load())),
            ("real matches repeated, since timers fired late", count.to_string()),
        ]
    });
    let facts = facts.into_iter().chain(of_real).map(|(name, value)| (name.to_owned(), value));
    let shard = arguments.shard.and_then(Study::shard_fact);
    Study::reservation(size).into_iter().chain(facts).chain(shard).collect()
}

/// Returns the machine's load average of the last minute.
pub(super) fn load() -> String {
    let load = fs::read_to_string("/proc/loadavg").ok();
    load.and_then(|load| Some(load.split(' ').next()?.to_owned())).unwrap_or_else(|| UNKNOWN.into())
}

fn command(arguments: &CompareArguments, size: Size) -> String {
    let mut command = String::from("arena compare");
    command += match size {
        Size::Quick => " --quick",
        Size::Default => "",
        Size::Full => " --full",
    };
    if arguments.real {
        command += " --real";
    }
    if let Some(seeds) = arguments.seeds {
        command += &format!(" --seeds {seeds}");
    }
    for view in &arguments.view {
        let name = view.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned());
        command += &format!(" --view {name}");
    }
    for cell in &arguments.cell {
        command += &format!(" --cell {cell}");
    }
    if let Some(file) = &arguments.link {
        command += &format!(" --link trace={}", file.display());
    }
    if let Some(file) = &arguments.from {
        command += &format!(" --from {}", file.display());
    }
    command
}

fn cpu() -> String {
    let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = info.lines().find_map(|line| line.strip_prefix("model name")?.split_once(": "));
    model.map_or_else(|| UNKNOWN.into(), |(_, model)| model.trim().to_owned())
}

fn kernel() -> String {
    let release = fs::read_to_string("/proc/sys/kernel/osrelease").ok();
    release.map_or_else(|| UNKNOWN.into(), |release| release.trim().to_owned())
}
