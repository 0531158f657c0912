//! Named links with the properties of real access networks. Each is rounded from a public measurement. Two players are
//! joined by two links of the kind, so that the values are twice those of one access link.

use core::time::Duration;

use super::row::{Cell, Topology};
use crate::simnet::{AccessFault, Outages, Path};
use transport::RateLimit;

/// Kind of link between two players.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Preset {
    /// Name in tables.
    pub name: &'static str,
    /// Round trip between the players.
    pub rtt_ms: f64,
    /// Maximum deviation of the one-way delay, in either direction.
    pub jitter_ms: f64,
    /// Share of datagrams lost in one direction, apart from outages.
    pub loss: f64,
    /// Outages: mean seconds between two, and mean milliseconds of each.
    pub outages: Option<(f64, f64)>,
    /// Rate of the slower direction, in bits per second.
    pub rate: u64,
    /// Location of the server in the study.
    pub topology: Topology,
    /// Source of the values.
    pub source: &'static str,
}

/// All presets, in ascending order of the round trip.
pub const PRESETS: [Preset; 6] = [
    // A switch and two cables: a round trip within one network is half a millisecond.
    Preset {
        name: "lan",
        rtt_ms: 0.5,
        jitter_ms: 0.1,
        loss: 0.0,
        outages: None,
        rate: 1_000_000_000,
        topology: Topology::Lan,
        source: "https://gist.github.com/jboner/2841832",
    },
    // The Wi-Fi hop took more than 20 ms for half of all packets, and more than 100 ms for one in ten, at 47
    // access points of a campus (Pei et al., INFOCOM 2016): both directions of one hop. The tail is in outages.
    Preset {
        name: "wifi",
        rtt_ms: 20.0,
        jitter_ms: 8.0,
        loss: 0.01,
        outages: Some((5.0, 40.0)),
        rate: 20_000_000,
        topology: Topology::Lan,
        source: "https://www.semanticscholar.org/paper/aadd9fa14b6597dd00f5d77157bad602709f7d33",
    },
    // About 20 ms round trip to a server of the provider, and less than 0.4 % loss for most (FCC).
    Preset {
        name: "cable",
        rtt_ms: 40.0,
        jitter_ms: 3.0,
        loss: 0.002,
        outages: None,
        rate: 10_000_000,
        topology: Topology::Midway,
        source: "https://www.fcc.gov/reports-research/reports/measuring-broadband-america/measuring-fixed-broadband-thirteenth-report",
    },
    // 40 to 50 ms round trip to a near server in LTE, varying from packet to packet with the scheduling of the radio
    // (two-way UDP measurements of Rohde & Schwarz).
    Preset {
        name: "4g",
        rtt_ms: 90.0,
        jitter_ms: 15.0,
        loss: 0.005,
        outages: Some((10.0, 60.0)),
        rate: 5_000_000,
        topology: Topology::Midway,
        source: "https://www.rohde-schwarz.com/in/solutions/test-and-measurement/mobile-network-testing/stories-insights/article-interactivity-test-distance-to-server-impact-on-latency-and-jitter_255082.html",
    },
    // In a low orbit: the satellite changes every 15 s, with a jump of latency or an outage of about 140 ms (arXiv
    // 2601.08439). From one round trip to the next it changes by 6.7 ms on average (G. Huston, APNIC).
    Preset {
        name: "satellite",
        rtt_ms: 100.0,
        jitter_ms: 10.0,
        loss: 0.01,
        outages: Some((15.0, 140.0)),
        rate: 5_000_000,
        topology: Topology::Midway,
        source: "https://arxiv.org/html/2601.08439v1",
    },
    // New York to London in 90 ms or less, by Verizon's service level, and a cable at either end.
    Preset {
        name: "transatlantic",
        rtt_ms: 120.0,
        jitter_ms: 4.0,
        loss: 0.004,
        outages: None,
        rate: 10_000_000,
        topology: Topology::Remote,
        source: "https://www.verizon.com/business/solutions/business-continuity/weekly-latency-statistics",
    },
];

