//! From flags to sessions and matches.

use anyhow::{Context as _, bail};
use arrayvec::ArrayVec;
use std::fs::File;
use std::io::BufReader;
use std::net::{SocketAddr, ToSocketAddrs as _};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::args::{BotChoice, HostArguments, JoinArguments, MatchArguments, Switch};
use super::paths;
use mini_rts_arena::game::{Inject, Match, MatchOptions, Script, Server, ServerOptions, Trace, data};
use mini_rts_arena::net::discovery::{Beacon, RoomId, VersionText};
use mini_rts_arena::net::{
    Architecture, BITS_PER_S_USUAL, GuestConfig, HostConfig, LockstepSession, MatchConfig, OnLoss,
    PlayerName, ServerConfig, ServerSession, Settings, Token,
};
use mini_rts_arena::sim::{Map, PLAYERS_MAX, Rules, SIMULATION_BUILD, Tick, TickRate, fingerprint};
use mini_rts_arena::transport::{DEFAULT_PORT, PortChoice, Udp, clock};

/// From the last guest's arrival to tick 0, without a window.
const COUNTDOWN_HEADLESS: Duration = Duration::from_millis(400);
/// The same for people.
const COUNTDOWN_WINDOW: Duration = Duration::from_secs(3);

/// What a match needs beside its socket.
pub(crate) struct Prepared {
    pub(crate) game: Match,
    pub(crate) beacon: Option<Beacon>,
    pub(crate) seed: Option<u64>,
}

/// The socket that the flags ask for, or the usual one; its address is the first line on stderr.
pub(crate) fn bind(game: &MatchArguments, usual: PortChoice) -> anyhow::Result<Udp> {
    let port = match game.port {
        None => usual,
        Some(0) => PortChoice::Any,
        Some(port) => PortChoice::Exactly(port),
    };
    let udp = Udp::bind(game.bind, port)?;
    logln!("listening {}", udp.local_address());
    Ok(udp)
}

/// What the flags of a host or a server decide.
struct Decided {
    config: MatchConfig,
    beacon: Beacon,
    rules: Arc<Rules>,
    map: Arc<Map>,
}

/// A match as the flags have it, open on `port`.
fn decide(arguments: &HostArguments, architecture: Architecture, port: u16) -> anyhow::Result<Decided> {
    let game = &arguments.game;
    let seed = match arguments.seed {
        Some(seed) => seed,
        // Short enough to be typed, and exact in every JSON reader.
        None => u64::from(getrandom::u32().context("the system has no random numbers")?),
    };
    let (rules, map) = (rules(game)?, map(game)?);
    let (rules, map) = (
        rules.map_or_else(|| default_rules(game.bot()), Ok)?,
        map.map_or_else(|| default_map(arguments.players), Ok)?,
    );
    let seats = usize::from(arguments.players);
    map.check(seats).with_context(|| format!("map {} seats {}, not {seats}", map.name, map.bases.len()))?;
    let room_id = getrandom::u64().context("the system has no random numbers")?;
    let config = MatchConfig {
        room_id,
        architecture,
        seed,
        tick_rate: game.tick_rate.unwrap_or(TickRate::HZ_60),
        ticks: game.ticks,
        rules: fingerprint(&*rules),
        map: fingerprint(&*map),
        seats: arguments.players,
    };
    let players = u8::from(architecture == Architecture::P2p);
    let beacon = Beacon {
        id: RoomId(room_id),
        port,
        name: game.name.map_or_else(default_name, Ok)?,
        architecture,
        players,
        seats: arguments.players,
        locked: game.room.is_some(),
        closed: false,
        version: VersionText::new(env!("CARGO_PKG_VERSION")).expect("a version is visible ASCII"),
        build: SIMULATION_BUILD,
    };
    Ok(Decided { config, beacon, rules, map })
}

