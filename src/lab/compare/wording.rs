//! Cells and numbers as a reader wants them.

use super::row::{Cell, Topology, View};
use super::statistics::Mean;
use super::summary::{Measure, Span};
use crate::net::Architecture;

/// What needs no word: two players, a hero and six minions each, a little jitter.
pub const USUAL: &str =
    "2 players, 14 units, 5 ms jitter (0 at 0 ms RTT), prediction on, unless said otherwise";
const PLAYERS: u8 = 2;
const UNITS_PER_PLAYER: u32 = 7;
const JITTER_MS: f64 = 5.0;

/// What the players meet: `100 ms RTT and 2 % loss with 4 players`.
#[must_use]
pub fn condition(cell: &Cell) -> String {
    let mut with = Vec::new();
    if cell.players != PLAYERS {
        with.push(format!("{} players", cell.players));
    }
    if cell.units != UNITS_PER_PLAYER * u32::from(cell.players) {
        with.push(format!("{} units", cell.units));
    }
    if !cell.prediction {
        with.push("no prediction".into());
    }
    let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" and ")) };
    link(cell) + &with
}

/// The same as the beginning of a sentence.
#[must_use]
pub fn at(cell: &Cell) -> String {
    let word = if cell.preset.is_empty() { "At" } else { "On" };
    format!("{word} {}", condition(cell))
}

/// The link between two players: `100 ms RTT and 2 % loss`, `4g (90 ms RTT, 15 ms jitter and 0.5 % loss)`.
#[must_use]
pub fn link(cell: &Cell) -> String {
    let usual = if cell.rtt_ms > 0.0 { JITTER_MS } else { 0.0 };
    let jitter = if cell.jitter_ms == usual {
        String::new()
    } else {
        format!(", {} ms jitter", short(cell.jitter_ms))
    };
    let link = format!("{} ms RTT{jitter} and {} loss", short(cell.rtt_ms), percent(cell.loss));
    if cell.preset.is_empty() { link } else { format!("{} ({link})", cell.preset) }
}

/// An architecture with its settings: `client-server (20 updates/s, server half-way)`.
#[must_use]
pub fn name(cell: &Cell) -> String {
    let setting = setting(cell);
    if setting.is_empty() {
        cell.architecture.to_string()
    } else {
        format!("{} ({setting})", cell.architecture)
    }
}

/// The same in few words: `client-server 20/s, midway`.
#[must_use]
pub fn brief(cell: &Cell) -> String {
    let place = topology(cell.topology);
    match cell.architecture {
        Architecture::P2p => "p2p".into(),
        Architecture::Relay => format!("relay, {place}"),
        Architecture::ClientServer => {
            let late = late(cell).map_or_else(String::new, |late| format!(", {late}"));
            format!("client-server {}/s{late}, {place}", cell.updates)
        }
    }
}

/// The settings of a server: `20 updates/s, server half-way`; empty in p2p.
#[must_use]
pub fn setting(cell: &Cell) -> String {
    match cell.architecture {
        Architecture::P2p => String::new(),
        Architecture::Relay => place(cell.topology, "relay"),
        Architecture::ClientServer => {
            let place = place(cell.topology, "server");
            let late = late(cell).map_or_else(String::new, |late| format!(", {late}"));
            format!("{} updates/s{late}, {place}", cell.updates)
        }
    }
}

/// How far in the past the screen of a client is: `shown 2 updates late`. Prediction shows what is confirmed, and
/// beyond it.
fn late(cell: &Cell) -> Option<String> {
    let updates = if cell.interpolation == 1 { "update" } else { "updates" };
    (!cell.prediction).then(|| format!("shown {} {updates} late", cell.interpolation))
}

/// Where the server stands.
#[must_use]
pub fn place(topology: Topology, server: &str) -> String {
    match topology {
        Topology::Lan => format!("{server} on the LAN"),
        Topology::Midway => format!("{server} half-way"),
        Topology::Remote => format!("{server} as far as the opponent"),
        Topology::Listen => format!("{server} in a player's process"),
    }
}

/// The question of a view.
#[must_use]
pub const fn question(view: View) -> &'static str {
    match view {
        View::Defaults => "Defaults against defaults",
        View::EqualRate => "Equal send rate",
        View::Bytes => "Latency against bytes",
        View::HostLost => "The host or the server is lost",
        View::Bots => "Matches between bots",
    }
}

/// A name as it stands in a table.
#[must_use]
pub const fn topology(topology: Topology) -> &'static str {
    match topology {
        Topology::Lan => "lan",
        Topology::Midway => "midway",
        Topology::Remote => "remote",
        Topology::Listen => "listen",
    }
}

/// A name as it stands in JSON.
#[must_use]
pub const fn view(view: View) -> &'static str {
    match view {
        View::Defaults => "defaults",
        View::EqualRate => "equal-rate",
        View::Bytes => "bytes",
        View::HostLost => "host-lost",
        View::Bots => "bots",
    }
}

/// A share as `2 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

/// A given number without needless digits.
#[must_use]
pub fn short(number: f64) -> String {
    let hundredths = (number * 100.0).round() / 100.0;
    // Never "-0".
    format!("{}", hundredths + 0.0)
}

/// A measured number with the digits it deserves.
#[must_use]
pub fn measured(number: f64) -> String {
    let text = if number.abs() < 0.995 { format!("{number:.2}") } else { format!("{number:.1}") };
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// A mean, or a dash.
#[must_use]
pub fn value(mean: Option<Mean>) -> String {
    mean.map_or_else(|| "–".into(), |mean| measured(mean.value))
}

/// A mean with its interval in brackets.
#[must_use]
pub fn with_interval(mean: Option<Mean>) -> String {
    let value = value(mean);
    match mean.and_then(|mean| mean.interval) {
        Some([low, high]) => format!("{value} [{}, {}]", measured(low), measured(high)),
        None => value,
    }
}

/// What is measured.
#[must_use]
pub fn measure(measure: Measure) -> String {
    let name = match measure {
        Measure::Latency(span, share) => {
            let span = match span {
                Span::Own => "own order confirmed",
                Span::OwnPredicted => "own order shown",
                Span::OpponentConfirmed => "opponent's order confirmed",
                Span::Opponent => "opponent's order seen",
            };
            return format!("{span} ({})", share.as_str());
        }
        Measure::StallMsPerS => "stalls",
        Measure::CorrectionsPerMin => "corrections",
        Measure::Apart => "distance between screens",
        Measure::PlayerUp => "sent by a player",
        Measure::PlayerDown => "received by a player",
        Measure::ServerUp => "sent by the server",
        Measure::ServerDown => "received by the server",
        Measure::AllNodes => "sent by all nodes",
        Measure::TicksAfterLoss => "ticks after the loss",
    };
    name.to_owned()
}
