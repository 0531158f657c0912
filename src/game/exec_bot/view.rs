//! The world as a line of JSON, for a player in another process.
#![allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "it reads the columns of a consistent state, and nothing from outside"
)]

use serde::Serialize;

use sim::math::Vec2;
use sim::{ControlBehaviour, MapCircle, PlayerId, SUPPLY, UnitId, World};

/// World as `player` sees it, which is all of it. Places are in 65,536ths of a tile, as in commands.
#[derive(Serialize)]
struct View<'a> {
    tick: u32,
    tick_rate: u32,
    player: u8,
    paused: bool,
    /// Half of the map's width and height: the centre is (0, 0).
    half: [i32; 2],
    players: Vec<PlayerView>,
    cores: Vec<CoreView>,
    circles: Vec<CircleView>,
    units: Vec<UnitView<'a>>,
}

#[derive(Serialize)]
struct PlayerView {
    team: u8,
    score: i32,
    supply: i32,
    training: u8,
    minions: usize,
    hero: Option<UnitId>,
    surrendered: bool,
}

#[derive(Serialize)]
struct CoreView {
    x: i32,
    y: i32,
    hp: i32,
    /// Whether it can be damaged now.
    open: bool,
}

#[derive(Serialize)]
struct CircleView {
    x: i32,
    y: i32,
    owner: Option<u8>,
    contested: bool,
    /// Points per second.
    score: i32,
    /// Supply per minute.
    supply: u16,
}

#[derive(Serialize)]
struct UnitView<'a> {
    id: UnitId,
    kind: &'a str,
    hero: bool,
    owner: u8,
    x: i32,
    y: i32,
    hp: i16,
    order: String,
}

/// Returns the line, with its end.
pub(super) fn line(world: &World, player: PlayerId) -> Vec<u8> {
    let state = world.state();
    let place = |at: Vec2| (at.x.to_bits(), at.y.to_bits());
    // A side is given in thousandths of a tile.
    let half = |side: i32| (i64::from(side) * 65_536 / 2_000) as i32;
    let players = &state.players;
    let view = View {
        tick: state.tick().0,
        tick_rate: world.setup().tick_rate.hz(),
        player: player.0,
        paused: state.pause().is_some(),
        half: [half(world.setup().map.size.0), half(world.setup().map.size.1)],
        players: state
            .player_ids()
            .map(|id| PlayerView {
                team: state.team_of(id),
                score: players.score[id.index()],
                supply: players.supply[id.index()] / SUPPLY,
                training: players.training_len[id.index()],
                minions: state.minions(id),
                hero: state.hero(id).map(|row| state.units.id[row]),
                surrendered: players.surrendered[id.index()] != 0,
            })
            .collect(),
        cores: state
            .player_ids()
            .map(|id| {
                let (x, y) = place(world.base(id));
                CoreView { x, y, hp: state.cores.hp[id.index()], open: state.cores.open[id.index()] != 0 }
            })
            .collect(),
        circles: world
            .circles()
            .iter()
            .enumerate()
            .map(|(row, &at)| {
                let ((x, y), owner) = (place(at), state.circles.owner[row]);
                let owner = Some(owner.0).filter(|_| owner != PlayerId::NONE);
                let MapCircle { score, supply, .. } = world.setup().map.circles[row];
                CircleView { x, y, owner, contested: state.circles.contested[row] != 0, score, supply }
            })
            .collect(),
        units: (0..state.units.len()).map(|row| unit(world, row)).collect(),
    };
    let mut line = serde_json::to_vec(&view).expect("plain data");
    line.push(b'\n');
    line
}

fn unit(world: &World, row: usize) -> UnitView<'_> {
    let units = &world.state().units;
    UnitView {
        id: units.id[row],
        kind: world.unit_rules(row).name.as_str(),
        hero: units.control[row] == ControlBehaviour::Player,
        owner: units.owner[row].0,
        x: units.x[row].to_bits(),
        y: units.y[row].to_bits(),
        hp: units.hp[row],
        order: format!("{:?}", units.order[row]),
    }
}
