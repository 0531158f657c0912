//! Cost of sealing and opening datagrams.

use std::hint::black_box;

use super::timing::{median, timed};
use net::{OpeningRoom, PacketProtection};

/// Size of the body of an idle tick's inputs, in bytes.
const BODY_BYTES: usize = 10;
/// Rate of datagrams from a peer to each other peer, and back, per second: one per tick at 60 ticks/s, two pings and
/// two answers.
const DATAGRAMS_PER_S: f64 = 64.0;
/// Number of rounds; the median over the rounds is reported.
const ROUNDS: usize = 9;

/// Cost of packet protection.
#[derive(Clone, Copy, Debug, serde::Serialize)]
pub struct SealingFigures {
    /// Size of the datagram with envelope and tag, in bytes.
    pub bytes: usize,
    /// Nanoseconds to seal a datagram.
    pub seal_ns: f64,
    /// Nanoseconds to open a datagram.
    pub open_ns: f64,
    /// Share of a core in an idle match of four peers at 60 ticks/s, in percent.
    pub core_percent: f64,
}

/// Measures the cost over this many datagrams per round.
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

/// Computes the share of a core for three links with [`DATAGRAMS_PER_S`] each way, in percent.
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
