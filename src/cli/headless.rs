//! `arena host`, `join` and `play` without a window.

use anyhow::{Context as _, anyhow, bail};
use crossbeam_channel::Sender;
use indicatif::ProgressBar;
use serde_json::json;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::args::{HostArguments, JoinArguments, MatchArguments, Matches, NetworkArguments, PlayArguments};
use super::console::{self, log_above};
use super::kept_seats::{self, KeptSeat, SeatKeeper, abandoned_seats, token_text};
use super::local::LocalMatch;
use super::{address, output, paths, setup};
use game::phrase::{counted, joined};
use game::{Control, Finished, Match, MatchError, MatchEvent, MatchOutcome, MatchThread, Progress, Summary};
use net::Refusal;
use net::discovery::{Beacon, Room};
use net::message::{Lobby, LobbySeat, Unplayable};
use sim::PlayerId;
use transport::discovery::{Announcer, Browser};
use transport::{LinkSpec, PortChoice, Udp};

/// Time for which `join` looks for more matches once it has found one, and for a match of the given name.
const WHOLE_LOOK: Duration = Duration::from_millis(1500);

/// Time to wait for the next report of a match.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// Opens a match and plays it.
pub(crate) fn host(arguments: &HostArguments) -> anyhow::Result<ExitCode> {
    let network = &arguments.game.network;
    let udp = setup::bind(network, PortChoice::Default, &mut Vec::new())?;
    let prepared = setup::host(arguments, udp.local_address().port())?;
    if let Some(seed) = prepared.seed {
        logln!("seed {seed}");
    }
    let announcer = announce(network, prepared.beacon)?;
    play_on(&arguments.game, prepared.game, udp, announcer, None)
}

/// Finds a match and plays it.
pub(crate) fn join(arguments: &JoinArguments) -> anyhow::Result<ExitCode> {
    let arguments = &taking_back(arguments.clone())?;
    let game = &arguments.game;
    let network = &game.network;
    let mut hosts = match &arguments.address {
        Some(address) => hosts_of(address, game)?,
        None => arguments.kept_hosts.clone(),
    };
    let udp = setup::bind(network, PortChoice::Any, &mut hosts)?;
    if hosts.is_empty() {
        hosts.push(find_host(game)?);
    }
    let prepared = setup::join(arguments, &hosts, &udp.reachable_at())?;
    play_on(game, prepared.game, udp, None, Some((arguments, &hosts)))
}

/// Adds the token and addresses of the last seat to the arguments, if requested.
pub(crate) fn taking_back(mut arguments: JoinArguments) -> anyhow::Result<JoinArguments> {
    if arguments.returns {
        let Some(seat) = abandoned_seats().into_iter().next() else {
            bail!("there is no seat to return to: only a server keeps one, and only for a while");
        };
        seat.put_into(&mut arguments);
        arguments.kept_hosts = seat.hosts;
    }
    Ok(arguments)
}

/// Plays against bots, all in this process.
pub(crate) fn play(arguments: &PlayArguments) -> anyhow::Result<ExitCode> {
    let LocalMatch { game, udp, seed, others, .. } = LocalMatch::start(arguments)?;
    logln!("listening {}", udp.local_address());
    logln!("seed {seed}");
    let code = play_on(&arguments.as_host().game, game, udp, None, None)?;
    // Their processes, if they are such bots, end with them.
    for other in others {
        let _ = other.join();
    }
    Ok(code)
}

/// Finds the only match on the LAN that this player can join: an open one, or a locked one if there is a code.
fn find_host(game: &MatchArguments) -> anyhow::Result<SocketAddr> {
    if game.network.no_discovery {
        bail!("--no-discovery needs an address to join, such as 192.168.1.20");
    }
    let is_locked = game.network.room.is_some();
    let (found, others) =
        look_for(game.wait(), |room| room.players < room.seats && room.locked == is_locked)?;
    found.with_context(|| {
        let kind = if is_locked { "open match with a room code" } else { "open match" };
        let (seconds, others) = (game.wait().as_secs_f64(), passed_over(&others));
        format!(
            "found no {kind} on the LAN within {seconds} s{others}; host one with `arena host`, or give its address"
        )
    })
}

