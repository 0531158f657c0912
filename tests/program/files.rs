//! Files as other people's machines have them: names that are no Unicode, texts as editors save them.

use serde_json::Value;
use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::arena::{Arena, Ended, command, fails, run};

const REPLAY: &str = "replays/seed7-600.mra";

/// A folder whose name is no Unicode.
struct Folder(tempfile::TempDir);

impl Folder {
    fn new() -> Self {
        Self(tempfile::Builder::new().prefix(OsStr::from_bytes(b"arena\xff")).tempdir().expect("a folder"))
    }

    /// A file in it, whose name is none either.
    fn file(&self, name: &str, ending: &str) -> PathBuf {
        let name = [name.as_bytes(), b"\xfe\xff.", ending.as_bytes()].concat();
        self.0.path().join(OsStr::from_bytes(&name))
    }

    /// Output of a successful run of `arena` with words that may be such names.
    fn run(&self, words: &[&dyn AsRef<OsStr>]) -> Ended {
        let mut command = command(self.0.path(), &[]);
        command.args(words.iter().map(|word| word.as_ref()));
        let ended = Arena::start(command).end();
        assert_eq!(
            ended.code,
            Some(0),
            "{:?}: {ended:?}",
            words.iter().map(|word| word.as_ref()).collect::<Vec<_>>()
        );
        ended
    }
}

fn flag(name: &str, file: &Path) -> OsString {
    let mut flag = OsString::from(name);
    flag.push(file);
    flag
}

#[test]
fn every_replay_command_takes_names_that_are_no_unicode() {
    let folder = Folder::new();
    let (file, cut) = (folder.file("whole", "mra"), folder.file("cut", "mra"));
    fs::copy(REPLAY, &file).expect("copied");
    let shown = file.display().to_string();
    for action in ["info", "verify"] {
        assert!(folder.run(&[&"replay", &action, &file]).stdout.contains(&shown));
        let json = folder.run(&[&"replay", &action, &file, &"--json"]).json();
        let one = if action == "info" { &json } else { &json[0] };
        assert_eq!(one["file"], Value::from(&*shown), "{action}");
    }
    assert!(folder.run(&[&"replay", &"seek", &file, &"--to=60"]).stdout.contains(&shown));
    folder.run(&[&"replay", &"cut", &file, &"--from=60", &"--to=120", &cut]);
    assert!(folder.run(&[&"replay", &"verify", &cut]).stdout.contains("equal, 60 ticks"));
    folder.run(&[&"replay", &"export", &file, &"--csv"]);
    folder.run(&[&"replay", &"watch", &"--headless", &file]);
    folder.run(&[&"replay", &"diff", &file, &file]);
    folder.run(&[&"check", &"--against", &file, &"--json"]);
    let list = folder.run(&[&"replay", &"list", &folder.0.path()]).stdout;
    assert!(list.contains("cut") && list.contains("whole"), "{list}");
    let list = folder.run(&[&"replay", &"list", &folder.0.path(), &"--json"]).json();
    let files: Vec<&Value> = list.as_array().expect("a list").iter().map(|one| &one["file"]).collect();
    assert!(files.contains(&&Value::from(shown)), "{files:?}");
}

