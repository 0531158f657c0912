//! Builds sessions and matches from flags.

use anyhow::{Context as _, bail};
use arrayvec::ArrayVec;
use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::args::{
    HostArguments, JoinArguments, MatchArguments, Matches, NetworkArguments, ServeArguments, Switch,
    TableArguments, Teams, TermsArguments, UPDATES_USUAL,
};
use super::paths;
use game::text_file;
use game::{
    Inject, Match, MatchClock, MatchError, MatchOptions, SCRIPT_BYTES_MAX, Script, Server, ServerOptions,
    Trace, data,
};
use net::discovery::{Beacon, RoomId, VersionText};
use net::{
    ALTERNATIVES_MAX, AdmissionRules, Architecture, BITS_PER_S_USUAL, GuestConfig, Host, HostConfig, Join,
    MatchConfig, OnLoss, PlayerName, READY_WITHIN_USUAL, Refusal, RoomCode, ServerConfig, Settings, Token,
};
use sim::{KindId, Map, PLAYERS_MAX, Rules, SIMULATION_BUILD, Tick, TickRate, fingerprint};
use transport::discovery::ask_version;
use transport::{PortChoice, Udp, clock};

/// Timeout for asking a host that refused this version for its own.
const VERSION_WITHIN: Duration = Duration::from_millis(500);
/// Countdown from the last guest's arrival to tick 0, without a window.
const COUNTDOWN_HEADLESS: Duration = Duration::from_millis(400);
/// Countdown when a person plays.
const COUNTDOWN_WINDOW: Duration = Duration::from_secs(3);
/// Default interpolation delay, in updates.
const INTERPOLATION_USUAL: u32 = 2;

/// Everything that a match needs besides its socket.
pub(crate) struct Prepared {
    pub(crate) game: Match,
    pub(crate) beacon: Option<Beacon>,
    pub(crate) seed: Option<u64>,
}

/// Binds the sockets that the flags ask for, or the default ones; prints their addresses as the first lines on
/// stderr. Retains of `hosts`, the addresses of the host, those that the sockets can reach.
pub(crate) fn bind(
    network: &NetworkArguments,
    usual: PortChoice,
    hosts: &mut Vec<SocketAddr>,
) -> anyhow::Result<Udp> {
    let ip = network.bind.map_or(IpAddr::V6(Ipv6Addr::UNSPECIFIED), |ip| ip.to_canonical());
    let port = match network.port {
        None => usual,
        Some(0) => PortChoice::Any,
        Some(port) => PortChoice::Exactly(port),
    };
    let udp = Udp::bind(ip, port)?;
    if let Some(&first) = hosts.first() {
        hosts.retain(|to| udp.local_addresses().any(|own| own.is_ipv4() == to.is_ipv4()));
        if hosts.is_empty() && ip == IpAddr::V6(Ipv6Addr::UNSPECIFIED) {
            let (there, here) = if first.is_ipv6() { ("IPv6", "IPv4") } else { ("IPv4", "IPv6") };
            bail!(
                "{first} cannot be reached, for this machine has no {there}: give the host's address of {here}"
            );
        }
        if hosts.is_empty() {
            let own = udp.local_address().ip();
            bail!(
                "{first} cannot be reached from {own}: leave --bind out, or give an address of the same family"
            );
        }
    }
    for address in udp.local_addresses() {
        logln!("listening {address}");
    }
    Ok(udp)
}

/// Settings that the flags of a host or a server decide.
struct Decided {
    config: MatchConfig,
    beacon: Beacon,
    rules: Arc<Rules>,
    map: Arc<Map>,
    /// Maps of the matches that follow.
    next_maps: VecDeque<Arc<Map>>,
}

