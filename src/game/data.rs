//! Rules and maps from TOML: the ones built in, and files. What loads cannot overflow the simulation.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use std::fmt::Display;
use std::path::Path;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use arrayvec::ArrayVec;
use serde::de::DeserializeOwned;

use super::phrase::joined;
use super::text_file::{self, TextError};
use crate::text_file::Escaped;
use maps::parse_map;
use net::discovery::{SetupName, SetupNames};
use net::message::Unplayable;
use net::{Host, MatchConfig, Roster};
use plain_words::in_plain_words;
use replay::{EXTENSION, HeaderError, OpenError, Replay, SetupData, SetupError};
use rules::parse_rules;
use sim::{GameState, Ground, Map, Rules, SeatSetup, Setup, World, fingerprint};

mod ladder;
mod maps;
mod plain_words;
mod rules;
mod values;

pub use ladder::{Opponent, RIVALS_MAX, Rival, opponents};

const RULES: [(&str, &str); 2] = [
    ("standard", include_str!("../../assets/rules/standard.toml")),
    ("endless", include_str!("../../assets/rules/endless.toml")),
];
const MAPS: [(&str, &str); 3] = [
    ("standard", include_str!("../../assets/maps/standard.toml")),
    ("duel", include_str!("../../assets/maps/duel.toml")),
    ("quad", include_str!("../../assets/maps/quad.toml")),
];

/// Rules and maps of the tutorial and the ladder, which no list offers.
static HIDDEN_RULES: LazyLock<[(&str, String); 3]> = LazyLock::new(|| {
    [
        (TUTORIAL, include_str!("../../assets/rules/tutorial.toml").to_owned()),
        ("crowd", varied(include_str!("../../assets/rules/crowd.toml"))),
        ("dusk", varied(include_str!("../../assets/rules/dusk.toml"))),
    ]
});
const HIDDEN_MAPS: [(&str, &str); 2] = [
    (TUTORIAL, include_str!("../../assets/maps/tutorial.toml")),
    ("crown", include_str!("../../assets/maps/crown.toml")),
];
/// Name of the tutorial's rules and of its map.
pub const TUTORIAL: &str = "tutorial";

/// Maximum number of cached grounds: a campaign draws three numbers of players, and a match with swapped sides has
/// another ground.
const GROUNDS_MAX: usize = 4;

/// Maximum size of a file of rules or of a map, in bytes: about a hundred times the built-in ones.
pub const DATA_BYTES_MAX: u64 = 1 << 20;

/// Reason why rules or a map cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum DataError {
    /// The file cannot be read.
    #[error("{} is neither built in ({built_in} are) nor a file that can be read: {source}", Escaped(file))]
    Read {
        /// Name or path as given.
        file: String,
        /// Names of what is built in.
        built_in: String,
        /// Cause.
        source: TextError,
    },
    /// The file is a recording whose rules and map cannot be used.
    #[error("{}: {source}", Escaped(file))]
    Recording {
        /// Path as given.
        file: String,
        /// Cause.
        source: RecordedError,
    },
    /// The content is invalid.
    #[error("{}:{line}: {}: {}", Escaped(file), Escaped(field), Escaped(message))]
    Invalid {
        /// Name or path as given.
        file: String,
        /// Line, counted from 1.
        line: usize,
        /// Field or section.
        field: String,
        /// Description of the fault.
        message: String,
    },
}

/// Reason why the rules and the map of a recording cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum RecordedError {
    /// It cannot be read.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// Another simulation build recorded it, or they are out of range.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// They have the name of built-in ones and other content.
    #[error("its {what} named {name} are not the built-in ones of that name: guests would refuse them")]
    Disguised {
        /// Rules or map.
        what: &'static str,
        /// Their name.
        name: String,
    },
}

/// Returns the built-in rules of this name, else those in the file at this path, which may be a recording.
///
/// # Errors
/// If there are none, or they are not valid.
pub fn rules(name_or_path: impl AsRef<Path>) -> Result<Arc<Rules>, DataError> {
    let name_or_path = name_or_path.as_ref();
    if let Some(recorded) = recorded(name_or_path, |Setup { rules, .. }| {
        let is_disguised = Origin::of_rules(&rules) == Origin::Disguised;
        if is_disguised { Err(("rules", rules.name.clone())) } else { Ok(rules) }
    }) {
        return recorded;
    }
    let text = text(built_in_rules(), &RULES, name_or_path)?;
    let source = Source { file: &name_or_path.to_string_lossy(), text: &text };
    let rules = parse_rules(&source)?;
    source.refuse_disguised(Origin::of_rules(&rules))?;
    Ok(Arc::new(rules))
}

