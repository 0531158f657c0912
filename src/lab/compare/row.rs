//! One match of the study as one line of a table: the source of every figure and plot.

mod values;

use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use self::values::Series;
pub(super) use self::values::quantile;
use net::{Architecture, DELAY_TICKS_MAX};
use sim::PLAYERS_MAX;

/// Quantiles stored for each latency: 0 %, 5 %, …, 95 %, 99 % and 100 %.
const QUANTILES: [f64; 22] = [
    0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.99, 1.0,
];
/// Maximum number of rows read; a full study has a few thousand.
const ROWS_MAX: usize = 1_000_000;
/// Maximum of every number.
const NUMBER_MAX: f64 = 1e9;
/// Maximum clock error; a match with a worse clock would not be started.
const DRIFT_MAX_PPM: u32 = 10_000;
/// Maximum rate and queue of a limited upstream.
const UPSTREAM_MAX_KBIT_S: u32 = 1_000_000;
const QUEUE_MAX_MS: f64 = 10_000.0;
/// Maximum score, as in rules.
const SCORE_MAX: u32 = 1_000_000;
/// Maximum length of a match, in seconds.
const SECONDS_MAX: usize = 86_400;
/// Maximum length of a preset's name, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Origin of a match: virtual time or real processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// Played on the virtual network.
    #[default]
    Virtual,
    /// Played between processes, over sockets of the loopback interface.
    Real,
    /// Played on the virtual network for comparison with the real match of the same cell and seed, with the same
    /// length.
    Twin,
}

/// Question that a match belongs to; figures of different experiments are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Each architecture with its defaults except for the settings in the row; the links of all players have the same
    /// properties.
    Defaults,
    /// One player's link is bad.
    OneBadLink,
    /// The host, or the server, is lost half-way.
    HostLost,
    /// Bots that see only their view play a match to its end, one of them with more latency.
    Outcome,
    /// Ten to ten thousand units fight; traffic and processor time are measured.
    Scale,
}

/// Location of the nodes. d(A, B) is the one-way delay between two players, and half of the cell's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// All pairs of nodes, including the server, have the same delay.
    Lan,
    /// The server is half-way between the players.
    Midway,
    /// The server is as far from each player as they are from each other.
    Remote,
    /// The server runs in the process of player 0.
    Listen,
}

impl Topology {
    /// Returns the location of each of `players` players, followed by that of the server if there `is_served`. Each
    /// location has its own network paths; `None` is the middle of the network, without a path.
    pub(crate) fn places(self, players: usize, is_served: bool) -> Vec<Option<usize>> {
        let server = match self {
            Self::Midway => None,
            Self::Lan | Self::Remote => Some(players),
            Self::Listen => Some(0),
        };
        (0..players).map(Some).chain(is_served.then_some(server)).collect()
    }
}