/// Looks for the only match on the LAN that is wanted, and returns it and the others.
fn look_for(
    within: Duration,
    is_wanted: impl Fn(&Room) -> bool,
) -> anyhow::Result<(Option<SocketAddr>, Vec<Room>)> {
    let browser = Browser::start().context("cannot look for matches; give the host's address")?;
    if browser.wait_for(Instant::now() + within, |rooms| rooms.iter().any(&is_wanted)).is_some() {
        // Others may answer a little later; then the choice is ambiguous.
        browser.wait_for(Instant::now() + WHOLE_LOOK, |_| false);
    }
    let (wanted, others): (Vec<Room>, Vec<Room>) = browser.rooms().into_iter().partition(is_wanted);
    if wanted.len() > 1 {
        logln!("{}", output::room_table(&wanted));
        bail!("{} matches are open; give the address of one of them", wanted.len());
    }
    Ok((wanted.first().map(|room| room.address), others))
}

/// Names the matches that were found, but cannot be joined so.
fn passed_over(others: &[Room]) -> String {
    let (full, open): (Vec<&Room>, Vec<&Room>) = others.iter().partition(|room| room.players >= room.seats);
    let locked = open.iter().filter(|room| room.locked).count();
    let kinds = [
        (full.len(), "full"),
        (locked, "locked, for --room CODE"),
        (open.len() - locked, "open to all, without --room"),
    ];
    let kinds: Vec<String> = kinds
        .into_iter()
        .filter(|(count, _)| *count > 0)
        .map(|(count, kind)| format!("{count} {kind}"))
        .collect();
    if kinds.is_empty() { String::new() } else { format!(" (there: {})", kinds.join("; ")) }
}

/// Returns the addresses of a host that is given by its address, or by the name of its room on the LAN. A name with a
/// dot is one of the network.
fn hosts_of(text: &str, game: &MatchArguments) -> anyhow::Result<Vec<SocketAddr>> {
    let is_name = !text.contains(['.', ':', '[', '/']) && !text.eq_ignore_ascii_case("localhost");
    if is_name && !game.network.no_discovery {
        let (found, _) = look_for(WHOLE_LOOK, |room| room.name.as_str() == text)?;
        if let Some(host) = found {
            return Ok(vec![host]);
        }
    }
    address::resolve(text)
}

/// Runs the match thread to its end and reports the result; `guest` is set for a guest of a host at one of these
/// addresses.
fn play_on(
    game: &MatchArguments,
    prepared: Match,
    udp: Udp,
    announcer: Option<Announcer>,
    guest: Option<(&JoinArguments, &[SocketAddr])>,
) -> anyhow::Result<ExitCode> {
    let port = udp.local_address().port();
    let thread = start(prepared, udp, game.network.link.link)?;
    let asked = guest.map(|(_, hosts)| list(hosts));
    match &asked {
        Some(hosts) => logln!("asking {hosts}; Ctrl-C leaves"),
        None => logln!("waiting for another player; Ctrl-C leaves"),
    }
    let (mut announced, mut is_seated, mut lobby) = (None, false, None);
    let mut keeper = SeatKeeper::default();
    let matches = guest.map_or(Matches::ONE, |(arguments, _)| arguments.matches);
    let mut stay = Stay { game, port, control: thread.control().clone(), matches, played: 0, failed: None };
    let finished = watch(thread, game.terms.ticks, |progress| {
        if let Some(Progress::Over(finished)) = progress {
            keeper.end(finished);
            stay.report(finished);
        }
        if let Some(Progress::Event(event)) = progress {
            note_lobby(&mut lobby, event);
        }
        is_seated |= matches!(progress, Some(Progress::Event(MatchEvent::Confirmed(_))));
        keeper.refresh();
        if let (Some((arguments, hosts)), Some(Progress::Event(MatchEvent::Token(token, room)))) =
            (guest, progress)
            && let Err(error) = keeper.keep(&KeptSeat::new(arguments, hosts, room.0, *token))
        {
            logln!("the seat is not kept for `arena join --return`: {error:#}");
        }
        if let (Some(announcer), Some(Progress::At { beacon: Some(beacon), .. })) = (&announcer, progress)
            && announced != Some(beacon.players)
        {
            announced = Some(beacon.players);
            announcer.update(beacon.clone());
        }
    });
    keeper.end(&finished);
    if let Some(code) = stay.end(&finished) {
        return code;
    }
    if let Err(error) = &finished.result {
        print_reason(game.output.json, port, error);
    }
    if let (Some((arguments, _)), Err(error)) = (guest, &finished.result)
        && let Some(token) = arguments.token.filter(|_| kept_seats::is_gone(error))
    {
        kept_seats::forget(token);
    }
    // Only now may the room disappear from lists.
    drop(announcer);
    if let (Some((_, hosts)), Err(error)) = (guest, &finished.result)
        && let Some(version) = setup::other_version(error, hosts)
    {
        bail!("{error}; arena {version} runs there");
    }
    if is_seated && guest.is_some() && matches!(finished.result, Err(MatchError::NoAnswer)) {
        let seconds = game.wait().as_secs_f64();
        bail!("the match did not begin within {seconds} s; --wait SECONDS waits longer");
    }
    // Without an answer of the host, no other player was awaited.
    let waited = (game.wait(), lobby.as_ref());
    report(game, port, &finished, asked.filter(|_| !is_seated), waited)
}