/// Returns the built-in map of this name, else the one in the file at this path, which may be a recording.
///
/// # Errors
/// If there is none, or it is not valid.
pub fn map(name_or_path: impl AsRef<Path>) -> Result<Arc<Map>, DataError> {
    let name_or_path = name_or_path.as_ref();
    if let Some(recorded) = recorded(name_or_path, |Setup { map, .. }| {
        // Every second match of a series was recorded with the sides swapped.
        let both = [Arc::new(map.with_sides_swapped()), map];
        let [swapped, own] = both.each_ref().map(|map| Origin::of_map(map));
        let [unswapped, map] = both;
        match (own, swapped) {
            (Origin::Disguised, Origin::BuiltIn) => Ok(unswapped),
            (Origin::Disguised, _) => Err(("map", map.name.clone())),
            _ => Ok(map),
        }
    }) {
        return recorded;
    }
    let text = text(built_in_maps(), &MAPS, name_or_path)?;
    let source = Source { file: &name_or_path.to_string_lossy(), text: &text };
    let map = parse_map(&source)?;
    source.refuse_disguised(Origin::of_map(&map))?;
    Ok(Arc::new(map))
}

/// Reads rules or map of the match that a recording is of, which [`Replay`] checks as the bytes of strangers; `None` for
/// a file that is not named like a recording. `choose` returns what and whose name it refuses.
fn recorded<T>(
    path: &Path,
    choose: impl FnOnce(Setup) -> Result<T, (&'static str, String)>,
) -> Option<Result<T, DataError>> {
    let is_recording = path.extension().is_some_and(|it| it == EXTENSION);
    is_recording.then(|| {
        let open = || {
            let setup = Replay::open(path)?.header().setup()?;
            choose(setup).map_err(|(what, name)| RecordedError::Disguised { what, name })
        };
        open().map_err(|source| DataError::Recording { file: path.to_string_lossy().into_owned(), source })
    })
}

/// Returns all built-in rules except those of the tutorial and the ladder.
///
/// # Panics
/// Never: a test loads them all.
#[expect(clippy::expect_used, reason = "a test loads them all")]
pub fn embedded_rules() -> impl Iterator<Item = Arc<Rules>> {
    RULES.iter().map(|(name, _)| rules(name).expect("built-in rules are valid"))
}

/// Returns all built-in maps except those of the tutorial and the ladder.
///
/// # Panics
/// Never: a test loads them all.
#[expect(clippy::expect_used, reason = "a test loads them all")]
pub fn embedded_maps() -> impl Iterator<Item = Arc<Map>> {
    MAPS.iter().map(|(name, _)| map(name).expect("built-in maps are valid"))
}

/// Origin of rules or of a map.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// They are built in.
    BuiltIn,
    /// They come from a file or from a host.
    Own,
    /// They come from there, and have the name of built-in ones: nobody may take them for these.
    Disguised,
}

impl Origin {
    /// Returns the origin of these rules.
    #[must_use]
    pub fn of_rules(rules: &Rules) -> Self {
        Self::of(rules, &rules.name, built_in_rules(), parse_rules)
    }

    /// Returns the origin of this map.
    #[must_use]
    pub fn of_map(map: &Map) -> Self {
        Self::of(map, &map.name, built_in_maps(), parse_map)
    }

    fn of<'a, T: PartialEq>(
        data: &T,
        name: &str,
        mut built_in: impl Iterator<Item = (&'a str, &'a str)>,
        parse: impl Fn(&Source<'_>) -> Result<T, DataError>,
    ) -> Self {
        match built_in.find(|&(of, _)| of == name) {
            None => Self::Own,
            Some((file, text)) if parse(&Source { file, text }).is_ok_and(|own| own == *data) => {
                Self::BuiltIn
            }
            Some(_) => Self::Disguised,
        }
    }
}

