//! One match of the study, as one line of a table: the raw material of every figure and plot.

use core::fmt;
use core::str::FromStr;
use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use crate::net::Architecture;

/// Quantiles kept of each latency: 0 %, 5 %, …, 95 %, 99 % and 100 %.
const QUANTILES: [f64; 22] = [
    0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.99, 1.0,
];
const P50: usize = 10;
const P95: usize = 19;
const P99: usize = 20;
/// Most rows that are read: a full study has a few thousand.
const ROWS_MAX: usize = 1_000_000;

/// Whether a match was played in virtual time or by real processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// On the virtual network.
    Virtual,
    /// Between processes, over sockets of the loopback interface.
    Real,
}

/// Which question a match belongs to; figures of different views are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum View {
    /// Each architecture as it comes.
    Defaults,
    /// All send as often: an update for each tick.
    EqualRate,
    /// Latency against bytes: updates from few to many.
    Bytes,
    /// The host, or the server, is lost half-way.
    HostLost,
    /// Bots that see the world play to its end.
    Bots,
}

/// Where the nodes are. d(A, B) is the one-way delay between two players, and half of the cell's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Equal on all pairs, the server's too.
    Lan,
    /// The server stands half-way between the players.
    Midway,
    /// The server is as far from each player as they are from each other.
    Remote,
    /// The server runs in the process of player 0.
    Listen,
}

/// What was played: one point of the study.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// The question.
    pub view: View,
    /// Who runs the world.
    pub architecture: Architecture,
    /// Where the nodes are.
    pub topology: Topology,
    /// A named link, or nothing.
    pub preset: String,
    /// Whether own orders show before they are confirmed.
    pub prediction: bool,
    /// Updates by which the others' units are shown in the past; 0 without a server that sends states.
    pub interpolation: u32,
    /// Seats.
    pub players: u8,
    /// Twice the one-way delay between two players.
    pub rtt_ms: f64,
    /// Either way, more or less.
    pub jitter_ms: f64,
    /// Share of the datagrams lost, 0 to 1.
    pub loss: f64,
    /// States per second from a server; 0 without one that sends states.
    pub updates: u32,
    /// Units on the map at the start, of all players.
    pub units: u32,
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { view, architecture, topology, preset, prediction, players, units, .. } = self;
        write!(f, "{view:?}: {architecture} {topology:?}, ")?;
        if !preset.is_empty() {
            write!(f, "{preset}, ")?;
        }
        let Self { rtt_ms, jitter_ms, loss, updates, interpolation, .. } = self;
        write!(
            f,
            "RTT {rtt_ms} ± {jitter_ms} ms, loss {} %, {players} players, {units} units",
            loss * 100.0
        )?;
        if *updates > 0 {
            write!(f, ", {updates} updates/s shown {interpolation} late")?;
        }
        f.write_str(if *prediction { ", predicted" } else { "" })
    }
}

