//! Finds the tick at which a client's world diverged from its server's.

use super::recent::RecentTicks;
use super::report::{DesyncReport, Party};
use sim::{GameState, PlayerId, Tick, TickInputs, World};

/// Finds the first tick that a client computed differently from the server, and whether the client is the one in
/// error. The client's state equalled the server's before `agreed`, and has another hash than the server's before the
/// tick of `theirs`, which includes the server's state if known. The ticks between are run again from the common
/// state. `None` if the client has not run those ticks itself, because it rejoined or missed some.
pub(super) fn deviation(
    world: &World,
    recent: &RecentTicks,
    me: PlayerId,
    agreed: Tick,
    theirs: (Tick, u64),
    state: Option<&GameState>,
) -> Option<DesyncReport> {
    let last = Tick(theirs.0.0.checked_sub(1)?);
    let seed = world.setup().seed;
    let report = |tick: Tick, state: &GameState| {
        let sides = [(Party::Seat(me), recent.state(tick)), (Party::Server, Some(state))];
        DesyncReport::new(tick, seed, sides.into_iter().collect())
    };
    let own = recent.state(last)?;
    if own.hash().whole == theirs.1 {
        return None;
    }
    let Some((tick, state, ends_as_theirs)) = first_difference(world, recent, agreed, theirs) else {
        return state.map(|theirs| report(last, theirs));
    };
    let odd = ends_as_theirs.then_some(Party::Seat(me));
    Some(DesyncReport { odd: odd.into_iter().collect(), ..report(tick, &state) })
}

/// Returns the first tick whose result differs from the one recorded here, the state after it, and whether continuing
/// from that state ends in this hash.
fn first_difference(
    world: &World,
    recent: &RecentTicks,
    agreed: Tick,
    (after, hash): (Tick, u64),
) -> Option<(Tick, GameState, bool)> {
    let mut clean = world.clone();
    match agreed.0.checked_sub(1) {
        Some(before) => clean.adopt(recent.state(Tick(before))?).ok()?,
        None => clean = World::new(world.setup().clone()),
    }
    let mut found = None;
    while clean.state().tick() < after {
        let tick = clean.state().tick();
        let inputs: TickInputs = postcard::from_bytes(recent.inputs(tick)?).ok()?;
        clean.step(&inputs);
        if found.is_none() && clean.hash() != recent.state(tick)?.hash() {
            found = Some((tick, clean.state().clone()));
        }
    }
    let (tick, state) = found?;
    Some((tick, state, clean.hash().whole == hash))
}