/// Slow access links, from a modem of 28,800 bit/s, as used by players of Age of Empires, to a megabit: the minimum
/// rate of each architecture lies between two of them. Round trip and jitter are those that the article on that game
/// assumes.
pub(super) const SLOW_LINKS: [Preset; 6] = [
    slow("28.8k", 28_800),
    slow("64k", 64_000),
    slow("128k", 128_000),
    slow("256k", 256_000),
    slow("512k", 512_000),
    slow("1m", 1_000_000),
];

const fn slow(name: &'static str, rate: u64) -> Preset {
    Preset {
        name,
        rtt_ms: 200.0,
        jitter_ms: 10.0,
        loss: 0.0,
        outages: None,
        rate,
        topology: Topology::Midway,
        source: "https://www.gamedeveloper.com/programming/1500-archers-on-a-28-8-network-programming-in-age-of-empires-and-beyond",
    }
}

/// Returns the slow link of a cell, if it has one.
pub(super) fn slow_link_of(cell: &Cell) -> Option<&'static Preset> {
    SLOW_LINKS.iter().find(|slow| slow.name == cell.preset)
}

/// Impairment of the access link of one player, in addition to the properties of the cell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BadLink {
    /// Name in tables.
    pub name: &'static str,
    /// Description.
    pub says: &'static str,
    /// Additional round trip in milliseconds.
    pub lag_ms: f64,
    /// Additional jitter in milliseconds, in either direction.
    pub jitter_ms: f64,
    /// Share of the datagrams lost in each direction, independently.
    pub loss: f64,
    /// Outages of both directions: mean milliseconds between two, and of each. Both are exponentially distributed, so
    /// that losses follow Gilbert's model.
    pub outages_ms: Option<(f64, f64)>,
    /// Whether it is played with any number of players, rather than only with three.
    pub for_all: bool,
}

const GOOD: BadLink =
    BadLink { name: "", says: "", lag_ms: 0.0, jitter_ms: 0.0, loss: 0.0, outages_ms: None, for_all: false };

/// Name of the bad link with the upstream limit of [`Cell::upstream_kbit_s`].
pub(super) const SLOW_UPSTREAM: &str = "slow-upstream";

/// All impairments except added latency.
pub const BAD_LINKS: [BadLink; 6] = [
    BadLink { name: "loss-5", says: "5 % loss", loss: 0.05, ..GOOD },
    // Four packets at 60 a second take 67 ms.
    BadLink {
        name: "bursts-5",
        says: "5 % loss in bursts of 4 packets",
        outages_ms: Some((1267.0, 66.7)),
        ..GOOD
    },
    BadLink { name: "jitter-30", says: "30 ms jitter", jitter_ms: 30.0, ..GOOD },
    BadLink {
        name: "outages-1",
        says: "outages of 100 ms, 1 % of the time",
        outages_ms: Some((9_900.0, 100.0)),
        ..GOOD
    },
    BadLink {
        name: "outages-5",
        says: "outages of 120 ms, 5 % of the time",
        outages_ms: Some((2_280.0, 120.0)),
        for_all: true,
        ..GOOD
    },
    BadLink { name: SLOW_UPSTREAM, says: "48 kbit/s upstream", for_all: true, ..GOOD },
];

impl BadLink {
    /// Converts to a fault of the simulated network.
    #[must_use]
    pub fn fault(&self) -> AccessFault {
        let ms = |ms: f64| Duration::from_secs_f64(ms / 1000.0);
        let outages = self.outages_ms.map(|(every, length)| Outages { every: ms(every), length: ms(length) });
        AccessFault { delay: ms(self.lag_ms / 2.0), jitter: ms(self.jitter_ms), loss: self.loss, outages }
    }
}

