//! The study: the same commands on the same links under every architecture, and what each costs and gives.

mod analysis;
mod bounds;
mod comparison;
mod digest;
mod findings;
mod page;
mod row;
mod statistics;
mod study_file;
mod summary;
mod validity;
pub mod wording;

pub use analysis::Analysis;
pub use bounds::{Bounds, bounds};
pub use comparison::{Comparison, Factor};
pub use digest::Digest;
pub use findings::BreakEven;
pub use page::page;
pub use row::{Cell, MatchRow, Quantiles, RowError, Series, Source, Topology, View, read_rows, write_rows};
pub use statistics::{Mean, holm, paired, paired_p};
pub use study_file::{Study, StudyFileError};
pub use summary::{CellSummary, Measure, Share, Span, summarize};
pub use validity::{CheckResult, Validity};
