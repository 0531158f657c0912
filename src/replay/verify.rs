//! Verifies a replay: simulates it again and compares every recorded state.

use std::io::{Read, Seek};
use std::path::Path;
use std::time::Instant;

use super::format::{ReplayHeader, ReplayResult};
use super::reader::{End, OpenError, Record, Replay, Trailer, open_file, world_of};
use sim::{Outcome, Tick, World};

/// Number of ticks between two progress reports.
const PROGRESS_TICKS: u32 = 600;

/// Verdict on a replay.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Verdict {
    /// Complete, and simulated to the same states.
    Equal,
    /// Complete; nothing was simulated.
    Complete,
    /// The simulation differs from the recorded states.
    Mismatch,
    /// It ends early; the rest is intact.
    Truncated,
    /// It has bytes that no recorder wrote; everything before them is intact.
    Corrupt,
    /// Another simulation build recorded it.
    ForeignBuild,
    /// It is of a file format that this program does not read.
    Unsupported,
}

impl Verdict {
    /// Returns its name in JSON and in lists.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Equal => "equal",
            Self::Complete => "complete",
            Self::Mismatch => "mismatch",
            Self::Truncated => "truncated",
            Self::Corrupt => "corrupt",
            Self::ForeignBuild => "foreign_build",
            Self::Unsupported => "unsupported",
        }
    }
}

impl core::fmt::Display for Verdict {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Progress of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// Last simulated tick.
    pub tick: Tick,
    /// Tick at which it ends, by the trailer; `None` without one.
    pub of: Option<u32>,
}

/// Report of a verification.
#[derive(Clone, Debug, PartialEq)]
pub struct VerifyReport {
    /// Verdict on the replay.
    pub verdict: Verdict,
    /// Reason, in a sentence for people.
    pub reason: String,
    /// Number of ticks simulated.
    pub ticks: u32,
    /// First tick after which a recorded state differs.
    pub first_bad_tick: Option<Tick>,
    /// Last tick of the file; after a mismatch, the last one known to be right.
    pub last_good_tick: Option<Tick>,
    /// Speed of the simulation, as a multiple of real time.
    pub x_real_time: f64,
}

/// Description of a replay that was read but not simulated.
#[derive(Clone, Debug)]
pub struct ReplayInfo {
    /// `Complete`, or the fault of the file.
    pub verdict: Verdict,
    /// Reason, in a sentence for people.
    pub reason: String,
    /// Header; `None` if that is damaged, too.
    pub header: Option<ReplayHeader>,
    /// Number of ticks in the file.
    pub ticks: u32,
    /// Last tick in the file.
    pub last_good_tick: Option<Tick>,
    /// Result of the match, if the replay has its end.
    pub result: Option<ReplayResult>,
}

/// Simulates a replay file and compares every recorded hash, keyframe and the result.
///
/// # Errors
/// If it is no replay, or cannot be read.
pub fn verify(path: impl AsRef<Path>, progress: impl FnMut(Progress)) -> Result<VerifyReport, OpenError> {
    match Replay::open(path) {
        Ok(replay) => Ok(verify_replay(replay, progress)),
        Err(error) => match judged(&error) {
            Some(verdict) => Ok(VerifyReport::unplayed(verdict, error.to_string())),
            None => Err(error),
        },
    }
}

/// Simulates a replay from its beginning, as [`verify()`] does.
pub fn verify_replay<R: Read + Seek>(
    mut replay: Replay<R>,
    mut progress: impl FnMut(Progress),
) -> VerifyReport {
    let setup = match replay.header().setup() {
        Ok(setup) => setup,
        Err(error) => {
            let verdict = if replay.is_foreign() { Verdict::ForeignBuild } else { Verdict::Corrupt };
            return VerifyReport::unplayed(verdict, error.to_string());
        }
    };
    let of = replay.promised_ticks();
    let tick_rate = setup.tick_rate;
    let begun = Instant::now();
    let mut check = Check { world: World::new(setup), ticks: 0, good: None };
    let mut wrong = None;
    for record in replay.by_ref() {
        wrong = check.record(&record);
        if wrong.is_some() {
            break;
        }
        if check.ticks > 0 && check.ticks.is_multiple_of(PROGRESS_TICKS) {
            progress(Progress { tick: check.last(), of });
        }
    }
    let wrong = wrong.or_else(|| replay.trailer().and_then(|trailer| check.trailer(trailer)));
    let seconds = begun.elapsed().as_secs_f64().max(1e-9);
    let x_real_time = f64::from(check.ticks) / f64::from(tick_rate.hz()) / seconds;
    let ticks = check.ticks;
    match (wrong, replay.end()) {
        (Some(wrong), _) => VerifyReport {
            verdict: Verdict::Mismatch,
            reason: wrong.reason,
            ticks,
            first_bad_tick: wrong.tick,
            last_good_tick: check.good,
            x_real_time,
        },
        (None, end) => {
            let (verdict, reason) = of_end(end, Verdict::Equal);
            let last_good_tick = (ticks > 0).then(|| check.last());
            VerifyReport { verdict, reason, ticks, first_bad_tick: None, last_good_tick, x_real_time }
        }
    }
}

/// Reads all of a replay file, without simulating it.
///
/// # Errors
/// If it is no replay, or cannot be read.
pub fn info(path: impl AsRef<Path>) -> Result<ReplayInfo, OpenError> {
    info_of(open_file(path.as_ref())?)
}

