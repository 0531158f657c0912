//! Commands as JSON, for scripts and exports: kinds of minions have their names there.

use serde_json::{Value, json};

use sim::{Command, Rules};

/// Returns a command in the format of `--script`.
///
/// # Panics
/// Never: a command is plain data.
#[must_use]
#[expect(clippy::expect_used, reason = "a command is plain data")]
pub fn command_to_json(command: &Command, rules: &Rules) -> Value {
    let trained = match command {
        Command::Train(kind) => rules.minions.get(kind.index()),
        _ => None,
    };
    match trained {
        Some(minion) => json!({"Train": &*minion.unit.name.capitalised()}),
        None => serde_json::to_value(command).expect("a command is plain data"),
    }
}

/// Reads a command in the format of `--script`.
///
/// # Errors
/// Why it is none, or which kinds the rules have.
pub fn command_from_json(value: Value, rules: &Rules) -> Result<Command, String> {
    let fields = value.as_object().filter(|fields| fields.len() == 1);
    let Some(name) = fields.and_then(|fields| fields.get("Train")).and_then(Value::as_str) else {
        return serde_json::from_value(value).map_err(|why| why.to_string());
    };
    rules.minion_named(name).map(Command::Train).ok_or_else(|| {
        let names: Vec<_> = rules.minions.iter().map(|minion| minion.unit.name.as_str()).collect();
        format!("the rules {} have no minion {name}; they have {}", rules.name, names.join(", "))
    })
}
