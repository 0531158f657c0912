//! The events between two states: in bits, and back.

use crate::common::setup;
use sim::*;

/// Events of every kind, of a tick in which nothing moves, so that each place is exact.
fn of_every_kind(state: &GameState, player: PlayerId) -> Vec<Event> {
    let hero = state.players.hero[player.index()];
    let row = state.row(hero).expect("it lives");
    let (at, other) = (state.position(row), PlayerId(1 - player.0));
    let (control, kind) = (state.units.control[row], state.units.kind[row]);
    let hit = |attack| Event::Hit { unit: hero, at, by: other, attack, damage: 31 };
    vec![
        hit(AttackBehaviour::Swordsman),
        hit(AttackBehaviour::Archer),
        Event::Blow { unit: hero, player, at },
        Event::Shot { unit: hero, player, at },
        Event::CoreHit { core: player, by: other, damage: 1_000 },
        Event::Death { unit: hero, owner: player, control, kind, at },
        Event::Spawn { unit: hero, owner: player, control, at },
        Event::Train { player, kind: KindId(1) },
        Event::Dash { player, at },
        Event::Banner { player, at },
        Event::Capture { circle: 1, player },
        Event::Shield { core: player, open: true },
        Event::Shield { core: player, open: false },
        Event::Score { team: player.0, points: 3 },
    ]
}

#[test]
fn events_of_every_kind_come_back_as_they_were() {
    let mut world = World::new(setup("standard", "standard", 1, 60, true));
    let base = world.state().clone();
    world.step(&TickInputs::idle(Tick(0), 2));
    world.step(&TickInputs::idle(Tick(1), 2));
    let new = world.state();
    let ticks = [0, 1].map(|player| of_every_kind(new, PlayerId(player)));
    let (mut bytes, mut again) = (Vec::new(), Vec::new());
    encode_events(&base, new, ticks.iter().map(|events| &events[..]), &mut bytes);
    assert_eq!(decode_events(&base, new, &bytes, &mut again), Ok(()));
    let all = ticks
        .into_iter()
        .zip(0..)
        .flat_map(|(events, tick)| events.into_iter().map(move |event| (tick, event)));
    let expected: Vec<_> = all.map(|(tick, event)| TickEvent { tick: Tick(tick), event }).collect();
    assert_eq!(again, expected);
}
