//! Fuzzes the target that has the name of this program: all are one program, which may be copied under their names.
#![no_main]

use std::sync::LazyLock;

static TARGET: LazyLock<fn(&[u8])> = LazyLock::new(|| {
    let program = std::env::current_exe().expect("a program has a path");
    arena_fuzz::target(&program.file_stem().expect("and a name").to_string_lossy())
});

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| TARGET(bytes));
