//! Matches that a window starts: against the computer, as host, as guest.

use anyhow::{Context as _, bail};
use clap::Parser as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use crate::cli::args::{Arguments, Hero, HostArguments, JoinArguments, Level, Task};
use crate::cli::serve::Served;
use crate::cli::setup;
use mini_rts_arena::game::{
    Control, Finished, Match, MatchEvent, MatchThread, Progress, ServerProgress, ServerThread, ViewReader,
};
use mini_rts_arena::net::PlayerName;
use mini_rts_arena::net::discovery::Beacon;
use mini_rts_arena::transport::discovery::Announcer;
use mini_rts_arena::transport::{PortChoice, Udp};

/// How long a closing window waits until the others know; farewells take about a tenth of it.
const FAREWELL: Duration = Duration::from_millis(1500);

/// What somebody wants to play.
#[derive(Clone, Debug)]
pub(crate) enum Wish {
    Practice { level: Level, hero: Hero, name: Option<PlayerName> },
    Host(Box<HostArguments>),
    Join(Box<JoinArguments>, SocketAddr),
}

/// A match under way, from the first socket to the last farewell.
pub(crate) struct Game {
    pub(crate) wish: Wish,
    /// Own address, for those who must type it.
    pub(crate) port: u16,
    pub(crate) view: ViewReader,
    /// What has been told, newest last.
    pub(crate) news: Vec<MatchEvent>,
    /// Why others may not find it.
    pub(crate) warning: Option<String>,
    thread: Option<MatchThread>,
    /// The server that this process runs, too.
    server: Option<ServerThread>,
    announcer: Option<Announcer>,
    announced: Option<Beacon>,
}

/// What a match thread is started with.
struct Parts {
    game: Match,
    udp: Udp,
    link: Option<mini_rts_arena::transport::LinkSpec>,
    beacon: Option<Beacon>,
    /// The port that others join, if it is not that of `udp`.
    server: Option<(ServerThread, u16)>,
}

impl Game {
    /// Starts it.
    pub(crate) fn start(wish: Wish) -> anyhow::Result<Self> {
        let parts = match &wish {
            Wish::Practice { level, hero, name } => practice(*level, *hero, *name)?,
            Wish::Host(arguments) => host(arguments)?,
            Wish::Join(arguments, address) => join(arguments, *address)?,
        };
        let port = parts.server.as_ref().map_or(parts.udp.local_address().port(), |&(_, port)| port);
        let (thread, view) = MatchThread::start_with_view(parts.game, parts.udp, parts.link)
            .context("the system has no thread left")?;
        let (announcer, warning) = match parts.beacon.map(Announcer::start) {
            Some(Ok(announcer)) => (Some(announcer), None),
            Some(Err(error)) => (None, Some(error.to_string())),
            None => (None, None),
        };
        Ok(Self {
            wish,
            port,
            view,
            news: Vec::new(),
            warning,
            thread: Some(thread),
            server: parts.server.map(|(server, _)| server),
            announcer,
            announced: None,
        })
    }

    /// Takes in what the match thread has told; what remains of the match, once it is over.
    pub(crate) fn poll(&mut self) -> Option<Finished> {
        while let Some(Ok(Some(progress))) =
            self.server.as_ref().map(|server| server.progress(Duration::ZERO))
        {
            if let ServerProgress::Status { beacon, .. } = progress {
                self.announce(beacon);
            }
        }
        loop {
            match self.thread.as_ref()?.progress(Duration::ZERO) {
                Ok(Some(Progress::Event(event))) => self.news.push(event),
                Ok(Some(Progress::At { beacon, .. })) => self.announce(beacon),
                // The thread goes on: there may be a rematch.
                Ok(Some(Progress::Over(finished))) => return Some(*finished),
                Ok(None) => return None,
                Err(_) => {
                    let finished = self.thread.take().map(MatchThread::join);
                    self.announcer = None;
                    // It goes on saying good-bye by itself.
                    if let Some(server) = self.server.take() {
                        let _ = server.leave().try_send(());
                    }
                    return finished;
                }
            }
        }
    }

    /// Says something to the match.
    pub(crate) fn say(&self, what: Control) {
        if let Some(thread) = &self.thread {
            // The queue is far longer than a frame's input; a match that hangs must not hang the window.
            let _ = thread.control().try_send(what);
        }
    }