#[test]
fn a_match_takes_and_writes_files_whose_names_are_no_unicode() {
    let folder = Folder::new();
    let given = |name: &str, text: &str| {
        let file = folder.file(name, "toml");
        fs::write(&file, text).expect("written");
        file
    };
    let map = given("map", &fs::read_to_string("assets/maps/duel.toml").expect("a map"));
    let rules = given("rules", &fs::read_to_string("assets/rules/standard.toml").expect("rules"));
    let script = given("script", "{\"at_ms\":1,\"command\":\"Banner\"}\n");
    let (record, trace) = (folder.file("record", "mra"), folder.file("trace", "jsonl"));
    let flags = [
        ("--map=", &map),
        ("--rules=", &rules),
        ("--script=", &script),
        ("--record=", &record),
        ("--trace=", &trace),
    ]
    .map(|(name, file)| flag(name, file));
    let mut words: Vec<&dyn AsRef<OsStr>> = vec![&"play", &"--headless", &"--ticks=30", &"--json"];
    words.extend(flags.iter().map(|flag| flag as &dyn AsRef<OsStr>));
    let result = folder.run(&words).json();
    assert_eq!(result["replay"], Value::from(record.display().to_string()));
    assert!(record.is_file() && trace.is_file(), "as they were named");
    // Without --record into the data folder, which lies in such a folder, too.
    let result = folder.run(&[&"play", &"--headless", &"--ticks=1", &"--json"]).json();
    assert!(result["replay"].as_str().is_some_and(|file| file.contains("/mini-rts-arena/replays/")));
    let recorded = folder.0.path().join("mini-rts-arena/replays");
    assert_eq!(fs::read_dir(recorded).expect("the data folder").count(), 1);
    // A check hands such names on to other processes.
    folder.run(&[&"check", &"--seed=1", &"--ticks=30", &flag("--map=", &map)]);
}

#[test]
fn a_study_takes_and_writes_files_whose_names_are_no_unicode() {
    let folder = Folder::new();
    let (csv, again, html) = (folder.file("a", "csv"), folder.file("b", "csv"), folder.file("c", "html"));
    crate::study::study(8).write(fs::File::create(&csv).expect("a file")).expect("written");
    folder.run(&[&"compare", &"--rebuild", &csv, &"--csv", &again, &"--html", &html]);
    assert_eq!(fs::read(&csv).expect("given"), fs::read(&again).expect("written"));
    assert!(html.is_file());
}

/// The commands below one, as its help names them.
fn commands_below(home: &Path, command: &[String]) -> Vec<Vec<String>> {
    let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
    let help = run(home, &words).stdout;
    let list = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let names =
        list.take_while(|line| line.starts_with("  ")).filter_map(|line| line.split_whitespace().next());
    names.filter(|name| *name != "help").map(|name| [command, &[name.to_owned()]].concat()).collect()
}

/// The flags that take a path by what the help says, each with its command.
fn flags_with_a_path(home: &Path) -> BTreeSet<(String, String)> {
    let mut commands = commands_below(home, &[]);
    assert!(commands.len() > 10, "{commands:?}");
    commands.extend(commands_below(home, &["replay".to_owned()]));
    let mut found = BTreeSet::new();
    for command in commands {
        let words: Vec<&str> = command.iter().map(String::as_str).chain(["--help"]).collect();
        let help = run(home, &words).stdout;
        for line in help.lines().map(str::trim_start).filter(|line| line.starts_with("--")) {
            let (flag, value) = line.split_once(' ').unwrap_or((line, ""));
            if ["FILE", "FOLDER", "REPLAY", "PATH"].iter().any(|word| value.contains(word)) {
                found.insert((command.join(" "), flag.to_owned()));
            }
        }
    }
    found
}

/// Runs of `arena` with paths that are no Unicode.
struct Tried {
    folder: Folder,
    /// Commands, each with a flag that it was given.
    flags: RefCell<BTreeSet<(String, String)>>,
}

impl Tried {
    /// A file with this content.
    fn given(&self, name: &str, text: &str) -> PathBuf {
        let file = self.folder.file(name, "in");
        fs::write(&file, text).expect("written");
        file
    }

    /// `arena` with these words and paths.
    fn start(&self, words: &[&str], flags: &[(&str, &Path)]) -> Arena {
        let mut command = command(self.folder.0.path(), words);
        for &(name, file) in flags {
            command.arg(flag(&format!("{name}="), file));
            let named = name.split('=').next().expect("a name").to_owned();
            self.flags.borrow_mut().insert((words[0].to_owned(), named));
        }
        Arena::start(command)
    }

    /// The same to its end, which is a good one.
    fn run(&self, words: &[&str], flags: &[(&str, &Path)]) -> Ended {
        let ended = self.start(words, flags).end();
        assert_eq!(ended.code, Some(0), "{words:?} {flags:?}: {ended:?}");
        ended
    }

