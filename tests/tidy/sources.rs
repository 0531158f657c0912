//! What a reader would stumble over, checked by reading the files: long functions and files, words that
//! `docs` and comments must not use, references to files that do not exist, and import cycles.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

/// Most lines of a function, from `fn` to its closing brace.
const FUNCTION_LINES_MAX: usize = 70;
/// Most lines of a source file.
const FILE_LINES_MAX: usize = 600;

/// Most fields of a struct under `src/net`: what has more has several owners.
const FIELDS_MAX: usize = 15;

/// Words that a native engineer would not use, in comments, messages, names and documents.
const BANNED: &[&str] = &[
    "as good as",
    "benefit of the doubt",
    "deaf",
    "goes on",
    "hasten",
    "hastens",
    "is heard of",
    "in its stride",
    "is told",
    "knock",
    "knocks",
    "nobody's",
    "one that",
    "pursue",
    "pursues",
    "so many",
    "stands still",
    "told anybody",
    "whoever",
    "wished for",
];

/// The folders whose doc comments are counted: the crates, and of the program's crate its two halves.
const DOCUMENTED: &[&str] = &[
    "src/bot",
    "src/cli",
    "src/game",
    "src/gui",
    "src/lab",
    "src/net",
    "src/replay",
    "src/sim",
    "src/transport",
];

/// First words of a sentence that lacks its subject or its verb: "What is drawn" says less than "Scene to draw".
const QUESTION_WORDS: &[&str] = &["How", "What", "When", "Where", "Who", "Whose"];

/// Maximum share of a folder's doc comments that begin with a question word, in percent.
const QUESTIONS_PERCENT_MAX: usize = 4;

/// The crates, by the folder of their root and the name of its file. In none of them may a file import another that
/// imports it back, directly or through others. A parent module and its children count as one direction: the children
/// may import the parent.
const CRATES: &[(&str, &str)] = &[
    ("src", "main"),
    ("src/bot", "lib"),
    ("src/game", "lib"),
    ("src/lab", "lib"),
    ("src/net", "lib"),
    ("src/replay", "lib"),
    ("src/sim", "lib"),
    ("src/transport", "lib"),
    ("tests/campaign/src", "lib"),
    ("benches/simulation/src", "main"),
    ("benches/versus/src", "main"),
];

/// The repository's files with one of these endings, by their path from its root.
fn files(folders: &[&str], endings: &[&str]) -> BTreeMap<String, String> {
    fn visit(path: &Path, found: &mut Vec<String>) {
        if path.is_dir() {
            if !path.ends_with("target") {
                let entries = fs::read_dir(path).expect("readable");
                entries.for_each(|entry| visit(&entry.expect("readable").path(), found));
            }
        } else {
            found.push(path.to_str().expect("UTF-8").to_owned());
        }
    }
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut found = Vec::new();
    folders.iter().for_each(|folder| visit(&root.join(folder), &mut found));
    let named = found.into_iter().filter(|path| endings.iter().any(|ending| path.ends_with(ending)));
    let prefix = format!("{}/", root.display());
    named.map(|path| (path.replace(&prefix, ""), fs::read_to_string(&path).expect("text"))).collect()
}

fn sources() -> BTreeMap<String, String> {
    files(&["src", "tests", "benches", "docs", "assets"], &[".rs"])
}

fn report(title: &str, faults: &[String]) {
    assert!(faults.is_empty(), "{title}:\n{}", faults.join("\n"));
}

/// The text with comments and the contents of strings and characters replaced by spaces, line by line.
fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = String::with_capacity(text.len());
    let mut at = 0;
    while at < bytes.len() {
        let end = at + skipped(&text[at..], at.checked_sub(1).map(|before| bytes[before]));
        if end > at {
            code.extend(text[at..end].chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
            at = end;
        } else {
            let c = text[at..].chars().next().expect("in the text");
            code.push(c);
            at += c.len_utf8();
        }
    }
    code
}