    /// Leaves, and waits until the others have been told.
    pub(crate) fn close(mut self) {
        self.say(Control::Leave);
        let deadline = Instant::now() + FAREWELL;
        while self.thread.is_some() && Instant::now() < deadline {
            if self.poll().is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// Whether the match runs, or a vote on the next one.
    pub(crate) const fn is_alive(&self) -> bool {
        self.thread.is_some()
    }

    pub(crate) const fn is_practice(&self) -> bool {
        matches!(self.wish, Wish::Practice { .. })
    }

    fn announce(&mut self, beacon: Option<Beacon>) {
        if let (Some(announcer), Some(beacon)) = (&self.announcer, beacon)
            && self.announced.as_ref() != Some(&beacon)
        {
            self.announced = Some(beacon.clone());
            announcer.update(beacon);
        }
    }
}

/// A match over loopback with a bot in the other seat: the same way as over a network, so that there is one
/// way to be right.
fn practice(level: Level, hero: Hero, name: Option<PlayerName>) -> anyhow::Result<Parts> {
    let loopback = IpAddr::V4(Ipv4Addr::LOCALHOST);
    let (udp, bot_udp) = (Udp::bind(loopback, PortChoice::Any)?, Udp::bind(loopback, PortChoice::Any)?);
    let address = udp.local_address();
    let mut own = host_arguments(&["--headless", "--bot", "none"])?;
    own.game.hero = hero;
    own.game.name = Some(name.map_or_else(setup::default_name, Ok)?);
    let (bot, bot_name) = match level {
        Level::Easy => ("easy", "Easy bot"),
        Level::Normal => ("normal", "Normal bot"),
        Level::Hard => ("hard", "Hard bot"),
    };
    let flags = ["--headless", "--record", "off", "--bot", bot, "--name", bot_name];
    let game = setup::host(&own, address.port())?.game;
    let bot = setup::join(&join_arguments(&flags)?, address, &[])?.game;
    // It ends with the match; nobody waits for it.
    run_alone(MatchThread::start(bot, bot_udp, None).context("the system has no thread left")?)?;
    Ok(Parts { game, udp, link: None, beacon: None, server: None })
}

/// Lets a match thread run until its match is over.
fn run_alone(thread: MatchThread) -> anyhow::Result<()> {
    let wait = move || drop(thread.join());
    std::thread::Builder::new()
        .name("opponent".into())
        .spawn(wait)
        .context("the system has no thread left")?;
    Ok(())
}

fn host(arguments: &HostArguments) -> anyhow::Result<Parts> {
    let game = &arguments.game;
    if arguments.has_server() {
        return serve(arguments);
    }
    let udp = setup::bind(game, PortChoice::Default)?;
    let prepared = setup::host(arguments, udp.local_address().port())?;
    if let Some(seed) = prepared.seed {
        logln!("seed {seed}");
    }
    let beacon = prepared.beacon.filter(|_| !game.no_discovery);
    Ok(Parts { game: prepared.game, udp, link: game.link, beacon, server: None })
}

/// A server, and this player's client of it.
fn serve(arguments: &HostArguments) -> anyhow::Result<Parts> {
    let Served { server, port, game, udp, beacon } = Served::start(arguments)?;
    let beacon = Some(beacon).filter(|_| !arguments.game.no_discovery);
    Ok(Parts { game: game.game, udp, link: None, beacon, server: Some((server, port)) })
}

fn join(arguments: &JoinArguments, address: SocketAddr) -> anyhow::Result<Parts> {
    let game = &arguments.game;
    let udp = setup::bind(game, PortChoice::Any)?;
    let prepared = setup::join(arguments, address, &udp.reachable_at())?;
    Ok(Parts { game: prepared.game, udp, link: game.link, beacon: None, server: None })
}

/// What `arena host` with these flags would do.
pub(crate) fn host_arguments(flags: &[&str]) -> anyhow::Result<HostArguments> {
    match Arguments::try_parse_from(["arena", "host"].iter().chain(flags))?.task {
        Some(Task::Host(arguments)) => Ok(*arguments),
        _ => bail!("`arena host` does not parse"),
    }
}

/// What `arena join` with these flags would do.
pub(crate) fn join_arguments(flags: &[&str]) -> anyhow::Result<JoinArguments> {
    match Arguments::try_parse_from(["arena", "join"].iter().chain(flags))?.task {
        Some(Task::Join(arguments)) => Ok(*arguments),
        _ => bail!("`arena join` does not parse"),
    }
}
