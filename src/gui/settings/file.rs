//! The settings file: read once, written after a change.

use anyhow::Context as _;
use std::path::PathBuf;

use super::Settings;
use crate::cli::paths;
use game::KeptFile;

/// Maximum size of the file, in bytes; the program's own is a fiftieth of it.
const BYTES_MAX: u64 = 64 * 1024;
/// Delay after the last change before the file is written, in seconds: dragging a slider changes a setting in every
/// frame.
const REST_S: f64 = 0.3;
const NAME: &str = "settings.toml";

/// Storage of the settings.
pub(crate) struct SettingsFile {
    file: KeptFile,
    /// Settings in the file.
    kept: Settings,
    /// Settings that differ from the file, and the time of the change, in seconds since the window opened.
    changed: Option<(Settings, f64)>,
}

impl SettingsFile {
    /// Reads the settings; without a valid file, returns the defaults. Also returns a warning if the file is broken or
    /// cannot be read.
    pub(crate) fn open() -> (Self, Settings, Option<String>) {
        match paths::data_folder("") {
            Ok(folder) => Self::open_at(folder.join(NAME)),
            Err(error) => {
                let said = format!("{NAME} is not kept: {error:#}");
                Self::with(KeptFile::nowhere(), None, Some(said))
            }
        }
    }

    fn open_at(path: PathBuf) -> (Self, Settings, Option<String>) {
        let (file, settings, said) = KeptFile::open(path, BYTES_MAX, parse);
        Self::with(file, settings, said)
    }

    fn with(
        file: KeptFile,
        settings: Option<Settings>,
        said: Option<String>,
    ) -> (Self, Settings, Option<String>) {
        let settings = settings.unwrap_or_default();
        (Self { file, kept: settings.clone(), changed: None }, settings, said)
    }

    /// Writes the settings if they differ from the file and have not changed for a while.
    ///
    /// # Errors
    /// If writing fails; it is not tried again until the next change.
    pub(crate) fn keep(&mut self, settings: &Settings, now: f64) -> anyhow::Result<()> {
        if *settings == self.kept {
            self.changed = None;
            return Ok(());
        }
        match &self.changed {
            Some((changed, since)) if changed == settings => {
                if now - since < REST_S {
                    Ok(())
                } else {
                    self.write(settings)
                }
            }
            _ => {
                self.changed = Some((settings.clone(), now));
                Ok(())
            }
        }
    }

    /// Writes the settings immediately, if they differ from the file.
    ///
    /// # Errors
    /// If writing fails.
    pub(crate) fn write(&mut self, settings: &Settings) -> anyhow::Result<()> {
        if *settings == self.kept {
            return Ok(());
        }
        self.kept = settings.clone();
        let text = toml::to_string(settings).context("settings cannot be represented in TOML")?;
        Ok(self.file.write(&text)?)
    }
}

/// Parses settings, or says why they are invalid.
fn parse(text: &str) -> Result<Settings, String> {
    let settings: Settings = toml::from_str(text).map_err(|error| error.message().to_owned())?;
    settings.fault().map_or(Ok(settings), Err)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn settings_survive_a_restart() {
        let folder = folder();
        let path = folder.path().join(NAME);
        let (mut file, mut settings, said) = SettingsFile::open_at(path.clone());
        assert_eq!((&settings, said), (&Settings::default(), None));
        settings.volumes.effects = 30;
        settings.volumes.music = 40;
        settings.music = false;
        settings.text_percent = 125;
        settings.you.name = "Ann".into();
        file.keep(&settings, 1.0).expect("nothing is written yet");
        file.keep(&settings, 1.0 + REST_S / 2.0).expect("nor now");
        assert!(!path.exists(), "it has not rested");
        file.keep(&settings, 1.0 + REST_S).expect("a file");
        assert_eq!(SettingsFile::open_at(path.clone()).1, settings);
        settings.has_won = true;
        file.write(&settings).expect("a file");
        assert_eq!(SettingsFile::open_at(path).1, settings);
        assert_eq!(std::fs::read_dir(folder.path()).expect("readable").count(), 1, "no drafts are left");
    }

    #[test]
    fn an_invalid_file_is_renamed_and_reported_once() {
        let large = vec![b' '; BYTES_MAX as usize + 1];
        let broken: [(&[u8], &str); 8] = [
            (b"[[", "is broken"),
            (b"flashes = 3", "is broken"),
            (b"text_percent = 99", "text_percent is 99"),
            (b"frames_per_s = 3", "frames_per_s is 3"),
            (b"[volumes]\nmusic = 101", "volumes.music is 101"),
            (b"\xff", "is not UTF-8"),
            (b"f\0l\0", "is UTF-16"),
            (&large, "more than"),
        ];
        for (bytes, why) in broken {
            let folder = folder();
            let path = folder.path().join(NAME);
            std::fs::write(&path, bytes).expect("a file");
            let (mut file, settings, said) = SettingsFile::open_at(path.clone());
            assert!(said.as_ref().is_some_and(|said| said.contains(why)), "{why}: {said:?}");
            assert_eq!(settings, Settings::default());
            let kept = std::fs::read(folder.path().join("settings.toml.broken"));
            assert_eq!(kept.expect("set aside"), bytes);
            let (_, _, said) = SettingsFile::open_at(path);
            assert_eq!(said, None, "once");
            file.write(&Settings { has_won: true, ..settings }).expect("a new file");
        }
    }

    #[test]
    fn files_saved_by_editors_are_read() {
        let folder = folder();
        let path = folder.path().join(NAME);
        std::fs::write(&path, "\u{feff}flashes = false\r\n\r\n[volumes]\r\nmaster = 7").expect("a file");
        let (_, settings, said) = SettingsFile::open_at(path);
        assert_eq!((settings.flashes, settings.volumes.master, said), (false, 7, None));
    }

    #[test]
    fn unknown_keys_are_kept_and_missing_ones_have_defaults() {
        let text = "flashes = false\nhat = \"red\"\n[volumes]\necho = 3\n[later]\nx = 1\n";
        let settings = parse(text).expect("settings");
        assert_eq!(settings.volumes, super::super::Volumes::default());
        assert!(!settings.flashes);
        let again = toml::to_string(&settings).expect("text");
        assert!(again.contains("hat = \"red\"") && again.contains("[later]"), "{again}");
        assert_eq!(parse(&again), Ok(settings));
    }
}
