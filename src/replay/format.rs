//! The file format of replays: header, frames, and the limits that a reader enforces.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use serde::{Deserialize, Serialize};

use crate::VERSION;
pub(super) use crate::canonical::{append, decode, encode};
use crate::setup_data::{SetupData, SetupError};
use sim::is_hidden;
use sim::{PLAYERS_MAX, PlayerId, PlayerInput, SIMULATION_BUILD, SeatSetup, Setup, Tick, TickRate};

/// Extension of a finished replay.
pub const EXTENSION: &str = "mra";
/// Extension of a replay while it is being written, and after a crash.
pub const PART_EXTENSION: &str = "mra.part";
/// Format version of a match from its beginning.
pub const FORMAT_VERSION: u16 = 1;
/// Format version of a file that begins in the middle of a match: its first frame is the keyframe of that tick.
pub const CUT_VERSION: u16 = 2;
/// Maximum size of an encoded header, in bytes.
pub const HEADER_MAX: usize = 64 << 10;
/// Maximum size of a frame's payload, in bytes.
pub const FRAME_MAX: usize = 1 << 20;
/// Maximum size of a replay, in bytes.
pub const FILE_MAX: u64 = 1 << 30;
/// Maximum length of a player's name, and of the two version strings, in bytes.
pub const NAME_MAX: usize = 48;
/// Number of ticks between recorded state hashes: after ticks 9, 19, 29...
pub const HASH_TICKS: u32 = 10;
/// Interval between keyframes, in seconds.
pub const KEYFRAME_SECONDS: u32 = 5;

/// Magic number: a high bit, line ends of both kinds and an end-of-file character, so that a text-mode transfer
/// breaks it.
pub(super) const MAGIC: [u8; 8] = *b"\x8aMRA\r\n\x1a\n";
/// Size of magic number, format version, header length, and their CRC: the same in every version.
pub(super) const PREFIX: usize = 8 + 2 + 4 + 4;
/// First bytes of every frame.
pub(super) const SYNC: [u8; 2] = [0xa7, 0x4c];
/// Size of sync bytes, type, length, and their CRC.
pub(super) const FRAME_PREFIX: usize = 2 + 1 + 4 + 4;
/// Size of the CRC after the payload.
pub(super) const FRAME_SUFFIX: usize = 4;
/// Maximum number of ticks in one frame of inputs.
pub(super) const FRAME_TICKS_MAX: u32 = 4096;
/// Size of first tick and count, before the inputs or hashes of a run.
pub(super) const RUN_PREFIX: usize = 4 + 2;
/// Length of the truncated hash chain, in bytes.
pub(super) const CHAIN: usize = 16;
/// Maximum length of an outcome, in bytes.
pub(super) const OUTCOME_MAX: usize = 24;

/// Setup of a match, and its players.
///
/// Rules and map are nested as opaque bytes, so that a header of another simulation build is still readable;
/// [`Self::setup`] decodes and checks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayHeader {
    /// [`SIMULATION_BUILD`] of the program that recorded it.
    pub simulation_build: u32,
    /// Version of that program.
    pub program: String,
    /// Platform of that program, such as `x86_64-linux`.
    pub machine: String,
    /// Start of the match, in seconds since 1970 by that computer's clock; for lists only.
    pub started_unix_s: u64,
    /// Seat of the peer that recorded it; `None` for a server.
    pub recorder: Option<PlayerId>,
    /// Seats in order.
    pub seats: ArrayVec<ReplaySeat, PLAYERS_MAX>,
    /// Seed of the random numbers.
    pub seed: u64,
    /// Ticks per second.
    pub tick_rate: TickRate,
    /// Name of the rules.
    pub rules_name: String,
    /// Name of the map.
    pub map_name: String,
    data: SetupData,
}

/// Seat of a recorded match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplaySeat {
    /// Name of the player.
    pub name: String,
    /// Hero and team.
    pub setup: SeatSetup,
}

/// Event of a seat, outside of the simulation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum ReplayEvent {
    /// The player left the match.
    Left(PlayerId),
    /// The connection to the player was lost.
    Lost(PlayerId),
}

