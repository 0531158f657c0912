//! The `arena` command.
fn main() {}
