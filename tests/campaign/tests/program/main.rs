//! Adversaries at the real program, and the command line of campaigns.

#[cfg(target_os = "linux")]
mod adversary;
#[allow(dead_code, reason = "the tests of the program use the rest")]
#[path = "../../../program/arena.rs"]
mod arena;
mod balance;
mod commands;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;

use arena::{Arena, Ended};

/// The program, built as it is released: without what this package needs of `net` and `game`.
fn program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| built().to_str().expect("text").to_owned());
    &PROGRAM
}

/// Builds the program by the profile of these tests.
fn built() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let folder = test.ancestors().nth(2).expect("in deps");
    let profile = folder.file_name().expect("a name").to_str().expect("text");
    let profile = if profile == "debug" { "dev" } else { profile };
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package=mini-rts-arena", "--bin=arena", "--profile", profile]);
    cargo.arg("--target-dir").arg(folder.parent().expect("the target folder"));
    cargo.current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."));
    assert!(cargo.status().expect("cargo runs").success());
    folder.join("arena").with_extension(std::env::consts::EXE_EXTENSION)
}

/// Runs a campaign to its end.
fn campaign(home: &Path, words: &[&str]) -> Ended {
    let mut command = Command::new(env!("CARGO_BIN_EXE_campaign"));
    arena::prepare(&mut command, home, words);
    Arena::start(command).end()
}
