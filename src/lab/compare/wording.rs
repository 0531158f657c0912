//! Text for cells and numbers.

use super::preset::bad_link_of;
use super::row::{Cell, Experiment, Topology};
use super::statistics::Mean;
use core::fmt;
use net::Architecture;
use sim::TickRate;

/// Default settings, which are omitted elsewhere: two players, a hero and six minions each, and low jitter.
pub const USUAL: &str =
    "2 players, 14 units, 5 ms jitter (0 at 0 ms RTT), prediction on, unless said otherwise";
const PLAYERS: u8 = 2;
const UNITS_PER_PLAYER: u32 = 7;
const JITTER_MS: f64 = 5.0;

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [experiment, ..] = experiment(self.experiment);
        write!(f, "{experiment}: {} at {}", name(self), condition(self))
    }
}

/// Describes the conditions: `100 ms RTT and 2 % loss with 4 players`.
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
    if cell.tick_hz != TickRate::HZ_60.hz() {
        with.push(format!("{} ticks/s", cell.tick_hz));
    }
    if cell.drift_ppm > 0 {
        with.push(drift(cell));
    }
    if !cell.bad_link.is_empty() || cell.upstream_kbit_s > 0 {
        with.push(format!("{} on the last player's link", bad_link(cell)));
    }
    let with = if with.is_empty() { String::new() } else { format!(" with {}", with.join(" and ")) };
    link(cell) + &with
}

/// Describes the conditions as the beginning of a sentence.
#[must_use]
pub fn at(cell: &Cell) -> String {
    let word = if cell.preset.is_empty() { "At" } else { "On" };
    format!("{word} {}", condition(cell))
}

/// Describes the link between two players: `100 ms RTT and 2 % loss`, `4g (90 ms RTT, 15 ms jitter and 0.5 % loss)`.
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

/// Describes an architecture with its settings: `client-server (20 updates/s, server half-way)`.
#[must_use]
pub fn name(cell: &Cell) -> String {
    let setting = setting(cell);
    if setting.is_empty() {
        cell.architecture.to_string()
    } else {
        format!("{} ({setting})", cell.architecture)
    }
}

/// Abbreviates an architecture with its settings: `client-server 20/s, midway`.
#[must_use]
pub fn brief(cell: &Cell) -> String {
    let place = topology(cell.topology);
    match cell.architecture {
        Architecture::P2p if cell.fixed_delay > 0 => format!("p2p, {}", input_delay(cell)),
        Architecture::P2p => "p2p".into(),
        Architecture::Relay => format!("relay, {place}"),
        Architecture::ClientServer => {
            let late = late(cell).map_or_else(String::new, |late| format!(", {late}"));
            let repeated = if cell.repeat_updates { " repeated on loss" } else { "" };
            format!("client-server {}/s{repeated}{late}, {place}", cell.updates)
        }
    }
}

/// Describes the settings of a server: `20 updates/s, server half-way`; in p2p only a fixed input delay.
#[must_use]
pub fn setting(cell: &Cell) -> String {
    match cell.architecture {
        Architecture::P2p if cell.fixed_delay > 0 => input_delay(cell),
        Architecture::P2p => String::new(),
        Architecture::Relay => place(cell.topology, "relay"),
        Architecture::ClientServer => {
            let place = place(cell.topology, "server");
            let late = late(cell).map_or_else(String::new, |late| format!(", {late}"));
            let repeated = if cell.repeat_updates { " repeated on loss" } else { "" };
            format!("{} updates/s{repeated}{late}, {place}", cell.updates)
        }
    }
}

/// Describes the interpolation delay of the others: `interpolation delay of 2 updates`. `None` for a predicting view,
/// which shows the confirmed state and beyond.
fn late(cell: &Cell) -> Option<String> {
    let updates = if cell.interpolation == 1 { "update" } else { "updates" };
    let of = if cell.mixed { "others at an " } else { "" };
    (!cell.prediction || cell.mixed)
        .then(|| format!("{of}interpolation delay of {} {updates}", cell.interpolation))
}

/// Describes the input delay of lockstep: `input delay fixed at 100 ms`.
#[must_use]
pub fn input_delay(cell: &Cell) -> String {
    match cell.fixed_delay {
        0 => "input delay that follows the links".into(),
        ticks => format!("input delay fixed at {} ms", ticks * 1000 / TickRate::HZ_60.hz()),
    }
}

