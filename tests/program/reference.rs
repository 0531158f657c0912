//! docs/REFERENCE.md against the program: the flags of every command's `--help`, the keys of real results, the
//! fields of real traces, the columns of a study. What is in one and not in the other is a complaint.

use crate::arena::{Arena, Ended, run};
use game::{Script, data};
use lab::compare::ORDER_COLUMNS;
use serde_json::Value;
use sim::Command;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;
use std::sync::LazyLock;

const SHARED: &str = "Flags of a match";

/// The document.
static TEXT: LazyLock<String> = LazyLock::new(|| {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/REFERENCE.md");
    fs::read_to_string(file).expect("the reference")
});
/// What the program has, gathered once by running it.
static PROGRAM: LazyLock<Program> = LazyLock::new(Program::gather);

#[test]
fn the_reference_says_what_the_program_has() {
    let complaints = PROGRAM.complaints(&TEXT);
    assert!(complaints.is_empty(), "docs/REFERENCE.md:\n{}", complaints.join("\n"));
}

#[test]
fn a_row_that_is_missing_is_noticed() {
    let sections = sections(&TEXT);
    let rows =
        sections.iter().filter(|section| PROGRAM.judges(&section.title)).flat_map(|section| &section.rows);
    let (mut removed, mut unseen) = (0, Vec::new());
    for row in rows {
        let without = TEXT.lines().enumerate().filter(|&(number, _)| number != row.number);
        let without = without.map(|(_, line)| line).collect::<Vec<_>>().join("\n");
        removed += 1;
        if PROGRAM.complaints(&without).is_empty() {
            unseen.push(row.cells[0].as_str());
        }
    }
    // Only of keys that are not always there may no run have had one.
    unseen.retain(|name| !name.ends_with('?'));
    assert!(
        removed > 300 && unseen.is_empty(),
        "{removed} rows; nothing notices that these are gone: {unseen:?}"
    );
}

#[test]
fn a_row_too_many_is_noticed() {
    for (after, row) in [
        ("| `--units N` |", "| `--frobs N` | | Nothing. |"),
        ("| `replay_x_real_time` |", "| `frobs` | | Nothing. |"),
        ("| `t_apply_us` |", "| `t_frob_us` | µs | Nothing. |"),
        ("| `opponent_frame_ms` |", "| `frob_ms` | ms | Nothing. |"),
        ("| `ARENA_FPS` |", "| `ARENA_FROBS` | Nothing. |"),
    ] {
        let at = TEXT.find(after).unwrap_or_else(|| panic!("no row {after}"));
        let text = format!("{}{row}\n{}", &TEXT[..at], &TEXT[at..]);
        let complaints = PROGRAM.complaints(&text);
        assert!(
            complaints.len() == 1 && complaints[0].to_lowercase().contains("frob"),
            "{row}: {complaints:?}"
        );
    }
}

#[test]
fn the_example_script_has_every_command_and_is_one() {
    let begin = TEXT.find("```script\n").expect("an example") + "```script\n".len();
    let example = TEXT[begin..].split("```").next().expect("it ends");
    let script = Script::read(example, &data::rules("standard").expect("built in")).expect("a script");
    let kinds: BTreeSet<usize> = script.lines().iter().map(|line| line.command.kind()).collect();
    assert_eq!(kinds.len(), Command::KINDS);
    let names: BTreeSet<String> = example.lines().map(|line| command_name(line).to_owned()).collect();
    let rows =
        sections(&TEXT).into_iter().find(|section| section.title == "Scripts").expect("a section").rows;
    let documented: BTreeSet<String> = rows.iter().flat_map(|row| quoted(&row.cells[0])).collect();
    assert_eq!(names, documented);
}

