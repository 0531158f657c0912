//! The events between two states in bits, each in its tick and in order, for who has both states: a unit is named by its
//! row, and what the row says is not sent.
//!
//! A blow and a hit are placed where their unit is on the straight way between the two states; where a unit dies or
//! appears, and where a hero dashes or raises its banner, is exact. `docs/PROTOCOL.md` has the layout.
#![cfg_attr(
    not(test),
    deny(
        clippy::expect_used,
        clippy::unwrap_used,
        clippy::indexing_slicing,
        clippy::arithmetic_side_effects
    )
)]

use alloc::vec::Vec;

use super::bits::{BitReader, BitWriter, Size};
use super::delta::{unzigzag, zigzag};
use crate::event::{EVENTS_MAX, Event, TickEvent};
use crate::math::{Fx, Vec2};
use crate::state::{AttackBehaviour, ControlBehaviour, GameState, KindId, UnitId};
use crate::tick::{PLAYERS_MAX, PlayerId, Tick};

/// Most events that are encoded at once: those of ten seconds of the heaviest fighting of 1,000 units. If there are
/// more, those of the oldest ticks are left out.
pub const EVENTS_AT_ONCE_MAX: usize = 16_384;

/// Bits of a player's or a team's number.
const PLAYER_BITS: u32 = 2;
const _: () = assert!(PLAYERS_MAX == 1 << PLAYER_BITS, "a player's number fits its bits");

/// Appends the events of the ticks that led to `new` to `bytes`: `ticks` has those of each, the last being of the tick
/// before `new`; it may begin later than `base`.
pub fn encode_events<'a>(
    base: &GameState,
    new: &GameState,
    ticks: impl DoubleEndedIterator<Item = &'a [Event]> + Clone,
    bytes: &mut Vec<u8>,
) {
    let mut room = EVENTS_AT_ONCE_MAX;
    let fits = |events: &&[Event]| {
        let left = room.checked_sub(events.len());
        room = left.unwrap_or(0);
        left.is_some()
    };
    let count = ticks.clone().rev().take_while(fits).count();
    let all = ticks.clone().count();
    let mut writer = BitWriter::new(bytes);
    writer.number(&mut Size::of(3), count as u64);
    let mut coding = Coding::new(base, new, count as u32);
    for events in ticks.skip(all.saturating_sub(count)) {
        writer.number(&mut coding.count, events.len() as u64);
        for event in events {
            coding.code(&mut writer, Raw::of(event));
        }
        coding.tick = coding.tick.plus(1);
    }
    writer.end();
}

/// Appends the events that [`encode_events`] gave for the same two states to `events`.
///
/// # Errors
/// If the bytes are not events between these states. Some may have been appended then.
pub fn decode_events(
    base: &GameState,
    new: &GameState,
    bytes: &[u8],
    events: &mut Vec<TickEvent>,
) -> Result<(), MalformedEvents> {
    let mut reader = BitReader::new(bytes);
    let ticks = reader.number(&mut Size::of(3));
    if ticks > u64::from(tick_of(new).since(tick_of(base))) {
        return Err(MalformedEvents);
    }
    let mut coding = Coding::new(base, new, ticks as u32);
    let mut all = 0_usize;
    while coding.tick < coding.end {
        let count = reader.number(&mut coding.count) as usize;
        all = all.saturating_add(count);
        if count > EVENTS_MAX || all > EVENTS_AT_ONCE_MAX || reader.is_overrun() {
            return Err(MalformedEvents);
        }
        for _ in 0..count {
            let raw = coding.code(&mut reader, Raw::default()).filter(|_| !reader.is_overrun());
            let event = raw.and_then(|raw| raw.event(new)).ok_or(MalformedEvents)?;
            events.push(TickEvent { tick: coding.tick, event });
        }
        coding.tick = coding.tick.plus(1);
    }
    let left = reader.left() as u32;
    if !reader.is_overrun() && left < 8 && reader.get(left) == 0 { Ok(()) } else { Err(MalformedEvents) }
}

/// The bytes are not events between the two states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("these bytes are not the events between the two states")]
pub struct MalformedEvents;

