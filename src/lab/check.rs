//! Desync check: processes that play whole matches over real UDP and compare their hashes.

use core::fmt;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};

use super::jobs;
use super::process::{Process, ProcessError, flag};
use net::Architecture;

/// Options of a desync check.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// Program that each peer runs.
    pub program: PathBuf,
    /// Architecture. One with a server has one more process, and every seat is a client's.
    pub architecture: Architecture,
    /// Processes that run on this machine.
    pub side: Side,
    /// Seats in each match, 2 to 4.
    pub peers: u8,
    /// Number of matches; their seeds count up from `seed`.
    pub matches: u32,
    /// Seed of the first match.
    pub seed: u64,
    /// Length of each match, in ticks.
    pub ticks: u32,
    /// Number of matches to run in parallel.
    pub jobs: usize,
    /// Additional arguments of only the host, or the server.
    pub host_arguments: Vec<String>,
    /// Additional arguments of all processes.
    pub arguments: Vec<OsString>,
    /// Additional arguments of processes with a seat.
    pub seat_arguments: Vec<String>,
    /// Impairment of all links; each direction draws from a seed of its own.
    pub link: Option<String>,
    /// Trace of the match: one file for each process, by [`trace_file`].
    pub trace: Option<PathBuf>,
    /// Desync to inject as `TICK:FIELD`, and the seat that injects it.
    pub inject: Option<(String, u8)>,
    /// Directory of the desync reports.
    pub reports: PathBuf,
}

/// Selection of the processes of a match that run on this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// All processes, on ports of the loopback interface.
    All,
    /// The host, or the server and its first client; [`Self::Connecting`] joins it from elsewhere.
    Listening(SocketAddr),
    /// The guest in seat 1.
    Connecting(SocketAddr),
}

/// Result of a desync check.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Number of matches played.
    pub matches: u32,
    /// Number of ticks after which hashes were compared, over all matches.
    pub ticks_compared: u64,
    /// Number of matches by outcome.
    pub outcomes: BTreeMap<String, u32>,
    /// Desync in the match with the lowest seed.
    pub first_desync: Option<FirstDesync>,
}

/// Desync, as both peers describe it.
#[derive(Clone, Debug)]
pub struct FirstDesync {
    /// Seed of the match: the listening side's, if it was played between two machines.
    pub seed: u64,
    /// Content of the report file, the same from both peers.
    pub report: Value,
    /// Report file, the same from both peers.
    pub file: PathBuf,
}

/// Reason why a check has no result.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A process gave no result.
    #[error("match with seed {seed}: {error}")]
    Process {
        /// Seed of the match.
        seed: u64,
        /// Error of the process.
        error: ProcessError,
    },
    /// An injected desync was not found.
    #[error("match with seed {seed}: the injected desync was not found")]
    NotFound {
        /// Seed of the match.
        seed: u64,
    },
    /// The processes report different results.
    #[error("match with seed {seed}: the peers disagree: {what}; both results are above")]
    Disagree {
        /// Seed of the match.
        seed: u64,
        /// Description of the difference.
        what: String,
    },
}

/// Plays the matches; `progress` gets the number of finished ones. After an error no further match begins.
///
/// # Errors
/// If a match could not be played, or its processes report different results.
pub fn check(options: &CheckOptions, progress: impl Fn(u32) + Sync) -> Result<CheckReport, CheckError> {
    let seeds = (0..options.matches).map(|index| options.seed + u64::from(index));
    let results =
        jobs::run(options.jobs, seeds, |over, _| progress(over as u32), |seed| play(options, seed))?;
    let mut report =
        CheckReport { matches: 0, ticks_compared: 0, outcomes: BTreeMap::new(), first_desync: None };
    for played in results {
        report.matches += 1;
        report.ticks_compared += played.ticks;
        *report.outcomes.entry(played.outcome).or_default() += 1;
        report.first_desync = report.first_desync.or(played.desync);
    }
    Ok(report)
}

struct Played {
    outcome: String,
    ticks: u64,
    desync: Option<FirstDesync>,
}

/// Keys of a result that must be equal in all processes of a match.
const SHARED_KEYS: [&str; 3] = ["outcome", "ticks", "state_hash"];

