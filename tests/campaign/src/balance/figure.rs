//! A measured figure with its 95 % interval, and what the interval says about the band it should lie in.

use super::plan::Suite;
use lab::named;
use serde::Serialize;

/// Standard errors to either side of a 95 % interval.
const Z: f64 = 1.959_964;

/// One figure of the report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Figure {
    /// What it belongs to.
    pub suite: Suite,
    /// The map, or `all`.
    pub map: String,
    /// The line-up.
    pub line: String,
    /// What is measured.
    pub name: String,
    /// In what.
    pub unit: Unit,
    /// Matches it is measured in.
    pub matches: usize,
    /// What came out.
    #[serde(flatten)]
    pub estimate: Estimate,
    /// Where it should lie, ends included, if that is claimed.
    pub band: Option<[f64; 2]>,
}

named! {
    /// What a value counts.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Unit {
        /// A share, from 0 to 1.
        Share = "share",
        /// Seconds of the match.
        Seconds = "seconds",
        /// Things per match.
        Count = "count",
    }
}

/// A value and its 95 % interval; both are missing if there was nothing to measure, the interval also where
/// a value is an extreme.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The value.
    pub value: Option<f64>,
    /// Where the true value lies in 95 of 100 such measurements.
    pub interval: Option<[f64; 2]>,
}

named! {
    /// What an interval says about a band.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Verdict {
        /// The whole interval lies in it.
        Holds = "holds",
        /// A part of it does, or nothing was measured: more matches would tell.
        Open = "open",
        /// No part of it does.
        Fails = "fails",
    }
}

impl Figure {
    /// Whether it lies in its band; none without a band.
    #[must_use]
    pub fn verdict(&self) -> Option<Verdict> {
        let [least, most] = self.band?;
        let Some(value) = self.estimate.value else { return Some(Verdict::Open) };
        let [low, high] = self.estimate.interval.unwrap_or([value, value]);
        Some(match () {
            () if low >= least && high <= most => Verdict::Holds,
            () if high < least || low > most => Verdict::Fails,
            () => Verdict::Open,
        })
    }
}

impl Estimate {
    /// The mean of independent points from 0 to 1, with the Wilson score interval of a proportion. Points
    /// between 0 and 1, such as half a point for a draw, vary less than a proportion of the same mean: with
    /// them the interval is a little too wide, never too narrow.
    pub(super) fn share(points: &[f64]) -> Self {
        let n = points.len() as f64;
        let Some(mean) = mean(points) else { return Self::NONE };
        let centre = (mean + Z * Z / (2.0 * n)) / (1.0 + Z * Z / n);
        let half = Z / (1.0 + Z * Z / n) * (mean * (1.0 - mean) / n + Z * Z / (4.0 * n * n)).sqrt();
        Self { value: Some(mean), interval: Some([(centre - half).max(0.0), (centre + half).min(1.0)]) }
    }

    /// The mean of groups of `size` points from 0 to 1, with the normal interval of the groups' means:
    /// groups are independent of each other, their points are not.
    pub(super) fn grouped_share(points: &[f64], size: usize) -> Self {
        Self::share_of_groups(&group_means(points, size))
    }

    /// The same of the groups' means.
    pub(super) fn share_of_groups(groups: &[f64]) -> Self {
        let found = Self::mean(groups);
        let interval = found.interval.map(|[low, high]| [low.max(0.0), high.min(1.0)]);
        Self { value: found.value, interval: found.value.map(|_| interval.unwrap_or([0.0, 1.0])) }
    }

    /// The value below which `share` of the values lie, with the interval between the two values whose ranks
    /// bound that share by the binomial distribution.
    pub(super) fn quantile(values: &[f64], share: f64) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len() as f64;
        let half = Z * (n * share * (1.0 - share)).sqrt();
        // Ranks count from 1.
        let at = |rank: f64| sorted.get((rank.max(1.0).min(n) - 1.0).max(0.0) as usize).copied();
        let ends = [at((n * share - half).floor()), at((n * share + half).ceil() + 1.0)];
        let [Some(low), Some(high)] = ends else { return Self::NONE };
        Self { value: at((n * share).ceil()), interval: Some([low, high]) }
    }

    /// The mean of independent values, with its normal interval.
    pub(super) fn mean(values: &[f64]) -> Self {
        let Some(middle) = mean(values) else { return Self::NONE };
        let n = values.len() as f64;
        let squares: f64 = values.iter().map(|value| (value - middle) * (value - middle)).sum();
        let half = Z * (squares / (n - 1.0).max(1.0) / n).sqrt();
        let interval = (values.len() > 1).then_some([middle - half, middle + half]);
        Self { value: Some(middle), interval }
    }

    /// The sum of the first values over the sum of the second, with the normal interval of a ratio of means:
    /// what is left in each pair beyond the ratio varies around 0.
    pub(super) fn ratio(pairs: &[[f64; 2]]) -> Self {
        let n = pairs.len() as f64;
        let [above, below] = [0, 1].map(|part| pairs.iter().map(|pair| pair[part]).sum::<f64>());
        if below <= 0.0 {
            return Self::NONE;
        }
        let ratio = above / below;
        let squares: f64 = pairs.iter().map(|[a, b]| (a - ratio * b) * (a - ratio * b)).sum();
        let half = Z * (squares / (n - 1.0).max(1.0) * n).sqrt() / below;
        let interval = (pairs.len() > 1).then_some([ratio - half, ratio + half]);
        Self { value: Some(ratio), interval }
    }

    /// The greatest of the values.
    pub(super) fn most(values: &[f64]) -> Self {
        Self { value: values.iter().copied().max_by(f64::total_cmp), interval: None }
    }

    /// The same of what is left of 1.
    pub(super) fn rest(self) -> Self {
        Self {
            value: self.value.map(|value| 1.0 - value),
            interval: self.interval.map(|[low, high]| [1.0 - high, 1.0 - low]),
        }
    }

    const NONE: Self = Self { value: None, interval: None };
}

