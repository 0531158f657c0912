//! The desync check: processes that play whole matches over real UDP, and whose hashes must agree.

use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// What is checked.
#[derive(Clone, Debug)]
pub struct CheckOptions {
    /// The program that each peer runs.
    pub program: PathBuf,
    /// Peers in each match, 2 to 4.
    pub peers: u8,
    /// How many matches; their seeds count up from `seed`.
    pub matches: u32,
    /// Seed of the first match.
    pub seed: u64,
    /// Ticks of each match.
    pub ticks: u32,
    /// Matches at a time.
    pub jobs: usize,
    /// Further arguments of the host alone.
    pub host_arguments: Vec<String>,
    /// Further arguments of all, after which the link's seed is appended.
    pub arguments: Vec<String>,
    /// What all links do to datagrams; each direction draws from a seed of its own.
    pub link: Option<String>,
    /// `TICK:FIELD` to disturb, and the seat that does.
    pub inject: Option<(String, u8)>,
    /// Where reports of desyncs go.
    pub reports: PathBuf,
}

/// What was found.
#[derive(Clone, Debug)]
pub struct CheckReport {
    /// Matches played.
    pub matches: u32,
    /// Ticks after which hashes were compared, over all matches.
    pub ticks_compared: u64,
    /// How the matches ended.
    pub outcomes: BTreeMap<String, u32>,
    /// The desync in the match with the lowest seed.
    pub first_desync: Option<FirstDesync>,
}

/// A desync, as both peers describe it.
#[derive(Clone, Debug)]
pub struct FirstDesync {
    /// Seed of the match.
    pub seed: u64,
    /// What both say, the content of the report file.
    pub report: Value,
    /// The report file, which both wrote alike.
    pub file: PathBuf,
}

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// A process could not be started, or its output not read.
    #[error("match with seed {seed}: cannot run {}: {error}", program.display())]
    Process {
        /// Of the match.
        seed: u64,
        /// What was run.
        program: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// A process ended with an error.
    #[error("match with seed {seed}: the {role} failed: {message}")]
    Failed {
        /// Of the match.
        seed: u64,
        /// Which one.
        role: &'static str,
        /// Its last line.
        message: String,
    },
    /// The two do not say the same.
    #[error("match with seed {seed}: the peers disagree: {what}; both results are above")]
    Disagree {
        /// Of the match.
        seed: u64,
        /// About what.
        what: String,
    },
}

