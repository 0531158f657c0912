//! Command-line arguments.

mod check;
mod matches;
mod measure;
mod replay;

use clap::builder::{OsStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{
    Arg, ArgAction, Args, Command, CommandFactory as _, FromArgMatches as _, Parser, Subcommand, ValueEnum,
};
use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use bot::BotLevel;
use game::data::{Opponent, Rival, opponents};
use game::{ControllerChoice, ExecOptions};
use lab::Shard;
use lab::compare::{CellSpec, Experiment, Topology};
use net::{Architecture, DELAY_TICKS_MAX, InputDelay, Token};
use sim::{GameState, PLAYERS_MAX, TickRate};

pub(crate) use check::CheckArguments;
#[cfg(feature = "gui")]
pub(crate) use matches::PlayerArguments;
pub(crate) use matches::{
    HostArguments, JoinArguments, LinkArguments, MatchArguments, NetworkArguments, OutputArguments,
    PlayArguments, ServeArguments, TableArguments, TermsArguments, UPDATES_USUAL,
};
pub(crate) use measure::BenchArguments;
pub(crate) use replay::{ExportArguments, ReplayAction, ReplayArguments, ReplayFiles};

/// A two-player RTS arena in deterministic lockstep over UDP. Without a command it opens its window; with no
/// display it plays a match between two bots over loopback.
///
/// Results go to stdout, progress and logs to stderr. Exit codes: 0 fine; 1 a check found what it looks for, or a
/// match ended in a desync; 2 wrong use or an error, in one line on stderr. Closing stdout or stderr early does
/// not change the exit code; a write error, such as a full disk, makes it 2.
#[derive(Debug, Parser)]
#[command(name = "arena", version = ::replay::VERSION, args_conflicts_with_subcommands = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) task: Option<Task>,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Task {
    /// Play against the computer, in the window or without one.
    Play(Box<PlayArguments>),
    /// Open a match on the LAN and play it.
    Host(Box<HostArguments>),
    /// Join a match: at an address, or the only open match on the LAN.
    Join(Box<JoinArguments>),
    /// Run the server of a match: it computes the world, and all players join it.
    Serve(Box<ServeArguments>),
    /// List the matches on the LAN.
    Discover(DiscoverArguments),
    /// Diagnose the network, and say what to do next.
    Doctor(DoctorArguments),
    /// Search for desyncs: pairs of headless peers play whole matches, and their hashes must agree.
    Check(Box<CheckArguments>),
    /// Compare client-server with P2P: the same commands on the same links, and the latency of everything shown.
    Compare(Box<CompareArguments>),
    /// Watch both seats of a match between bots side by side, in lockstep and with a server, in one window.
    WatchBoth(WatchBothArguments),
    /// Inspect recorded matches.
    Replay(ReplayArguments),
    /// Measure how fast this machine runs the simulation.
    Bench(BenchArguments),
}

impl Arguments {
    /// Parses a command line, beginning with the program's name.
    ///
    /// # Errors
    /// If it is invalid or asks for help.
    pub(crate) fn read<W: Into<OsString> + Clone>(
        words: impl IntoIterator<Item = W>,
    ) -> Result<Self, clap::Error> {
        let mut command = command();
        let mut read = command.try_get_matches_from_mut(words)?;
        let maps = read.subcommand_matches("serve").and_then(|serve| serve.get_many::<PathBuf>("map"));
        let next_maps = maps.into_iter().flatten().skip(1).cloned().collect();
        let mut arguments =
            Self::from_arg_matches_mut(&mut read).map_err(|error| error.format(&mut command))?;
        if let Some(Task::Serve(serve)) = &mut arguments.task {
            serve.next_maps = next_maps;
        }
        Ok(arguments)
    }
}

