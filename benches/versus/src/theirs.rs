//! The peers of ggrs: two processes of this program through the proxy, and the input delay they play with.

use anyhow::Context as _;
use clap::Args;
use std::net::SocketAddr;
use std::process::Command;
use std::time::{Duration, Instant};

use crate::cell::Cell;
use crate::figures::{Figures, Played};
use crate::process::Process;
use crate::proxy::{Link, Proxy};

/// Released default of the prediction window, in ticks.
pub(crate) const ROLLBACK_TICKS: usize = 8;
/// Longest input delay that is tried, in ticks.
const DELAY_MAX: usize = 12;
/// Pairs that try delays at a time.
const PAIRS: usize = 3;
/// Before a trial is measured, and how much of it.
const TRIAL_WARM_UP: Duration = Duration::from_secs(1);
/// Shares of stalled time in a trial that differ by less are taken as equal, in percent.
const TRIAL_RESOLUTION: f64 = 0.05;
/// To synchronize over the worst link, and to part.
const PATIENCE: Duration = Duration::from_secs(30);

/// How a peer of ggrs plays.
#[derive(Args, Clone, Copy, Debug)]
pub(crate) struct PeerArguments {
    /// The other peer, or the proxy before it.
    #[arg(long)]
    pub(crate) remote: SocketAddr,
    #[arg(long)]
    pub(crate) player: usize,
    /// The prediction window, 0 for lockstep.
    #[arg(long)]
    pub(crate) prediction: usize,
    /// The input delay, in ticks.
    #[arg(long)]
    pub(crate) delay: usize,
    /// How long to play.
    #[arg(long)]
    pub(crate) millis: u64,
    /// Of the clicks.
    #[arg(long)]
    pub(crate) seed: u64,
}

/// How ggrs is set up for a match.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Setup {
    pub(crate) prediction: usize,
    pub(crate) delay: usize,
}

impl Setup {
    /// Plays for `length` through a proxy.
    pub(crate) fn play(self, link: Link, seed: u64, length: Duration) -> anyhow::Result<Played> {
        let proxy = Proxy::start(link, seed, [None, None])?;
        let peer = |player: usize| {
            let mut command = Command::new(std::env::current_exe().context("where this program lies")?);
            command.arg("ggrs-peer");
            command.arg(format!("--remote={}", proxy.address(player)));
            command.arg(format!("--player={player}"));
            command.arg(format!("--prediction={}", self.prediction));
            command.arg(format!("--delay={}", self.delay));
            command.arg(format!("--millis={}", length.as_millis()));
            command.arg(format!("--seed={}", 2 * seed + player as u64));
            Process::start("a peer of ggrs", &mut command)
        };
        let peers = [peer(0)?, peer(1)?];
        let until = Instant::now() + length + PATIENCE;
        let [a, b] = peers.map(|peer| peer.finish(until));
        let log = |text: String| serde_json::from_str(&text).context("what a peer of ggrs noted");
        Ok(Played { logs: [log(a?)?, log(b?)?], passed: proxy.stop() })
    }
}

/// The delay with which lockstep is no more stalled than `stalled_percent` at the least latency; if there is
/// none, the one with the least stalled time. Every delay is tried for `length`.
pub(crate) fn best_delay(
    cell: Cell,
    seed: u64,
    length: Duration,
    stalled_percent: f64,
) -> anyhow::Result<usize> {
    let trial = |delay: usize| -> anyhow::Result<Figures> {
        let setup = Setup { prediction: 0, delay };
        let played = setup.play(cell.link(), seed, TRIAL_WARM_UP + length)?;
        Ok(played.figures(TRIAL_WARM_UP, length))
    };
    let mut trials = Vec::new();
    for delays in (0..=DELAY_MAX).collect::<Vec<_>>().chunks(PAIRS) {
        let figures: Vec<anyhow::Result<Figures>> = std::thread::scope(|scope| {
            let running: Vec<_> = delays.iter().map(|&delay| scope.spawn(move || trial(delay))).collect();
            running.into_iter().map(|trial| trial.join().expect("a trial broke down")).collect()
        });
        for (&delay, figures) in delays.iter().zip(figures) {
            trials.push((delay, figures.with_context(|| format!("trying a delay of {delay} ticks"))?));
        }
    }
    Ok(choose(&trials, stalled_percent))
}

fn choose(trials: &[(usize, Figures)], stalled_percent: f64) -> usize {
    let rank = |figures: &Figures| {
        let beyond = (figures.stalled_percent - stalled_percent).max(0.0);
        let latency = figures.opponent_p50_ms;
        ((beyond / TRIAL_RESOLUTION) as u64, if latency.is_nan() { f64::MAX } else { latency })
    };
    let better = |a: &&(usize, Figures), b: &&(usize, Figures)| {
        let (a, b) = (rank(&a.1), rank(&b.1));
        a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
    };
    trials.iter().min_by(better).map_or(DELAY_MAX, |&(delay, _)| delay)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_latency_among_those_that_stall_no_more() {
        let trial = |delay: usize, stalled_percent: f64| {
            let opponent_p50_ms = 20.0 + 16.7 * delay as f64;
            (delay, Figures { stalled_percent, opponent_p50_ms, ..Figures::default() })
        };
        let trials = [trial(0, 40.0), trial(1, 3.0), trial(2, 0.04), trial(3, 0.0)];
        assert_eq!(choose(&trials, 0.0), 2, "what a trial cannot tell apart is equal");
        assert_eq!(choose(&trials, 5.0), 1);
        assert_eq!(choose(&trials[..2], 0.0), 1, "none is good enough");
    }
}
