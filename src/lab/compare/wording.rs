//! Cells and numbers as a reader wants them.

use super::row::{Cell, Topology, View};
use crate::net::Architecture;

/// Players and units of the standard match, which need no word.
const STANDARD: (u8, u32) = (2, 30);

/// What the players meet: `100 ms RTT and 2 % loss, 4 players`.
#[must_use]
pub fn condition(cell: &Cell) -> String {
    let mut text = link(cell);
    if cell.players != STANDARD.0 {
        text += &format!(", {} players", cell.players);
    }
    if cell.units != STANDARD.1 {
        text += &format!(", {} units", cell.units);
    }
    if !cell.prediction {
        text += ", without prediction";
    }
    text
}

/// The link between two players: `100 ms RTT, 5 ms jitter and 2 % loss`.
#[must_use]
pub fn link(cell: &Cell) -> String {
    let mut text = if cell.preset.is_empty() { String::new() } else { format!("{}: ", cell.preset) };
    text += &format!("{} ms RTT", short(cell.rtt_ms));
    if cell.jitter_ms > 0.0 {
        text += &format!(", {} ms jitter", short(cell.jitter_ms));
    }
    text + &format!(" and {} loss", percent(cell.loss))
}

/// The settings of a server: `20 updates/s, shown 2 late, server half-way`; empty in p2p.
#[must_use]
pub fn setting(cell: &Cell) -> String {
    match cell.architecture {
        Architecture::P2p => String::new(),
        Architecture::Relay => place(cell.topology, "relay"),
        Architecture::ClientServer => {
            let place = place(cell.topology, "server");
            format!("{} updates/s, shown {} late, {place}", cell.updates, cell.interpolation)
        }
    }
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