/// Returns the default values of a command or of a group of its flags.
pub(crate) fn usual<A: Args>() -> A {
    let command = A::augment_args(Command::new("arena"));
    let read = command.try_get_matches_from(["arena"]).and_then(|read| A::from_arg_matches(&read));
    read.expect("every flag may be left out")
}

/// Builds the parser of all commands.
pub(crate) fn command() -> Command {
    let repeats = |arg: Arg| if arg.get_id() == "map" { arg.action(ArgAction::Append) } else { arg };
    let of_serve = |command: Command| {
        if command.get_name() == "serve" { command.mut_args(repeats) } else { command }
    };
    with_negative_numbers(Arguments::command().mut_subcommands(of_serve))
}

/// Lists the commands that have a flag, for the error about one given to another command.
pub(crate) fn owners(flag: &str) -> Vec<String> {
    fn search(command: &Command, name: &str, flag: &str, found: &mut Vec<String>) {
        if command.get_arguments().any(|arg| arg.get_long() == Some(flag)) {
            found.push(name.to_owned());
        }
        for inner in command.get_subcommands() {
            search(inner, format!("{name} {}", inner.get_name()).trim(), flag, found);
        }
    }
    let mut found = Vec::new();
    search(&command(), "", flag.trim_start_matches('-'), &mut found);
    found
}

/// Lets a negative number count as a value, which its range refuses by name, instead of as an unknown flag.
fn with_negative_numbers(command: Command) -> Command {
    let command = command.mut_args(|arg| {
        let takes_one = arg.get_action().takes_values();
        if takes_one { arg.allow_negative_numbers(true) } else { arg }
    });
    command.mut_subcommands(with_negative_numbers)
}