/// Bits, written or read by the same code.
trait Bits {
    /// Writes the low `count` bits of `value`, or reads as many. Returns the value.
    fn bits(&mut self, value: u64, count: u32) -> u64;
    /// Writes or reads a number with the adaptive parameter `size`. Returns the number.
    fn number(&mut self, size: &mut Size, number: u64) -> u64;
}

impl Bits for BitWriter<'_> {
    fn bits(&mut self, value: u64, count: u32) -> u64 {
        self.put(value, count);
        value
    }

    fn number(&mut self, size: &mut Size, number: u64) -> u64 {
        self.number(size, number);
        number
    }
}

impl Bits for BitReader<'_> {
    fn bits(&mut self, _: u64, count: u32) -> u64 {
        self.get(count)
    }

    fn number(&mut self, size: &mut Size, _: u64) -> u64 {
        self.number(size)
    }
}

const HIT: u8 = 0;
const BLOW: u8 = 1;
const SHOT: u8 = 2;
/// The first of the kinds that are rare: they take four more bits.
const RARE: u8 = 3;
const CORE_HIT: u8 = 3;
const DEATH: u8 = 4;
const SPAWN: u8 = 5;
const TRAIN: u8 = 6;
const DASH: u8 = 7;
const BANNER: u8 = 8;
const CAPTURE: u8 = 9;
const SHIELD: u8 = 10;
const SCORE: u8 = 11;

/// The fields of an event of any kind; a kind uses some of them.
#[derive(Clone, Copy, Default)]
struct Raw {
    code: u8,
    unit: Named,
    at: Vec2,
    /// The player or the team.
    player: u8,
    /// A number of at most four bits: of an attack, a core, a kind, a circle, or whether a core is open.
    detail: u8,
    /// Damage or points.
    amount: i32,
}

/// A unit, with what its row says.
#[derive(Clone, Copy)]
struct Named {
    id: UnitId,
    owner: PlayerId,
    control: ControlBehaviour,
    kind: KindId,
}

impl Default for Named {
    fn default() -> Self {
        let (owner, control, kind) = (PlayerId(0), ControlBehaviour::Minion, KindId(0));
        Self { id: UnitId::NONE, owner, control, kind }
    }
}

impl Raw {
    fn of(event: &Event) -> Self {
        let blank = Self::default();
        let named = |id, owner: PlayerId| Named { id, owner, ..Named::default() };
        match *event {
            Event::Hit { unit, at, by, attack, damage } => Self {
                code: HIT,
                unit: named(unit, PlayerId(0)),
                at,
                player: by.0,
                detail: u8::from(attack == AttackBehaviour::Archer),
                amount: damage.into(),
            },
            Event::Blow { unit, player, at } => Self { code: BLOW, unit: named(unit, player), at, ..blank },
            Event::Shot { unit, player, at } => Self { code: SHOT, unit: named(unit, player), at, ..blank },
            Event::CoreHit { core, by, damage } => {
                Self { code: CORE_HIT, player: by.0, detail: core.0, amount: damage, ..blank }
            }
            Event::Death { unit: id, owner, control, kind, at } => {
                Self { code: DEATH, unit: Named { id, owner, control, kind }, at, ..blank }
            }
            Event::Spawn { unit, owner, control, at } => {
                Self { code: SPAWN, unit: Named { control, ..named(unit, owner) }, at, ..blank }
            }
            Event::Train { player, kind } => Self { code: TRAIN, player: player.0, detail: kind.0, ..blank },
            Event::Dash { player, at } => Self { code: DASH, player: player.0, at, ..blank },
            Event::Banner { player, at } => Self { code: BANNER, player: player.0, at, ..blank },
            Event::Capture { circle, player } => {
                Self { code: CAPTURE, player: player.0, detail: circle, ..blank }
            }
            Event::Shield { core, open } => {
                Self { code: SHIELD, player: core.0, detail: u8::from(open), ..blank }
            }
            Event::Score { team, points } => Self { code: SCORE, player: team, amount: points, ..blank },
        }
    }

