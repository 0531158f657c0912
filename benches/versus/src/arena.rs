//! Our peers: the real program, two processes, read from their traces.

use anyhow::{Context as _, bail, ensure};
use serde::Deserialize;
use std::ffi::OsStr;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::figures::{Click, PeerLog, Played, Stall};
use crate::process::Process;
use crate::proxy::{Link, Proxy};

/// To open the socket, to shake hands over the worst link, to count down and to part.
const PATIENCE: Duration = Duration::from_secs(30);

/// The program, where it lies.
#[derive(Clone, Debug)]
pub(crate) struct Arena {
    path: PathBuf,
}

/// Lines of a trace; what a line does not have is `None`.
#[derive(Deserialize)]
struct Line {
    tick: Option<u32>,
    player: Option<u8>,
    cmd: Option<u32>,
    t_capture_us: Option<u64>,
    t_apply_us: Option<u64>,
    stall: Option<u32>,
    t0_us: Option<u64>,
    t1_us: Option<u64>,
    cause: Option<String>,
}

impl Arena {
    /// The program at `path`, or where a release build of this repository leaves it.
    pub(crate) fn find(path: Option<PathBuf>) -> anyhow::Result<Self> {
        let built = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/release/arena");
        let path = path.unwrap_or_else(built);
        if !path.is_file() {
            bail!(
                "no program at {}: build it with `cargo build --release --no-default-features` in the \
                 repository, or name it with --arena PATH",
                path.display()
            );
        }
        Ok(Self { path })
    }

    /// Plays `ticks` through a proxy; `beside` begins once the host listens at its address.
    pub(crate) fn play<T>(
        &self,
        link: Link,
        seed: u64,
        ticks: u32,
        beside: impl FnOnce(SocketAddr) -> T,
    ) -> anyhow::Result<(Played, T)> {
        let folder = tempfile::tempdir().context("a folder for traces")?;
        let traces = ["host.trace", "guest.trace"].map(|name| folder.path().join(name));
        let (host, address) = self.host(seed, ticks, &["--trace".as_ref(), traces[0].as_ref()])?;
        let proxy = Proxy::start(link, seed, [Some(address), None])?;
        let door = proxy.address(1).to_string();
        let guest =
            self.start("arena join", &["join", &door], ticks, &["--trace".as_ref(), traces[1].as_ref()])?;
        let beside = beside(address);
        let until = Instant::now() + Duration::from_secs(u64::from(ticks) / 30) + PATIENCE;
        let (host, guest) = match (host.finish(until), guest.finish(until)) {
            (Ok(host), Ok(guest)) => (host, guest),
            (Err(error), Ok(_)) | (Ok(_), Err(error)) => return Err(error),
            (Err(host), Err(guest)) => bail!("{host:#}; {guest:#}"),
        };
        let result = |text: &str| serde_json::from_str::<serde_json::Value>(text);
        let (host, guest) =
            (result(&host).context("the host's result")?, result(&guest).context("the guest's result")?);
        ensure!(
            host["outcome"] == "tick_limit" && host["state_hash"] == guest["state_hash"],
            "the match did not go to its end alike: {host} and {guest}"
        );
        let logs = [read(&traces[0], 0)?, read(&traces[1], 1)?];
        Ok((Played { logs, passed: proxy.stop() }, beside))
    }

    /// A match of one tick: from its guest's first datagram to its seat, without a proxy.
    pub(crate) fn join(&self, seed: u64) -> anyhow::Result<Duration> {
        let (host, address) = self.host(seed, 1, &[])?;
        let guest = self.start("arena join", &["join", &address.to_string()], 1, &[])?;
        let said_at = |begin: &str| -> anyhow::Result<Instant> {
            while !guest.line(PATIENCE)?.starts_with(begin) {}
            Ok(Instant::now())
        };
        let (asked, joined) = (said_at("asking")?, said_at("joined")?);
        let until = joined + PATIENCE;
        host.finish(until)?;
        guest.finish(until)?;
        Ok(joined - asked)
    }