/// Tells a room the rules and the map of its next match: their names, and for guests who may have neither the data,
/// unless both are built in.
pub(super) fn announce(
    room: &mut Host,
    config: &MatchConfig,
    rules: Option<&Arc<Rules>>,
    map: Option<&Arc<Map>>,
) {
    let (Some(rules), Some(map)) = rules_and_map(config, rules, map) else {
        return room.set_setup(config.map, None, None);
    };
    let names = SetupName::shortened(&rules.name).and_then(|rules| {
        let map = SetupName::shortened(&map.name)?;
        Ok(SetupNames { rules, map })
    });
    let is_built_in = (Origin::of_rules(&rules), Origin::of_map(&map)) == (Origin::BuiltIn, Origin::BuiltIn);
    let data = (!is_built_in).then(|| SetupData::new(&rules, &map).to_bytes().into());
    room.set_setup(config.map, names.ok(), data);
}

/// Decodes the rules and the map that a host has sent for this match; the map may be that of the next one. If they are
/// those that this player was `given`, nothing is checked.
///
/// # Errors
/// If they cannot be played.
pub(super) fn received(
    config: &MatchConfig,
    given: (Option<&Arc<Rules>>, Option<&Arc<Map>>),
    bytes: &[u8],
) -> Result<(Arc<Rules>, Arc<Map>), WorldError> {
    if let (Some(rules), Some(map)) = given
        && SetupData::new(rules, map).to_bytes() == bytes
    {
        return Ok((rules.clone(), map.clone()));
    }
    let data = SetupData::of_bytes(bytes).ok_or(SetupError::Unreadable)?;
    let (rules, map) = data.open(usize::from(config.seats))?;
    if Origin::of_rules(&rules) == Origin::Disguised || Origin::of_map(&map) == Origin::Disguised {
        return Err(WorldError::Disguised);
    }
    if fingerprint(&*rules) != config.rules {
        return Err(WorldError::UnknownRules(config.rules));
    }
    Ok((rules, map))
}

/// Reason why the world of a host's match cannot be built.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WorldError {
    /// The host plays by rules that are not built in, and has sent others or none.
    #[error("the host plays by rules of its own ({0:016x}), and has not sent them")]
    UnknownRules(u64),
    /// The host plays on a map that is not built in, and has sent another one or none.
    #[error("the host plays on a map of its own ({0:016x}), and has not sent it")]
    UnknownMap(u64),
    /// The rules or the map that the host has sent are invalid.
    #[error("the rules or the map that the host has sent cannot be used: {0}")]
    Sent(#[from] SetupError),
    /// The rules or the map that the host has sent have the name of built-in ones.
    #[error("the rules or the map that the host has sent have a built-in name and other content")]
    Disguised,
    /// The host seats more players than its map has bases.
    #[error(
        "the host seats {seats} players on a map with {bases} bases: it runs another program; update both"
    )]
    Bases {
        /// Number of bases of the map.
        bases: usize,
        /// Number of seats of the match.
        seats: usize,
    },
}

impl WorldError {
    /// Returns the reason as a guest tells it to its host.
    pub(super) const fn unplayable(self) -> Unplayable {
        match self {
            Self::UnknownRules(_) | Self::UnknownMap(_) => Unplayable::Missing,
            Self::Sent(SetupError::Unreadable | SetupError::Name) => Unplayable::Unreadable,
            Self::Sent(SetupError::Rules(_)) | Self::Bases { .. } => Unplayable::OutOfRange,
            Self::Disguised => Unplayable::BuiltInName,
        }
    }
}

/// Builds the world before tick 0 of a match, from the given rules and map if they match the configuration, else from
/// the built-in ones. In every second match of the same players the sides are swapped.
///
/// # Errors
/// If neither match, or if the map has fewer bases than there are seats.
///
/// # Panics
/// If `first`, the state before tick 0 in place of that of the rules, belongs to another match.
#[expect(clippy::expect_used, reason = "the caller made the state for this match")]
pub(super) fn world_of(
    config: &MatchConfig,
    roster: &Roster,
    rules: Option<&Arc<Rules>>,
    map: Option<&Arc<Map>>,
    first: Option<&GameState>,
) -> Result<World, WorldError> {
    let (rules, map) = rules_and_map(config, rules, map);
    let rules = rules.ok_or(WorldError::UnknownRules(config.rules))?;
    let map = map.ok_or(WorldError::UnknownMap(config.map))?;
    let is_swapped = config.game % 2 == 1;
    let map = if is_swapped { Arc::new(map.with_sides_swapped()) } else { map };
    if map.bases.len() < roster.len() {
        return Err(WorldError::Bases { bases: map.bases.len(), seats: roster.len() });
    }
    let seats = roster.iter().map(|seat| SeatSetup { hero: seat.hero, team: seat.team }).collect();
    let mut world = world(Setup { seed: config.seed, tick_rate: config.tick_rate, seats, rules, map });
    if let Some(first) = first {
        world.adopt(first).expect("of this match");
    }
    Ok(world)
}

