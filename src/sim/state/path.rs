//! Paths to values of the state, such as `units[0].hp`: for tests of the desync detection.

use core::fmt;

use super::{Circles, Cores, GameState, Globals, Orders, PARTS, Players, Projectiles, Slots, Units};

/// Reason why a path leads to no value of the state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoSuchField {
    /// It is not of the form of a path.
    #[error("a path is TABLE[ROW].FIELD, such as units[0].hp")]
    Form,
    /// There is no such table.
    #[error("no such table; there are {}", Listed(&GameState::PARTS))]
    Table,
    /// The table has no such field.
    #[error("no such field; {table} have {}", Listed(.fields))]
    Field {
        /// Name of the table.
        table: &'static str,
        /// Names of its fields.
        fields: &'static [&'static str],
    },
    /// The table has no such row at that tick.
    #[error("no such row at that tick; {table} have {rows}, counted from 0")]
    Row {
        /// Name of the table.
        table: &'static str,
        /// Number of its rows.
        rows: usize,
    },
}

/// Path of a value: table, row and field.
struct FieldPath<'a> {
    table: usize,
    row: usize,
    field: &'a str,
}

impl GameState {
    /// Names of the fields of each table, in the order of [`Self::PARTS`].
    const FIELDS: [&'static [&'static str]; PARTS] = [
        Globals::FIELDS,
        Players::FIELDS,
        Slots::FIELDS,
        Units::FIELDS,
        Orders::FIELDS,
        Projectiles::FIELDS,
        Circles::FIELDS,
        Cores::FIELDS,
    ];

    /// Checks that `path` names a table and a field of it, whatever its row.
    ///
    /// # Errors
    /// If the path is malformed or there is no such table or field.
    pub fn check_path(path: &str) -> Result<(), NoSuchField> {
        FieldPath::parse(path).map(|_| ())
    }

    /// Changes the value at `path`, for example `units[0].hp`, to another valid one.
    ///
    /// # Errors
    /// If the path is malformed or there is no such table, row or field.
    pub fn disturb(&mut self, path: &str) -> Result<(), NoSuchField> {
        let FieldPath { table, row, field } = FieldPath::parse(path)?;
        let (is_done, rows) = match Self::PARTS.get(table).copied().unwrap_or_default() {
            Globals::PART => (self.globals.disturb(row, field), self.globals.len()),
            Players::PART => (self.players.disturb(row, field), self.players.len()),
            Slots::PART => (self.slots.disturb(row, field), self.slots.len()),
            Units::PART => (self.units.disturb(row, field), self.units.len()),
            Orders::PART => (self.orders.disturb(row, field), self.orders.len()),
            Projectiles::PART => (self.projectiles.disturb(row, field), self.projectiles.len()),
            Circles::PART => (self.circles.disturb(row, field), self.circles.len()),
            _ => (self.cores.disturb(row, field), self.cores.len()),
        };
        let table = Self::PARTS.get(table).copied().unwrap_or_default();
        if is_done { Ok(()) } else { Err(NoSuchField::Row { table, rows }) }
    }
}

impl<'a> FieldPath<'a> {
    fn parse(path: &'a str) -> Result<Self, NoSuchField> {
        let parts = || {
            let (table, rest) = path.split_once('[')?;
            let (row, field) = rest.split_once("].")?;
            Some((table, row.parse::<usize>().ok()?, field))
        };
        let (named, row, field) = parts().ok_or(NoSuchField::Form)?;
        let table = GameState::PARTS.iter().position(|&part| part == named).ok_or(NoSuchField::Table)?;
        let names = GameState::PARTS.get(table).zip(GameState::FIELDS.get(table));
        let (&name, &fields) = names.ok_or(NoSuchField::Table)?;
        if fields.contains(&field) {
            Ok(Self { table, row, field })
        } else {
            Err(NoSuchField::Field { table: name, fields })
        }
    }
}

/// Names, separated by commas.
struct Listed<'a>(&'a [&'a str]);

impl fmt::Display for Listed<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().enumerate().try_for_each(|(n, name)| {
            let comma = if n == 0 { "" } else { ", " };
            write!(f, "{comma}{name}")
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    extern crate std;
    use std::prelude::rust_2024::*;

    #[test]
    fn a_path_is_refused_for_its_form_its_table_its_field_or_its_row() {
        let refused = |path: &str| GameState::check_path(path).expect_err(path).to_string();
        for form in ["foo", "", "units", "units[0]", "units.hp", "units[x].hp", "units[-1].hp"] {
            assert_eq!(refused(form), "a path is TABLE[ROW].FIELD, such as units[0].hp", "{form:?}");
        }
        assert!(refused("unit[0].hp").starts_with("no such table; there are match, players, "));
        assert!(
            refused("units[0].hpp").starts_with("no such field; units have id, "),
            "{}",
            refused("units[0].hpp")
        );
        for (table, fields) in GameState::PARTS.iter().zip(GameState::FIELDS) {
            for field in fields {
                assert_eq!(GameState::check_path(&std::format!("{table}[7].{field}")), Ok(()));
            }
        }
        let mut state = GameState::default();
        let error = state.disturb("units[3].hp").expect_err("no unit").to_string();
        assert_eq!(error, "no such row at that tick; units have 0, counted from 0");
    }
}