/// Builds the settings of a match from the flags; the match is open on `port`.
fn decide(arguments: &ServeArguments, architecture: Architecture, port: u16) -> anyhow::Result<Decided> {
    let (terms, table) = (&arguments.terms, &arguments.table);
    let seed = match table.seed {
        Some(seed) => seed,
        // Short enough to type, and exact in every JSON parser.
        None => u64::from(getrandom::u32().context("the system has no random numbers")?),
    };
    let rules = rules(terms)?.map_or_else(|| data::rules("standard"), Ok)?;
    let map = map(terms)?.map_or_else(|| data::map(usual_map(table.players)), Ok)?;
    let next = arguments.next_maps.iter().map(data::map);
    let next_maps = next.collect::<Result<VecDeque<_>, _>>()?;
    next_maps.iter().chain([&map]).try_for_each(|map| seats_on(map, usize::from(table.players)))?;
    let room_id = getrandom::u64().context("the system has no random numbers")?;
    let config = MatchConfig {
        room_id,
        architecture,
        seed,
        tick_rate: terms.tick_rate.unwrap_or(TickRate::HZ_60),
        ticks: terms.ticks,
        rules: fingerprint(&*rules),
        map: fingerprint(&*map),
        seats: table.players,
        game: 0,
        is_fair: false,
    };
    let players = u8::from(architecture == Architecture::P2p);
    let beacon = Beacon {
        id: RoomId(room_id),
        port,
        name: arguments.name.map_or_else(default_name, Ok)?,
        architecture,
        players,
        seats: table.players,
        locked: arguments.network.room.is_some(),
        closed: false,
        version: version(),
        build: SIMULATION_BUILD,
    };
    Ok(Decided { config, beacon, rules, map, next_maps })
}

/// Rejects a map with fewer bases than players.
pub(crate) fn seats_on(map: &Map, players: usize) -> anyhow::Result<()> {
    let seats = map.bases.len();
    anyhow::ensure!(
        players <= seats,
        "map {} has {seats} seats, not {players}; choose another --map, such as {}",
        map.name,
        usual_map(players as u8)
    );
    map.check(players).with_context(|| format!("map {} cannot be played", map.name))
}

/// Returns the default map for this number of players.
const fn usual_map(players: u8) -> &'static str {
    if players > 2 { "quad" } else { "standard" }
}

/// Prepares a host's match on `port`.
pub(crate) fn host(arguments: &HostArguments, port: u16) -> anyhow::Result<Prepared> {
    let game = &arguments.game;
    let server = arguments.server();
    let Decided { config, beacon, rules, map, .. } = decide(&server, Architecture::P2p, port)?;
    let config = MatchConfig { is_fair: arguments.fair, ..config };
    let seed = config.seed;
    let settings = settings(game, &rules)?;
    let host = HostConfig {
        config,
        room_code: room_code(&game.network),
        teams: teams(&arguments.table)?,
        countdown: countdown(game.output.headless),
        beacon: Some(beacon.clone()),
        admission: AdmissionRules {
            shared_address: arguments.shared_address,
            ready_within: ready_within(arguments.ready_within, game.output.headless),
        },
    };
    let options = options(game, Some(rules), Some(map), Some(seed))?;
    let room = Host::new(clock::now(), settings, host, entropy()?);
    Ok(Prepared { game: Match::new(room, options), beacon: Some(beacon), seed: Some(seed) })
}

/// Returns the time for which a guest may keep a full room waiting; `None` with a window, whose player removes guests
/// by hand.
fn ready_within(given: Option<Duration>, is_headless: bool) -> Option<Duration> {
    given.or_else(|| is_headless.then_some(READY_WITHIN_USUAL))
}

/// Returns the countdown from the last guest's arrival to tick 0.
const fn countdown(is_headless: bool) -> Duration {
    if is_headless { COUNTDOWN_HEADLESS } else { COUNTDOWN_WINDOW }
}

/// Server, and its announcement.
pub(crate) struct PreparedServer {
    pub(crate) server: Server,
    pub(crate) beacon: Beacon,
    pub(crate) seed: u64,
}

