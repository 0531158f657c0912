//! `campaign mutations`.

use serde_json::{Value, json};
use std::process::ExitCode;

use super::args::MutationsArguments;
use super::{adversary, console};
use lab::Violation;
use net::Mutation;

/// A mutation, and the first seed in which the adversary found it.
type Found = (Mutation, Option<(u64, Violation)>);

/// Breaks one rule after the other, and plays matches until the adversary has found it.
pub(super) fn run(arguments: &MutationsArguments) -> anyhow::Result<ExitCode> {
    let options = adversary::options(&arguments.played, arguments.architecture)?;
    let all = if arguments.mutation.is_empty() { Mutation::ALL } else { &arguments.mutation };
    let find = |&mutation: &Mutation| {
        mutation.plant();
        (mutation, options.first_violation())
    };
    let found: Vec<Found> = all.iter().map(find).collect();
    let is_missed = found.iter().any(|(_, found)| found.is_none());
    console::print(arguments.played.json, || as_json(&found, is_missed), || as_text(&found));
    Ok(console::found(is_missed))
}

fn as_json(found: &[Found], is_missed: bool) -> Value {
    let mutations = found.iter().map(|(mutation, found)| {
        let found = found.as_ref().map(|(seed, violation)| json!({ "seed": seed, "violation": violation }));
        (mutation.as_str().to_owned(), found.into())
    });
    json!({
        "verdict": if is_missed { "missed" } else { "found" },
        "mutations": mutations.collect::<serde_json::Map<String, Value>>(),
    })
}

fn as_text(found: &[Found]) -> String {
    let mut table = console::plain_table();
    table.set_header(["mutation", "found with seed", "by"]);
    for (mutation, found) in found {
        let (seed, what) = match found {
            Some((seed, violation)) => (seed.to_string(), violation.to_string()),
            None => ("not found".into(), String::new()),
        };
        table.add_row([mutation.as_str().to_owned(), seed, what]);
    }
    table.to_string()
}
