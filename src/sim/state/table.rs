//! Tables of plain columns: one list of fields generates storage, rows, encoding, hash and comparison.

use alloc::string::String;
use core::hash::Hasher as _;

use arrayvec::ArrayVec;
use twox_hash::xxhash3_64::{DEFAULT_SECRET_LENGTH, RawHasher, SecretBuffer};

use super::cell::Cell;
use super::unit_id::UnitId;

/// Tables up to this many bytes are copied together and hashed at once: starting and finishing a streaming
/// hash takes longer than the copy. All tables of a match between people are this small.
pub(crate) const GATHERED_MAX: usize = 16384;

/// Appends the bytes of a column, which must fit.
#[expect(clippy::expect_used, reason = "the caller gathers only what fits")]
pub(crate) fn gather_column<T: Cell>(bytes: &mut ArrayVec<u8, GATHERED_MAX>, column: &[T]) {
    if cfg!(target_endian = "little") {
        let column = bytemuck::cast_slice(column);
        bytes.try_extend_from_slice(column).expect("a table that fits");
    } else {
        for &cell in column {
            bytes.extend(bytemuck::bytes_of(&cell.little_endian()).iter().copied());
        }
    }
}

/// Tables of at most this many rows are copied cell by cell: copying a column costs a function call.
pub(crate) const FEW: usize = 4;

/// Copies the bytes of a column of at most [`FEW`] rows to `gathered`, and advances that.
#[expect(clippy::indexing_slicing, reason = "the caller sizes the buffer for FEW rows of all columns")]
pub(crate) fn gather_cells<T: Cell>(bytes: &mut [u8], gathered: &mut usize, column: &[T]) {
    for cell in column {
        let cell = cell.little_endian();
        let end = *gathered + size_of::<T>();
        bytes[*gathered..end].copy_from_slice(bytemuck::bytes_of(&cell));
        *gathered = end;
    }
}

/// A streaming XXH3 over columns; it does not allocate.
pub(crate) struct ColumnHasher(RawHasher<&'static [u8; DEFAULT_SECRET_LENGTH]>);

impl ColumnHasher {
    pub(crate) fn new() -> Self {
        Self(RawHasher::new(SecretBuffer::default()))
    }

    pub(crate) fn write<T: Cell>(&mut self, column: &[T]) {
        if cfg!(target_endian = "little") {
            self.0.write(bytemuck::cast_slice(column));
        } else {
            for &cell in column {
                self.0.write(bytemuck::bytes_of(&cell.little_endian()));
            }
        }
    }

    pub(crate) fn finish(&self) -> u64 {
        self.0.finish()
    }
}

/// Removes the cells of the given rows, which ascend, and moves each run between two of them at once.
pub(crate) fn remove_cells<T: Copy>(column: &mut alloc::vec::Vec<T>, gone: &[usize]) {
    let Some(&first) = gone.first() else { return };
    let mut to = first;
    for (place, &row) in gone.iter().enumerate() {
        let end = gone.get(place + 1).copied().unwrap_or(column.len());
        column.copy_within(row + 1..end, to);
        to += end - row - 1;
    }
    column.truncate(to);
}

/// The first row in which two columns differ, as (row, value here, value there); `None` for a row that only
/// the other column has.
pub(crate) fn column_difference<T: Cell>(a: &[T], b: &[T]) -> Option<(usize, Option<i64>, Option<i64>)> {
    let rows = a.len().max(b.len());
    let number = |column: &[T], row: usize| column.get(row).map(|cell| cell.number());
    (0..rows).map(|row| (row, number(a, row), number(b, row))).find(|(_, a, b)| a != b)
}

/// The first difference between two states, in the order of the tables and their columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The name of the table.
    pub part: &'static str,
    /// The row, counted from 0.
    pub row: usize,
    /// The unit in that row, for tables of units.
    pub unit: Option<UnitId>,
    /// The name of the column.
    pub field: &'static str,
    /// The values in both states; `None` where a state has no such row.
    pub values: [Option<i64>; 2],
}

impl core::fmt::Display for Difference {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        let show = |value: Option<i64>| value.map_or_else(|| String::from("none"), |v| alloc::format!("{v}"));
        write!(
            f,
            "{}[{}].{}: {} against {}",
            self.part,
            self.row,
            self.field,
            show(self.values[0]),
            show(self.values[1])
        )
    }
}