/// A guest's stay in a room, for as many matches as it wants.
struct Stay<'a> {
    game: &'a MatchArguments,
    port: u16,
    control: Sender<Control>,
    matches: Matches,
    /// Matches after which the room was still open.
    played: u32,
    failed: Option<anyhow::Error>,
}

impl Stay<'_> {
    /// Prints the result of a match, and gets ready for the next one or leaves the room.
    fn report(&mut self, finished: &Finished) {
        self.played += 1;
        if let Err(error) = report(self.game, self.port, finished, None, (Duration::ZERO, None)) {
            self.failed.get_or_insert(error);
        }
        let next = if self.is_enough() { Control::Leave } else { Control::Rematch };
        // If the queue is full, this player is leaving already.
        let _ = self.control.try_send(next);
    }

    fn is_enough(&self) -> bool {
        self.failed.is_some() || self.matches.0.is_some_and(|matches| self.played >= matches)
    }

    /// Returns the exit code if the room has closed between two matches.
    fn end(self, finished: &Finished) -> Option<anyhow::Result<ExitCode>> {
        use MatchError::{LeftEarly, LostEarly, NoRematch, NotBegun, WaitOver};
        let error = finished.result.as_ref().err().filter(|_| self.played > 0)?;
        if !matches!(error, NotBegun | NoRematch | WaitOver | LeftEarly(_) | LostEarly(_)) {
            return None;
        }
        if !self.is_enough() {
            logln!("no further match in this room, after {}: {error}", self.played);
        }
        Some(self.failed.map_or(Ok(ExitCode::SUCCESS), Err))
    }
}

/// Lobby as it was last, and the seat of the player at this computer.
pub(crate) type LastLobby = (PlayerId, Lobby);

/// Keeps the lobby that an event tells of.
pub(crate) fn note_lobby(last: &mut Option<LastLobby>, event: &MatchEvent) {
    if let MatchEvent::Lobby { player, lobby, .. } = event {
        *last = Some((*player, lobby.clone()));
    }
}

/// Joins the addresses of one host.
fn list(addresses: &[SocketAddr]) -> String {
    addresses.iter().map(ToString::to_string).collect::<Vec<_>>().join(" or ")
}

/// Starts a match thread. From now on Ctrl-C leaves the match, so only now may a line say so.
pub(crate) fn start(prepared: Match, udp: Udp, link: Option<LinkSpec>) -> anyhow::Result<MatchThread> {
    let thread = MatchThread::start(prepared, udp, link).context("cannot start the match")?;
    console::on_interrupt(thread.control(), || Control::Leave)?;
    Ok(thread)
}

