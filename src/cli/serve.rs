//! `arena serve`, and `arena host --architecture client-server|relay`: a server, and a client of it in the same
//! process.

use anyhow::{Context as _, bail};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use super::args::{
    HostArguments, JoinArguments, LinkArguments, MatchArguments, NetworkArguments, ServeArguments,
};
use super::headless::{self, nobody_came, tell_line};
use super::setup::Prepared;
use super::{output, setup};
use mini_rts_arena::game::{MatchError, ServerControl, ServerProgress, ServerSummary, ServerThread};
use mini_rts_arena::net::Token;
use mini_rts_arena::net::discovery::Beacon;
use mini_rts_arena::transport::discovery::Announcer;
use mini_rts_arena::transport::{PortChoice, Udp};

/// Runs a match's server until the match is over.
pub(crate) fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    // A server has no window.
    let arguments = ServeArguments { headless: true, ..arguments.clone() };
    let (thread, beacon, port) = start(&arguments, None)?;
    let announcer = announce(&arguments.network, beacon)?;
    let control = thread.control().clone();
    let handler = move || {
        // A full queue means that the server is being told already.
        let _ = control.try_send(ServerControl::Leave);
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")?;
    logln!("waiting for {} players; Ctrl-C leaves", arguments.table.players);
    watch(&thread, announcer.as_ref());
    let finished = thread.join();
    drop(announcer);
    report(&arguments, port, &finished)
}

/// Runs a server and plays on it.
pub(crate) fn host(arguments: &HostArguments) -> anyhow::Result<ExitCode> {
    let Served { server, port, game, udp, beacon, .. } = Served::start(arguments)?;
    let announcer = announce(&arguments.game.network, beacon)?;
    let finished = headless::play_client(&arguments.game, game, udp, || {
        while let Ok(Some(progress)) = server.progress(Duration::ZERO) {
            show(&progress, announcer.as_ref(), false);
        }
    })?;
    // Others may still be saying good-bye.
    let _ = server.control().try_send(ServerControl::Leave);
    let served = server.join();
    if matches!(served, Err(MatchError::NoAnswer)) {
        // The client only knows that its server is gone.
        return Err(nobody_came(arguments.game.wait()));
    }
    headless::report(&arguments.game, port, &finished, None)
}

/// A server, and the client of the player who hosts the match on it.
pub(crate) struct Served {
    pub(crate) server: ServerThread,
    /// Which others join.
    pub(crate) port: u16,
    /// Where clients on this computer join.
    #[cfg_attr(not(feature = "gui"), expect(dead_code, reason = "only the window lets bots join"))]
    pub(crate) address: SocketAddr,
    pub(crate) game: Prepared,
    /// The client's socket.
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
        // The way to the own server is not made worse.
        let network = NetworkArguments { link: LinkArguments { link: None }, ..game.network.clone() };
        let game = MatchArguments { network, ..game.clone() };
        let join = JoinArguments { address: None, game, seat: None, via: Vec::new(), token: Some(token) };
        let udp = Udp::bind(address.ip(), PortChoice::Any)?;
        Ok(Self { server, port, address, game: setup::join(&join, address, &[])?, udp, beacon })
    }
}

fn start(arguments: &ServeArguments, host: Option<Token>) -> anyhow::Result<(ServerThread, Beacon, u16)> {
    let network = &arguments.network;
    let udp = setup::bind(network, PortChoice::Default, None)?;
    let port = udp.local_address().port();
    let prepared = setup::serve(arguments, port, host)?;
    logln!("seed {}", prepared.seed);
    let thread =
        ServerThread::start(prepared.server, udp, network.link.link).context("cannot start the server")?;
    Ok((thread, prepared.beacon, port))
}

fn announce(network: &NetworkArguments, beacon: Beacon) -> anyhow::Result<Option<Announcer>> {
    if network.no_discovery {
        return Ok(None);
    }
    Ok(Some(Announcer::start(beacon).context("cannot announce the match; try --no-discovery")?))
}

/// A line a second until the match is over.
fn watch(thread: &ServerThread, announcer: Option<&Announcer>) {
    const LOOK_EVERY: Duration = Duration::from_millis(200);
    while let Ok(progress) = thread.progress(LOOK_EVERY) {
        if let Some(progress) = progress {
            show(&progress, announcer, true);
        }
    }
}

fn show(progress: &ServerProgress, announcer: Option<&Announcer>, in_full: bool) {
    match progress {
        ServerProgress::Event(event) if in_full => {
            if let Some(line) = tell_line(event) {
                logln!("{line}");
            }
        }
        ServerProgress::Event(_) => {}
        ServerProgress::Status { tick, late_p99_ms, clients, beacon } => {
            if let (Some(announcer), Some(beacon)) = (announcer, beacon) {
                announcer.update(beacon.clone());
            }
            if in_full && tick.0 > 0 {
                let client = |(name, sent, received, rejected): &(String, u64, u64, u32)| {
                    format!("{name} {} kB down {} kB up {rejected} refused", sent / 1000, received / 1000)
                };
                let clients: Vec<String> = clients.iter().map(client).collect();
                logln!("tick {tick}, late p99 {late_p99_ms:.1} ms; {}", clients.join("; "));
            }
        }
    }
}

fn report(
    arguments: &ServeArguments,
    port: u16,
    result: &Result<ServerSummary, MatchError>,
) -> anyhow::Result<ExitCode> {
    let summary = match result {
        Ok(summary) => summary,
        Err(MatchError::NotBegun) => {
            if arguments.json {
                outln!("{}", output::not_begun_json(port));
            } else {
                outln!("interrupted before the match began");
            }
            return Ok(ExitCode::SUCCESS);
        }
        Err(MatchError::NoAnswer) => return Err(nobody_came(arguments.network.wait(true))),
        Err(error) => bail!("{error}"),
    };
    if arguments.json {
        outln!("{}", output::server_json(port, summary));
    } else {
        out!("{}", output::server_text(summary));
    }
    if let Some(replay) = &summary.replay {
        let line = format!("replay {}", replay.display());
        if arguments.json { logln!("{line}") } else { outln!("{line}") }
    }
    Ok(ExitCode::SUCCESS)
}