/// A host's match on `port`.
pub(crate) fn host(arguments: &HostArguments, port: u16) -> anyhow::Result<Prepared> {
    let game = &arguments.game;
    let Decided { config, beacon, rules, map } = decide(arguments, Architecture::P2p, port)?;
    let seed = config.seed;
    let settings = settings(game)?;
    let host = HostConfig {
        config,
        room_code: room_code(game),
        teams: teams(arguments)?,
        countdown: if game.headless { COUNTDOWN_HEADLESS } else { COUNTDOWN_WINDOW },
        beacon: Some(beacon.clone()),
    };
    let options = options(game, Some(rules), Some(map), Some(seed))?;
    let session = LockstepSession::host(clock::now(), settings, host, entropy()?);
    Ok(Prepared { game: Match::new(session, options), beacon: Some(beacon), seed: Some(seed) })
}

/// A server, and what it is announced by.
pub(crate) struct PreparedServer {
    pub(crate) server: Server,
    pub(crate) beacon: Beacon,
    pub(crate) seed: u64,
}

/// A match with a server on `port`. If this process plays, too, its client brings the token of `host` and
/// records, and the server does not.
pub(crate) fn serve(
    arguments: &HostArguments,
    port: u16,
    host: Option<Token>,
) -> anyhow::Result<PreparedServer> {
    let game = &arguments.game;
    let architecture = arguments.architecture.map_or(Architecture::ClientServer, Architecture::from);
    if architecture == Architecture::P2p {
        bail!("p2p has no server; try --architecture client-server or relay");
    }
    let Decided { config, beacon, rules, map } = decide(arguments, architecture, port)?;
    let settings = ServerConfig {
        config,
        room_code: room_code(game),
        teams: teams(arguments)?,
        host,
        countdown: if game.headless { COUNTDOWN_HEADLESS } else { COUNTDOWN_WINDOW },
        beacon: Some(beacon.clone()),
        timeout: game.timeout,
        rejoin: game.rejoin(),
        wait: Some(game.wait()),
        updates: game.updates,
        stays: !game.headless,
        kept: ArrayVec::new(),
        bits_per_s: BITS_PER_S_USUAL,
    };
    let session = ServerSession::new(clock::now(), settings, entropy()?);
    let record = if host.is_none() {
        paths::replay_path(game.record.as_deref(), "server", Some(config.seed))?
    } else {
        None
    };
    let started_unix_s = paths::unix_seconds();
    let options = ServerOptions { rules: Some(rules), map: Some(map), record, started_unix_s };
    Ok(PreparedServer { server: Server::new(session, options), beacon, seed: config.seed })
}

/// A guest's match with the host at `address`; `own` are the addresses where others may find this guest.
pub(crate) fn join(
    arguments: &JoinArguments,
    address: SocketAddr,
    own: &[SocketAddr],
) -> anyhow::Result<Prepared> {
    let game = &arguments.game;
    let (rules, map) = (rules(game)?, map(game)?);
    let guest = GuestConfig {
        host: address,
        room_code: room_code(game),
        seat: arguments.seat,
        rules: rules.as_deref().map(fingerprint),
        map: map.as_deref().map(fingerprint),
        ticks: game.ticks,
        tick_rate: game.tick_rate,
        addresses: own.iter().copied().collect(),
        token: game.token,
        via: arguments.via.iter().copied().take(PLAYERS_MAX - 1).collect(),
    };
    let options = options(game, rules, map, None)?;
    let session = LockstepSession::join(clock::now(), settings(game)?, guest, entropy()?);
    Ok(Prepared { game: Match::new(session, options), beacon: None, seed: None })
}

/// A token that nobody can guess.
pub(crate) fn drawn_token() -> anyhow::Result<Token> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the system has no random numbers")?;
    Ok(Token(bytes))
}

/// `ADDR[:PORT]` as an address of the same family as `bind`.
pub(crate) fn resolve(text: &str, is_ipv4: bool) -> anyhow::Result<SocketAddr> {
    // A bare IPv6 address has colons of its own.
    let bare = text.parse().map(|ip| SocketAddr::new(ip, DEFAULT_PORT)).ok();
    let whole = text.parse().ok();
    if let Some(address) = bare.or(whole) {
        return Ok(address);
    }
    let has_port = text.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    let text = if has_port { text.to_owned() } else { format!("{text}:{DEFAULT_PORT}") };
    let advice = || {
        format!(
            "no such host: {text}; give an address such as 192.168.1.20:{DEFAULT_PORT}, or none to look on the LAN"
        )
    };
    let mut found = text.to_socket_addrs().with_context(advice)?;
    found.find(|address| address.is_ipv4() == is_ipv4).with_context(advice)
}

