//! What a unit is busy with, sorted before anybody decides: most of a battle goes on with what it did.
//!
//! Who winds up, who waits for the next blow and who has to think stand in no order that a processor foresees,
//! and each of its wrong guesses costs as much as a thought. So the rows are sorted first, without a branch;
//! then those who do the same are done in one loop. What they decide is what [`super::control`] would have them
//! decide.

use alloc::vec::Vec;

use crate::sim::compiled_rules::Terms;
use crate::sim::math::{Angle, Vec2, dist2, square, with_length};
use crate::sim::space::grid::Body;
use crate::sim::state::{AttackBehaviour, GameState, NO_CORNER, Order};
use crate::sim::tick::Tick;

/// What a unit is busy with.
#[derive(Clone, Copy)]
enum Calling {
    /// A minion that winds up.
    Winding,
    /// A swordsman on an attack-move in reach of its target that neither looks around nor may strike yet.
    Fencing,
    /// An archer like it, if it sees its target.
    Aiming,
    /// Anything else.
    Other,
}

/// By [`marks`]: what a unit is busy with.
const CALLINGS: [Calling; 16] = {
    let mut callings = [Calling::Other; 16];
    let (sword, bow) = (AttackBehaviour::Swordsman as usize, AttackBehaviour::Archer as usize);
    callings[marks(sword as u8, true, false)] = Calling::Winding;
    callings[marks(sword as u8, true, true)] = Calling::Winding;
    callings[marks(bow as u8, true, false)] = Calling::Winding;
    callings[marks(bow as u8, true, true)] = Calling::Winding;
    callings[marks(sword as u8, false, true)] = Calling::Fencing;
    callings[marks(bow as u8, false, true)] = Calling::Aiming;
    callings
};

/// A number for a unit of a kind: whether it winds up, and whether it waits in reach of its target.
const fn marks(kind: u8, winds_up: bool, waits: bool) -> usize {
    (kind & 3) as usize | (winds_up as usize) << 2 | (waits as usize) << 3
}

/// Rows by what their units are busy with, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Callings([Vec<u16>; 4]);

impl Callings {
    /// With room for `units`.
    pub(crate) fn with_capacity(units: usize) -> Self {
        Self(core::array::from_fn(|_| Vec::with_capacity(units)))
    }

    /// Sorts all units, each with its target or, without one, itself.
    pub(crate) fn sort(&mut self, terms: &Terms, state: &GameState, bodies: &[Body], targets: &[Body]) {
        let (pace, units, now, rows) = (&terms.pace, &state.units, state.tick(), bodies.len());
        let turn = pace.turn_at(now);
        // Of one length, so that a row within it is within all.
        let (order, phase, targets) = (&units.order[..rows], &units.phase[..rows], &targets[..rows]);
        let (strike_at, ready_at) = (&units.strike_at[..rows], &units.ready_at[..rows]);
        self.0.iter_mut().for_each(Vec::clear);
        for (row, (body, target)) in bodies.iter().zip(targets).enumerate() {
            let waits = (order[row] == Order::AttackMove)
                & (ready_at[row] > now)
                & (pace.turn_of(phase[row]) != turn)
                & (target.team != body.team)
                & (dist2(body.at(), target.at()) <= pace.strikes2(body.kind));
            let calling = CALLINGS[marks(body.kind, strike_at[row] != Tick::NEVER, waits)];
            self.0[calling as usize].push(row as u16);
        }
    }

    /// Decides for all but the others: none of them begins a blow, and nobody's order ends.
    pub(crate) fn go_on(
        &mut self,
        terms: &Terms,
        state: &mut GameState,
        bodies: &[Body],
        targets: &[Body],
        wishes: &mut [Vec2],
    ) {
        let units = &mut state.units;
        let [winding, fencing, aiming, other] = &mut self.0;
        for &row in &*winding {
            units.corner[usize::from(row)] = NO_CORNER;
        }
        let mut turn = |row: usize| {
            let (at, foe) = (bodies[row].at(), targets[row].at());
            let facing = units.facing[row];
            let aim = if at == foe { facing } else { Angle::of(foe - at) };
            units.facing[row] = facing.toward(aim, terms.pace.turn);
            units.corner[row] = NO_CORNER;
        };
        for &row in &*fencing {
            turn(usize::from(row));
        }
        for &row in &*aiming {
            let place = usize::from(row);
            let (at, foe) = (bodies[place].at(), targets[place].at());
            if !terms.arena.obstacles.sees(at, foe, terms.pace.arrow_radius) {
                // Last of them: it goes nearer, which ends no order and asks for nobody else's.
                other.push(row);
                continue;
            }
            turn(place);
            if dist2(at, foe) < square(terms.pace.archer_keeps) {
                wishes[place] = with_length(at - foe, terms.pace.kind(bodies[place].kind).speed);
            }
        }
    }

    /// The rows of those who have to think.
    pub(crate) fn others(&self) -> &[u16] {
        &self.0[Calling::Other as usize]
    }
}