/// How many bytes at the start of `rest` are a comment, a string or a character; 0 for code. `before` is the
/// byte in front of it.
fn skipped(rest: &str, before: Option<u8>) -> usize {
    let is_word = before.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    let to = |end: Option<usize>, len: usize| end.map_or(rest.len(), |end| end + len);
    if rest.starts_with("//") {
        return rest.find('\n').unwrap_or(rest.len());
    }
    if rest.starts_with("/*") {
        return to(rest.find("*/"), 2);
    }
    let raw = rest.strip_prefix("br").or_else(|| rest.strip_prefix('r')).filter(|_| !is_word);
    if let Some(raw) = raw {
        let hashes = raw.len() - raw.trim_start_matches('#').len();
        if raw[hashes..].starts_with('"') {
            let close = format!("\"{}", "#".repeat(hashes));
            let open = rest.len() - raw.len() + hashes + 1;
            return to(rest[open..].find(&close).map(|end| open + end), close.len());
        }
    }
    if rest.starts_with('"') {
        return quoted(rest, '"').unwrap_or(rest.len());
    }
    // A lifetime has no closing quote behind its first character.
    if rest.starts_with('\'') {
        let mut chars = rest.chars().skip(1);
        let (first, second) = (chars.next(), chars.next());
        if first == Some('\\') || second == Some('\'') {
            return quoted(rest, '\'').unwrap_or(rest.len());
        }
    }
    0
}

/// The bytes up to and with the closing quote of a literal with escapes.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    rest.char_indices().skip(1).find_map(|(at, c)| {
        let is_end = c == quote && !is_escaped;
        is_escaped = c == '\\' && !is_escaped;
        is_end.then_some(at + c.len_utf8())
    })
}

/// The functions of some code with the number of their first line, counted from 1, and of their lines.
fn functions(code: &str) -> Vec<(String, usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code.match_indices("fn ").filter(|(at, _)| !code[..*at].ends_with(is_word));
    let line = |at: usize| code[..at].matches('\n').count() + 1;
    let measure = |(at, _): (usize, &str)| {
        let name = code[at + 3..].chars().take_while(|&c| is_word(c)).collect::<String>();
        let end = body_end(&code[at..])?;
        (!name.is_empty()).then(|| (name, line(at), line(at + end) - line(at) + 1))
    };
    starts.filter_map(measure).collect()
}

