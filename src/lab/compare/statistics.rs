//! Intervals, paired differences and p-values. The unit of replication is the match: within a match, commands
//! share a link and a battle, so their latencies are no independent measurements.

use std::collections::BTreeMap;

use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng as _, SeedableRng as _};
use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Samples drawn with replacement for an interval.
const RESAMPLES: usize = 2_000;
/// Of the 2,000 means in order, those between which 95 % lie.
const ENDS: [usize; 2] = [49, 1949];
/// Differences whose standard error is a smaller part of their mean than this are the same but for rounding.
const SAME: f64 = 1e-9;
/// Seed of the resampling, so that the same matches always give the same interval.
const SEED: u64 = 0x5eed;

/// The mean over matches, and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// The mean.
    pub value: f64,
    /// Where the true mean lies in about 95 of 100 such studies; a single match has none.
    pub interval: Option<[f64; 2]>,
    /// Matches.
    pub matches: usize,
}

impl Mean {
    /// The mean of one value per match with its percentile-bootstrap interval; nothing without a value.
    ///
    /// The interval of few matches is too narrow: of 5 it holds the true mean in about 83 of 100 studies, of
    /// 8 in about 88, of 30 in about 93 (latencies are skewed).
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let value = mean(values)?;
        let interval = (values.len() > 1).then(|| bootstrap(values));
        Some(Self { value, interval, matches: values.len() })
    }

    /// Whether the interval lies on one side of zero.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }
}

/// The differences `other` - `base` of the matches with the same seed, in the order of the seeds.
#[must_use]
pub fn paired(base: &BTreeMap<u64, f64>, other: &BTreeMap<u64, f64>) -> Vec<f64> {
    base.iter().filter_map(|(seed, base)| other.get(seed).map(|other| other - base)).collect()
}

/// Two-sided p-value of paired differences under the hypothesis that their mean is zero: Student's t-test.
/// 1 with fewer than two differences. Of differences that are all the same nothing is known of what chance does:
/// then it is that of a permutation of signs.
///
/// A permutation of signs cannot do this work: 8 seeds give no p-value below 2 / 2^8, which no adjustment for
/// more than six comparisons survives.
#[must_use]
pub fn paired_p(differences: &[f64]) -> f64 {
    let n = differences.len();
    let Some(middle) = mean(differences).filter(|_| n > 1) else { return 1.0 };
    let squares: f64 = differences.iter().map(|difference| (difference - middle).powi(2)).sum();
    let error = (squares / (n as f64 - 1.0) / n as f64).sqrt();
    match (middle.abs(), error) {
        (0.0, _) => 1.0,
        (middle, error) if error < middle * SAME => 0.5_f64.powi(n as i32 - 1),
        (middle, error) => outside(middle / error, n - 1),
    }
}