/// One match.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatchRow {
    /// Virtual or real.
    pub source: Source,
    /// The question.
    pub view: View,
    /// Who runs the world.
    #[serde(with = "name")]
    pub architecture: Architecture,
    /// Where the nodes are.
    pub topology: Topology,
    /// A named link, or nothing.
    pub preset: String,
    /// Whether own orders show before they are confirmed.
    pub prediction: bool,
    /// Updates by which the others' units are shown in the past; 0 without a server that sends states.
    pub interpolation: u32,
    /// Seats.
    pub players: u8,
    /// Twice the one-way delay between two players.
    pub rtt_ms: f64,
    /// Either way, more or less.
    pub jitter_ms: f64,
    /// Share of the datagrams lost, 0 to 1.
    pub loss: f64,
    /// States per second from a server; 0 without one that sends states.
    pub updates: u32,
    /// Units on the map at the start, of all players.
    pub units: u32,
    /// Of the script, the links and the phases: the same seed meets the same in every architecture.
    pub seed: u64,
    /// Length of what counts, without the first 5 s.
    pub seconds: f64,

    /// Commands of all players whose intended instant counts.
    pub commands: u32,
    /// Of these, those that were not applied everywhere at the end. They are part of no quantile.
    pub censored: u32,
    /// From the intended instant until the session had it.
    pub captured_ms: Quantiles,
    /// Until the first node ran its tick: from then on nothing can change it.
    pub authority_ms: Quantiles,
    /// Until the confirmed state of who gave it had it.
    pub own_ms: Quantiles,
    /// Until the first state shown to who gave it had it: the predicted one, if there is one.
    pub own_predicted_ms: Quantiles,
    /// Until the first frame of a 60 Hz display of who gave it showed it.
    pub own_frame_ms: Quantiles,
    /// Until the confirmed state of each other player had it; a predicted picture slides there from then on.
    pub opponent_confirmed_ms: Quantiles,
    /// Until the screen of each other player showed a state that had it.
    pub opponent_ms: Quantiles,
    /// Until the first frame of each other player's display showed it.
    pub opponent_frame_ms: Quantiles,

    /// Mean distance of a unit on one player's screen from itself on another's at the same instant, in tiles.
    pub apart_mean: f64,
    /// The largest.
    pub apart_max: f64,
    /// Errors of a predicted own hero of more than a quarter of a tile, of all players.
    pub corrections: u32,
    /// The same, second by second.
    pub corrections_by_s: Series,
    /// Times at which a tick ran late or a client's picture had nothing new to show, of all players.
    pub stalls: u32,
    /// How long they were together, mean over the players.
    pub stall_ms: f64,
    /// Of these, what the network caused.
    pub stall_network_ms: f64,
    /// Of these, what a computer caused.
    pub stall_computer_ms: f64,
    /// Stalled milliseconds second by second, mean over the players.
    pub stall_by_s: Series,
    /// Ticks per second of the slowest node.
    pub tick_rate: f64,

    /// What a player sends, mean over the players, with IP and UDP headers.
    pub kbit_s_up: f64,
    /// What a player receives.
    pub kbit_s_down: f64,
    /// Datagrams a player sends per second.
    pub packets_s_up: f64,
    /// Datagrams a player receives per second.
    pub packets_s_down: f64,
    /// What the server sends; 0 without one.
    pub server_kbit_s_up: f64,
    /// What the server receives.
    pub server_kbit_s_down: f64,
    /// Bytes of all datagrams that all nodes sent in the whole match.
    pub bytes_sent: u64,
    /// Of these, what arrived.
    pub bytes_received: u64,
    /// Of these, what the links lost.
    pub bytes_lost: u64,
    /// Of these, what was still under way at the end.
    pub bytes_under_way: u64,

    /// The largest difference between two seats' median [`Self::opponent_ms`], seen as who gives the order.
    pub unfair_ms: f64,
    /// Ticks that those who stayed played after the host or the server was lost; nothing in other views.
    pub ticks_after_loss: Option<u32>,
    /// The seat of who won; only of bots that see the world.
    pub winner: Option<u8>,
    /// Processor time of a player's process per tick; only of real matches.
    pub cpu_us_per_tick: Option<f64>,
    /// Memory of the server's process, or of a player's without a server; only of real matches.
    pub memory_bytes: Option<u64>,
    /// How late timers fired, p99; only of real matches.
    pub lateness_ms: Option<f64>,
    /// Hash of the last state that all players reached, if they agree after every tick up to it; else 0.
    pub state_hash: u64,
}

/// Quantiles of one latency in one match, in milliseconds: 0 %, 5 %, …, 95 %, 99 %, 100 %. Empty if nothing was
/// measured.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Quantiles(Vec<f64>);

