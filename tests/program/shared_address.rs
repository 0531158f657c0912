//! Players behind one router, who have one address: all guests are in one network namespace, and the match is open in
//! another.

use crate::arena::{Arena, fails};
use crate::cable::{A, B, Cable};
use tempfile::TempDir;

const STEPS: &[&str] = &["-n {a} addr add 10.78.0.1/24 dev va", "-n {b} addr add 10.78.0.2/24 dev vb"];

/// A match with three seats for guests, and the guests.
struct Room<'a> {
    cable: &'a Cable,
    home: TempDir,
    opened: Arena,
    code: Option<&'a str>,
}

impl<'a> Room<'a> {
    /// Opens it with these words, of which one may be its code.
    fn open(cable: &'a Cable, words: &[&'a str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let usual = [
            "--headless",
            "--json",
            "--ticks=30",
            "--rules=endless",
            "--no-discovery",
            "--wait=60",
            "--timeout=20",
        ];
        let opened = cable.start(A, home.path(), &[words, &usual, &["--port=0"]].concat());
        let code = words.iter().copied().find(|word| word.starts_with("--room="));
        Self { cable, home, opened, code }
    }

    fn guest(&self, end: usize) -> Arena {
        let address = format!("10.78.0.1:{}", self.opened.port());
        let words = ["join", &address, "--headless", "--json", "--wait=60", "--timeout=20", "--record=off"];
        self.cable.start(end, self.home.path(), &[&words[..], self.code.as_slice()].concat())
    }

    fn all_play(self, guests: Vec<Arena>) {
        for ended in [self.opened].into_iter().chain(guests).map(Arena::end) {
            assert_eq!((ended.code, &ended.json()["ticks"]), (Some(0), &30.into()), "{ended:?}");
        }
    }
}

#[test]
fn three_friends_behind_one_router_join_by_flag_or_code() {
    let Some(cable) = Cable::lay("s", STEPS) else { return };
    let rooms: [&[&str]; 6] = [
        &["host", "--players=4", "--shared-address"],
        &["host", "--players=4", "--architecture=relay", "--shared-address"],
        &["serve", "--players=3", "--shared-address"],
        &["host", "--players=4", "--room=Tea"],
        &["host", "--players=4", "--architecture=client-server", "--room=Tea"],
        &["serve", "--players=3", "--room=Tea"],
    ];
    std::thread::scope(|scope| {
        for words in rooms {
            let cable = &cable;
            scope.spawn(move || {
                let room = Room::open(cable, words);
                let guests = (0..3).map(|_| room.guest(B)).collect();
                room.all_play(guests);
            });
        }
    });
}

#[test]
fn without_either_the_last_seat_is_for_another_address_and_the_refusal_names_both() {
    let Some(cable) = Cable::lay("u", STEPS) else { return };
    let rooms: [&[&str]; 2] = [&["host", "--players=4"], &["serve", "--players=3"]];
    std::thread::scope(|scope| {
        for words in rooms {
            let cable = &cable;
            scope.spawn(move || {
                let room = Room::open(cable, words);
                let mut guests: Vec<_> = (0..2).map(|_| room.guest(B)).collect();
                for guest in &mut guests {
                    guest.wait_for_line("joined as player");
                }
                let refused = room.guest(B).end();
                fails(&refused, "2 of its seats, the most for one address");
                fails(&refused, "--shared-address or a room code");
                guests.push(room.guest(A));
                room.all_play(guests);
            });
        }
    });
}