/// The name of the command in a line of a script.
fn command_name(line: &str) -> &str {
    let (_, command) = line.split_once(r#""command":"#).expect("a command");
    command.split('"').nth(1).expect("a name")
}

/// What the program has.
struct Program {
    /// By command, such as `replay info`.
    flags: BTreeMap<String, Vec<Flag>>,
    /// By section, the paths of all leaves of all results.
    outputs: BTreeMap<&'static str, BTreeSet<Leaf>>,
    /// Of a study.
    columns: BTreeSet<String>,
    /// `ARENA_…` in the sources.
    variables: BTreeSet<String>,
}

/// A flag, or an argument without one.
#[derive(Debug)]
struct Flag {
    name: String,
    default: Option<String>,
    values: Vec<String>,
}

/// A value in a result: its path, and whether there is none (null, or an empty list or object).
type Leaf = (String, bool);

impl Program {
    fn gather() -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let mut outputs = Outputs::default();
        matches(home.path(), &mut outputs);
        checks(home.path(), &mut outputs);
        replays(home.path(), &mut outputs);
        measurements(home.path(), &mut outputs);
        let columns = fs::read_to_string(study_file(home.path())).expect("a table");
        let columns = columns.lines().find(|line| !line.starts_with('#')).expect("names");
        let columns = columns.split(',').map(str::to_owned).collect();
        let mut flags = BTreeMap::new();
        gather_flags(home.path(), "", &mut flags);
        let mut variables = BTreeSet::new();
        gather_variables(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src"), &mut variables);
        Self { flags, outputs: outputs.0, columns, variables }
    }

    /// Whether that section is held against the program.
    fn judges(&self, title: &str) -> bool {
        title == SHARED
            || title == "Columns of a study"
            || self.outputs.contains_key(title)
            || command_of(title).is_some()
    }

    /// What is in one and not in the other.
    fn complaints(&self, text: &str) -> Vec<String> {
        let sections = sections(text);
        let rows = |title: &str| {
            sections.iter().find(|section| section.title == title).map(|section| &section.rows[..])
        };
        let mut complaints = Vec::new();
        let shared = rows(SHARED).unwrap_or_default();
        for (command, flags) in &self.flags {
            let title = format!("`{}`", format!("arena {command}").trim());
            let Some(own) = rows(&title) else {
                complaints.push(format!("no section {title}"));
                continue;
            };
            let is_of =
                |row: &&Row| row.cells.get(1).is_some_and(|of| of.split(", ").any(|name| name == command));
            let own = own.iter().map(|row| (row, 1)).chain(shared.iter().filter(is_of).map(|row| (row, 2)));
            judge_flags(command, flags, &own.collect::<Vec<_>>(), &mut complaints);
        }
        let known = |title: &str| self.flags.contains_key(command_of(title).unwrap_or_default());
        let unknown =
            sections.iter().filter(|section| command_of(&section.title).is_some() && !known(&section.title));
        complaints.extend(unknown.map(|section| format!("there is no command {}", section.title)));
        for (title, leaves) in &self.outputs {
            match rows(title) {
                Some(rows) => judge_keys(title, leaves, rows, &mut complaints),
                None => complaints.push(format!("no section {title}")),
            }
        }
        let named = |title: &str| -> BTreeSet<String> {
            rows(title).unwrap_or_default().iter().flat_map(|row| quoted(&row.cells[0])).collect()
        };
        let columns = named("Columns of a study");
        complaints
            .extend(self.columns.symmetric_difference(&columns).map(|column| format!("column {column}")));
        let of_orders = ORDER_COLUMNS.iter().map(|(name, _)| (*name).to_owned()).collect::<BTreeSet<_>>();
        let columns = named("Columns of orders");
        complaints.extend(
            of_orders.symmetric_difference(&columns).map(|column| format!("column {column} of orders")),
        );
        let mut variables = named("Environment variables");
        variables.retain(|name| name.starts_with("ARENA_"));
        complaints
            .extend(self.variables.symmetric_difference(&variables).map(|name| format!("variable {name}")));
        complaints
    }
}

/// The command that a section is about.
fn command_of(title: &str) -> Option<&str> {
    Some(title.strip_prefix("`arena")?.strip_suffix('`')?.trim())
}

/// Holds a command's flags against its rows, each with the column of its defaults.
fn judge_flags(command: &str, flags: &[Flag], rows: &[(&Row, usize)], complaints: &mut Vec<String>) {
    let name = |row: &Row| {
        let quoted = quoted(&row.cells[0]).into_iter().next().unwrap_or_default();
        if quoted.starts_with("--") {
            quoted.split([' ', '[']).next().unwrap_or_default().to_owned()
        } else {
            quoted.trim_end_matches('…').to_owned()
        }
    };
    for flag in flags {
        let Some((row, default_at)) = rows.iter().find(|(row, _)| name(row) == flag.name) else {
            complaints.push(format!("{command} has {}, which is not documented", flag.name));
            continue;
        };
        let default = row.cells.get(*default_at).map(|cell| quoted(cell)).unwrap_or_default();
        if flag.default.as_ref().is_some_and(|value| !default.contains(value)) {
            complaints.push(format!("{command} {}: the default is {:?}", flag.name, flag.default));
        }
        for value in flag.values.iter().filter(|value| !row.cells.join(" ").contains(*value)) {
            complaints.push(format!("{command} {}: the value {value} is not documented", flag.name));
        }
    }
    let has = |row: &Row| flags.iter().any(|flag| flag.name == name(row));
    let extra = rows.iter().filter(|(row, _)| !has(row));
    complaints.extend(extra.map(|(row, _)| format!("{command} has no {}", name(row))));
}

/// Holds the leaves of results against the rows of a table.
fn judge_keys(title: &str, leaves: &BTreeSet<Leaf>, rows: &[Row], complaints: &mut Vec<String>) {
    let keys =
        |row: &Row| -> Vec<String> { quoted(&row.cells[0]).iter().flat_map(|key| expanded(key)).collect() };
    let documented: Vec<String> = rows.iter().flat_map(keys).collect();
    for (path, is_nothing) in leaves {
        let covers = |key: &String| is_path(key, path) || *is_nothing && leads_to(path, key);
        if !documented.iter().any(covers) {
            complaints.push(format!("{title}: {path} is not documented"));
        }
    }
    for row in rows.iter().filter(|row| !row.cells[0].ends_with('?')) {
        for key in keys(row) {
            if !leaves.iter().any(|(path, _)| is_path(&key, path)) {
                complaints.push(format!("{title}: no result has {key}"));
            }
        }
    }
}

/// Whether a documented key is the one at that path. A name in capitals stands for any, `*` for all that is
/// below.
fn is_path(key: &str, path: &str) -> bool {
    let any = |name: &str| name.chars().all(|letter| letter.is_ascii_uppercase());
    let mut path = path.split('.');
    for name in key.split('.') {
        if name == "*" {
            return true;
        }
        let Some(found) = path.next() else { return false };
        if name != found && !any(name.trim_end_matches("[]")) {
            return false;
        }
    }
    path.next().is_none()
}

/// Whether that key lies below that path.
fn leads_to(path: &str, key: &str) -> bool {
    key.strip_prefix(path).is_some_and(|rest| rest.starts_with(['.', '[']))
}

/// `a.{b,c}` as `a.b` and `a.c`.
fn expanded(key: &str) -> Vec<String> {
    let Some((before, rest)) = key.split_once('{') else { return vec![key.to_owned()] };
    let (names, after) = rest.split_once('}').expect("a brace that ends");
    names.split(',').flat_map(|name| expanded(&format!("{before}{name}{after}"))).collect()
}

/// A heading's tables.
struct Section {
    title: String,
    rows: Vec<Row>,
}

/// A row of a table: its line, and its cells.
struct Row {
    number: usize,
    cells: Vec<String>,
}

fn sections(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        if line.starts_with("##") {
            let title = line.trim_start_matches('#').trim().to_owned();
            sections.push(Section { title, rows: Vec::new() });
        }
        let is_head = lines.get(number + 1).is_some_and(|next| next.starts_with("|---"));
        if let (true, Some(section)) = (line.starts_with("| ") && !is_head, sections.last_mut()) {
            // A bar of its own is written `\|`.
            let line = line.replace(r"\|", "/");
            let cells = line.trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect();
            section.rows.push(Row { number, cells });
        }
    }
    sections
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<String> {
    cell.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

/// Reads `--help` of a command and of those below it.
fn gather_flags(home: &Path, command: &str, all: &mut BTreeMap<String, Vec<Flag>>) {
    let words: Vec<&str> = command.split_whitespace().chain(["--help"]).collect();
    let help = run_quietly(home, &words).stdout;
    let (mut flags, mut part, mut below) = (Vec::<Flag>::new(), "", Vec::new());
    for line in help.lines() {
        let text = line.trim();
        if !line.starts_with(' ') && line.ends_with(':') {
            part = line;
            continue;
        }
        let indent = line.len() - line.trim_start().len();
        let long = text.split_once("--").filter(|(short, _)| short.is_empty() || short.starts_with('-'));
        match (part, long) {
            ("Commands:", _) if indent == 2 => below.extend(text.split_whitespace().next()),
            ("Arguments:", _) if indent == 2 => {
                let name = text.split_whitespace().next().expect("a name").trim_end_matches("...");
                let name = name[1..name.len() - 1].to_owned();
                flags.push(Flag { name, default: None, values: Vec::new() });
            }
            ("Options:", Some((_, long))) if indent <= 6 && text.starts_with('-') => {
                let name = long.split([' ', '[', '=']).next().expect("a name");
                flags.push(Flag { name: format!("--{name}"), default: None, values: Vec::new() });
            }
            _ => {}
        }
        let Some(flag) = flags.last_mut() else { continue };
        let inside = |begin: &str| text.split_once(begin)?.1.split(']').next();
        if let Some(default) = inside("[default: ") {
            flag.default = Some(default.to_owned());
        }
        if let Some(values) = inside("[possible values: ") {
            flag.values = values.split(", ").map(str::to_owned).collect();
        }
        if let Some(value) = text.strip_prefix("- ") {
            flag.values.extend(value.split([':', ' ']).next().map(str::to_owned));
        }
    }
    flags.retain(|flag| !["--help", "--version"].contains(&flag.name.as_str()));
    let has_below = !below.is_empty();
    for name in below.into_iter().filter(|&name| name != "help") {
        gather_flags(home, format!("{command} {name}").trim(), all);
    }
    // `arena replay` alone is no command.
    if command.is_empty() || !has_below {
        all.insert(command.to_owned(), flags);
    }
}

/// Every `"ARENA_…"` in the sources.
fn gather_variables(folder: &Path, all: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the sources") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            gather_variables(&path, all);
            continue;
        }
        let text = fs::read_to_string(&path).expect("a source");
        let names =
            text.split('"').filter(|part| part.starts_with("ARENA_") && !part.contains(char::is_whitespace));
        all.extend(names.map(str::to_owned));
    }
}

