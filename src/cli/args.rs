//! What can be typed.

mod measure;
mod replay;

use clap::{Args, Parser, Subcommand, ValueEnum};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

use mini_rts_arena::bot::BotLevel;
use mini_rts_arena::game::PilotChoice;
use mini_rts_arena::lab::compare::Topology;
use mini_rts_arena::net::{Architecture, DELAY_TICKS_MAX, InputDelay, PlayerName, Token};
use mini_rts_arena::sim::{AttackBehaviour, PLAYERS_MAX, PlayerId, Tick, TickRate};
use mini_rts_arena::transport::LinkSpec;

pub(crate) use measure::{BalanceArguments, BenchArguments};
pub(crate) use replay::{ExportArguments, ReplayAction, ReplayArguments, ReplayFiles};

/// A two-player RTS arena in deterministic lockstep over UDP. Without a command it opens its window; with no
/// display it plays a match between two bots over loopback.
#[derive(Debug, Parser)]
#[command(name = "arena", version, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Play against the computer in the window.
    Play(PlayArguments),
    /// Open a match on the LAN and play it.
    Host(Box<HostArguments>),
    /// Join a match: the one at an address, or the one that is open on the LAN.
    Join(Box<JoinArguments>),
    /// Run the server of a match: it computes the world, everybody joins it.
    Serve(Box<HostArguments>),
    /// List the matches on the LAN.
    Discover(DiscoverArguments),
    /// Find out what of the network works here, and what to do next.
    Doctor(DoctorArguments),
    /// Look for desyncs: pairs of headless peers play whole matches, and their hashes must agree.
    Check(Box<CheckArguments>),
    /// Compare client-server with P2P: the same orders on the same links, and what each shows how late.
    Compare(CompareArguments),
    /// Watch both seats of a match between bots side by side, in lockstep and with a server, in one window.
    WatchBoth(WatchBothArguments),
    /// Measure balance: bots play whole matches by the thousand, and every figure comes with its interval.
    Balance(BalanceArguments),
    /// Look into recorded matches.
    Replay(ReplayArguments),
    /// Measure how fast this machine runs the simulation.
    Bench(BenchArguments),
}

/// What host and guest have in common.
#[derive(Args, Clone, Debug)]
pub(crate) struct MatchArguments {
    /// Your name, 1 to 16 characters.
    #[arg(long, value_parser = PlayerName::new)]
    pub(crate) name: Option<PlayerName>,
    /// The address of this machine to use; all by default.
    #[arg(long, value_name = "IP", default_value_t = IpAddr::V4(Ipv4Addr::UNSPECIFIED))]
    pub(crate) bind: IpAddr,
    /// This process's own UDP port, 0 for any. A host takes 4124 by default, or the next free one up to
    /// 4133; a guest any.
    #[arg(long)]
    pub(crate) port: Option<u16>,
    /// The code of a locked room.
    #[arg(long, value_name = "CODE", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub(crate) room: Option<String>,
    /// Your hero.
    #[arg(long, value_enum, default_value_t = Hero::Swordsman)]
    pub(crate) hero: Hero,
    /// Who plays this seat: you in the window, `normal` without one.
    #[arg(long, value_enum)]
    pub(crate) bot: Option<BotChoice>,
    /// Give the commands of this file at their instants, whatever happens: a JSON object a line,
    /// {"at_ms":F,"command":{...}}, at_ms from the first tick.
    #[arg(long, value_name = "FILE", conflicts_with = "bot")]
    pub(crate) script: Option<PathBuf>,
    /// Play without a window.
    #[arg(long)]
    pub(crate) headless: bool,
    /// End after so many ticks; a guest takes the host's.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: Option<u32>,
    /// Simulation steps per second: 30, 40, 50 or 60. The host's counts; 60 by default.
    #[arg(long, value_parser = tick_rate)]
    pub(crate) tick_rate: Option<TickRate>,
    /// A map by name, or a file. A guest takes the host's.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Option<String>,
    /// Rules by name, or a file. A guest takes the host's.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rules: Option<String>,
    /// How long before its tick an input is sealed: `auto`, as short as the link allows, or a number of ticks.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = input_delay)]
    pub(crate) input_delay: InputDelay,
    /// Where to record, or `off`; by default a new file in your data folder.
    #[arg(long, value_name = "FILE|off")]
    pub(crate) record: Option<String>,
    /// Write every tick, command, stall and hash to this file, a JSON object a line.
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Make the link worse: delay=50ms,jitter=5ms,loss=5%,burst=2%:4,dup=1%,reorder=2%,rate=1mbit,seed=7.
    #[arg(long, value_name = "SPEC")]
    pub(crate) link: Option<LinkSpec>,
    /// How long to wait for the other side: 30 seconds without a window, a day with one.
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub(crate) wait: Option<Seconds>,
    /// Silence after which a peer is lost.
    #[arg(long, value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub(crate) timeout: Seconds,
    /// Neither announce nor look for matches on the LAN.
    #[arg(long)]
    pub(crate) no_discovery: bool,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
    /// Client-server: updates per second.
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=60))]
    pub(crate) updates: u32,
    /// Client-server: how many updates the view of what is confirmed lies in the past.
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) interpolation: u32,
    /// Show your own orders before they are confirmed.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) prediction: Switch,
    /// Client-server: for how long the seat of a client that is not heard is kept; 0 without a window.
    #[arg(long, value_name = "SECONDS", value_parser = seconds_or_none)]
    pub(crate) rejoin: Option<Seconds>,
    /// Client-server: take back the seat whose token this is; `join` prints it.
    #[arg(long, value_name = "HEX", value_parser = token)]
    pub(crate) token: Option<Token>,
    /// Change the state after a tick, to test the desync check: TICK or TICK:FIELD, such as `600:units[0].hp`.
    #[arg(long, value_name = "TICK[:FIELD]")]
    pub(crate) inject_desync: Option<Injection>,
    /// Where the report of a desync goes; by default beside the replay.
    #[arg(long, value_name = "FILE")]
    pub(crate) desync_report: Option<PathBuf>,
}