#[derive(Args, Debug)]
pub(crate) struct DiscoverArguments {
    /// Time to search for matches.
    #[arg(long = "for", value_name = "SECONDS", default_value = "3", value_parser = seconds)]
    pub(crate) duration: Seconds,
    /// Print the list as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct DoctorArguments {
    /// Host to ask directly.
    #[arg(value_name = "ADDR[:PORT]")]
    pub(crate) address: Option<String>,
    /// Time to listen.
    #[arg(long = "for", value_name = "SECONDS", default_value = "4", value_parser = seconds)]
    pub(crate) duration: Seconds,
    /// Print the findings as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Args, Debug)]
pub(crate) struct CompareArguments {
    /// Play fewer and shorter matches: a trial run, not for citation.
    #[arg(long)]
    pub(crate) quick: bool,
    /// Play 30 seeds of 60 s instead of 20 of 15 s.
    #[arg(long, conflicts_with = "quick")]
    pub(crate) full: bool,
    /// Also play some of the cells between real processes, and say whether they agree.
    #[arg(long)]
    pub(crate) real: bool,
    /// Matches per cell.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub(crate) seeds: Option<u32>,
    /// Play only this experiment; may be given more than once.
    #[arg(long, value_enum, value_name = "EXPERIMENT")]
    pub(crate) view: Vec<ExperimentChoice>,
    /// Play only shard K of N, counted from 0, for `--csv`; `--rebuild` combines the files of all shards into one
    /// study.
    #[arg(long, value_name = "K/N", requires = "csv", conflicts_with_all = ["real", "json", "html", "tables", "figures"])]
    pub(crate) shard: Option<Shard>,
    /// Use the commands of this recorded match instead of generated ones.
    #[arg(long, value_name = "FILE")]
    pub(crate) from: Option<PathBuf>,
    /// Play only the base case, with this recorded access link for every player: lines of `ms,delay_ms` or `ms,lost`.
    /// Each player, direction and seed starts at another instant of the recording.
    #[arg(long, value_name = "trace=FILE", value_parser = OsStringValueParser::new().try_map(traced_link), conflicts_with_all = ["real", "from", "view"])]
    pub(crate) link: Option<PathBuf>,
    /// Play only this cell, under every architecture: any of rtt, jitter (ms), loss (%), players, units, updates
    /// (/s), upstream (kbit/s of the last player) and queue (ms before it), as in rtt=20,jitter=5,loss=2,players=3;
    /// everything else is as in the base case. May be given more than once.
    #[arg(long, value_name = "KEY=VALUE,...", conflicts_with_all = ["real", "from", "view", "link"])]
    pub(crate) cell: Vec<CellSpec>,
    /// Write a line for each finished match, and a description of the machine.
    #[arg(long, value_name = "FILE")]
    pub(crate) csv: Option<PathBuf>,
    /// Continue the unfinished study in the file of `--csv`.
    #[arg(long, requires = "csv", conflicts_with_all = ["real", "orders", "from", "link"])]
    pub(crate) resume: bool,
    /// Write a line for each command of each match.
    #[arg(long, value_name = "FILE")]
    pub(crate) orders: Option<PathBuf>,
    /// Write the study as one page with plots.
    #[arg(long, value_name = "FILE")]
    pub(crate) html: Option<PathBuf>,
    /// Write the three headline figures into this folder: `figure-1.svg` and so on, and their data as `figures.csv`.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) figures: Option<PathBuf>,
    /// Write the tables into this folder as Markdown: `base.md` and so on.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) tables: Option<PathBuf>,
    /// Play no matches: rebuild tables and page from what `--csv` wrote, of all shards or of several studies.
    #[arg(long, value_name = "FILE", num_args = 1.., conflicts_with_all = ["quick", "full", "real", "seeds", "view", "shard", "from", "link", "cell", "orders", "resume", "jobs"])]
    pub(crate) rebuild: Vec<PathBuf>,
    /// Matches to run in parallel; default: one per core.
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub(crate) jobs: Option<u16>,
    /// Print the result as JSON.
    #[arg(long)]
    pub(crate) json: bool,
}

#[expect(clippy::needless_pass_by_value, reason = "clap gives it")]
fn traced_link(text: OsString) -> Result<PathBuf, String> {
    #[cfg(unix)]
    let file = {
        use std::os::unix::ffi::OsStrExt as _;
        text.as_bytes().strip_prefix(b"trace=").map(std::ffi::OsStr::from_bytes)
    };
    #[cfg(not(unix))]
    let file = text.to_str().and_then(|text| text.strip_prefix("trace=")).map(std::ffi::OsStr::new);
    let file = file.filter(|file| !file.is_empty());
    file.map(PathBuf::from).ok_or_else(|| "expected trace=FILE".to_owned())
}

/// Experiment of a study.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ExperimentChoice {
    /// Latency and traffic on equal links.
    Defaults,
    /// One player's link is bad.
    OneBadLink,
    /// The host or the server is lost.
    HostLost,
    /// Full matches between bots that see only what a screen shows, with more latency for one of them. Included by
    /// default only with `--full`.
    Outcome,
    /// Ten to ten thousand fighting units, two to four players, and slow links. Included by default only with
    /// `--full`.
    Scale,
}

impl From<ExperimentChoice> for Experiment {
    fn from(choice: ExperimentChoice) -> Self {
        match choice {
            ExperimentChoice::Defaults => Self::Defaults,
            ExperimentChoice::OneBadLink => Self::OneBadLink,
            ExperimentChoice::HostLost => Self::HostLost,
            ExperimentChoice::Outcome => Self::Outcome,
            ExperimentChoice::Scale => Self::Scale,
        }
    }
}

/// Value, its word, and its help text.
type Named<T> = (T, &'static str, &'static str);

/// Possible positions of a match's server.
const TOPOLOGIES: [Named<Topology>; 3] = [
    (Topology::Midway, "midway", "Half-way between the players"),
    (Topology::Remote, "remote", "As far from each player as they are from each other"),
    (Topology::Listen, "listen", "In the first player's process"),
];