/// Leaves by section.
#[derive(Default)]
struct Outputs(BTreeMap<&'static str, BTreeSet<Leaf>>);

impl Outputs {
    fn add(&mut self, title: &'static str, value: &Value) {
        leaves(value, String::new(), self.0.entry(title).or_default());
    }
}

fn leaves(value: &Value, path: String, all: &mut BTreeSet<Leaf>) {
    match value {
        Value::Object(object) if !object.is_empty() => {
            for (key, value) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                leaves(value, path, all);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            list.iter().for_each(|value| leaves(value, format!("{path}[]"), all));
        }
        _ => {
            let is_nothing = value.is_null() || value.is_array() || value.is_object();
            all.insert((path, is_nothing));
        }
    }
}

/// Runs it to its end, whatever its code.
fn run_quietly(home: &Path, words: &[&str]) -> Ended {
    let output = crate::arena::command(home, words).output().expect("it runs");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
    Ended { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
}

fn ran(home: &Path, words: &str) -> Value {
    run_quietly(home, &words.split(' ').collect::<Vec<_>>()).json()
}

/// A host's or server's match of a second with one or two guests: all results.
fn played(home: &Path, host: &str, guests: &[&str]) -> Vec<Value> {
    const ALL: &str = "--headless --json --no-discovery --port=0 --record=off";
    let words = |words: &str| -> Vec<String> { words.split(' ').map(str::to_owned).collect() };
    let start = |line: String| {
        let words = words(&line);
        Arena::run(home, &words.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let host = start(format!("{host} {ALL}"));
    let address = format!("127.0.0.1:{}", host.port());
    let guests: Vec<Arena> =
        guests.iter().map(|flags| start(format!("join {address} {ALL}{flags}"))).collect();
    [host].into_iter().chain(guests).map(|one| one.end().json()).collect()
}

fn matches(home: &Path, outputs: &mut Outputs) {
    let match_title = "JSON of `host`, `join` and `play`";
    let traces = ["one", "two"].map(|name| home.join(name).display().to_string());
    // No input delay over a link of 20 ms: every tick is late. The other's moves by itself.
    let link = "--link=delay=20ms --bot=probe --seed=3";
    let host = format!("host --ticks=90 --input-delay=0 --trace={} {link}", traces[0]);
    let guest = format!(" --trace={} --link=delay=20ms --bot=probe", traces[1]);
    for result in played(home, &host, &[&guest]) {
        outputs.add(match_title, &result);
    }
    for trace in &traces {
        add_trace(Path::new(trace), outputs);
    }
    let served = played(home, "serve --ticks=90 --seed=3", &["", ""]);
    outputs.add("JSON of `serve`", &served[0]);
    outputs.add(match_title, &served[1]);
    let trace = home.join("three");
    let words = format!("check --ticks 120 --seed 3 --link loss=20% --trace {} --json", trace.display());
    ran(home, &words);
    add_trace(&home.join("three-seat0"), outputs);

    let mut waiting = Arena::run(home, &["host", "--headless", "--port=0", "--record=off", "--name=Ann"]);
    waiting.wait_for_line("Ctrl-C");
    let rooms = (0..5).map(|_| ran(home, "discover --for 2 --json")).find(|rooms| rooms[0].is_object());
    outputs.add("JSON of `discover`", &rooms.expect("the match that waits"));
    outputs
        .add("JSON of `doctor`", &ran(home, &format!("doctor 127.0.0.1:{} --for 1 --json", waiting.port())));
}

fn add_trace(file: &Path, outputs: &mut Outputs) {
    for line in fs::read_to_string(file).expect("a trace").lines() {
        let line: Value = serde_json::from_str(line).expect("an object");
        outputs.add(trace_title(&line), &line);
    }
}

/// The section about datagrams in a trace.
const DATAGRAMS: &str = "Trace lines `sent`, `received`, `lost`";

/// The section about a line of a trace.
fn trace_title(line: &Value) -> &'static str {
    let kinds = [
        ("summary", "Trace line `summary`"),
        ("stall", "Trace line `stall`"),
        ("cmd", "Trace line `cmd`"),
        ("sent", DATAGRAMS),
        ("received", DATAGRAMS),
        ("lost", DATAGRAMS),
        ("delay_us", "Trace line `delay`"),
        ("hash", "Trace line `hash`"),
    ];
    kinds.iter().find(|(key, _)| line.get(key).is_some()).map_or("Trace line `tick`", |&(_, title)| title)
}

fn checks(home: &Path, outputs: &mut Outputs) {
    let title = "JSON of `check`";
    let planted = ran(home, "check --ticks 90 --seed 1 --inject-desync 30 --json");
    outputs.add(title, &planted);
    let report = planted["first_desync"]["report"].as_str().expect("a report");
    let read = fs::read_to_string(report).expect("the report");
    outputs.add("Desync reports", &serde_json::from_str(&read).expect("JSON"));
    let bundle = report.replace(".json", ".bundle");
    outputs.add("JSON of `check --bundle`", &ran(home, &format!("check --bundle {bundle} --json")));
    outputs.add(title, &ran(home, "check --virtual --matches 2 --ticks 300 --seed 1 --json"));
    outputs.add(title, &ran(home, &format!("check --against {} --json", golden())));
}

fn replays(home: &Path, outputs: &mut Outputs) {
    let file = golden();
    for (title, words) in [
        ("JSON of `replay verify`", format!("verify {file}")),
        ("JSON of `replay info`", format!("info {file}")),
        ("JSON of `replay seek`", format!("seek {file} --to 300")),
        ("JSON of `replay export`", format!("export {file}")),
        ("JSON of `replay export --events`", format!("export {file} --events")),
        ("JSON of `replay export --states`", format!("export {file} --states 60")),
        ("JSON of `replay diff`", format!("diff {file} {file}")),
    ] {
        outputs.add(title, &ran(home, &format!("replay {words} --json")));
    }
    let folder = Path::new(&file).parent().expect("a folder").display().to_string();
    let list = ran(home, &format!("replay list {folder} --json"));
    list.as_array().expect("a list").iter().for_each(|one| outputs.add("JSON of `replay info`", one));
}

fn golden() -> String {
    format!("{}/replays/seed7-600.mra", env!("CARGO_MANIFEST_DIR"))
}

fn study_file(home: &Path) -> String {
    let file = home.join("study.csv");
    if !file.exists() {
        crate::study::study(8).write(fs::File::create(&file).expect("a file")).expect("written");
    }
    file.display().to_string()
}

fn measurements(home: &Path, outputs: &mut Outputs) {
    let rebuild = format!("compare --rebuild {} --json", study_file(home));
    outputs.add("JSON of `compare`", &ran(home, &rebuild));
    let bench = run(home, &["bench", "--brief", "--units=200", "--json"]);
    outputs.add("JSON of `bench`", &bench.json());
}
