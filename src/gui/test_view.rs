//! What tests of the window look at.

use std::sync::Arc;

use game::{View, data};
use net::Time;
use sim::{AttackBehaviour, PlayerId, SeatSetup, Setup, TickRate, World};

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
