//! docs/OPERATING.md with its unit and its container file: all their commands are commands of this program.

use std::fs;
use std::process::{Command, Stdio};

use crate::arena::run;

const DOCUMENT: &str = include_str!("../../docs/OPERATING.md");
const UNIT: &str = include_str!("../../docs/operating/arena@.service");
const CONTAINER: &str = include_str!("../../docs/operating/Containerfile");

/// Returns the parts of each line that are quoted by backquotes.
fn quoted(text: &str) -> impl Iterator<Item = &str> {
    text.lines().flat_map(|line| line.split('`').skip(1).step_by(2))
}

/// The command lines of `arena`.
fn command_lines() -> Vec<String> {
    let lines = DOCUMENT.lines().map(str::trim).chain(quoted(DOCUMENT));
    let in_unit = UNIT.lines().filter_map(|line| line.strip_prefix("ExecStart=/usr/local/bin/"));
    let words = CONTAINER.lines().find_map(|line| line.strip_prefix("CMD ")).expect("a command");
    let words: Vec<String> = serde_json::from_str(words).expect("a list of words");
    let all = lines.filter(|line| line.starts_with("arena ")).chain(in_unit).map(str::to_owned);
    all.chain([format!("arena {}", words.join(" "))]).collect()
}

#[test]
fn every_command_line_is_one_and_every_flag_exists() {
    let home = tempfile::tempdir().expect("a folder");
    let lines = command_lines();
    assert!(lines.len() >= 10, "{lines:?}");
    for line in lines {
        // The instance of a unit, and a code that would be read from the standard input.
        let line = line.replace("%i", "24").replace("--room -", "--room oak7");
        // The help follows once all words before it have been read.
        let words: Vec<&str> = line.split_whitespace().skip(1).chain(["--help"]).collect();
        let ended = run(home.path(), &words);
        assert_eq!(ended.code, Some(0), "{line}: {ended:?}");
    }
    let help = run(home.path(), &["serve", "--help"]).stdout;
    let of_docker = ["--network"];
    let flags = quoted(DOCUMENT).filter_map(|text| text.split_whitespace().next());
    for flag in flags.filter(|flag| flag.starts_with("--") && !of_docker.contains(flag)) {
        assert!(help.contains(&format!("{flag} ")) || help.contains(&format!("{flag}\n")), "{flag}");
    }
}

#[test]
fn the_unit_is_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let unit = folder.path().join("arena@.service");
    fs::write(&unit, UNIT.replace("/usr/local/bin/arena", crate::program())).expect("written");
    let Ok(verified) = Command::new("systemd-analyze").arg("verify").arg(&unit).output() else {
        println!("skipped: systemd-analyze is not installed");
        return;
    };
    assert!(verified.status.success() && verified.stderr.is_empty(), "{verified:?}");
}

#[test]
#[ignore = "builds the program in a container, for minutes"]
fn the_container_is_built_and_runs() {
    let mut archive =
        Command::new("git").args(["archive", "HEAD"]).stdout(Stdio::piped()).spawn().expect("git runs");
    let context = archive.stdout.take().expect("piped");
    let build = ["build", "-q", "-t", "arena-of-a-test", "-f", "docs/operating/Containerfile", "-"];
    let built = Command::new("docker").args(build).stdin(context).output().expect("docker is installed");
    assert!(archive.wait().expect("it ends").success() && built.status.success(), "{built:?}");
    let ran = Command::new("docker").args(["run", "--rm", "arena-of-a-test", "--version"]).output();
    assert!(ran.as_ref().is_ok_and(|ran| ran.stdout.starts_with(b"arena ")), "{ran:?}");
}