    /// Two peers whose match ends in a desync.
    fn desync(&self, player: &[(&str, &Path)]) {
        let start = |words: &[&str], name: &str| {
            let [record, trace, report] =
                ["mra", "jsonl", "json"].map(|ending| self.folder.file(name, ending));
            let made: [(&str, &Path); 3] =
                [("--record", &record), ("--trace", &trace), ("--desync-report", &report)];
            (self.start(words, &[player, &made].concat()), [record, trace, report])
        };
        let host = ["host", "--headless", "--json", "--port=0", "--bind=127.0.0.1", "--no-discovery"];
        let host = start(&[&host[..], &["--ticks=60", "--inject-desync=10"]].concat(), "host");
        let address = format!("127.0.0.1:{}", host.0.port());
        let guest = start(&["join", &address, "--headless", "--json"], "guest");
        for (peer, [record, trace, report]) in [host, guest] {
            let ended = peer.end();
            assert_eq!(ended.code, Some(1), "a desync: {ended:?}");
            let result = ended.json();
            assert_eq!(result["replay"], Value::from(record.display().to_string()), "{result}");
            assert_eq!(result["desync_report"], Value::from(report.display().to_string()), "{result}");
            assert!([&record, &trace, &report].iter().all(|file| file.is_file()), "as they were named");
            let ended = self.start(&["check"], &[("--bundle", &report.with_extension("bundle"))]).end();
            assert!(ended.code == Some(0) || ended.code == Some(1), "{ended:?}");
        }
    }

    /// A match of one, and one on a server.
    fn matches(&self, data: &[(&str, &Path)], player: &[(&str, &Path)]) {
        let (record, trace) = (self.folder.file("alone", "mra"), self.folder.file("alone", "jsonl"));
        let made: [(&str, &Path); 2] = [("--record", &record), ("--trace", &trace)];
        self.run(&["play", "--headless", "--ticks=30"], &[player, &made].concat());
        let record = self.folder.file("server", "mra");
        let serve = ["serve", "--port=0", "--bind=127.0.0.1", "--no-discovery", "--ticks=30", "--json"];
        let trace = self.folder.file("served", "jsonl");
        let made: [(&str, &Path); 2] = [("--record", &record), ("--trace", &trace)];
        let server = self.start(&serve, &[data, &made].concat());
        let address = format!("127.0.0.1:{}", server.port());
        let guests = [0, 1].map(|_| self.start(&["join", &address, "--headless", "--record=off"], data));
        assert_eq!(guests.map(|guest| guest.end().code), [Some(0); 2]);
        assert_eq!(server.end().json()["replay"], Value::from(record.display().to_string()));
        assert!(trace.is_file(), "as it was named");
    }

    /// Checks, and studies.
    fn studies(&self, data: &[(&str, &Path)]) {
        let replay = self.folder.file("replay", "mra");
        fs::copy(REPLAY, &replay).expect("copied");
        let trace = self.folder.file("trace", "jsonl");
        self.run(&["check", "--seed=1", "--ticks=30"], &[data, &[("--trace", &*trace)]].concat());
        self.run(&["check"], &[("--against", &replay)]);
        let study = ["compare", "--quick", "--seeds=1"];
        let [csv, orders, html, figures, tables] =
            ["csv", "orders", "html", "figures", "tables"].map(|ending| self.folder.file("study", ending));
        let made: [(&str, &Path); 5] = [
            ("--csv", &csv),
            ("--orders", &orders),
            ("--html", &html),
            ("--figures", &figures),
            ("--tables", &tables),
        ];
        self.run(&[&study[..], &["--cell=rtt=20"]].concat(), &made);
        assert!(made.iter().all(|(_, file)| file.exists()), "as they were named");
        self.run(&["compare"], &[("--rebuild", &csv), ("--html", &html)]);
        let trace = self.given("link", "ms,delay_ms\n0,20\n10,30\n");
        let linked = self.run(&[&study[..], &["--json"]].concat(), &[("--link=trace", &trace)]);
        let recorded = [&study[..], &["--view=host-lost", "--json"]].concat();
        let recorded = self.run(&recorded, &[("--from", &replay)]);
        for (ended, file) in [(linked, trace), (recorded, replay)] {
            let command = ended.json()["environment"]["command"].to_string();
            assert!(command.contains(&file.display().to_string()), "{command}");
        }
    }
}