fn info_of<R: Read + Seek>(input: R) -> Result<ReplayInfo, OpenError> {
    let mut replay = match Replay::read(input) {
        Ok(replay) => replay,
        Err(error) => {
            let verdict = judged(&error);
            let reason = error.to_string();
            let (verdict, header) = match (verdict, error) {
                (Some(verdict), OpenError::Unsupported { header, .. }) => (verdict, header.map(|h| *h)),
                (Some(verdict), _) => (verdict, None),
                (None, error) => return Err(error),
            };
            return Ok(ReplayInfo { verdict, reason, header, ticks: 0, last_good_tick: None, result: None });
        }
    };
    for _ in replay.by_ref() {}
    let (mut verdict, mut reason) = of_end(replay.end(), Verdict::Complete);
    if let Err(error) = replay.header().setup() {
        verdict = if replay.is_foreign() { Verdict::ForeignBuild } else { Verdict::Corrupt };
        reason = error.to_string();
    }
    let ticks = replay.ticks_read();
    Ok(ReplayInfo {
        verdict,
        reason,
        header: Some(replay.header().clone()),
        ticks,
        last_good_tick: ticks.checked_sub(1).map(|before| replay.begins().plus(before)),
        result: replay.trailer().map(|trailer| trailer.result.clone()),
    })
}

/// World that follows a replay.
struct Check {
    world: World,
    ticks: u32,
    /// Last tick after which a recorded state agreed.
    good: Option<Tick>,
}

/// Difference, and the tick after which it occurred, if known.
struct Wrong {
    tick: Option<Tick>,
    reason: String,
}

impl Check {
    fn record(&mut self, record: &Record) -> Option<Wrong> {
        match record {
            Record::Tick { inputs, hash } => {
                self.world.step(inputs);
                self.ticks += 1;
                hash.and_then(|hash| self.hash(hash))
            }
            Record::Keyframe { tick, snapshot } if self.ticks == 0 => self.begin(*tick, snapshot),
            Record::Keyframe { tick, snapshot } => {
                let last = self.last();
                if self.world.state().encode() == *snapshot {
                    self.good = Some(last);
                    return None;
                }
                let reason = format!("the keyframe at tick {tick} holds a different state");
                Some(Wrong { tick: Some(last), reason })
            }
            Record::Event { .. } => None,
        }
    }

    /// Starts from the first state of a cut match.
    fn begin(&mut self, tick: Tick, snapshot: &[u8]) -> Option<Wrong> {
        match world_of(self.world.setup(), tick, snapshot) {
            Some(world) => {
                self.world = world;
                None
            }
            None => Some(Wrong {
                tick: None,
                reason: format!("no match can continue from its state at tick {tick}"),
            }),
        }
    }

    /// Returns the last tick that ran.
    fn last(&self) -> Tick {
        Tick(self.world.state().tick().0.saturating_sub(1))
    }

    /// Compares with the state hash recorded after the last tick.
    fn hash(&mut self, recorded: u64) -> Option<Wrong> {
        let tick = self.last();
        let here = self.world.hash().whole;
        if here == recorded {
            self.good = Some(tick);
            return None;
        }
        let reason = format!("after tick {tick} the state hash is {here:016x}, recorded {recorded:016x}");
        Some(Wrong { tick: Some(tick), reason })
    }

    fn trailer(&mut self, trailer: &Trailer) -> Option<Wrong> {
        if let Some(wrong) = trailer.final_hash.and_then(|hash| self.hash(hash)) {
            return Some(wrong);
        }
        // A peer may also have lost another one, or been interrupted, after the game was decided.
        let said = &trailer.result;
        let globals = &self.world.state().globals;
        let here = globals.outcome.first().copied().unwrap_or(Outcome::Running);
        if !DECIDED.iter().any(|outcome| outcome.as_str() == said.outcome) {
            return None;
        }
        let winner = if here == Outcome::Running { None } else { self.world.state().winner() };
        if here.as_str() == said.outcome && winner == said.winner {
            return None;
        }
        let reason = format!(
            "the replay says {} (team {:?}), the simulation {} (team {winner:?})",
            said.outcome,
            said.winner,
            here.as_str()
        );
        Some(Wrong { tick: (self.ticks > 0).then(|| self.last()), reason })
    }
}

/// Outcomes that the simulation itself decides.
const DECIDED: [Outcome; 5] =
    [Outcome::Core, Outcome::Score, Outcome::SuddenDeath, Outcome::Draw, Outcome::Surrender];

impl VerifyReport {
    fn unplayed(verdict: Verdict, reason: String) -> Self {
        Self { verdict, reason, ticks: 0, first_bad_tick: None, last_good_tick: None, x_real_time: 0.0 }
    }
}

/// Returns the verdict on a file whose header cannot be used; `None` if it is no replay at all.
const fn judged(error: &OpenError) -> Option<Verdict> {
    match error {
        OpenError::Truncated => Some(Verdict::Truncated),
        OpenError::Corrupt => Some(Verdict::Corrupt),
        OpenError::Unsupported { .. } => Some(Verdict::Unsupported),
        OpenError::Io(_) | OpenError::Empty | OpenError::NotAReplay | OpenError::TooLarge(_) => None,
    }
}

fn of_end(end: Option<&End>, complete: Verdict) -> (Verdict, String) {
    match end {
        Some(End::Complete) => (complete, "whole".into()),
        Some(End::Corrupt { offset, reason, .. }) => {
            (Verdict::Corrupt, format!("at byte {offset}: {reason}"))
        }
        Some(End::Truncated { .. }) | None => {
            (Verdict::Truncated, "the recording was interrupted: it plays up to here".into())
        }
    }
}