/// Additional latency of the last player, in ascending order, for the experiment on outcomes.
pub(super) const LAGS: [BadLink; 3] = [
    BadLink { name: "lag-100", says: "100 ms more", lag_ms: 100.0, ..GOOD },
    BadLink { name: "lag-200", says: "200 ms more", lag_ms: 200.0, ..GOOD },
    BadLink { name: "lag-400", says: "400 ms more", lag_ms: 400.0, ..GOOD },
];

/// Returns the impairment of the last player's link in a cell, if any.
#[must_use]
pub fn bad_link_of(cell: &Cell) -> Option<&'static BadLink> {
    BAD_LINKS.iter().chain(&LAGS).find(|bad| bad.name == cell.bad_link)
}

/// Returns the upstream limit of the last player in a cell.
pub(super) fn upstream_of(cell: &Cell) -> RateLimit {
    let queue = Duration::from_secs_f64(cell.upstream_queue_ms / 1000.0);
    RateLimit::new(1_000 * u64::from(cell.upstream_kbit_s), queue)
}

/// Returns the path between two players of a cell, without the impairment of one player's link.
#[must_use]
pub fn path_of(cell: &Cell) -> Path {
    let preset = PRESETS.iter().chain(&SLOW_LINKS).find(|preset| preset.name == cell.preset);
    let one_way = |ms: f64| Duration::from_secs_f64(ms / 1000.0);
    let outages = preset.and_then(|preset| preset.outages);
    Path {
        delay: one_way(cell.rtt_ms / 2.0),
        jitter: one_way(cell.jitter_ms),
        loss: cell.loss,
        outages: outages
            .map(|(every_s, ms)| Outages { every: Duration::from_secs_f64(every_s), length: one_way(ms) }),
        limit: RateLimit { rate: preset.map_or(0, |preset| preset.rate), ..RateLimit::default() },
    }
}

#[cfg(test)]
mod tests {
    use super::super::row::base_cell;
    use super::*;
    use net::Architecture;

    #[test]
    fn presets_have_distinct_names_and_a_source() {
        for (at, preset) in PRESETS.iter().chain(&SLOW_LINKS).enumerate() {
            assert!(preset.source.starts_with("https://"), "{}", preset.source);
            assert!(
                PRESETS.iter().chain(&SLOW_LINKS).take(at).all(|other| other.name != preset.name),
                "{}",
                preset.name
            );
            let cell =
                Cell { preset: preset.name.into(), rtt_ms: preset.rtt_ms, ..base_cell(Architecture::P2p) };
            let path = path_of(&cell);
            assert_eq!((path.limit.rate, path.outages.is_some()), (preset.rate, preset.outages.is_some()));
            assert_eq!(2.0 * path.delay.as_secs_f64() * 1000.0, preset.rtt_ms);
        }
        for (at, bad) in BAD_LINKS.iter().enumerate() {
            assert!(BAD_LINKS[..at].iter().all(|other| other.name != bad.name), "{}", bad.name);
            let cell = Cell { bad_link: bad.name.into(), ..base_cell(Architecture::P2p) };
            assert_eq!(bad_link_of(&cell), Some(bad));
            // The name gives the share of time in outages.
            let share = bad.outages_ms.map(|(every, each)| each / (every + each));
            let said = if bad.name.ends_with("-1") { 0.01 } else { 0.05 };
            assert!(share.is_none_or(|share| (share - said).abs() < 0.0005), "{}", bad.name);
        }
        for lag in LAGS {
            // A round trip passes the bad link twice.
            let round_trip_ms = 2.0 * lag.fault().delay.as_secs_f64() * 1000.0;
            assert_eq!(lag.name, format!("lag-{round_trip_ms}"));
        }
        let plain = path_of(&base_cell(Architecture::P2p));
        assert_eq!(bad_link_of(&base_cell(Architecture::P2p)), None);
        assert_eq!((plain.limit.rate, plain.outages, plain.loss), (0, None, 0.02));
    }
}
