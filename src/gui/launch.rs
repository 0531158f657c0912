//! Matches that a window starts: against the computer, as host, as guest.

use anyhow::Context as _;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use crate::cli::args::{BotChoice, HostArguments, JoinArguments, PlayArguments, PlayerArguments, usual};
use crate::cli::kept_seats::{self, KeptSeat, SeatKeeper};
use crate::cli::local::{LocalMatch, start_bot};
use crate::cli::serve::Served;
use crate::cli::setup;
use game::data::Opponent;
use game::{
    Control, Finished, Match, MatchClock, MatchEvent, MatchThread, Progress, ServerControl, ServerProgress,
    ServerThread, ViewReader,
};
use net::discovery::{Beacon, RoomId};
use net::message::Choice;
use net::{Time, Token};
use sim::{KindName, PLAYERS_MAX, PlayerId, Rules};
use transport::discovery::Announcer;
use transport::{PortChoice, Udp};

/// Time that a closing window waits until the others know: longer than a session waits for the acknowledgement of its
/// disconnect, so that the replay is written. If they answer, it takes about a tenth of this.
const FAREWELL: Duration = Duration::from_millis(2000);

/// Request to play.
#[derive(Clone, Debug)]
pub(crate) enum LaunchRequest {
    Practice(Box<PlayArguments>),
    Host(Box<HostArguments>),
    /// A match at one of these addresses.
    Join(Box<JoinArguments>, Vec<SocketAddr>),
}

impl LaunchRequest {
    /// Returns the player's arguments.
    pub(crate) fn player(&self) -> &PlayerArguments {
        match self {
            Self::Practice(arguments) => &arguments.player,
            Self::Host(arguments) => &arguments.game.player,
            Self::Join(arguments, _) => &arguments.game.player,
        }
    }

    /// Returns the opponent of the ladder, if the match is against one.
    pub(crate) fn opponent(&self) -> Option<&'static Opponent> {
        if let Self::Practice(arguments) = self { arguments.opponent } else { None }
    }

    /// Returns the same player's match against an opponent of the ladder.
    pub(crate) fn against(&self, opponent: &'static Opponent) -> Self {
        let mut arguments: PlayArguments = usual();
        arguments.player.clone_from(self.player());
        Self::Practice(Box::new(PlayArguments { opponent: Some(opponent), ..arguments }))
    }

    /// Sets the hero for the next matches.
    pub(crate) fn set_hero(&mut self, hero: KindName) {
        let hero = Some(hero);
        match self {
            Self::Practice(arguments) => arguments.player.hero = hero,
            Self::Host(arguments) => arguments.game.player.hero = hero,
            Self::Join(arguments, _) => arguments.game.player.hero = hero,
        }
    }
}

/// Running match, from its first socket to the last disconnect message.
pub(crate) struct Game {
    pub(crate) request: LaunchRequest,
    /// Local port, for guests who must type it.
    pub(crate) port: u16,
    pub(crate) view: ViewReader,
    /// Match events, newest last.
    pub(crate) news: Vec<MatchEvent>,
    /// Matches won by each team, in this and the previous matches over the same links.
    pub(crate) wins: [u32; PLAYERS_MAX],
    /// Reason why others may not find the match.
    pub(crate) warning: Option<String>,
    /// Clock of the match. Practice is halted by it.
    clock: MatchClock,
    thread: Option<MatchThread>,
    /// The server, if this process runs one.
    server: Option<ServerThread>,
    /// The bots on this computer, by seat: a dropped bot leaves.
    bots: Vec<(PlayerId, MatchThread)>,
    /// Address at which bots join, if this window hosts.
    bots_join: Option<SocketAddr>,
    announcer: Option<Announcer>,
    announced: Option<Beacon>,
    keeper: SeatKeeper,
}

/// Parts from which a match thread is started.
struct Parts {
    game: Match,
    udp: Udp,
    link: Option<transport::LinkSpec>,
    beacon: Option<Beacon>,
    /// Server and the port that others join, if it is not that of `udp`.
    server: Option<(ServerThread, u16)>,
    bots: Vec<(PlayerId, MatchThread)>,
    bots_join: Option<SocketAddr>,
    clock: MatchClock,
}

impl Drop for Game {
    fn drop(&mut self) {
        // Bots disconnect on the same clock.
        self.clock.set_halted(false);
    }
}

