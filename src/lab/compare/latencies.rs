//! The latencies of one match, order by order.

use super::row::{MatchRow, Quantiles, quantile};

/// What became of the orders of a match. All in milliseconds from the instant for which an order was meant.
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
    /// What the others were shown, by the seat that gave the order.
    by_seat: Vec<Vec<f64>>,
}

/// An order at one player's.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// The player's seat.
    pub(super) player: usize,
    /// When the confirmed state had it.
    pub(super) confirmed: f64,
    /// When the state shown had it.
    pub(super) shown: f64,
    /// When a frame of the display did.
    pub(super) frame: f64,
}

impl Latencies {
    /// Without any order.
    pub(super) fn new(players: usize) -> Self {
        Self { by_seat: vec![Vec::new(); players], ..Self::default() }
    }

    /// An order that had not run everywhere at the end.
    pub(super) const fn censor(&mut self) {
        self.commands += 1;
        self.censored += 1;
    }

    /// An order of `player` that ran everywhere; when a server decided it is not always known.
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

    /// `row` with these latencies in it.
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

    /// The largest difference between two seats' medians.
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