impl MatchRow {
    /// A match of `cell` of which nothing is known yet.
    pub(super) fn empty(source: Source, cell: &Cell, seed: u64, seconds: f64) -> Self {
        Self {
            source,
            view: cell.view,
            architecture: cell.architecture,
            topology: cell.topology,
            preset: cell.preset.clone(),
            prediction: cell.prediction,
            interpolation: cell.interpolation,
            players: cell.players,
            rtt_ms: cell.rtt_ms,
            jitter_ms: cell.jitter_ms,
            loss: cell.loss,
            updates: cell.updates,
            units: cell.units,
            seed,
            seconds,
            commands: 0,
            censored: 0,
            captured_ms: Quantiles::default(),
            authority_ms: Quantiles::default(),
            own_ms: Quantiles::default(),
            own_predicted_ms: Quantiles::default(),
            own_frame_ms: Quantiles::default(),
            opponent_confirmed_ms: Quantiles::default(),
            opponent_ms: Quantiles::default(),
            opponent_frame_ms: Quantiles::default(),
            apart_mean: 0.0,
            apart_max: 0.0,
            corrections: 0,
            corrections_by_s: Series::default(),
            stalls: 0,
            stall_ms: 0.0,
            stall_network_ms: 0.0,
            stall_computer_ms: 0.0,
            stall_by_s: Series::default(),
            tick_rate: 0.0,
            kbit_s_up: 0.0,
            kbit_s_down: 0.0,
            packets_s_up: 0.0,
            packets_s_down: 0.0,
            server_kbit_s_up: 0.0,
            server_kbit_s_down: 0.0,
            bytes_sent: 0,
            bytes_received: 0,
            bytes_lost: 0,
            bytes_under_way: 0,
            unfair_ms: 0.0,
            ticks_after_loss: None,
            winner: None,
            cpu_us_per_tick: None,
            memory_bytes: None,
            lateness_ms: None,
            state_hash: 0,
        }
    }

    /// What was played, without how it went.
    #[must_use]
    pub fn cell(&self) -> Cell {
        Cell {
            view: self.view,
            architecture: self.architecture,
            topology: self.topology,
            preset: self.preset.clone(),
            prediction: self.prediction,
            interpolation: self.interpolation,
            players: self.players,
            rtt_ms: self.rtt_ms,
            jitter_ms: self.jitter_ms,
            loss: self.loss,
            updates: self.updates,
            units: self.units,
        }
    }
}

/// Why a table of matches cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The file.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// More lines than any study has.
    #[error("more than {ROWS_MAX} matches in one table")]
    TooMany,
}

/// Writes a table: a line of names, and a line for each match.
///
/// # Errors
/// If the file cannot be written.
pub fn write_rows<'a>(
    to: impl io::Write,
    rows: impl IntoIterator<Item = &'a MatchRow>,
) -> Result<(), RowError> {
    let mut writer = csv::Writer::from_writer(to);
    for row in rows {
        writer.serialize(row)?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Reads a table that [`write_rows`] wrote.
///
/// # Errors
/// If the file cannot be read, or a line is not a match: the message names the line and the column.
pub fn read_rows(from: impl io::Read) -> Result<Vec<MatchRow>, RowError> {
    let mut rows = Vec::new();
    for row in csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(from).into_deserialize() {
        if rows.len() == ROWS_MAX {
            return Err(RowError::TooMany);
        }
        rows.push(row?);
    }
    Ok(rows)
}

impl Quantiles {
    /// Of what was measured, in any order.
    #[must_use]
    pub fn of(mut measured: Vec<f64>) -> Self {
        measured.sort_unstable_by(f64::total_cmp);
        let Some(last) = measured.len().checked_sub(1) else { return Self::default() };
        // The nearest rank: a value that was measured.
        let at = |q: f64| measured[((q * measured.len() as f64).ceil() as usize).saturating_sub(1).min(last)];
        Self(QUANTILES.iter().map(|&q| at(q)).collect())
    }

    /// Of the values of all quantiles in order; nothing if their number is another.
    #[must_use]
    pub fn of_sorted(values: Vec<f64>) -> Option<Self> {
        (values.len() == QUANTILES.len()).then_some(Self(values))
    }

    /// Half are shorter.
    #[must_use]
    pub fn p50(&self) -> Option<f64> {
        self.0.get(P50).copied()
    }

    /// 95 of 100 are shorter.
    #[must_use]
    pub fn p95(&self) -> Option<f64> {
        self.0.get(P95).copied()
    }

    /// 99 of 100 are shorter.
    #[must_use]
    pub fn p99(&self) -> Option<f64> {
        self.0.get(P99).copied()
    }

    /// Each quantile's share and value.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> {
        QUANTILES.into_iter().zip(self.0.iter().copied())
    }
}

/// One value for each second of a match.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series(pub Vec<f64>);

/// Numbers in one field, with spaces between them.
fn write_numbers<S: Serializer>(numbers: &[f64], serializer: S) -> Result<S::Ok, S::Error> {
    struct Numbers<'a>(&'a [f64]);
    impl fmt::Display for Numbers<'_> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.iter().enumerate().try_for_each(|(i, number)| {
                // A thousandth is finer than anything that is measured.
                let number = (number * 1000.0).round() / 1000.0;
                write!(f, "{}{number}", if i == 0 { "" } else { " " })
            })
        }
    }
    serializer.collect_str(&Numbers(numbers))
}