/// Declares a struct whose fields are columns of the table. A column has the name of its field. The range of its values
/// follows from its type, or is given after `=`.
macro_rules! columns {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $note:literal])* $(#[serde $serde:tt])? pub $field:ident: $type:ty $(= $range:expr)?,)*
    }) => {
        $(#[$meta])*
        pub struct $name { $($(#[doc = $note])* $(#[serde $serde])? pub $field: $type,)* }

        impl $name {
            /// Each field with its doc comment.
            const NOTES: &[(&str, &[&str])] = &[$((stringify!($field), &[$($note),*])),*];
        }

        impl Column for $name {
            fn out_of_range(&self, _: &'static str) -> Option<(&'static str, String)> {
                None$(.or_else(|| columns!(@check self.$field, stringify!($field) $(, $range)?)))*
            }
        }
    };
    (@check $value:expr, $name:expr) => { $value.out_of_range($name) };
    (@check $value:expr, $name:expr, $range:expr) => {
        (!$range.contains(&$value)).then(|| ($name, $value.to_string()))
    };
}

/// Value of the table.
pub(super) trait Column {
    /// Returns name and value of the first column with a value that no match can have.
    fn out_of_range(&self, _name: &'static str) -> Option<(&'static str, String)> {
        None
    }
}

/// Implements [`Column`] for types whose values are all possible in a match.
macro_rules! unbounded {
    ($($type:ty),*) => { $(impl Column for $type {})* };
}

unbounded!(bool, u8, u32, u64, Source, Experiment, Architecture, Topology);

impl Column for f64 {
    fn out_of_range(&self, name: &'static str) -> Option<(&'static str, String)> {
        (!(0.0..=NUMBER_MAX).contains(self)).then(|| (name, self.to_string()))
    }
}

impl Column for String {
    fn out_of_range(&self, name: &'static str) -> Option<(&'static str, String)> {
        (self.len() > NAME_BYTES_MAX).then(|| (name, "too long".into()))
    }
}

impl<C: Column> Column for Option<C> {
    fn out_of_range(&self, name: &'static str) -> Option<(&'static str, String)> {
        self.as_ref().and_then(|value| value.out_of_range(name))
    }
}

impl Column for Quantiles {
    fn out_of_range(&self, name: &'static str) -> Option<(&'static str, String)> {
        // An error of a clock may make a latency negative; the validity checks report that.
        let too_long = self.0.iter().find(|ms| ms.abs() > NUMBER_MAX);
        too_long.map(|ms| (name, ms.to_string()))
    }
}

impl Column for Series {
    fn out_of_range(&self, name: &'static str) -> Option<(&'static str, String)> {
        let is_bad =
            self.0.len() > SECONDS_MAX || self.0.iter().any(|value| !(0.0..=NUMBER_MAX).contains(value));
        is_bad.then(|| (name, "wrong".into()))
    }
}

columns! {
/// Configuration of a match: one point of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// Experiment.
    #[serde(rename = "view")]
    pub experiment: Experiment,
    /// Architecture.
    #[serde(with = "name")]
    pub architecture: Architecture,
    /// Location of the nodes.
    pub topology: Topology,
    /// Name of a preset link, or empty.
    pub preset: String,
    /// Name of the impairment of the link of the player in the last seat, or empty.
    pub bad_link: String,
    /// Upstream limit of the player in the last seat in kbit/s, with IP and UDP headers; 0 for no limit.
    pub upstream_kbit_s: u32 = (0..=UPSTREAM_MAX_KBIT_S),
    /// Queue of the limited upstream, as the time to drain it; further datagrams are dropped.
    pub upstream_queue_ms: f64 = (0.0..=QUEUE_MAX_MS),
    /// Whether a player's own commands are shown before they are confirmed.
    pub prediction: bool,
    /// Whether the others' units are interpolated as without prediction, while the player's own are predicted.
    pub mixed: bool,
    /// Interpolation delay in updates; 0 without a server that sends states.
    pub interpolation: u32,
    /// Fixed input delay between peers in ticks; 0 if the delay adapts to the links.
    pub fixed_delay: u32 = (0..=DELAY_TICKS_MAX),
    /// Number of seats.
    pub players: u8 = (2..=PLAYERS_MAX as u8),
    /// Twice the one-way delay between two players.
    pub rtt_ms: f64,
    /// Maximum deviation of the one-way delay, in either direction.
    pub jitter_ms: f64,
    /// Share of the datagrams lost, 0 to 1.
    pub loss: f64 = (0.0..=1.0),
    /// State updates per second from a server; 0 without a server that sends states.
    pub updates: u32,
    /// Whether a server repeats each update half a tick later to clients with loss, as lockstep does.
    pub repeat_updates: bool,
    /// Number of units on the map at the start, of all players.
    pub units: u32,
    /// Ticks per second.
    pub tick_hz: u32 = (30..=60),
    /// Clock error in parts per million: the first player's clock is fast, the next one's slow, and so on.
    pub drift_ppm: u32 = (0..=DRIFT_MAX_PPM),
    /// Score that wins a match of bots; 0 for that of the standard rules.
    pub score_to_win: u32 = (0..=SCORE_MAX),
}
}

impl Default for Cell {
    /// Returns the base of the study.
    fn default() -> Self {
        base_cell(Architecture::P2p)
    }
}

/// Returns the base cell of an architecture: two players, 100 ms round trip, 2 % loss, a server half-way, and defaults
/// for everything else.
#[must_use]
pub fn base_cell(architecture: Architecture) -> Cell {
    let is_held = architecture == Architecture::ClientServer;
    Cell {
        experiment: Experiment::Defaults,
        architecture,
        topology: Topology::Midway,
        preset: String::new(),
        bad_link: String::new(),
        upstream_kbit_s: 0,
        upstream_queue_ms: 0.0,
        prediction: true,
        mixed: false,
        interpolation: if is_held { 2 } else { 0 },
        fixed_delay: 0,
        players: 2,
        rtt_ms: 100.0,
        jitter_ms: 5.0,
        loss: 0.02,
        updates: if is_held { 20 } else { 0 },
        repeat_updates: false,
        units: 14,
        tick_hz: 60,
        drift_ppm: 0,
        score_to_win: 0,
    }
}

columns! {
/// One match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct MatchRow {
    /// Origin of the match: virtual or real.
    #[serde(skip_serializing)]
    pub source: Source,
    /// Configuration of the match.
    #[serde(flatten, skip_serializing)]
    pub cell: Cell,
    /// Seed of script, links and phases: the same seed gives the same conditions in every architecture.
    pub seed: u64,
    /// Length of the measurement window in seconds, without the first 5 s.
    pub seconds: f64,

    /// Number of commands of all players with an intended time inside the window.
    pub commands: u32,
    /// Number of commands that had not been applied everywhere by the end. They are excluded from all quantiles.
    pub censored: u32,
    /// Time from the intended time of a command until the session took it.
    pub captured_ms: Quantiles,
    /// Time until the first node ran its tick, after which it is final.
    pub authority_ms: Quantiles,
    /// Time until the confirmed state of the issuing player had it.
    pub own_ms: Quantiles,
    /// Time until the issuing player's view showed a state with it: the predicted state, if there is one.
    pub own_predicted_ms: Quantiles,
    /// Time until the first frame of the issuing player's 60 Hz display showed it.
    pub own_frame_ms: Quantiles,
    /// Time until the confirmed state of each other player had it; a predicted view blends toward it from then on.
    pub opponent_confirmed_ms: Quantiles,
    /// Time until the view of each other player showed a state with it.
    pub opponent_ms: Quantiles,
    /// Time until the first frame of each other player's display showed it.
    pub opponent_frame_ms: Quantiles,
    /// [`Self::own_ms`] of all but the player in the last seat, whose link may be bad.
    pub others_own_ms: Quantiles,
    /// [`Self::opponent_confirmed_ms`] between all but the player in the last seat; empty with two players.
    pub others_ms: Quantiles,

    /// Mean distance of a unit between the views of two players at the same instant, in tiles.
    pub apart_mean: f64,
    /// Largest distance of a unit between two views, in tiles.
    pub apart_max: f64,
    /// The 95th percentile of this distance for units that move in either view, in tiles.
    pub apart_p95: f64,
    /// Share of the samples of moving units in which the two views were more than half a tile apart, 0 to 1.
    pub apart_far: f64,
    /// Number of prediction errors of a player's own hero of more than a quarter of a tile, of all players.
    pub corrections: u32,
    /// Number of prediction errors in each second, counted as in [`Self::corrections`].
    pub corrections_by_s: Series,
    /// Number of stalls of all players: a tick ran late, or a client's view had nothing new.
    pub stalls: u32,
    /// Total stalled time, mean over the players.
    pub stall_ms: f64,
    /// Part of [`Self::stall_ms`] caused by the network.
    pub stall_network_ms: f64,
    /// Part of [`Self::stall_ms`] caused by a computer.
    pub stall_computer_ms: f64,
    /// Stalled milliseconds in each second, mean over the players.
    pub stall_by_s: Series,
    /// Total time by which a confirmed tick, or a server's next update, was more than 100 ms late, without these 100
    /// ms; mean over the players.
    pub freeze_ms: f64,
    /// Longest single freeze of any player.
    pub freeze_max_ms: f64,
    /// [`Self::freeze_ms`] of all but the player in the last seat.
    pub others_freeze_ms: f64,
    /// Ticks per second of the slowest node.
    pub tick_rate: f64,

    /// Traffic sent by a player, mean over the players, with IP and UDP headers; in real matches over the whole match.
    pub kbit_s_up: f64,
    /// Traffic received by a player, measured as [`Self::kbit_s_up`].
    pub kbit_s_down: f64,
    /// Traffic sent by a player, mean over all but the player in the last seat; 0 in real matches.
    pub others_kbit_s_up: f64,
    /// Traffic sent by a player over the whole match including setup and end, comparable between real and virtual
    /// matches.
    pub whole_kbit_s_up: f64,
    /// Traffic received by a player over the whole match.
    pub whole_kbit_s_down: f64,
    /// Datagrams sent by a player per second.
    pub packets_s_up: f64,
    /// Datagrams received by a player per second.
    pub packets_s_down: f64,
    /// Traffic sent by the server; 0 without a server.
    pub server_kbit_s_up: f64,
    /// Traffic received by the server; 0 without a server.
    pub server_kbit_s_down: f64,
    /// Bytes of all datagrams sent by all nodes in the whole match, including setup and end.
    pub bytes_sent: u64,
    /// Part of [`Self::bytes_sent`] that arrived.
    pub bytes_received: u64,
    /// Part of [`Self::bytes_sent`] that the links lost.
    pub bytes_lost: u64,
    /// Part of [`Self::bytes_sent`] that was still in flight at the end.
    pub bytes_under_way: u64,

    /// Largest difference between two seats' median [`Self::opponent_ms`], by the seat that gave the command.
    pub unfair_ms: f64,
    /// Number of ticks that the remaining players played after the host or the server was lost; empty in other
    /// experiments.
    pub ticks_after_loss: Option<u32>,
    /// Seat of the winner; only in matches of bots that see the world.
    pub winner: Option<u8>,
    /// Processor time of a player per tick in microseconds; only in real matches and in `scale`.
    pub cpu_us_per_tick: Option<f64>,
    /// Processor time of the server per tick in microseconds; only in `scale`.
    pub server_cpu_us_per_tick: Option<f64>,
    /// Size in bytes of the delta between the server's state and the one a round trip and an update earlier, which a
    /// client has, even if it does not fit into an update; only in `scale`.
    pub state_bytes: Option<f64>,
    /// Memory of the server's process, or of a player's without a server, in bytes; only in real matches.
    pub memory_bytes: Option<u64>,
    /// Lateness of timers in milliseconds, p99; only in real matches.
    pub lateness_ms: Option<f64>,
    /// Hash of the last state of the player that ran the most ticks; 0 if the states of two players differed after any
    /// tick, unless one had continued without the other.
    pub state_hash: u64,
}
}

/// Quantiles of one latency in one match, in milliseconds: 0 %, 5 %, …, 95 %, 99 %, 100 %. Empty if nothing was
/// measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantiles(Vec<f64>);

/// Reason why a table of matches cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The file cannot be written or read, or is malformed.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// The table is of another version of the study.
    #[error("it has no column {0}: it was written by another version")]
    NoColumn(&'static str),
    /// The table has more lines than any study.
    #[error("more than {ROWS_MAX} matches in one table")]
    TooMany,
}

/// First column: a line is this, the columns of the cell, and the rest of its [`MatchRow`].
#[derive(Serialize)]
struct SourceColumn {
    source: Source,
}

/// Returns name and description of each column, in the order of the columns.
pub(super) fn column_notes() -> impl Iterator<Item = (&'static str, String)> {
    let fields = MatchRow::NOTES[..1].iter().chain(Cell::NOTES).chain(&MatchRow::NOTES[2..]);
    fields.map(|&(field, notes)| {
        let name = column_name(field);
        let text = notes.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        (name, text.replace("[`Self::", "`").replace("`]", "`"))
    })
}

/// Returns the names of a cell's columns.
pub(super) fn cell_columns() -> impl Iterator<Item = &'static str> {
    Cell::NOTES.iter().map(|&(field, _)| column_name(field))
}