const ARCHITECTURES: [Named<Architecture>; 3] = [
    (Architecture::P2p, "p2p", "Every peer computes the match; they exchange inputs"),
    (
        Architecture::ClientServer,
        "client-server",
        "A server in this process computes it, and the players are its clients",
    ),
    (
        Architecture::Relay,
        "relay",
        "Every peer computes the match; a server in this process forwards their inputs, and waits for none of them",
    ),
];

/// Parses one of these words.
fn one_of<T: Copy + Send + Sync>(choices: &'static [Named<T>]) -> impl TypedValueParser<Value = T> {
    let shown = choices.iter().map(|&(_, word, help)| match help {
        "" => PossibleValue::new(word),
        help => PossibleValue::new(word).help(help),
    });
    let chosen = |word: String| choices.iter().find(|&&(_, name, _)| name == word);
    PossibleValuesParser::new(shown).map(move |word| chosen(word).expect("one of them").0)
}

#[derive(Args, Debug)]
pub(crate) struct WatchBothArguments {
    /// Round-trip time between the players, in milliseconds.
    #[arg(long, value_name = "MS", default_value_t = 100.0, value_parser = milliseconds)]
    pub(crate) rtt: f64,
    /// Variation of the delay, in milliseconds either way.
    #[arg(long, value_name = "MS", default_value_t = 5.0, value_parser = milliseconds)]
    pub(crate) jitter: f64,
    /// Lost datagrams, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 2.0, value_parser = percent)]
    pub(crate) loss: f64,
    /// Position of the server.
    #[arg(long, default_value = "midway", value_parser = one_of(&TOPOLOGIES))]
    pub(crate) topology: Topology,
    /// Show a player's own commands before they are confirmed.
    #[arg(long, value_enum, default_value_t = Switch::On)]
    pub(crate) prediction: Switch,
    /// Seed of the random numbers; random by default.
    #[arg(long, value_parser = seed())]
    pub(crate) seed: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Switch {
    On,
    Off,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BotChoice {
    /// No bot: the seat gives no commands.
    None,
    Easy,
    #[value(name = "1")]
    One,
    #[value(name = "2")]
    Two,
    Normal,
    #[value(name = "4")]
    Four,
    Hard,
    /// A measuring probe: single commands at random instants; plays by `endless` rules by default.
    Probe,
    /// The opponent of the window's tutorial.
    #[value(skip)]
    Sparring,
    /// A bot of the ladder.
    #[value(skip)]
    Rival(&'static Rival),
    /// A command that runs the bot in a process of its own. It is kept for as long as the program runs.
    #[value(skip)]
    Exec(&'static str),
}

/// Values of `--bot`, as help shows them.
pub(crate) const BOTS: &str = "none|easy|1|2|normal|4|hard|probe|exec:COMMAND";

/// Reads `--bot`: a name, or `exec:COMMAND`.
pub(crate) fn bot(text: &str) -> Result<BotChoice, String> {
    let Some(command) = text.strip_prefix("exec:") else {
        return BotChoice::from_str(text, false).map_err(|_| {
            let names = BotChoice::value_variants().iter().map(|bot| bot.word()).collect::<Vec<_>>();
            format!("there is no such bot; give {} or exec:COMMAND", names.join(", "))
        });
    };
    if command.trim().is_empty() {
        return Err("exec: needs a command, such as 'exec:python3 bot.py'".into());
    }
    Ok(BotChoice::Exec(command.to_owned().leak()))
}

/// Reads `--opponent`: a name of the ladder, or a number from 1 on.
fn opponent(text: &str) -> Result<&'static Opponent, String> {
    let place = text.parse::<usize>().ok().and_then(|number| number.checked_sub(1));
    let named = |opponent: &&Opponent| opponent.name.as_str().eq_ignore_ascii_case(text);
    let found = place.map_or_else(|| opponents().iter().find(named), |place| opponents().get(place));
    found.ok_or_else(|| {
        let names = opponents().iter().map(|opponent| opponent.name.as_str()).collect::<Vec<_>>();
        format!("there is no such opponent; give 1 to {} or {}", names.len(), names.join(", "))
    })
}

impl BotChoice {
    /// Returns the default rules for this bot: a probe measures, so nothing may end its match.
    pub(crate) fn rules(self) -> Option<PathBuf> {
        (self == Self::Probe).then(|| "endless".into())
    }

    /// Whether this bot leads the last hero of the rules: the tutorial makes that one harmless.
    pub(crate) fn leads_last_hero(self) -> bool {
        self == Self::Sparring
    }

    /// Returns the word of the command line.
    pub(crate) fn word(self) -> String {
        match self {
            Self::Exec(command) => format!("exec:{command}"),
            named => named.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned()),
        }
    }

    /// Returns the controller of a seat. `waits` is the time for which a late answer of a process is waited for.
    pub(crate) fn controller(self, waits: Duration) -> ControllerChoice {
        match self {
            Self::None => ControllerChoice::None,
            Self::Easy => ControllerChoice::Bot(BotLevel::Easy),
            Self::One => ControllerChoice::Bot(BotLevel::One),
            Self::Two => ControllerChoice::Bot(BotLevel::Two),
            Self::Normal => ControllerChoice::Bot(BotLevel::Normal),
            Self::Four => ControllerChoice::Bot(BotLevel::Four),
            Self::Hard => ControllerChoice::Bot(BotLevel::Hard),
            Self::Probe => ControllerChoice::Probe,
            Self::Sparring => ControllerChoice::Sparring,
            Self::Rival(rival) => ControllerChoice::Styled(rival.level, rival.style),
            Self::Exec(command) => {
                ControllerChoice::Exec(ExecOptions { command, waits, log: |line| logln!("{line}") })
            }
        }
    }
}

/// `TICK[:FIELD]`: a change to this process's state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Injection {
    pub(crate) tick: u32,
    pub(crate) field: String,
}

/// `TICK[:FIELD[:SEAT]]`: a change to the state of one seat.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SeatInjection {
    pub(crate) what: Injection,
    pub(crate) seat: u8,
}

