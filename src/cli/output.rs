//! Results as text and as JSON.

use comfy_table::Table;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::Path;

use super::console::shown;
use super::paths;
use bot::{PlayerCounts, PlayerReport};
use game::phrase::{clock, counted, joined};
use game::{Finished, MatchOutcome, MatchSheet, Percentiles, SeatResult, ServerSummary, Summary};
use net::discovery::Room;
use net::{ClientStatus, DropCounts, PlayerName};
use sim::PlayerId;

/// Formats the result of a match as the one JSON value on stdout.
pub(crate) fn match_json(
    port: u16,
    finished: &Finished,
    summary: &Summary,
    desync_file: Option<&Path>,
) -> Value {
    let traffic = &finished.traffic;
    let link = finished.link;
    let [commands, deaths, captures] = summary.counts;
    let ms = |us: u64| us as f64 / 1000.0;
    json!({
        "outcome": summary.outcome.as_str(),
        "winner": winner(&summary.winners),
        "ticks": summary.ticks,
        "tick_rate": summary.config.tick_rate.hz(),
        "seed": summary.config.seed,
        "state_hash": hex(summary.hash.whole),
        "architecture": summary.config.architecture.as_str(),
        "fair": summary.config.is_fair,
        "words": summary.words.map(|words| words.to_string()),
        "player": summary.player.0,
        "port": port,
        "replay": summary.replay.as_deref().map(shown),
        "not_written": summary.not_written,
        "commands": commands,
        "deaths": deaths,
        "captures": captures,
        "net": {
            "rtt_ms": link.and_then(|link| link.rtt_us).map(ms),
            "jitter_ms": link.map(|link| ms(link.jitter_us)),
            "loss": link.map(|link| f64::from(link.lost_to_per_mille) / 1000.0),
            "loss_in": link.map(|link| f64::from(link.lost_from_per_mille) / 1000.0),
            "input_delay_ms": finished.delay_us as f64 / 1000.0,
            "dropped": dropped_json(&traffic.dropped),
            "bytes_sent": traffic.bytes_sent,
            "bytes_received": traffic.bytes_received,
            "packets_sent": traffic.packets_sent,
            "packets_received": traffic.packets_received,
            "retransmissions": traffic.retransmissions,
            "stalls": summary.stalls.0,
            "stall_ms": ms(summary.stalls.1),
        },
        "latency_ms": {
            "own": percentiles(summary.latencies.own.percentiles()),
            "opponent": percentiles(summary.latencies.opponent.percentiles()),
            "shown": {
                "own": percentiles(summary.latencies.own_shown.percentiles()),
                "opponent": percentiles(summary.latencies.opponent_shown.percentiles()),
            },
        },
        "clock_error_ms": summary.latencies.clock_error_us.map(ms),
        "corrections": summary.prediction.as_ref().map_or(0, |counts| counts.corrections),
        "prediction": summary.prediction,
        "updates": updates_json(summary),
        "rejected_inputs": summary.rejected,
        "bot": summary.bot.as_ref().map(bot_json),
        "cpu_us_per_tick": finished.cpu_us as f64 / f64::from(summary.ticks.max(1)),
        "memory_bytes": transport::clock::memory_bytes(),
        "scores": summary.scores.as_slice(),
        "desync": summary.desync,
        "desync_report": desync_file.map(shown),
        "match": sheet_json(&summary.sheet),
    })
}

/// Formats the account of a bot in a process of its own.
fn bot_json(report: &PlayerReport) -> Value {
    let PlayerReport { counts, last_fault } = report;
    json!({
        "thinks": counts.thinks,
        "late": counts.late,
        "invalid": counts.invalid,
        "refused": counts.refused,
        "last_fault": last_fault,
    })
}

/// Formats its numbers as a line; empty without such a bot.
fn bot_text(report: Option<&PlayerReport>) -> String {
    report.map_or_else(String::new, |report| {
        let PlayerCounts { thinks, late, invalid, refused } = report.counts;
        let [thinks, refused] = [(thinks, "think", "thinks"), (refused, "command", "commands")]
            .map(|(n, one, many)| counted(n, one, many));
        format!("bot: {thinks}, {late} late, {invalid} invalid; {refused} refused\n")
    })
}

fn updates_json(summary: &Summary) -> Option<Value> {
    summary.updates.map(|updates| {
        json!({
            "applied": updates.applied,
            "agreed": updates.agreed,
            "differed": updates.differed,
            "stale": updates.stale,
            "incomplete": updates.incomplete,
            "refused": updates.refused,
            "gap_max_ms": updates.gap_max.as_secs_f64() * 1000.0,
        })
    })
}

/// Formats the result of a match on its server as the one JSON value on stdout. `series` is its number in the room, and
/// the wins of the players by seat.
pub(crate) fn server_json(port: u16, summary: &ServerSummary, series: (u32, &[u32])) -> Value {
    let lateness = summary.lateness.percentiles();
    json!({
        "outcome": summary.outcome.as_str(),
        "ticks": summary.ticks,
        "state_hash": hex(summary.hash.whole),
        "port": port,
        "words": summary.words.map(|words| words.to_string()),
        "replay": summary.replay.as_deref().map(shown),
        "not_written": summary.not_written,
        "clients": summary.clients.iter().map(client_json).collect::<Vec<_>>(),
        "series": { "match": series.0, "wins": series.1 },
        "tick_lateness_ms": lateness.map(|late| json!({ "p50": late.p50, "p99": late.p99 })),
        "memory_bytes": transport::clock::memory_bytes(),
        "match": sheet_json(&summary.sheet),
    })
}

