//! One order of a match, as one line of a table: for distributions and survival analysis of one's own.

use serde::Serialize;
use std::io;

use super::row::{Cell, RowError, cell_columns};
use sim::PLAYERS_MAX;

/// Columns after those of the cell, in their order, and what each means.
pub const ORDER_COLUMNS: [(&str, &str); 14] = [
    ("seed", "Of the match."),
    ("player", "Who gave the order: a seat."),
    ("order", "Number of the player's order, from 0."),
    ("intended_ms", "The instant for which it was meant, from tick 0 on; the other times count from there."),
    ("captured_ms", "Until the session had it; empty if it did not take it."),
    ("tick", "The tick that ran it; empty if none did before the end."),
    ("confirmed_ms_0", "Until the confirmed state of player 0 had it; empty if it did not before the end."),
    ("confirmed_ms_1", "The same of player 1."),
    ("confirmed_ms_2", "The same of player 2."),
    ("confirmed_ms_3", "The same of player 3."),
    (
        "shown_ms_0",
        "Until the screen of player 0 showed a state that had it; empty if it did not before the end.",
    ),
    ("shown_ms_1", "The same of player 1."),
    ("shown_ms_2", "The same of player 2."),
    ("shown_ms_3", "The same of player 3."),
];

/// What became of one order whose intended instant counts.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OrderRow {
    /// Of the match.
    pub seed: u64,
    /// Who gave it.
    pub player: usize,
    /// Number of the player's order.
    pub order: usize,
    /// The instant for which it was meant, from tick 0 on.
    pub intended_ms: f64,
    /// Until the session had it.
    pub captured_ms: Option<f64>,
    /// The tick that ran it.
    pub tick: Option<u32>,
    /// By player: until the confirmed state had it.
    pub confirmed_ms: [Option<f64>; PLAYERS_MAX],
    /// By player: until the screen showed it.
    pub shown_ms: [Option<f64>; PLAYERS_MAX],
}

/// Writes the line of names.
///
/// # Errors
/// If it cannot be written.
pub fn write_order_names(to: impl io::Write) -> Result<(), RowError> {
    let names = cell_columns().chain(ORDER_COLUMNS.map(|(name, _)| name));
    let mut writer = csv::Writer::from_writer(to);
    writer.write_record(names)?;
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}

/// Writes the orders of a match of a cell, a line each.
///
/// # Errors
/// If they cannot be written.
pub fn write_orders(to: impl io::Write, cell: &Cell, orders: &[OrderRow]) -> Result<(), RowError> {
    let mut writer = csv::WriterBuilder::new().has_headers(false).from_writer(to);
    for order in orders {
        writer.serialize((cell, order))?;
    }
    writer.flush().map_err(csv::Error::from)?;
    Ok(())
}
