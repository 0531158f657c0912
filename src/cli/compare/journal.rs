//! Files that a study writes while it runs: the row of each finished match, and its commands.

use anyhow::Context as _;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::super::console;
use lab::compare::{MatchRow, Played, Study, write_order_names, write_orders, write_row};

/// Growing files of a study. The first error of each closes that file; the study continues.
pub(super) struct Journal {
    rows: Option<Mutex<Growing>>,
    orders: Option<Mutex<OrderFile>>,
}

/// Writes a study and leaves its file open. An existing file is replaced only when the new one is complete.
pub(super) fn write_study(path: &Path, study: &Study) -> anyhow::Result<BufWriter<File>> {
    let is_file = std::fs::symlink_metadata(path).is_ok_and(|at| at.is_file());
    let draft = path.with_added_extension("part");
    let mut file = BufWriter::new(File::create(if is_file { &draft } else { path })?);
    study.write(&mut file)?;
    file.flush()?;
    if is_file {
        std::fs::rename(&draft, path)?;
    }
    Ok(file)
}

/// Growing file.
struct Growing {
    path: PathBuf,
    /// File; `None` after an error.
    file: Option<BufWriter<File>>,
}

/// Commands of each match, in the order in which matches begin, regardless of the order in which they end.
struct OrderFile {
    to: Growing,
    next: usize,
    waiting: BTreeMap<usize, Vec<u8>>,
}

impl Journal {
    /// Creates the files; that of the rows starts with those of `known`, as an unfinished study.
    pub(super) fn begin(
        rows: Option<&Path>,
        orders: Option<&Path>,
        environment: &[(String, String)],
        known: &[MatchRow],
    ) -> anyhow::Result<Self> {
        let begin_rows = |path: &Path| -> anyhow::Result<Mutex<Growing>> {
            let environment = environment.iter().cloned().chain([Study::unfinished()]).collect();
            let file = write_study(path, &Study::new(environment, known.to_vec())?)?;
            Ok(Mutex::new(Growing { path: path.to_owned(), file: Some(file) }))
        };
        let begin_orders = |path: &Path| -> anyhow::Result<Mutex<OrderFile>> {
            let mut file = BufWriter::new(File::create(path)?);
            write_order_names(&mut file)?;
            let to = Growing { path: path.to_owned(), file: Some(file) };
            Ok(Mutex::new(OrderFile { to, next: 0, waiting: BTreeMap::new() }))
        };
        let context = |path: &Path| format!("cannot write {}", path.display());
        Ok(Self {
            rows: rows.map(|path| begin_rows(path).with_context(|| context(path))).transpose()?,
            orders: orders.map(|path| begin_orders(path).with_context(|| context(path))).transpose()?,
        })
    }

    /// Records a finished match.
    pub(super) fn note(&self, played: &Played<'_>) {
        if let Some(rows) = &self.rows {
            let mut rows = rows.lock().unwrap_or_else(PoisonError::into_inner);
            // A later run continues from the file's contents at the time the program is stopped.
            rows.write(|file| {
                write_row(&mut *file, played.row)?;
                Ok(file.flush()?)
            });
        }
        if let Some(orders) = &self.orders {
            orders.lock().unwrap_or_else(PoisonError::into_inner).note(played);
        }
    }

    /// Writes the remaining commands.
    pub(super) fn end(self) {
        if let Some(orders) = self.orders {
            let mut orders = orders.into_inner().unwrap_or_else(PoisonError::into_inner);
            orders.to.write(|file| Ok(file.flush()?));
        }
    }
}

impl Growing {
    fn write(&mut self, write: impl FnOnce(&mut BufWriter<File>) -> anyhow::Result<()>) {
        let Some(file) = &mut self.file else { return };
        if let Err(error) = write(file) {
            console::not_written(format_args!("{}: {error:#}", self.path.display()));
            self.file = None;
        }
    }
}

impl OrderFile {
    fn note(&mut self, played: &Played<'_>) {
        let mut lines = Vec::new();
        if let Err(error) = write_orders(&mut lines, &played.row.cell, played.orders) {
            console::not_written(format_args!("{}: {error}", self.to.path.display()));
        }
        self.waiting.insert(played.number, lines);
        while let Some(lines) = self.waiting.remove(&self.next) {
            self.next += 1;
            self.to.write(|file| Ok(file.write_all(&lines)?));
        }
    }
}