fn read_numbers<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<f64>, D::Error> {
    let text = String::deserialize(deserializer)?;
    let numbers = text.split_ascii_whitespace().map(f64::from_str);
    let numbers = numbers.map(|number| number.ok().filter(|number| number.is_finite()));
    numbers.collect::<Option<_>>().ok_or_else(|| de::Error::custom("not a list of numbers"))
}

impl Serialize for Quantiles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_numbers(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Quantiles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let numbers = read_numbers(deserializer)?;
        let is_whole = numbers.is_empty() || numbers.len() == QUANTILES.len();
        is_whole.then_some(Self(numbers)).ok_or_else(|| de::Error::custom("not 22 quantiles"))
    }
}

impl Serialize for Series {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        write_numbers(&self.0, serializer)
    }
}

impl<'de> Deserialize<'de> for Series {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_numbers(deserializer).map(Self)
    }
}

/// An architecture by its name.
mod name {
    use super::{Architecture, Deserialize, Deserializer, Serializer, de};

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
    pub(super) fn serialize<S: Serializer>(it: &Architecture, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(it.as_str())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Architecture, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> MatchRow {
        let latency = || Quantiles::of((1..=100).map(f64::from).rev().collect());
        MatchRow {
            source: Source::Virtual,
            view: View::EqualRate,
            architecture: Architecture::ClientServer,
            topology: Topology::Midway,
            preset: String::new(),
            prediction: true,
            interpolation: 2,
            players: 2,
            rtt_ms: 100.0,
            jitter_ms: 5.0,
            loss: 0.02,
            updates: 60,
            units: 30,
            seed: u64::MAX,
            seconds: 30.0,
            commands: 300,
            censored: 1,
            captured_ms: Quantiles::default(),
            authority_ms: latency(),
            own_ms: latency(),
            own_predicted_ms: latency(),
            own_frame_ms: latency(),
            opponent_confirmed_ms: latency(),
            opponent_ms: latency(),
            opponent_frame_ms: latency(),
            apart_mean: 0.125,
            apart_max: 2.5,
            corrections: 3,
            corrections_by_s: Series(vec![0.0, 1.0, 2.0]),
            stalls: 1,
            stall_ms: 12.5,
            stall_network_ms: 12.5,
            stall_computer_ms: 0.0,
            stall_by_s: Series(vec![12.5]),
            tick_rate: 59.98,
            kbit_s_up: 24.0,
            kbit_s_down: 31.5,
            packets_s_up: 60.0,
            packets_s_down: 60.0,
            server_kbit_s_up: 63.0,
            server_kbit_s_down: 48.0,
            bytes_sent: 10_000,
            bytes_received: 9_000,
            bytes_lost: 900,
            bytes_under_way: 100,
            unfair_ms: 0.5,
            ticks_after_loss: None,
            winner: Some(1),
            cpu_us_per_tick: None,
            memory_bytes: Some(1 << 20),
            lateness_ms: Some(0.7),
            state_hash: 0xfedc_ba98_7654_3210,
        }
    }

    #[test]
    fn a_row_reads_back_and_a_broken_one_is_named() {
        let mut text = Vec::new();
        write_rows(&mut text, [&row(), &row()]).expect("memory");
        assert_eq!(read_rows(&*text).expect("just written"), [row(), row()]);
        let text = String::from_utf8(text).expect("text");
        let broken = text.replacen("midway", "nowhere", 1);
        let error = read_rows(broken.as_bytes()).expect_err("no topology").to_string();
        assert!(error.contains("line: 2") && error.contains("nowhere"), "{error}");
    }

    #[test]
    fn quantiles_are_values_that_were_measured() {
        let quantiles = Quantiles::of((1..=100).map(f64::from).rev().collect());
        assert_eq!((quantiles.p50(), quantiles.p95(), quantiles.p99()), (Some(50.0), Some(95.0), Some(99.0)));
        assert_eq!(quantiles.iter().last(), Some((1.0, 100.0)));
        assert_eq!(Quantiles::of(Vec::new()).p50(), None);
    }
}
