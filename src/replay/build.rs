//! The commit being built: from `ARENA_COMMIT`, else from the `.git` of this repository, else `unknown`.

use std::path::{Path, PathBuf};
use std::{env, fs};

/// Number of digits of the commit in the version that recordings, beacons and refusals carry.
const SHORT: usize = 7;
/// Number of digits of the commit in the facts of a study.
const LONG: usize = 12;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=ARENA_COMMIT");
    let package = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it"));
    let root = package.ancestors().nth(2).expect("the package is two folders below the repository's root");
    let given = env::var("ARENA_COMMIT").ok().filter(|commit| !commit.is_empty());
    if let Some(given) = &given {
        let fits = given.len() <= 40 && given.bytes().all(|byte| byte.is_ascii_alphanumeric());
        assert!(fits, "ARENA_COMMIT is {given:?}: give up to 40 letters and digits");
    }
    let commit = given.or_else(|| head(root)).unwrap_or_else(|| "unknown".into());
    let shortened = |digits: usize| &commit[..commit.len().min(digits)];
    let version = env::var("CARGO_PKG_VERSION").expect("cargo sets it");
    println!("cargo::rustc-env=PROGRAM_VERSION={version}+{}", shortened(SHORT));
    println!("cargo::rustc-env=ARENA_COMMIT={}", shortened(LONG));
}

/// Returns the commit that is checked out in `root`. A folder that only lies inside another repository has none.
pub(crate) fn head(root: &Path) -> Option<String> {
    let folder = git_folder(&root.join(".git"))?;
    // A worktree has its own HEAD, and shares its branches with the others.
    let common = fs::read_to_string(folder.join("commondir")).ok();
    let common = common.map_or_else(|| folder.clone(), |path| folder.join(path.trim_end()));
    let head = watched(&folder.join("HEAD"))?;
    let Some(branch) = head.strip_prefix("ref: ") else { return commit(&head) };
    let loose = common.join(branch);
    if let Some(id) = watched(&loose) {
        return commit(&id);
    }
    // The next commit creates the file in the nearest existing folder.
    watch(loose.ancestors().skip(1).find(|path| path.exists())?);
    let packed = watched(&common.join("packed-refs"))?;
    let mut lines = packed.lines().filter_map(|line| line.split_once(' '));
    lines.find(|(_, name)| *name == branch).and_then(|(id, _)| commit(id))
}

/// Returns `.git` itself, or the folder that a file of this name points to.
fn git_folder(git: &Path) -> Option<PathBuf> {
    if git.is_dir() {
        return Some(git.to_owned());
    }
    let text = watched(git)?;
    Some(git.parent()?.join(text.strip_prefix("gitdir: ")?))
}

/// Returns the text of a file, if there is one. When it changes, the build is repeated.
fn watched(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    watch(file);
    Some(text.trim_end().to_owned())
}

fn watch(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

fn commit(id: &str) -> Option<String> {
    let is_id = id.len() >= 40 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then(|| id.to_owned())
}
