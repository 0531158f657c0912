//! `arena doctor`.

use anyhow::Context as _;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::process::ExitCode;
use std::time::Duration;

use super::args::DoctorArguments;
use super::{address, console, output, setup};
use game::phrase::{counted, joined};
use net::discovery::FoundBy;
use sim::SIMULATION_BUILD;
use transport::discovery::{Asked, Diagnosis, Heard, diagnose};

/// Tries what discovery does, and says what to do next. Exit code 1 if no match can be found or joined.
pub(crate) fn run(arguments: &DoctorArguments) -> anyhow::Result<ExitCode> {
    let hosts = arguments.address.as_deref().map_or(Ok(Vec::new()), address::resolve)?;
    logln!("announcing a match, looking for it, and listening for {} s", arguments.duration.as_secs_f64());
    let diagnosis = diagnose(arguments.duration, setup::version(), SIMULATION_BUILD, &hosts)
        .context("cannot examine the network")?;
    console::print(arguments.json, || as_json(&diagnosis), || as_text(&diagnosis));
    Ok(console::found(!diagnosis.works()))
}

fn as_json(found: &Diagnosis) -> Value {
    let sent = |(to, result): &(std::net::SocketAddr, Result<(), String>)| json!({ "to": to, "error": result.as_ref().err() });
    let other = |(ip, heard): (&std::net::IpAddr, &Heard)| {
        json!({
            "address": ip,
            "queries": heard.queries,
            "beacons": heard.beacons,
            "unreadable": heard.unreadable,
        })
    };
    let asked = |asked: &Asked| {
        json!({
            "address": asked.address,
            "sent": asked.sent,
            "rtt_ms": asked.rtt.map(milliseconds),
            "error": asked.error,
        })
    };
    json!({
        "works": found.works(),
        "interfaces": found.interfaces,
        "free_ports": found.free_ports,
        "sent": found.broadcasts.iter().map(sent).collect::<Vec<_>>(),
        "heard_self": found.heard_self,
        "found_self_by": found.found_self.iter().map(FoundBy::as_str).collect::<Vec<_>>(),
        "heard": found.others.iter().map(other).collect::<Vec<_>>(),
        "matches": output::rooms_json(&found.rooms),
        "asked": found.asked.as_ref().map(asked),
        "warnings": found.warnings.iter().map(ToString::to_string).collect::<Vec<_>>(),
        "advice": found.advice(),
    })
}

fn as_text(found: &Diagnosis) -> String {
    let mut text = String::new();
    let mut line = |what: &str, says: String| {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{what:<12}{says}");
    };
    for interface in &found.interfaces {
        let note = if interface.is_loopback { " (this machine only)" } else { "" };
        line("interface", format!("{} {}/{}{note}", interface.name, interface.address, interface.prefix));
    }
    line("free ports", ranges(&found.free_ports));
    for (to, result) in &found.broadcasts {
        line("sent", result.as_ref().map_or_else(|error| format!("{to}: {error}"), |()| to.to_string()));
    }
    line("heard", counted(found.heard_self, "own broadcast", "own broadcasts"));
    for (ip, heard) in &found.others {
        let Heard { queries, beacons, unreadable, .. } = heard;
        let queries = counted(*queries, "query", "queries");
        let beacons = counted(*beacons, "beacon", "beacons");
        line("heard", format!("{ip}: {queries}, {beacons}, {unreadable} unreadable"));
    }
    let ways: Vec<_> = found.found_self.iter().map(FoundBy::as_str).collect();
    line(
        "own match",
        if ways.is_empty() { "not found".into() } else { "found by ".to_owned() + &joined(&ways) },
    );
    if let Some(asked) = &found.asked {
        let says = asked.rtt.map(|rtt| format!("answers in {:.1} ms", milliseconds(rtt)));
        line("asked", format!("{} {}", asked.address, says.unwrap_or_else(|| "does not answer".into())));
    }
    for warning in &found.warnings {
        line("warning", warning.to_string());
    }
    if !found.rooms.is_empty() {
        text += &format!("{}\n", output::room_table(&found.rooms));
    }
    let advice = found.advice();
    let next = if advice.is_empty() { vec!["nothing: everything works".to_owned()] } else { advice };
    for advice in next {
        let _ = writeln!(text, "{:<12}{advice}", "next");
    }
    text
}

/// Formats ports as ranges, such as `4124 to 4133`.
fn ranges(ports: &[u16]) -> String {
    let runs = ports.chunk_by(|&port, &next| port + 1 == next).map(|run| match run {
        [only] => only.to_string(),
        [first, .., last] => format!("{first} to {last}"),
        [] => unreachable!("chunks hold something"),
    });
    let runs: Vec<String> = runs.collect();
    if runs.is_empty() { "none of the usual".into() } else { runs.join(", ") }
}

fn milliseconds(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
