//! docs/RELIABILITY.md names a test for every attack and every fault: each of them exists.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// All sources below a folder, one after the other.
fn sources(folder: &Path) -> String {
    let entries = fs::read_dir(folder).expect("readable").map(|entry| entry.expect("readable").path());
    let text = |path: std::path::PathBuf| match path.extension() {
        _ if path.is_dir() => sources(&path),
        Some(extension) if extension == "rs" => fs::read_to_string(&path).expect("text"),
        _ => String::new(),
    };
    entries.map(text).collect()
}

/// Every function below a `#[test]`; those of `proptest!` have arguments.
fn tests() -> BTreeSet<String> {
    let home = Path::new(env!("CARGO_MANIFEST_DIR"));
    let sources = ["src", "tests"].map(|folder| sources(&home.join(folder))).concat();
    let lines: Vec<&str> = sources.lines().map(str::trim).collect();
    let names = lines.windows(2).filter(|two| two[0] == "#[test]");
    names.filter_map(|two| Some(two[1].strip_prefix("fn ")?.split_once('(')?.0.to_owned())).collect()
}

/// How many rows name tests in their last column, and the names that are no test.
fn rows_and_missing(document: &str) -> (usize, Vec<&str>) {
    let tests = tests();
    let rows = document.lines().filter_map(|line| line.strip_suffix("` |")?.rsplit_once("| `"));
    let columns: Vec<&str> = rows.map(|(_, column)| column).collect();
    let names = columns.iter().flat_map(|column| column.split("`, `"));
    (columns.len(), names.filter(|&name| !tests.contains(name)).collect())
}

#[test]
fn every_test_that_the_document_names_exists() {
    let document = include_str!("../../docs/RELIABILITY.md");
    let (rows, missing) = rows_and_missing(document);
    assert_eq!((rows > 100, missing), (true, Vec::new()));
    // In one row it is the only name, in another the second of three.
    let renamed = document.replace("far_ahead", "far_behind");
    assert_eq!(rows_and_missing(&renamed).1, ["a_packet_number_far_behind_does_not_close_a_link"; 2]);
}
