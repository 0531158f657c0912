//! The study: the same commands on the same links under every architecture, with the costs and benefits of each.

mod agreement;
mod analysis;
mod bounds;
mod cell_spec;
mod comparison;
mod findings;
mod latencies;
mod metric;
mod order_row;
mod page;
mod plan;
mod preset;
mod real;
mod row;
mod script;
mod statistics;
mod study;
mod study_file;
mod summary;
mod table;
mod trial;
mod validity;
pub mod wording;

pub use super::simnet::{AccessFault, LinkTrace, LinkTraceError, Outages, Path, TRACE_BYTES_MAX};
pub use agreement::{AGREES_CELLS, AGREES_MS, AGREES_SHARE, Agreement, CellAgreement};
pub use analysis::Analysis;
pub use bounds::{Bounds, bounds};
pub use cell_spec::{CellSpec, InvalidCellSpec};
pub use comparison::{Comparison, Factor, Verdict};
pub use findings::Digest;
pub use metric::{LatencyKind, Measure, Percentile};
pub use order_row::{ORDER_COLUMNS, OrderRow, write_order_names, write_orders};
pub use page::{figure_files, page};
pub use plan::{ARCHITECTURES, FIRST_SEED, Size, plan};
pub use preset::{BAD_LINKS, BadLink, PRESETS, Preset, bad_link_of, path_of};
pub use real::{LATENESS_MAX, RealError, RealOptions, RealStudy, real, real_cells, real_of};
pub use row::{
    Cell, Experiment, MatchRow, Quantiles, RowError, Series, Source, Topology, base_cell, read_rows,
    write_row, write_rows,
};
pub use script::{COMMANDS_PER_S, Recorded, drawn_scripts};
pub use statistics::{Mean, equivalence_p, holm, paired, paired_p, wilson};
pub use study::{Played, StudyError, StudyErrorKind, StudyOptions, study, study_of};
pub use study_file::{STUDY_BYTES_MAX, Study, StudyFileError};
pub use summary::{CellSummary, summarize};
pub use table::{SCALE_COLUMNS, Table};
pub use trial::{Figures, Screens, Trial, TrialError, WARM_UP};
pub use validity::{CheckResult, Validity};
