//! `arena` alone: two headless bots play over loopback.

use anyhow::{Context as _, bail};
use clap::Parser as _;
use std::net::{IpAddr, Ipv4Addr};
use std::process::ExitCode;

use super::args::{Arguments, Task};
use super::headless::{leave_on_interrupt, progress_bar, watch};
use super::{output, setup};
use mini_rts_arena::game::{MatchError, MatchOutcome, MatchThread};
use mini_rts_arena::replay::{Verdict, verify};
use mini_rts_arena::transport::{PortChoice, Udp};

/// Ticks of the match: half a minute.
const TICKS: u32 = 1800;

/// Plays, records, verifies.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (host_udp, guest_udp) =
        (Udp::bind(loopback, PortChoice::Any)?, Udp::bind(loopback, PortChoice::Any)?);
    let address = host_udp.local_address();
    logln!("listening {address}");
    let ticks = TICKS.to_string();
    let Some(Task::Host(host)) = parse(&["host", "--headless", "--name", "Blue", "--ticks", &ticks])?.task
    else {
        bail!("the demonstration does not parse")
    };
    let at = address.to_string();
    let Some(Task::Join(guest)) =
        parse(&["join", &at, "--headless", "--name", "Orange", "--record", "off"])?.task
    else {
        bail!("the demonstration does not parse")
    };
    let host_match = setup::host(&host, address.port())?;
    let guest_match = setup::join(&guest, address, &[])?;
    let host = MatchThread::start(host_match.game, host_udp, None).context("cannot start the match")?;
    let guest = MatchThread::start(guest_match.game, guest_udp, None).context("cannot start the match")?;
    leave_on_interrupt(host.control().clone())?;
    let bar = progress_bar(Some(TICKS));
    watch(&host, &bar, None);
    let (host, guest) = (host.join(), guest.join());
    bar.finish_and_clear();
    let (summary, other) = match (&host.result, &guest.result) {
        (Ok(summary), Ok(other)) => (summary, other),
        (Err(MatchError::NotBegun), _) => return Ok(ExitCode::SUCCESS),
        (Err(error), _) | (_, Err(error)) => bail!("{error}"),
    };
    out!("{}", output::match_text(&host, summary));
    if summary.outcome == MatchOutcome::Interrupted {
        return Ok(ExitCode::SUCCESS);
    }
    if summary.hash != other.hash {
        bail!("the two peers' hashes differ: {:x} and {:x}", summary.hash.whole, other.hash.whole);
    }
    let Some(replay) = &summary.replay else { bail!("the match was not recorded") };
    let report = verify(replay, |_| {})?;
    if report.verdict != Verdict::Equal {
        bail!("the replay does not verify: {}", report.reason);
    }
    outln!("both peers' states are equal; the replay verifies at {:.0} x real time", report.x_real_time);
    outln!("replay {}", replay.display());
    Ok(ExitCode::SUCCESS)
}

/// The demonstration is what anyone could type.
fn parse(words: &[&str]) -> anyhow::Result<Arguments> {
    Ok(Arguments::try_parse_from(["arena"].iter().chain(words))?)
}
