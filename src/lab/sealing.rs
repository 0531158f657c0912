//! What it costs to seal and to open datagrams.

use std::hint::black_box;

use super::timing::{median, timed};
use net::{OpeningRoom, PacketProtection};

/// Bytes of the body of an idle tick's inputs.
const BODY_BYTES: usize = 10;
/// Datagrams that a peer sends to each other, and receives from it, a second: one each tick at 60 ticks a second, two
/// pings and two answers.
const DATAGRAMS_PER_S: f64 = 64.0;
/// Timed one after the other; the figure is the median.
const ROUNDS: usize = 9;

/// What packet protection costs.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct SealingFigures {
    /// Of the datagram, with envelope and tag.
    pub bytes: usize,
    /// Nanoseconds to seal one.
    pub seal_ns: f64,
    /// Nanoseconds to open one.
    pub open_ns: f64,
    /// Per cent of a core in a match of four peers, idle, at 60 ticks a second.
    pub core_percent: f64,
}

/// Measures it over this many datagrams a round.
pub(super) fn sealing(datagrams: usize) -> SealingFigures {
    let mut here = PacketProtection::encrypted((1, 2), [1; 32], [2; 32]);
    let mut there = PacketProtection::encrypted((2, 1), [2; 32], [1; 32]);
    let (mut seal_ns, mut open_ns, mut bytes) = (Vec::new(), Vec::new(), 0);
    let mut sealed = Vec::with_capacity(datagrams);
    let ns_each = |time: std::time::Duration| time.as_nanos() as f64 / datagrams as f64;
    for _ in 0..ROUNDS {
        sealed.clear();
        let time = timed(|| sealed.extend((0..datagrams).map(|_| here.seal(1, black_box(&[7; BODY_BYTES])))));
        seal_ns.push(ns_each(time));
        let mut room = OpeningRoom::new();
        let time = timed(|| {
            for datagram in &sealed {
                bytes = datagram.bytes().len();
                black_box(there.open(datagram.bytes(), &mut room)).expect("authentic");
            }
        });
        open_ns.push(ns_each(time));
    }
    let (seal_ns, open_ns) = (median(seal_ns), median(open_ns));
    SealingFigures { bytes, seal_ns, open_ns, core_percent: core_percent(seal_ns, open_ns) }
}

/// Percent of a core that three links take, with [`DATAGRAMS_PER_S`] each way.
fn core_percent(seal_ns: f64, open_ns: f64) -> f64 {
    3.0 * DATAGRAMS_PER_S * (seal_ns + open_ns) / 1e9 * 100.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_datagram_is_sealed_and_opened() {
        let figures = sealing(10);
        assert_eq!(figures.bytes, BODY_BYTES + 23);
        assert!((core_percent(1_000.0, 1_000.0) - 0.0384).abs() < 1e-9);
    }
}