/// Prepares a match with a server on `port`. If this process plays, too, its client brings the token of `host` and
/// records, and the server does not.
pub(crate) fn serve(
    arguments: &ServeArguments,
    port: u16,
    host: Option<Token>,
) -> anyhow::Result<PreparedServer> {
    let (network, architecture) = (&arguments.network, arguments.architecture);
    if architecture == Architecture::P2p {
        bail!("p2p has no server; try --architecture client-server or relay");
    }
    if arguments.repeat_updates && architecture == Architecture::Relay {
        bail!("--repeat-updates needs client-server: a relay's next update repeats lost inputs a tick later");
    }
    let Decided { config, beacon, rules, map, next_maps } = decide(arguments, architecture, port)?;
    let settings = ServerConfig {
        config,
        room_code: room_code(network),
        teams: teams(&arguments.table)?,
        host,
        countdown: countdown(arguments.headless),
        beacon: Some(beacon.clone()),
        admission: AdmissionRules {
            shared_address: arguments.shared_address,
            ready_within: ready_within(arguments.ready_within, arguments.headless),
        },
        timeout: network.timeout,
        rejoin: arguments.rejoin,
        wait: Some(arguments.wait()),
        updates: arguments.updates,
        repeat_updates: arguments.repeat_updates,
        stays: arguments.matches != Matches::ONE,
        bits_per_s: BITS_PER_S_USUAL,
    };
    let record = if host.is_none() {
        paths::replay_path(arguments.record.as_deref(), "server", Some(config.seed))?
    } else {
        None
    };
    let started_unix_s = paths::unix_seconds();
    let streams = config.architecture == Architecture::ClientServer;
    let (rules, map) = (Some(rules), Some(map));
    let matches = arguments.matches.0;
    let trace = trace(arguments.trace.as_deref())?;
    let options =
        ServerOptions { rules, map, next_maps, matches, record, trace, streams, started_unix_s, first: None };
    let server = Server::new(clock::now(), settings, entropy()?, options);
    Ok(PreparedServer { server, beacon, seed: config.seed })
}

/// Prepares a guest's match with the host, which is at one of the addresses `hosts`; `own` are the addresses at which
/// others may find this guest.
pub(crate) fn join(
    arguments: &JoinArguments,
    hosts: &[SocketAddr],
    own: &[SocketAddr],
) -> anyhow::Result<Prepared> {
    let game = &arguments.game;
    let (rules, map) = (rules(&game.terms)?, map(&game.terms)?);
    let (&host, alternatives) = hosts.split_first().context("no address to join")?;
    let guest = GuestConfig {
        host,
        alternatives: alternatives.iter().copied().take(ALTERNATIVES_MAX).collect(),
        room_code: room_code(&game.network),
        seat: arguments.seat,
        rules: rules.as_deref().map(fingerprint),
        map: map.as_deref().map(fingerprint),
        ticks: game.terms.ticks,
        tick_rate: game.terms.tick_rate,
        addresses: own.iter().copied().collect(),
        token: arguments.token,
        via: arguments.via.iter().copied().take(PLAYERS_MAX - 1).collect(),
    };
    let settings = settings(game, &*known_rules(rules.as_ref())?)?;
    let settings = Settings { stays: settings.stays || arguments.matches != Matches::ONE, ..settings };
    let options = options(game, rules, map, None)?;
    let session = Join::new(clock::now(), settings, guest, entropy()?);
    Ok(Prepared { game: Match::new(session, options), beacon: None, seed: None })
}

/// Returns the address at which this machine reaches a socket bound to `bind`.
pub(crate) const fn loopback(bind: Option<IpAddr>, port: u16) -> SocketAddr {
    let ip = match bind {
        None => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(IpAddr::V4(ip)) if ip.is_unspecified() => IpAddr::V4(Ipv4Addr::LOCALHOST),
        Some(IpAddr::V6(ip)) if ip.is_unspecified() => IpAddr::V6(Ipv6Addr::LOCALHOST),
        Some(ip) => ip,
    };
    SocketAddr::new(ip, port)
}

/// Generates an unguessable token.
pub(crate) fn drawn_token() -> anyhow::Result<Token> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).context("the system has no random numbers")?;
    Ok(Token(bytes))
}

/// Returns this program's version, as beacons carry it.
pub(crate) fn version() -> VersionText {
    VersionText::new(replay::VERSION).expect("a version is visible ASCII")
}

/// Asks a host that refused this version for its own, so that both can be reported; `None` after any other error, and
/// if the host does not say.
pub(crate) fn other_version(error: &MatchError, hosts: &[SocketAddr]) -> Option<VersionText> {
    let is_refused =
        matches!(error, MatchError::Refused(Refusal::Protocol { .. } | Refusal::SimulationBuild { .. }));
    is_refused.then(|| ask_version(hosts, VERSION_WITHIN)).flatten()
}

/// Returns the hero that a player leads by these rules.
fn hero(game: &MatchArguments, rules: &Rules) -> anyhow::Result<KindId> {
    let Some(name) = game.player.hero else {
        let last = rules.hero_kinds().next_back().filter(|_| game.bot().leads_last_hero());
        return Ok(last.unwrap_or_default());
    };
    rules.hero_named(name.as_str()).with_context(|| {
        let heroes: Vec<_> = rules.heroes.iter().map(|hero| hero.name.as_str()).collect();
        format!("the rules {} have no hero {name}; they have {}", rules.name, heroes.join(", "))
    })
}