impl Injection {
    /// Rejects a tick outside a match of `ticks` ticks.
    pub(crate) fn check(&self, ticks: u32) -> anyhow::Result<()> {
        let tick = self.tick;
        anyhow::ensure!(
            tick < ticks,
            "--inject-desync: there is no tick {tick} in a match of {ticks}; give one from 0 to {}",
            ticks.saturating_sub(1)
        );
        Ok(())
    }
}

impl std::str::FromStr for Injection {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (tick, field) = text.split_once(':').unwrap_or((text, "units[0].hp"));
        let tick =
            tick.parse().ok().filter(|_| !field.is_empty() && !field.contains(':')).ok_or_else(|| {
                "expected TICK or TICK:FIELD, such as 600:units[0].hp; the seat is this player's".to_owned()
            })?;
        GameState::check_path(field).map_err(|error| error.to_string())?;
        Ok(Self { tick, field: field.to_owned() })
    }
}

/// Form of a [`SeatInjection`].
const SEAT_INJECTION: &str = "expected TICK, TICK:FIELD or TICK:FIELD:SEAT, such as 600:units[0].hp:1";

impl std::str::FromStr for SeatInjection {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.splitn(3, ':').collect();
        let [tick, more @ ..] = &parts[..] else { return Err(SEAT_INJECTION.into()) };
        let seat = more.get(1).map_or(Some(1), |seat| seat.parse().ok());
        let has_form = tick.parse::<u32>().is_ok() && more.first() != Some(&"");
        let seat = seat.filter(|_| has_form).ok_or(SEAT_INJECTION)?;
        let what = parts[..parts.len().min(2)].join(":").parse()?;
        Ok(Self { what, seat })
    }
}