/// Shows the progress of a match to its end. Calls `each` with every report, and without one after a time without
/// any.
pub(crate) fn watch(
    thread: MatchThread,
    ticks: Option<u32>,
    mut each: impl FnMut(Option<&Progress>),
) -> Finished {
    let bar = progress_bar(ticks);
    while let Ok(progress) = thread.progress(LOOK_EVERY) {
        // A result is printed where the bar is.
        match &progress {
            Some(Progress::Over(_)) => bar.suspend(|| each(progress.as_ref())),
            progress => each(progress.as_ref()),
        }
        if let Some(progress) = progress {
            show(&progress, &bar);
        }
    }
    let finished = thread.join();
    bar.finish_and_clear();
    finished
}

/// Announces a room on the LAN, unless discovery is disabled.
pub(crate) fn announce(
    network: &NetworkArguments,
    beacon: Option<Beacon>,
) -> anyhow::Result<Option<Announcer>> {
    let started = beacon.filter(|_| !network.no_discovery).map(Announcer::start).transpose();
    started.context("cannot announce the match; try --no-discovery")
}

fn show(progress: &Progress, bar: &ProgressBar) {
    match progress {
        Progress::At { tick, link, delay_us, .. } => {
            bar.set_position(u64::from(tick.0));
            let rtt_ms = link.and_then(|link| link.rtt_us).unwrap_or(0) as f64 / 1000.0;
            bar.set_message(format!("RTT {rtt_ms:.1} ms, delay {:.1} ms", *delay_us as f64 / 1000.0));
        }
        Progress::Event(event) => {
            if let Some(line) = tell_line(event) {
                log_above(bar, &line);
            }
        }
        Progress::Over(_) => {}
    }
}

/// Describes an event.
pub(crate) fn tell_line(event: &MatchEvent) -> Option<String> {
    let who = |player: PlayerId| {
        if player == PlayerId::NONE { "the server".to_owned() } else { format!("player {player}") }
    };
    Some(match event {
        MatchEvent::Joined(player, name) => format!("{name} joined as player {player}"),
        MatchEvent::Refused(from, refusal, untold) => {
            let before = if *untold > 0 { format!(", and {untold} before") } else { String::new() };
            format!("refused {from}{before}: {}", refusal_line(refusal))
        }
        MatchEvent::Vacated(player) => format!("player {player} left before the start"),
        MatchEvent::Received(rules, map) => {
            format!("playing by the rules {} on the map {}, from the host", rules.name, map.name)
        }
        MatchEvent::Unplayable(player, reason) => {
            format!("player {player} cannot play here: {}", unplayable_line(*reason))
        }
        MatchEvent::Confirmed(player) => format!("joined as player {player}"),
        MatchEvent::Token(token, _) => {
            format!("token {} takes this seat back, as does `arena join --return`", token_text(*token))
        }
        MatchEvent::Words(words) => format!("words of the table: {words}"),
        MatchEvent::Counting(_) => "all players are here".into(),
        MatchEvent::Silent(player) => format!("{} is silent", who(*player)),
        MatchEvent::Heard(player) => format!("{} is back", who(*player)),
        MatchEvent::Waiting(player) => format!("{} is lost; the match waits", who(*player)),
        MatchEvent::HoldsUp(player) => format!("player {player} holds up the match"),
        MatchEvent::Said(player, text) => format!("player {player} says: {text}"),
        MatchEvent::RematchWanted(player) => format!("player {player} wants a rematch"),
        MatchEvent::Paused(Some(player)) => format!("player {player} pauses the match"),
        MatchEvent::Paused(None) => "the match stalled; it counts down and continues".into(),
        MatchEvent::Resumed => "the match continues".into(),
        MatchEvent::Left(player) => format!("player {player} has left; the match continues"),
        MatchEvent::Lost(player) => format!("player {player} is lost; the match continues"),
        MatchEvent::RecordingStopped(why) => format!("recording stopped, the match continues: {why}"),
        MatchEvent::Lobby { .. } | MatchEvent::Ended(_) => return None,
    })
}

/// Says to a host why somebody was refused.
const fn refusal_line(refusal: &Refusal) -> &'static str {
    match refusal {
        Refusal::Protocol { .. } => "another protocol version",
        Refusal::SimulationBuild { .. } => "another simulation build",
        Refusal::Rules { .. } => "other rules",
        Refusal::Map { .. } => "another map",
        Refusal::Ticks { .. } => "another number of ticks",
        Refusal::TickRate { .. } => "another tick rate",
        Refusal::RoomCode => "another room code",
        Refusal::Seat { .. } => "the seat is not free",
        Refusal::Full { .. } => "all seats are taken",
        Refusal::Running => "the match has begun",
        Refusal::Token => "no seat is kept for its token",
        Refusal::Address { .. } => "too many seats of its address",
        Refusal::Later { .. } => "no seat is free yet",
        Refusal::Banned => "it is banned",
    }
}

