//! `arena discover`.

use anyhow::Context as _;
use std::process::ExitCode;
use std::time::Instant;

use super::args::DiscoverArguments;
use super::output;
use mini_rts_arena::transport::discovery::Browser;

/// Looks for a while, then lists.
pub(crate) fn run(arguments: &DiscoverArguments) -> anyhow::Result<ExitCode> {
    let browser = Browser::start().context("cannot look for matches on the LAN")?;
    browser.wait_for(Instant::now() + arguments.duration, |_| false);
    for warning in browser.warnings() {
        logln!("warning: {warning}");
    }
    let mut rooms = browser.rooms();
    rooms.sort_by_key(|room| (room.name, room.id));
    if arguments.json {
        outln!("{}", output::rooms_json(&rooms));
    } else if rooms.is_empty() {
        outln!("no matches on the LAN");
    } else {
        outln!("{}", output::room_table(&rooms));
    }
    Ok(ExitCode::SUCCESS)
}