/// Builds the world before tick 0. It reuses the ground of one of the last few matches if that is the same: the seats
/// of a practice match and of a virtual one, and all matches of a campaign, share theirs.
#[must_use]
pub fn world(setup: Setup) -> World {
    let ground = ground_of(&setup);
    World::on(ground, setup)
}

fn ground_of(setup: &Setup) -> Ground {
    static LATEST: Mutex<ArrayVec<Ground, GROUNDS_MAX>> = Mutex::new(ArrayVec::new_const());
    // A panic in one match of a campaign does not corrupt them.
    let mut latest = LATEST.lock().unwrap_or_else(PoisonError::into_inner);
    let known = latest.iter().position(|ground| ground.is_of(setup));
    let ground = match known {
        Some(at) => latest.remove(at),
        None => Ground::new(setup),
    };
    latest.truncate(GROUNDS_MAX - 1);
    latest.insert(0, ground.clone());
    ground
}

/// Returns the rules and the map of a match: the given ones if they match the configuration, else built-in ones.
pub(super) fn rules_and_map(
    config: &MatchConfig,
    rules: Option<&Arc<Rules>>,
    map: Option<&Arc<Map>>,
) -> (Option<Arc<Rules>>, Option<Arc<Map>>) {
    (find(rules, embedded_rules(), config.rules), find(map, embedded_maps(), config.map))
}

/// Returns the given data if it has this fingerprint, else the built-in data that has it.
fn find<T: serde::Serialize>(
    given: Option<&Arc<T>>,
    embedded: impl Iterator<Item = Arc<T>>,
    print: u64,
) -> Option<Arc<T>> {
    given.cloned().into_iter().chain(embedded).find(|data| fingerprint(&**data) == print)
}

fn built_in_rules() -> impl Iterator<Item = (&'static str, &'static str)> {
    RULES.into_iter().chain(HIDDEN_RULES.iter().map(|(name, text)| (*name, text.as_str())))
}

fn built_in_maps() -> impl Iterator<Item = (&'static str, &'static str)> {
    MAPS.into_iter().chain(HIDDEN_MAPS)
}

/// Returns the standard rules with the keys of `changes` in place of theirs.
#[expect(clippy::expect_used, reason = "a test loads them all")]
fn varied(changes: &str) -> String {
    let [(_, standard), ..] = RULES;
    let [mut rules, changes] = [standard, changes].map(|text| text.parse::<toml::Table>().expect("TOML"));
    rules.extend(changes);
    rules.to_string()
}

/// Returns the text of this name, else that of the file at this path; an error names those that are listed.
fn text<'a>(
    mut built_in: impl Iterator<Item = (&'a str, &'a str)>,
    listed: &[(&str, &str)],
    name_or_path: &Path,
) -> Result<String, DataError> {
    if let Some((_, text)) = built_in.find(|&(name, _)| name_or_path.as_os_str() == name) {
        return Ok(text.to_owned());
    }
    text_file::read(name_or_path, DATA_BYTES_MAX).map_err(|source| {
        let file = name_or_path.to_string_lossy().into_owned();
        let names: Vec<&str> = listed.iter().map(|(name, _)| *name).collect();
        DataError::Read { file, built_in: joined(&names), source }
    })
}

/// Text and its origin, for errors.
struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

