//! Open-loop commands at fixed instants: one JSON object per line.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use std::io::Write;

use serde::{Deserialize, Serialize};

use crate::text_file::Escaped;
use replay::{command_from_json, command_to_json};
use sim::{Command, Rules};

/// Maximum number of commands of a script: an hour of five per second.
pub const SCRIPT_COMMANDS_MAX: usize = 18_000;
/// Maximum size of a script file, in bytes: an hour of five commands per second that name a dozen units each.
pub const SCRIPT_BYTES_MAX: u64 = 8 << 20;

/// Command and its instant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScriptLine {
    /// Time from the first tick, in microseconds.
    pub at_us: u64,
    /// Command to give.
    pub command: Command,
}

/// Commands of a player, in the order of their instants.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    lines: Vec<ScriptLine>,
}

/// Reason why a file is not a valid script.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// A line is not `{"at_ms":F,"command":{…}}`.
    #[error("line {line}: {}", Escaped(message))]
    Line {
        /// Line, counted from 1.
        line: usize,
        /// Description of the fault.
        message: String,
    },
    /// It has too many commands.
    #[error("more than {SCRIPT_COMMANDS_MAX} commands")]
    TooMany,
}

/// Line of the file. The tick and player that [`write_said`](replay::write_said) writes beside a command are accepted
/// and ignored.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LineFile {
    at_ms: f64,
    command: serde_json::Value,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "present only so that exported lines are accepted")]
    tick: Option<u32>,
    #[serde(default, skip_serializing)]
    #[expect(dead_code, reason = "present only so that exported lines are accepted")]
    player: Option<u8>,
}

impl Script {
    /// Reads one JSON object per line, `{"at_ms":F,"command":{…}}`; empty lines are skipped. Kinds of minions are those
    /// of `rules`.
    ///
    /// # Errors
    /// If a line is something else, or there are more than [`SCRIPT_COMMANDS_MAX`] commands.
    pub fn read(text: &str, rules: &Rules) -> Result<Self, ScriptError> {
        let mut lines = Vec::new();
        for (number, line) in (1..).zip(text.lines()) {
            if line.trim().is_empty() {
                continue;
            }
            let error = |message: String| ScriptError::Line { line: number, message };
            let line: LineFile = serde_json::from_str(line).map_err(|why| error(why.to_string()))?;
            if !(0.0..=1e9).contains(&line.at_ms) {
                return Err(error(format!("at_ms is {}, not 0 to 1,000,000,000", line.at_ms)));
            }
            if lines.len() == SCRIPT_COMMANDS_MAX {
                return Err(ScriptError::TooMany);
            }
            let command = command_from_json(line.command, rules).map_err(error)?;
            lines.push(ScriptLine { at_us: (line.at_ms * 1000.0).round() as u64, command });
        }
        Ok(lines.into_iter().collect())
    }

    /// Writes the format that [`Self::read`] reads.
    ///
    /// # Errors
    /// If it cannot be written.
    pub fn write(&self, rules: &Rules, mut to: impl Write) -> std::io::Result<()> {
        for ScriptLine { at_us, command } in &self.lines {
            let at_ms = *at_us as f64 / 1000.0;
            let command = command_to_json(command, rules);
            let line = LineFile { at_ms, command, tick: None, player: None };
            serde_json::to_writer(&mut to, &line)?;
            to.write_all(b"\n")?;
        }
        to.flush()
    }

    /// Returns all commands, in the order of their instants.
    #[must_use]
    pub fn lines(&self) -> &[ScriptLine] {
        &self.lines
    }
}

impl FromIterator<ScriptLine> for Script {
    /// Commands with the same instant keep their order.
    fn from_iter<I: IntoIterator<Item = ScriptLine>>(lines: I) -> Self {
        let mut lines: Vec<_> = lines.into_iter().collect();
        lines.sort_by_key(|line| line.at_us);
        Self { lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data;
    use sim::{KindId, Target, UnitId, When};
    use std::sync::Arc;

    fn rules() -> Arc<Rules> {
        data::rules("standard").expect("built in")
    }

    #[test]
    fn a_kind_in_training_has_its_name_in_letters_of_either_case() {
        for name in ["Archer", "archer"] {
            let text = format!(r#"{{"at_ms":1,"command":{{"Train":"{name}"}}}}"#);
            let script = Script::read(&text, &rules()).expect("a script");
            assert_eq!(script.lines()[0].command, Command::Train(KindId(1)));
            let mut again = Vec::new();
            script.write(&rules(), &mut again).expect("memory");
            assert_eq!(
                String::from_utf8(again).expect("text"),
                "{\"at_ms\":1.0,\"command\":{\"Train\":\"Archer\"}}\n"
            );
        }
        let error =
            Script::read(r#"{"at_ms":1,"command":{"Train":"Wizard"}}"#, &rules()).expect_err("no such kind");
        let expected = "line 1: the rules standard have no minion Wizard; they have swordsman, archer";
        assert!(error.to_string().starts_with(expected), "{error}");
    }

    #[test]
    fn a_script_reads_back_in_the_order_of_its_instants() {
        let target = Target::try_from((-70_000, 5)).expect("on the map");
        let units = [UnitId { index: 3, generation: 1 }].into_iter().collect();
        let lines = [
            ScriptLine { at_us: 1_000_001, command: Command::Move(units, target, When::Now) },
            ScriptLine { at_us: 20, command: Command::HeroGo(target) },
            ScriptLine { at_us: 1_000_001, command: Command::Banner },
        ];
        let script: Script = lines.into_iter().collect();
        assert_eq!(
            script.lines().iter().map(|line| line.at_us).collect::<Vec<_>>(),
            [20, 1_000_001, 1_000_001]
        );
        let mut text = Vec::new();
        script.write(&rules(), &mut text).expect("memory");
        let text = String::from_utf8(text).expect("text");
        assert_eq!(Script::read(&text, &rules()).expect("just written"), script);
    }

    #[test]
    fn invalid_scripts_are_refused_with_the_line() {
        let good = r#"{"at_ms":1.5,"command":"Banner"}"#;
        assert_eq!(Script::read(good, &rules()).expect("good").lines()[0].at_us, 1_500);
        let exported = r#"{"tick":90,"at_ms":1500.0,"player":1,"command":"Banner"}"#;
        assert_eq!(Script::read(exported, &rules()).expect("good").lines()[0].at_us, 1_500_000);
        for (text, why) in [
            (r#"{"at_ms":-1,"command":"Banner"}"#, "line 1: at_ms"),
            ("\n\n{}", "line 3: missing field"),
            (r#"{"at_ms":1,"command":{"HeroGo":[99999999,0]}}"#, "line 1: target"),
        ] {
            let error = Script::read(text, &rules()).expect_err(text).to_string();
            assert!(error.starts_with(why), "{error}");
        }
        let many = format!("{good}\n").repeat(SCRIPT_COMMANDS_MAX + 1);
        assert!(matches!(Script::read(&many, &rules()), Err(ScriptError::TooMany)));
        let turned = r#"{"at_ms":1,"\u001b[31m":2}"#;
        let error = Script::read(turned, &rules()).expect_err("unknown field").to_string();
        assert!(error.contains("\\u{1b}[31m") && !error.contains('\u{1b}'), "{error:?}");
    }
}
