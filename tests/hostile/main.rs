//! A peer that has a connection may say anything, in any phase of any session: nothing panics.

mod any;
mod draw;
mod named;
mod room;
