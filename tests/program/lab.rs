//! docs/LAB.md against the program: every command of every exercise, as it stands there, and the ranges that the
//! document names for the figures in its output.

use crate::arena::{Arena, command, prepare};
use std::fs;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// End of a command that exits with 1, since it finds a fault.
const FINDS: &str = "  # exits 1";
/// End of a command that stays in the background.
const BESIDE: &str = " >host.txt 2>&1 &";

/// An exercise of the document.
struct Exercise {
    title: String,
    commands: Vec<String>,
    /// Figures, as the text around each and its range.
    figures: Vec<(String, RangeInclusive<f64>)>,
}

#[test]
fn every_exercise_gives_the_figures_that_it_names() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/LAB.md");
    let exercises = exercises(&fs::read_to_string(file).expect("the document"));
    assert_eq!(exercises.len(), 6);
    let complaints: Vec<String> = std::thread::scope(|scope| {
        let run = |exercise| scope.spawn(move || complaints_of_up_to_three_runs(exercise));
        let running: Vec<_> = exercises.iter().map(run).collect();
        running.into_iter().flat_map(|thread| thread.join().expect("an exercise runs")).collect()
    });
    assert!(complaints.is_empty(), "docs/LAB.md:\n{}", complaints.join("\n"));
}

#[test]
fn a_figure_outside_its_range_is_noticed() {
    let text = "p2p   60.4 [59.2, 61.7]\n12 stalls of 234 ms in total";
    assert_eq!(figure(text, "p2p #"), Some(60.4));
    assert_eq!(figure(text, "stalls of # ms in total"), Some(234.0));
    assert_eq!(figure(text, "# stalls of"), Some(12.0));
    assert_eq!(figure(text, "p2p # ms"), None);
    assert!(missed(text, "p2p #", &(60.0..=61.0)).is_none());
    assert!(
        missed(text, "p2p #", &(61.0..=62.0)).is_some() && missed(text, "relay #", &(0.0..=99.0)).is_some()
    );
}

/// Reads the exercises: under each heading that begins with a number a block of commands and a table of figures.
fn exercises(document: &str) -> Vec<Exercise> {
    let sections = document.split("\n## ").skip(1).map(|section| {
        let commands = section.split("```").nth(1).and_then(|block| block.strip_prefix("sh\n"));
        let figures = section.lines().filter_map(|line| {
            let (text, range) = line.strip_prefix("| `")?.strip_suffix(" |")?.split_once("` | ")?;
            let (from, to) = range.split_once(" to ").expect("a range");
            let [from, to] = [from, to].map(|bound| bound.parse().expect("a number"));
            Some((text.to_owned(), from..=to))
        });
        let exercise = Exercise {
            title: section.lines().next().expect("a heading").to_owned(),
            commands: commands.expect("commands").lines().map(str::to_owned).collect(),
            figures: figures.collect(),
        };
        assert!(!exercise.commands.is_empty() && exercise.figures.len() >= 2, "{}", exercise.title);
        exercise
    });
    sections.collect()
}

/// Complaints of the last of up to three runs, none if one had none: matches in real time share this machine with other
/// tests.
fn complaints_of_up_to_three_runs(exercise: &Exercise) -> Vec<String> {
    let mut last = Vec::new();
    for _ in 0..3 {
        last = complaints(exercise);
        if last.is_empty() {
            break;
        }
    }
    last
}

/// Runs the commands; says which exited with another code than announced, and which figures are not as announced.
fn complaints(exercise: &Exercise) -> Vec<String> {
    let home = tempfile::tempdir().expect("a folder");
    let (mut output, mut complaints) = (String::new(), Vec::new());
    let mut host = None;
    for line in &exercise.commands {
        if let Some(words) = line.strip_suffix(BESIDE) {
            host = Some(Arena::start(in_background(&home, words)));
            continue;
        }
        let ended = Arena::start(as_typed(&home, line, host.as_ref())).end();
        if ended.code != Some(i32::from(line.ends_with(FINDS))) {
            complaints.push(format!("{}: `{line}` ended with {ended:?}", exercise.title));
        }
        output += &ended.stdout;
    }
    if let Some(ended) = host.map(Arena::end).filter(|ended| ended.code != Some(0)) {
        complaints.push(format!("{}: the host ended with {ended:?}", exercise.title));
    }
    println!("{}\n{output}", exercise.title);
    let missed = exercise.figures.iter().filter_map(|(text, range)| missed(&output, text, range));
    complaints.extend(missed.map(|why| format!("{}: {why}", exercise.title)));
    complaints
}

/// A host at a port of its own, since other tests may use the default one.
fn in_background(home: &TempDir, line: &str) -> Command {
    let words: Vec<&str> = line.split(' ').skip(1).chain(["--port=0"]).collect();
    command(home.path(), &words)
}

/// Any other command, by the shell; `join` finds the host at its port.
fn as_typed(home: &TempDir, line: &str, host: Option<&Arena>) -> Command {
    let line = match host {
        Some(host) => line.replace("127.0.0.1", &format!("127.0.0.1:{}", host.port())),
        None => line.to_owned(),
    };
    let mut command = Command::new("sh");
    let with_program = format!("arena() {{ {:?} \"$@\"; }}\n{line}", crate::program());
    prepare(&mut command, home.path(), &["-c", &with_program]);
    command
}

/// Says how the figure in `output` is not within `range`, if so.
fn missed(output: &str, text: &str, range: &RangeInclusive<f64>) -> Option<String> {
    match figure(output, text) {
        Some(value) if range.contains(&value) => None,
        Some(value) => Some(format!("`{text}` is {value}, not {} to {}", range.start(), range.end())),
        None => Some(format!("`{text}` is not in the output:\n{output}")),
    }
}

/// The number in place of `#`, in the first line that has the text around it; blanks count as one.
fn figure(output: &str, text: &str) -> Option<f64> {
    let (before, after) = text.split_once('#').expect("a place for the number");
    output.lines().find_map(|line| {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let starts = line.match_indices(before).map(|(at, _)| &line[at + before.len()..]);
        starts.into_iter().find_map(|rest| {
            let end =
                rest.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(rest.len());
            let value = rest[..end].parse().ok()?;
            rest[end..].starts_with(after).then_some(value)
        })
    })
}