/// P-values after Holm's adjustment for their number, in the given order.
#[must_use]
pub fn holm(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|&a, &b| p[a].total_cmp(&p[b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut least: f64 = 0.0;
    for (rank, &at) in order.iter().enumerate() {
        least = least.max((p[at] * (p.len() - rank) as f64).min(1.0));
        adjusted[at] = least;
    }
    adjusted
}

/// The mean; nothing of nothing.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

fn bootstrap(values: &[f64]) -> [f64; 2] {
    let mut rng = ChaCha8Rng::seed_from_u64(SEED);
    let n = values.len() as u64;
    let mut draw = || values[((u64::from(rng.next_u32()) * n) >> 32) as usize];
    let mut means: Vec<f64> =
        (0..RESAMPLES).map(|_| (0..n).map(|_| draw()).sum::<f64>() / n as f64).collect();
    means.sort_unstable_by(f64::total_cmp);
    ENDS.map(|end| means[end])
}

/// The probability that Student's t with `freedom` degrees lies beyond ±`t`.
fn outside(t: f64, freedom: usize) -> f64 {
    let student = StudentsT::new(0.0, 1.0, freedom as f64).expect("at least one degree");
    (2.0 * student.sf(t)).min(1.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values around 10 whose distribution is skewed as latencies are: the sum of two uniform draws, squared.
    fn study(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
        let mut uniform = || f64::from(rng.next_u32()) / f64::from(u32::MAX);
        (0..n).map(|_| 10.0 + (uniform() + uniform()).powi(2)).collect()
    }

    /// E (U + V)^2 of two uniform draws = 2/3 + 1/2.
    const TRUE_MEAN: f64 = 10.0 + 7.0 / 6.0;

    #[test]
    fn the_interval_holds_the_true_mean_as_often_as_it_says() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, least, most) in [(5, 0.78, 0.90), (8, 0.85, 0.94), (30, 0.915, 0.97)] {
            let holds = (0..600).filter(|_| {
                let [low, high] = Mean::of(&study(&mut rng, n)).expect("values").interval.expect("many");
                (low..=high).contains(&TRUE_MEAN)
            });
            let share = holds.count() as f64 / 600.0;
            assert!((least..=most).contains(&share), "{share} of {n} matches");
        }
    }

    #[test]
    fn a_mean_depends_on_its_values_alone() {
        let values = study(&mut ChaCha8Rng::seed_from_u64(2), 30);
        assert_eq!(Mean::of(&values), Mean::of(&values));
        assert_eq!(Mean::of(&[]), None);
        let one = Mean::of(&[4.0]).expect("a value");
        assert_eq!((one.value, one.interval, one.excludes_zero()), (4.0, None, false));
        let same = Mean::of(&[4.0; 8]).expect("values");
        assert_eq!((same.value, same.interval, same.excludes_zero()), (4.0, Some([4.0, 4.0]), true));
    }

    #[test]
    fn only_the_same_seeds_are_paired() {
        let base = BTreeMap::from([(1, 10.0), (2, 20.0), (3, 30.0)]);
        let other = BTreeMap::from([(2, 25.0), (3, 29.0), (4, 1.0)]);
        assert_eq!(paired(&base, &other), [5.0, -1.0]);
    }

    #[test]
    fn p_values_are_those_of_the_tables() {
        // Two-sided 5 % and 0.1 % points of Student's t.
        for (freedom, five, thousandth) in [
            (1, 12.706_205, 636.619_249),
            (2, 4.302_653, 31.599_055),
            (3, 3.182_446, 12.923_979),
            (7, 2.364_624, 5.407_883),
            (8, 2.306_004, 5.041_305),
            (29, 2.045_230, 3.659_405),
        ] {
            assert!((outside(five, freedom) - 0.05).abs() < 1e-6, "{freedom}");
            assert!((outside(thousandth, freedom) - 0.001).abs() < 1e-6, "{freedom}");
        }
        // Mean 2, standard error 1: t = 2 with 3 degrees.
        let differences = [2.0 - 3f64.sqrt(), 2.0 + 3f64.sqrt(), 2.0 - 3f64.sqrt(), 2.0 + 3f64.sqrt()];
        assert!((paired_p(&differences) - 0.139_326).abs() < 1e-5);
        assert_eq!(paired_p(&[5.0]), 1.0);
        assert_eq!(paired_p(&[0.0, 0.0]), 1.0);
        assert_eq!(paired_p(&[5.0, 5.0]), 0.5, "both of the same sign by chance");
        assert_eq!(paired_p(&[0.1; 8]), 1.0 / 128.0, "no certainty without a spread");
    }

    #[test]
    fn chance_alone_is_rarely_significant() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let chance = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            study(rng, 8).into_iter().zip(study(rng, 8)).map(|(a, b)| a - b).collect()
        };
        let found = (0..2_000).filter(|_| paired_p(&chance(&mut rng)) < 0.05).count();
        assert!((60..=140).contains(&found), "{found} of 2000");
    }

    #[test]
    fn holm_as_in_the_textbook() {
        let rounded = |p: &[f64]| holm(p).iter().map(|p| (p * 1000.0).round() as u32).collect::<Vec<_>>();
        assert_eq!(rounded(&[0.01, 0.04, 0.03, 0.005]), [30, 60, 60, 20]);
        assert_eq!(rounded(&[0.9, 0.6]), [1000, 1000]);
        assert_eq!(rounded(&[]), [0; 0]);
    }
}
