//! Recorded access link: its one-way delay and its outages over time.

use core::time::Duration;

/// Maximum size of the file of a recorded link, in bytes.
pub const TRACE_BYTES_MAX: u64 = 16 << 20;
/// Maximum number of lines.
const LINES_MAX: usize = 1_000_000;
/// Maximum delay and time, in milliseconds.
const MS_MAX: f64 = 86_400_000.0;

/// Conditions of a link over some time, repeated periodically.
#[derive(Clone, Debug, PartialEq)]
pub struct LinkTrace {
    /// Start of each state in microseconds, ascending from 0, and its one-way delay; `None` for an outage.
    states: Vec<(u64, Option<u64>)>,
    length_us: u64,
}

/// Reason why a file is not a trace of a link.
#[derive(Debug, thiserror::Error)]
pub enum LinkTraceError {
    /// An invalid line.
    #[error("line {0} is not `ms,delay_ms` or `ms,lost` with times that ascend from 0")]
    Line(usize),
    /// Too many lines, or too few.
    #[error("it needs 2 to {LINES_MAX} lines, at least one of them with a delay")]
    Lines,
}

impl LinkTrace {
    /// Parses lines of `ms,delay_ms` or `ms,lost`, after an optional line of column names; comments begin with `#`. The
    /// last state is as long as the one before.
    ///
    /// # Errors
    /// If the text has another format; the message names the line.
    pub fn read(text: &str) -> Result<Self, LinkTraceError> {
        let mut states: Vec<(u64, Option<u64>)> = Vec::new();
        let mut may_name = true;
        let micros = |text: &str| {
            let ms = text.trim().parse::<f64>().ok().filter(|ms| (0.0..=MS_MAX).contains(ms));
            ms.map(|ms| (1000.0 * ms).round() as u64)
        };
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.split('#').next().unwrap_or_default().trim();
            if line.is_empty() {
                continue;
            }
            let is_name =
                |text: &str| text.trim().starts_with(|first: char| first.is_alphabetic() || first == '"');
            if core::mem::take(&mut may_name) && line.split(',').all(is_name) {
                continue;
            }
            let state = || {
                let (at, delay) = line.split_once(',')?;
                let delay = if delay.trim() == "lost" { None } else { Some(micros(delay)?) };
                Some((micros(at)?, delay))
            };
            let state = state().filter(|&(at, _)| states.last().map_or(at == 0, |&(last, _)| at > last));
            states.push(state.ok_or(LinkTraceError::Line(number))?);
            if states.len() > LINES_MAX {
                return Err(LinkTraceError::Lines);
            }
        }
        let [.., (before, _), (last, _)] = states[..] else { return Err(LinkTraceError::Lines) };
        let trace = Self { length_us: 2 * last - before, states };
        if trace.least_delay().is_none() { Err(LinkTraceError::Lines) } else { Ok(trace) }
    }

    /// Returns the one-way delay at a time, repeated periodically; `None` in an outage.
    pub(super) fn at(&self, us: u64) -> Option<u64> {
        let us = us % self.length_us;
        let state = self.states.partition_point(|&(begin, _)| begin <= us) - 1;
        self.states[state].1
    }

    /// Returns the minimum one-way delay.
    #[must_use]
    pub fn least_delay(&self) -> Option<Duration> {
        self.states.iter().filter_map(|&(_, delay)| delay).min().map(Duration::from_micros)
    }

    /// Returns the share of time in outages, 0 to 1.
    #[must_use]
    pub fn lost(&self) -> f64 {
        let ends = self.states.iter().skip(1).map(|&(begin, _)| begin).chain([self.length_us]);
        let lost = self.states.iter().zip(ends).filter(|((_, delay), _)| delay.is_none());
        lost.map(|((begin, _), end)| end - begin).sum::<u64>() as f64 / self.length_us as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_has_delays_and_outages_and_repeats() {
        let trace = LinkTrace::read("# of a train\n0,20\n10,lost\n30, 25.5\n40,20\n").expect("a trace");
        let at = |ms: u64| trace.at(1000 * ms);
        assert_eq!(
            [0, 9, 10, 29, 30, 40, 49].map(at),
            [Some(20_000), Some(20_000), None, None, Some(25_500), Some(20_000), Some(20_000)]
        );
        assert_eq!((at(50), at(60), at(80)), (Some(20_000), None, Some(25_500)));
        assert_eq!((trace.least_delay(), trace.lost()), (Some(Duration::from_millis(20)), 0.4));
    }

    #[test]
    fn a_line_of_column_names_is_optional() {
        let plain = LinkTrace::read("0,20\n10,lost\n30,25\n").expect("a trace");
        for names in ["ms,delay_ms\n", "\n# of a train\n\"time\", \"delay\"\n\n", "ms,lost\n"] {
            let text = format!("{names}0,20 \n10,lost\n\n30,25");
            assert_eq!(LinkTrace::read(&text).expect(names), plain);
        }
    }

    #[test]
    fn the_invalid_line_of_a_trace_is_named() {
        for (text, says) in [
            ("", "2 to"),
            ("0,5\n", "2 to"),
            ("0,lost\n1,lost\n", "2 to"),
            ("1,5\n2,5\n", "line 1"),
            ("x,5\n0,5\n", "line 1"),
            ("ms,delay_ms\nms,delay_ms\n0,5\n1,6\n", "line 2"),
            ("0,5\nms,delay_ms\n1,6\n", "line 2"),
            ("0,5\n0,6\n", "line 2"),
            ("0,5\nx,6\n", "line 2"),
            ("0,5\n3,-1\n", "line 2"),
            ("0,5\n3,1e99\n", "line 2"),
            ("0,5\n3\n", "line 2"),
            ("0,5\n3,NaN\n", "line 2"),
        ] {
            let error = LinkTrace::read(text).expect_err(text).to_string();
            assert!(error.contains(says), "{text:?}: {error}");
        }
    }
}
