//! Paths of the user's files.

use anyhow::{Context as _, anyhow};
use std::io::ErrorKind;
use std::path::{Path, PathBuf, is_separator};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use super::console;
use replay::EXTENSION;

/// Creates and returns the user's data folder for a kind of file: replays, screenshots, desync reports; settings are
/// in the data folder itself.
pub(crate) fn data_folder(kind: &str) -> anyhow::Result<PathBuf> {
    let folder = folder_of(kind)?;
    std::fs::create_dir_all(&folder).with_context(|| {
        format!("cannot create {}; choose a file with --record FILE, or --record off", folder.display())
    })?;
    Ok(folder)
}

/// Returns the same folder, without creating it.
fn folder_of(kind: &str) -> anyhow::Result<PathBuf> {
    let folders = directories::ProjectDirs::from("", "", "mini-rts-arena").ok_or_else(|| {
        anyhow!("this user has no home folder; choose a file with --record FILE, or --record off")
    })?;
    Ok(folders.data_dir().join(kind))
}

/// Returns the path of a recording, without the extension; `None` for `off`.
pub(crate) fn replay_path(
    record: Option<&Path>,
    player: &str,
    seed: Option<u64>,
) -> anyhow::Result<Option<PathBuf>> {
    match record {
        Some(file) if file.as_os_str() == "off" => Ok(None),
        Some(file) => {
            let last = file.as_os_str().as_encoded_bytes().last();
            let is_folder = last.is_some_and(|&byte| is_separator(byte.into())) || file.is_dir();
            let shown = file.display();
            anyhow::ensure!(!is_folder, "--record {shown} is a folder; add the name of a file in it");
            check_writable(file)?;
            Ok(Some(file.to_owned()))
        }
        None => {
            let stamp = stamp(unix_seconds());
            let seed = seed.map_or_else(String::new, |seed| format!("-seed{seed}"));
            // Two peers of one machine may record at the same time.
            let process = std::process::id();
            let name = format!("{stamp}{seed}-{player}-{process}");
            match folder_of("replays") {
                Ok(folder) => {
                    // If this fails, the recording reports it when the match begins, and the match is played.
                    let _ = std::fs::create_dir_all(&folder);
                    Ok(Some(folder.join(name)))
                }
                Err(error) => {
                    console::not_written(format_args!("the recording: {error}"));
                    Ok(None)
                }
            }
        }
    }
}

/// Returns the seconds since 1970.
pub(crate) fn unix_seconds() -> u64 {
    since_1970(SystemTime::now()).as_secs()
}

/// Returns the time since 1970; zero for a clock before that.
pub(crate) fn since_1970(time: SystemTime) -> Duration {
    time.duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// Formats a date for a file name: `20261121T111111Z`.
pub(crate) fn stamp(unix_s: u64) -> String {
    utc(unix_s).chars().filter(char::is_ascii_alphanumeric).collect()
}

/// Formats seconds since 1970 as `2026-11-21T11:11:11Z`. They may come from a wrong clock or from a file: later times
/// than the year 9999 are shown as its end.
pub(crate) fn utc(unix_s: u64) -> String {
    const LAST: u64 = 253_402_300_799;
    humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(unix_s.min(LAST))).to_string()
}

/// Checks now, rather than when the match begins, that a file can be created there.
fn check_writable(path: &Path) -> anyhow::Result<()> {
    let is_whole = path.extension().is_some_and(|ending| ending == EXTENSION);
    let whole = if is_whole { path.to_owned() } else { path.with_added_extension(EXTENSION) };
    anyhow::ensure!(!whole.exists(), "{} exists already; choose another --record", whole.display());
    let probe = path.with_added_extension(format!("{}.tmp", std::process::id()));
    match std::fs::File::create_new(&probe) {
        Ok(_) => std::fs::remove_file(&probe).context("cannot remove a file that was just created"),
        // There may be space when the match begins; if not, it is reported then, and the match is played.
        Err(error) if matches!(error.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded) => Ok(()),
        Err(error) => Err(error).with_context(|| {
            format!("cannot record to {}; choose a file with --record FILE, or --record off", path.display())
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_clock_has_a_date() {
        assert_eq!(utc(0), "1970-01-01T00:00:00Z");
        assert_eq!(utc(1_795_612_000), "2026-11-25T13:06:40Z");
        assert_eq!([utc(253_402_300_800), utc(u64::MAX)], ["9999-12-31T23:59:59Z"; 2]);
        assert_eq!(stamp(0), "19700101T000000Z");
        let ten_years = Duration::from_secs(10 * 365 * 86_400);
        assert_eq!(since_1970(UNIX_EPOCH - ten_years), Duration::ZERO);
        assert_eq!(since_1970(UNIX_EPOCH + ten_years), ten_years);
    }
}
