//! `arena bench`.

use comfy_table::{CellAlignment, Table};
use std::process::ExitCode;
use std::time::Duration;

use super::args::BenchArguments;
use super::console::{print, progress_of_parts};
use lab::{BenchOptions, BenchReport, UNITS, bench};

/// Measures and reports.
pub(crate) fn run(arguments: &BenchArguments) -> anyhow::Result<ExitCode> {
    let units = match arguments.units.as_slice() {
        [] => UNITS.to_vec(),
        units => units.iter().map(|&units| units as usize).collect(),
    };
    let mut options = BenchOptions { units, ..BenchOptions::default() };
    if arguments.brief {
        (options.round, options.replay_ticks) = (Duration::from_millis(5), 600);
        (options.coded_units, options.datagrams) = (400, 100);
    }
    let (bar, progress) = progress_of_parts("{bar:40} {pos}/{len}  measuring");
    let report = bench(&options, progress)?;
    bar.finish_and_clear();
    print(arguments.json, || serde_json::to_value(&report).expect("plain data"), || as_text(&report));
    Ok(ExitCode::SUCCESS)
}

fn as_text(report: &BenchReport) -> String {
    let mut table = Table::new();
    table.set_header([
        "units",
        "ns per unit and tick",
        "ms per tick",
        "hash us",
        "% of a tick",
        "snapshot us",
    ]);
    for row in &report.simulation {
        let tick_us = row.ns_per_unit_tick * row.units as f64 / 1000.0;
        table.add_row([
            row.units.to_string(),
            format!("{:.1}", row.ns_per_unit_tick),
            format!("{:.3}", tick_us / 1000.0),
            format!("{:.2}", row.hash_us),
            format!("{:.1}", 100.0 * row.hash_us / tick_us),
            format!("{:.2}", row.snapshot_us),
        ]);
    }
    for column in table.column_iter_mut() {
        column.set_cell_alignment(CellAlignment::Right);
    }
    let coding = report.coding.map(|row| {
        format!(
            "a state {} ticks later: {:.0} % of {} units changed; {:.1} bytes a unit, {:.0} ns to encode, \
             {:.0} ns to decode\n",
            row.ticks,
            row.changed_percent,
            row.units,
            row.bytes_per_unit,
            row.encode_ns_per_unit,
            row.decode_ns_per_unit
        )
    });
    format!(
        "{table}\none thread, full rules, medians of processor time\n\
         {}\
         a datagram of {} bytes: {:.0} ns to seal, {:.0} ns to open; with four players {:.3} % of a core\n\
         replay of a standard match: {:.0} x real time; with 200 units: {:.0} x; every recorded hash compared",
        coding.concat(),
        report.sealing.bytes,
        report.sealing.seal_ns,
        report.sealing.open_ns,
        report.sealing.core_percent,
        report.replay_x_real_time,
        report.replay_200_units_x_real_time
    )
}
