//! The study: the same commands on the same links under every architecture, and what each costs and gives.

mod row;

pub use row::{Cell, MatchRow, Quantiles, RowError, Source, Topology, View, read_rows, write_rows};
