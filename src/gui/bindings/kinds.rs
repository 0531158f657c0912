//! The kinds of minions of the rules in play: their names and usual keys.

use std::cell::RefCell;
use std::sync::Arc;

use game::data;
use macroquad::miniquad::KeyCode;
use sim::{KeyLabel, KindId, MinionRules, Rules};

use super::key_names::keys_of;
use super::{Action, is_taken};

/// Most kinds of which a line of the help card names each.
const NAMED_MAX: usize = 3;

thread_local! {
    /// The rules in play; the window has one thread.
    static RULES: RefCell<Arc<Rules>> = RefCell::new(data::rules("standard").expect("built in"));
}

/// Returns the rules in play: those of the match or replay that was shown last.
pub(crate) fn rules_in_play() -> Arc<Rules> {
    RULES.with_borrow(Arc::clone)
}

pub(super) fn replace(rules: &Arc<Rules>) {
    RULES.replace(Arc::clone(rules));
}

/// Returns the actions that train one of each kind, with their usual keys.
pub(super) fn training() -> Vec<(Option<KeyCode>, Action)> {
    of_each(|kind, minion| (usual(minion.train_key), Action::Train(kind)))
}

/// Returns the actions that select all of each kind, with their usual keys.
pub(super) fn selecting() -> Vec<(Option<KeyCode>, Action)> {
    of_each(|kind, minion| (usual(minion.select_key), Action::SelectKind(kind)))
}

/// Describes the actions that train.
pub(super) fn training_does() -> String {
    named("train ", &of_each(|_, minion| with_article(minion)), "train one of a kind")
}

/// Describes the actions that select.
pub(super) fn selecting_does() -> String {
    named("all minions, ", &of_each(|_, minion| minion.plural()), "all minions, or all of a kind")
}

/// Returns a text about a kind of minion; empty if the rules in play do not have it.
pub(super) fn about(kind: KindId, text: impl Fn(&MinionRules) -> String) -> String {
    rules_in_play().minions.get(kind.index()).map(text).unwrap_or_default()
}

/// Returns the name of a kind with its article.
pub(crate) fn with_article(minion: &MinionRules) -> String {
    format!("{} {}", minion.unit.name.article(), minion.unit.name)
}

fn of_each<T>(of: impl Fn(KindId, &MinionRules) -> T) -> Vec<T> {
    let rules = rules_in_play();
    rules.minion_kinds().zip(&rules.minions).map(|(kind, minion)| of(kind, minion)).collect()
}

fn named(before: &str, names: &[String], else_text: &str) -> String {
    if names.len() <= NAMED_MAX { format!("{before}{}", names.join(", ")) } else { else_text.to_owned() }
}

/// Returns the key with this label, unless it means something in every match.
fn usual(label: Option<KeyLabel>) -> Option<KeyCode> {
    let label = char::from(label?).to_string();
    keys_of(&label).next().filter(|&key| !is_taken(key))
}
