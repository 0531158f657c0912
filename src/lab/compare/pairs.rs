//! Pairs of players and the best server for them, from measured round trips between countries instead of a server
//! half-way.
//!
//! The round trips are averages of the pings of RIPE Atlas on five days of March and April 2025, country by country, which
//! the authors of Ouroboros Leios have published: `data/internet` of <https://github.com/input-output-hk/ouroboros-leios>.
//! Of its 484 pairs of countries in Europe (27), America (8), and Asia with Oceania (13) that have 1,000 pings or more, 24
//! were drawn with equal chances, each number rounded to a millisecond. A pair plays in the country, of those in which
//! large clouds have computers, whose longer round trip to the two is the shortest. Of all 484 the direct path is the shorter one
//! in 96 %; at the median by 13 ms one way.

use core::time::Duration;

use super::row::Cell;

/// Two players and a server.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Pair {
    /// The countries of the players and of the server, by their codes.
    pub name: &'static str,
    /// Round trip between the players.
    pub direct_ms: f64,
    /// Round trip from each to the server.
    pub to_server_ms: [f64; 2],
}

/// All that are played, continent by continent, from near to far.
pub const PAIRS: [Pair; 24] = [
    pair("NL-NL-NL", 29.0, [29.0, 29.0]),
    pair("CZ-FI-SE", 38.0, [30.0, 16.0]),
    pair("FR-IT-FR", 42.0, [37.0, 42.0]),
    pair("DE-FR-IT", 43.0, [35.0, 42.0]),
    pair("BE-DK-NL", 50.0, [46.0, 29.0]),
    pair("GB-NL-NL", 52.0, [52.0, 29.0]),
    pair("IT-UA-PL", 53.0, [41.0, 30.0]),
    pair("BG-LV-SE", 57.0, [38.0, 25.0]),
    pair("BG-FI-SE", 58.0, [38.0, 16.0]),
    pair("ES-NO-DE", 58.0, [46.0, 38.0]),
    pair("IE-NL-IE", 62.0, [40.0, 62.0]),
    pair("FR-UA-PL", 64.0, [48.0, 30.0]),
    pair("BE-RO-NL", 72.0, [46.0, 49.0]),
    pair("ES-IE-NL", 72.0, [48.0, 62.0]),
    pair("FI-RS-SE", 74.0, [16.0, 66.0]),
    pair("GB-RO-NL", 79.0, [52.0, 49.0]),
    pair("AT-IE-NL", 89.0, [54.0, 62.0]),
    pair("CL-PE-CL", 95.0, [42.0, 95.0]),
    pair("CA-CO-CA", 107.0, [29.0, 107.0]),
    pair("BR-PE-BR", 123.0, [41.0, 123.0]),
    pair("CA-AR-BR", 186.0, [148.0, 100.0]),
    pair("TH-ID-HK", 43.0, [60.0, 56.0]),
    pair("TW-ID-HK", 73.0, [23.0, 56.0]),
    pair("KR-SG-JP", 175.0, [5.0, 77.0]),
];

const fn pair(name: &'static str, direct_ms: f64, to_server_ms: [f64; 2]) -> Pair {
    Pair { name, direct_ms, to_server_ms }
}

/// The pair that a cell is about, if it is about one.
#[must_use]
pub fn pair_of(cell: &Cell) -> Option<&'static Pair> {
    PAIRS.iter().find(|pair| pair.name == cell.preset)
}

impl Pair {
    /// Round trip from one player to the other through the server.
    #[must_use]
    pub fn through_server_ms(&self) -> f64 {
        self.to_server_ms.iter().sum()
    }

    /// One way from each player and from the server to the middle of the network, so that any two of them together are the
    /// path between these; and by how much the direct path is longer where it leads farther than through the server.
    #[must_use]
    pub fn lengths(&self) -> ([Duration; 3], Duration) {
        let (direct, [a, b]) = (self.direct_ms, self.to_server_ms);
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1000.0);
        if direct > a + b {
            return ([a / 2.0, b / 2.0, 0.0].map(ms), ms((direct - a - b) / 2.0));
        }
        ([direct + a - b, direct + b - a, a + b - direct].map(|rtt| ms(rtt / 4.0)), Duration::ZERO)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_make_the_paths_that_were_measured() {
        for (at, pair) in PAIRS.iter().enumerate() {
            assert!(PAIRS[..at].iter().all(|other| other.name != pair.name), "{}", pair.name);
            let ([a, b, server], detour) = pair.lengths();
            let rtt = |path: Duration| 2000.0 * path.as_secs_f64();
            let is = |path: Duration, ms: f64| (rtt(path) - ms).abs() < 0.001;
            assert!(is(a + b + detour, pair.direct_ms), "{pair:?}");
            assert!(is(a + server, pair.to_server_ms[0]) && is(b + server, pair.to_server_ms[1]), "{pair:?}");
        }
    }
}