/// Describes the error of the clocks: `clocks 50 ppm too fast and too slow`.
#[must_use]
pub fn drift(cell: &Cell) -> String {
    match cell.drift_ppm {
        0 => "clocks that run alike".into(),
        ppm => format!("clocks {ppm} ppm too fast and too slow"),
    }
}

/// Describes the view.
#[must_use]
pub fn view(cell: &Cell) -> String {
    match (cell.prediction, late(cell).filter(|_| cell.updates > 0)) {
        (true, None) => "the view predicted".into(),
        (true, Some(late)) => format!("own units predicted, {late}"),
        (false, Some(late)) => format!("no prediction, {late}"),
        (false, None) => "no prediction".into(),
    }
}

/// Describes the impairment of the last player's link: `5 % loss`, or `nothing wrong`.
#[must_use]
pub fn bad_link(cell: &Cell) -> String {
    if cell.upstream_kbit_s > 0 {
        let queue = short(cell.upstream_queue_ms);
        return format!("{} kbit/s upstream (queue of {queue} ms)", cell.upstream_kbit_s);
    }
    let known = bad_link_of(cell).map(|bad| bad.says);
    let name = if cell.bad_link.is_empty() { "nothing wrong" } else { &cell.bad_link };
    known.unwrap_or(name).to_owned()
}

/// Describes the location of the server.
#[must_use]
pub fn place(topology: Topology, server: &str) -> String {
    match topology {
        Topology::Lan => format!("{server} on the LAN"),
        Topology::Midway => format!("{server} half-way"),
        Topology::Remote => format!("{server} as far as the opponent"),
        Topology::Listen => format!("{server} in a player's process"),
    }
}

/// Returns an experiment's key in JSON, its question, and its conditions.
#[must_use]
pub const fn experiment(experiment: Experiment) -> [&'static str; 3] {
    match experiment {
        Experiment::Defaults => [
            "defaults",
            "Latency and traffic",
            "each architecture with its defaults, unless a row says otherwise; all players' links are alike",
        ],
        Experiment::OneBadLink => [
            "one-bad-link",
            "One bad link",
            "two to four players with round trips of 50 ms, of whom the last has a bad link: what the others notice",
        ],
        Experiment::HostLost => [
            "host-lost",
            "The host or the server is lost",
            "the player who hosts, or the server, disappears half-way",
        ],
        Experiment::Outcome => [
            "outcome",
            "What latency decides",
            "bots see what a screen shows, act 170 to 230 ms later, and play to the end; the last player has more latency",
        ],
        Experiment::Scale => [
            "scale",
            "Units and players",
            "armies stand among each other and fight, with enough hit points that nobody falls; the server's bandwidth limit is lifted",
        ],
    }
}

/// Returns the name of a location in a table.
#[must_use]
pub const fn topology(topology: Topology) -> &'static str {
    match topology {
        Topology::Lan => "lan",
        Topology::Midway => "midway",
        Topology::Remote => "remote",
        Topology::Listen => "listen",
    }
}

/// Formats a share as `2 %`.
#[must_use]
pub fn percent(share: f64) -> String {
    format!("{} %", short(100.0 * share))
}

/// Formats a setting without unnecessary digits.
#[must_use]
pub fn short(number: f64) -> String {
    let hundredths = (number * 100.0).round() / 100.0;
    // Adding 0.0 avoids "-0".
    format!("{}", hundredths + 0.0)
}

/// Formats a measured number with appropriate precision.
#[must_use]
pub fn measured(number: f64) -> String {
    let text = if number.abs() < 0.995 { format!("{number:.2}") } else { format!("{number:.1}") };
    if text.trim_start_matches(['-', '0', '.']).is_empty() {
        text.trim_start_matches('-').to_owned()
    } else {
        text
    }
}

/// Formats a mean, or a dash.
#[must_use]
pub fn value(mean: Option<Mean>) -> String {
    mean.map_or_else(|| "–".into(), |mean| measured(mean.value))
}

/// Formats a mean with its interval in brackets.
#[must_use]
pub fn with_interval(mean: Option<Mean>) -> String {
    let value = value(mean);
    match mean.and_then(|mean| mean.interval) {
        Some([low, high]) => format!("{value} [{}, {}]", measured(low), measured(high)),
        None => value,
    }
}
