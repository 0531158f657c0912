//! Latencies of the commands of one match.

use super::row::{MatchRow, Quantiles, quantile};

/// Latencies of all commands of a match, in milliseconds from the intended time of each command.
#[derive(Debug, Default)]
pub(super) struct Latencies {
    commands: u32,
    censored: u32,
    captured: Vec<f64>,
    authority: Vec<f64>,
    own: Vec<f64>,
    own_predicted: Vec<f64>,
    own_frame: Vec<f64>,
    opponent_confirmed: Vec<f64>,
    opponent: Vec<f64>,
    opponent_frame: Vec<f64>,
    others_own: Vec<f64>,
    others: Vec<f64>,
    /// Latencies of the others' views, by the seat that gave the command.
    by_seat: Vec<Vec<f64>>,
}

/// Arrival of a command at one player.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Seat of that player.
    pub(super) player: usize,
    /// Time until the confirmed state had the command.
    pub(super) confirmed: f64,
    /// Time until the displayed state had it.
    pub(super) shown: f64,
    /// Time until a frame of the display showed it.
    pub(super) frame: f64,
}

impl Latencies {
    /// Creates an empty record.
    pub(super) fn new(players: usize) -> Self {
        Self { by_seat: vec![Vec::new(); players], ..Self::default() }
    }

    /// Counts a command that had not run everywhere by the end.
    pub(super) const fn censor(&mut self) {
        self.commands += 1;
        self.censored += 1;
    }

    /// Adds a command of `player` that ran everywhere. The time at which a server scheduled it is not always known.
    pub(super) fn add(
        &mut self,
        player: usize,
        captured: f64,
        authority: Option<f64>,
        seen: impl Iterator<Item = Seen>,
    ) {
        self.commands += 1;
        self.captured.push(captured);
        self.authority.extend(authority);
        let last = self.by_seat.len() - 1;
        for Seen { player: here, confirmed, shown, frame } in seen {
            if here != last && player != last {
                let others = if here == player { &mut self.others_own } else { &mut self.others };
                others.push(confirmed);
            }
            if here == player {
                self.own.push(confirmed);
                self.own_predicted.push(shown);
                self.own_frame.push(frame);
            } else {
                self.opponent_confirmed.push(confirmed);
                self.opponent.push(shown);
                self.opponent_frame.push(frame);
                self.by_seat[player].push(shown);
            }
        }
    }

    /// Returns `row` with these latencies.
    pub(super) fn into_row(self, row: MatchRow) -> MatchRow {
        MatchRow {
            commands: self.commands,
            censored: self.censored,
            unfair_ms: self.unfair(),
            captured_ms: Quantiles::of(self.captured),
            authority_ms: Quantiles::of(self.authority),
            own_ms: Quantiles::of(self.own),
            own_predicted_ms: Quantiles::of(self.own_predicted),
            own_frame_ms: Quantiles::of(self.own_frame),
            opponent_confirmed_ms: Quantiles::of(self.opponent_confirmed),
            opponent_ms: Quantiles::of(self.opponent),
            opponent_frame_ms: Quantiles::of(self.opponent_frame),
            others_own_ms: Quantiles::of(self.others_own),
            others_ms: Quantiles::of(self.others),
            ..row
        }
    }

    /// Returns the largest difference between the medians of two seats.
    fn unfair(&self) -> f64 {
        let median = |of: &Vec<f64>| {
            let mut sorted = of.clone();
            sorted.sort_unstable_by(f64::total_cmp);
            quantile(&sorted, 0.5)
        };
        let medians = self.by_seat.iter().filter_map(median);
        let (least, most) =
            medians.fold((f64::MAX, f64::MIN), |(least, most), it| (least.min(it), most.max(it)));
        (most - least).max(0.0)
    }
}