/// Where the body of the function at the start of `code` ends; `None` for one without.
fn body_end(code: &str) -> Option<usize> {
    let (mut brackets, mut braces) = (0, 0);
    for (at, c) in code.char_indices() {
        match c {
            '(' | '[' => brackets += 1,
            ')' | ']' => brackets -= 1,
            ';' if brackets == 0 && braces == 0 => return None,
            '{' => braces += 1,
            '}' => {
                braces -= 1;
                if braces == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

#[test]
fn functions_and_files_are_short() {
    let mut faults = Vec::new();
    for (path, text) in sources() {
        let lines = text.lines().count();
        if lines > FILE_LINES_MAX {
            faults.push(format!("{path}: {lines} lines"));
        }
        let long = functions(&code_of(&text)).into_iter().filter(|&(.., lines)| lines > FUNCTION_LINES_MAX);
        faults.extend(long.map(|(name, line, lines)| format!("{path}:{line}: {name} has {lines} lines")));
    }
    report("too long", &faults);
}

/// The structs of some code with the number of their first line, counted from 1, and of their fields.
fn structs(code: &str) -> Vec<(String, usize, usize)> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let starts = code.match_indices("struct ").filter(|(at, _)| !code[..*at].ends_with(is_word));
    let measure = |(at, _): (usize, &str)| {
        let name = code[at + 7..].chars().take_while(|&c| is_word(c)).collect::<String>();
        let whole = &code[at..at + body_end(&code[at..])?];
        let fields = whole[whole.find('{')?..].lines().filter(|line| line.contains(": ")).count();
        Some((name, code[..at].matches('\n').count() + 1, fields))
    };
    starts.filter_map(measure).collect()
}

#[test]
fn structs_of_the_protocol_have_few_fields() {
    let mut faults = Vec::new();
    for (path, text) in files(&["src/net"], &[".rs"]) {
        let large = structs(&code_of(&text)).into_iter().filter(|&(.., fields)| fields > FIELDS_MAX);
        faults.extend(large.map(|(name, line, fields)| format!("{path}:{line}: {name} has {fields} fields")));
    }
    report("too many fields", &faults);
}

/// A file's words in lower case with single spaces between them, and the line on which each one begins.
fn words(text: &str) -> (String, Vec<usize>) {
    let (mut joined, mut lines) = (String::from(" "), vec![1]);
    for (number, line) in text.lines().enumerate() {
        let line = line.to_lowercase();
        let is_part = |c: char| c.is_alphanumeric() || c == '\'';
        for word in line.split(|c| !is_part(c)).filter(|word| !word.is_empty()) {
            joined.push_str(word);
            joined.push(' ');
            lines.resize(joined.len(), number + 1);
        }
    }
    (joined, lines)
}

#[test]
fn no_banned_words() {
    let mut faults = Vec::new();
    for (path, text) in files(&["src", "tests", "docs", "assets", "README.md"], &[".rs", ".md"]) {
        if path == "tests/tidy/sources.rs" {
            continue;
        }
        let (words, lines) = words(&text);
        for banned in BANNED {
            let banned = format!(" {banned} ");
            let found = words.match_indices(&banned);
            faults.extend(found.map(|(at, _)| format!("{path}:{}:{banned}", lines[at + 1])));
        }
    }
    report("banned words", &faults);
}

/// A doc comment, and the code after it.
struct Doc<'a> {
    /// Line of the file, counted from 1.
    line: usize,
    /// First line of the comment.
    text: &'a str,
    /// Rest of the file after the comment and the attributes.
    item: &'a str,
}

/// Returns the doc comments of a source text, those of items (`///`) and of modules (`//!`).
fn docs(text: &str) -> Vec<Doc<'_>> {
    let lines: Vec<&str> = text.lines().collect();
    let marker = |at: usize| lines.get(at).and_then(|line| line.trim_start().get(..3));
    let is_doc = |at: usize| matches!(marker(at), Some("///" | "//!"));
    let starts = (0..lines.len()).filter(|&at| is_doc(at) && !(at > 0 && marker(at - 1) == marker(at)));
    let doc = |at: usize| {
        let is_before_item = |line: &&&str| {
            let line = line.trim_start();
            line.is_empty() || line.starts_with("//") || line.starts_with("#[")
        };
        let item = at + lines[at..].iter().take_while(is_before_item).count();
        let offset = lines[..item].iter().map(|line| line.len() + 1).sum::<usize>();
        let item = text.get(offset..).unwrap_or_default();
        Doc { line: at + 1, text: lines[at].trim_start()[3..].trim(), item }
    };
    starts.map(doc).collect()
}

/// Returns the declaration at the start of an item: everything before its body or its end.
fn declaration(item: &str) -> &str {
    let mut brackets = 0;
    let end = item.find(|c| {
        brackets += i32::from(c == '(' || c == '[') - i32::from(c == ')' || c == ']');
        brackets <= 0 && matches!(c, '{' | ';' | ',')
    });
    &item[..end.unwrap_or(item.len())]
}

#[test]
fn doc_comments_begin_with_a_noun_or_a_verb() {
    let mut faults = Vec::new();
    for folder in DOCUMENTED {
        let files = files(&[folder], &[".rs"]);
        let blocks: Vec<_> = files
            .iter()
            .flat_map(|(path, text)| docs(text).into_iter().map(move |doc| (path, doc)))
            .collect();
        assert!(blocks.len() > 100, "{folder}: {} doc comments were found", blocks.len());
        let first =
            |doc: &Doc<'_>| doc.text.split(|c: char| !c.is_alphanumeric()).next().unwrap_or("").to_owned();
        let questions = blocks.iter().filter(|(_, doc)| QUESTION_WORDS.contains(&&*first(doc)));
        let questions: Vec<String> =
            questions.map(|(path, doc)| format!("{path}:{}: {}", doc.line, doc.text)).collect();
        if questions.len() * 100 > blocks.len() * QUESTIONS_PERCENT_MAX {
            faults.push(format!(
                "{folder}: {} of {} begin with {}, more than {QUESTIONS_PERCENT_MAX} %",
                questions.len(),
                blocks.len(),
                QUESTION_WORDS.join(", ")
            ));
            faults.extend(questions);
        }
        // Columns of the simulation's state hold a flag in a byte.
        let is_flag =
            |doc: &Doc<'_>| ["bool", "Bool", ": u8"].iter().any(|of| declaration(doc.item).contains(of));
        let others = blocks.iter().filter(|(_, doc)| first(doc) == "Whether" && !is_flag(doc));
        faults.extend(others.map(|(path, doc)| format!("{path}:{}: no flag: {}", doc.line, doc.text)));
    }
    report("doc comments without subject or verb", &faults);
}

#[test]
fn documents_name_files_that_exist() {
    let sources = files(&["src", "tests", "benches", "docs", "assets"], &[".rs"]);
    let mut faults = Vec::new();
    let documents = files(&["docs", "README.md"], &[".md"]);
    // History names files as they were called.
    for (path, text) in documents.into_iter().filter(|(path, _)| !path.starts_with("docs/history/")) {
        for (number, line) in text.lines().enumerate() {
            let is_path = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
            for name in line.split(|c| !is_path(c)).filter(|name| name.ends_with(".rs") && name.len() > 3) {
                let name = name.trim_start_matches("../");
                let is_there = |source: &String| source == name || source.ends_with(&format!("/{name}"));
                if !sources.keys().any(is_there) {
                    faults.push(format!("{path}:{}: {name}", number + 1));
                }
            }
        }
    }
    report("files that do not exist", &faults);
}

/// The modules of a crate: the path of each from its root, and its file.
fn modules(folder: &str, root: &str) -> BTreeMap<Vec<String>, String> {
    let is_other = |path: &str| {
        let others = CRATES.iter().filter(|(other, _)| other.len() > folder.len());
        { others }.any(|(other, _)| path.starts_with(&format!("{other}/")))
    };
    let is_left_out =
        |path: &str| path.ends_with("tests.rs") || path.ends_with("/build.rs") || is_other(path);
    let module = |path: &str| {
        let path = path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(".rs")?;
        let path = path.strip_suffix("/mod").unwrap_or(path);
        let names = path.split('/').map(str::to_owned);
        Some(if path == root { Vec::new() } else { names.collect::<Vec<_>>() })
    };
    let files = files(&[folder], &[".rs"]).into_keys().filter(|path| !is_left_out(path));
    files.filter_map(|path| Some((module(&path)?, path))).collect()
}

/// All paths that begin with `crate`, `self` or `super` in some code, with those of groups spelled out.
fn paths(code: &str) -> Vec<Vec<String>> {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut found = Vec::new();
    for root in ["crate", "self", "super"] {
        for (at, _) in code.match_indices(&format!("{root}::")) {
            // A path behind `in` says who may see something, and imports nothing.
            let is_visibility = code[..at].ends_with("(in ");
            let is_start = !is_visibility && !code[..at].ends_with(|c| is_word(c) || c == ':');
            if is_start {
                spell_out(&code[at..], &mut Vec::new(), &mut found);
            }
        }
    }
    found
}

/// Reads a path at the start of `code`, behind `before`; a group gives a path for each of its members. What is
/// left of the code.
fn spell_out<'a>(code: &'a str, before: &mut Vec<String>, found: &mut Vec<Vec<String>>) -> &'a str {
    let len = before.len();
    let mut rest = code;
    loop {
        rest = rest.trim_start();
        let name: String = rest.chars().take_while(|&c| c.is_alphanumeric() || c == '_').collect();
        rest = &rest[name.len()..];
        before.push(name);
        let Some(behind) = rest.strip_prefix("::") else { break };
        rest = behind;
        if let Some(group) = rest.strip_prefix('{') {
            rest = group;
            while !rest.starts_with('}') && !rest.is_empty() {
                rest = spell_out(rest, before, found).trim_start();
                // What is between two members: a comma, or a new name.
                rest = rest.find([',', '}']).map_or("", |end| &rest[end..]);
                rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
            }
            before.truncate(len);
            return rest.strip_prefix('}').unwrap_or(rest);
        }
    }
    found.push(before.clone());
    before.truncate(len);
    rest
}