impl Source<'_> {
    fn parse<T: DeserializeOwned>(&self) -> Result<T, DataError> {
        toml::from_str(self.text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message();
            let invalid = self.invalid(at, in_plain_words(message));
            let key = error.message().strip_prefix("missing field `").and_then(|rest| rest.strip_suffix('`'));
            match (key, invalid) {
                // It stands nowhere: the line is that where its table begins.
                (Some(key), DataError::Invalid { file, line, .. }) => {
                    let message = "this key is missing".to_owned();
                    DataError::Invalid { file, line, field: key.to_owned(), message }
                }
                (_, invalid) => invalid,
            }
        })
    }

    /// Refuses data of this origin if they have the name of built-in ones.
    fn refuse_disguised(&self, origin: Origin) -> Result<(), DataError> {
        let mut lines = self.text.split_inclusive('\n').scan(0_usize, |end, line| {
            *end = end.saturating_add(line.len());
            Some((end.saturating_sub(line.len()), line))
        });
        let at = lines.find(|(_, line)| line.trim_start().starts_with("name")).map_or(0, |(at, _)| at);
        let why = "it is that of built-in ones with other content: choose another name";
        if origin == Origin::Disguised { Err(self.invalid(at, why)) } else { Ok(()) }
    }

    /// Builds an error at byte `at`.
    fn invalid(&self, at: usize, message: impl Display) -> DataError {
        let before = self.text.get(..at).unwrap_or_default();
        let start = before.rfind('\n').map_or(0, |newline| newline.saturating_add(1));
        let line = self.text.get(start..).and_then(|rest| rest.lines().next()).unwrap_or_default();
        DataError::Invalid {
            file: self.file.to_owned(),
            line: before.matches('\n').count().saturating_add(1),
            field: line.split('=').next().unwrap_or_default().trim().to_owned(),
            message: message.to_string(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const STANDARD_RULES: &str = RULES[0].1;

    pub(super) fn rules_error(from: &str, to: &str) -> String {
        assert!(STANDARD_RULES.contains(from));
        let text = STANDARD_RULES.replacen(from, to, 1);
        parse_rules(&Source { file: "r.toml", text: &text }).expect_err(to).to_string()
    }

    #[test]
    fn built_in_data_loads_by_name() {
        assert!(embedded_rules().map(|rules| rules.name.clone()).eq(RULES.map(|(name, _)| name.to_owned())));
        assert!(embedded_maps().map(|map| map.name.clone()).eq(MAPS.map(|(name, _)| name.to_owned())));
    }

    #[test]
    fn hidden_data_loads_by_name_and_is_not_listed() {
        for (name, _) in &*HIDDEN_RULES {
            assert_eq!(rules(name).expect(name).name, *name);
            assert!(embedded_rules().all(|other| other.name != *name));
        }
        for (name, _) in HIDDEN_MAPS {
            assert_eq!(map(name).expect(name).name, name);
            assert!(embedded_maps().all(|other| other.name != name));
        }
    }

    #[test]
    fn the_hero_of_the_tutorial_is_harmless() {
        let rules = rules(TUTORIAL).expect("built in");
        let harmless = rules.heroes.last().expect("a hero");
        let apart = rules.heroes[0].radius + harmless.radius;
        assert!(harmless.reach < apart && harmless.damage == 0, "a harmless hero");
    }

    #[test]
    fn a_file_without_end_is_refused_with_the_limit() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("large.toml");
        let text = format!("{STANDARD_RULES}#");
        let fill = |length: u64| text.clone() + &"x".repeat(length as usize - text.len());
        for (length, is_read) in [(DATA_BYTES_MAX, true), (DATA_BYTES_MAX + 1, false), (30 << 20, false)] {
            std::fs::write(&file, fill(length)).expect("written");
            for error in [rules(&file).err(), map(&file).err()] {
                let is_too_large =
                    matches!(&error, Some(DataError::Read { source: TextError::TooLarge(_), .. }));
                assert_eq!(is_too_large, !is_read, "{length} bytes: {error:?}");
            }
        }
        if cfg!(unix) {
            let error = rules("/dev/zero").expect_err("no end").to_string();
            assert!(error.contains("/dev/zero") && error.contains("more than 1048576 bytes"), "{error}");
        }
    }

    #[test]
    fn errors_escape_control_characters() {
        let error = rules_error("aggro = 9.5", "\"agg\u{1b}[31mro\" = 9.5");
        assert!(error.contains("\\u{1b}[31m") && !error.contains('\u{1b}'), "{error:?}");
        let error = rules("no\u{1b}[2J.toml").expect_err("no file").to_string();
        assert!(error.starts_with("no\\u{1b}[2J.toml is neither"), "{error:?}");
    }

    #[test]
    fn a_missing_key_is_named() {
        let error = rules_error("turn = ", "# turn = ");
        assert!(error.ends_with("turn: this key is missing"), "{error}");
        let error = parse_map(&Source { file: "empty.toml", text: "" }).expect_err("empty").to_string();
        assert_eq!(error, "empty.toml:1: name: this key is missing");
    }

    #[test]
    fn a_missing_file_is_named_with_what_is_built_in() {
        let error = rules("no/such.toml").expect_err("no file").to_string();
        assert!(error.starts_with("no/such.toml is neither built in (standard and endless are)"), "{error}");
        let error = map("duell").expect_err("no map").to_string();
        assert!(error.starts_with("duell is neither built in (standard, duel and quad are)"), "{error}");
    }
}