/// Returns a field's name in the table.
fn column_name(field: &'static str) -> &'static str {
    if field == "experiment" { "view" } else { field }
}

/// Writes a table: a line of column names, and one line per match.
///
/// # Errors
/// If the file cannot be written.
pub fn write_rows<'a>(
    to: impl io::Write,
    rows: impl IntoIterator<Item = &'a MatchRow>,
) -> Result<(), RowError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    // Without any match the names are still written.
    writer.write_record(column_notes().map(|(name, _)| name))?;
    for row in rows {
        writer.serialize((SourceColumn { source: row.source }, &row.cell, row))?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Writes the line of one match, in the format of [`write_rows`].
///
/// # Errors
/// If the line cannot be written.
pub fn write_row(to: impl io::Write, row: &MatchRow) -> Result<(), RowError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    writer.serialize((SourceColumn { source: row.source }, &row.cell, row))?;
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Reads a table written by [`write_rows`].
///
/// # Errors
/// If the file cannot be read, lacks a column, or a line is not a match: the message names the line and the column.
pub fn read_rows(from: impl io::Read) -> Result<Vec<MatchRow>, RowError> {
    let mut rows = Vec::new();
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(from);
    let header = reader.headers()?;
    let is_missing = |name: &str| !header.is_empty() && !header.iter().any(|column| column == name);
    if let Some((name, _)) = column_notes().find(|(name, _)| is_missing(name)) {
        return Err(RowError::NoColumn(name));
    }
    for row in reader.into_deserialize() {
        if rows.len() == ROWS_MAX {
            return Err(RowError::TooMany);
        }
        rows.push(row?);
    }
    Ok(rows)
}

/// Serializes an architecture as its name.
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

    /// Returns a row in which every kind of column has a distinct value, with a preset and a list that look like
    /// numbers.
    fn row() -> MatchRow {
        MatchRow {
            source: Source::Real,
            cell: Cell {
                experiment: Experiment::OneBadLink,
                architecture: Architecture::ClientServer,
                preset: "4g".into(),
                prediction: false,
                loss: 0.02,
                ..Cell::default()
            },
            seed: u64::MAX,
            seconds: 30.0,
            commands: 300,
            own_ms: Quantiles::of((1..=100).map(f64::from).rev().collect()),
            corrections_by_s: Series(vec![0.0, 1.0, 2.0]),
            stall_by_s: Series(vec![12.5]),
            winner: Some(1),
            lateness_ms: Some(0.7),
            ..MatchRow::default()
        }
    }

    #[test]
    fn a_row_survives_a_round_trip_and_the_line_of_a_broken_one_is_named() {
        let mut text = Vec::new();
        write_rows(&mut text, [&row(), &row()]).expect("memory");
        assert_eq!(read_rows(&*text).expect("just written"), [row(), row()]);
        let text = String::from_utf8(text).expect("text");
        let broken = text.replacen("midway", "nowhere", 1);
        let error = read_rows(broken.as_bytes()).expect_err("no topology").to_string();
        assert!(error.contains("line: 2") && error.contains("nowhere"), "{error}");
        let old = text.replacen(",repeat_updates", ",renamed", 1);
        let error = read_rows(old.as_bytes()).expect_err("a column is missing").to_string();
        assert_eq!(error, "it has no column repeat_updates: it was written by another version");
    }

    #[test]
    fn every_column_has_a_note() {
        let mut text = Vec::new();
        write_rows(&mut text, [&row()]).expect("memory");
        let text = String::from_utf8(text).expect("text");
        let names: Vec<&str> = text.lines().next().expect("names").split(',').collect();
        let notes: Vec<_> = column_notes().collect();
        assert!(notes.iter().map(|(name, _)| *name).eq(names), "{notes:?}");
        assert!(notes.iter().all(|(_, note)| note.ends_with('.') && !note.contains('\n')), "{notes:?}");
    }
}
