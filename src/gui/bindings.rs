//! Key bindings: one table for the game, its help card, its settings and its document.
//!
//! The table holds the default keys; [`KeyChoices`] may override them.

mod key_choices;
mod key_names;
mod kinds;

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;

use macroquad::miniquad::KeyCode;
use sim::{KindId, Rules};

pub(crate) use key_choices::{KeyChoices, Preset};
pub(crate) use key_names::name_of as us_name;
pub(crate) use kinds::{rules_in_play, with_article};

/// Meaning of a key in a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Held: walk; x points right, y points up.
    Walk(i32, i32),
    /// Held: attack toward the pointer.
    Strike,
    /// Dash in the direction in which the hero walks.
    Dash,
    Banner,
    /// Make the next click an attack-move target.
    AttackMove,
    /// Held: a right click makes the selected run, whatever lies there.
    Run,
    Stop,
    Hold,
    Follow,
    SelectAll,
    /// Select all minions of a kind of the rules in play.
    SelectKind(KindId),
    /// Select the group; with Ctrl, assign the selection to it.
    Group(usize),
    /// Train one of a kind of the rules in play; with Shift, repeatedly.
    Train(KindId),
    LockCamera,
    /// Held: show the scores of all seats.
    Scores,
    NetGraph,
    Picture,
    Fullscreen,
    /// Switch the music on or off.
    Music,
    /// Centre the camera on the last alert.
    LastAlert,
    /// Pause or resume the match.
    Pause,
    Help,
    Menu,
    /// Open the chat field.
    Talk,
    /// Skip the rest of the tutorial.
    Skip,
}

impl Action {
    /// Iterates over all actions, in the order of the table.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let mut last = None;
        // The keys of one action are adjacent.
        entries().map(|(_, action)| action).filter(move |&action| last.replace(action) != Some(action))
    }

    /// Returns a short label for the list of keys.
    pub(crate) fn label(self) -> String {
        match self {
            Self::Walk(0, 1) => "Walk up".into(),
            Self::Walk(-1, 0) => "Walk left".into(),
            Self::Walk(0, -1) => "Walk down".into(),
            Self::Walk(..) => "Walk right".into(),
            Self::Strike => "Strike".into(),
            Self::Dash => "Dash".into(),
            Self::Banner => "Banner".into(),
            Self::AttackMove => "Attack-move".into(),
            Self::Run => "Run".into(),
            Self::Stop => "Stop".into(),
            Self::Hold => "Hold".into(),
            Self::Follow => "Follow the hero".into(),
            Self::SelectAll => "All minions".into(),
            Self::SelectKind(kind) => kinds::about(kind, |minion| format!("All {}", minion.plural())),
            Self::Group(index) => format!("Group {}", index + 1),
            Self::Train(kind) => kinds::about(kind, |minion| format!("Train {}", with_article(minion))),
            Self::LockCamera => "Follow with the view".into(),
            Self::Scores => "Scores".into(),
            Self::NetGraph => "Network graph".into(),
            Self::Picture => "Save a picture".into(),
            Self::Fullscreen => "Full screen".into(),
            Self::Music => "Music".into(),
            Self::LastAlert => "Last alert".into(),
            Self::Pause => "Pause".into(),
            Self::Help => "How to play".into(),
            Self::Menu => "Menu".into(),
            Self::Talk => "Chat".into(),
            Self::Skip => "Skip the tutorial".into(),
        }
    }

    /// Whether the action can be bound to another key: Esc always leads back.
    pub(crate) fn is_rebindable(self) -> bool {
        self != Self::Menu
    }

    /// Returns the action's name in the settings file.
    fn file_name(self) -> String {
        self.label().to_lowercase().replace(' ', "-")
    }
}

/// Line of the help card.
pub(crate) struct Binding {
    keys: Keys,
    does: &'static str,
}