    /// The event, if its players, its circle and its amount exist in a match of this state.
    fn event(self, state: &GameState) -> Option<Event> {
        let Self { code, unit, at, detail, amount, .. } = self;
        let Named { id, owner, control, kind } = unit;
        let exists = |number: u8| Some(PlayerId(number)).filter(|of| of.index() < state.players.len());
        Some(match code {
            HIT => Event::Hit {
                unit: id,
                at,
                by: exists(self.player)?,
                attack: if detail == 0 { AttackBehaviour::Swordsman } else { AttackBehaviour::Archer },
                damage: i16::try_from(amount).ok()?,
            },
            BLOW => Event::Blow { unit: id, player: exists(owner.0)?, at },
            SHOT => Event::Shot { unit: id, player: exists(owner.0)?, at },
            CORE_HIT => Event::CoreHit { core: exists(detail)?, by: exists(self.player)?, damage: amount },
            DEATH => Event::Death { unit: id, owner: exists(owner.0)?, control, kind, at },
            SPAWN => Event::Spawn { unit: id, owner: exists(owner.0)?, control, at },
            TRAIN => Event::Train { player: exists(self.player)?, kind: KindId(detail) },
            DASH => Event::Dash { player: exists(self.player)?, at },
            BANNER => Event::Banner { player: exists(self.player)?, at },
            CAPTURE => {
                let circle = Some(detail).filter(|&circle| usize::from(circle) < state.circles.len())?;
                Event::Capture { circle, player: exists(self.player)? }
            }
            SHIELD => Event::Shield { core: exists(self.player)?, open: detail != 0 },
            SCORE => Event::Score { team: self.player, points: amount },
            _ => return None,
        })
    }
}

/// Context of writing and reading alike: the two states, and the adaptive parameters.
struct Coding<'a> {
    base: &'a GameState,
    new: &'a GameState,
    /// The tick whose events are next, and the one after the last.
    tick: Tick,
    end: Tick,
    count: Size,
    /// The last row of each kind of event that names a unit.
    rows: [(Size, i64); SPAWN as usize + 1],
    /// The last amount of each attack's hits, and of the rest.
    amounts: [i32; 3],
    amount: Size,
    off: Size,
}

impl<'a> Coding<'a> {
    fn new(base: &'a GameState, new: &'a GameState, ticks: u32) -> Self {
        let end = tick_of(new);
        Self {
            base,
            new,
            tick: Tick(end.0.saturating_sub(ticks)),
            end,
            count: Size::of(2),
            rows: [(Size::of(5), 0); SPAWN as usize + 1],
            amounts: [0; 3],
            amount: Size::of(3),
            off: Size::of(10),
        }
    }

    /// Writes or reads one event. `None` if no event has these bits.
    fn code(&mut self, port: &mut impl Bits, raw: Raw) -> Option<Raw> {
        let mut code = port.bits(raw.code.min(RARE).into(), 2) as u8;
        if code == RARE {
            code = port.bits(raw.code.into(), 4) as u8;
        }
        let mut raw = Raw { code, ..raw };
        let mut expected = Vec2::default();
        if matches!(code, HIT | BLOW | SHOT | DEATH | SPAWN) {
            (raw.unit, expected) = self.unit(port, raw)?;
        }
        if !matches!(code, BLOW | SHOT | DEATH | SPAWN) {
            raw.player = port.bits(raw.player.into(), PLAYER_BITS) as u8;
        }
        let detail = match code {
            HIT | SHIELD => 1,
            CORE_HIT => PLAYER_BITS,
            TRAIN | CAPTURE => 4,
            _ => 0,
        };
        raw.detail = port.bits(raw.detail.into(), detail) as u8;
        if matches!(code, HIT | CORE_HIT | SCORE) {
            raw.amount = self.amount(port, &raw)?;
        }
        if matches!(code, DASH | BANNER) {
            expected = self.hero(PlayerId(raw.player));
        }
        raw.at =
            if matches!(code, HIT | BLOW | SHOT) { expected } else { self.place(port, raw.at, expected)? };
        Some(raw)
    }

