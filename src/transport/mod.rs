//! The library's only sockets and its only clock.

pub mod discovery;
