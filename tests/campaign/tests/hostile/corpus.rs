//! The targets of `tests/fuzz` over the inputs that are stored for them.

use std::fs;
use std::path::Path;

use super::targets::TARGETS;

#[test]
fn what_a_fuzzer_has_found_ends_no_process() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../fuzz/corpus");
    for (name, target) in TARGETS {
        let mut inputs = 0;
        for file in fs::read_dir(corpus.join(name)).expect("a folder for each target") {
            let file = file.expect("readable").path();
            println!("{}", file.display());
            target(&fs::read(file).expect("readable"));
            inputs += 1;
        }
        assert!(inputs > 0, "nothing is stored for {name}");
    }
}