/// Plays one match of two or more processes.
fn play(options: &CheckOptions, seed: u64) -> Result<Played, CheckError> {
    let processes = start(options, seed)?;
    let seats: Vec<u8> = processes.iter().filter_map(|(role, _)| role.seat()).collect();
    let results = processes.into_iter().map(|(_, process)| process.result());
    let results = results.collect::<Result<Vec<Value>, ProcessError>>();
    let results = results.map_err(|error| CheckError::Process { seed, error })?;
    // After a desync a peer stops; of three or more the others play on.
    let mut played_on = results.iter().filter(|result| result["outcome"] != "desync");
    if let Some(first) = played_on.next() {
        for (key, other) in played_on.flat_map(|other| SHARED_KEYS.map(|key| (key, other))) {
            if first[key] != other[key] {
                let what = format!("{key} is {} and {}", first[key], other[key]);
                return Err(CheckError::Disagree { seed, what });
            }
        }
    }
    let odd = results.iter().find(|result| result["outcome"] == "desync");
    let outcome = odd.or(results.first()).and_then(|result| result["outcome"].as_str());
    let outcome = outcome.unwrap_or("unknown").to_owned();
    let played = match options.architecture {
        Architecture::P2p => judge_peers(options, seed, outcome, &seats, &results),
        Architecture::ClientServer | Architecture::Relay => {
            // A server has no seat, and no hashes of its own to compare.
            let clients = &results[results.len() - seats.len()..];
            judge_clients(options, seed, outcome, &seats, clients)
        }
    }?;
    if options.inject.is_some() && played.desync.is_none() {
        return Err(CheckError::NotFound { seed });
    }
    Ok(played)
}

/// Starts the processes of a match that run here.
fn start(options: &CheckOptions, seed: u64) -> Result<Vec<(Role, Process)>, CheckError> {
    let role = Role::first(options.architecture);
    let first = |address: SocketAddr| {
        let arguments = [format!("--bind={}", address.ip()), format!("--port={}", address.port())];
        process(options, seed, role, &arguments)
    };
    let guest = |seat: u8, address: SocketAddr| {
        let arguments = [address.to_string(), format!("--seat={seat}")];
        Ok((Role::Guest(seat), process(options, seed, Role::Guest(seat), &arguments)?))
    };
    let loopback = |port| SocketAddr::from((Ipv4Addr::LOCALHOST, port));
    let first_guest = u8::from(options.architecture == Architecture::P2p);
    let (mut first, guests) = match options.side {
        Side::All => (first(loopback(0))?, first_guest..options.peers),
        Side::Listening(address) => (first(address)?, first_guest..1),
        Side::Connecting(address) => return Ok(vec![guest(1, address)?]),
    };
    let port = first.port().map_err(|error| CheckError::Process { seed, error })?;
    let host = match options.side {
        Side::Listening(address) if address.ip() != IpAddr::V4(Ipv4Addr::UNSPECIFIED) => {
            SocketAddr::new(address.ip(), port)
        }
        _ => loopback(port),
    };
    let guests = guests.map(|seat| guest(seat, host));
    core::iter::once(Ok((role, first))).chain(guests).collect()
}

/// Checks that all peers found the same difference, and that their report files are equal.
fn judge_peers(
    options: &CheckOptions,
    seed: u64,
    outcome: String,
    seats: &[u8],
    results: &[Value],
) -> Result<Played, CheckError> {
    let ticks = results[0]["ticks"].as_u64().unwrap_or(0);
    if outcome != "desync" {
        return Ok(Played { outcome, ticks, desync: None });
    }
    let disagree = |what: String| CheckError::Disagree { seed, what };
    let report = &results[0]["desync"];
    if let Some(other) = results.iter().find(|result| result["desync"] != *report) {
        return Err(disagree(format!("the desync is {report} and {}", other["desync"])));
    }
    let reports: Vec<_> =
        seats.iter().map(|&seat| std::fs::read(options.report_file(seed, seat)).ok()).collect();
    if reports[0].is_none() || reports.iter().any(|report| *report != reports[0]) {
        return Err(disagree("their report files differ or are missing".into()));
    }
    // The tick that differs was also compared.
    let ticks = report["tick"].as_u64().map_or(0, |tick| tick + 1);
    let file = options.report_file(seed, seats[0]);
    let seed = report["seed"].as_u64().unwrap_or(seed);
    Ok(Played { outcome, ticks, desync: Some(FirstDesync { seed, report: report.clone(), file }) })
}

/// Checks the clients of a server. Each compares its world with the server's and adopts the server's state after a
/// difference, so the match continues.
fn judge_clients(
    options: &CheckOptions,
    seed: u64,
    outcome: String,
    seats: &[u8],
    clients: &[Value],
) -> Result<Played, CheckError> {
    let updates = |client: &Value, key: &str| client["updates"][key].as_u64().unwrap_or(0);
    let compared = clients.iter().map(|client| updates(client, "agreed") + updates(client, "differed"));
    let ticks = compared.min().unwrap_or(0);
    if ticks == 0 {
        let what = "no state of the server was compared with a client's".into();
        return Err(CheckError::Disagree { seed, what });
    }
    let found = seats.iter().zip(clients).filter(|(_, client)| !client["desync"].is_null());
    let first = found.min_by_key(|(_, client)| client["desync"]["tick"].as_u64());
    let desync = first.map(|(&seat, client)| FirstDesync {
        seed: client["desync"]["seed"].as_u64().unwrap_or(seed),
        report: client["desync"].clone(),
        file: options.report_file(seed, seat),
    });
    if desync.is_none() && clients.iter().any(|client| updates(client, "differed") > 0) {
        let what = "a client's state differed from the server's, and the first tick is not known".into();
        return Err(CheckError::Disagree { seed, what });
    }
    Ok(Played { outcome, ticks, desync })
}

