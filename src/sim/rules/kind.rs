//! Kinds of units: rows of the rules.

use arrayvec::{ArrayString, ArrayVec};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};

use super::{Milli, Rules};
use crate::state::{AttackBehaviour, ControlBehaviour, KindId};

/// Most kinds of units in one set of rules, minions and heroes together.
pub const KINDS_MAX: usize = 8;
/// Longest name of a kind, in bytes.
pub const KIND_NAME_MAX: usize = 16;

/// The rules of a kind of unit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnitRules {
    /// Name, unique among the minions or among the heroes.
    pub name: KindName,
    /// Its attack, and with it what a unit of this kind does by itself.
    pub attack: AttackBehaviour,
    /// Shape of its figure; by default the shape of its attack.
    pub glyph: Option<Glyph>,
    /// Hit points at full health.
    pub hp: i16,
    /// Walking speed, thousandths of a tile per second.
    pub speed: Milli,
    /// Body radius, thousandths of a tile.
    pub radius: Milli,
    /// Reach of the sword from body to body centre, or range of the bow, thousandths of a tile.
    pub reach: Milli,
    /// Hit points taken by a blow or an arrow.
    pub damage: i16,
    /// Time between attacks.
    pub cooldown_ms: u32,
    /// Time from the start of an attack, when the facing locks, to its effect.
    pub windup_ms: u32,
    /// Speed of the arrow, thousandths of a tile per second; 0 for a sword.
    pub arrow_speed: Milli,
    /// Weight with which it captures a circle, in thousandths of the usual unit's.
    pub capture: Milli,
}

/// The rules of a kind of minion.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MinionRules {
    /// Numbers that every kind of unit has.
    pub unit: UnitRules,
    /// Name of several; by default the name with an s.
    pub plural: Option<KindName>,
    /// Price, in supply.
    pub cost: u16,
    /// Number with which a player starts.
    pub start: u8,
    /// Usual key of its training.
    pub train_key: Option<KeyLabel>,
    /// Usual key that selects all of them.
    pub select_key: Option<KeyLabel>,
}

impl UnitRules {
    /// The shape of its figure.
    #[must_use]
    pub fn glyph(&self) -> Glyph {
        self.glyph.unwrap_or(match self.attack {
            AttackBehaviour::Swordsman => Glyph::Shield,
            AttackBehaviour::Archer => Glyph::Bow,
        })
    }
}

impl MinionRules {
    /// The name of several.
    #[must_use]
    pub fn plural(&self) -> alloc::string::String {
        self.plural.map_or_else(|| alloc::format!("{}s", self.unit.name), |name| alloc::format!("{name}"))
    }
}

impl Rules {
    /// The rules of a kind. A state or a message may name a kind that these rules do not have: it counts as the first.
    ///
    /// # Panics
    /// If there is no kind at all, which [`Rules::check`] refuses.
    #[must_use]
    #[expect(clippy::indexing_slicing, reason = "checked rules have kinds")]
    pub fn unit(&self, control: ControlBehaviour, kind: KindId) -> &UnitRules {
        match control {
            ControlBehaviour::Player => self.heroes.get(kind.index()).unwrap_or(&self.heroes[0]),
            ControlBehaviour::Minion => &self.minions.get(kind.index()).unwrap_or(&self.minions[0]).unit,
        }
    }

    /// The ids of the minions, in the order of the file.
    pub fn minion_kinds(&self) -> impl DoubleEndedIterator<Item = KindId> + ExactSizeIterator + use<> {
        (0..self.minions.len()).map(|kind| KindId(kind as u8))
    }

    /// The ids of the heroes, in the order of the file.
    pub fn hero_kinds(&self) -> impl DoubleEndedIterator<Item = KindId> + ExactSizeIterator + use<> {
        (0..self.heroes.len()).map(|kind| KindId(kind as u8))
    }

    /// The first minion with this attack; if none has it, the first of all.
    #[must_use]
    pub fn minion_with(&self, attack: AttackBehaviour) -> KindId {
        let has_it = |kind: &KindId| self.unit(ControlBehaviour::Minion, *kind).attack == attack;
        self.minion_kinds().find(has_it).unwrap_or_default()
    }

    /// Number of minions with which a player starts.
    #[must_use]
    pub fn minions_at_start(&self) -> u32 {
        self.minions.iter().map(|minion| u32::from(minion.start)).sum()
    }

