//! The desync report, which is the same on all peers.

use arrayvec::ArrayVec;
use core::fmt;
use serde::{Serialize, Serializer};

use net::Equivocation;
use sim::{GameState, PLAYERS_MAX, PlayerId, StateHash, Tick};

/// First difference between the peers' states. All peers write the same report: lists are in the order of seats.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DesyncReport {
    /// First tick after which the states differ.
    pub tick: u32,
    /// Owners of the states.
    pub seats: ArrayVec<Party, PLAYERS_MAX>,
    /// Parties whose state differs from that of the majority, or from the result of running a client's ticks again;
    /// empty if undecided.
    pub odd: ArrayVec<Party, PLAYERS_MAX>,
    /// Table, if the states were available for comparison.
    pub part: Option<&'static str>,
    /// Row in that table.
    pub row: Option<usize>,
    /// Unit in that row, as `index.generation`, where the table has units.
    pub unit: Option<String>,
    /// Column of the difference.
    pub field: Option<&'static str>,
    /// Value in each state, fixed-point numbers by their bits; null if the row does not exist, or if the state first
    /// differs in another field.
    pub values: ArrayVec<Option<i64>, PLAYERS_MAX>,
    /// Tables that differ.
    pub parts: Vec<&'static str>,
    /// Hash of each state.
    pub hashes: ArrayVec<Option<String>, PLAYERS_MAX>,
    /// Seed of the match.
    pub seed: u64,
    /// Proof that a player sent different inputs to different peers, if there is one.
    #[serde(serialize_with = "equivocation")]
    pub equivocation: Option<Equivocation>,
}

/// Owner of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Party {
    /// A peer or a client.
    Seat(PlayerId),
    /// The server, which has no seat.
    Server,
}

/// Party and its state, if known.
pub(super) type Side<'a> = (Party, Option<&'a GameState>);

impl DesyncReport {
    /// Compares the parties' states after `tick`. If a state is missing, only the tick is known.
    #[must_use]
    pub(super) fn new(tick: Tick, seed: u64, mut sides: ArrayVec<Side<'_>, PLAYERS_MAX>) -> Self {
        sides.sort_by_key(|&(party, _)| party);
        let hashes: ArrayVec<Option<StateHash>, PLAYERS_MAX> =
            sides.iter().map(|(_, state)| state.map(GameState::hash)).collect();
        let most = majority(&hashes);
        // The states are compared with one of the majority, if there is one.
        let model = most.unwrap_or(0);
        let differs = |&i: &usize| hashes[i] != hashes[model];
        let other = (0..sides.len()).find(differs);
        let difference = |i: usize| {
            let (a, b) = if model < i { (model, i) } else { (i, model) };
            let found = sides[a].1?.difference(sides[b].1?)?;
            Some(if model < i { found } else { sim::Difference { values: swapped(found.values), ..found } })
        };
        let first = other.and_then(difference);
        let value = |i: usize| {
            let first = first.as_ref()?;
            if hashes[i] == hashes[model] {
                return first.values[0];
            }
            let own = difference(i)?;
            let is_same = (own.part, own.row, own.field) == (first.part, first.row, first.field);
            own.values[1].filter(|_| is_same)
        };
        Self {
            tick: tick.0,
            seats: sides.iter().map(|&(party, _)| party).collect(),
            odd: (0..sides.len()).filter(|i| most.is_some() && differs(i)).map(|i| sides[i].0).collect(),
            part: first.as_ref().map(|found| found.part),
            row: first.as_ref().map(|found| found.row),
            unit: first.as_ref().and_then(|found| Some(found.unit?.to_string())),
            field: first.as_ref().map(|found| found.field),
            values: (0..sides.len()).map(value).collect(),
            parts: other.map_or_else(Vec::new, |other| parts_that_differ(hashes[model], hashes[other])),
            hashes: hashes.iter().map(|hash| hash.map(|hash| format!("{:016x}", hash.whole))).collect(),
            seed,
            equivocation: None,
        }
    }
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Seat(player) => write!(f, "{player}"),
            Self::Server => f.write_str("server"),
        }
    }
}

/// Serialises as a seat's number, or `"server"`.
impl Serialize for Party {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Seat(player) => serializer.serialize_u8(player.0),
            Self::Server => serializer.serialize_str("server"),
        }
    }
}

/// Serialises in hex everything that a third party needs to check the proof.
fn equivocation<S: Serializer>(found: &Option<Equivocation>, serializer: S) -> Result<S::Ok, S::Error> {
    #[derive(Serialize)]
    struct Said {
        seat: u8,
        tick: u32,
        chains: [String; 2],
        signatures: [String; 2],
        public_key: String,
        match_id: String,
    }
    let said = found.as_ref().map(|found| Said {
        seat: found.seat.0,
        tick: found.tick.0,
        chains: found.chains.each_ref().map(|chain| hex(chain)),
        signatures: found.signatures.each_ref().map(|signature| hex(signature.as_flattened())),
        public_key: hex(&found.key),
        match_id: hex(&found.match_id),
    });
    said.serialize(serializer)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

const fn swapped(values: [Option<i64>; 2]) -> [Option<i64>; 2] {
    [values[1], values[0]]
}

/// Returns the index of a member of the majority, if more than half of the peers have the same state.
fn majority(hashes: &[Option<StateHash>]) -> Option<usize> {
    let alike = |hash| hashes.iter().filter(|&other| other == hash).count();
    hashes.iter().position(|hash| hash.is_some() && alike(hash) * 2 > hashes.len())
}

fn parts_that_differ(a: Option<StateHash>, b: Option<StateHash>) -> Vec<&'static str> {
    let (Some(a), Some(b)) = (a, b) else { return Vec::new() };
    let pairs = a.parts.into_iter().zip(b.parts).zip(GameState::PARTS);
    pairs.filter(|((a, b), _)| a != b).map(|(_, part)| part).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::{KindId, SeatSetup, Setup, TickRate, World};

    fn world() -> World {
        let seat = |team| SeatSetup { hero: KindId(0), team };
        World::new(Setup {
            seed: 1,
            tick_rate: TickRate::HZ_60,
            seats: [seat(0), seat(1)].into_iter().collect(),
            rules: crate::data::rules("standard").expect("built in"),
            map: crate::data::map("standard").expect("built in"),
        })
    }

    #[test]
    fn who_differs_from_the_majority_is_odd_in_any_seat() {
        let (most, mut other) = (world(), world());
        other.disturb("units[0].hp").expect("there is one");
        let report = |states: &[&World]| {
            let seats = (0..).map(|seat| Party::Seat(PlayerId(seat)));
            let sides = seats.zip(states).map(|(party, world)| (party, Some(world.state())));
            DesyncReport::new(Tick(4), 1, sides.collect())
        };
        for odd in 0..3 {
            let mut states = [&most; 3];
            states[odd] = &other;
            let report = report(&states);
            assert_eq!(report.odd[..], [Party::Seat(PlayerId(odd as u8))]);
            assert_eq!((report.part, report.row, report.field), (Some("units"), Some(0), Some("hp")));
            let value = |world: &World| Some(i64::from(world.state().units.hp[0]));
            assert!(report.values.iter().eq(states.map(value).iter()), "{:?}", report.values);
        }
        assert!(report(&[&most, &other]).odd.is_empty(), "one against one is undecided");
    }
}
