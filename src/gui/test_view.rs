//! What tests of the window look at.

use std::sync::Arc;

use mini_rts_arena::game::{View, data};
use mini_rts_arena::net::Time;
use mini_rts_arena::sim::{AttackBehaviour, PlayerId, SeatSetup, Setup, TickRate, World};

/// A match of two swordsmen before its first tick, seen by a player or by a spectator.
pub(crate) fn test_view(me: Option<PlayerId>) -> View {
    let seat = |team| SeatSetup { hero: AttackBehaviour::Swordsman, team };
    let world = World::new(Setup {
        seed: 1,
        tick_rate: TickRate::HZ_60,
        seats: [seat(0), seat(1)].into_iter().collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map("standard").expect("built in"),
    });
    View::new(&world, Arc::new([]), me, Time(0))
}
