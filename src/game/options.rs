//! The options of a peer's match.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::clock::MatchClock;
use super::controller::ControllerChoice;
use super::script::Script;
use super::shared_steps::SharedSteps;
use super::trace::Trace;
use sim::{GameState, Map, Rules, Tick};

/// Options of a peer for a match, other than its session.
#[derive(Debug, Default)]
pub struct MatchOptions {
    /// Rules that are not among the embedded ones.
    pub rules: Option<Arc<Rules>>,
    /// A map that is not among the embedded ones.
    pub map: Option<Arc<Map>>,
    /// State before tick 0 in place of that of the rules, the same at every node: armies that no rules create, for
    /// measurements.
    pub first: Option<Arc<GameState>>,
    /// Controller of this seat.
    pub controller: Option<ControllerChoice>,
    /// Scripted commands of this seat, in place of a controller.
    pub script: Option<Script>,
    /// Path of the recording, without the extension.
    pub record: Option<PathBuf>,
    /// Trace to write.
    pub trace: Option<Trace>,
    /// Whether a player's own commands are shown before they are confirmed.
    pub prediction: bool,
    /// Interpolation delay of a match with a server, in updates.
    pub interpolation: u32,
    /// Update rate of a server, per second.
    pub updates: u32,
    /// Divergence to inject.
    pub inject: Option<Inject>,
    /// Seconds since 1970, for the replay's header.
    pub started_unix_s: u64,
    /// Ticks that other peers have already run, for a peer of a virtual match.
    pub steps: Option<SharedSteps>,
    /// Clock of the match's thread.
    pub clock: MatchClock,
}

impl MatchOptions {
    /// Returns the options of the next match over the same links, with files of its own; tracing and injection apply
    /// to the first match only.
    #[must_use]
    pub(super) fn again(self, lasted_s: u64) -> Self {
        let record = self.record.map(|path| next_name(&path));
        let started_unix_s = self.started_unix_s + lasted_s;
        Self { record, started_unix_s, trace: None, inject: None, ..self }
    }
}

/// Numbers a name: `a` becomes `a-match2`, and that `a-match3`; the extension stays.
pub(super) fn next_name(path: &Path) -> PathBuf {
    let is_whole = path.extension().is_some_and(|ending| ending == "mra");
    let name = if is_whole { path.file_stem() } else { path.file_name() };
    let name = name.unwrap_or_default();
    let numbered = name.to_str().and_then(|name| {
        let (stem, number) = name.rsplit_once("-match")?;
        Some((OsStr::new(stem), number.parse::<u32>().ok()?))
    });
    // A name that is not Unicode is not parsed: it grows with each match.
    let (stem, number) = numbered.unwrap_or((name, 1));
    let mut next = stem.to_owned();
    next.push(format!("-match{}{}", number.saturating_add(1), if is_whole { ".mra" } else { "" }));
    path.with_file_name(next)
}

/// State change that the other peers do not make, to test desync detection.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inject {
    /// Tick after which it is made, so that this is the first to differ.
    pub tick: Tick,
    /// Field to change, such as `units[0].hp`.
    pub field: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_matches_have_their_own_names() {
        let next = |name: &str| next_name(Path::new(name)).display().to_string();
        assert_eq!(next("a/20261121-host-4711"), "a/20261121-host-4711-match2");
        assert_eq!(next("a/20261121-host-4711-match2"), "a/20261121-host-4711-match3");
        assert_eq!(next("a/20261121-server-1-match99999"), "a/20261121-server-1-match100000");
        assert_eq!([next("b.mra"), next("b-match9.mra")], ["b-match2.mra", "b-match10.mra"]);
    }

    #[test]
    fn the_next_match_begins_when_the_last_has_ended() {
        let record = Some("a/one.mra".into());
        let options = MatchOptions { started_unix_s: 1_000, record, ..MatchOptions::default() };
        let next = options.again(240);
        assert_eq!((next.started_unix_s, next.record), (1_240, Some("a/one-match2.mra".into())));
    }
}
