//! Sorts units by their activity before they decide: in a battle most units continue what they did in the
//! last tick.
//!
//! Units in wind-up, units waiting for their cooldown and units that need a decision alternate at random, and
//! a mispredicted branch costs as much as a decision. So rows are first sorted without branches, then each
//! group is handled in one loop. The outcome is exactly what [`super::control`] would decide for them.

use alloc::vec::Vec;

use crate::compiled_rules::CompiledRules;
use crate::math::{Angle, Vec2, dist2, square, with_length};
use crate::space::grid::Body;
use crate::state::{AttackBehaviour, GameState, NO_CORNER, Order};
use crate::tick::Tick;

/// Activity of a unit.
#[derive(Clone, Copy)]
enum Activity {
    /// A minion in wind-up.
    WindUp,
    /// A minion with a sword on an attack-move, in reach of its target, that neither searches nor may strike in this
    /// tick.
    InMelee,
    /// A minion with a bow in the same situation, if it sees its target.
    InRange,
    /// Anything else.
    Other,
}

/// By [`marks`]: the activity.
const ACTIVITIES: [Activity; 16] = {
    let mut activities = [Activity::Other; 16];
    let (sword, bow) = (AttackBehaviour::Swordsman as usize, AttackBehaviour::Archer as usize);
    activities[marks(sword as u8, true, false)] = Activity::WindUp;
    activities[marks(sword as u8, true, true)] = Activity::WindUp;
    activities[marks(bow as u8, true, false)] = Activity::WindUp;
    activities[marks(bow as u8, true, true)] = Activity::WindUp;
    activities[marks(sword as u8, false, true)] = Activity::InMelee;
    activities[marks(bow as u8, false, true)] = Activity::InRange;
    activities
};

/// An index for a unit of a [class](crate::compiled_rules::TickRules::class): whether it is in wind-up, and whether it waits in reach of its target.
const fn marks(class: u8, winds_up: bool, waits: bool) -> usize {
    (class & 3) as usize | (winds_up as usize) << 2 | (waits as usize) << 3
}

/// Rows by activity, ascending.
#[derive(Clone, Debug, Default)]
pub(crate) struct Activities([Vec<u16>; 4]);

impl Activities {
    /// Empty lists with room for `units`.
    pub(crate) fn with_capacity(units: usize) -> Self {
        Self(core::array::from_fn(|_| Vec::with_capacity(units)))
    }

    /// Sorts all units, each with its target or, without one, itself.
    pub(crate) fn sort(
        &mut self,
        rules: &CompiledRules,
        state: &GameState,
        bodies: &[Body],
        targets: &[Body],
    ) {
        let (per_tick, units, now, rows) = (&rules.per_tick, &state.units, state.clock(), bodies.len());
        let turn = per_tick.turn_at(now);
        // Slices of equal length, so that one bounds check covers all.
        let (order, phase, targets) = (&units.order[..rows], &units.phase[..rows], &targets[..rows]);
        let (strike_at, ready_at) = (&units.strike_at[..rows], &units.ready_at[..rows]);
        self.0.iter_mut().for_each(Vec::clear);
        for (row, (body, target)) in bodies.iter().zip(targets).enumerate() {
            let waits = (order[row] == Order::AttackMove)
                & (ready_at[row] > now)
                & (per_tick.turn_of(phase[row]) != turn)
                & (target.team != body.team)
                & (dist2(body.at(), target.at()) <= per_tick.strikes2(body.kind));
            let activity = ACTIVITIES[marks(per_tick.class(body.kind), strike_at[row] != Tick::NEVER, waits)];
            self.0[activity as usize].push(row as u16);
        }
    }

    /// Decides for all units but the undecided: none of them starts a wind-up or completes an order.
    pub(crate) fn decide_routine(
        &mut self,
        rules: &CompiledRules,
        state: &mut GameState,
        bodies: &[Body],
        targets: &[Body],
        desired: &mut [Vec2],
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
            units.facing[row] = facing.toward(aim, rules.per_tick.turn);
            units.corner[row] = NO_CORNER;
        };
        for &row in &*fencing {
            turn(usize::from(row));
        }
        for &row in &*aiming {
            let place = usize::from(row);
            let (at, foe) = (bodies[place].at(), targets[place].at());
            if !rules.arena.obstacles.sees(at, foe, rules.per_tick.arrow_radius) {
                // Appended at the end: it walks nearer, which completes no order and affects no other unit.
                other.push(row);
                continue;
            }
            turn(place);
            if dist2(at, foe) < square(rules.per_tick.archer_keeps) {
                desired[place] = with_length(at - foe, rules.per_tick.kind(bodies[place].kind).speed);
            }
        }
    }

    /// The rows that need a full decision.
    pub(crate) fn undecided(&self) -> &[u16] {
        &self.0[Activity::Other as usize]
    }
}
