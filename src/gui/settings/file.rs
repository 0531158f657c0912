//! The settings file: read once, written when something has changed, whole or not at all.

use anyhow::Context as _;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use super::Settings;
use crate::cli::paths;
use game::text_file::{self, TextError};

/// The largest file that is read, bytes; what the program writes is a fiftieth of it.
const BYTES_MAX: u64 = 64 * 1024;
/// How long the settings must rest until they are written, seconds: a slider moves in every frame.
const REST_S: f64 = 0.3;
const NAME: &str = "settings.toml";
/// What a file is called, behind its name, that could not be understood.
const BROKEN: &str = "broken";

/// Where the settings are kept.
pub(crate) struct SettingsFile {
    /// `None` where nothing can be kept.
    path: Option<PathBuf>,
    /// As the file has them.
    kept: Settings,
    /// What differs from the file, and since when, seconds of the window.
    changed: Option<(Settings, f64)>,
}

impl SettingsFile {
    /// Reads the settings; without a file they are the usual ones. With them comes what there is to say about a
    /// file that cannot be read or understood. The latter is set aside.
    pub(crate) fn open() -> (Self, Settings, Option<String>) {
        match paths::data_folder("") {
            Ok(folder) => Self::open_at(folder.join(NAME)),
            Err(error) => Self::without(format!("settings are not kept: {error:#}")),
        }
    }

    fn open_at(path: PathBuf) -> (Self, Settings, Option<String>) {
        let read = match read(&path) {
            Ok(read) => read,
            Err(error) => return Self::without(format!("settings are not kept: {error:#}")),
        };
        let (settings, said) = match read {
            None => (Settings::default(), None),
            Some(Ok(settings)) => (settings, None),
            Some(Err(why)) => match set_aside(&path) {
                Ok(broken) => {
                    let said =
                        format!("{why}; the settings begin anew, the file is now {}", broken.display());
                    (Settings::default(), Some(said))
                }
                Err(error) => return Self::without(format!("{why}; settings are not kept: {error:#}")),
            },
        };
        (Self { path: Some(path), kept: settings.clone(), changed: None }, settings, said)
    }

    fn without(said: String) -> (Self, Settings, Option<String>) {
        let settings = Settings::default();
        (Self { path: None, kept: settings.clone(), changed: None }, settings, Some(said))
    }

    /// Writes the settings once they differ from the file and have rested.
    ///
    /// # Errors
    /// If that fails; it is not tried again until they change once more.
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

    /// Writes the settings now, if they differ from the file.
    ///
    /// # Errors
    /// If that fails.
    pub(crate) fn write(&mut self, settings: &Settings) -> anyhow::Result<()> {
        if *settings == self.kept {
            return Ok(());
        }
        self.kept = settings.clone();
        let Some(path) = &self.path else { return Ok(()) };
        let text = toml::to_string(settings).context("settings that TOML has no words for")?;
        let folder = path.parent().unwrap_or(Path::new("."));
        let write = || -> anyhow::Result<()> {
            let mut draft = tempfile::NamedTempFile::new_in(folder)?;
            draft.write_all(text.as_bytes())?;
            draft.as_file().sync_all()?;
            draft.persist(path)?;
            Ok(())
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }
}

/// The settings in the file, or why what it has are none; `None` if there is no file.
fn read(path: &Path) -> anyhow::Result<Option<Result<Settings, String>>> {
    match text_file::read(path, BYTES_MAX) {
        Ok(text) => Ok(Some(parse(&text))),
        Err(TextError::Io(error)) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(TextError::Io(error)) => Err(error).with_context(|| format!("cannot read {}", path.display())),
        Err(error) => Ok(Some(Err(format!("{NAME} is no settings file: {error}")))),
    }
}

/// Settings, or why this text has none.
fn parse(text: &str) -> Result<Settings, String> {
    let settings: Settings =
        toml::from_str(text).map_err(|error| format!("{NAME} is broken: {}", error.message()))?;
    settings.fault().map_or(Ok(settings), |fault| Err(format!("{NAME} is broken: {fault}")))
}

fn set_aside(path: &Path) -> anyhow::Result<PathBuf> {
    let broken = path.with_added_extension(BROKEN);
    std::fs::rename(path, &broken).with_context(|| format!("cannot rename {}", path.display()))?;
    Ok(broken)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> tempfile::TempDir {
        tempfile::tempdir().expect("a folder")
    }

    #[test]
    fn what_was_set_is_there_at_the_next_start() {
        let folder = folder();
        let path = folder.path().join(NAME);
        let (mut file, mut settings, said) = SettingsFile::open_at(path.clone());
        assert_eq!((&settings, said), (&Settings::default(), None));
        settings.volumes.effects = 30;
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
    fn a_broken_file_is_set_aside_and_said_once() {
        let large = vec![b' '; BYTES_MAX as usize + 1];
        let broken: [(&[u8], &str); 8] = [
            (b"[[", "is broken"),
            (b"flashes = 3", "is broken"),
            (b"text_percent = 99", "text_percent is 99"),
            (b"frames_per_s = 3", "frames_per_s is 3"),
            (b"[volumes]\nmaster = 101", "volumes.master is 101"),
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
    fn a_file_is_read_as_an_editor_saves_it() {
        let folder = folder();
        let path = folder.path().join(NAME);
        std::fs::write(&path, "\u{feff}flashes = false\r\n\r\n[volumes]\r\nmaster = 7").expect("a file");
        let (_, settings, said) = SettingsFile::open_at(path);
        assert_eq!((settings.flashes, settings.volumes.master, said), (false, 7, None));
    }

    #[test]
    fn unknown_keys_stay_and_missing_ones_are_usual() {
        let text = "flashes = false\nhat = \"red\"\n[volumes]\nmusic = 3\n[later]\nx = 1\n";
        let settings = parse(text).expect("settings");
        assert_eq!(settings.volumes, super::super::Volumes::default());
        assert!(!settings.flashes);
        let again = toml::to_string(&settings).expect("text");
        assert!(again.contains("hat = \"red\"") && again.contains("[later]"), "{again}");
        assert_eq!(parse(&again), Ok(settings));
    }
}
