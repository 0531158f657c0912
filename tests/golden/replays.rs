//! The replays in `replays/` simulate to the states that were recorded, on every machine, in debug and in
//! release.

use std::path::{Path, PathBuf};

use replay::{EXTENSION, Verdict, info, verify};
use sim::SIMULATION_BUILD;

#[test]
fn the_golden_replays_are_equal() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("replays");
    let files = std::fs::read_dir(&folder).expect("the folder is part of the repository");
    let mut files: Vec<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == EXTENSION));
    files.sort();
    assert!(!files.is_empty(), "{} holds no replay", folder.display());
    for file in files {
        let build = info(&file).expect("a replay").header.expect("whole").simulation_build;
        assert_eq!(
            build,
            SIMULATION_BUILD,
            "{} is of another simulation build: record it anew, as replays/README.md says",
            file.display()
        );
        let report = verify(&file, |_| {}).expect("a replay");
        assert_eq!(report.verdict, Verdict::Equal, "{}: {}", file.display(), report.reason);
    }
}
