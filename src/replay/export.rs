//! Export for other programs: commands and hero keys, the events of a match, and its units at intervals.

use std::io::{self, Read, Seek, Write};
use std::num::NonZeroU32;
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Value, json};

use super::command_json::command_to_json;
use super::format::ReplayEvent;
use super::playback::Playback;
use super::reader::{Record, Replay};
use sim::math::{Fx, Vec2};
use sim::{
    AttackBehaviour, Command, ControlBehaviour, Event, HeroControl, KindId, KindName, Order, PlayerId, Rules,
    Tick, TickRate, UnitId, World,
};

/// Form of an export.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A table with a header.
    Csv,
    /// One list of objects.
    Json,
}

/// Entry of an export.
#[derive(Clone, Debug, PartialEq)]
pub struct Said {
    /// Tick of the entry.
    pub tick: Tick,
    /// Beginning of the tick, in milliseconds from the first tick of the match.
    pub at_ms: f64,
    /// Player concerned.
    pub player: PlayerId,
    /// Content of the entry.
    pub word: Word,
}

/// Content of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Word {
    /// Command.
    Command(Command),
    /// Hero controls from now on.
    Hero(HeroControl),
    /// Departure or loss of the player.
    Event(ReplayEvent),
}

/// Event of a match.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct EventRow {
    /// Tick in which it happened.
    pub tick: Tick,
    /// Beginning of the tick, in milliseconds from the first tick of the match.
    pub at_ms: f64,
    /// Player concerned: of a hit the attacker, of a death, a spawn and a core the owner; `None` for points.
    pub player: Option<PlayerId>,
    /// That player's team, or the team that gained points.
    pub team: Option<u8>,
    /// Name of the event.
    pub kind: &'static str,
    /// Unit that was hit, died or spawned, as `index.generation`.
    pub unit: Option<String>,
    /// `hero` or `minion`, of a unit that died or spawned.
    pub control: Option<&'static str>,
    /// Attack of the unit: of a hit that of the attacker.
    pub attack: Option<&'static str>,
    /// Name of the unit's kind in the rules; `None` for a hit.
    pub name: Option<KindName>,
    /// Place, in tiles from the middle of the map to the right, to a thousandth.
    pub x: Option<f64>,
    /// Place, in tiles from the middle of the map upwards, to a thousandth.
    pub y: Option<f64>,
    /// Hit points of a hit, points of a team, index of a circle.
    pub value: Option<i32>,
}

/// Unit at one time.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct UnitRow {
    /// Tick that the unit is about to run.
    pub tick: Tick,
    /// Beginning of the tick, in milliseconds from the first tick of the match.
    pub at_ms: f64,
    /// Unit, as `index.generation`.
    pub unit: String,
    /// Player it belongs to.
    pub player: PlayerId,
    /// That player's team.
    pub team: u8,
    /// `hero` or `minion`.
    pub control: &'static str,
    /// Attack of the unit.
    pub attack: &'static str,
    /// Name of its kind in the rules.
    pub name: KindName,
    /// Place, in tiles from the middle of the map to the right, to a thousandth.
    pub x: f64,
    /// Place, in tiles from the middle of the map upwards, to a thousandth.
    pub y: f64,
    /// Hit points left.
    pub hp: i16,
    /// Name of its order.
    pub order: &'static str,
}

const EVENT_COLUMNS: [&str; 12] =
    ["tick", "at_ms", "player", "team", "kind", "unit", "control", "attack", "name", "x", "y", "value"];
const UNIT_COLUMNS: [&str; 12] =
    ["tick", "at_ms", "unit", "player", "team", "control", "attack", "name", "x", "y", "hp", "order"];

/// Iterates over all entries, in the order of ticks, as far as the replay goes.
pub fn said<R: Read + Seek>(replay: &mut Replay<R>) -> impl Iterator<Item = Said> {
    let rate = replay.header().tick_rate;
    let mut held = vec![HeroControl::default(); replay.header().seats.len()];
    replay.flat_map(move |record| {
        let mut words = Vec::new();
        match record {
            Record::Tick { inputs, .. } => {
                for ((player, input), before) in inputs.iter().zip(&mut held) {
                    if *before != input.hero {
                        *before = input.hero;
                        words.push(Said::new(rate, inputs.tick, player, Word::Hero(input.hero)));
                    }
                    let commands = input.commands.iter().cloned().map(Word::Command);
                    words.extend(commands.map(|word| Said::new(rate, inputs.tick, player, word)));
                }
            }
            Record::Event { tick, event } => {
                let (ReplayEvent::Left(player) | ReplayEvent::Lost(player)) = event;
                words.push(Said::new(rate, tick, player, Word::Event(event)));
            }
            Record::Keyframe { .. } => {}
        }
        words
    })
}

