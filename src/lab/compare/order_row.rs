//! One command of a match as one line of a table, for distributions and survival analysis by other tools.

use serde::Serialize;
use std::io;

use super::row::{Cell, RowError, cell_columns};
use sim::PLAYERS_MAX;

/// Columns after those of the cell, in order, with their descriptions.
pub const ORDER_COLUMNS: [(&str, &str); 14] = [
    ("seed", "Seed of the match."),
    ("player", "Seat of the player who gave the order."),
    ("order", "Index of the order among those of its player, from 0."),
    ("intended_ms", "Intended time of the order, since tick 0; the other times count from it."),
    ("captured_ms", "Time until the session took it; empty if it did not."),
    ("tick", "Tick that ran it; empty if none did before the end."),
    (
        "confirmed_ms_0",
        "Time until the confirmed state of player 0 had it; empty if it did not before the end.",
    ),
    ("confirmed_ms_1", "As confirmed_ms_0, for player 1."),
    ("confirmed_ms_2", "As confirmed_ms_0, for player 2."),
    ("confirmed_ms_3", "As confirmed_ms_0, for player 3."),
    (
        "shown_ms_0",
        "Time until the view of player 0 showed a state with it; empty if it did not before the end.",
    ),
    ("shown_ms_1", "As shown_ms_0, for player 1."),
    ("shown_ms_2", "As shown_ms_0, for player 2."),
    ("shown_ms_3", "As shown_ms_0, for player 3."),
];

/// One command with an intended time inside the measurement window.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderRow {
    /// Seed of the match.
    pub seed: u64,
    /// Seat of the player who gave it.
    pub player: usize,
    /// Index among the player's commands.
    pub order: usize,
    /// Intended time, since tick 0.
    pub intended_ms: f64,
    /// Time until the session took it.
    pub captured_ms: Option<f64>,
    /// Tick that ran it.
    pub tick: Option<u32>,
    /// Time until the confirmed state had it, by player.
    pub confirmed_ms: [Option<f64>; PLAYERS_MAX],
    /// Time until the view showed it, by player.
    pub shown_ms: [Option<f64>; PLAYERS_MAX],
}

/// Writes the line of column names.
///
/// # Errors
/// If the line cannot be written.
pub fn write_order_names(to: impl io::Write) -> Result<(), RowError> {
    let names = cell_columns().chain(ORDER_COLUMNS.map(|(name, _)| name));
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(names)?;
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Writes the commands of a match of a cell, one line each.
///
/// # Errors
/// If the lines cannot be written.
pub fn write_orders(to: impl io::Write, cell: &Cell, orders: &[OrderRow]) -> Result<(), RowError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    for order in orders {
        writer.serialize((cell, order))?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}