fn client_json(client: &ClientStatus) -> Value {
    json!({
        "player": client.player.0,
        "name": client.name.as_str(),
        "bytes_sent": client.traffic.bytes_sent,
        "bytes_received": client.traffic.bytes_received,
        "packets_sent": client.traffic.packets_sent,
        "packets_received": client.traffic.packets_received,
        "rejected_inputs": client.counts.rejected,
        "dropped": dropped_json(&client.traffic.dropped),
        "foreign_commands": client.counts.foreign_commands,
        "updates_skipped": client.counts.skipped,
    })
}

/// Formats the result sheet of a match that has just ended.
fn sheet_json(sheet: &MatchSheet) -> Value {
    let seat = |(seat, result): (usize, &SeatResult)| {
        json!({
            "seat": seat,
            "name": result.name.as_str(),
            "team": result.team,
            "hero": result.hero.as_str(),
            "score": result.score,
            "deaths": result.deaths,
            "captures": result.captures,
            "left_at": result.left_at.map(|tick| tick.0),
        })
    };
    let ended = paths::unix_seconds();
    json!({
        "room": sheet.room.as_ref().map(PlayerName::as_str),
        "map": sheet.map,
        "rules": sheet.rules,
        "seed": sheet.seed,
        "seats": sheet.seats.iter().enumerate().map(seat).collect::<Vec<_>>(),
        "winner": winner(&sheet.winners),
        "outcome": sheet.outcome.as_str(),
        "times": {
            "started_unix_s": ended.saturating_sub(sheet.lasted.as_secs()),
            "ended_unix_s": ended,
            "seconds": sheet.lasted.as_secs_f64(),
        },
    })
}

/// Formats the result sheet as one line.
pub(crate) fn sheet_line(sheet: &MatchSheet) -> String {
    let room = sheet.room.as_ref().map_or_else(String::new, |room| format!(" of {room}"));
    let names: Vec<&str> =
        sheet.winners.iter().map(|player| sheet.seats[player.index()].name.as_str()).collect();
    let won = if names.is_empty() { "nobody won".into() } else { format!("{} won", joined(&names)) };
    let seat = |result: &SeatResult| {
        let left = result.left_at.map_or_else(String::new, |tick| format!(", left at tick {tick}"));
        let SeatResult { name, score, deaths, captures, .. } = result;
        format!(
            "{name} {}, {}{left}",
            counted(*score, "point", "points"),
            losses((*deaths).into(), (*captures).into())
        )
    };
    let seats: Vec<String> = sheet.seats.iter().map(seat).collect();
    format!(
        "match{room} on {} by {} rules, seed {}: {won} by {} after {}; {}",
        sheet.map,
        sheet.rules,
        sheet.seed,
        sheet.outcome.as_str(),
        clock(sheet.lasted.as_secs()),
        seats.join("; ")
    )
}

/// Formats the numbers of units lost and circles taken.
fn losses(deaths: u32, captures: u32) -> String {
    let lost = counted(deaths, "unit", "units");
    format!("{lost} lost, {} taken", counted(captures, "circle", "circles"))
}

/// Formats the drop counts by cause.
fn dropped_json(dropped: &DropCounts) -> Value {
    dropped.iter().map(|(cause, count)| (cause.as_str().to_owned(), Value::from(count))).collect()
}

/// Formats the result of a match on its server as text.
pub(crate) fn server_text(summary: &ServerSummary) -> String {
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: {}, state {}",
        summary.outcome.as_str(),
        counted(summary.ticks, "tick", "ticks"),
        hex(summary.hash.whole)
    );
    for client in &summary.clients {
        let (traffic, refused) = (client.traffic, client.counts.rejected);
        let (down, up) = (traffic.bytes_sent / 1000, traffic.bytes_received / 1000);
        let _ = writeln!(text, "{}: {down} kB down, {up} kB up, {refused} refused", client.name);
    }
    text
}

/// Formats the result of a match that this player left before it began.
pub(crate) fn not_begun_json(port: u16) -> Value {
    let outcome = MatchOutcome::Interrupted.as_str();
    json!({ "outcome": outcome, "winner": null, "ticks": 0, "port": port, "replay": null })
}