/// The files that each file of a crate imports from. Names that a module only passes on count for the module that they
/// come from.
fn imports(folder: &str, root: &str) -> BTreeMap<String, BTreeSet<String>> {
    let modules = modules(folder, root);
    let mut passed_on = BTreeMap::new();
    let mut uses = Vec::new();
    for (module, path) in &modules {
        let text = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).expect("text");
        let code = code_of(text.split("\nmod tests {").next().unwrap_or_default());
        for statement in code.split(';').filter_map(|statement| statement.split("pub use ").nth(1)) {
            for mut name in paths(statement) {
                let absolute = resolved(module, &mut name);
                passed_on.insert([&module[..], &absolute[absolute.len() - 1..]].concat(), absolute);
            }
        }
        uses.extend(paths(&code).into_iter().map(|mut name| (module, resolved(module, &mut name))));
    }
    let mut imports: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (module, name) in uses {
        let name = passed_on.get(&name).unwrap_or(&name);
        let Some(target) = (1..=name.len()).rev().find_map(|len| modules.get_key_value(&name[..len])) else {
            continue;
        };
        // A parent that names its own child declares or passes it on.
        if target.0 != module && !target.0.starts_with(module) {
            imports.entry(modules[module].clone()).or_default().insert(target.1.clone());
        }
    }
    imports
}

