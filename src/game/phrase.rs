//! Phrases of texts for people: counts, times, durations and names.

use std::fmt::Display;

/// Formats a number of things: "1 match", "2 matches".
#[must_use]
pub fn counted<N: Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let is_one = number == N::from(1);
    format!("{number} {}", if is_one { one } else { many })
}

/// Formats a time of a match, or its length, as on a clock: "4:07".
#[must_use]
pub fn clock(seconds: u64) -> String {
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

/// Formats how long something lasts: "39 s", "2 min", "2 min 5 s".
#[must_use]
pub fn duration(seconds: u64) -> String {
    match (seconds / 60, seconds % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// Forms a possessive: "Ben's", "James'".
#[must_use]
pub fn possessive(name: &str) -> String {
    if name.ends_with(['s', 'S']) { format!("{name}'") } else { format!("{name}'s") }
}

/// Joins names for a sentence: "Ann", "Ann and Ben", "Ann, Ben and Cleo".
#[must_use]
pub fn joined(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [name] => (*name).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_times_and_durations_read_as_people_write_them() {
        assert_eq!(
            [0_u32, 1, 2].map(|n| counted(n, "match", "matches")),
            ["0 matches", "1 match", "2 matches"]
        );
        assert_eq!([0, 7, 247, 3_601].map(clock), ["0:00", "0:07", "4:07", "60:01"]);
        assert_eq!([0, 39, 60, 120, 125].map(duration), ["0 s", "39 s", "1 min", "2 min", "2 min 5 s"]);
    }

    #[test]
    fn names_are_joined_and_own_things() {
        assert_eq!(["Ben", "James", "BOSS", "Zoë"].map(possessive), ["Ben's", "James'", "BOSS'", "Zoë's"]);
        let all = ["Ann", "Ben", "Cleo"];
        let joined_to = [0, 1, 2, 3].map(|many| joined(&all[..many]));
        assert_eq!(joined_to, ["", "Ann", "Ann and Ben", "Ann, Ben and Cleo"]);
    }
}
