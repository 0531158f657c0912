//! Views for the window's tests.

use game::{View, data};
use net::Time;
use sim::{KindId, PlayerId, SeatSetup, Setup, TickRate, World};

/// Builds a match of two before its first tick, each with the first hero, seen by a player or by a spectator.
pub(crate) fn test_view(me: Option<PlayerId>) -> View {
    test_view_of(&[0, 1], &[], me)
}

/// A match of these teams with these names before its first tick.
pub(crate) fn test_view_of(teams: &[u8], names: &[&str], me: Option<PlayerId>) -> View {
    let seat = |&team| SeatSetup { hero: KindId(0), team };
    let map = if teams.len() > 2 { "quad" } else { "standard" };
    let world = World::new(Setup {
        seed: 1,
        tick_rate: TickRate::HZ_60,
        seats: teams.iter().map(seat).collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map(map).expect("built in"),
    });
    View::new(&world, names.iter().map(|&name| name.to_owned()).collect(), me, Time(0))
}