#[test]
fn flags_that_take_a_path_take_names_that_are_no_unicode() {
    let tried = Tried { folder: Folder::new(), flags: RefCell::default() };
    let asset = |name: &str| fs::read_to_string(format!("assets/{name}.toml")).expect("an asset");
    let map = tried.given("map", &asset("maps/duel"));
    let rules = tried.given("rules", &asset("rules/standard"));
    let script = tried.given("script", "{\"at_ms\":1,\"command\":\"Banner\"}\n");
    let data: [(&str, &Path); 2] = [("--map", &map), ("--rules", &rules)];
    let player = [&data[..], &[("--script", &*script)]].concat();
    tried.desync(&player);
    tried.matches(&data, &player);
    tried.studies(&data);
    assert_eq!(*tried.flags.borrow(), flags_with_a_path(tried.folder.0.path()));
}

/// Ways in which a text is saved.
fn saved(text: &str) -> [(&'static str, Vec<u8>); 4] {
    let marked = format!("\u{feff}{}", text.replace('\n', "\r\n"));
    let wide = |text: &str| text.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>();
    [
        ("marked", marked.clone().into_bytes()),
        ("no-last-newline", format!("\n\n{}", text.trim_end()).into_bytes()),
        ("utf16", wide(&marked)),
        ("utf16-without-mark", wide(text)),
    ]
}

#[test]
fn every_text_file_is_read_as_editors_save_it() {
    let home = tempfile::tempdir().expect("a folder");
    let asset = |name: &str| fs::read_to_string(format!("assets/{name}.toml")).expect("an asset");
    let script = "{\"at_ms\":1,\"command\":\"Banner\"} \n\n{\"at_ms\":2,\"command\":\"Banner\"}\n".to_owned();
    let mut study = Vec::new();
    crate::study::study(8).write(&mut study).expect("memory");
    let study = String::from_utf8(study).expect("text");
    let link = "ms,delay_ms\n0,20\n10,30\n".to_owned();
    let play = ["play", "--headless", "--ticks=1", "--record=off", "--json"];
    let kinds: [(&str, String, &[&str], &str); 5] = [
        ("map", asset("maps/duel"), &play, "--map="),
        ("rules", asset("rules/standard"), &play, "--rules="),
        ("script", script, &play, "--script="),
        ("study", study, &["compare"], "--rebuild="),
        ("link", link, &["compare", "--quick", "--seeds=1"], "--link=trace="),
    ];
    for (kind, text, words, flag) in kinds {
        for (way, bytes) in saved(&text) {
            let file = home.path().join(format!("{kind}-{way}"));
            fs::write(&file, bytes).expect("written");
            let flag = format!("{flag}{}", file.display());
            let is_utf16 = way.starts_with("utf16");
            let ended = run(home.path(), &[words, &[&flag]].concat());
            if is_utf16 {
                fails(&ended, "save it as UTF-8");
                assert!(ended.stderr.contains(&format!("{kind}-{way}")), "{ended:?}");
            } else {
                assert_eq!(ended.code, Some(0), "{kind} {way}: {ended:?}");
            }
        }
        let folder = format!("{flag}{}", home.path().display());
        fails(&run(home.path(), &[words, &[&folder]].concat()), "directory");
    }
}

#[test]
fn a_study_that_may_not_be_cited_says_so_however_its_file_is_saved() {
    let home = tempfile::tempdir().expect("a folder");
    let mut study = crate::study::study(8);
    study.environment.insert(0, ("not to be cited".into(), "too few".into()));
    let mut text = Vec::new();
    study.write(&mut text).expect("memory");
    for (way, bytes) in saved(&String::from_utf8(text).expect("text")).into_iter().take(2) {
        let file = home.path().join(way);
        fs::write(&file, bytes).expect("written");
        let said = run(home.path(), &["compare", &format!("--rebuild={}", file.display())]).stdout;
        assert!(said.contains("Not to be cited: too few."), "{way}: {said}");
    }
}

#[test]
fn what_a_text_says_does_not_depend_on_how_it_is_saved() {
    let home = tempfile::tempdir().expect("a folder");
    let link = |bytes: Vec<u8>| {
        let file = home.path().join("text");
        fs::write(&file, bytes).expect("written");
        let flag = format!("--link=trace={}", file.display());
        let ended = run(home.path(), &["compare", "--quick", "--seeds=1", "--json", &flag]);
        assert_eq!(ended.code, Some(0), "{ended:?}");
        ended.json()["cells"].clone()
    };
    let trace = |delay: u32| format!("ms,delay_ms\n0,{delay}\n10,{}\n", delay + 10);
    let plain = link(trace(20).into());
    assert!(plain[0].is_object() && plain != link(trace(80).into()), "{plain}");
    for (way, bytes) in saved(&trace(20)).into_iter().take(2) {
        assert_eq!(link(bytes), plain, "{way}");
    }
}

#[test]
fn a_study_continues_in_a_file_that_an_editor_has_saved() {
    let home = tempfile::tempdir().expect("a folder");
    let file = home.path().join("rows.csv");
    let flag = format!("--csv={}", file.display());
    let study = ["compare", "--quick", "--seeds=1", "--cell=rtt=20", &flag];
    assert_eq!(run(home.path(), &study).code, Some(0));
    let whole = fs::read_to_string(&file).expect("rows");
    let part: Vec<&str> = whole.lines().take(whole.lines().count() - 1).collect();
    fs::write(&file, format!("\u{feff}{}\r\n", part.join("\r\n"))).expect("written");
    let ended = run(home.path(), &[&study[..], &["--resume"]].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(fs::read_to_string(&file).expect("rows"), whole);
}

#[test]
fn a_text_may_come_through_a_pipe() {
    let home = tempfile::tempdir().expect("a folder");
    let pipe = home.path().join("pipe");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo runs").success());
    let to = pipe.clone();
    let writer = std::thread::spawn(move || {
        let mut pipe = fs::OpenOptions::new().write(true).open(to).expect("it is read");
        pipe.write_all(b"\xef\xbb\xbf{\"at_ms\":1,\"command\":\"Banner\"}").expect("written");
    });
    let flag = format!("--script={}", pipe.display());
    let ended = run(home.path(), &["play", "--headless", "--ticks=30", "--record=off", "--json", &flag]);
    writer.join().expect("no panic");
    assert_eq!((ended.code, &ended.json()["commands"]), (Some(0), &1.into()));
    let endless = ["play", "--headless", "--ticks=30", "--record=off", "--script=/dev/zero"];
    fails(&run(home.path(), &endless), "more than 8388608 bytes");
}

#[test]
fn a_seed_is_a_number_that_json_has_exactly() {
    let home = tempfile::tempdir().expect("a folder");
    let play = |seed: &str| {
        let seed = format!("--seed={seed}");
        run(home.path(), &["play", "--headless", "--ticks=1", "--record=off", "--json", &seed])
    };
    assert_eq!(play("9007199254740991").json()["seed"], 9_007_199_254_740_991_u64);
    fails(&play("9007199254740992"), "9007199254740991");
    fails(&play("18446744073709551615"), "9007199254740991");
}

#[test]
fn tables_are_plain_in_every_locale() {
    let home = tempfile::tempdir().expect("a folder");
    let list = run(home.path(), &["replay", "list", "replays"]).stdout;
    assert!(list.is_ascii() && list.contains("seed7-600.mra"), "{list}");
    let csv = home.path().join("a.csv");
    let mut study = crate::study::study(8);
    study.rows.extend(crate::study::armies());
    study.write(fs::File::create(&csv).expect("a file")).expect("written");
    let study = run(home.path(), &["compare", "--rebuild", &csv.display().to_string()]).stdout;
    assert!(study.is_ascii() && study.contains("CPU per tick, us"), "{study}");
}

/// `arena` where no file can have more than `blocks` times 512 bytes, as on a disk that is full.
fn limited(home: &Path, blocks: u32, words: &[&str]) -> Ended {
    let script = format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\"");
    let mut command = Command::new("sh");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_arena")]);
    crate::arena::prepare(&mut command, home, words);
    Arena::start(command).end()
}

/// That the result was printed all the same, and that the last line names the file.
fn says_what_is_missing(ended: &Ended, file: &str) {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let last = ended.stderr.lines().last().unwrap_or_default();
    assert!(last.starts_with("error: cannot write ") && last.contains(file), "{file} in {last:?}");
    assert!(!ended.stdout.is_empty(), "{ended:?}");
}

#[test]
fn no_write_error_costs_a_match() {
    let home = tempfile::tempdir().expect("a folder");
    let play = ["play", "--headless", "--json", "--seed=1"];
    let traced =
        run(home.path(), &[&play[..], &["--ticks=30", "--record=off", "--trace=/dev/full"]].concat());
    says_what_is_missing(&traced, "/dev/full");
    let record = home.path().join("a");
    let record = format!("--record={}", record.display());
    // Nothing can be written, not the header either; then a header and a few seconds, which end with a state.
    for (blocks, ticks, file) in [(0, 30, "/a"), (2, 330, "/a.mra.part")] {
        let ticks = format!("--ticks={ticks}");
        let ended = limited(home.path(), blocks, &[&play[..], &[&ticks, &record]].concat());
        says_what_is_missing(&ended, file);
        let result = ended.json();
        assert_eq!((&result["outcome"], &result["replay"]), (&"tick_limit".into(), &Value::Null));
        let said = result["not_written"][0].as_str().expect("a file");
        assert!(said.contains(file), "{said}");
        assert!(ended.stderr.contains("recording stopped, the match continues"), "{ended:?}");
    }
    // What was written until then plays.
    let part = home.path().join("a.mra.part").display().to_string();
    assert_eq!(run(home.path(), &["replay", "info", &part, "--json"]).json()["verdict"], "truncated");
    let nowhere = home.path().join("file");
    fs::write(&nowhere, "").expect("written");
    let ended = run(&nowhere, &[&play[..], &["--ticks=30"]].concat());
    says_what_is_missing(&ended, "/file/mini-rts-arena/replays/");
}

#[test]
fn a_server_tells_its_result_though_it_cannot_record_it() {
    let home = tempfile::tempdir().expect("a folder");
    let record = format!("--record={}", home.path().join("a").display());
    let words = ["serve", "--port=0", "--no-discovery", "--ticks=30", "--json", &record];
    let mut command = Command::new("sh");
    command.args(["-c", "trap '' XFSZ; ulimit -f 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_arena")]);
    crate::arena::prepare(&mut command, home.path(), &words);
    let server = Arena::start(command);
    let address = format!("127.0.0.1:{}", server.port());
    let join = ["join", &address, "--headless", "--record=off"];
    let guests = [0, 1].map(|_| Arena::run(home.path(), &join));
    assert_eq!(guests.map(|guest| guest.end().code), [Some(0); 2]);
    let ended = server.end();
    says_what_is_missing(&ended, "/a");
    assert_eq!(ended.json()["outcome"], "tick_limit");
}

#[test]
fn a_study_tells_its_result_though_it_cannot_be_written() {
    let home = tempfile::tempdir().expect("a folder");
    let csv = home.path().join("a.csv");
    crate::study::study(8).write(fs::File::create(&csv).expect("a file")).expect("written");
    let csv = csv.display().to_string();
    for flag in ["--csv", "--html"] {
        says_what_is_missing(
            &run(home.path(), &["compare", "--rebuild", &csv, flag, "/dev/full"]),
            "/dev/full",
        );
    }
}

#[test]
fn a_part_that_cannot_be_written_is_named() {
    let home = tempfile::tempdir().expect("a folder");
    let out = home.path().join("part.mra").display().to_string();
    let ended = limited(home.path(), 0, &["replay", "cut", REPLAY, "--from=0", "--to=100", &out]);
    fails(&ended, "part.mra");
    assert!(!ended.stderr.contains(REPLAY), "{ended:?}");
    assert_eq!(fs::read_dir(home.path()).expect("a folder").count(), 0, "nothing is left");
}