/// Result of a match.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReplayResult {
    /// Outcome: `core`, `tick_limit`, `peer_left`...
    pub outcome: String,
    /// Team that won, if any.
    pub winner: Option<u8>,
}

/// Reason why a header cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HeaderError {
    /// A name or version string is too long or has invisible characters.
    #[error(
        "{0:?} is not a valid name in a replay: it has at most {NAME_MAX} bytes, without control, invisible or bidirectional formatting characters"
    )]
    Name(String),
    /// There are not 2 to 4 seats, or one has an invalid team, or the recorder has none of them.
    #[error("a replay needs 2 to {PLAYERS_MAX} seats with teams below {PLAYERS_MAX}")]
    Seats,
    /// Another simulation build recorded the match.
    #[error(
        "recorded by arena {program} with simulation {build}; this is arena {VERSION} with simulation \
         {SIMULATION_BUILD}: use the version that recorded it"
    )]
    ForeignBuild {
        /// Number of that build.
        build: u32,
        /// Version of a program with that build.
        program: String,
    },
    /// The rules or the map cannot be used.
    #[error("the rules or the map inside the replay: {0}")]
    Setup(#[from] SetupError),
    /// The header is longer than [`HEADER_MAX`].
    #[error("the header takes {0} bytes, more than the {HEADER_MAX} of a replay: use a smaller map")]
    TooLong(usize),
}

impl ReplayHeader {
    /// Builds the header of a match that begins from `setup`, recorded by this program on this machine.
    ///
    /// # Errors
    /// If there is not one valid name per seat, or the setup could not be played back.
    pub fn new<S: AsRef<str>>(
        setup: &Setup,
        names: &[S],
        recorder: Option<PlayerId>,
        started_unix_s: u64,
    ) -> Result<Self, HeaderError> {
        if names.len() != setup.seats.len() {
            return Err(HeaderError::Seats);
        }
        let seat = |(name, &setup): (&S, &SeatSetup)| ReplaySeat { name: name.as_ref().into(), setup };
        let header = Self {
            simulation_build: SIMULATION_BUILD,
            program: crate::VERSION.into(),
            machine: format!("{}-{}", std::env::consts::ARCH, std::env::consts::OS),
            started_unix_s,
            recorder,
            seats: names.iter().zip(&setup.seats).map(seat).collect(),
            seed: setup.seed,
            tick_rate: setup.tick_rate,
            rules_name: setup.rules.name.clone(),
            map_name: setup.map.name.clone(),
            data: SetupData::new(&setup.rules, &setup.map),
        };
        header.check()?;
        header.setup()?;
        Ok(header)
    }

    /// Returns the error that names the header's simulation build.
    pub(super) fn foreign(&self) -> HeaderError {
        HeaderError::ForeignBuild { build: self.simulation_build, program: self.program.clone() }
    }

    /// Returns the setup of a world of this match.
    ///
    /// # Errors
    /// If another simulation build recorded it, or its rules or map are invalid for the simulation.
    pub fn setup(&self) -> Result<Setup, HeaderError> {
        if self.simulation_build != SIMULATION_BUILD {
            return Err(self.foreign());
        }
        let (rules, map) = self.data.open(self.seats.len())?;
        Ok(Setup {
            seed: self.seed,
            tick_rate: self.tick_rate,
            seats: self.seats.iter().map(|seat| seat.setup).collect(),
            rules,
            map,
        })
    }

    /// Iterates over the players of a team, in seat order.
    pub fn players_of(&self, team: u8) -> impl Iterator<Item = PlayerId> {
        let seats = self.seats.iter().enumerate();
        seats.filter(move |(_, seat)| seat.setup.team == team).map(|(index, _)| PlayerId(index as u8))
    }

    /// Returns the number of ticks between keyframes.
    pub(super) fn keyframe_ticks(&self) -> u32 {
        KEYFRAME_SECONDS.saturating_mul(self.tick_rate.hz())
    }

    /// Encodes the beginning of a file of this version: everything before the first frame.
    pub(super) fn encode(&self, version: u16) -> Result<Vec<u8>, HeaderError> {
        self.check()?;
        let body = encode(self);
        if body.len() > HEADER_MAX {
            return Err(HeaderError::TooLong(body.len()));
        }
        let mut file = MAGIC.to_vec();
        file.extend(version.to_le_bytes());
        file.extend((body.len() as u32).to_le_bytes());
        file.extend(crc32fast::hash(&file).to_le_bytes());
        file.extend(&body);
        file.extend(crc32fast::hash(&file).to_le_bytes());
        Ok(file)
    }

