//! A peer that has a connection may say anything, in any phase of any session, and anybody to a list of rooms: nothing
//! panics.

mod any;
mod cases;
mod draw;
mod lists;
mod named;
mod room;
