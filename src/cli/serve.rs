//! `arena serve`, and `arena host --architecture client-server|relay`: a server, and a client of it in the same
//! process.

use anyhow::Context as _;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::args::{
    HostArguments, JoinArguments, LinkArguments, MatchArguments, NetworkArguments, ServeArguments,
};
use super::headless::{self, announce, tell_line};
use super::setup::Prepared;
use super::{console, output, setup};
use game::{MatchError, ServerControl, ServerProgress, ServerSummary, ServerThread};
use net::Token;
use net::discovery::Beacon;
use transport::discovery::Announcer;
use transport::{PortChoice, Udp};

/// Runs a server until the match is over.
pub(crate) fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    // A server has no window.
    let arguments = ServeArguments { headless: true, ..arguments.clone() };
    let (thread, beacon, port) = start(&arguments, None)?;
    console::on_interrupt(thread.control(), || ServerControl::Leave)?;
    let announcer = announce(&arguments.network, Some(beacon))?;
    logln!("waiting for {} players; Ctrl-C leaves", arguments.table.players);
    watch(&thread, announcer.as_ref());
    let finished = thread.join();
    drop(announcer);
    report(&arguments, port, &finished)
}

/// Runs a server and plays on it.
pub(crate) fn host(arguments: &HostArguments) -> anyhow::Result<ExitCode> {
    let Served { server, port, game, udp, beacon, .. } = Served::start(arguments)?;
    let announcer = announce(&arguments.game.network, Some(beacon))?;
    let client = headless::start(game.game, udp, None)?;
    logln!("waiting for another player; Ctrl-C leaves");
    let finished = headless::watch(client, arguments.game.terms.ticks, |_| {
        while let Ok(Some(progress)) = server.progress(Duration::ZERO) {
            announce_again(&progress, announcer.as_ref());
        }
    });
    // Other clients may still be disconnecting.
    let _ = server.control().try_send(ServerControl::Leave);
    let served = server.join();
    // The client only knows that its server is gone.
    let alone =
        served.as_ref().err().filter(|error| matches!(error, MatchError::NoAnswer | MatchError::NotAllReady));
    let json = arguments.game.output.json;
    if let Some(error) = alone.or(finished.result.as_ref().err()) {
        headless::print_reason(json, port, error);
    }
    if let Some(error) = alone {
        return headless::report_without_match(error, port, json, arguments.game.wait());
    }
    headless::report(&arguments.game, port, &finished, None)
}

/// Server, and the client of the player who hosts the match on it.
pub(crate) struct Served {
    pub(crate) server: ServerThread,
    /// Port that others join.
    pub(crate) port: u16,
    /// Address at which clients on this computer join.
    #[cfg_attr(not(feature = "gui"), expect(dead_code, reason = "only the window lets bots join"))]
    pub(crate) address: SocketAddr,
    pub(crate) game: Prepared,
    /// Socket of the client.
    pub(crate) udp: Udp,
    pub(crate) beacon: Beacon,
}

impl Served {
    /// Starts the server and prepares the client.
    pub(crate) fn start(arguments: &HostArguments) -> anyhow::Result<Self> {
        let token = setup::drawn_token()?;
        let (server, beacon, port) = start(&arguments.server(), Some(token))?;
        let address = setup::loopback(arguments.game.network.bind, port);
        let game = &arguments.game;
        // The path to the local server is not impaired.
        let network = NetworkArguments { link: LinkArguments { link: None }, ..game.network.clone() };
        let game = MatchArguments { network, ..game.clone() };
        let join = JoinArguments {
            address: None,
            kept_hosts: Vec::new(),
            game,
            seat: None,
            via: Vec::new(),
            token: Some(token),
            returns: false,
        };
        let udp = Udp::bind(address.ip(), PortChoice::Any)?;
        Ok(Self { server, port, address, game: setup::join(&join, &[address], &[])?, udp, beacon })
    }
}

fn start(arguments: &ServeArguments, host: Option<Token>) -> anyhow::Result<(ServerThread, Beacon, u16)> {
    let network = &arguments.network;
    let udp = setup::bind(network, PortChoice::Default, &mut Vec::new())?;
    let port = udp.local_address().port();
    let prepared = setup::serve(arguments, port, host)?;
    logln!("seed {}", prepared.seed);
    let thread =
        ServerThread::start(prepared.server, udp, network.link.link).context("cannot start the server")?;
    Ok((thread, prepared.beacon, port))
}

/// Prints what happens until the match is over, and a status line each second; each minute in a log.
fn watch(thread: &ServerThread, announcer: Option<&Announcer>) {
    const LOOK_EVERY: Duration = Duration::from_millis(200);
    const STATUS_EVERY: Duration = Duration::from_secs(60);
    let is_log = !std::io::stderr().is_terminal();
    let mut status_at = Instant::now();
    while let Ok(progress) = thread.progress(LOOK_EVERY) {
        let Some(progress) = progress else { continue };
        announce_again(&progress, announcer);
        match &progress {
            ServerProgress::Event(event) => {
                if let Some(line) = tell_line(event) {
                    logln!("{line}");
                }
            }
            ServerProgress::Status { tick, .. } if tick.0 > 0 && Instant::now() >= status_at => {
                status_at = Instant::now() + if is_log { STATUS_EVERY } else { Duration::ZERO };
                log_status(&progress);
            }
            ServerProgress::Status { .. } => {}
        }
    }
}

fn log_status(progress: &ServerProgress) {
    let ServerProgress::Status { tick, late_p99_ms, clients, .. } = progress else { return };
    let client = |(name, sent, received, rejected): &(String, u64, u64, u32)| {
        format!("{name} {} kB down {} kB up {rejected} refused", sent / 1000, received / 1000)
    };
    let clients: Vec<String> = clients.iter().map(client).collect();
    logln!("tick {tick}, late p99 {late_p99_ms:.1} ms; {}", clients.join("; "));
}

/// Announces the room as it is now.
fn announce_again(progress: &ServerProgress, announcer: Option<&Announcer>) {
    if let (ServerProgress::Status { beacon: Some(beacon), .. }, Some(announcer)) = (progress, announcer) {
        announcer.update(beacon.clone());
    }
}

fn report(
    arguments: &ServeArguments,
    port: u16,
    result: &Result<ServerSummary, MatchError>,
) -> anyhow::Result<ExitCode> {
    let summary = match result {
        Ok(summary) => summary,
        Err(error) => {
            let wait = arguments.network.wait(true);
            headless::print_reason(arguments.json, port, error);
            return headless::report_without_match(error, port, arguments.json, wait);
        }
    };
    // The journal of a service has the result, too.
    logln!("{}", output::sheet_line(&summary.sheet));
    console::print(arguments.json, || output::server_json(port, summary), || output::server_text(summary));
    console::print_replay(arguments.json, summary.replay.as_deref());
    summary.not_written.iter().for_each(console::not_written);
    Ok(ExitCode::SUCCESS)
}