/// A path from the crate's root, for one in `module`.
fn resolved(module: &[String], name: &mut Vec<String>) -> Vec<String> {
    let mut from = if name[0] == "crate" { Vec::new() } else { module.to_vec() };
    while let Some(first) = name.first().filter(|first| ["crate", "self", "super"].contains(&first.as_str()))
    {
        if first == "super" {
            from.pop();
        }
        name.remove(0);
    }
    from.append(name);
    from
}

/// A way from `file` back to itself, if there is one.
fn cycle_of(file: &str, imports: &BTreeMap<String, BTreeSet<String>>) -> Option<Vec<String>> {
    let mut seen = BTreeSet::new();
    let mut open = vec![vec![file.to_owned()]];
    while let Some(way) = open.pop() {
        for next in imports.get(way.last()?).into_iter().flatten() {
            let longer = [&way[..], std::slice::from_ref(next)].concat();
            if next == file {
                return Some(longer);
            }
            if seen.insert(next.clone()) {
                open.push(longer);
            }
        }
    }
    None
}

#[test]
fn no_import_cycles() {
    let mut faults = Vec::new();
    for (folder, root) in CRATES {
        let imports = imports(folder, root);
        assert!(imports.len() > 2, "{folder}: the imports of {} files were found", imports.len());
        // What the root passes on is for others: by it a file could import back unseen.
        let root = format!("{folder}/{root}.rs");
        let by_root = imports.iter().filter(|(_, targets)| targets.contains(&root));
        faults.extend(by_root.map(|(file, _)| format!("{file} imports from {root}")));
        faults.extend(imports.keys().filter_map(|file| cycle_of(file, &imports)).map(|way| way.join(" > ")));
    }
    report("import cycles", &faults);
}

#[test]
fn doc_comments_are_told_from_other_lines() {
    let text = "//! What\n//! it is.\n\n// How not.\n/// Whether\n#[must_use]\nfn a(\n    b: [u8; 2],\n) -> bool {\n";
    let docs = docs(text);
    let found: Vec<_> = docs.iter().map(|doc| (doc.line, doc.text, declaration(doc.item))).collect();
    assert_eq!(found[0].0, 1);
    assert_eq!(found[0].1, "What");
    assert_eq!(found[1..], [(5, "Whether", "fn a(\n    b: [u8; 2],\n) -> bool ")]);
}

#[test]
fn code_is_told_from_text() {
    let text =
        "fn a() { let s = \"{ // \\\" {\"; let c = '{'; let l: &'a str = r#\"}\"#; } /* { */\nfn b();\n";
    let code = code_of(text);
    assert_eq!(code.matches('{').count(), 1, "{code}");
    assert_eq!(functions(&code), [("a".to_owned(), 1, 1)]);
    let found = paths("use super::b::{self, C, d::{E, F as G}, H}; crate::sim::i();");
    let found: Vec<String> = found.iter().map(|path| path.join("::")).collect();
    let expected =
        ["crate::sim::i", "super::b::self", "super::b::C", "super::b::d::E", "super::b::d::F", "super::b::H"];
    assert_eq!(found, expected);
}
