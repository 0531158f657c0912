//! A small file that the program keeps for its user: read once, written as a whole or not at all, set aside when it is
//! broken.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::text_file::{self, TextError};

/// Suffix of the name of a broken file.
const BROKEN: &str = "broken";

/// Place of a kept file.
#[derive(Debug)]
pub struct KeptFile {
    /// Path; `None` where nothing can be kept.
    path: Option<PathBuf>,
}

impl KeptFile {
    /// Reads the file, of at most `most` bytes. Returns what `parse` makes of it, `None` without a file, and a warning
    /// if there is one. A file that is no text or that `parse` refuses is renamed; an unreadable file stays as it is, and
    /// is not written.
    pub fn open<T>(
        path: PathBuf,
        most: u64,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> (Self, Option<T>, Option<String>) {
        let name = path.file_name().unwrap_or_default().display().to_string();
        let read = match text_file::read(&path, most) {
            Ok(text) => parse(&text),
            Err(TextError::Io(error)) if error.kind() == io::ErrorKind::NotFound => {
                return (Self { path: Some(path) }, None, None);
            }
            Err(TextError::Io(error)) => {
                let said = format!("{name} is not kept: cannot read {}: {error}", path.display());
                return (Self::nowhere(), None, Some(said));
            }
            Err(error) => Err(error.to_string()),
        };
        let why = match read {
            Ok(content) => return (Self { path: Some(path) }, Some(content), None),
            Err(why) => format!("{name} is broken: {why}"),
        };
        let aside = path.with_added_extension(BROKEN);
        match std::fs::rename(&path, &aside) {
            Ok(()) => {
                let said = format!("{why}; the file is now {}, and a new one begins", aside.display());
                (Self { path: Some(path) }, None, Some(said))
            }
            Err(error) => {
                let said = format!("{why}; it is not kept: cannot rename {}: {error}", path.display());
                (Self::nowhere(), None, Some(said))
            }
        }
    }

    /// Returns the place of a file that cannot be kept.
    #[must_use]
    pub const fn nowhere() -> Self {
        Self { path: None }
    }

    /// Writes the file, unless it cannot be kept.
    ///
    /// # Errors
    /// If writing fails.
    pub fn write(&self, text: &str) -> io::Result<()> {
        let Some(path) = &self.path else { return Ok(()) };
        let write = || -> io::Result<()> {
            let mut draft = tempfile::NamedTempFile::new_in(path.parent().unwrap_or(Path::new(".")))?;
            draft.write_all(text.as_bytes())?;
            draft.as_file().sync_all()?;
            draft.persist(path)?;
            Ok(())
        };
        write().map_err(|error| {
            io::Error::new(error.kind(), format!("cannot write {}: {error}", path.display()))
        })
    }
}