/// Keys that a line documents.
enum Keys {
    /// Mouse input, as printed on the card.
    Mouse(&'static str),
    /// Default keys of actions, and the text that follows them.
    Bound(&'static [(KeyCode, Action)], &'static str),
    /// The key of all minions, and those of each kind.
    Select(KeyCode),
    /// Keys that train one of each kind.
    Train,
    /// Shift with the keys that train.
    RepeatTraining,
}

/// Section of the help card.
pub(crate) struct Chapter {
    pub(crate) title: &'static str,
    pub(crate) bindings: &'static [Binding],
}

/// Builds a line about the mouse, which needs no key.
const fn mouse(keys: &'static str, does: &'static str) -> Binding {
    Binding { keys: Keys::Mouse(keys), does }
}

/// Builds a line about keys that it binds.
const fn bound(actions: &'static [(KeyCode, Action)], does: &'static str) -> Binding {
    Binding { keys: Keys::Bound(actions, ""), does }
}

/// All inputs of a match.
pub(crate) const BINDINGS: &[Chapter] = &[
    Chapter {
        title: "Your hero",
        bindings: &[
            bound(
                &[
                    (KeyCode::W, Action::Walk(0, 1)),
                    (KeyCode::A, Action::Walk(-1, 0)),
                    (KeyCode::S, Action::Walk(0, -1)),
                    (KeyCode::D, Action::Walk(1, 0)),
                ],
                "walk; it strikes what comes near",
            ),
            bound(&[(KeyCode::Space, Action::Strike)], "held: strike toward the cursor"),
            bound(
                &[(KeyCode::LeftShift, Action::Dash), (KeyCode::RightShift, Action::Dash)],
                "while walking: dash",
            ),
            bound(&[(KeyCode::Q, Action::Banner)], "banner: minions strike faster"),
        ],
    },
    Chapter {
        title: "Select",
        bindings: &[
            mouse("Click, drag", "select; Shift adds, Ctrl removes"),
            mouse("Double click", "all of that kind on screen"),
            Binding { keys: Keys::Select(KeyCode::E), does: "" },
            bound(
                &[
                    (KeyCode::Key1, Action::Group(0)),
                    (KeyCode::Key2, Action::Group(1)),
                    (KeyCode::Key3, Action::Group(2)),
                    (KeyCode::Key4, Action::Group(3)),
                    (KeyCode::Key5, Action::Group(4)),
                ],
                "a group; with Ctrl: make it",
            ),
        ],
    },
    Chapter {
        title: "Order",
        bindings: &[
            mouse("Right click", "go there and fight, attack it, follow your hero"),
            Binding {
                keys: Keys::Bound(
                    &[(KeyCode::LeftControl, Action::Run), (KeyCode::RightControl, Action::Run)],
                    " + right click",
                ),
                does: "run there: fight nobody on the way",
            },
            mouse("Shift + order", "queue the order"),
            Binding {
                keys: Keys::Bound(&[(KeyCode::F, Action::AttackMove)], " + click"),
                does: "fight your way there, whatever it is",
            },
            bound(
                &[(KeyCode::X, Action::Stop), (KeyCode::C, Action::Hold), (KeyCode::G, Action::Follow)],
                "stop, hold, follow your hero",
            ),
            mouse("Click your core", "then right click: set the rally point"),
            Binding { keys: Keys::Train, does: "" },
            Binding { keys: Keys::RepeatTraining, does: "repeat its training, or stop" },
        ],
    },
    Chapter {
        title: "See",
        bindings: &[
            mouse("Wheel", "zoom; held and dragged: pan"),
            bound(&[(KeyCode::Y, Action::LockCamera)], "keep your hero in the middle"),
            bound(&[(KeyCode::Backspace, Action::LastAlert)], "go to the last alert"),
            bound(&[(KeyCode::P, Action::Pause)], "pause for all, three times; resume"),
            bound(
                &[(KeyCode::Enter, Action::Talk), (KeyCode::KpEnter, Action::Talk)],
                "say something to the others",
            ),
            bound(&[(KeyCode::Tab, Action::Scores)], "held: all scores"),
            bound(
                &[
                    (KeyCode::F3, Action::NetGraph),
                    (KeyCode::F4, Action::Music),
                    (KeyCode::F11, Action::Fullscreen),
                    (KeyCode::F12, Action::Picture),
                ],
                "network graph, music, full screen, picture",
            ),
            bound(
                &[(KeyCode::F1, Action::Help), (KeyCode::Escape, Action::Menu), (KeyCode::K, Action::Skip)],
                "this card, the menu, skip the tutorial",
            ),
        ],
    },
];

/// Iterates over all actions with their default keys; an action may have two, or none.
fn entries() -> impl Iterator<Item = (Option<KeyCode>, Action)> {
    BINDINGS.iter().flat_map(|chapter| chapter.bindings).flat_map(|binding| match binding.keys {
        Keys::Bound(actions, _) => actions.iter().map(|&(key, action)| (Some(key), action)).collect(),
        Keys::Select(key) => {
            let all = [(Some(key), Action::SelectAll)].into_iter();
            all.chain(kinds::selecting()).collect()
        }
        Keys::Train => kinds::training(),
        Keys::Mouse(_) | Keys::RepeatTraining => Vec::new(),
    })
}

/// Iterates over the default keys of all actions.
fn defaults() -> impl Iterator<Item = (KeyCode, Action)> {
    entries().filter_map(|(key, action)| Some((key?, action)))
}

/// Whether the table or a preset gives this key to an action that is not about a kind.
fn is_taken(key: KeyCode) -> bool {
    let in_table = BINDINGS.iter().flat_map(|chapter| chapter.bindings).any(|binding| match binding.keys {
        Keys::Bound(actions, _) => actions.iter().any(|&(bound, _)| bound == key),
        Keys::Select(bound) => bound == key,
        _ => false,
    });
    in_table || key_choices::is_in_preset(key)
}

thread_local! {
    /// Bindings in effect; the window has one thread.
    static IN_FORCE: RefCell<(KeyChoices, Vec<(KeyCode, Action)>)> =
        RefCell::new((KeyChoices::default(), defaults().collect()));
    /// Labels of the keys of the player's keyboard that differ from those of a US keyboard.
    static LABELS: RefCell<Vec<(KeyCode, String)>> = const { RefCell::new(Vec::new()) };
}

/// Applies these bindings to the game and to everything that names keys.
pub(crate) fn put_in_force(choices: &KeyChoices) {
    IN_FORCE.replace((choices.clone(), choices.keys()));
}

/// Gives the kinds of minions of these rules their keys.
pub(crate) fn use_rules(rules: &Arc<Rules>) {
    kinds::replace(rules);
    IN_FORCE.with_borrow_mut(|(choices, keys)| *keys = choices.keys());
}

/// Returns the preset in effect: it decides the effect of a right click.
pub(crate) fn preset() -> Preset {
    IN_FORCE.with_borrow(|(choices, _)| choices.preset)
}

/// Returns the action of a key; the first one in the table if it has two.
pub(crate) fn action_of(key: KeyCode) -> Option<Action> {
    IN_FORCE.with_borrow(|(_, keys)| keys.iter().find(|(bound, _)| *bound == key).map(|&(_, action)| action))
}

/// Iterates over keys without a meaning in play, for the answers of a card that opens by itself. All keyboards label
/// them alike.
pub(crate) fn unbound_keys() -> impl Iterator<Item = KeyCode> {
    use KeyCode::{F2, F5, F6, F7, F8, F9, F10};
    [F5, F6, F7, F8, F9, F10, F2].into_iter().filter(|&key| action_of(key).is_none())
}

/// Sets the labels of the keys of the player's keyboard. Keys that write nothing keep their names.
pub(crate) fn label_keys(mut labels: Vec<(KeyCode, String)>) {
    // `Space`, `Pad7` and `F1` have the same name on every keyboard.
    labels.retain(|&(key, _)| us_name(key).is_some_and(|name| name.chars().count() == 1));
    LABELS.replace(labels);
}

/// Returns a key's label on the player's keyboard; empty for a key that cannot be bound.
pub(crate) fn key_label(key: KeyCode) -> String {
    let label =
        LABELS.with_borrow(|all| all.iter().find(|(of, _)| *of == key).map(|(_, label)| label.clone()));
    label.unwrap_or_else(|| us_name(key).unwrap_or_default().to_owned())
}

/// Returns the label of an action's key on the player's keyboard; empty if it has none.
pub(crate) fn key_name(action: Action) -> String {
    let key =
        IN_FORCE.with_borrow(|(_, keys)| keys.iter().find(|(_, of)| *of == action).map(|&(key, _)| key));
    key.map(key_label).unwrap_or_default()
}

/// Returns the label of every action's key, by the action's name in the settings file.
pub(crate) fn labels() -> BTreeMap<String, String> {
    Action::all().map(|action| (action.file_name(), key_name(action))).collect()
}

impl Binding {
    /// Returns the keys as printed on the card.
    pub(crate) fn keys(&self) -> String {
        match self.keys {
            Keys::Mouse(text) => text.to_owned(),
            Keys::Bound(actions, after) => {
                format!("{}{after}", key_names_of(actions.iter().map(|&(_, action)| action)))
            }
            Keys::Select(_) => {
                let kinds = kinds::selecting().into_iter().map(|(_, action)| action);
                key_names_of([Action::SelectAll].into_iter().chain(kinds))
            }
            Keys::Train => training_keys().join(" "),
            Keys::RepeatTraining => format!("Shift + {}", training_keys().join(" ")),
        }
    }