    /// The minion of this name, in letters of either case.
    #[must_use]
    pub fn minion_named(&self, name: &str) -> Option<KindId> {
        let is_it =
            |kind: &KindId| self.minions.get(kind.index()).is_some_and(|minion| minion.unit.name.is(name));
        self.minion_kinds().find(is_it)
    }

    /// The hero of this name, in letters of either case.
    #[must_use]
    pub fn hero_named(&self, name: &str) -> Option<KindId> {
        self.hero_kinds().find(|kind| self.heroes.get(kind.index()).is_some_and(|hero| hero.name.is(name)))
    }
}

/// Name of a kind: 1 to [`KIND_NAME_MAX`] characters a to z, 0 to 9 and hyphens, the first a letter. Programs, files
/// of settings and sentences contain it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct KindName(ArrayString<KIND_NAME_MAX>);

/// The text is not a [`KindName`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a kind's name has 1 to {KIND_NAME_MAX} of the characters a to z, 0 to 9 and -, and begins with a letter"
)]
pub struct InvalidKindName;

impl KindName {
    /// Checks a name.
    ///
    /// # Errors
    /// If it is too long, empty, or has other characters.
    pub fn new(name: &str) -> Result<Self, InvalidKindName> {
        let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let is_name =
            name.starts_with(|first: char| first.is_ascii_lowercase()) && name.bytes().all(is_plain);
        match ArrayString::from(name) {
            Ok(text) if is_name => Ok(Self(text)),
            _ => Err(InvalidKindName),
        }
    }

    /// The name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether a text is this name, in letters of either case.
    #[must_use]
    pub fn is(&self, text: &str) -> bool {
        self.0.eq_ignore_ascii_case(text)
    }

    /// The name with a capital letter: on buttons, and for commands in JSON.
    #[must_use]
    pub fn capitalised(&self) -> ArrayString<KIND_NAME_MAX> {
        let mut name = self.0;
        if let Some(first) = name.get_mut(..1) {
            first.make_ascii_uppercase();
        }
        name
    }

    /// The article before the name.
    #[must_use]
    pub fn article(&self) -> &'static str {
        if self.0.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" }
    }
}

impl core::fmt::Display for KindName {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.pad(&self.0)
    }
}

impl core::str::FromStr for KindName {
    type Err = InvalidKindName;

    fn from_str(name: &str) -> Result<Self, InvalidKindName> {
        Self::new(name)
    }
}

impl Serialize for KindName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for KindName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = ArrayString::<KIND_NAME_MAX>::deserialize(deserializer)
            .map_err(|_| D::Error::custom(InvalidKindName))?;
        Self::new(&name).map_err(D::Error::custom)
    }
}

/// Label of a key on a US keyboard: A to Z, or 0 to 9.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "char", into = "char")]
pub struct KeyLabel(char);

/// The character is not a [`KeyLabel`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is one of A to Z and 0 to 9")]
pub struct InvalidKeyLabel;

impl TryFrom<char> for KeyLabel {
    type Error = InvalidKeyLabel;

    fn try_from(label: char) -> Result<Self, InvalidKeyLabel> {
        let is_key = label.is_ascii_uppercase() || label.is_ascii_digit();
        if is_key { Ok(Self(label)) } else { Err(InvalidKeyLabel) }
    }
}

impl From<KeyLabel> for char {
    fn from(label: KeyLabel) -> Self {
        label.0
    }
}

/// Shape of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Glyph {
    /// A chevron of a shield, and a blade.
    Shield,
    /// A slim wedge, and a bow.
    Bow,
    /// Two narrow chevrons, one behind the other, and a lance.
    Lance,
}

/// The minions of rules.
pub type Minions = ArrayVec<MinionRules, KINDS_MAX>;
/// The heroes of rules.
pub type Heroes = ArrayVec<UnitRules, KINDS_MAX>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_kinds_are_short_and_plain() {
        for name in ["a", "swordsman", "pike-man2", "abcdefghijklmnop"] {
            assert_eq!(KindName::new(name).map(|name| name.as_str().len()), Ok(name.len()), "{name}");
        }
        for name in ["", "Archer", "2nd", "-x", "a b", "é", "abcdefghijklmnopq", "a\u{1b}[2J"] {
            assert_eq!(KindName::new(name), Err(InvalidKindName), "{name}");
            let bytes = postcard::to_allocvec(name).expect("a text encodes");
            assert!(postcard::from_bytes::<KindName>(&bytes).is_err(), "{name}");
        }
        let name = KindName::new("archer").expect("a name");
        assert_eq!((&*name.capitalised(), name.article(), name.is("ARCHER")), ("Archer", "an", true));
    }
}
