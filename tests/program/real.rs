//! The study between real processes: every architecture gives whole rows, and nothing is quicker than its way.

use std::path::PathBuf;

use lab::compare::{ARCHITECTURES, Cell, RealOptions, Size, Source, base_cell, bounds, real_of};

#[test]
fn each_architecture_gives_a_row_and_none_is_quicker_than_its_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let cells = ARCHITECTURES.map(|architecture| Cell { rtt_ms: 60.0, ..base_cell(architecture) });
    let options = RealOptions {
        program: PathBuf::from(env!("CARGO_BIN_EXE_arena")),
        size: Size::Quick,
        seeds: Some(1),
        jobs: cells.len(),
        folder: folder.path().to_owned(),
    };
    let study = real_of(&cells, &options, |_, _| {}).expect("all are played");
    // Beside each of them the same match in virtual time.
    let (real, twins): (Vec<_>, Vec<_>) = study.rows.iter().partition(|row| row.source == Source::Real);
    assert_eq!([real.len(), twins.len()], [cells.len(); 2]);
    for ((cell, row), twin) in cells.iter().zip(real).zip(twins) {
        assert_eq!((&row.cell, &twin.cell), (cell, cell));
        assert!(row.commands >= 20 && row.censored == 0, "{cell}: {} of {}", row.censored, row.commands);
        assert!(row.state_hash != 0 && row.tick_rate > 0.0 && row.lateness_ms.is_some(), "{cell}");
        let bounds = bounds(cell);
        let p50 = |latency: &lab::compare::Quantiles| latency.p50().expect("commands ran");
        assert!(p50(&row.opponent_confirmed_ms) > bounds.opponent_ms - bounds.error_ms, "{cell}");
        assert!(p50(&row.opponent_ms) >= p50(&row.opponent_confirmed_ms), "{cell}");
        assert!(p50(&row.own_predicted_ms) <= p50(&row.own_ms), "{cell}: prediction shows no later");
        assert!(row.kbit_s_up > 1.0 && row.kbit_s_down > 1.0, "{cell}");
    }
}
