//! The player's key bindings, as the settings store them.

use macroquad::miniquad::KeyCode;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

use super::key_names::{keys_of, name_of};
use super::{Action, defaults};

/// Preset of keys, and the effect of a right click.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum Preset {
    /// Keys walk the hero; a right click gives the selected minions an order.
    #[default]
    Standard,
    /// A right click moves the hero and the selected minions; A, S and H give orders.
    Moba,
}

/// Keys in which the MOBA preset differs from the table.
const MOBA: &[(Action, KeyCode)] = &[
    (Action::Walk(0, 1), KeyCode::Up),
    (Action::Walk(-1, 0), KeyCode::Left),
    (Action::Walk(0, -1), KeyCode::Down),
    (Action::Walk(1, 0), KeyCode::Right),
    (Action::Dash, KeyCode::D),
    (Action::AttackMove, KeyCode::A),
    (Action::Stop, KeyCode::S),
    (Action::Hold, KeyCode::H),
];

/// Whether a preset gives this key to an action.
pub(super) fn is_in_preset(key: KeyCode) -> bool {
    MOBA.iter().any(|&(_, bound)| bound == key)
}

/// Preset, and the keys that the player has rebound.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct KeyChoices {
    pub(crate) preset: Preset,
    /// Key names by action names; unknown names of either are ignored.
    bound: BTreeMap<String, String>,
}

impl KeyChoices {
    /// Returns the keys of all actions.
    pub(crate) fn keys(&self) -> Vec<(KeyCode, Action)> {
        let mut keys = Vec::new();
        for action in Action::all() {
            let bound = self.bound.get(&action.file_name()).filter(|_| action.is_rebindable());
            let own = bound.into_iter().flat_map(|name| keys_of(name));
            let own: Vec<KeyCode> = own.filter(|&key| key != KeyCode::Escape).collect();
            let preset = MOBA.iter().find(|(of, _)| *of == action && self.preset == Preset::Moba);
            match (&own[..], preset) {
                ([], Some(&(_, key))) => keys.push((key, action)),
                ([], None) => keys.extend(defaults().filter(|&(_, of)| of == action)),
                (own, _) => keys.extend(own.iter().map(|&key| (key, action))),
            }
        }
        keys
    }

    /// Replaces an action's keys by `key`. Returns false for a key that cannot be bound. Esc cannot: it always leads
    /// back.
    pub(crate) fn bind(&mut self, action: Action, key: KeyCode) -> bool {
        let Some(name) = name_of(key).filter(|_| key != KeyCode::Escape) else { return false };
        self.bound.insert(action.file_name(), name.to_owned());
        true
    }

    /// Discards all changes in favour of a preset.
    pub(crate) fn reset(&mut self, preset: Preset) {
        *self = Self { preset, bound: BTreeMap::new() };
    }

    /// Returns another action that shares a key with `action`.
    pub(crate) fn conflict(&self, action: Action) -> Option<Action> {
        let keys = self.keys();
        let is_own = |key: KeyCode| keys.contains(&(key, action));
        keys.iter().find(|&&(key, other)| other != action && is_own(key)).map(|&(_, other)| other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_key_replaces_all_keys_of_its_action() {
        let mut choices = KeyChoices::default();
        assert!(choices.bind(Action::Dash, KeyCode::Z));
        let keys = choices.keys();
        let of =
            |action| keys.iter().filter(|(_, of)| *of == action).map(|(key, _)| *key).collect::<Vec<_>>();
        assert_eq!(of(Action::Dash), [KeyCode::Z]);
        assert_eq!(of(Action::Talk), [KeyCode::Enter, KeyCode::KpEnter]);
        assert_eq!(choices.conflict(Action::Dash), None);
        assert!(choices.bind(Action::Dash, KeyCode::RightShift));
        assert_eq!(choices.keys(), KeyChoices::default().keys(), "a name means both keys");
        assert!(
            !choices.bind(Action::Dash, KeyCode::Unknown) && !choices.bind(Action::Dash, KeyCode::Escape)
        );
        choices.bind(Action::Menu, KeyCode::Z);
        assert_eq!(choices.keys(), KeyChoices::default().keys(), "Esc opens the menu");
    }

    #[test]
    fn conflicts_are_found_on_both_sides() {
        let mut choices = KeyChoices::default();
        assert!(Action::all().all(|action| choices.conflict(action).is_none()));
        choices.bind(Action::Banner, KeyCode::X);
        assert_eq!(choices.conflict(Action::Banner), Some(Action::Stop));
        assert_eq!(choices.conflict(Action::Stop), Some(Action::Banner));
        choices.reset(Preset::Moba);
        assert!(Action::all().all(|action| choices.conflict(action).is_none()), "the presets have none");
    }

    #[test]
    fn unknown_names_are_ignored_and_kept() {
        let text = "preset = \"moba\"\n[bound]\nfly = \"Z\"\nstop = \"Hyper\"\n";
        let choices: KeyChoices = toml::from_str(text).expect("of that form");
        assert!(choices.keys().contains(&(KeyCode::S, Action::Stop)));
        assert!(toml::to_string(&choices).expect("text").contains("fly"));
    }
}