/// Says to a host why a guest cannot play in its room.
const fn unplayable_line(reason: Unplayable) -> &'static str {
    match reason {
        Unplayable::Unreadable => "it cannot read the rules or the map",
        Unplayable::OutOfRange => "the rules or the map are out of range",
        Unplayable::BuiltInName => "the rules or the map have a built-in name and other content",
        Unplayable::Missing => "it does not have the rules or the map",
    }
}

/// Creates a progress bar for a match of this number of ticks; a spinner if the number is unknown.
pub(crate) fn progress_bar(ticks: Option<u32>) -> ProgressBar {
    let Some(ticks) = ticks else { return console::progress_bar("{spinner} tick {pos}  {msg}") };
    let bar = console::progress_bar("{bar:40} tick {pos}/{len}  {msg}");
    bar.set_length(u64::from(ticks));
    bar
}

/// Prints the result of a match; `asked` is a remote host that has given no seat.
pub(crate) fn report(
    game: &MatchArguments,
    port: u16,
    finished: &Finished,
    asked: Option<String>,
    waited: (Duration, Option<&LastLobby>),
) -> anyhow::Result<ExitCode> {
    let json = game.output.json;
    let summary = match (&finished.result, asked) {
        (Ok(summary), _) => summary,
        (Err(MatchError::NoAnswer), Some(host)) => bail!(
            "no answer from {host} within {} s: is a match open there? `arena doctor {host}` tests the connection",
            waited.0.as_secs_f64()
        ),
        (Err(error), _) => return report_without_match(error, port, json, waited),
    };
    check_planted(game, summary)?;
    let desync_file = write_desync(game.desync_report.as_deref(), summary);
    let to_json = || output::match_json(port, finished, summary, desync_file.as_deref());
    console::print(json, to_json, || output::match_text(finished, summary));
    console::print_replay(json, summary.replay.as_deref());
    summary.not_written.iter().for_each(console::not_written);
    Ok(console::found(summary.outcome == MatchOutcome::Desync))
}

/// Prints, as JSON if requested, the name of the reason why there was no match; its line follows on stderr. An
/// interruption has a result of its own.
pub(crate) fn print_reason(is_json: bool, port: u16, error: &MatchError) {
    if is_json && !matches!(error, MatchError::NotBegun) {
        let reason = error.as_str();
        let result = json!({
            "outcome": null, "reason": reason, "winner": null, "ticks": 0, "port": port, "replay": null,
        });
        outln!("{result}");
    }
}

/// Prints why there was no match; an interruption is no error. `waited` is how long for others, and the lobby at the end.
pub(crate) fn report_without_match(
    error: &MatchError,
    port: u16,
    json: bool,
    (waited, lobby): (Duration, Option<&LastLobby>),
) -> anyhow::Result<ExitCode> {
    match error {
        MatchError::NotBegun => {
            let text = || "interrupted before the match began".into();
            console::print(json, || output::not_begun_json(port), text);
            Ok(ExitCode::SUCCESS)
        }
        MatchError::NoAnswer => Err(too_few_came(waited, lobby)),
        MatchError::NotAllReady => {
            let unready = names(lobby, |seat| !seat.is_ready).map(|names| format!("; not ready: {names}"));
            let (seconds, unready) = (waited.as_secs_f64(), unready.unwrap_or_default());
            bail!("{error} ({seconds} s){unready}; --wait SECONDS waits longer")
        }
        error => match flag_that_helps(error) {
            Some(advice) => bail!("{error}; {advice}"),
            None => bail!("{error}"),
        },
    }
}

