//! `arena discover`.

use anyhow::Context as _;
use std::process::ExitCode;
use std::time::Instant;

use super::args::DiscoverArguments;
use super::{console, output};
use game::phrase::counted;
use transport::discovery::Browser;

/// Searches for a while, then lists the matches.
pub(crate) fn run(arguments: &DiscoverArguments) -> anyhow::Result<ExitCode> {
    let browser = Browser::start().context("cannot look for matches on the LAN")?;
    browser.wait_for(Instant::now() + arguments.duration, |_| false);
    for warning in browser.warnings() {
        logln!("warning: {warning}");
    }
    let (rooms, beyond) = (browser.rooms(), browser.beyond());
    if beyond > 0 {
        let more = counted(beyond, "more match answers", "more matches answer");
        logln!("{more}, but the list ends with {}", rooms.len());
    }
    let text = || match &rooms[..] {
        [] => "no matches on the LAN".into(),
        rooms => output::room_table(rooms).to_string(),
    };
    console::print(arguments.json, || output::rooms_json(&rooms), text);
    Ok(ExitCode::SUCCESS)
}
