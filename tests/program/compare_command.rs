//! `arena compare` on a study that was measured before: its output, its files and its exit codes.

use crate::arena::command;
use lab::compare::{Analysis, Study, page, summarize};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// What a process left behind.
#[derive(Debug)]
struct Ended {
    code: Option<i32>,
    stdout: String,
    stderr: String,
}

/// Runs it to its end. All of its output is read while it runs: a study is more than a pipe holds.
fn run(home: &Path, words: &[&str]) -> Ended {
    let output = command(home, words).output().expect("the program runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    let stderr = text(output.stderr);
    assert!(!stderr.contains("panicked"), "{stderr}");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr }
}

impl Ended {
    fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

fn written(folder: &Path, study: &Study) -> String {
    let file = folder.join("rows.csv");
    study.write(fs::File::create(&file).expect("a file")).expect("written");
    file.to_str().expect("text").to_owned()
}

#[test]
fn a_study_is_made_again_from_its_file() {
    let home = tempfile::tempdir().expect("a folder");
    let study = crate::study::study(20);
    let file = written(home.path(), &study);
    let html = home.path().join("page.html");
    let html = html.to_str().expect("text");
    let ended = run(home.path(), &["compare", "--rebuild", &file, "--html", html, "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let first = fs::read_to_string(html).expect("a page");
    let cells = summarize(&study.rows);
    assert!(first == page(&study, &Analysis::of(&cells), Some("rows.csv")), "another page");
    let json = ended.json();
    assert_eq!(json["valid"], true);
    assert_eq!(json["seeds"], Value::from((1000..1020).collect::<Vec<_>>()));
    assert_eq!(json["environment"]["cpu"], "<b>A & B</b>");
    let findings = json["findings"].as_array().expect("a list");
    let is_base = |finding: &&Value| {
        finding["view"] == "defaults"
            && finding["sentence"].as_str().is_some_and(|text| {
                text.starts_with("At 100 ms RTT and 2 % loss, the opponent's order is confirmed")
                    && text.contains("in p2p than in client-server (20 updates/s, server half-way)")
            })
    };
    assert_eq!(findings.iter().filter(is_base).count(), 1, "{findings:#?}");
    let cells = json["cells"].as_array().expect("a list");
    let is_base = |cell: &&Value| {
        cell["view"] == "defaults"
            && cell["architecture"] == "client-server"
            && cell["topology"] == "midway"
            && cell["preset"].is_null()
            && cell["prediction"] == true
            && cell["mixed"] == false
            && cell["updates"] == 20
            && cell["players"] == 2
            && cell["rtt_ms"] == 100.0
            && cell["loss"] == 0.02
            && cell["units"] == 14
    };
    let base = cells.iter().find(is_base).expect("the base");
    for (key, value) in [("interpolation", 2.0), ("jitter_ms", 5.0), ("updates", 20.0), ("matches", 20.0)] {
        assert_eq!(base[key].as_f64(), Some(value), "{key}");
    }
    let bound = base["bound_ms"].as_f64().expect("a bound");
    assert!((bound - 58.333).abs() < 0.001, "{bound}");
    assert!((base["own_bound_ms"].as_f64().expect("a bound") - 58.333).abs() < 0.001);
    for key in ["own_ms", "own_predicted_ms", "opponent_ms"] {
        let [p50, p95, p99] = ["p50", "p95", "p99"].map(|share| base[key][share].as_f64().expect("measured"));
        assert!(p50 <= p95 && p95 <= p99, "{base}");
    }
    for key in ["stall_ms_per_s", "corrections_per_min", "kbit_s_up", "kbit_s_down"] {
        assert!(base[key].is_number(), "no {key}");
    }
}

#[test]
fn the_tables_come_with_their_findings() {
    let home = tempfile::tempdir().expect("a folder");
    let file = written(home.path(), &crate::study::study(4));
    let ended = run(home.path(), &["compare", "--rebuild", &file]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for text in [
        "Latency and traffic",
        "One bad link",
        "client-server 20/s, midway",
        "opponent in a frame, ms",
        "sooner in p2p than in client-server",
        "p-values adjusted for all their tests in one family (Holm)",
        "valid: all",
    ] {
        assert!(ended.stdout.contains(text), "no {text:?} in {}", ended.stdout);
    }
}

/// A file of the program with these words, in `home`.
fn csv_of(home: &Path, name: &str, words: &[&str]) -> String {
    let file = home.join(name).to_str().expect("text").to_owned();
    let words: Vec<&str> = ["compare", "--csv", &file].into_iter().chain(words.iter().copied()).collect();
    let ended = run(home, &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    file
}

#[test]
fn all_shards_are_the_whole_study_to_the_byte() {
    let home = tempfile::tempdir().expect("a folder");
    let played = ["--quick", "--view", "host-lost", "--seeds", "1"];
    let whole = csv_of(home.path(), "whole.csv", &played);
    // Fewer matches than shards leave some without any.
    csv_of(home.path(), "none", &[&played[..], &["--shard", "99/100"]].concat());
    let shards: Vec<String> = ["0/3", "1/3", "2/3"]
        .into_iter()
        .map(|shard| {
            csv_of(home.path(), &shard.replace('/', "-"), &[&played[..], &["--shard", shard]].concat())
        })
        .collect();
    let merged = home.path().join("merged.csv").to_str().expect("text").to_owned();
    let words = ["compare", "--rebuild", &shards[2], &shards[0], &shards[1], "--csv", &merged];
    let ended = run(home.path(), &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stdout.contains("Not to be cited: a quick study"), "{ended:?}");
    assert!(fs::read(&merged).expect("a file") == fs::read(&whole).expect("a file"), "another file");
    // A missing shard, the same shard twice, and a shard beside a whole study are refused.
    let missing = ["compare", "--rebuild", &shards[0], &shards[1]];
    let twice = ["compare", "--rebuild", &shards[0], &shards[0], &shards[2]];
    let mixed = ["compare", "--rebuild", &shards[0], &whole];
    for (words, says) in [(&missing[..], "exactly once"), (&twice, "exactly once"), (&mixed, "a whole study")]
    {
        let ended = run(home.path(), words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
        assert!(ended.stderr.contains(says), "{ended:?}");
    }
    let ended = run(home.path(), &["compare", "--rebuild", &shards[0], "--json"]);
    let said = ended.json()["not_to_be_cited"].as_str().expect("a sentence").to_owned();
    assert!(said.contains("Not to be cited"), "{said}");
}

#[test]
fn a_study_of_ones_own_cells_continues_after_an_interruption() {
    let home = tempfile::tempdir().expect("a folder");
    let words = ["--quick", "--seeds=2", "--cell=rtt=20,loss=2,players=3", "--cell=upstream=48"];
    let again = [&words[..], &["--resume"]].concat();
    let csv =
        |name: &str, words: &[&str]| fs::read_to_string(csv_of(home.path(), name, words)).expect("a table");
    let whole = csv("whole.csv", &words);
    let matches = |text: &str| text.lines().filter(|line| line.starts_with("virtual,")).count();
    assert_eq!(matches(&whole), 12, "two cells, three architectures, two seeds");
    // What the program leaves behind when it is stopped: some of the matches, in another order, and half a line.
    let file = home.path().join("part.csv");
    let (rows, head): (Vec<&str>, Vec<&str>) = whole.lines().partition(|line| line.starts_with("virtual,"));
    let half = &rows[7][..100];
    let part = [head[..2].join("\n"), "# unfinished: yes".into(), head[2..].join("\n")].join("\n");
    let part = format!("{part}\n{}\n{}\n{}\n{half}", rows[5], rows[0], rows[11]);
    fs::write(&file, &part).expect("written");
    assert!(csv("part.csv", &again) == whole, "another file");
    // Nothing is left to play, and without a file all is.
    assert!(csv("part.csv", &again) == whole, "another file");
    assert!(csv("new.csv", &again) == whole, "another file");
    let name = file.to_str().expect("text");
    let other = run(home.path(), &["compare", "--quick", "--cell=rtt=20", "--csv", name, "--resume"]);
    assert_eq!(other.code, Some(2), "{other:?}");
    assert!(other.stderr.contains("another study") && other.stderr.lines().count() == 1, "{other:?}");
    assert!(fs::read_to_string(&file).expect("a table") == whole, "its file is left alone");
}

#[test]
fn every_order_has_a_line() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("orders.csv");
    let name = file.to_str().expect("text");
    let words = ["--quick", "--seeds=1", "--cell=rtt=20", "--orders", name];
    let csv = fs::read_to_string(csv_of(home.path(), "rows.csv", &words)).expect("a table");
    let orders = fs::read_to_string(&file).expect("a table");
    let table = |text: &str| -> Vec<Vec<String>> {
        let rows = text.lines().filter(|line| !line.starts_with('#'));
        rows.map(|line| line.split(',').map(str::to_owned).collect()).collect()
    };
    let (rows, orders) = (table(&csv), table(&orders));
    let at = |table: &[Vec<String>], name: &str| {
        table[0].iter().position(|column| column == name).unwrap_or_else(|| panic!("no column {name}"))
    };
    let (architecture, commands) = (at(&rows, "architecture"), at(&rows, "commands"));
    let (of, confirmed) =
        (at(&orders, "architecture"), [at(&orders, "confirmed_ms_0"), at(&orders, "confirmed_ms_1")]);
    for row in &rows[1..] {
        let mine: Vec<_> = orders[1..].iter().filter(|order| order[of] == row[architecture]).collect();
        assert_eq!(mine.len().to_string(), row[commands], "{}", row[architecture]);
        assert!(mine.iter().all(|order| order.len() == orders[0].len()));
        assert!(
            mine.iter().flat_map(|order| confirmed.map(|at| &order[at])).all(|ms| ms.parse::<f64>().is_ok())
        );
    }
    // They come in the same order however many are played at once.
    csv_of(home.path(), "rows.csv", &[&words[..], &["--jobs=1"]].concat());
    assert_eq!(table(&fs::read_to_string(&file).expect("a table")), orders);
}

#[test]
fn a_match_of_two_studies_counts_once_if_it_is_the_same() {
    let home = tempfile::tempdir().expect("a folder");
    let (few, mut more) = (crate::study::study(2), crate::study::study(3));
    let named = |name: &str, study: &Study| {
        let file = home.path().join(name).to_str().expect("text").to_owned();
        study.write(fs::File::create(&file).expect("a file")).expect("written");
        file
    };
    let (few, whole) = (named("few", &few), named("whole", &more));
    let merged = home.path().join("merged").to_str().expect("text").to_owned();
    let ended = run(home.path(), &["compare", "--rebuild", &few, &whole, "--csv", &merged]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let lines = |file: &str| {
        let text = fs::read_to_string(file).expect("a file");
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.sort();
        lines
    };
    assert_eq!(lines(&merged), lines(&whole));
    more.rows[0].bytes_lost += 1;
    let other = named("other", &more);
    let ended = run(home.path(), &["compare", "--rebuild", &few, &other]);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{ended:?}");
    assert!(ended.stderr.contains("two of these files differ in"), "{ended:?}");
}

#[test]
fn a_study_that_cannot_be_believed_ends_with_1() {
    let home = tempfile::tempdir().expect("a folder");
    let mut study = crate::study::study(2);
    study.rows[3].bytes_lost += 1;
    let file = written(home.path(), &study);
    let ended = run(home.path(), &["compare", "--rebuild", &file, "--json"]);
    assert_eq!((ended.code, &ended.json()["valid"]), (Some(1), &Value::Bool(false)));
    let ended = run(home.path(), &["compare", "--rebuild", &file]);
    assert_eq!(ended.code, Some(1));
    assert!(ended.stdout.contains("bytes fails 1 of") && ended.stdout.contains("seed 1001"), "{ended:?}");
}

#[test]
fn wrong_use_and_broken_files_are_one_line_and_2() {
    let home = tempfile::tempdir().expect("a folder");
    let file = |name: &str, text: &str| -> String {
        let path: PathBuf = home.path().join(name);
        fs::write(&path, text).expect("written");
        path.to_str().expect("text").to_owned()
    };
    let mut rows = Vec::new();
    crate::study::study(1).write(&mut rows).expect("memory");
    let rows = String::from_utf8(rows).expect("text");
    let broken = file("broken.csv", &rows.replacen(",midway,", ",nowhere,", 1));
    let old = file("old.csv", &rows.replacen(",repeat_updates,", ",", 1));
    let cut = file("cut.csv", &rows[..rows.len() - 30]);
    let empty = file("empty.csv", "");
    let none = home.path().join("none.csv");
    let none = none.to_str().expect("text");
    let good = file("good.csv", &rows);
    let traced = format!("trace={}", file("link.csv", "0,20\nlost\n"));
    let folder = home.path().to_str().expect("text");
    for (words, says) in [
        (vec!["--rebuild", &broken], "nowhere"),
        (vec!["--rebuild", &cut], "cut.csv"),
        (vec!["--rebuild", &old], "it has no column repeat_updates"),
        (vec!["--rebuild", &empty], "there are no matches in it"),
        (vec!["--rebuild", none], "none.csv"),
        (vec!["--rebuild", &good, "--html", folder], "cannot write"),
        (vec!["--rebuild", &good, "--quick"], "--quick"),
        (vec!["--quick", "--full"], "--full"),
        (vec!["--rebuild", &good, "--real"], "--real"),
        (vec!["--from", &empty], "empty.csv"),
        (vec!["--seeds", "0"], "--seeds"),
        (vec!["--link", "delay=5ms"], "trace=FILE"),
        (vec!["--quick", "--link", &traced], "line 2 is not"),
    ] {
        let words: Vec<&str> = ["compare"].into_iter().chain(words).collect();
        let ended = run(home.path(), &words);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(2), ""), "{words:?}: {ended:?}");
        assert!(ended.stderr.lines().count() == 1 && ended.stderr.contains(says), "{words:?}: {ended:?}");
    }
}

#[test]
fn the_tables_are_files() {
    let home = tempfile::tempdir().expect("a folder");
    let rows = written(home.path(), &crate::study::study(8));
    let folder = home.path().join("tables");
    let words = ["compare", "--rebuild", &rows, "--tables", folder.to_str().expect("text")];
    assert_eq!(run(home.path(), &words).code, Some(0));
    let table =
        |name: &str| fs::read_to_string(folder.join(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
    let played = ["run", "answer", "base", "grid", "presets", "factors", "one-bad-link", "outcome", "seats"];
    let mut files: Vec<String> = fs::read_dir(&folder)
        .expect("a folder")
        .map(|file| file.expect("a file").file_name().into_string().expect("text"))
        .collect();
    files.sort();
    let mut expected = played.map(|name| format!("{name}.md"));
    expected.sort();
    // What was not played, such as real processes, has no table.
    assert_eq!(files, expected);
    assert!(table("base.md").starts_with("# The base case\n\n| link | architecture |"));
    assert!(table("base.md").contains("| 100 ms RTT and 2 % loss | client-server 20/s, midway |"));
    assert!(table("run.md").contains("valid"));
    let shown = "| opponent shown, ms | opponent in a frame, ms | opponent in a frame p95, ms |";
    assert!(
        ["base", "grid", "presets", "factors"]
            .iter()
            .all(|name| table(&format!("{name}.md")).contains(shown))
    );
}

#[test]
fn the_comparison_names_only_figures_that_there_are() {
    let home = tempfile::tempdir().expect("a folder");
    // As many matches as what latency decides is drawn from.
    let mut study = crate::study::study(100);
    study.rows.extend(crate::study::armies());
    let rows = written(home.path(), &study);
    let [figures, tables] =
        ["figures", "tables"].map(|name| home.path().join(name).to_str().expect("text").to_owned());
    let words = ["compare", "--rebuild", &rows, "--figures", &figures, "--tables", &tables];
    let ended = run(home.path(), &words);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let scale = fs::read_to_string(Path::new(&tables).join("scale.md")).expect("a table");
    assert!(scale.contains("with 1000 units and no prediction | client-server"), "{scale}");
    let page =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/COMPARISON.md")).expect("a page");
    assert!(page.len() <= 16 * 1024, "{} bytes", page.len());
    let named: Vec<&str> = page
        .split("](comparison/figure-")
        .skip(1)
        .map(|rest| rest.split_once(')').expect("the end of a link").0)
        .collect();
    assert!(named.len() >= 3, "{named:?}");
    for rest in named {
        let name = format!("figure-{rest}");
        let kept = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/docs/comparison")).join(&name);
        assert!(kept.exists() && Path::new(&figures).join(&name).exists(), "{name}");
    }
}