impl MatchArguments {
    /// Who plays this seat.
    pub(crate) fn bot(&self) -> BotChoice {
        self.bot.unwrap_or(if self.headless { BotChoice::Normal } else { BotChoice::None })
    }

    /// For how long the seat of a client that is not heard is kept.
    pub(crate) fn rejoin(&self) -> Seconds {
        const WINDOW: Seconds = Seconds::from_secs(45);
        self.rejoin.unwrap_or(if self.headless { Seconds::ZERO } else { WINDOW })
    }

    /// How long to wait for the other side.
    pub(crate) fn wait(&self) -> Seconds {
        const HEADLESS: Seconds = Seconds::from_secs(30);
        const WINDOW: Seconds = Seconds::from_secs(86_400);
        self.wait.unwrap_or(if self.headless { HEADLESS } else { WINDOW })
    }
}

#[derive(Args, Debug)]
pub(crate) struct PlayArguments {
    /// How well the computer plays.
    #[arg(long, value_enum, default_value_t = Level::Normal)]
    pub(crate) bot: Level,
    /// Your name, 1 to 16 characters.
    #[arg(long, value_parser = PlayerName::new)]
    pub(crate) name: Option<PlayerName>,
    /// Your hero.
    #[arg(long, value_enum, default_value_t = Hero::Swordsman)]
    pub(crate) hero: Hero,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct HostArguments {
    #[command(flatten)]
    pub(crate) game: MatchArguments,
    /// Who simulates. By default a host plays p2p, and a server client-server.
    #[arg(long, value_enum)]
    pub(crate) architecture: Option<ArchitectureChoice>,
    /// Seats: 2, 3 or 4. More than two play on a map for four, `quad` unless another is given.
    #[arg(long, default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=PLAYERS_MAX as i64))]
    pub(crate) players: u8,
    /// Play in teams: the team of each seat, such as `0,0,1,1`; alone, `--teams` makes partners of those who
    /// sit across. Without it everybody plays alone.
    #[arg(long, value_name = "TEAM,TEAM,...", num_args = 0..=1, default_missing_value = "0,1,0,1", value_delimiter = ',', value_parser = clap::value_parser!(u8).range(0..PLAYERS_MAX as i64))]
    pub(crate) teams: Vec<u8>,
    /// Your seat.
    #[arg(long, default_value_t = 0, value_parser = clap::value_parser!(u8).range(0..=0))]
    pub(crate) seat: u8,
    /// The seed of every random draw; a random one by default.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

#[derive(Args, Clone, Debug)]
pub(crate) struct JoinArguments {
    /// The host's address; without it, the one match that is open on the LAN.
    #[arg(value_name = "ADDR[:PORT]")]
    pub(crate) address: Option<String>,
    #[command(flatten)]
    pub(crate) game: MatchArguments,
    /// A certain seat.
    #[arg(long)]
    pub(crate) seat: Option<u8>,
    /// Where to reach another guest, instead of the addresses that the host tells; may be given several times.
    #[arg(long, value_name = "SEAT=IP:PORT", value_parser = via)]
    pub(crate) via: Vec<(PlayerId, SocketAddr)>,
}

#[derive(Args, Debug)]
pub(crate) struct DiscoverArguments {
    /// How long to look.
    #[arg(long = "for", value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub(crate) duration: Seconds,
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArguments {
    /// A host to ask directly.
    #[arg(value_name = "ADDR[:PORT]")]
    pub(crate) address: Option<String>,
    /// How long to listen.
    #[arg(long = "for", value_name = "SECONDS", default_value = "4", value_parser = seconds)]
    pub(crate) duration: Seconds,
    /// Print what was found as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CheckArguments {
    /// Who simulates; with a server, that is one more process, and all seats are clients.
    #[arg(long, value_enum, default_value_t = ArchitectureChoice::P2p)]
    pub(crate) architecture: ArchitectureChoice,
    /// Peers in each match: 2 by default, with `--faults` a number that each seed draws.
    #[arg(long, value_parser = clap::value_parser!(u8).range(2..=PLAYERS_MAX as i64))]
    pub(crate) peers: Option<u8>,
    /// Processes over real UDP; the default.
    #[arg(long)]
    pub(crate) processes: bool,
    /// Peers in this process, in virtual time: hundreds of matches a minute, the same every time.
    #[arg(long = "virtual", conflicts_with = "processes")]
    pub(crate) is_virtual: bool,
    /// Let each seed draw what goes wrong: over 30 kinds of faults. Who plays is drawn, too.
    #[arg(long, requires = "is_virtual")]
    pub(crate) faults: bool,
    /// Compare latency and stalls with classic lockstep (delay in whole ticks, one datagram a tick) on the
    /// same links instead.
    #[arg(long, requires = "is_virtual", conflicts_with_all = ["faults", "link", "inject_desync"])]
    pub(crate) baseline: bool,
    /// How many matches, with seeds that count up.
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) matches: u32,
    /// The seed of the first match; a random one by default.
    #[arg(long, value_parser = clap::value_parser!(u64).range(..=(u32::MAX as u64)))]
    pub(crate) seed: Option<u64>,
    /// Ticks of each match.
    #[arg(long, default_value_t = 3600, value_parser = clap::value_parser!(u32).range(1..=i64::from(Tick::MAX.0)))]
    pub(crate) ticks: u32,
    /// Make both links worse, as in `host --link`; each direction draws from a seed of its own.
    #[arg(long, value_name = "SPEC")]
    pub(crate) link: Option<String>,
    /// A map by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) map: Option<String>,
    /// Rules by name, or a file.
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) rules: Option<String>,
    /// Who plays.
    #[arg(long, value_enum, default_value_t = BotChoice::Normal, conflicts_with = "faults")]
    pub(crate) bot: BotChoice,
    /// Simulation steps per second: 30, 40, 50 or 60.
    #[arg(long, default_value = "60", value_parser = tick_rate)]
    pub(crate) tick_rate: TickRate,
    /// How long before its tick an input is sealed: `auto` or a number of ticks.
    #[arg(long, value_name = "auto|N", default_value = "auto", value_parser = input_delay)]
    pub(crate) input_delay: InputDelay,
    /// Matches at a time; by default one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=64))]
    pub(crate) jobs: Option<u16>,
    /// Instead of playing: run the tick that broke a match again, from the bundle beside its report, and say
    /// whose state deviates.
    #[arg(long, value_name = "FILE")]
    pub(crate) bundle: Option<PathBuf>,
    /// Instead of playing: simulate the match of a replay, recorded here or on another machine, and compare every
    /// state that it holds.
    #[arg(long, value_name = "REPLAY", conflicts_with_all = ["bundle", "is_virtual"])]
    pub(crate) against: Option<PathBuf>,
    /// Between two machines: wait here, at this address (all, port 4124, by default), for `check --connect`
    /// there. Seeds, ticks and rules are this side's.
    #[arg(long, value_name = "ADDR[:PORT]", num_args = 0..=1, default_missing_value = "0.0.0.0", conflicts_with_all = ["bundle", "is_virtual", "against", "connect"])]
    pub(crate) listen: Option<String>,
    /// Between two machines: play the other side of `check --listen` at that address, with as many `--matches`.
    #[arg(long, value_name = "ADDR[:PORT]", conflicts_with_all = ["bundle", "is_virtual", "against"])]
    pub(crate) connect: Option<String>,
    /// Plant a difference: TICK, TICK:FIELD or TICK:FIELD:SEAT, such as `600:units[0].hp:1`.
    #[arg(long, value_name = "TICK[:FIELD[:SEAT]]")]
    pub(crate) inject_desync: Option<Injection>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// Fewer and shorter matches: to see that it works, not to cite.
    #[arg(long)]
    pub(crate) quick: bool,
    /// 30 seeds of 60 s instead of 8 of 30 s.
    #[arg(long, conflicts_with = "quick")]
    pub(crate) full: bool,
    /// Play some of the cells between real processes, too, and say whether they agree.
    #[arg(long)]
    pub(crate) real: bool,
    /// Matches of each cell.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) seeds: Option<u32>,
    /// Give the commands of this recorded match instead of drawn ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Write a line for each match, and on what it was measured.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Write the study as one page with plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the figures of a Markdown document anew: what stands between `<!-- compare NAME -->` and
    /// `<!-- end -->`, as in docs/COMPARISON.md.
    #[arg(long, value_name = "FILE")]
    pub(crate) markdown: Option<PathBuf>,
    /// Play nothing: make tables and page again from what `--csv` wrote.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["quick", "full", "real", "seeds", "from", "csv"])]
    pub(crate) rebuild: Option<PathBuf>,
    /// Matches at a time; by default one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct WatchBothArguments {
    /// Round trip between the players, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100.0, value_parser = milliseconds)]
    pub(crate) rtt: f64,
    /// How much sooner or later a datagram may come, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 5.0, value_parser = milliseconds)]
    pub(crate) jitter: f64,
    /// Datagrams lost, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub(crate) loss: f64,
    /// Where the server stands.
    #[arg(long, value_enum, default_value_t = TopologyChoice::Midway)]
    pub(crate) topology: TopologyChoice,
    /// Show own orders before they are confirmed.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) prediction: Switch,
    /// The seed of every random draw; a random one by default.
    #[arg(long)]
    pub(crate) seed: Option<u64>,
}

/// Where the server of a match stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TopologyChoice {
    /// Half-way between the players.
    Midway,
    /// As far from each player as they are from each other.
    Remote,
    /// In the first player's process.
    Listen,
}

