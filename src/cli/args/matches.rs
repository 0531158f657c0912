//! Arguments of `arena host`, `join`, `serve` and `play`: each command has exactly the flags that it honours.

use clap::Args;
use std::io::{self, BufRead, IsTerminal, Read as _};
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;

use super::{
    ARCHITECTURES, BOTS, BotChoice, FOREVER, Injection, Matches, Seconds, Switch, Teams, bot, input_delay,
    matches, one_of, opponent, seconds, seconds_or_none, seed, tick_rate, token, wait,
};
use game::data::Opponent;
use game::text_file::{self, TextError};
use net::{Architecture, InputDelay, PlayerName, RoomCode, Token};
use sim::{KindName, PLAYERS_MAX, PlayerId, Tick, TickRate};
use transport::LinkSpec;

/// Flags of a player.
#[derive(Args, Clone, Debug)]
pub(crate) struct PlayerArguments {
    /// Your name, 1 to 16 characters.
    #[arg(long, value_parser = PlayerName::new)]
    pub(crate) name: Option<PlayerName>,
    /// Name of your hero in the rules; by default the first.
    #[arg(long, value_name = "NAME")]
    pub(crate) hero: Option<KindName>,
    /// Whether the player is ready as soon as there is a seat; a player from the menu decides in the lobby.
    #[arg(skip = true)]
    pub(crate) is_ready: bool,
    /// Give the commands of this file at their instants, regardless of the match: one JSON object per line,
    /// {"at_ms":F,"command":{...}}, at_ms counted from the first tick. `replay export --script --player N` prints such a file.
    #[arg(long, value_name = "FILE")]
    pub(crate) script: Option<PathBuf>,
    /// Input delay: `auto`, as short as the link allows, or a number of ticks.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = input_delay)]
    pub(crate) input_delay: InputDelay,
    /// Show your own orders before they are confirmed.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) prediction: Switch,
    /// Write every tick, command, stall, hash and datagram to this file, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
}

/// Terms of a match.
#[derive(Args, Clone, Debug)]
pub(crate) struct TermsArguments {
    /// End after this number of ticks; a guest uses the host's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: Option<u32>,
    /// Simulation steps per second: 30, 40, 50 or 60; 60 by default. A guest uses the host's.
    #[arg(long, value_parser = tick_rate)]
    pub(crate) tick_rate: Option<TickRate>,
    /// Map, by name or file; a guest uses the host's. `serve` plays several in turn.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Option<PathBuf>,
    /// Rules, by name or file; a guest uses the host's.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rules: Option<PathBuf>,
}

/// Flags of a host or a server.
#[derive(Args, Clone, Debug)]
pub(crate) struct TableArguments {
    /// Seats: 2, 3 or 4. More than two need a map for four; `quad` by default.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=PLAYERS_MAX as i64))]
    pub(crate) players: u8,
    /// Play in teams: the team of each seat, such as `0,0,1,1`. Without a value, for four players, partners sit
    /// opposite each other. Without the flag, every player is a team.
    #[arg(long, value_name = "TEAM,TEAM,...", num_args = 0..=1, default_missing_value = Teams::ACROSS)]
    pub(crate) teams: Option<Teams>,
    /// Seed of the random numbers; random by default.
    #[arg(long, value_parser = seed())]
    pub(crate) seed: Option<u64>,
}

/// Flags of the network.
#[derive(Args, Clone, Debug)]
pub(crate) struct NetworkArguments {
    /// Local address to bind; by default all of IPv4 and IPv6 that the system supports.
    #[arg(long, value_name = "IP")]
    pub(crate) bind: Option<IpAddr>,
    /// Local UDP port, 0 for any. A host and a server take 4124 by default, or the next free one up to 4133; a guest
    /// any.
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// Code of a locked room. Case and spaces are ignored. With - it is read from the first line of standard input,
    /// which keeps it out of process lists and shell histories.
    #[arg(long, value_name = "CODE", value_parser = room_code)]
    pub(crate) room: Option<String>,
    #[command(flatten)]
    pub(crate) link: LinkArguments,
    /// Time to wait for the other side, in seconds: 30 without a window, a day with one, forever with `serve
    /// --matches forever`.
    #[arg(long, value_name = "SECONDS|forever", value_parser = wait)]
    pub(crate) wait: Option<Seconds>,
    /// Silence after which a peer is lost.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub(crate) timeout: Seconds,
    /// Neither announce nor search for matches on the LAN.
    #[arg(long)]
    pub(crate) no_discovery: bool,
}