/// Assignment of seats to teams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Teams {
    /// Partners sit opposite each other, with four players.
    Across,
    /// Team of each seat.
    Each(Vec<u8>),
}

impl Teams {
    /// Argument that stands for [`Self::Across`].
    pub(crate) const ACROSS: &str = "across";
}

impl std::str::FromStr for Teams {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if text == Self::ACROSS {
            return Ok(Self::Across);
        }
        let team = |team: &str| team.parse().ok().filter(|team: &u8| *team < PLAYERS_MAX as u8);
        let teams: Option<Vec<u8>> = text.split(',').map(team).collect();
        let expected =
            || format!("expected a team from 0 to {} for each seat, such as 0,0,1,1", PLAYERS_MAX - 1);
        teams.map(Self::Each).ok_or_else(expected)
    }
}

/// Maximum seed, 2^53 - 1: every JSON parser represents it exactly.
const SEED_MAX: u64 = (1 << 53) - 1;

fn seed() -> clap::builder::RangedU64ValueParser {
    clap::value_parser!(u64).range(..=SEED_MAX)
}

/// Duration in seconds, from a hundredth to a day.
pub(crate) type Seconds = std::time::Duration;

fn seconds(text: &str) -> Result<Seconds, String> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| (0.01..=86_400.0).contains(seconds));
    seconds.map(Seconds::from_secs_f64).ok_or_else(|| "expected seconds from 0.01 to 86400".into())
}

/// Wait of `forever`: a hundred years, short enough that no clock overflows when it is added.
pub(crate) const FOREVER: Seconds = Seconds::from_secs(100 * 365 * 86_400);

fn wait(text: &str) -> Result<Seconds, String> {
    let read = if text == "forever" { Ok(FOREVER) } else { seconds(text) };
    read.map_err(|_| "expected `forever`, or seconds from 0.01 to 86400".into())
}

/// Number of matches in one room; `None` is without end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Matches(pub(crate) Option<u32>);

impl Matches {
    pub(crate) const ONE: Self = Self(Some(1));
    pub(crate) const ENDLESS: Self = Self(None);
}

fn matches(text: &str) -> Result<Matches, String> {
    if text == "forever" {
        return Ok(Matches::ENDLESS);
    }
    let number = text.parse().ok().filter(|&number| number > 0);
    number.map(|number| Matches(Some(number))).ok_or_else(|| "expected `forever`, or 1 or more".into())
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
    let read = if text == "0" { Ok(Seconds::ZERO) } else { seconds(text) };
    read.map_err(|_| "expected 0, or seconds from 0.01 to 86400".into())
}

pub(crate) fn token(text: &str) -> Result<Token, String> {
    let byte = |at: usize| u8::from_str_radix(text.get(2 * at..2 * at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..16).map(byte).collect();
    let bytes = bytes.filter(|_| text.len() == 32).and_then(|bytes| bytes.try_into().ok());
    bytes.map(Token).ok_or_else(|| "expected the 32 hex digits that `join` printed".into())
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

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn injections_are_parsed() {
        let what = |tick, field: &str| Injection { tick, field: field.into() };
        assert_eq!("600".parse(), Ok(what(600, "units[0].hp")));
        assert_eq!("5:players[1].score".parse(), Ok(what(5, "players[1].score")));
        for bad in ["", "x", "5:", "5:units[0].hp:1"] {
            assert!(bad.parse::<Injection>().is_err(), "{bad}");
        }
        assert_eq!("600".parse(), Ok(SeatInjection { what: what(600, "units[0].hp"), seat: 1 }));
        assert_eq!("5:cores[0].hp:0".parse(), Ok(SeatInjection { what: what(5, "cores[0].hp"), seat: 0 }));
        for bad in ["", "x", "5:", "5:units[0].hp:", "5:units[0].hp:x"] {
            assert!(bad.parse::<SeatInjection>().is_err(), "{bad}");
        }
    }
}
