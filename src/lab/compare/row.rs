//! One match of the study, as one line of a table: the raw material of every figure and plot.

mod values;

use std::io;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

pub use self::values::Series;
pub(super) use self::values::quantile;
use net::{Architecture, DELAY_TICKS_MAX};
use sim::PLAYERS_MAX;

/// Quantiles kept of each latency: 0 %, 5 %, …, 95 %, 99 % and 100 %.
const QUANTILES: [f64; 22] = [
    0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9,
    0.95, 0.99, 1.0,
];
/// Most rows that are read: a full study has a few thousand.
const ROWS_MAX: usize = 1_000_000;
/// The largest number of any kind.
const NUMBER_MAX: f64 = 1e9;
/// The worst clock: a match over links this bad would not be played with one.
const DRIFT_MAX_PPM: u32 = 10_000;
/// The fastest and the deepest limit of an upstream.
const UPSTREAM_MAX_KBIT_S: u32 = 1_000_000;
const QUEUE_MAX_MS: f64 = 10_000.0;
/// As of rules.
const SCORE_MAX: u32 = 1_000_000;
/// Longest match, in seconds.
const SECONDS_MAX: usize = 86_400;
/// Longest name of a preset, in bytes.
const NAME_BYTES_MAX: usize = 64;

/// Whether a match was played in virtual time or by real processes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// On the virtual network.
    #[default]
    Virtual,
    /// Between processes, over sockets of the loopback interface.
    Real,
    /// On the virtual network, as long as the real match of the same cell and seed, which it is compared with.
    Twin,
}

/// Which question a match belongs to; figures of different experiments are never mixed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Experiment {
    /// Each architecture with its defaults, but for what the row says; all players' links are alike.
    Defaults,
    /// One player's link is bad.
    OneBadLink,
    /// The host, or the server, is lost half-way.
    HostLost,
    /// Bots that see what a screen shows play a match to its end, one of them with more latency.
    Outcome,
    /// Ten to ten thousand units that all fight, and what that costs.
    Scale,
}

/// Where the nodes are. d(A, B) is the one-way delay between two players, and half of the cell's round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Topology {
    /// Equal on all pairs, the server's too.
    Lan,
    /// The server is half-way between the players.
    Midway,
    /// The server is as far from each player as they are from each other.
    Remote,
    /// The server runs in the process of player 0.
    Listen,
}

impl Topology {
    /// The place, with network paths of its own, of each of `players` players, followed by the server if there
    /// `is_served`; `None` for the middle of the network, which has no path.
    pub(crate) fn places(self, players: usize, is_served: bool) -> Vec<Option<usize>> {
        let server = match self {
            Self::Midway => None,
            Self::Lan | Self::Remote => Some(players),
            Self::Listen => Some(0),
        };
        (0..players).map(Some).chain(is_served.then_some(server)).collect()
    }
}