/// Plays the matches; `progress` hears how many are over.
///
/// # Errors
/// If a match could not be played, or its two peers describe it differently.
pub fn check(options: &CheckOptions, progress: impl Fn(u32) + Sync) -> Result<CheckReport, CheckError> {
    let (next, over) = (AtomicU32::new(0), AtomicU32::new(0));
    let results = Mutex::new(Vec::with_capacity(options.matches as usize));
    std::thread::scope(|scope| {
        for _ in 0..options.jobs.clamp(1, options.matches.max(1) as usize) {
            scope.spawn(|| {
                loop {
                    let index = next.fetch_add(1, Ordering::Relaxed);
                    if index >= options.matches {
                        return;
                    }
                    let result = play(options, options.seed + u64::from(index));
                    let is_error = result.is_err();
                    results.lock().expect("no job panics with it").push((index, result));
                    progress(over.fetch_add(1, Ordering::Relaxed) + 1);
                    if is_error {
                        // One broken match is enough to know.
                        next.store(options.matches, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    let mut results = results.into_inner().expect("no job panicked with it");
    results.sort_by_key(|&(index, _)| index);
    let mut report =
        CheckReport { matches: 0, ticks_compared: 0, outcomes: BTreeMap::new(), first_desync: None };
    for (_, result) in results {
        let played = result?;
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

/// One match of two or more processes.
fn play(options: &CheckOptions, seed: u64) -> Result<Played, CheckError> {
    let file = |seat: u8| options.reports.join(format!("desync-seed{seed}-seat{seat}.json"));
    let mut host = Process::start(options, seed, 0, &file(0), &["--port=0".into()])?;
    let port = host.port(options, seed)?;
    let mut peers = vec![host];
    for seat in 1..options.peers {
        let arguments = [format!("127.0.0.1:{port}"), format!("--seat={seat}")];
        peers.push(Process::start(options, seed, seat, &file(seat), &arguments)?);
    }
    let results = peers.into_iter().map(|peer| peer.result(options, seed));
    let results = results.collect::<Result<Vec<Value>, CheckError>>()?;
    let (host, guests) = results.split_first().expect("there is a host");
    let disagree = |what: String| CheckError::Disagree { seed, what };
    for (key, guest) in ["outcome", "ticks", "state_hash", "desync"]
        .iter()
        .flat_map(|key| guests.iter().map(move |guest| (*key, guest)))
    {
        // After a desync each has stopped where it was.
        let is_loose = host["outcome"] == "desync" && matches!(key, "ticks" | "state_hash");
        if !is_loose && host[key] != guest[key] {
            return Err(disagree(format!("{key} is {} and {}", host[key], guest[key])));
        }
    }
    let outcome = host["outcome"].as_str().unwrap_or("unknown").to_owned();
    let ticks = host["ticks"].as_u64().unwrap_or(0);
    if outcome != "desync" {
        return Ok(Played { outcome, ticks, desync: None });
    }
    let reports: Vec<_> = (0..options.peers).map(|seat| std::fs::read(file(seat)).ok()).collect();
    if reports[0].is_none() || reports.iter().any(|report| *report != reports[0]) {
        return Err(disagree("their report files differ or are missing".into()));
    }
    let report = host["desync"].clone();
    // The tick that differs was compared, too.
    let ticks = report["tick"].as_u64().map_or(0, |tick| tick + 1);
    Ok(Played { outcome, ticks, desync: Some(FirstDesync { seed, report, file: file(0) }) })
}

/// One peer as a process.
struct Process {
    role: &'static str,
    child: Child,
    stderr: Option<BufReader<std::process::ChildStderr>>,
}

impl Process {
    fn start(
        options: &CheckOptions,
        seed: u64,
        seat: u8,
        report: &Path,
        arguments: &[String],
    ) -> Result<Self, CheckError> {
        let role = if seat == 0 { "host" } else { "join" };
        let mut command = Command::new(&options.program);
        command.arg(role).args(arguments).args(["--headless", "--json", "--no-discovery", "--record=off"]);
        command.arg("--desync-report").arg(report).args(&options.arguments);
        if seat == 0 {
            command.args(["--seed", &seed.to_string(), "--ticks", &options.ticks.to_string()]);
            command.args(["--players", &options.peers.to_string()]);
            command.args(&options.host_arguments);
        }
        if let Some(link) = &options.link {
            // Both directions fail on their own, and alike when the check is repeated.
            command.arg(format!("--link={link},seed={}", 4 * seed + u64::from(seat)));
        }
        if let Some((what, _)) = options.inject.as_ref().filter(|(_, by)| *by == seat) {
            command.args(["--inject-desync", what]);
        }
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
        let process = |error| CheckError::Process { seed, program: options.program.clone(), error };
        let mut child = child.map_err(process)?;
        let stderr = child.stderr.take().map(BufReader::new);
        Ok(Self { role, child, stderr })
    }

    /// The port that the first line on stderr names.
    fn port(&mut self, options: &CheckOptions, seed: u64) -> Result<u16, CheckError> {
        let mut line = String::new();
        let stderr = self.stderr.as_mut().expect("read to its end only once");
        stderr.read_line(&mut line).map_err(|error| CheckError::Process {
            seed,
            program: options.program.clone(),
            error,
        })?;
        let port = line.trim().strip_prefix("listening ").and_then(|address| address.rsplit_once(':'));
        let port = port.and_then(|(_, port)| port.parse().ok());
        port.ok_or_else(|| CheckError::Failed { seed, role: self.role, message: line.trim().to_owned() })
    }

    /// What it printed at its end.
    fn result(mut self, options: &CheckOptions, seed: u64) -> Result<Value, CheckError> {
        let process = |error| CheckError::Process { seed, program: options.program.clone(), error };
        // Progress goes to stderr: drain it beside stdout, so that neither pipe fills up.
        let mut stderr = self.stderr.take().expect("read to its end only once");
        let stderr = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = stderr.read_to_string(&mut text);
            text
        });
        let mut text = String::new();
        let mut stdout = self.child.stdout.take().expect("piped");
        stdout.read_to_string(&mut text).map_err(process)?;
        let status = self.child.wait().map_err(process)?;
        let errors = stderr.join().unwrap_or_default();
        let failed =
            |message: &str| CheckError::Failed { seed, role: self.role, message: message.to_owned() };
        if !matches!(status.code(), Some(0 | 1)) {
            return Err(failed(errors.lines().last().unwrap_or("it said nothing")));
        }
        serde_json::from_str(&text).map_err(|error| failed(&error.to_string()))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Only when the other one failed: this one would wait for it in vain. It may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
