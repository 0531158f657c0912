//! How long a guest on the same machine waits for its seat: the handshake with its cookie and both key exchanges.

use serde::Serialize;

use crate::arena::Arena;

/// Milliseconds from the line before the guest's first datagram to the line after its seat, in order.
#[derive(Serialize)]
pub(crate) struct JoinReport(Vec<f64>);

/// Joins `runs` matches, one after the other.
pub(crate) fn measure(arena: &Arena, seed: u64, runs: u64) -> anyhow::Result<JoinReport> {
    let took = (0..runs).map(|run| Ok(arena.join(seed * 1000 + run)?.as_secs_f64() * 1e3));
    let mut took = took.collect::<anyhow::Result<Vec<f64>>>()?;
    took.sort_by(f64::total_cmp);
    Ok(JoinReport(took))
}

impl JoinReport {
    pub(crate) fn text(&self) -> String {
        let at = |share: usize| self.0.get((self.0.len() - 1) * share / 100).copied().unwrap_or_default();
        format!("{} joins: median {:.1} ms, longest {:.1} ms", self.0.len(), at(50), at(100))
    }
}
