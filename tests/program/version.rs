//! The version with the commit: where a build finds it, and who says it.

use mini_rts_arena::VERSION;
use mini_rts_arena::net::discovery::VersionText;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::arena::run;

/// The build's own way to the commit.
#[path = "../../build.rs"]
#[expect(dead_code, reason = "its main runs in the build")]
mod build;

const ID: &str = "0123456789abcdef0123456789abcdef01234567";
const OTHER: &str = "fedcba9876543210fedcba9876543210fedcba98";

/// Version that a build in `root/in` finds, with these files in `root`.
fn found(root: &str, files: &[(&str, &str)]) -> Option<String> {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        let file = folder.path().join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        fs::write(file, text).expect("written");
    }
    build::head(&folder.path().join(root))
}

#[test]
fn a_build_finds_its_commit_wherever_git_keeps_it() {
    let head = (".git/HEAD", "ref: refs/heads/a/b\n");
    let packed = format!("# pack-refs with: peeled\n{OTHER} refs/heads/a\n{ID} refs/heads/a/b\n^{OTHER}\n");
    let (id, other) = (format!("{ID}\n"), format!("{OTHER}\n"));
    let (loose, packed) = ((".git/refs/heads/a/b", &*id), (".git/packed-refs", &*packed));
    assert_eq!(found("", &[(".git/HEAD", &id)]).as_deref(), Some(ID), "detached");
    assert_eq!(found("", &[head, loose]).as_deref(), Some(ID), "loose");
    let beside = (".git/refs/heads/c", &*other);
    assert_eq!(found("", &[head, packed, beside]).as_deref(), Some(ID), "packed");
    let stale = packed.1.replace(ID, OTHER);
    assert_eq!(
        found("", &[head, loose, (".git/packed-refs", &stale)]).as_deref(),
        Some(ID),
        "loose is newer"
    );
    let tree = [
        ("tree/.git", "gitdir: ../main/.git/worktrees/tree\n"),
        ("main/.git/worktrees/tree/HEAD", "ref: refs/heads/a/b\n"),
        ("main/.git/worktrees/tree/commondir", "../..\n"),
        ("main/.git/refs/heads/a/b", &*id),
    ];
    assert_eq!(found("tree", &tree).as_deref(), Some(ID), "a worktree");
}

#[test]
fn a_build_of_no_repository_takes_no_commit_of_another() {
    let id = format!("{ID}\n");
    assert_eq!(found("source", &[(".git/HEAD", &id), ("source/Cargo.toml", "")]), None, "it lies in one");
    assert_eq!(found("", &[(".git/HEAD", "ref: refs/heads/main\n")]), None, "nothing is committed");
    assert_eq!(found("", &[(".git/HEAD", "what?\n")]), None);
}

#[test]
fn the_program_and_its_recordings_say_version_and_commit() {
    let (number, commit) = VERSION.split_once('+').expect("a commit");
    assert_eq!(number, env!("CARGO_PKG_VERSION"));
    VersionText::new(VERSION).expect("a beacon has room for it");
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let git = Command::new("git").arg("-C").arg(root).args(["rev-parse", "HEAD"]).output();
    let head = git.ok().filter(|git| git.status.success() && root.join(".git").exists());
    if let Some(head) = head.filter(|_| std::env::var_os("ARENA_COMMIT").is_none()) {
        let head = String::from_utf8(head.stdout).expect("a commit");
        assert!(commit.len() >= 7 && head.starts_with(commit), "{commit} is not {head}");
    }
    let home = tempfile::tempdir().expect("a folder");
    assert_eq!(run(home.path(), &["--version"]).stdout.trim(), format!("arena {VERSION}"));
    let record = home.path().join("a.mra").display().to_string();
    run(home.path(), &["play", "--headless", "--ticks=1", "--record", &record]);
    assert_eq!(run(home.path(), &["replay", "info", &record, "--json"]).json()["program"], VERSION);
}