/// The means of groups of `size` points that follow each other.
pub(super) fn group_means(points: &[f64], size: usize) -> Vec<f64> {
    points.chunks(size).filter_map(mean).collect()
}

fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn points(wins: usize, of: usize) -> Vec<f64> {
        (0..of).map(|at| if at < wins { 1.0 } else { 0.0 }).collect()
    }

    fn rounded(estimate: Estimate) -> (i64, [i64; 2]) {
        let thousandths = |value: f64| (value * 1000.0).round() as i64;
        let interval = estimate.interval.expect("measured").map(thousandths);
        (thousandths(estimate.value.expect("measured")), interval)
    }

    #[test]
    fn wilson_intervals_are_those_of_the_tables() {
        assert_eq!(rounded(Estimate::share(&points(50, 100))), (500, [404, 596]));
        assert_eq!(rounded(Estimate::share(&points(0, 10))), (0, [0, 278]));
        assert_eq!(rounded(Estimate::share(&points(81, 263))), (308, [255, 366]));
        assert_eq!(Estimate::share(&[]), Estimate::NONE);
    }

    #[test]
    fn mirrored_pairs_leave_no_doubt() {
        assert_eq!(rounded(Estimate::grouped_share(&[1.0, 0.0, 0.0, 1.0, 0.5, 0.5], 2)), (500, [500, 500]));
        // Means 1 and 0: a standard error of a half.
        assert_eq!(rounded(Estimate::grouped_share(&[1.0, 1.0, 0.0, 0.0], 2)), (500, [0, 1000]));
        assert_eq!(rounded(Estimate::grouped_share(&[1.0, 1.0], 2)), (1000, [0, 1000]));
    }

    #[test]
    fn quantiles_are_values_between_values() {
        let values: Vec<f64> = (1..=100).rev().map(f64::from).collect();
        // The usual ranks for a median of 100 are 40 and 61.
        assert_eq!(rounded(Estimate::quantile(&values, 0.5)), (50_000, [40_000, 61_000]));
        assert_eq!(rounded(Estimate::quantile(&values, 0.95)), (95_000, [90_000, 100_000]));
        assert_eq!(rounded(Estimate::quantile(&[3.0], 0.5)), (3_000, [3_000, 3_000]));
        assert_eq!(Estimate::quantile(&[], 0.5), Estimate::NONE);
    }

    #[test]
    fn ratios_weigh_by_what_is_below() {
        assert_eq!(rounded(Estimate::ratio(&[[1.0, 2.0], [4.0, 8.0]])), (500, [500, 500]));
        // A match without deaths says nothing about where units die.
        assert_eq!(rounded(Estimate::ratio(&[[1.0, 2.0], [4.0, 8.0], [0.0, 0.0]])), (500, [500, 500]));
        // Left beyond the ratio: -1 and 1, so the sum of the first values has a standard error of 2.
        assert_eq!(rounded(Estimate::ratio(&[[0.0, 1.0], [2.0, 1.0]])), (1_000, [-960, 2_960]));
        assert_eq!(Estimate::ratio(&[[0.0, 0.0]]), Estimate::NONE);
    }

    #[test]
    fn a_verdict_compares_interval_and_band() {
        let verdict = |interval, band| {
            let estimate = Estimate { value: Some(0.5), interval: Some(interval) };
            let (map, line, name) = (String::new(), String::new(), String::new());
            let (suite, unit) = (Suite::Mirror, Unit::Share);
            Figure { suite, map, line, name, unit, matches: 1, estimate, band }.verdict()
        };
        let band = Some([0.47, 0.53]);
        assert_eq!(verdict([0.47, 0.53], band), Some(Verdict::Holds));
        assert_eq!(verdict([0.46, 0.52], band), Some(Verdict::Open));
        assert_eq!(verdict([0.40, 0.60], band), Some(Verdict::Open));
        assert_eq!(verdict([0.54, 0.60], band), Some(Verdict::Fails));
        assert_eq!(verdict([0.40, 0.46], band), Some(Verdict::Fails));
        assert_eq!(verdict([0.40, 0.46], None), None);
    }
}