fn settings(game: &MatchArguments) -> anyhow::Result<Settings> {
    Ok(Settings {
        name: game.name.map_or_else(default_name, Ok)?,
        hero: game.hero.into(),
        input_delay: game.input_delay,
        timeout: game.timeout,
        wait: Some(game.wait()),
        on_loss: if game.headless { OnLoss::End } else { OnLoss::Wait },
        stays: !game.headless,
    })
}

/// The user's name if it can be one, else `player`.
pub(crate) fn default_name() -> anyhow::Result<PlayerName> {
    let user = ["USER", "USERNAME"].into_iter().find_map(|key| std::env::var(key).ok());
    let name = user.and_then(|user| PlayerName::new(&user).ok());
    Ok(name.map_or_else(|| PlayerName::new("player"), Ok)?)
}

fn options(
    game: &MatchArguments,
    rules: Option<Arc<Rules>>,
    map: Option<Arc<Map>>,
    seed: Option<u64>,
) -> anyhow::Result<MatchOptions> {
    let role = if seed.is_some() { "host" } else { "guest" };
    let trace = game.trace.as_ref().map(|path| {
        Trace::create(path).with_context(|| format!("cannot write the trace {}", path.display()))
    });
    let inject = game.inject_desync.as_ref();
    Ok(MatchOptions {
        rules,
        map,
        pilot: Some(game.bot().pilot()),
        script: game.script.as_deref().map(script).transpose()?,
        record: paths::replay_path(game.record.as_deref(), role, seed)?,
        trace: trace.transpose()?,
        prediction: game.prediction == Switch::On,
        interpolation: game.interpolation,
        updates: game.updates,
        inject: inject.map(|inject| Inject { tick: Tick(inject.tick), field: inject.field.clone() }),
        started_unix_s: paths::unix_seconds(),
    })
}

fn script(file: &Path) -> anyhow::Result<Script> {
    let read = || Script::read(BufReader::new(File::open(file)?));
    read().with_context(|| format!("{} is no script of commands", file.display()))
}

fn rules(game: &MatchArguments) -> anyhow::Result<Option<Arc<Rules>>> {
    Ok(game.rules.as_deref().map(data::rules).transpose()?)
}

fn map(game: &MatchArguments) -> anyhow::Result<Option<Arc<Map>>> {
    Ok(game.map.as_deref().map(data::map).transpose()?)
}

/// A probe measures; nothing must end its match.
fn default_rules(bot: BotChoice) -> anyhow::Result<Arc<Rules>> {
    Ok(data::rules(if bot == BotChoice::Probe { "endless" } else { "standard" })?)
}

fn default_map(players: u8) -> anyhow::Result<Arc<Map>> {
    Ok(data::map(if players > 2 { "quad" } else { "standard" })?)
}

/// Each seat's team; at least two of them.
fn teams(arguments: &HostArguments) -> anyhow::Result<ArrayVec<u8, PLAYERS_MAX>> {
    let (seats, given) = (usize::from(arguments.players), &arguments.teams);
    if given.is_empty() {
        return Ok((0..arguments.players).collect());
    }
    if given.len() != seats {
        bail!("--teams names {} seats, --players {seats}: give a team for each", given.len());
    }
    if given.iter().all(|team| *team == given[0]) {
        bail!("--teams puts everybody into team {}: nobody is left to play against", given[0]);
    }
    Ok(given.iter().copied().collect())
}

/// A room's code crosses the network only as this; it keeps strangers out by mistake, not by force.
fn room_code(game: &MatchArguments) -> u64 {
    game.room.as_ref().map_or(0, |code| fingerprint(code).max(1))
}

fn entropy() -> anyhow::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("the system has no random numbers")?;
    Ok(bytes)
}