/// Names the flag of this program that avoids a failure.
fn flag_that_helps(error: &MatchError) -> Option<&'static str> {
    match error {
        MatchError::Unreachable(..) => Some("or set the address with --via SEAT=IP:PORT"),
        // What a guest does not have, the host sends.
        MatchError::Refused(Refusal::Rules { .. }) => Some("leave --rules out"),
        MatchError::Refused(Refusal::Map { .. }) => Some("leave --map out"),
        MatchError::Refused(Refusal::Ticks { .. }) => Some("leave --ticks out"),
        MatchError::Refused(Refusal::TickRate { .. }) => Some("leave --tick-rate out"),
        MatchError::Refused(Refusal::RoomCode) => Some("give it with --room"),
        MatchError::Refused(Refusal::Seat { .. }) => Some("leave --seat out"),
        _ => None,
    }
}

/// Explains why a match that was opened here has not begun.
fn too_few_came(waited: Duration, lobby: Option<&LastLobby>) -> anyhow::Error {
    let seconds = waited.as_secs_f64();
    let free = lobby.map_or(0, |(_, lobby)| lobby.seats.iter().filter(|seat| seat.is_none()).count());
    let free = counted(free, "seat", "seats");
    let came = names(lobby, |_| true).map(|names| format!("{names} came, {free} stayed free"));
    let came = came.unwrap_or_else(|| "nobody came".into());
    anyhow!(
        "not all seats were taken within {seconds} s: {came}; --wait SECONDS waits longer, and `arena doctor` says \
         whether others can find this machine"
    )
}

/// Names such players of a lobby, without the one at this computer; `None` if there are none.
fn names(lobby: Option<&LastLobby>, is_such: impl Fn(&LobbySeat) -> bool) -> Option<String> {
    let (own, lobby) = lobby?;
    let others = lobby.seats.iter().enumerate().filter(|(seat, _)| *seat != own.index());
    let such = others.filter_map(|(_, seat)| seat.as_ref()).filter(|seat| is_such(seat));
    let names: Vec<&str> = such.map(|taken| taken.seat.name.as_str()).collect();
    (!names.is_empty()).then(|| joined(&names))
}

/// Ensures that a missed injection is not mistaken for a missed desync.
fn check_planted(game: &MatchArguments, summary: &Summary) -> anyhow::Result<()> {
    let Some(inject) = &game.inject_desync else { return Ok(()) };
    let is_planted = inject.tick < summary.ticks || summary.outcome == MatchOutcome::Interrupted;
    anyhow::ensure!(
        is_planted,
        "--inject-desync: nothing was injected, because the match ended before tick {}: {} after {}",
        inject.tick,
        summary.outcome.as_str(),
        counted(summary.ticks, "tick", "ticks")
    );
    Ok(())
}

/// Writes the report on which all peers agree, and the bundle beside it: to `chosen`, else beside the recording, else
/// into the folder of reports.
pub(crate) fn write_desync(chosen: Option<&Path>, summary: &Summary) -> Option<PathBuf> {
    let report = summary.desync.as_ref()?;
    let beside = || Some(summary.replay.as_ref()?.with_extension("desync.json"));
    let file = chosen.map(Path::to_owned).or_else(beside).or_else(|| report_file(summary))?;
    let text = serde_json::to_string_pretty(report).expect("a report is plain data");
    let written = std::fs::write(&file, format!("{text}\n"));
    let is_written = written.is_ok();
    console::wrote(&file, written);
    if let Some(bundle) = &summary.bundle {
        let bundle_file = file.with_extension("bundle");
        console::wrote(&bundle_file, std::fs::write(&bundle_file, bundle.encode()));
    }
    if is_written {
        logln!("desync report {}", file.display());
    }
    is_written.then_some(file)
}

/// Returns the path of the report of a match without a recording.
fn report_file(summary: &Summary) -> Option<PathBuf> {
    let stamp = paths::stamp(paths::unix_seconds());
    // Two peers of one machine may report the same desync.
    let (seed, player, process) = (summary.config.seed, summary.player, std::process::id());
    match paths::data_folder("reports") {
        Ok(folder) => Some(folder.join(format!("{stamp}-seed{seed}-player{player}-{process}.desync.json"))),
        Err(error) => {
            console::not_written(format_args!(
                "the desync report: {}; choose a file with --desync-report FILE",
                error.root_cause()
            ));
            None
        }
    }
}
