//! Cases of everything hostile, on all cores.
//!
//! The few cases of an ordinary run are the first of a campaign over more seeds:
//! `CASES=1000000 FIRST=0 cargo test --release -p campaign --test hostile`.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU64, Ordering};

use super::any::{play_match, play_session};
use super::draw::Draw;
use super::lists::play_list;

/// Of a run that names no number; `.ci/run` plays 20,000 in release.
const CASES: u64 = 5_000;
/// One seed in this many is played with a real world, too.
const MATCH_ONE_IN: u64 = 200;
/// One seed in this many is played with a list of rooms, too.
const LIST_ONE_IN: u64 = 10;

#[test]
fn any_message_in_any_phase_ends_no_process() {
    play_all(1, |seed| play_session(&mut Draw::of(&[], seed)));
}

#[test]
fn any_message_to_a_match_with_a_world_ends_no_process() {
    play_all(MATCH_ONE_IN, |seed| play_match(&mut Draw::of(&[], seed)));
}

#[test]
fn any_datagram_to_a_list_of_rooms_ends_no_process() {
    play_all(LIST_ONE_IN, |seed| play_list(&mut Draw::of(&[], seed)));
}

fn number(name: &str, else_is: u64) -> u64 {
    std::env::var(name).map_or(else_is, |text| text.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// Plays the seeds from `FIRST` on, `CASES` of them, or one in `one_in` where a case is dear.
fn play_all(one_in: u64, play: fn(u64)) {
    let (first, cases) = (number("FIRST", 0), number("CASES", CASES));
    let (next, end) = (AtomicU64::new(first / one_in), (first + cases).div_ceil(one_in));
    let failed = AtomicU64::new(0);
    let jobs = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= end {
                        return;
                    }
                    if catch_unwind(AssertUnwindSafe(|| play(seed))).is_err() {
                        let first = seed * one_in;
                        eprintln!("seed {seed} panicked: FIRST={first} CASES=1 shows it alone");
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            });
        }
    });
    assert_eq!(failed.into_inner(), 0, "seeds that panicked");
}