impl CheckOptions {
    /// Returns the path of a seat's desync report.
    fn report_file(&self, seed: u64, seat: u8) -> PathBuf {
        self.reports.join(format!("desync-seed{seed}-seat{seat}.json"))
    }
}

/// Returns the path of the trace of a seat, or of the server without one: `t-seat0.jsonl` for `t.jsonl`.
#[must_use]
pub fn trace_file(file: &Path, seat: Option<u8>) -> PathBuf {
    let mut name = file.file_stem().unwrap_or_default().to_owned();
    name.push(seat.map_or_else(|| "-server".to_owned(), |seat| format!("-seat{seat}")));
    if let Some(ending) = file.extension() {
        name.push(".");
        name.push(ending);
    }
    file.with_file_name(name)
}

/// Role of a process in its match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// The peer in seat 0, which others join.
    Host,
    /// The server, which has no seat.
    Server,
    /// The guest in this seat.
    Guest(u8),
}

impl Role {
    /// Returns the role of the process that others join.
    const fn first(architecture: Architecture) -> Self {
        match architecture {
            Architecture::P2p => Self::Host,
            Architecture::ClientServer | Architecture::Relay => Self::Server,
        }
    }

    /// Returns the subcommand that the process runs.
    const fn command(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Server => "serve",
            Self::Guest(_) => "join",
        }
    }

    const fn seat(self) -> Option<u8> {
        match self {
            Self::Host => Some(0),
            Self::Server => None,
            Self::Guest(seat) => Some(seat),
        }
    }
}

/// Starts the process of a role.
fn process(
    options: &CheckOptions,
    seed: u64,
    role: Role,
    arguments: &[String],
) -> Result<Process, CheckError> {
    let text = |arguments: &[String]| arguments.iter().map(OsString::from).collect::<Vec<_>>();
    let mut all = text(arguments);
    all.extend_from_slice(&options.arguments);
    if !matches!(role, Role::Guest(_)) {
        all.extend(text(&[
            format!("--seed={seed}"),
            format!("--ticks={}", options.ticks),
            format!("--players={}", options.peers),
            format!("--architecture={}", options.architecture),
        ]));
        all.extend(text(&options.host_arguments));
    }
    if let Some(seat) = role.seat() {
        all.extend(text(&options.seat_arguments));
        all.push(flag("--desync-report=", &options.report_file(seed, seat)));
    }
    if let Some(file) = &options.trace {
        all.push(flag("--trace=", &trace_file(file, role.seat())));
    }
    if let Some(link) = &options.link {
        // The seed differs by direction and is the same when the check is repeated.
        let direction = role.seat().map_or(4, u64::from);
        all.push(format!("--link={link},seed={}", 5 * seed + direction).into());
    }
    if let Some((what, _)) = options.inject.as_ref().filter(|(_, by)| Some(*by) == role.seat()) {
        all.push(format!("--inject-desync={what}").into());
    }
    Process::start(&options.program, role.command(), &all)
        .map_err(|error| CheckError::Process { seed, error })
}

impl FirstDesync {
    /// Converts the desync to the JSON of a check.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let Self { seed, report, file } = self;
        let values = report["seats"].as_array().into_iter().flatten();
        let values = values.zip(report["values"].as_array().into_iter().flatten());
        let values: serde_json::Map<String, Value> =
            values.map(|(party, value)| (party_name(party), value.clone())).collect();
        json!({
            "tick": report["tick"],
            "part": report["part"],
            "unit": report["unit"],
            "field": report["field"],
            "row": report["row"],
            "values": values,
            "report": file.display().to_string(),
            "seed": seed,
        })
    }
}

impl fmt::Display for FirstDesync {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { seed, report, file } = self;
        write!(
            f,
            "first desync: seed {seed}, tick {}, {}[{}].{} (unit {}): {}\nreport {}",
            report["tick"],
            report["part"].as_str().unwrap_or("?"),
            report["row"],
            report["field"].as_str().unwrap_or("?"),
            report["unit"].as_str().unwrap_or("none"),
            report["values"],
            file.display()
        )
    }
}

/// Returns a seat's number, or `server`.
fn party_name(party: &Value) -> String {
    party.as_str().map_or_else(|| party.to_string(), Into::into)
}
