//! The targets, and of the tests of hostile bytes what they need.

#[path = "../../campaign/tests/hostile/any.rs"]
mod any;
#[path = "../../campaign/tests/hostile/damage.rs"]
mod damage;
#[path = "../../campaign/tests/hostile/draw.rs"]
mod draw;
#[path = "../../campaign/tests/hostile/lists.rs"]
mod lists;
#[path = "../../campaign/tests/hostile/peer.rs"]
mod peer;
#[path = "../../campaign/tests/hostile/room.rs"]
mod room;
mod targets;
#[path = "../../campaign/tests/hostile/writer.rs"]
mod writer;

/// What the target of this name does with bytes.
///
/// # Panics
/// If there is none.
#[must_use]
pub fn target(name: &str) -> fn(&[u8]) {
    targets::TARGETS.iter().find(|(known, _)| *known == name).expect("a target of this name").1
}