    /// Decodes a header, if `body` is the canonical encoding of a valid one.
    pub(super) fn decode(body: &[u8]) -> Option<Self> {
        decode::<Self>(body).filter(|header| header.check().is_ok())
    }

    fn check(&self) -> Result<(), HeaderError> {
        let seats = self.seats.len();
        let known = |player: PlayerId| player.index() < seats;
        let team = |seat: &ReplaySeat| usize::from(seat.setup.team) < PLAYERS_MAX;
        if seats < 2 || !self.seats.iter().all(team) || !self.recorder.is_none_or(known) {
            return Err(HeaderError::Seats);
        }
        let texts = [&self.program, &self.machine, &self.rules_name, &self.map_name];
        let mut names = self.seats.iter().map(|seat| &seat.name).chain(texts);
        match names.find(|name| name.len() > NAME_MAX || name.chars().any(is_hidden)) {
            Some(name) => Err(HeaderError::Name(name.clone())),
            None => Ok(()),
        }
    }
}

impl ReplayResult {
    /// Whether a trailer may contain it: a short word of lower-case letters, and a possible team.
    pub(super) fn is_sane(&self) -> bool {
        let letters = self.outcome.bytes().all(|b| b.is_ascii_lowercase() || b == b'_');
        letters
            && (1..=OUTCOME_MAX).contains(&self.outcome.len())
            && self.winner.is_none_or(|team| usize::from(team) < PLAYERS_MAX)
    }
}

/// Kind of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FrameKind {
    /// Run of ticks: first tick u32, count u16, then groups of a repeat count and the seats' inputs.
    Inputs = 1,
    /// Hashes due in the run before: first tick u32, count u16, u64 each, then the chain so far.
    Hashes = 2,
    /// State: the next tick u32, then the snapshot.
    Keyframe = 3,
    /// Event of a player: postcard of (tick, event).
    Event = 4,
    /// End of the file: postcard of a [`TrailerBody`], then the payload's length u32, to find it from the end.
    Trailer = 5,
}

impl FrameKind {
    pub(super) const fn of(byte: u8) -> Option<Self> {
        Some(match byte {
            1 => Self::Inputs,
            2 => Self::Hashes,
            3 => Self::Keyframe,
            4 => Self::Event,
            5 => Self::Trailer,
            _ => return None,
        })
    }
}

/// Content of the trailer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct TrailerBody {
    pub(super) result: ReplayResult,
    /// Number of ticks that ran.
    pub(super) ticks: u32,
    /// State hash after the last tick; `None` if none ran.
    pub(super) final_hash: Option<u64>,
    /// Hash chain of everything before the trailer.
    pub(super) chain: [u8; CHAIN],
    /// Tick and file offset of each keyframe.
    pub(super) keyframes: Vec<(Tick, u64)>,
}

/// Returns the bytes at the beginning of a frame.
pub(super) fn frame_prefix(kind: FrameKind, len: usize) -> [u8; FRAME_PREFIX] {
    let mut prefix = [0; FRAME_PREFIX];
    prefix[..2].copy_from_slice(&SYNC);
    prefix[2] = kind as u8;
    prefix[3..7].copy_from_slice(&(len as u32).to_le_bytes());
    let crc = crc32fast::hash(&prefix[..7]);
    prefix[7..].copy_from_slice(&crc.to_le_bytes());
    prefix
}

/// Returns the truncated form of a running hash over the file.
pub(super) fn chain_of(hasher: &blake3::Hasher) -> [u8; CHAIN] {
    let mut chain = [0; CHAIN];
    chain.copy_from_slice(&hasher.finalize().as_bytes()[..CHAIN]);
    chain
}

/// Whether a state hash is recorded after `tick`.
pub(super) const fn is_hashed(tick: Tick) -> bool {
    tick.0 % HASH_TICKS == HASH_TICKS - 1
}

