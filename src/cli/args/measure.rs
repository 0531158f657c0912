//! Arguments of `arena bench`.

use clap::Args;

use sim::UNITS_MAX;

#[derive(Args, Debug)]
pub(crate) struct BenchArguments {
    /// Number of units in a battle; may be given more than once. 200, 2000, 10000 and 50000 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(10..=UNITS_MAX as i64))]
    pub(crate) units: Vec<u32>,
    /// Measure too briefly for meaningful figures: for tests.
    #[arg(long, hide = true)]
    pub(crate) brief: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}
