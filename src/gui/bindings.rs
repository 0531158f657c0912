//! What each key does: one table for the game and for its help card.

use macroquad::miniquad::KeyCode;
use mini_rts_arena::sim::AttackBehaviour;

/// Something a key can mean in a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Held: walk, x to the right, y up.
    Walk(i32, i32),
    /// Held: strike toward the cursor.
    Strike,
    /// Run where the hero walks.
    Dash,
    Banner,
    /// The next click is where to attack-move.
    AttackMove,
    Stop,
    Hold,
    Follow,
    SelectAll,
    SelectArchers,
    SelectSwordsmen,
    /// Select it, or make it with Ctrl.
    Group(usize),
    /// Train one; with Shift again and again.
    Train(AttackBehaviour),
    LockCamera,
    NetGraph,
    Picture,
    /// Look where the last alert was.
    LastAlert,
    /// Halt the match, or go on.
    Pause,
    Help,
    Menu,
    /// Say something to the others.
    Talk,
    /// Leave out the rest of the tutorial.
    Skip,
}

/// A line of the help card, and the keys it is about.
pub(crate) struct Binding {
    /// As printed on the card.
    pub(crate) keys: &'static str,
    pub(crate) does: &'static str,
    pub(crate) actions: &'static [(KeyCode, Action)],
}

/// A heading of the help card.
pub(crate) struct Chapter {
    pub(crate) title: &'static str,
    pub(crate) bindings: &'static [Binding],
}

/// A line about the mouse, which needs no key.
const fn mouse(keys: &'static str, does: &'static str) -> Binding {
    Binding { keys, does, actions: &[] }
}

/// Everything that can be pressed in a match.
pub(crate) const BINDINGS: &[Chapter] = &[
    Chapter {
        title: "Your hero",
        bindings: &[
            Binding {
                keys: "W A S D",
                does: "walk; it strikes what comes near",
                actions: &[
                    (KeyCode::W, Action::Walk(0, 1)),
                    (KeyCode::A, Action::Walk(-1, 0)),
                    (KeyCode::S, Action::Walk(0, -1)),
                    (KeyCode::D, Action::Walk(1, 0)),
                ],
            },
            Binding {
                keys: "Space",
                does: "held: strike toward the cursor",
                actions: &[(KeyCode::Space, Action::Strike)],
            },
            Binding {
                keys: "Shift",
                does: "while walking: dash",
                actions: &[(KeyCode::LeftShift, Action::Dash), (KeyCode::RightShift, Action::Dash)],
            },
            Binding {
                keys: "Q",
                does: "banner: minions strike faster",
                actions: &[(KeyCode::Q, Action::Banner)],
            },
        ],
    },
    Chapter {
        title: "Select",
        bindings: &[
            mouse("Click, drag", "select; Shift adds, Ctrl removes"),
            mouse("Double click", "all of that kind on screen"),
            Binding {
                keys: "E R V",
                does: "all minions, archers, swordsmen",
                actions: &[
                    (KeyCode::E, Action::SelectAll),
                    (KeyCode::R, Action::SelectArchers),
                    (KeyCode::V, Action::SelectSwordsmen),
                ],
            },
            Binding {
                keys: "1 to 5",
                does: "a group; with Ctrl: make it",
                actions: &[
                    (KeyCode::Key1, Action::Group(0)),
                    (KeyCode::Key2, Action::Group(1)),
                    (KeyCode::Key3, Action::Group(2)),
                    (KeyCode::Key4, Action::Group(3)),
                    (KeyCode::Key5, Action::Group(4)),
                ],
            },
        ],
    },
    Chapter {
        title: "Order",
        bindings: &[
            mouse("Right click", "go there, attack it, follow your hero"),
            mouse("Shift + order", "after those given before"),
            Binding {
                keys: "F + click",
                does: "go there and fight on the way",
                actions: &[(KeyCode::F, Action::AttackMove)],
            },
            Binding {
                keys: "X C G",
                does: "stop, hold, follow your hero",
                actions: &[
                    (KeyCode::X, Action::Stop),
                    (KeyCode::C, Action::Hold),
                    (KeyCode::G, Action::Follow),
                ],
            },
            mouse("Click your core", "then right click: where new minions go"),
            Binding {
                keys: "B N",
                does: "train a swordsman, an archer",
                actions: &[
                    (KeyCode::B, Action::Train(AttackBehaviour::Swordsman)),
                    (KeyCode::N, Action::Train(AttackBehaviour::Archer)),
                ],
            },
            mouse("Shift + B N", "train it again and again, or no longer"),
        ],
    },
    Chapter {
        title: "See",
        bindings: &[
            mouse("Wheel", "zoom; held and dragged: pan"),
            Binding {
                keys: "Y",
                does: "keep your hero in the middle",
                actions: &[(KeyCode::Y, Action::LockCamera)],
            },
            Binding {
                keys: "Backspace",
                does: "look where the last alert was",
                actions: &[(KeyCode::Backspace, Action::LastAlert)],
            },
            Binding {
                keys: "P",
                does: "pause for all, three times; go on",
                actions: &[(KeyCode::P, Action::Pause)],
            },
            Binding {
                keys: "Enter",
                does: "say something to the others",
                actions: &[(KeyCode::Enter, Action::Talk), (KeyCode::KpEnter, Action::Talk)],
            },
            Binding {
                keys: "F3 F12",
                does: "network graph, save a picture",
                actions: &[(KeyCode::F3, Action::NetGraph), (KeyCode::F12, Action::Picture)],
            },
            Binding {
                keys: "F1 Esc K",
                does: "this card, the menu, skip the tutorial",
                actions: &[
                    (KeyCode::F1, Action::Help),
                    (KeyCode::Escape, Action::Menu),
                    (KeyCode::K, Action::Skip),
                ],
            },
        ],
    },
];