impl Game {
    /// Starts it.
    pub(crate) fn start(request: LaunchRequest) -> anyhow::Result<Self> {
        let parts = match &request {
            LaunchRequest::Practice(arguments) => practice(arguments)?,
            LaunchRequest::Host(arguments) => host(arguments)?,
            LaunchRequest::Join(arguments, address) => join(arguments, address.clone())?,
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
            request,
            port,
            view,
            news: Vec::new(),
            wins: [0; PLAYERS_MAX],
            warning,
            clock: parts.clock,
            thread: Some(thread),
            server: parts.server.map(|(server, _)| server),
            bots: parts.bots,
            bots_join: parts.bots_join,
            announcer,
            announced: None,
            keeper: SeatKeeper::default(),
        })
    }

    /// Handles events of the match thread. Returns the result once the match is over.
    pub(crate) fn poll(&mut self) -> Option<Finished> {
        self.keeper.refresh();
        while let Some(Ok(Some(progress))) =
            self.server.as_ref().map(|server| server.progress(Duration::ZERO))
        {
            if let ServerProgress::Status { beacon, .. } = progress {
                self.announce(beacon);
            }
        }
        loop {
            match self.thread.as_ref()?.progress(Duration::ZERO) {
                Ok(Some(Progress::Event(MatchEvent::Token(token, room)))) => self.keep_seat(token, room),
                Ok(Some(Progress::Event(event))) => self.news.push(event),
                Ok(Some(Progress::At { beacon, .. })) => self.announce(beacon),
                // The thread stays, since a rematch may follow.
                Ok(Some(Progress::Over(finished))) => {
                    self.keeper.end(&finished);
                    return Some(*finished);
                }
                Ok(None) => return None,
                Err(_) => {
                    let finished = self.thread.take().map(MatchThread::join);
                    if let Some(finished) = &finished {
                        self.end_seat(finished);
                    }
                    self.announcer = None;
                    // The server sends its own farewell.
                    if let Some(server) = self.server.take() {
                        let _ = server.control().try_send(ServerControl::Leave);
                    }
                    return finished;
                }
            }
        }
    }

    /// Saves the seat on a server, in case this process dies.
    fn keep_seat(&mut self, token: Token, room: RoomId) {
        let LaunchRequest::Join(arguments, hosts) = &self.request else { return };
        if let Err(error) = self.keeper.keep(&KeptSeat::new(arguments, hosts, room.0, token)) {
            logln!("the seat is not kept for a return: {error:#}");
        }
    }

    fn end_seat(&mut self, finished: &Finished) {
        self.keeper.end(finished);
        let LaunchRequest::Join(arguments, _) = &self.request else { return };
        if let (Some(token), Err(error)) = (arguments.token, &finished.result)
            && kept_seats::is_gone(error)
        {
            kept_seats::forget(token);
        }
    }

    /// Adds a bot in this free seat of the lobby.
    pub(crate) fn add_bot(&mut self, seat: PlayerId, bot: BotChoice, is_only: bool) -> anyhow::Result<()> {
        let (Some(address), LaunchRequest::Host(arguments)) = (self.bots_join, &self.request) else {
            return Ok(());
        };
        let bot = start_bot(arguments.game.clone(), (bot, is_only), seat.0, address, MatchClock::default())?;
        self.bots.push((seat, bot));
        Ok(())
    }

    /// Removes the guest or the local bot from this seat of the lobby; with `bans` the room admits it no more.
    pub(crate) fn remove(&mut self, player: PlayerId, bans: bool) {
        self.bots.retain(|(seat, _)| *seat != player);
        match &self.server {
            Some(server) => {
                let _ = server.control().try_send(ServerControl::Remove { player, bans });
            }
            None => self.say(Control::Remove { player, bans }),
        }
    }

    /// Whether a local bot has this seat.
    pub(crate) fn has_bot(&self, seat: PlayerId) -> bool {
        self.bots.iter().any(|(player, _)| *player == seat)
    }

    /// Whether this window hosts: then it decides who plays.
    pub(crate) const fn is_host(&self) -> bool {
        self.bots_join.is_some()
    }

    /// Sends a control to the match.
    pub(crate) fn say(&self, what: Control) {
        if matches!(what, Control::Rematch) {
            // Bots follow their host.
            for (_, bot) in &self.bots {
                let _ = bot.control().try_send(Control::Rematch);
            }
        }
        if let Some(thread) = &self.thread {
            // The queue is far longer than a frame's input; a match that hangs must not block the window.
            let _ = thread.control().try_send(what);
        }
    }

    /// Leaves the match, and waits until all others have been notified.
    pub(crate) fn close(mut self) {
        self.keeper.forget();
        self.clock.set_halted(false);
        self.say(Control::Leave);
        let deadline = Instant::now() + FAREWELL;
        while self.thread.is_some() && Instant::now() < deadline {
            if self.poll().is_none() {
                std::thread::sleep(Duration::from_millis(5));
            }
        }
    }

    /// Returns the player's choices before the lobby, by the rules of the match.
    pub(crate) fn choice(&self, rules: &Rules) -> Choice {
        let player = self.request.player();
        let hero = player.hero.and_then(|name| rules.hero_named(name.as_str())).unwrap_or_default();
        Choice { hero, is_ready: player.is_ready }
    }

    /// Returns the team of each seat, as this window opened the match; a guest knows only that two play against each
    /// other.
    pub(crate) fn teams(&self, seats: usize) -> Vec<u8> {
        match &self.request {
            LaunchRequest::Host(arguments) => {
                setup::teams(&arguments.table).map_or_else(|_| Vec::new(), |teams| teams.to_vec())
            }
            _ if seats == 2 => vec![0, 1],
            _ => Vec::new(),
        }
    }

    /// Whether the match is running, or its players may still get ready for another one.
    pub(crate) const fn is_alive(&self) -> bool {
        self.thread.is_some()
    }

    pub(crate) const fn is_practice(&self) -> bool {
        matches!(self.request, LaunchRequest::Practice(_))
    }

    /// Returns the time of the match clock.
    pub(crate) fn now(&self) -> Time {
        self.clock.now()
    }

    /// Halts or resumes a practice match; a match with other people ignores it.
    pub(crate) fn set_halted(&self, is_halted: bool) {
        if self.is_practice() {
            self.clock.set_halted(is_halted);
        }
    }

    /// Whether there is no network between the players, real or simulated.
    pub(crate) fn is_without_network(&self) -> bool {
        matches!(&self.request, LaunchRequest::Practice(arguments) if arguments.link.link.is_none())
    }

    /// Whether all opponents are easy bots.
    pub(crate) fn is_easy_practice(&self) -> bool {
        matches!(&self.request, LaunchRequest::Practice(arguments) if arguments.is_easy())
    }

    /// Whether this is the tutorial.
    pub(crate) fn is_tutorial(&self) -> bool {
        matches!(&self.request, LaunchRequest::Practice(arguments) if arguments.bot == BotChoice::Sparring)
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

fn practice(arguments: &PlayArguments) -> anyhow::Result<Parts> {
    let LocalMatch { game, udp, seed, clock, others } = LocalMatch::start(arguments)?;
    logln!("seed {seed}");
    let bots = (1..).map(PlayerId).zip(others).collect();
    let link = arguments.link.link;
    Ok(Parts { game, udp, link, beacon: None, server: None, bots, bots_join: None, clock })
}

fn host(arguments: &HostArguments) -> anyhow::Result<Parts> {
    let game = &arguments.game;
    if arguments.has_server() {
        return serve(arguments);
    }
    let udp = setup::bind(&game.network, PortChoice::Default, &mut Vec::new())?;
    let prepared = setup::host(arguments, udp.local_address().port())?;
    if let Some(seed) = prepared.seed {
        logln!("seed {seed}");
    }
    let beacon = prepared.beacon.filter(|_| !game.network.no_discovery);
    let bots_join = Some(own_address(&udp));
    Ok(Parts {
        game: prepared.game,
        udp,
        link: game.network.link.link,
        beacon,
        server: None,
        bots: Vec::new(),
        bots_join,
        clock: MatchClock::default(),
    })
}

/// Starts a server and this player's client.
fn serve(arguments: &HostArguments) -> anyhow::Result<Parts> {
    let Served { server, port, address, game, udp, beacon } = Served::start(arguments)?;
    let beacon = Some(beacon).filter(|_| !arguments.game.network.no_discovery);
    Ok(Parts {
        game: game.game,
        udp,
        link: None,
        beacon,
        server: Some((server, port)),
        bots: Vec::new(),
        bots_join: Some(address),
        clock: MatchClock::default(),
    })
}

fn join(arguments: &JoinArguments, mut hosts: Vec<SocketAddr>) -> anyhow::Result<Parts> {
    let game = &arguments.game;
    let udp = setup::bind(&game.network, PortChoice::Any, &mut hosts)?;
    let prepared = setup::join(arguments, &hosts, &udp.reachable_at())?;
    Ok(Parts {
        game: prepared.game,
        udp,
        link: game.network.link.link,
        beacon: None,
        server: None,
        bots: Vec::new(),
        bots_join: None,
        clock: MatchClock::default(),
    })
}

/// Returns the address at which a local bot joins the host at `udp`. The other guests also know it, so that they find
/// the bot beside the host.
fn own_address(udp: &Udp) -> SocketAddr {
    let local = udp.local_address();
    let loopback = setup::loopback(Some(local.ip()), local.port());
    udp.reachable_at().first().copied().unwrap_or(loopback)
}