impl From<TopologyChoice> for Topology {
    fn from(choice: TopologyChoice) -> Self {
        match choice {
            TopologyChoice::Midway => Self::Midway,
            TopologyChoice::Remote => Self::Remote,
            TopologyChoice::Listen => Self::Listen,
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Hero {
    Swordsman,
    Archer,
}

impl From<Hero> for AttackBehaviour {
    fn from(hero: Hero) -> Self {
        match hero {
            Hero::Swordsman => Self::Swordsman,
            Hero::Archer => Self::Archer,
        }
    }
}

/// How well the computer plays.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Level {
    Easy,
    Normal,
    Hard,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

/// The architectures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ArchitectureChoice {
    /// Every peer computes the match; they exchange inputs.
    P2p,
    /// A server in this process computes it, and the players are its clients.
    ClientServer,
    /// Every peer computes the match; a server in this process hands on their inputs, and waits for nobody.
    Relay,
}

impl From<ArchitectureChoice> for Architecture {
    fn from(choice: ArchitectureChoice) -> Self {
        match choice {
            ArchitectureChoice::P2p => Self::P2p,
            ArchitectureChoice::ClientServer => Self::ClientServer,
            ArchitectureChoice::Relay => Self::Relay,
        }
    }
}

impl HostArguments {
    /// Whether a host's match has a server.
    pub(crate) fn has_server(&self) -> bool {
        self.architecture.is_some_and(|choice| choice != ArchitectureChoice::P2p)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BotChoice {
    /// Nobody gives orders.
    None,
    Easy,
    Normal,
    Hard,
    /// One order at random instants, for measuring; plays by `endless` rules by default.
    Probe,
}

impl BotChoice {
    pub(crate) const fn pilot(self) -> PilotChoice {
        match self {
            Self::None => PilotChoice::None,
            Self::Easy => PilotChoice::Bot(BotLevel::Easy),
            Self::Normal => PilotChoice::Bot(BotLevel::Normal),
            Self::Hard => PilotChoice::Bot(BotLevel::Hard),
            Self::Probe => PilotChoice::Probe,
        }
    }
}

/// `TICK[:FIELD[:SEAT]]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Injection {
    pub(crate) tick: u32,
    pub(crate) field: String,
    pub(crate) seat: u8,
}

impl std::str::FromStr for Injection {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let mut parts = text.splitn(3, ':');
        let tick = parts.next().and_then(|tick| tick.parse().ok());
        let field = parts.next().unwrap_or("units[0].hp").to_owned();
        let seat = parts.next().map_or(Some(1), |seat| seat.parse().ok().filter(|&seat| seat < 4));
        match (tick, seat) {
            (Some(tick), Some(seat)) if !field.is_empty() => Ok(Self { tick, field, seat }),
            _ => Err("expected TICK, TICK:FIELD or TICK:FIELD:SEAT, such as 600:units[0].hp:1".into()),
        }
    }
}

/// A time in seconds, from a hundredth to a day.
pub(crate) type Seconds = std::time::Duration;

fn seconds(text: &str) -> Result<Seconds, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds.map(Seconds::from_secs_f64).ok_or_else(|| "expected seconds from 0.01 to 86400".into())
}

fn milliseconds(text: &str) -> Result<f64, String> {
    let value = text.parse::<f64>().ok().filter(|value| (0.0..=1000.0).contains(value));
    value.ok_or_else(|| "expected milliseconds from 0 to 1000".into())
}

fn percent(text: &str) -> Result<f64, String> {
    let value = text.trim_end_matches('%').parse::<f64>().ok().filter(|value| (0.0..=50.0).contains(value));
    value.ok_or_else(|| "expected a percentage from 0 to 50".into())
}

fn seconds_or_none(text: &str) -> Result<Seconds, String> {
    if text == "0" { Ok(Seconds::ZERO) } else { seconds(text) }
}

fn token(text: &str) -> Result<Token, String> {
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..16).map(byte).collect();
    let bytes = bytes.filter(|_| text.len() == 32).and_then(|bytes| bytes.try_into().ok());
    bytes.map(Token).ok_or_else(|| "expected the 32 hex digits that `join` printed".into())
}

