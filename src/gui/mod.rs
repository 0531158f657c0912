//! The window.

#[allow(dead_code)]
pub(crate) mod draw;