fn settings(game: &MatchArguments, rules: &Rules) -> anyhow::Result<Settings> {
    Ok(Settings {
        name: game.player.name.map_or_else(default_name, Ok)?,
        hero: hero(game, rules)?,
        is_ready: game.player.is_ready,
        input_delay: game.player.input_delay,
        timeout: game.network.timeout,
        wait: Some(game.wait()),
        on_loss: if game.output.headless { OnLoss::End } else { OnLoss::Wait },
        stays: !game.output.headless,
    })
}

/// Returns the user's name if it is valid, else `player`.
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
    let player = &game.player;
    let known = known_rules(rules.as_ref())?;
    let inject = game.inject_desync.as_ref();
    if let (Some(inject), Some(ticks)) = (inject, game.terms.ticks) {
        inject.check(ticks)?;
    }
    Ok(MatchOptions {
        rules,
        map,
        first: None,
        // In real time nothing waits for a bot.
        controller: Some(game.bot().controller(Duration::ZERO)),
        script: player.script.as_deref().map(|file| script(file, &known)).transpose()?,
        record: paths::replay_path(game.output.record.as_deref(), role, seed)?,
        trace: trace(player.trace.as_deref())?,
        prediction: player.prediction == Switch::On,
        interpolation: game.interpolation.unwrap_or(INTERPOLATION_USUAL),
        updates: game.updates.unwrap_or(UPDATES_USUAL),
        inject: inject.map(|inject| Inject { tick: Tick(inject.tick), field: inject.field.clone() }),
        started_unix_s: paths::unix_seconds(),
        steps: None,
        clock: MatchClock::default(),
    })
}

fn trace(file: Option<&Path>) -> anyhow::Result<Option<Trace>> {
    let create = |file: &Path| {
        Trace::create(file).with_context(|| format!("cannot write the trace {}", file.display()))
    };
    file.map(create).transpose()
}

fn script(file: &Path, rules: &Rules) -> anyhow::Result<Script> {
    let read =
        || -> anyhow::Result<Script> { Ok(Script::read(&text_file::read(file, SCRIPT_BYTES_MAX)?, rules)?) };
    read().with_context(|| format!("{} is not a script of commands", file.display()))
}

fn rules(terms: &TermsArguments) -> anyhow::Result<Option<Arc<Rules>>> {
    Ok(terms.rules.as_deref().map(data::rules).transpose()?)
}

/// Returns the rules by whose names a player speaks: a guest without rules of its own plays by built-in ones, which all
/// have the kinds of the standard ones.
fn known_rules(given: Option<&Arc<Rules>>) -> anyhow::Result<Arc<Rules>> {
    Ok(given.cloned().map_or_else(|| data::rules("standard"), Ok)?)
}

fn map(terms: &TermsArguments) -> anyhow::Result<Option<Arc<Map>>> {
    Ok(terms.map.as_deref().map(data::map).transpose()?)
}

/// Returns each seat's team; at least two.
pub(crate) fn teams(table: &TableArguments) -> anyhow::Result<ArrayVec<u8, PLAYERS_MAX>> {
    let seats = usize::from(table.players);
    let given = match &table.teams {
        None => return Ok((0..table.players).collect()),
        // The first two bases of every map are opposite, and so are the last two.
        Some(Teams::Across) if seats == 4 => return Ok([0, 0, 1, 1].into()),
        Some(Teams::Across) => {
            bail!("--teams without a value needs four players: add --players 4, or give each seat's team")
        }
        Some(Teams::Each(given)) => given,
    };
    if given.len() != seats {
        bail!("--teams names {} seats, --players {seats}: give a team for each", given.len());
    }
    if given.iter().all(|team| *team == given[0]) {
        bail!("--teams puts everybody into team {}: there is nobody to play against", given[0]);
    }
    Ok(given.iter().copied().collect())
}

fn room_code(network: &NetworkArguments) -> RoomCode {
    network.room.as_deref().map_or(RoomCode::OPEN, RoomCode::of)
}

fn entropy() -> anyhow::Result<[u8; 32]> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).context("the system has no random numbers")?;
    Ok(bytes)
}
