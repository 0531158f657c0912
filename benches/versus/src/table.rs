//! Layout of the tables.

use comfy_table::{CellAlignment, Table};

/// Aligns all columns but some to the right.
pub(crate) fn right(table: &mut Table, but: &[usize]) {
    for (index, column) in table.column_iter_mut().enumerate() {
        if !but.contains(&index) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
}
