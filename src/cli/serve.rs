//! `arena serve`, and `arena host --architecture client-server|relay`: a server, and a client of it in the same
//! process.

use anyhow::Context as _;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use super::args::{
    HostArguments, JoinArguments, LinkArguments, MatchArguments, Matches, NetworkArguments, ServeArguments,
};
use super::headless::{self, LastLobby, announce, tell_line};
use super::setup::Prepared;
use super::{console, output, setup};
use game::phrase::counted;
use game::{MatchError, MatchSheet, Progress, ServerControl, ServerProgress, ServerSummary, ServerThread};
use net::discovery::Beacon;
use net::{PlayerName, Token};
use transport::discovery::Announcer;
use transport::{PortChoice, Udp};

/// Runs a server until its matches are over.
pub(crate) fn serve(arguments: &ServeArguments) -> anyhow::Result<ExitCode> {
    // A server has no window.
    let arguments = ServeArguments { headless: true, ..arguments.clone() };
    let (thread, beacon, port) = start(&arguments, None)?;
    console::on_interrupt(thread.control(), || ServerControl::Leave)?;
    console::count_terminations();
    let announcer = announce(&arguments.network, Some(beacon))?;
    logln!("waiting for {}; Ctrl-C leaves", counted(arguments.table.players, "player", "players"));
    let mut journal = Journal { arguments: &arguments, port, series: Series::default(), lobby: None };
    watch(&thread, announcer, &mut journal);
    journal.end(&thread.join())
}

/// Runs a server and plays on it.
pub(crate) fn host(arguments: &HostArguments) -> anyhow::Result<ExitCode> {
    let Served { server, port, game, udp, beacon, .. } = Served::start(arguments)?;
    let announcer = announce(&arguments.game.network, Some(beacon))?;
    let client = headless::start(game.game, udp, None)?;
    logln!("waiting for another player; Ctrl-C leaves");
    let mut lobby = None;
    let finished = headless::watch(client, arguments.game.terms.ticks, |progress| {
        if let Some(Progress::Event(event)) = progress {
            headless::note_lobby(&mut lobby, event);
        }
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
        return headless::report_without_match(error, port, json, (arguments.game.wait(), lobby.as_ref()));
    }
    headless::report(&arguments.game, port, &finished, None, (arguments.game.wait(), lobby.as_ref()))
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
            matches: Matches::ONE,
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

/// Results of the matches in a room, as they end.
struct Journal<'a> {
    arguments: &'a ServeArguments,
    port: u16,
    series: Series,
    /// The lobby as it was last.
    lobby: Option<LastLobby>,
}

/// Wins in consecutive matches of the same players.
#[derive(Default)]
struct Series {
    /// Number of matches in the room, of all players.
    number: u32,
    players: Vec<PlayerName>,
    /// Wins of the players, by seat.
    wins: Vec<u32>,
}

impl Series {
    /// Counts a match; other players begin anew.
    fn count(&mut self, sheet: &MatchSheet) {
        self.number += 1;
        let players: Vec<PlayerName> = sheet.seats.iter().map(|seat| seat.name).collect();
        if players != self.players {
            self.wins = vec![0; players.len()];
            self.players = players;
        }
        for player in &sheet.winners {
            self.wins[player.index()] += 1;
        }
    }

    fn line(&self) -> String {
        let won = |(player, wins): (&PlayerName, &u32)| format!("{player} {wins}");
        let score: Vec<String> = self.players.iter().zip(&self.wins).map(won).collect();
        format!("match {} of this room; the series: {}", self.number, score.join(", "))
    }
}

impl Journal<'_> {
    /// Prints the result of a match.
    fn add(&mut self, summary: &ServerSummary) {
        self.series.count(&summary.sheet);
        // The journal of a service has the result, too.
        logln!("{}", output::sheet_line(&summary.sheet));
        if self.arguments.matches != Matches::ONE {
            logln!("{}", self.series.line());
        }
        let to_json = || output::server_json(self.port, summary, (self.series.number, &self.series.wins));
        console::print(self.arguments.json, to_json, || output::server_text(summary));
        console::print_replay(self.arguments.json, summary.replay.as_deref());
        summary.not_written.iter().for_each(console::not_written);
    }

    /// Prints the last result, or why there is none.
    fn end(&mut self, result: &Result<ServerSummary, MatchError>) -> anyhow::Result<ExitCode> {
        match result {
            Ok(summary) => self.add(summary),
            // A signal ended the server between two matches.
            Err(MatchError::NotBegun) if self.series.number > 0 => {}
            Err(error) => {
                let (json, waited) = (self.arguments.json, self.arguments.wait());
                headless::print_reason(json, self.port, error);
                return headless::report_without_match(error, self.port, json, (waited, self.lobby.as_ref()));
            }
        }
        Ok(ExitCode::SUCCESS)
    }
}

/// Prints what happens until the last match is over, and a status line each second; each minute in a log. The first
/// SIGTERM or SIGHUP takes the room off the lists.
fn watch(thread: &ServerThread, mut announcer: Option<Announcer>, journal: &mut Journal<'_>) {
    const LOOK_EVERY: Duration = Duration::from_millis(200);
    const STATUS_EVERY: Duration = Duration::from_secs(60);
    let is_log = !std::io::stderr().is_terminal();
    let (mut status_at, mut terminations) = (Instant::now(), 0);
    while let Ok(progress) = thread.progress(LOOK_EVERY) {
        if console::terminations() > terminations {
            terminations += 1;
            announcer = None;
            terminate(thread, terminations);
        }
        let Some(progress) = progress else { continue };
        announce_again(&progress, announcer.as_ref());
        match &progress {
            ServerProgress::Event(event) => {
                headless::note_lobby(&mut journal.lobby, event);
                if let Some(line) = tell_line(event) {
                    logln!("{line}");
                }
            }
            ServerProgress::Status { tick, .. } if tick.0 > 0 && Instant::now() >= status_at => {
                status_at = Instant::now() + if is_log { STATUS_EVERY } else { Duration::ZERO };
                log_status(&progress);
            }
            ServerProgress::Status { .. } => {}
            ServerProgress::Over(result) => {
                if let Ok(summary) = &**result {
                    journal.add(summary);
                }
            }
        }
    }
}

/// Reacts to the SIGTERM or SIGHUP of this number.
fn terminate(thread: &ServerThread, number: u32) {
    // If the queue is full, the server is already leaving.
    let _ = match number {
        1 => {
            logln!("off the lists; the server ends with its match, with another signal now");
            thread.control().try_send(ServerControl::Drain)
        }
        2 => thread.control().try_send(ServerControl::Leave),
        _ => console::end_now(),
    };
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