/// Iterates over the events of all ticks, and the departures of players.
pub fn events<R: Read + Seek>(playback: &mut Playback<R>) -> impl Iterator<Item = EventRow> {
    let rate = playback.world().setup().tick_rate;
    let of_record = move || {
        let record = playback.next_record()?;
        let world = playback.world();
        Some(match record {
            Record::Tick { inputs, .. } => {
                world.events().iter().map(|event| EventRow::of(world, inputs.tick, event)).collect()
            }
            Record::Event { tick, event } => {
                let (kind, player) = match event {
                    ReplayEvent::Left(player) => ("left", player),
                    ReplayEvent::Lost(player) => ("lost", player),
                };
                vec![EventRow { kind, ..EventRow::new(rate, tick) }.by(world, player)]
            }
            Record::Keyframe { .. } => Vec::new(),
        })
    };
    std::iter::from_fn(of_record).flatten()
}

/// Iterates over all living units before each tick that is a multiple of `every`, and at the end if that is one, in the
/// order of their creation.
pub fn states<R: Read + Seek>(
    playback: &mut Playback<R>,
    every: NonZeroU32,
) -> impl Iterator<Item = UnitRow> {
    let units = move |world: &World| {
        let is_due = world.state().tick().0.is_multiple_of(every.get());
        let rows = if is_due { 0..world.state().units.len() } else { 0..0 };
        rows.map(|row| UnitRow::of(world, row)).collect::<Vec<_>>()
    };
    let first = units(playback.world());
    let later = std::iter::from_fn(move || playback.next_tick().map(|(world, _)| units(world)));
    std::iter::once(first).chain(later).flatten()
}

/// Writes all entries ([`said`]): a row of a table has `tick,at_ms,player,name,kind,value`, the value as JSON; an
/// object `tick`, `at_ms`, `player`, and `command`, `hero` or `event`.
///
/// # Errors
/// If they cannot be written.
pub fn write_said<R: Read + Seek>(replay: &mut Replay<R>, form: Form, out: impl Write) -> io::Result<()> {
    let names: Vec<String> = replay.header().seats.iter().map(|seat| seat.name.clone()).collect();
    let rules = rules_of(replay);
    let Form::Csv = form else {
        let rows = said(replay).map(|said| {
            let (kind, value) = said.word.to_json(rules.as_deref());
            json!({"tick": said.tick, "at_ms": said.at_ms, "player": said.player, kind: value})
        });
        return write_rows(&[], rows, form, out);
    };
    let rows = said(replay).map(|said| {
        let name = names.get(said.player.index()).map_or("", String::as_str);
        let (kind, value) = said.word.to_json(rules.as_deref());
        (said.tick, said.at_ms, said.player, name, kind, value.to_string())
    });
    write_rows(&["tick", "at_ms", "player", "name", "kind", "value"], rows, form, out)
}

/// Writes all [`events`].
///
/// # Errors
/// If they cannot be written.
pub fn write_events<R: Read + Seek>(
    playback: &mut Playback<R>,
    form: Form,
    out: impl Write,
) -> io::Result<()> {
    write_rows(&EVENT_COLUMNS, events(playback), form, out)
}

/// Writes all [`states`].
///
/// # Errors
/// If they cannot be written.
pub fn write_states<R: Read + Seek>(
    playback: &mut Playback<R>,
    every: NonZeroU32,
    form: Form,
    out: impl Write,
) -> io::Result<()> {
    write_rows(&UNIT_COLUMNS, states(playback, every), form, out)
}

/// Writes rows, each with a value for every column of a table.
fn write_rows<T: Serialize>(
    columns: &[&str],
    mut rows: impl Iterator<Item = T>,
    form: Form,
    mut out: impl Write,
) -> io::Result<()> {
    match form {
        Form::Csv => {
            let mut table = csv::WriterBuilder::new().has_headers(false).from_writer(out);
            table.write_record(columns)?;
            rows.try_for_each(|row| table.serialize(row))?;
            table.flush()
        }
        Form::Json => {
            out.write_all(b"[")?;
            for (index, row) in rows.enumerate() {
                out.write_all(if index == 0 { b"\n" } else { b",\n" })?;
                serde_json::to_writer(&mut out, &row)?;
            }
            out.write_all(b"\n]\n")?;
            out.flush()
        }
    }
}

/// Returns the rules of the match, for the names of kinds.
fn rules_of<R: Read + Seek>(replay: &Replay<R>) -> Option<Arc<Rules>> {
    replay.header().setup().ok().map(|setup| setup.rules)
}

impl Word {
    /// Returns the kind of content, and the content; commands in the format of `--script`.
    fn to_json(&self, rules: Option<&Rules>) -> (&'static str, Value) {
        match (self, rules) {
            (Self::Command(command), Some(rules)) => ("command", command_to_json(command, rules)),
            (Self::Command(command), None) => ("command", plain(command)),
            (Self::Hero(control), _) => ("hero", plain(control)),
            (Self::Event(event), _) => ("event", plain(event)),
        }
    }
}

impl Said {
    fn new(rate: TickRate, tick: Tick, player: PlayerId, word: Word) -> Self {
        Self { tick, at_ms: ms(rate, tick), player, word }
    }
}