/// Formats the result of a match as text.
pub(crate) fn match_text(finished: &Finished, summary: &Summary) -> String {
    let seconds = f64::from(summary.ticks) / f64::from(summary.config.tick_rate.hz());
    let who = |player: usize| summary.roster.get(player).map_or("?", |seat| seat.name.as_str());
    let winners: Vec<&str> = summary.winners.iter().map(|player| who(player.index())).collect();
    let won = if winners.is_empty() { "nobody won".into() } else { format!("{} won", joined(&winners)) };
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{}: {won} after {} ({seconds:.1} s), seed {}, state {}",
        summary.outcome.as_str(),
        counted(summary.ticks, "tick", "ticks"),
        summary.config.seed,
        hex(summary.hash.whole)
    );
    let scores = summary.scores.iter().enumerate();
    let scores: Vec<String> = scores.map(|(player, score)| format!("{} {score}", who(player))).collect();
    let _ = writeln!(text, "score: {}", scores.join(", "));
    let [commands, deaths, captures] = summary.counts;
    let commands = counted(commands, "command", "commands");
    let _ = writeln!(text, "you: {commands}, {}", losses(deaths, captures));
    let latency = |name, found: Option<Percentiles>| {
        found.map_or_else(String::new, |found| {
            format!("{name} after {:.1} ms (p95 {:.1})", found.p50, found.p95)
        })
    };
    let own = latency("your clicks acted", summary.latencies.own.percentiles());
    let opponent = latency(", theirs", summary.latencies.opponent.percentiles());
    // In a match of a few seconds, no command counts.
    if !own.is_empty() {
        let _ = writeln!(text, "{own}{opponent}");
    }
    text += &bot_text(summary.bot.as_ref());
    let rtt_us = finished.link.and_then(|link| link.rtt_us).unwrap_or(0);
    let _ = writeln!(
        text,
        "network: RTT {:.1} ms, {} of {:.0} ms in total, {:.1} kbit/s up",
        rtt_us as f64 / 1000.0,
        counted(summary.stalls.0, "stall", "stalls"),
        summary.stalls.1 as f64 / 1000.0,
        finished.traffic.bytes_sent as f64 * 8.0 / 1000.0 / seconds.max(1.0)
    );
    let dropped = &finished.traffic.dropped;
    if dropped.total() > 0 {
        let _ = writeln!(text, "dropped: {dropped}");
    }
    if let Some(report) = &summary.desync {
        let value = |value: Option<i64>| value.map_or_else(|| "none".into(), |value| value.to_string());
        let _ = writeln!(
            text,
            "desync: first at tick {}, {}[{}].{} is {} for {} and {} for {}",
            report.tick,
            report.part.unwrap_or("?"),
            report.row.map_or_else(|| "?".into(), |row| row.to_string()),
            report.field.unwrap_or("?"),
            value(report.values[0]),
            report.seats[0],
            value(report.values[1]),
            report.seats[1]
        );
        if let Some(proof) = &report.equivocation {
            let _ = writeln!(
                text,
                "desync: {} (player {}) sent different inputs to different players, and signed both: see \"equivocation\" in the report",
                who(proof.seat.index()),
                proof.seat
            );
        }
    }
    text
}

/// Formats matches on the LAN as a table.
pub(crate) fn room_table(rooms: &[Room]) -> Table {
    let mut table = Table::new();
    table.set_header([
        "name",
        "map",
        "rules",
        "address",
        "architecture",
        "players",
        "ping",
        "version",
        "found by",
    ]);
    for room in rooms {
        let lock = if room.locked { ", locked" } else { "" };
        table.add_row([
            room.name.to_string(),
            room.names.map_or_else(String::new, |names| names.map.to_string()),
            room.names.map_or_else(String::new, |names| names.rules.to_string()),
            room.address.to_string(),
            room.architecture.to_string(),
            format!("{} of {}{lock}", room.players, room.seats),
            format!("{:.1} ms", room.rtt.as_secs_f64() * 1000.0),
            room.version.as_str().to_owned(),
            room.found_by.iter().map(|way| way.as_str()).collect::<Vec<_>>().join(", "),
        ]);
    }
    table
}

/// Formats matches on the LAN as JSON.
pub(crate) fn rooms_json(rooms: &[Room]) -> Value {
    let room = |room: &Room| {
        json!({
            "name": room.name.as_str(),
            "map": room.names.map(|names| names.map.to_string()),
            "rules": room.names.map(|names| names.rules.to_string()),
            "address": room.address.to_string(),
            "architecture": room.architecture.as_str(),
            "players": room.players,
            "seats": room.seats,
            "locked": room.locked,
            "version": room.version.as_str(),
            "found_by": room.found_by.iter().map(|way| way.as_str()).collect::<Vec<_>>(),
            "ping_ms": room.rtt.as_secs_f64() * 1000.0,
        })
    };
    rooms.iter().map(room).collect()
}

/// Formats the winner: a player, a list of players for a team, or null.
fn winner(winners: &[PlayerId]) -> Value {
    match winners {
        [] => Value::Null,
        [one] => json!(one.0),
        team => team.iter().map(|player| player.0).collect(),
    }
}

fn percentiles(found: Option<Percentiles>) -> Value {
    let (p50, p95, p99) = found.map_or((None, None, None), |p| (Some(p.p50), Some(p.p95), Some(p.p99)));
    json!({ "p50": p50, "p95": p95, "p99": p99 })
}

/// Formats a hash as 16 hexadecimal digits.
pub(crate) fn hex(hash: u64) -> String {
    format!("{hash:016x}")
}
