//! The window.

#[allow(dead_code, unused_imports)]
pub(crate) mod draw;
