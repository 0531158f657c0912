//! Where files of the user go.

use anyhow::{Context as _, anyhow};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

/// The user's folder for what the program keeps, and in it the one for a kind: replays, pictures, reports of
/// desyncs; the settings lie in it itself.
pub(crate) fn data_folder(kind: &str) -> anyhow::Result<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "mini-rts-arena").ok_or_else(|| {
        anyhow!("this user has no home folder; say where with --record FILE, or --record off")
    })?;
    let folder = folders.data_dir().join(kind);
    std::fs::create_dir_all(&folder).with_context(|| {
        format!("cannot make {}; say where with --record FILE, or --record off", folder.display())
    })?;
    Ok(folder)
}

/// Where a match is recorded, without the ending; `None` for `off`.
pub(crate) fn replay_path(
    record: Option<&str>,
    player: &str,
    seed: Option<u64>,
) -> anyhow::Result<Option<PathBuf>> {
    let path = match record {
        Some("off") => return Ok(None),
        Some(file) => {
            let path = PathBuf::from(file);
            let is_folder = file.ends_with(std::path::is_separator) || path.is_dir();
            anyhow::ensure!(!file.is_empty(), "--record has no name; give a FILE, or `off`");
            anyhow::ensure!(!is_folder, "--record {file} is a folder; add the name of a file in it");
            path
        }
        None => {
            let now = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
            let stamp: String = now.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
            let seed = seed.map_or_else(String::new, |seed| format!("-seed{seed}"));
            // Two peers of one machine record side by side.
            let process = std::process::id();
            data_folder("replays")?.join(format!("{stamp}{seed}-{player}-{process}"))
        }
    };
    check_writable(&path)?;
    Ok(Some(path))
}

/// Seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// Finds out now, not when the match begins, that a file cannot be made there.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let named = |ending: &str| PathBuf::from(format!("{}{ending}", path.display()));
    let whole =
        if path.extension().is_some_and(|ending| ending == "mra") { path.to_owned() } else { named(".mra") };
    anyhow::ensure!(!whole.exists(), "{} exists already; choose another --record", whole.display());
    let probe = named(&format!(".{}.tmp", std::process::id()));
    std::fs::File::create_new(&probe).with_context(|| {
        format!("cannot record to {}; say where with --record FILE, or --record off", path.display())
    })?;
    std::fs::remove_file(&probe)?;
    Ok(())
}
