//! `arena compare`.

mod environment;
mod journal;
mod report;
mod tables;

use anyhow::Context as _;
use std::fs::OpenOptions;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use self::journal::Journal;
use super::args::CompareArguments;
use super::console::{self, found, print, progress_of_parts};
use game::phrase::counted;
use game::text_file;
use lab::compare::{
    Analysis, LinkTrace, MatchRow, RealOptions, RealStudy, Recorded, STUDY_BYTES_MAX, Size, Study,
    StudyOptions, TRACE_BYTES_MAX, figure_files, page, real, study, summarize,
};
use replay::Replay;
use sim::Tick;

/// Plays the study, or reads its file, and prints the results.
pub(crate) fn run(arguments: &CompareArguments) -> anyhow::Result<ExitCode> {
    for file in [&arguments.csv, &arguments.html, &arguments.orders].into_iter().flatten() {
        check_writable(file)?;
    }
    let study = if arguments.rebuild.is_empty() {
        play(arguments)?
    } else {
        let parts = arguments.rebuild.iter().map(|file| read(file)).collect::<anyhow::Result<Vec<_>>>()?;
        Study::merge(parts).context("cannot combine these files into one study")?
    };
    if let Some(file) = &arguments.csv {
        console::wrote(file, journal::write_study(file, &study).map(drop));
    }
    if let Some(shard) = arguments.shard {
        outln!("shard {shard}: {}", counted(study.rows.len(), "match", "matches"));
        return Ok(ExitCode::SUCCESS);
    }
    let cells = summarize(&study.rows);
    let analysis = Analysis::of(&cells);
    if let Some(file) = &arguments.html {
        let csv = rows_beside(arguments, file);
        console::wrote(file, std::fs::write(file, page(&study, &analysis, csv.as_deref())));
    }
    let write_into = |folder: &Path, files: Vec<(String, String)>| {
        let write = || -> std::io::Result<()> {
            std::fs::create_dir_all(folder)?;
            files.iter().try_for_each(|(name, content)| std::fs::write(folder.join(name), content))
        };
        console::wrote(folder, write());
    };
    if let Some(folder) = &arguments.figures {
        write_into(folder, figure_files(&analysis));
    }
    if let Some(folder) = &arguments.tables {
        write_into(folder, tables::table_files(&study, &analysis));
    }
    print(arguments.json, || report::as_json(&study, &analysis), || report::as_text(&study, &analysis));
    Ok(found(!analysis.is_valid()))
}

/// Returns the name of the row file if it is in the folder of the page: a relative link survives moving both.
fn rows_beside(arguments: &CompareArguments, page: &Path) -> Option<String> {
    let rebuilt = || if let [only] = &arguments.rebuild[..] { Some(only) } else { None };
    let file = arguments.csv.as_ref().or_else(rebuilt)?;
    let folder = |file: &Path| file.parent().map(|folder| folder.canonicalize().ok());
    let is_beside = folder(file) == folder(page) || file.parent() == page.parent();
    is_beside.then(|| file.file_name()?.to_str().map(str::to_owned)).flatten()
}

fn read(file: &Path) -> anyhow::Result<Study> {
    let read = || -> anyhow::Result<Study> { Ok(Study::read(&text_file::read(file, STUDY_BYTES_MAX)?)?) };
    read().with_context(|| format!("cannot read a study from {}", file.display()))
}

fn play(arguments: &CompareArguments) -> anyhow::Result<Study> {
    let size = match (arguments.quick, arguments.full) {
        (true, _) => Size::Quick,
        (_, true) => Size::Full,
        _ => Size::Default,
    };
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let options = StudyOptions {
        size,
        seeds: arguments.seeds,
        jobs: arguments.jobs.map_or(cores, usize::from),
        most: None,
        trace: arguments.link.as_deref().map(trace).transpose()?,
        experiments: arguments.view.iter().map(|&view| view.into()).collect(),
        shard: arguments.shard.unwrap_or_default(),
        recorded: arguments.from.as_deref().map(recorded).transpose()?,
        cells: arguments.cell.clone(),
        known: Vec::new(),
    };
    let load_before = environment::load();
    let facts = environment::facts(arguments, size, &load_before, None);
    let known = if arguments.resume { known(arguments.csv.as_deref(), &facts)? } else { Vec::new() };
    let journal = Journal::begin(arguments.csv.as_deref(), arguments.orders.as_deref(), &facts, &known)?;
    let options = StudyOptions { known, ..options };
    let (bar, progress) = progress_of_parts("{bar:40} match {pos}/{len}, {eta} left");
    let mut rows = study(&options, progress, |played| journal.note(played))?;
    bar.finish_and_clear();
    journal.end();
    let mut repeated = None;
    if arguments.real {
        let real = play_real(arguments, &options)?;
        rows.extend(real.rows);
        repeated = Some(real.repeated);
    }
    let environment = environment::facts(arguments, size, &load_before, repeated);
    Ok(Study::new(environment, rows)?)
}

/// Reads the rows of an unfinished study; none if there is no file.
fn known(file: Option<&Path>, facts: &[(String, String)]) -> anyhow::Result<Vec<MatchRow>> {
    let Some(file) = file.filter(|file| std::fs::metadata(file).is_ok_and(|file| file.len() > 0)) else {
        return Ok(Vec::new());
    };
    let read = || -> anyhow::Result<Vec<MatchRow>> {
        let mut bytes = std::fs::read(file)?;
        // The program may have been stopped in the middle of a line.
        bytes.truncate(bytes.iter().rposition(|&byte| byte == b'\n').map_or(0, |last| last + 1));
        Ok(Study::read(&text_file::decode(bytes)?)?.rows_for(facts)?)
    };
    read().with_context(|| {
        format!("cannot continue the study in {}; leave --resume out to start over", file.display())
    })
}

/// Plays matches between processes, in addition to the virtual ones.
fn play_real(arguments: &CompareArguments, options: &StudyOptions) -> anyhow::Result<RealStudy> {
    let folder = tempfile::tempdir().context("cannot create a folder for traces")?;
    let real_options = RealOptions {
        program: std::env::current_exe().context("cannot find this program's own file")?,
        size: options.size,
        seeds: arguments.seeds,
        jobs: options.jobs,
        folder: folder.path().to_owned(),
    };
    let (bar, progress) = progress_of_parts("{bar:40} real match {pos}/{len}, {eta} left");
    let study = real(&real_options, progress)?;
    bar.finish_and_clear();
    Ok(study)
}

fn trace(file: &Path) -> anyhow::Result<Arc<LinkTrace>> {
    let read =
        || -> anyhow::Result<LinkTrace> { Ok(LinkTrace::read(&text_file::read(file, TRACE_BYTES_MAX)?)?) };
    read().map(Arc::new).with_context(|| format!("cannot read the link in {}", file.display()))
}

fn recorded(file: &Path) -> anyhow::Result<Recorded> {
    let read = || -> anyhow::Result<Recorded> {
        let replay = Replay::open(file)?;
        // Its commands refer to units that a match does not begin with.
        anyhow::ensure!(
            replay.begins() == Tick(0),
            "it is a part of a match, from tick {} on",
            replay.begins()
        );
        Ok(Recorded::read(replay)?)
    };
    read().with_context(|| format!("cannot use the commands of {}", file.display()))
}

/// Checks before the study that a file can be written. Keeps its contents.
fn check_writable(file: &Path) -> anyhow::Result<()> {
    let opened = OpenOptions::new().write(true).create(true).truncate(false).open(file);
    opened.map(drop).with_context(|| format!("cannot write {}", file.display()))
}