impl EventRow {
    fn new(rate: TickRate, tick: Tick) -> Self {
        Self {
            tick,
            at_ms: ms(rate, tick),
            player: None,
            team: None,
            kind: "",
            unit: None,
            control: None,
            attack: None,
            name: None,
            x: None,
            y: None,
            value: None,
        }
    }

    /// Converts an event of the last tick of a world.
    fn of(world: &World, tick: Tick, event: &Event) -> Self {
        let row = |kind| Self { kind, ..Self::new(world.setup().tick_rate, tick) };
        match *event {
            Event::Hit { unit, at, by, attack, damage } => {
                let hit = Self { value: Some(damage.into()), ..row("hit") };
                let hit = Self { unit: Some(unit.to_string()), attack: Some(attack_name(attack)), ..hit };
                hit.by(world, by).at(at)
            }
            Event::CoreHit { core, by, damage } => {
                Self { value: Some(damage), ..row("core_hit") }.by(world, by).at(world.base(core))
            }
            Event::Death { unit, owner, control, kind, at } => {
                row("death").by(world, owner).at(at).unit(unit, control).of_kind(world, control, kind)
            }
            Event::Spawn { unit, owner, control, at } => {
                let spawn = row("spawn").by(world, owner).at(at).unit(unit, control);
                let kind = world.state().row(unit).and_then(|row| world.state().units.kind.get(row));
                match kind {
                    Some(&kind) => spawn.of_kind(world, control, kind),
                    None => spawn,
                }
            }
            Event::Train { player, kind } => {
                row("train").by(world, player).of_kind(world, ControlBehaviour::Minion, kind)
            }
            Event::Shot { player, at, .. } => row("shot").by(world, player).at(at),
            Event::Blow { player, at, .. } => row("blow").by(world, player).at(at),
            Event::Dash { player, at } => row("dash").by(world, player).at(at),
            Event::Banner { player, at } => row("banner").by(world, player).at(at),
            Event::Capture { circle, player } => {
                let at = world.circles().get(usize::from(circle)).copied().unwrap_or_default();
                Self { value: Some(circle.into()), ..row("capture") }.by(world, player).at(at)
            }
            Event::Shield { core, open } => {
                row(if open { "core_open" } else { "core_shielded" }).by(world, core).at(world.base(core))
            }
            Event::Score { team, points } => Self { team: Some(team), value: Some(points), ..row("score") },
        }
    }

    fn by(self, world: &World, player: PlayerId) -> Self {
        Self { player: Some(player), team: Some(world.state().team_of(player)), ..self }
    }

    fn at(self, at: Vec2) -> Self {
        Self { x: Some(tiles(at.x)), y: Some(tiles(at.y)), ..self }
    }

    fn unit(self, unit: UnitId, control: ControlBehaviour) -> Self {
        Self { unit: Some(unit.to_string()), control: Some(name_of(control)), ..self }
    }

    fn of_kind(self, world: &World, control: ControlBehaviour, kind: KindId) -> Self {
        let rules = world.setup().rules.unit(control, kind);
        Self { attack: Some(attack_name(rules.attack)), name: Some(rules.name), ..self }
    }
}

impl UnitRow {
    #[expect(clippy::indexing_slicing, reason = "a row of a table is in each of its columns")]
    fn of(world: &World, row: usize) -> Self {
        let (state, rate) = (world.state(), world.setup().tick_rate);
        let units = &state.units;
        let (player, at) = (units.owner[row], state.position(row));
        let rules = world.setup().rules.unit(units.control[row], units.kind[row]);
        Self {
            tick: state.tick(),
            at_ms: ms(rate, state.tick()),
            unit: units.id[row].to_string(),
            player,
            team: state.team_of(player),
            control: name_of(units.control[row]),
            attack: attack_name(rules.attack),
            name: rules.name,
            x: tiles(at.x),
            y: tiles(at.y),
            hp: units.hp[row],
            order: order_name(units.order[row]),
        }
    }
}

const fn name_of(control: ControlBehaviour) -> &'static str {
    match control {
        ControlBehaviour::Player => "hero",
        ControlBehaviour::Minion => "minion",
    }
}

const fn attack_name(attack: AttackBehaviour) -> &'static str {
    match attack {
        AttackBehaviour::Swordsman => "swordsman",
        AttackBehaviour::Archer => "archer",
    }
}

const fn order_name(order: Order) -> &'static str {
    match order {
        Order::Idle => "idle",
        Order::Follow => "follow",
        Order::Move => "move",
        Order::AttackMove => "attack_move",
        Order::Attack => "attack",
        Order::Hold => "hold",
    }
}

/// Returns a length in tiles, to a thousandth.
fn tiles(length: Fx) -> f64 {
    (length.to_num::<f64>() * 1000.0).round() / 1000.0
}

/// Returns the beginning of a tick, in milliseconds.
fn ms(rate: TickRate, tick: Tick) -> f64 {
    rate.micros_to(tick) as f64 / 1000.0
}

#[expect(clippy::expect_used, reason = "memory is all it needs")]
fn plain(value: &impl Serialize) -> Value {
    serde_json::to_value(value).expect("plain data encodes")
}
