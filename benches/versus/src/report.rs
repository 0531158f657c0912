//! Figures as a table and as JSON, and the goals beside them.

use comfy_table::Table;
use serde::Serialize;
use serde_json::{Value, json};

use crate::cell::{Cell, Goal};
use crate::figures::Figures;
use crate::session::SessionReport;
use crate::table::right;

/// Everything that was measured.
#[derive(Default)]
pub(crate) struct Report {
    pub(crate) cells: Vec<CellReport>,
    pub(crate) session: Option<SessionReport>,
}

/// A link.
#[derive(Serialize)]
pub(crate) struct CellReport {
    #[serde(flatten)]
    cell: Cell,
    base_ms: f64,
    /// Ours, then those of ggrs, rollback last.
    programs: Vec<Lane>,
    goals: Vec<Goal>,
}

/// A program on a link.
#[derive(Serialize)]
pub(crate) struct Lane {
    pub(crate) program: &'static str,
    /// Where it is a number of ticks.
    pub(crate) delay_ticks: Option<usize>,
    pub(crate) median: Figures,
    pub(crate) runs: Vec<Figures>,
}

impl CellReport {
    /// `theirs` are one or two of lockstep, of which the first counts for the goals, and rollback.
    pub(crate) fn new(cell: Cell, ours: Lane, theirs: Vec<Lane>) -> Self {
        let lockstep = theirs.first().map(|lane| &lane.median);
        let goals = match theirs.last() {
            Some(rollback) => cell.goals(&ours.median, lockstep, &rollback.median),
            None => Vec::new(),
        };
        let programs = std::iter::once(ours).chain(theirs).collect();
        Self { cell, base_ms: cell.base_ms(), programs, goals }
    }
}

impl Report {
    pub(crate) fn json(&self) -> Value {
        json!({ "links": self.cells, "session": self.session })
    }

    pub(crate) fn text(&self) -> String {
        let links =
            (!self.cells.is_empty()).then(|| format!("{}\n\n{}", self.links_table(), self.goals_text()));
        let session = self.session.as_ref().map(SessionReport::text);
        [links, session].into_iter().flatten().collect::<Vec<_>>().join("\n\n")
    }

    fn links_table(&self) -> Table {
        let mut table = Table::new();
        table.set_header([
            "link",
            "base ms",
            "program",
            "delay",
            "p50",
            "p99",
            "p50 in state",
            "p99 in state",
            "click p50",
            "click p99",
            "stalled % (network)",
            "longest ms",
            "ticks/s",
            "kbit/s",
            "datagrams/s",
            "proxy late",
            "goals",
        ]);
        for cell in &self.cells {
            for (nth, lane) in cell.programs.iter().enumerate() {
                let (of_cell, figures) = (nth == 0, &lane.median);
                let first = |text: String| if of_cell { text } else { String::new() };
                table.add_row([
                    first(cell.cell.to_string()),
                    first(format!("{:.1}", cell.base_ms)),
                    lane.program.to_owned(),
                    lane.delay_ticks.map_or("auto".to_owned(), |delay| delay.to_string()),
                    format!("{:.1}", figures.opponent_p50_ms),
                    format!("{:.1}", figures.opponent_p99_ms),
                    format!("{:.1}", figures.settled_p50_ms),
                    format!("{:.1}", figures.settled_p99_ms),
                    format!("{:.1}", figures.click_p50_ms),
                    format!("{:.1}", figures.click_p99_ms),
                    format!("{:.2} ({:.2})", figures.stalled_percent, figures.stalled_by_network_percent),
                    format!("{:.1}", figures.longest_stall_ms),
                    format!("{:.2}", figures.ticks_per_s),
                    format!("{:.1}", figures.kbit_per_s),
                    format!("{:.1}", figures.datagrams_per_s),
                    format!("{:.2}", figures.proxy_late_p99_ms),
                    first(verdict(&cell.goals)),
                ]);
            }
        }
        right(&mut table, &[0, 2, 16]);
        table
    }

    fn goals_text(&self) -> String {
        let goals = || self.cells.iter().flat_map(|cell| cell.goals.iter().map(move |goal| (cell, goal)));
        let missed = goals().filter(|(_, goal)| !goal.met).map(|(cell, goal)| {
            format!("missed at {}: {} {:.2}, goal {:.2}", cell.cell, goal.what, goal.measured, goal.limit)
        });
        let met = goals().filter(|(_, goal)| goal.met).count();
        let sum = format!("{met} of {} goals met", goals().count());
        std::iter::once(sum).chain(missed).collect::<Vec<_>>().join("\n")
    }
}

fn verdict(goals: &[Goal]) -> String {
    match goals.iter().filter(|goal| !goal.met).count() {
        0 => "met".to_owned(),
        missed => format!("{missed} of {} missed", goals.len()),
    }
}
