//! The study: the same commands on the same links under every architecture, and what each costs and gives.

mod bounds;
mod plan;
mod preset;
mod row;
mod script;
mod study;
mod trial;
mod weather;
mod wire;

pub use bounds::{Bounds, bounds};
pub use plan::{ARCHITECTURES, FIRST_SEED, Size, base_cell, plan};
pub use preset::{PRESETS, Preset, way_of};
pub use row::{Cell, MatchRow, Quantiles, RowError, Source, Topology, View, read_rows, write_rows};
pub use script::{COMMANDS_PER_S, Recorded, drawn_scripts};
pub use study::{StudyError, StudyErrorKind, StudyOptions, study, study_of};
pub use trial::{Screens, Trial, TrialError, WARM_UP};
pub use weather::{Outages, Way};
