//! The protocol without I/O: bytes and [`Time`] go in, values come out.

mod architecture;
pub mod discovery;
mod time;

pub use architecture::*;
pub use time::*;