    /// A host, and the address at which it listens.
    fn host(&self, seed: u64, ticks: u32, more: &[&OsStr]) -> anyhow::Result<(Process, SocketAddr)> {
        let seeded = format!("--seed={seed}");
        let host = self.start("arena host", &["host", "--port=0", &seeded], ticks, more)?;
        let said = host.line(PATIENCE)?;
        let address = said.strip_prefix("listening ").and_then(|it| it.trim().parse().ok());
        let address =
            address.with_context(|| format!("arena host began with `{said}`, not with its address"))?;
        Ok((host, address))
    }

    fn start(
        &self,
        name: &'static str,
        arguments: &[&str],
        ticks: u32,
        more: &[&OsStr],
    ) -> anyhow::Result<Process> {
        let mut command = Command::new(&self.path);
        command.args(arguments).args(["--bind=127.0.0.1", "--headless", "--bot=probe", "--no-discovery"]);
        command.args(["--record=off", "--json"]).arg(format!("--ticks={ticks}")).args(more);
        Process::start(name, &mut command)
    }
}

/// Reads what a trace says about `me` and about what the other's inputs did here.
fn read(trace: &Path, me: u8) -> anyhow::Result<PeerLog> {
    let text = std::fs::read_to_string(trace).with_context(|| trace.display().to_string())?;
    let mut log = PeerLog::default();
    let mut given = Vec::new();
    for line in text.lines() {
        let line: Line =
            serde_json::from_str(line).with_context(|| format!("a line of the trace: {line}"))?;
        let mine = line.player == Some(me);
        match line {
            Line { stall: Some(_), t0_us: Some(due_us), t1_us: Some(ran_us), cause, .. } => {
                let is_network = cause.as_deref() == Some("network");
                log.stalls.push(Stall { due_us, ran_us, is_network });
            }
            Line { cmd: Some(id), t_capture_us: Some(at_us), .. } => given.push((id, at_us)),
            Line { cmd: Some(id), tick: Some(tick), .. } if mine => {
                let at = given.iter().rev().find(|(given, _)| *given == id);
                log.clicks.extend(at.map(|&(_, at_us)| Click { at_us, tick }));
            }
            Line { tick: Some(tick), cmd: None, t_apply_us: Some(at_us), t_capture_us, .. } => {
                let ticks = if mine { &mut log.ran_us } else { &mut log.confirmed_us };
                ensure!(ticks.len() == tick as usize, "tick {tick} is out of order in {}", trace.display());
                ticks.push(at_us);
                if mine {
                    log.captured_us.push(t_capture_us);
                }
            }
            _ => {}
        }
    }
    log.settled_us.clone_from(&log.confirmed_us);
    Ok(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_read_line_by_line() {
        let folder = tempfile::tempdir().expect("a folder");
        let trace = folder.path().join("trace");
        let lines = [
            r#"{"cmd":0,"player":1,"t_capture_us":90}"#,
            r#"{"delay_us":30,"tick":0}"#,
            r#"{"stall":0,"t0_us":100,"t1_us":700,"peer":0,"cause":"network"}"#,
            r#"{"tick":0,"player":1,"t_capture_us":95,"t_apply_us":700}"#,
            r#"{"tick":0,"player":0,"t_capture_us":null,"t_apply_us":700}"#,
            r#"{"cmd":0,"player":0,"tick":0,"t_apply_us":700}"#,
            r#"{"cmd":0,"player":1,"tick":0,"t_apply_us":700}"#,
            r#"{"tick":0,"hash":"00112233445566aa"}"#,
            r#"{"summary":1,"t_start_us":1,"t_end_us":2,"ticks":1}"#,
        ];
        std::fs::write(&trace, lines.join("\n")).expect("written");
        let log = read(&trace, 1).expect("a trace");
        assert_eq!((log.ran_us, log.captured_us), (vec![700], vec![Some(95)]));
        assert_eq!((log.confirmed_us, log.settled_us), (vec![700], vec![700]));
        assert_eq!((log.clicks.len(), log.clicks[0].at_us, log.clicks[0].tick), (1, 90, 0));
        assert_eq!((log.stalls.len(), log.stalls[0].due_us, log.stalls[0].is_network), (1, 100, true));
    }
}