/// Flags of a simulated link.
#[derive(Args, Clone, Debug)]
pub(crate) struct LinkArguments {
    /// Impair the link: delay=50ms,jitter=5ms,loss=5%,burst=2%:4,dup=1%,reorder=2%,rate=1mbit,seed=7; jitter=5ms:2 is
    /// the sum of two draws.
    #[arg(long, value_name = "SPEC")]
    pub(crate) link: Option<LinkSpec>,
}

/// Flags of the results of a player's match.
#[derive(Args, Clone, Debug)]
pub(crate) struct OutputArguments {
    /// Play without a window.
    #[arg(long)]
    pub(crate) headless: bool,
    /// File to record to, or `off`; by default a new file in your data folder.
    #[arg(long, value_name = "FILE|off")]
    pub(crate) record: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long, requires = "headless")]
    pub(crate) json: bool,
}

/// Flags that host and guest share.
#[derive(Args, Clone, Debug)]
pub(crate) struct MatchArguments {
    #[command(flatten)]
    pub(crate) player: PlayerArguments,
    /// Controller of this seat: by default you in the window, `normal` without one.
    #[arg(long, value_name = BOTS, value_parser = bot, conflicts_with = "script")]
    pub(crate) bot: Option<BotChoice>,
    #[command(flatten)]
    pub(crate) terms: TermsArguments,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// Client-server: updates per second, 20 by default; a guest uses the host's.
    #[arg(long, value_name = "N", value_parser = updates())]
    pub(crate) updates: Option<u32>,
    /// Client-server, without prediction: interpolation delay, in updates; 2 by default.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) interpolation: Option<u32>,
    /// Change the state after a tick, to test desync detection: TICK or TICK:FIELD, such as `600:units[0].hp`.
    #[arg(long, value_name = "TICK[:FIELD]")]
    pub(crate) inject_desync: Option<Injection>,
    /// File for a desync report; by default beside the replay.
    #[arg(long, value_name = "FILE", requires = "headless")]
    pub(crate) desync_report: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct HostArguments {
    #[command(flatten)]
    pub(crate) game: MatchArguments,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    /// Architecture: either every peer simulates the world, or a server does.
    #[arg(long, default_value = "p2p", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
    /// Peer to peer: no player can choose an input after seeing the others', since each is committed to before any of
    /// its tick is revealed. It adds a one-way delay to the input delay. Guests learn it from the host.
    #[arg(long)]
    pub(crate) fair: bool,
    /// Client-server: repeat each update half a tick later for clients that lose more than 1 % of datagrams.
    #[arg(long)]
    pub(crate) repeat_updates: bool,
    /// Let one address take every seat, as several players behind one router do; by default one seat is kept for
    /// another address. With --room this is always allowed.
    #[arg(long)]
    pub(crate) shared_address: bool,
    /// Your seat: a host's is always 0; guests choose theirs with `join --seat`.
    #[arg(long, default_value = "0", value_parser = host_seat)]
    pub(crate) seat: u8,
    /// With a server: time for which the seat of a silent client is kept, in seconds; 0 without a window, 45 with
    /// one.
    #[arg(long, value_name = "SECONDS", value_parser = seconds_or_none)]
    pub(crate) rejoin: Option<Seconds>,
    /// Seconds for which a guest that is not ready keeps its seat in a full room while another guest asks for one: 25
    /// without a window; with a window you decide.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) ready_within: Option<Seconds>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct JoinArguments {
    /// Address of the host; by default the only open match on the LAN.
    #[arg(value_name = "ADDR[:PORT]")]
    pub(crate) address: Option<String>,
    /// Addresses of the server that keeps a seat; used without another address.
    #[arg(skip)]
    pub(crate) kept_hosts: Vec<SocketAddr>,
    #[command(flatten)]
    pub(crate) game: MatchArguments,
    /// Seat to ask for.
    #[arg(long)]
    pub(crate) seat: Option<u8>,
    /// Address of another guest, instead of those that the host reports; may be given several times.
    #[arg(long, value_name = "SEAT=IP:PORT", value_parser = via)]
    pub(crate) via: Vec<(PlayerId, SocketAddr)>,
    /// With a server: take back the seat of this token; `join` prints it.
    #[arg(long, value_name = "HEX", value_parser = token)]
    pub(crate) token: Option<Token>,
    /// With a server: take back the last seat of one of your processes that has ended since.
    #[arg(long = "return", conflicts_with_all = ["token", "seat"])]
    pub(crate) returns: bool,
    /// Without a window: stay in the room for this number of matches, as long as it stays open.
    #[arg(long, value_name = "N|forever", default_value = "1", value_parser = matches, requires = "headless")]
    pub(crate) matches: Matches,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct ServeArguments {
    /// Name under which the match is listed, 1 to 16 characters.
    #[arg(long, value_parser = PlayerName::new)]
    pub(crate) name: Option<PlayerName>,
    #[command(flatten)]
    pub(crate) terms: TermsArguments,
    /// Maps of the matches after the first: the further values of `--map`.
    #[arg(skip)]
    pub(crate) next_maps: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) network: NetworkArguments,
    /// Role of the server: `client-server` or `relay`.
    #[arg(long, default_value = "client-server", value_parser = one_of(&ARCHITECTURES))]
    pub(crate) architecture: Architecture,
    /// Client-server: updates per second.
    #[arg(long, value_name = "N", default_value_t = UPDATES_USUAL, value_parser = updates())]
    pub(crate) updates: u32,
    /// Client-server: repeat each update half a tick later for clients that lose more than 1 % of datagrams.
    #[arg(long)]
    pub(crate) repeat_updates: bool,
    /// Time for which the seat of a silent client is kept, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "45", value_parser = seconds_or_none)]
    pub(crate) rejoin: Seconds,
    /// Play this number of matches in the same room. Between two of them guests may come and go; sides are swapped.
    #[arg(long, value_name = "N|forever", default_value = "1", value_parser = matches)]
    pub(crate) matches: Matches,
    /// Let one address take every seat, as several players behind one router do; by default one seat is kept for
    /// another address. With --room this is always allowed.
    #[arg(long)]
    pub(crate) shared_address: bool,
    /// Seconds for which a guest that is not ready keeps its seat in a full room while another guest asks for one; 25
    /// by default.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) ready_within: Option<Seconds>,
    /// Write every command, late tick, hash and datagram of the first match to this file, one JSON object per line.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Accepted for consistency: a server never has a window.
    #[arg(long)]
    pub(crate) headless: bool,
    /// File to record to, or `off`; by default a new file in your data folder.
    #[arg(long, value_name = "FILE|off")]
    pub(crate) record: Option<PathBuf>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct PlayArguments {
    #[command(flatten)]
    pub(crate) player: PlayerArguments,
    /// Bot in the other seats. You play yours in the window; without one, a `normal` bot or the script does.
    #[arg(long, value_name = BOTS, default_value = "normal", value_parser = bot)]
    pub(crate) bot: BotChoice,
    /// Opponent of the ladder, by its name or number: the map, rules, teams and bots of its match. Only a match in the
    /// window counts on the ladder.
    #[arg(long, value_name = "NAME|N", value_parser = opponent, conflicts_with_all = ["bot", "map", "rules", "players", "teams"])]
    pub(crate) opponent: Option<&'static Opponent>,
    #[command(flatten)]
    pub(crate) terms: TermsArguments,
    #[command(flatten)]
    pub(crate) table: TableArguments,
    #[command(flatten)]
    pub(crate) link: LinkArguments,
    #[command(flatten)]
    pub(crate) output: OutputArguments,
}

/// Default updates per second of a server.
pub(crate) const UPDATES_USUAL: u32 = 20;

impl MatchArguments {
    /// Returns the controller of this seat.
    pub(crate) fn bot(&self) -> BotChoice {
        self.bot.unwrap_or(if self.output.headless { BotChoice::Normal } else { BotChoice::None })
    }

    /// Returns the time to wait for the other side.
    pub(crate) fn wait(&self) -> Seconds {
        self.network.wait(self.output.headless)
    }
}

impl NetworkArguments {
    /// Returns the time to wait for the other side.
    pub(crate) fn wait(&self, is_headless: bool) -> Seconds {
        const HEADLESS: Seconds = Seconds::from_secs(30);
        const WINDOW: Seconds = Seconds::from_secs(86_400);
        self.wait.unwrap_or(if is_headless { HEADLESS } else { WINDOW })
    }
}

impl ServeArguments {
    /// Returns the time to wait for guests.
    pub(crate) fn wait(&self) -> Seconds {
        let stays = self.headless && self.matches == Matches::ENDLESS && self.network.wait.is_none();
        if stays { FOREVER } else { self.network.wait(self.headless) }
    }
}

impl HostArguments {
    /// Whether a host's match has a server.
    pub(crate) fn has_server(&self) -> bool {
        self.architecture != Architecture::P2p
    }

    /// Refuses flags that have no meaning in lockstep, or none with a server.
    pub(crate) fn check(&self) -> anyhow::Result<()> {
        if self.fair && self.has_server() {
            anyhow::bail!("--fair needs a match without a server; leave --architecture out");
        }
        let of_server = [
            ("--updates", self.game.updates.is_some()),
            ("--repeat-updates", self.repeat_updates),
            ("--interpolation", self.game.interpolation.is_some()),
            ("--rejoin", self.rejoin.is_some()),
        ];
        match of_server.into_iter().find(|(_, is_given)| *is_given && !self.has_server()) {
            Some((flag, _)) => {
                anyhow::bail!("{flag} needs a match with a server; add --architecture client-server")
            }
            None => Ok(()),
        }
    }

    /// Returns the arguments of the server of this host's match.
    pub(crate) fn server(&self) -> ServeArguments {
        const REJOIN_WINDOW: Seconds = Seconds::from_secs(45);
        let MatchArguments { player, terms, network, updates, output, .. } = self.game.clone();
        let kept = if output.headless { Seconds::ZERO } else { REJOIN_WINDOW };
        // A probe measures, so nothing may end its match.
        let rules = terms.rules.or_else(|| self.game.bot().rules());
        ServeArguments {
            name: player.name,
            terms: TermsArguments { rules, ..terms },
            next_maps: Vec::new(),
            table: self.table.clone(),
            network,
            architecture: self.architecture,
            updates: updates.unwrap_or(UPDATES_USUAL),
            repeat_updates: self.repeat_updates,
            rejoin: self.rejoin.unwrap_or(kept),
            matches: if output.headless { Matches::ONE } else { Matches::ENDLESS },
            shared_address: self.shared_address,
            ready_within: self.ready_within,
            trace: None,
            headless: output.headless,
            record: None,
            json: output.json,
        }
    }
}

fn updates() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(1..=60)
}

/// Maximum number of bytes to read for a room code.
const ROOM_CODE_BYTES_MAX: u64 = 1024;

fn room_code(text: &str) -> Result<String, String> {
    if text == "-" {
        return typed_room_code(&mut io::stdin().lock());
    }
    let is_something = !RoomCode::of(text).is_open();
    is_something.then(|| text.to_owned()).ok_or_else(|| "a code needs a character other than a space".into())
}

/// Reads the room code from the first line of the input.
fn typed_room_code(input: &mut dyn BufRead) -> Result<String, String> {
    let mut line = Vec::new();
    if io::stdin().is_terminal() {
        logln!("the room code, then Enter:");
    }
    let read = input.take(ROOM_CODE_BYTES_MAX).read_until(b'\n', &mut line).map_err(TextError::from);
    // A shell of Windows may write UTF-16 into a pipe.
    let line = read.and_then(|_| text_file::decode(line));
    let line = line.map_err(|error| format!("the code cannot be read from the standard input: {error}"))?;
    let code = line.trim_end_matches('\n');
    if code == "-" { Err("a code needs more than a hyphen".into()) } else { room_code(code) }
}

fn host_seat(text: &str) -> Result<u8, String> {
    let seat = text.parse().ok().filter(|&seat| seat == 0);
    seat.ok_or_else(|| "a host sits in seat 0; guests choose others with `arena join --seat N`".into())
}

fn via(text: &str) -> Result<(PlayerId, SocketAddr), String> {
    let parts = text.split_once('=');
    let seat =
        parts.and_then(|(seat, _)| seat.parse().ok()).filter(|seat| (1..PLAYERS_MAX as u8).contains(seat));
    let address = parts.and_then(|(_, address)| address.parse().ok());
    let both = seat.map(PlayerId).zip(address);
    both.ok_or_else(|| "expected SEAT=IP:PORT with a guest's seat, such as 2=192.168.1.20:4126".into())
}