/// Declares a struct whose fields are columns of the table. A column has the name of its field. Which values are in
/// range follows from its type, or is said after `=`.
macro_rules! columns {
    ($(#[$meta:meta])* pub struct $name:ident {
        $($(#[doc = $note:literal])* $(#[serde $serde:tt])? pub $field:ident: $type:ty $(= $range:expr)?,)*
    }) => {
        $(#[$meta])*
        pub struct $name { $($(#[doc = $note])* $(#[serde $serde])? pub $field: $type,)* }

        impl $name {
            /// Each field and what is said of it.
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

/// A value of the table.
pub(super) trait Column {
    /// Name and value of the first column whose value no match can have.
    fn out_of_range(&self, _name: &'static str) -> Option<(&'static str, String)> {
        None
    }
}

/// Types all of whose values a match can have.
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
        // A wrong clock may make a latency negative; the validity checks report that.
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
/// What was played: one point of the study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cell {
    /// The question.
    #[serde(rename = "view")]
    pub experiment: Experiment,
    /// Who runs the world.
    #[serde(with = "name")]
    pub architecture: Architecture,
    /// Where the nodes are.
    pub topology: Topology,
    /// A named link, or nothing.
    pub preset: String,
    /// What is wrong with the link of the player in the last seat, or nothing.
    pub bad_link: String,
    /// Most kilobits per second that the player in the last seat sends, with IP and UDP headers; 0 for no limit.
    pub upstream_kbit_s: u32 = (0..=UPSTREAM_MAX_KBIT_S),
    /// How long a full queue at that limit takes to leave; what comes beyond it is dropped.
    pub upstream_queue_ms: f64 = (0.0..=QUEUE_MAX_MS),
    /// Whether own orders show before they are confirmed.
    pub prediction: bool,
    /// Whether, beside predicted own units, those of the others are shown in the past, as without prediction.
    pub mixed: bool,
    /// Updates by which the others' units are shown in the past; 0 without a server that sends states.
    pub interpolation: u32,
    /// Ticks of input delay between peers where it is fixed; 0 where it follows the links.
    pub fixed_delay: u32 = (0..=DELAY_TICKS_MAX),
    /// Seats.
    pub players: u8 = (2..=PLAYERS_MAX as u8),
    /// Twice the one-way delay between two players.
    pub rtt_ms: f64,
    /// Either way, more or less.
    pub jitter_ms: f64,
    /// Share of the datagrams lost, 0 to 1.
    pub loss: f64 = (0.0..=1.0),
    /// States per second from a server; 0 without a server that sends states.
    pub updates: u32,
    /// Whether a server sends each update again half a tick later to clients that lose what is sent, as lockstep does.
    pub repeat_updates: bool,
    /// Units on the map at the start, of all players.
    pub units: u32,
    /// Ticks per second that are played.
    pub tick_hz: u32 = (30..=60),
    /// By how much the first player's clock is too fast, the next one's too slow, and so on, in millionths.
    pub drift_ppm: u32 = (0..=DRIFT_MAX_PPM),
    /// Points that win a match of bots; 0 for those of the standard rules.
    pub score_to_win: u32 = (0..=SCORE_MAX),
}
}

impl Default for Cell {
    /// The base of the study.
    fn default() -> Self {
        base_cell(Architecture::P2p)
    }
}

/// The base cell of an architecture: two players 100 ms apart who lose 2 % of what they send, a server half-way,
/// everything else as it comes.
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
    /// Virtual or real.
    #[serde(skip_serializing)]
    pub source: Source,
    /// What was played.
    #[serde(flatten, skip_serializing)]
    pub cell: Cell,
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
    /// Until the confirmed state of the player who gave it had it.
    pub own_ms: Quantiles,
    /// Until the first state shown to the player who gave it had it: the predicted state, if there is one.
    pub own_predicted_ms: Quantiles,
    /// Until the first frame of a 60 Hz display of the player who gave it showed it.
    pub own_frame_ms: Quantiles,
    /// Until the confirmed state of each other player had it; a predicted picture slides there from then on.
    pub opponent_confirmed_ms: Quantiles,
    /// Until the screen of each other player showed a state that had it.
    pub opponent_ms: Quantiles,
    /// Until the first frame of each other player's display showed it.
    pub opponent_frame_ms: Quantiles,
    /// [`Self::own_ms`] of all but the player in the last seat, whose link may be bad.
    pub others_own_ms: Quantiles,
    /// [`Self::opponent_confirmed_ms`] between all but the player in the last seat; empty with two players.
    pub others_ms: Quantiles,

    /// Mean distance of a unit on one player's screen from itself on another's at the same instant, in tiles.
    pub apart_mean: f64,
    /// The largest.
    pub apart_max: f64,
    /// The same distance of units that move on either screen, p95.
    pub apart_p95: f64,
    /// Share of the looks at moving units at which the two were more than half a tile apart, 0 to 1.
    pub apart_far: f64,
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
    /// How long a confirmed tick, or a server's next update, was late by more than 100 ms: the time beyond them, together,
    /// mean over the players.
    pub freeze_ms: f64,
    /// The longest of these times, of any player.
    pub freeze_max_ms: f64,
    /// [`Self::freeze_ms`] of all but the player in the last seat.
    pub others_freeze_ms: f64,
    /// Ticks per second of the slowest node.
    pub tick_rate: f64,

    /// What a player sends, mean over the players, with IP and UDP headers; in real matches over the whole match.
    pub kbit_s_up: f64,
    /// What a player receives.
    pub kbit_s_down: f64,
    /// What a player sends, mean over all but the player in the last seat; nothing in real matches.
    pub others_kbit_s_up: f64,
    /// What a player sends over the whole match, setting up and ending included: alike in real and virtual matches.
    pub whole_kbit_s_up: f64,
    /// What a player receives over the whole match.
    pub whole_kbit_s_down: f64,
    /// Datagrams a player sends per second.
    pub packets_s_up: f64,
    /// Datagrams a player receives per second.
    pub packets_s_down: f64,
    /// What the server sends; 0 without a server.
    pub server_kbit_s_up: f64,
    /// What the server receives.
    pub server_kbit_s_down: f64,
    /// Bytes of all datagrams that all nodes sent in the whole match, setting up and ending included.
    pub bytes_sent: u64,
    /// Of these, what arrived.
    pub bytes_received: u64,
    /// Of these, what the links lost.
    pub bytes_lost: u64,
    /// Of these, what was still under way at the end.
    pub bytes_under_way: u64,

    /// The largest difference between two seats' median [`Self::opponent_ms`], by the seat that gave the order.
    pub unfair_ms: f64,
    /// Ticks that the remaining players played after the host or the server was lost; nothing in other experiments.
    pub ticks_after_loss: Option<u32>,
    /// The seat of the winner; only of bots that see the world.
    pub winner: Option<u8>,
    /// Processor time of a player per tick; only of real matches and of those of `scale`.
    pub cpu_us_per_tick: Option<f64>,
    /// Processor time of the server per tick; only of `scale`.
    pub server_cpu_us_per_tick: Option<f64>,
    /// Bytes of the difference between the server's state and the one a round trip and an update earlier, which a client
    /// has, even where it does not fit into an update. Only of `scale`.
    pub state_bytes: Option<f64>,
    /// Memory of the server's process, or of a player's without a server; only of real matches.
    pub memory_bytes: Option<u64>,
    /// How late timers fired, p99; only of real matches.
    pub lateness_ms: Option<f64>,
    /// Hash of the last state that all players reached, if they agree after every tick up to it; else 0.
    pub state_hash: u64,
}
}

/// Quantiles of one latency in one match, in milliseconds: 0 %, 5 %, …, 95 %, 99 %, 100 %. Empty if nothing was
/// measured.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantiles(Vec<f64>);

/// Why a table of matches cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RowError {
    /// The file.
    #[error(transparent)]
    Csv(#[from] csv::Error),
    /// A table of another version of the study.
    #[error("it has no column {0}: it was written by another version")]
    NoColumn(&'static str),
    /// More lines than any study has.
    #[error("more than {ROWS_MAX} matches in one table")]
    TooMany,
}

/// The first column: a line is this, the columns of the cell, and the rest of its [`MatchRow`].
#[derive(Serialize)]
struct SourceColumn {
    source: Source,
}

/// The name of each column and what it means, in the order of the columns.
pub(super) fn column_notes() -> impl Iterator<Item = (&'static str, String)> {
    let fields = MatchRow::NOTES[..1].iter().chain(Cell::NOTES).chain(&MatchRow::NOTES[2..]);
    fields.map(|&(field, notes)| {
        let name = column_name(field);
        let text = notes.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
        (name, text.replace("[`Self::", "`").replace("`]", "`"))
    })
}

/// The names of the columns of a cell.
pub(super) fn cell_columns() -> impl Iterator<Item = &'static str> {
    Cell::NOTES.iter().map(|&(field, _)| column_name(field))
}

/// A field's name in the table.
fn column_name(field: &'static str) -> &'static str {
    if field == "experiment" { "view" } else { field }
}

/// Writes a table: a line of names, and a line for each match.
///
/// # Errors
/// If the file cannot be written.
pub fn write_rows<'a>(
    to: impl io::Write,
    rows: impl IntoIterator<Item = &'a MatchRow>,
) -> Result<(), RowError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    // The names stand there without any match, too.
    writer.write_record(column_notes().map(|(name, _)| name))?;
    for row in rows {
        writer.serialize((SourceColumn { source: row.source }, &row.cell, row))?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Writes the line of one match, as [`write_rows`] has it.
///
/// # Errors
/// If it cannot be written.
pub fn write_row(to: impl io::Write, row: &MatchRow) -> Result<(), RowError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    writer.serialize((SourceColumn { source: row.source }, &row.cell, row))?;
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Reads a table that [`write_rows`] wrote.
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

    /// Every kind of column with a value of its own; a preset and a list that look like numbers.
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
    fn a_row_reads_back_and_a_broken_one_is_named() {
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
