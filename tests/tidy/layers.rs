//! Who may import whom, for the modules that the compiler does not part: the table in
//! `docs/ARCHITECTURE.md`. `tests/layer_sim.rs` and `tests/layer_net.rs` part the two lowest by compiling.

use std::fs;
use std::path::{Path, PathBuf};

/// Each module of the library, and the modules it may import beside itself.
const MAY_IMPORT: [(&str, &[&str]); 7] = [
    ("sim", &[]),
    ("net", &["sim"]),
    ("transport", &["net"]),
    ("replay", &["sim"]),
    ("bot", &["sim"]),
    ("game", &["sim", "net", "transport", "replay", "bot"]),
    ("lab", &["sim", "net", "transport", "replay", "bot", "game"]),
];

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("readable") {
        let path = entry.expect("readable").path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The sources of a module, its file beside its folder included.
fn texts(module: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    sources(&Path::new(env!("CARGO_MANIFEST_DIR")).join("src").join(module), &mut found);
    assert!(!found.is_empty(), "{module} has no source");
    found.into_iter().map(|path| (path.clone(), fs::read_to_string(path).expect("text"))).collect()
}

#[test]
fn modules_import_downwards_only() {
    let library = include_str!("../../src/lib.rs");
    let modules = library.lines().filter_map(|line| line.strip_prefix("pub mod ")?.strip_suffix(';'));
    for module in modules {
        assert!(MAY_IMPORT.iter().any(|(known, _)| *known == module), "{module} has no row");
    }
    for (module, may) in MAY_IMPORT {
        for (path, text) in texts(module) {
            for after in text.split("crate::").skip(1) {
                let name: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let is_module = MAY_IMPORT.iter().any(|(known, _)| *known == name);
                let is_allowed = name == module || may.contains(&name.as_str()) || !is_module;
                assert!(is_allowed, "{}: {module} imports {name}", path.display());
                assert_ne!(name, "", "{}: `crate::{{…}}` hides what is imported", path.display());
            }
        }
    }
}

/// The layer tests see no `std` where nobody asks for it by name.
#[test]
fn only_tests_ask_for_the_standard_library() {
    for module in ["sim", "net"] {
        for (path, text) in texts(module) {
            let is_test = path.to_string_lossy().ends_with("_tests.rs");
            let code = text.split("#[cfg(test)]").next().unwrap_or_default();
            assert!(is_test || !code.contains("extern crate std"), "{}", path.display());
        }
    }
}