/// What a key means.
pub(crate) fn action_of(key: KeyCode) -> Option<Action> {
    let mut all = BINDINGS.iter().flat_map(|chapter| chapter.bindings).flat_map(|binding| binding.actions);
    all.find(|(bound, _)| *bound == key).map(|(_, action)| *action)
}

/// What the card calls the key of an action; empty if it has none, or one with several names.
pub(crate) fn key_name(action: Action) -> &'static str {
    let all = BINDINGS.iter().flat_map(|chapter| chapter.bindings);
    let mut found = all.filter_map(|binding| {
        let place = binding.actions.iter().position(|(_, bound)| *bound == action)?;
        binding.keys.split(' ').nth(place)
    });
    found.next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_key_means_two_things() {
        let keys = BINDINGS.iter().flat_map(|chapter| chapter.bindings).flat_map(|binding| binding.actions);
        let keys: Vec<KeyCode> = keys.map(|(key, _)| *key).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(key), "{key:?}");
        }
        assert_eq!(action_of(KeyCode::W), Some(Action::Walk(0, 1)));
        assert_eq!(action_of(KeyCode::Z), None);
    }

    #[test]
    fn the_buttons_name_the_keys_of_the_card() {
        assert_eq!(key_name(Action::Train(AttackBehaviour::Swordsman)), "B");
        assert_eq!(key_name(Action::Train(AttackBehaviour::Archer)), "N");
        assert_eq!(key_name(Action::Group(9)), "");
    }

    #[test]
    fn the_document_says_what_the_card_says() {
        let document = include_str!("../../docs/GAME.md");
        let keys = document.split("## Keys").nth(1).expect("a chapter of keys");
        // Below the heads of the columns and their rule.
        let table: Vec<&str> = keys.lines().filter(|line| line.starts_with('|')).skip(2).collect();
        let rows = BINDINGS.iter().flat_map(|chapter| {
            chapter.bindings.iter().enumerate().map(|(place, binding)| {
                let title = if place == 0 { format!(" {} ", chapter.title) } else { "  ".into() };
                format!("|{title}| {} | {} |", binding.keys, binding.does)
            })
        });
        assert_eq!(table, rows.collect::<Vec<_>>());
    }
}