/// Declares a table: a struct of columns, its row type, and the methods of every table.
macro_rules! table {
    (
        $(#[$doc:meta])*
        $table:ident of $row:ident, part $part:literal;
        $($(#[$field_doc:meta])* $field:ident: $type:ty,)*
    ) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        pub struct $table {
            $($(#[$field_doc])* pub $field: alloc::vec::Vec<$type>,)*
        }

        #[doc = concat!("One row of [`", stringify!($table), "`].")]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $row {
            $($(#[$field_doc])* pub $field: $type,)*
        }

        impl $table {
            /// The name of this part of the state.
            pub const PART: &'static str = $part;
            /// The names of the columns, in order.
            pub const FIELDS: &'static [&'static str] = &[$(stringify!($field)),*];

            /// Number of rows.
            #[must_use]
            pub fn len(&self) -> usize {
                [$(self.$field.len()),*][0]
            }

            /// Whether there is no row.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Appends a row and returns its index.
            pub fn push(&mut self, row: $row) -> usize {
                $(self.$field.push(row.$field);)*
                self.len() - 1
            }

            /// A row.
            ///
            /// # Panics
            /// If there is no such row.
            #[must_use]
            #[expect(clippy::indexing_slicing, reason = "who asks says which rows there are")]
            pub fn row(&self, row: usize) -> $row {
                $row { $($field: self.$field[row],)* }
            }

            /// Reserves memory for `rows` more rows, so that the start of a battle does not allocate.
            pub fn reserve(&mut self, rows: usize) {
                $(self.$field.reserve(rows);)*
            }

            /// Removes the given rows, which ascend; the others keep their order.
            pub fn remove_rows(&mut self, gone: &[usize]) {
                $($crate::state::table::remove_cells(&mut self.$field, gone);)*
            }

            /// Removes a row; those after it move up.
            ///
            /// # Panics
            /// If there is no such row.
            pub fn remove(&mut self, row: usize) {
                $(self.$field.remove(row);)*
            }

            /// Copies `other` and keeps the allocations.
            pub fn copy_from(&mut self, other: &Self) {
                $(self.$field.clone_from(&other.$field);)*
            }

            /// Whether all columns have the same number of rows, at most `most`.
            #[must_use]
            pub fn is_rectangular(&self, most: usize) -> bool {
                self.len() <= most && [$(self.$field.len()),*].iter().all(|&rows| rows == self.len())
            }

            /// The hash of all values.
            #[must_use]
            pub fn hash(&self) -> u64 {
                if self.len() <= $crate::state::table::FEW {
                    let mut bytes = [0; $crate::state::table::FEW * (0 $(+ size_of::<$type>())*)];
                    let mut gathered = 0;
                    $($crate::state::table::gather_cells(&mut bytes, &mut gathered, &self.$field);)*
                    return twox_hash::XxHash3_64::oneshot(bytes.get(..gathered).unwrap_or(&bytes));
                }
                let sizes = [$(core::mem::size_of_val(self.$field.as_slice())),*];
                if sizes.iter().sum::<usize>() <= $crate::state::table::GATHERED_MAX {
                    let mut bytes = arrayvec::ArrayVec::new();
                    $($crate::state::table::gather_column(&mut bytes, &self.$field);)*
                    return twox_hash::XxHash3_64::oneshot(&bytes);
                }
                let mut hasher = $crate::state::table::ColumnHasher::new();
                $(hasher.write(&self.$field);)*
                hasher.finish()
            }

            /// The first column that differs, with its first such row.
            #[must_use]
            pub fn difference(&self, other: &Self) -> Option<$crate::state::table::Difference> {
                $(
                    if let Some((row, a, b)) =
                        $crate::state::table::column_difference(&self.$field, &other.$field)
                    {
                        return Some($crate::state::table::Difference {
                            part: $part, row, unit: None, field: stringify!($field), values: [a, b],
                        });
                    }
                )*
                None
            }

            /// Changes a value to another valid one, to plant a difference. False if there is no such row or
            /// field.
            #[must_use]
            pub fn disturb(&mut self, row: usize, field: &str) -> bool {
                $(
                    if field == stringify!($field) {
                        if let Some(cell) = self.$field.get_mut(row) {
                            *cell = $crate::state::cell::Cell::disturbed(*cell);
                            return true;
                        }
                    }
                )*
                false
            }
        }
    };
}
pub(crate) use table;
