//! The targets, and of the tests of hostile bytes what they need.

#[path = "../../hostile/any.rs"]
mod any;
#[path = "../../hostile/cases.rs"]
mod cases;
#[path = "../../hostile/damage.rs"]
mod damage;
#[path = "../../hostile/draw.rs"]
mod draw;
#[path = "../../hostile/lists.rs"]
mod lists;
#[path = "../../hostile/room.rs"]
mod room;
mod targets;

/// What the target of this name does with bytes.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn target(name: &str) -> fn(&[u8]) {
    targets::TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name").1
}