fn via(text: &str) -> Result<(PlayerId, SocketAddr), String> {
    let parts = text.split_once('=');
    let seat =
        parts.and_then(|(seat, _)| seat.parse().ok()).filter(|seat| (1..PLAYERS_MAX as u8).contains(seat));
    let address = parts.and_then(|(_, address)| address.parse().ok());
    let both = seat.map(PlayerId).zip(address);
    both.ok_or_else(|| "expected SEAT=IP:PORT with a guest's seat, such as 2=192.168.1.20:4126".into())
}

fn tick_rate(text: &str) -> Result<TickRate, String> {
    let rate = text.parse().ok().and_then(|hz| TickRate::new(hz).ok());
    rate.ok_or_else(|| "expected 30, 40, 50 or 60".into())
}

fn input_delay(text: &str) -> Result<InputDelay, String> {
    if text == "auto" {
        return Ok(InputDelay::Auto);
    }
    let ticks = text.parse().ok().filter(|&ticks| ticks <= DELAY_TICKS_MAX);
    let ticks = ticks.map(InputDelay::Ticks);
    ticks.ok_or_else(|| format!("expected auto or a number of ticks from 0 to {DELAY_TICKS_MAX}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory as _;

    #[test]
    fn the_command_line_is_consistent() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn an_injection_has_a_tick_and_may_have_more() {
        let read = |text: &str| text.parse::<Injection>().map(|read| (read.tick, read.field, read.seat));
        assert_eq!(read("600"), Ok((600, "units[0].hp".into(), 1)));
        assert_eq!(read("5:players[1].score:0"), Ok((5, "players[1].score".into(), 0)));
        for bad in ["", "x", "5:", "5:units[0].hp:9", "5:units[0].hp:x"] {
            assert!(read(bad).is_err(), "{bad}");
        }
    }
}