    /// Returns the effect as printed on the card.
    pub(crate) fn does(&self) -> String {
        match self.keys {
            Keys::Select(_) => kinds::selecting_does(),
            Keys::Train => kinds::training_does(),
            _ => self.does.to_owned(),
        }
    }
}

/// Returns the labels of the keys that train, in the order of the kinds.
pub(crate) fn training_keys() -> Vec<String> {
    let keys = kinds::training().into_iter().map(|(_, action)| key_name(action));
    keys.filter(|key| !key.is_empty()).collect()
}

/// Joins the labels of the actions' keys, or the first and the last of consecutive digits.
fn key_names_of(actions: impl Iterator<Item = Action>) -> String {
    let mut names: Vec<String> = actions.map(key_name).filter(|name| !name.is_empty()).collect();
    names.dedup();
    let numbers: Vec<u32> = names.iter().filter_map(|name| name.parse().ok()).collect();
    let counts_up = numbers.len() == names.len() && numbers.windows(2).all(|pair| pair[0] + 1 == pair[1]);
    match (&names[..], counts_up) {
        ([first, _, .., last], true) => format!("{first} to {last}"),
        _ => names.join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_action_names_are_unique() {
        let keys: Vec<KeyCode> = defaults().map(|(key, _)| key).collect();
        for (at, key) in keys.iter().enumerate() {
            assert!(!keys[at + 1..].contains(key), "{key:?}");
            assert!(key_names::name_of(*key).is_some(), "{key:?}");
        }
        let mut names: Vec<String> = Action::all().map(Action::file_name).collect();
        let count = names.len();
        names.sort();
        names.dedup();
        assert_eq!(names.len(), count, "{names:?}");
        assert_eq!(action_of(KeyCode::W), Some(Action::Walk(0, 1)));
        assert_eq!(action_of(KeyCode::Z), None);
    }

    #[test]
    fn buttons_name_the_keys_in_effect() {
        assert_eq!(key_name(Action::Train(KindId(0))), "B");
        assert_eq!(key_name(Action::Train(KindId(1))), "N");
        assert_eq!(key_name(Action::Group(9)), "");
        let mut choices = KeyChoices::default();
        choices.bind(Action::Train(KindId(0)), KeyCode::F5);
        put_in_force(&choices);
        assert_eq!(key_name(Action::Train(KindId(0))), "F5");
        assert_eq!(action_of(KeyCode::F5), Some(Action::Train(KindId(0))));
        assert_eq!(action_of(KeyCode::B), None);
        let card: Vec<String> =
            BINDINGS.iter().flat_map(|chapter| chapter.bindings).map(Binding::keys).collect();
        assert!(
            card.contains(&"F5 N M".to_owned()) && card.contains(&"Shift + F5 N M".to_owned()),
            "{card:?}"
        );
    }

    #[test]
    fn a_kind_of_a_file_has_its_keys_unless_they_mean_something_else() {
        let mut rules = (*rules_in_play()).clone();
        rules.minions.truncate(2);
        let mut pikeman = rules.minions[0].clone();
        (pikeman.unit.name, pikeman.plural) = ("pikeman".parse().expect("a name"), None);
        let key = |label: char| Some(label.try_into().expect("a key"));
        (pikeman.train_key, pikeman.select_key) = (key('O'), key('H'));
        rules.minions.push(pikeman);
        use_rules(&Arc::new(rules.clone()));
        let (train, select) = (Action::Train(KindId(2)), Action::SelectKind(KindId(2)));
        assert_eq!((train.label(), select.label()), ("Train a pikeman".into(), "All pikemans".into()));
        assert_eq!(action_of(KeyCode::O), Some(train));
        assert_eq!(key_name(select), "", "H holds in a preset");
        let card: Vec<_> = BINDINGS.iter().flat_map(|chapter| chapter.bindings).collect();
        let lines: Vec<_> = card.iter().map(|line| (line.keys(), line.does())).collect();
        assert!(
            lines.contains(&("B N O".into(), "train a swordsman, an archer, a pikeman".into())),
            "{lines:?}"
        );
        let mut choices = KeyChoices::default();
        assert!(choices.bind(select, KeyCode::U));
        put_in_force(&choices);
        assert_eq!(action_of(KeyCode::U), Some(select));
        // Too many to name each.
        rules.minions.push(rules.minions[0].clone());
        use_rules(&Arc::new(rules));
        assert!(card.iter().any(|line| line.does() == "train one of a kind"));
    }

    /// Returns the rows of a table below a heading of the document.
    fn rows(heading: &str) -> Vec<&'static str> {
        let document = include_str!("../../docs/GAME.md");
        let below = document.split(heading).nth(1).expect("a chapter of keys");
        let lines = below.lines().skip_while(|line| !line.starts_with('|'));
        // Skips the table's header and its rule.
        lines.take_while(|line| line.starts_with('|')).skip(2).collect()
    }

    #[test]
    fn the_document_matches_the_help_card() {
        let card = BINDINGS.iter().flat_map(|chapter| {
            chapter.bindings.iter().enumerate().map(|(place, binding)| {
                let title = if place == 0 { format!(" {} ", chapter.title) } else { "  ".into() };
                format!("|{title}| {} | {} |", binding.keys(), binding.does())
            })
        });
        assert_eq!(rows("## Keys"), card.collect::<Vec<_>>());
    }

    #[test]
    fn the_document_lists_the_keys_of_the_moba_preset() {
        let mut choices = KeyChoices::default();
        choices.reset(Preset::Moba);
        let keys = choices.keys();
        let usual: Vec<_> = defaults().collect();
        let changed = keys.iter().filter(|bound| !usual.contains(bound));
        let name = |key| key_names::name_of(key).expect("a key of a preset");
        let changed = changed.map(|&(key, action)| format!("| {} | {} |", action.label(), name(key)));
        assert_eq!(rows("### The MOBA preset"), changed.collect::<Vec<_>>());
    }
}
