//! Times in this computer's time zone, for people. JSON uses UTC.

use jiff::Timestamp;
use jiff::tz::TimeZone;

/// Formats date and time of day in this computer's time zone.
pub(crate) fn local_time(unix_s: u64) -> String {
    in_zone(unix_s, TimeZone::system())
}

fn in_zone(unix_s: u64, zone: TimeZone) -> String {
    let instant = i64::try_from(unix_s).ok().and_then(|seconds| Timestamp::from_second(seconds).ok());
    instant.map_or_else(String::new, |instant| instant.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_local_and_those_beyond_the_calendar_are_not_shown() {
        let zone = |name: &str| TimeZone::posix(name).expect("a zone");
        let berlin = "CET-1CEST,M3.5.0,M10.5.0/3";
        for (unix_s, name, shown) in [
            (1_766_000_000, "UTC0", "2025-12-17 19:33"),
            (1_766_000_000, berlin, "2025-12-17 20:33"),
            (1_782_000_000, berlin, "2026-06-21 02:00"),
            (1_766_000_000, "NPT-5:45", "2025-12-18 01:18"),
            (0, "EST5", "1969-12-31 19:00"),
            (u64::MAX, "UTC0", ""),
        ] {
            assert_eq!(in_zone(unix_s, zone(name)), shown, "{unix_s} {name}");
        }
    }
}
