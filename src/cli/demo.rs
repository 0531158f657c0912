//! `arena` without a command and without a display: two headless bots play over loopback.

use anyhow::{Context as _, bail};
use std::process::ExitCode;

use super::args::{PlayArguments, usual};
use super::headless;
use super::local::LocalMatch;
use super::output;
use game::{MatchError, MatchOutcome};
use net::PlayerName;
use replay::{Verdict, verify};

/// Length of the match, in ticks: half a minute.
const TICKS: u32 = 1800;

/// Plays a match, records it, and verifies the replay.
pub(crate) fn run() -> anyhow::Result<ExitCode> {
    let mut arguments: PlayArguments = usual();
    arguments.player.name = Some(PlayerName::new("Blue")?);
    arguments.terms.ticks = Some(TICKS);
    arguments.output.headless = true;
    let LocalMatch { game, udp, mut others, .. } = LocalMatch::start(&arguments)?;
    logln!("listening {}", udp.local_address());
    let guest = others.pop().context("nobody plays against Blue")?;
    let thread = headless::start(game, udp, None)?;
    let host = headless::watch(thread, Some(TICKS), |_| {});
    let guest = guest.join();
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
    let Some(replay) = &summary.replay else { bail!("cannot write {}", summary.not_written.join(", nor ")) };
    let report = verify(replay, |_| {})?;
    if report.verdict != Verdict::Equal {
        bail!("the replay does not verify: {}", report.reason);
    }
    outln!("both peers' states are equal; the replay verifies at {:.0} x real time", report.x_real_time);
    outln!("replay {}", replay.display());
    Ok(ExitCode::SUCCESS)
}
