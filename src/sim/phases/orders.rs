//! Orders of a unit: the current one and the queue behind it.

use crate::command::When;
use crate::math::Vec2;
use crate::state::{ASK_CORNER, GameState, Order, QUEUED_MAX, QueuedOrder, UnitId};

/// An order with its goal and target.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Task {
    pub(crate) order: Order,
    pub(crate) goal: Vec2,
    pub(crate) quarry: UnitId,
}

impl Task {
    /// An order that leads to a place.
    pub(crate) const fn to(order: Order, goal: Vec2) -> Self {
        Self { order, goal, quarry: UnitId::NONE }
    }
}

/// Gives the unit in `row` an order, at once or at the end of its queue. An order that it already carries out changes
/// nothing.
pub(crate) fn give(state: &mut GameState, row: usize, task: Task, when: When) {
    let units = &state.units;
    let queued = usize::from(units.queued[row]);
    if when == When::Now && queued == 0 && is_carried_out(state, row, &task) {
        return;
    }
    // An order that never completes would block the queue.
    let endless = matches!(units.order[row], Order::Idle | Order::Follow | Order::Hold);
    if when == When::Queued && (queued > 0 || !endless) {
        if queued < QUEUED_MAX {
            let Task { order, goal, quarry } = task;
            let unit = units.id[row];
            state.orders.push(QueuedOrder { unit, order, x: goal.x, y: goal.y, quarry });
            state.units.queued[row] += 1;
        }
    } else {
        forget(state, row);
        begin(state, row, task);
    }
}

fn is_carried_out(state: &GameState, row: usize, task: &Task) -> bool {
    let units = &state.units;
    let is_there = || (units.goal_x[row], units.goal_y[row]) == (task.goal.x, task.goal.y);
    units.order[row] == task.order
        && match task.order {
            Order::Follow | Order::Hold => true,
            Order::Attack => units.quarry[row] == task.quarry,
            Order::Idle | Order::Move | Order::AttackMove => is_there(),
        }
}

/// Completes the order of the unit in `row`: the next one starts, or the unit stays where it is.
pub(crate) fn next(state: &mut GameState, row: usize) {
    let id = state.units.id[row];
    let is_next = |&unit: &UnitId| state.units.queued[row] > 0 && unit == id;
    let Some(first) = state.orders.unit.iter().position(is_next) else {
        let here = state.position(row);
        begin(state, row, Task::to(Order::Idle, here));
        return;
    };
    let orders = &state.orders;
    let goal = Vec2 { x: orders.x[first], y: orders.y[first] };
    let task = Task { order: orders.order[first], goal, quarry: orders.quarry[first] };
    state.orders.remove(first);
    state.units.queued[row] -= 1;
    begin(state, row, task);
}

/// Drops the queue of the unit in `row`.
pub(crate) fn forget(state: &mut GameState, row: usize) {
    if state.units.queued[row] == 0 {
        return;
    }
    let id = state.units.id[row];
    while let Some(last) = state.orders.unit.iter().rposition(|&unit| unit == id) {
        state.orders.remove(last);
    }
    state.units.queued[row] = 0;
}

fn begin(state: &mut GameState, row: usize, task: Task) {
    let units = &mut state.units;
    units.order[row] = task.order;
    (units.goal_x[row], units.goal_y[row]) = (task.goal.x, task.goal.y);
    units.quarry[row] = task.quarry;
    // A unit that picks its enemies under the new order, too, keeps the present one.
    if matches!(task.order, Order::Move | Order::Attack) {
        units.target[row] = task.quarry;
    }
    units.corner[row] = ASK_CORNER;
}
