//! The study: the same commands on the same links under every architecture, and what each costs and gives.

mod analysis;
mod bounds;
mod comparison;
mod digest;
mod findings;
mod page;
mod plan;
mod preset;
mod row;
mod script;
mod statistics;
mod study;
mod study_file;
mod summary;
mod trial;
mod validity;
mod weather;
mod wire;
pub mod wording;

pub use analysis::Analysis;
pub use bounds::{Bounds, bounds};
pub use comparison::{Comparison, Factor};
pub use digest::Digest;
pub use findings::BreakEven;
pub use page::page;
pub use plan::{ARCHITECTURES, FIRST_SEED, Size, base_cell, plan};
pub use preset::{PRESETS, Preset, way_of};
pub use row::{Cell, MatchRow, Quantiles, RowError, Series, Source, Topology, View, read_rows, write_rows};
pub use script::{COMMANDS_PER_S, Recorded, drawn_scripts};
pub use statistics::{Mean, holm, paired, paired_p};
pub use study::{StudyError, StudyErrorKind, StudyOptions, study, study_of};
pub use study_file::{Study, StudyFileError};
pub use summary::{CellSummary, Measure, Share, Span, summarize};
pub use trial::{Screens, Trial, TrialError, WARM_UP};
pub use validity::{CheckResult, Validity};
pub use weather::{Outages, Way};