/// Returns the first tick from `tick` on after which a state hash is recorded.
pub(super) const fn next_hashed(tick: Tick) -> Tick {
    Tick(tick.0.saturating_sub(tick.0 % HASH_TICKS).saturating_add(HASH_TICKS - 1))
}

/// Returns the number of hashes that belong to `count` ticks from `first` on.
pub(super) const fn hashes_in(first: Tick, count: u32) -> u32 {
    (first.0.saturating_add(count) / HASH_TICKS).saturating_sub(first.0 / HASH_TICKS)
}

/// Appends the inputs of one tick to `to`, which allocates only while it grows.
pub(super) fn encode_inputs(inputs: &[PlayerInput], to: &mut Vec<u8>) {
    for input in inputs {
        append(input, to);
    }
}

/// Inputs of one tick, in seat order.
pub(super) type SeatInputs = ArrayVec<PlayerInput, PLAYERS_MAX>;

/// Decodes the inputs of `seats` players from the front of `bytes`, and returns the rest.
pub(super) fn decode_inputs(mut bytes: &[u8], seats: usize) -> Option<(SeatInputs, &[u8])> {
    let mut inputs = ArrayVec::new();
    for _ in 0..seats {
        let (input, rest) = postcard::take_from_bytes(bytes).ok()?;
        inputs.push(input);
        bytes = rest;
    }
    Some((inputs, bytes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{
        AttackBehaviour, Heroes, KINDS_MAX, KindId, KindName, Map, MinionRules, Minions, Rules, UnitRules,
    };
    use std::sync::Arc;

    fn header(change: impl FnOnce(&mut Rules, &mut Map)) -> ReplayHeader {
        let unit = |attack| UnitRules {
            name: KindName::new("unit").unwrap(),
            attack,
            glyph: None,
            hp: 100,
            speed: 3_000,
            radius: 400,
            reach: 1_400,
            damage: 10,
            cooldown_ms: 1_000,
            windup_ms: 200,
            arrow_speed: 14_000,
            capture: 1_000,
        };
        let minion = |attack| MinionRules {
            unit: unit(attack),
            plural: None,
            cost: 1,
            start: 1,
            train_key: None,
            select_key: None,
        };
        let both = [AttackBehaviour::Swordsman, AttackBehaviour::Archer];
        let (minions, heroes): (Minions, Heroes) =
            (both.map(minion).into_iter().collect(), both.map(unit).into_iter().collect());
        // All other bytes of the rules are 1: only validated fields matter here.
        let bytes = [encode(&"test"), encode(&(minions, heroes)), vec![1; 512]].concat();
        let (mut rules, _): (Rules, _) = postcard::take_from_bytes(&bytes).unwrap();
        rules.arrow_radius = 100;
        rules.circle_radius = 3_000;
        rules.core_radius = 1_500;
        rules.capture_ms = 4_000;
        rules.capture_least_ms = 2_000;
        rules.core_hp = 2_000;
        rules.burn_behind = 1;
        rules.burn_shared = 1;
        rules.hero_score = 1;
        rules.score_to_win = 1;
        rules.regeneration_per_s = 1;
        rules.aggro = 1;
        rules.guard = 1;
        rules.pace_radius = 1;
        rules.archer_keeps = 1;
        rules.dash_length = 1;
        rules.banner_radius = 1;
        let mut map = Map {
            name: "test".into(),
            size: (64_000, 36_000),
            bases: vec![(-28_000, 0), (28_000, 0)],
            circles: vec![sim::MapCircle::plain((0, 0))],
            walls: Vec::new(),
            rocks: Vec::new(),
        };
        let seat = |team| SeatSetup { hero: KindId(1), team };
        let setup = Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: Arc::new(rules.clone()),
            map: Arc::new(map.clone()),
        };
        let mut header = ReplayHeader::new(&setup, &["a", "b"], None, 0).unwrap();
        change(&mut rules, &mut map);
        header.data = SetupData::new(&rules, &map);
        header
    }

    #[test]
    fn rules_and_maps_out_of_range_never_reach_a_world() {
        assert!(header(|_, _| {}).setup().is_ok());
        let refused = |change: fn(&mut Rules, &mut Map), field: &str| match header(change).setup() {
            Err(HeaderError::Setup(SetupError::Rules(error))) => assert_eq!(error.field, field),
            other => panic!("{field}: {other:?}"),
        };
        refused(|rules, _| rules.minions[0].unit.hp = 0, "unit.hp");
        refused(|rules, _| rules.minions[1].unit.arrow_speed = 0, "unit.arrow_speed");
        refused(|rules, _| rules.minions[0].unit.capture = 10_001, "unit.capture");
        refused(|rules, _| rules.heroes[0].speed = i32::MAX, "unit.speed");
        refused(|rules, _| rules.heroes[1].cooldown_ms = u32::MAX, "unit.cooldown_ms");
        refused(|rules, _| rules.minions.clear(), "minions");
        refused(|rules, _| rules.heroes.clear(), "heroes");
        refused(
            |rules, _| {
                while rules.heroes.len() + rules.minions.len() <= KINDS_MAX {
                    rules.heroes.push(rules.heroes[0].clone());
                }
            },
            "heroes",
        );
        refused(|rules, _| rules.dash_ms = 0, "dash_ms");
        refused(|rules, _| rules.turn_per_s = u32::MAX, "turn_per_s");
        refused(|rules, _| rules.training_max = 9, "training_max");
        refused(|rules, _| rules.supply_per_minute = 6_001, "supply_per_minute");
        refused(|rules, _| rules.capture_least_ms = 4_001, "capture_least_ms");
        refused(|_, map| map.size.0 = 128_001, "map.size.x");
        refused(|_, map| map.size.1 = 0, "map.size.y");
        refused(|_, map| map.bases.truncate(1), "map.bases");
        refused(|_, map| map.bases[1].0 = 32_001, "map.bases.x");
        refused(|_, map| map.circles[0].at.1 = i32::MIN, "map.circles.y");
        refused(|_, map| map.circles = vec![sim::MapCircle::plain((0, 0)); 9], "map.circles");
        refused(|_, map| map.circles[0].score = 101, "map.circles.score");
        refused(|_, map| map.circles[0].supply = 6_001, "map.circles.supply");
        refused(|_, map| map.walls.push(sim::Wall { min: (5, 5), max: (5, 9) }), "map.walls.max.x");
        refused(|_, map| map.rocks.push(sim::Rock { at: (0, 0), radius: 0 }), "map.rocks.radius");
    }

    #[test]
    fn names_with_invisible_or_bidirectional_characters_are_refused() {
        for (name, is_good) in
            [("Zoë", true), ("a\u{1b}b", false), ("a\u{202e}b", false), ("\u{200b}", false)]
        {
            let mut header = header(|_, _| {});
            header.seats[1].name = name.into();
            assert_eq!(header.check().is_ok(), is_good, "{name:?}");
        }
    }

    #[test]
    fn bytes_that_do_not_encode_rules_are_refused() {
        let mut header = header(|_, _| {});
        // Lengths of the rules and of the map, then nothing that either could be.
        header.data = SetupData::of_bytes(&[1, 0, 0]).unwrap();
        assert_eq!(header.setup(), Err(HeaderError::Setup(SetupError::Unreadable)));
        header.data = SetupData::of_bytes(&[0, 0]).unwrap();
        assert_eq!(header.setup(), Err(HeaderError::Setup(SetupError::Unreadable)));
        // The players can still be read.
        let file = header.encode(FORMAT_VERSION).unwrap();
        let body = &file[PREFIX..file.len() - 4];
        assert_eq!(ReplayHeader::decode(body).unwrap().seats[1].name, "b");
    }

    #[test]
    fn hashes_fall_due_after_every_tenth_tick() {
        assert!(is_hashed(Tick(9)) && !is_hashed(Tick(10)));
        assert_eq!(
            (next_hashed(Tick(0)), next_hashed(Tick(9)), next_hashed(Tick(10))),
            (Tick(9), Tick(9), Tick(19))
        );
        for (first, count) in [(0, 9), (0, 10), (9, 1), (10, 9), (15, 15), (7, 4096)] {
            let due = (first..first + count).filter(|&tick| is_hashed(Tick(tick))).count();
            assert_eq!(hashes_in(Tick(first), count) as usize, due, "{count} from {first}");
        }
    }
}