    /// A unit by its row in the new state or in the base, or else with all that an event says of it; and where it is
    /// expected in this tick.
    fn unit(&mut self, port: &mut impl Bits, raw: Raw) -> Option<(Named, Vec2)> {
        let Raw { code, unit: Named { id, owner, control, kind }, at, .. } = raw;
        let is_in_new = port.bits(self.new.row(id).is_some().into(), 1) != 0;
        if !is_in_new && port.bits(self.base.row(id).is_some().into(), 1) == 0 {
            let [index, generation] = [id.index, id.generation].map(|half| port.bits(half.into(), 16) as u16);
            let owner = PlayerId(port.bits(owner.0.into(), PLAYER_BITS) as u8);
            let is_hero = port.bits((control == ControlBehaviour::Player).into(), 1) != 0;
            let control = if is_hero { ControlBehaviour::Player } else { ControlBehaviour::Minion };
            let kind = KindId(port.bits(kind.0.into(), 4) as u8);
            let named = Named { id: UnitId { index, generation }, owner, control, kind };
            return Some((named, self.place(port, at, Vec2::default())?));
        }
        let state = if is_in_new { self.new } else { self.base };
        let (size, last) = self.rows.get_mut(usize::from(code))?;
        let row = state.row(id).unwrap_or(0) as i64;
        *last = last.wrapping_add(unzigzag(port.number(size, zigzag(row.wrapping_sub(*last)))));
        let row = usize::try_from(*last).ok()?;
        let units = &state.units;
        let named = Named {
            id: *units.id.get(row)?,
            owner: *units.owner.get(row)?,
            control: *units.control.get(row)?,
            kind: *units.kind.get(row)?,
        };
        let here = position(state, row)?;
        let before =
            Some(named.id).filter(|_| is_in_new).and_then(|id| position(self.base, self.base.row(id)?));
        Some((named, before.map_or(here, |before| self.between(before, here))))
    }

    /// The point on the way between the two states at which a unit is in this tick.
    fn between(&self, from: Vec2, to: Vec2) -> Vec2 {
        let (base, end) = (tick_of(self.base), i64::from(self.end.0));
        let of = end.saturating_sub(base.0.into()).max(1);
        let share = i64::from(self.tick.since(base)).min(of);
        let part = |from: Fx, to: Fx| {
            let way = i64::from(to.to_bits()).saturating_sub(from.to_bits().into());
            let passed = way.saturating_mul(share).checked_div(of).unwrap_or(0);
            Fx::from_bits(from.to_bits().wrapping_add(passed as i32))
        };
        Vec2 { x: part(from.x, to.x), y: part(from.y, to.y) }
    }

    /// Returns the position of a player's hero: in the base or, if it has none, in the new state.
    fn hero(&self, player: PlayerId) -> Vec2 {
        let in_new = || position(self.new, self.new.hero(player)?);
        let in_base = || position(self.base, self.base.hero(player)?);
        in_base().or_else(in_new).unwrap_or_default()
    }

    /// A place near the expected one, exactly.
    fn place(&mut self, port: &mut impl Bits, at: Vec2, expected: Vec2) -> Option<Vec2> {
        let mut part = |at: Fx, expected: Fx| {
            let off = i64::from(at.to_bits()).wrapping_sub(expected.to_bits().into());
            let off = unzigzag(port.number(&mut self.off, zigzag(off)));
            i32::try_from(off.wrapping_add(expected.to_bits().into())).ok().map(Fx::from_bits)
        };
        Some(Vec2 { x: part(at.x, expected.x)?, y: part(at.y, expected.y)? })
    }

    /// Damage or points: mostly as many as the last time.
    fn amount(&mut self, port: &mut impl Bits, raw: &Raw) -> Option<i32> {
        let class = if raw.code == HIT { usize::from(raw.detail) } else { 2 };
        let last = self.amounts.get_mut(class)?;
        if port.bits((raw.amount != *last).into(), 1) != 0 {
            let amount = unzigzag(port.number(&mut self.amount, zigzag(raw.amount.into())));
            *last = i32::try_from(amount).ok()?;
        }
        Some(*last)
    }
}

/// The tick of a state; 0 for a state without globals.
fn tick_of(state: &GameState) -> Tick {
    state.globals.tick.first().copied().unwrap_or_default()
}

fn position(state: &GameState, row: usize) -> Option<Vec2> {
    Some(Vec2 { x: *state.units.x.get(row)?, y: *state.units.y.get(row)? })
}
