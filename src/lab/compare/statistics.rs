//! Means with intervals, paired differences, p-values of differences and of equivalence. The unit of replication is the
//! match: within a match, commands share a link and a battle, so their latencies are not independent.

use std::collections::BTreeMap;

use statrs::distribution::{ContinuousCDF as _, StudentsT};

/// Coverage of the intervals.
const CONFIDENCE: f64 = 0.95;
/// Maximum relative standard error of differences that are equal except for rounding.
const SAME: f64 = 1e-9;

/// Mean over matches, and its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mean {
    /// Mean.
    pub value: f64,
    /// The 95 % confidence interval of the mean; `None` for a single match.
    pub interval: Option<[f64; 2]>,
    /// Number of matches.
    pub matches: usize,
}

impl Mean {
    /// Computes the mean of one value per match, with its interval by Student's t; `None` without values.
    ///
    /// The interval is exact for normal means. For skewed values (the square of a triangular draw) it covers the true
    /// mean in 92 to 95 of 100 studies from 5 matches on.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let value = mean(values)?;
        let interval = standard_error(values).map(|error| {
            let half = student(values.len()).inverse_cdf((1.0 + CONFIDENCE) / 2.0) * error;
            [value - half, value + half]
        });
        Some(Self { value, interval, matches: values.len() })
    }

    /// Converts the mean to another unit.
    #[must_use]
    pub fn scaled(self, by: f64) -> Self {
        let interval = self.interval.map(|ends| ends.map(|end| by * end));
        Self { value: by * self.value, interval, ..self }
    }

    /// Whether the interval lies on one side of zero.
    #[must_use]
    pub fn excludes_zero(&self) -> bool {
        self.interval.is_some_and(|[low, high]| low > 0.0 || high < 0.0)
    }

    /// Whether the whole interval is nearer to zero than `margin`.
    #[must_use]
    pub fn is_within(&self, margin: f64) -> bool {
        self.interval.is_some_and(|[low, high]| low > -margin && high < margin)
    }
}

/// Returns the differences `other` - `base` of the matches with the same seed, in the order of the seeds.
#[must_use]
pub fn paired(base: &BTreeMap<u64, f64>, other: &BTreeMap<u64, f64>) -> Vec<f64> {
    base.iter().filter_map(|(seed, base)| other.get(seed).map(|other| other - base)).collect()
}

/// Computes the two-sided p-value of paired differences under the hypothesis that their mean is zero: Student's t-test.
/// 1 with fewer than two differences. Equal differences give no estimate of the variance, so their p-value is that of a
/// sign permutation test.
#[must_use]
pub fn paired_p(differences: &[f64]) -> f64 {
    let Some((middle, error)) = mean(differences).zip(standard_error(differences)) else { return 1.0 };
    match middle.abs() {
        0.0 => 1.0,
        middle if error < middle * SAME => 0.5_f64.powi(differences.len() as i32 - 1),
        middle => (2.0 * student(differences.len()).sf(middle / error)).min(1.0),
    }
}

/// Computes the p-value of paired differences under the hypothesis that their mean is at least `margin` away from zero:
/// the larger of two one-sided t-tests. 1 with fewer than two differences; equal differences as in [`paired_p`].
#[must_use]
pub fn equivalence_p(differences: &[f64], margin: f64) -> f64 {
    let Some((middle, error)) = mean(differences).zip(standard_error(differences)) else { return 1.0 };
    let room = margin - middle.abs();
    if room <= 0.0 {
        return 1.0;
    }
    if error < room * SAME {
        return 0.5_f64.powi(differences.len() as i32);
    }
    student(differences.len()).sf(room / error)
}

/// Adjusts p-values for their number by Holm's method, in the given order.
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

/// Returns the share of `some` in `all`, with Wilson's interval of `errors` standard errors; `None` if `all` is 0.
#[must_use]
pub fn wilson(some: usize, all: usize, errors: f64) -> Option<Mean> {
    let (n, z2) = (all as f64, errors * errors);
    let share = some as f64 / n;
    let middle = (share + z2 / (2.0 * n)) / (1.0 + z2 / n);
    let half = errors / (1.0 + z2 / n) * (share * (1.0 - share) / n + z2 / (4.0 * n * n)).sqrt();
    (all > 0).then_some(Mean { value: share, interval: Some([middle - half, middle + half]), matches: all })
}

/// Returns the mean; `None` without values.
pub(super) fn mean(values: &[f64]) -> Option<f64> {
    (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
}

/// Returns the standard error of the mean; `None` with fewer than two values.
fn standard_error(values: &[f64]) -> Option<f64> {
    let (middle, n) = (mean(values)?, values.len() as f64);
    let squares: f64 = values.iter().map(|value| (value - middle).powi(2)).sum();
    (values.len() > 1).then(|| (squares / (n - 1.0) / n).sqrt())
}

/// Returns Student's t distribution for the mean of this number of values.
fn student(values: usize) -> StudentsT {
    StudentsT::new(0.0, 1.0, values as f64 - 1.0).expect("at least one degree of freedom")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_chacha::ChaCha8Rng;
    use rand_chacha::rand_core::{Rng as _, SeedableRng as _};

    /// Draws values around 10 with a skewed distribution, as latencies have: the square of the sum of two uniform
    /// draws.
    fn study(rng: &mut ChaCha8Rng, n: usize) -> Vec<f64> {
        let mut uniform = || f64::from(rng.next_u32()) / f64::from(u32::MAX);
        (0..n).map(|_| 10.0 + (uniform() + uniform()).powi(2)).collect()
    }

    /// Expected value: E (U + V)^2 of two uniform draws = 2/3 + 1/2.
    const TRUE_MEAN: f64 = 10.0 + 7.0 / 6.0;

    #[test]
    fn the_interval_has_its_nominal_coverage() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        for (n, least, most) in [(5, 0.90, 0.965), (8, 0.91, 0.965), (20, 0.93, 0.965), (30, 0.93, 0.965)] {
            let holds = (0..3_000).filter(|_| {
                let [low, high] = Mean::of(&study(&mut rng, n)).expect("values").interval.expect("many");
                (low..=high).contains(&TRUE_MEAN)
            });
            let share = holds.count() as f64 / 3_000.0;
            assert!((least..=most).contains(&share), "{share} of {n} matches");
        }
    }

    #[test]
    fn a_mean_is_a_function_of_its_values() {
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
            let outside = |t: f64| 2.0 * student(freedom + 1).sf(t);
            assert!((outside(five) - 0.05).abs() < 1e-6, "{freedom}");
            assert!((outside(thousandth) - 0.001).abs() < 1e-6, "{freedom}");
        }
        // Mean 2, standard error 1: t = 2 with 3 degrees.
        let differences = [2.0 - 3f64.sqrt(), 2.0 + 3f64.sqrt(), 2.0 - 3f64.sqrt(), 2.0 + 3f64.sqrt()];
        assert!((paired_p(&differences) - 0.139_326).abs() < 1e-5);
        assert_eq!(paired_p(&[5.0]), 1.0);
        assert_eq!(paired_p(&[0.0, 0.0]), 1.0);
        assert_eq!(paired_p(&[5.0, 5.0]), 0.5, "both of the same sign by chance");
        assert_eq!(paired_p(&[0.1; 8]), 1.0 / 128.0, "no certainty without variance");
    }

    #[test]
    fn equivalence_is_shown_by_both_ends_of_the_interval() {
        // Mean 2, standard error 1, 3 degrees: at a margin of 4.353 the nearer end has t = 2.353, the 5 % point.
        let differences = [2.0 - 3f64.sqrt(), 2.0 + 3f64.sqrt(), 2.0 - 3f64.sqrt(), 2.0 + 3f64.sqrt()];
        assert!((equivalence_p(&differences, 4.353_363) - 0.05).abs() < 1e-6);
        let mirrored = differences.map(|difference| -difference);
        assert_eq!(equivalence_p(&mirrored, 4.0), equivalence_p(&differences, 4.0));
        assert_eq!(equivalence_p(&differences, 2.0), 1.0, "at the margin");
        assert_eq!(equivalence_p(&[1.0], 5.0), 1.0);
        assert_eq!(equivalence_p(&[1.0; 8], 5.0), 1.0 / 256.0, "no certainty without variance");
        let mean = Mean::of(&differences).expect("values");
        let [low, high] = mean.interval.expect("many");
        assert!((high - 2.0 - 3.182_446).abs() < 1e-5 && (low + 1.182_446).abs() < 1e-5);
        assert_eq!([5.1, 5.2].map(|margin| mean.is_within(margin)), [false, true]);
    }

    /// Pairs that differ by the margin are called equivalent in at most about 5 of 100 studies.
    #[test]
    fn a_difference_of_the_margin_is_rarely_called_equivalent() {
        let mut rng = ChaCha8Rng::seed_from_u64(4);
        let mut uniform = || f64::from(rng.next_u32()) / f64::from(u32::MAX);
        let wrong = (0..2_000).filter(|_| {
            let differences: Vec<f64> =
                (0..20).map(|_| 16.7 + 20.0 * (uniform() + uniform() - 1.0)).collect();
            equivalence_p(&differences, 16.7) < 0.05
        });
        let wrong = wrong.count();
        assert!((60..=140).contains(&wrong), "{wrong} of 2000");
    }

    #[test]
    fn a_share_has_wilsons_interval() {
        // Newcombe (1998), table I: 81 of 263, 15 of 148, 0 of 20, 1 of 29.
        for (some, all, low, high) in [
            (81, 263, 0.2553, 0.3662),
            (15, 148, 0.0624, 0.1605),
            (0, 20, 0.0, 0.1611),
            (1, 29, 0.0061, 0.1718),
        ] {
            let [found_low, found_high] =
                wilson(some, all, 1.96).expect("some").interval.expect("an interval");
            assert!((found_low - low).abs() < 1e-4 && (found_high - high).abs() < 1e-4, "{some} of {all}");
        }
        assert_eq!(wilson(0, 0, 1.96), None);
    }

    #[test]
    fn noise_is_rarely_significant() {
        let mut rng = ChaCha8Rng::seed_from_u64(3);
        let chance = |rng: &mut ChaCha8Rng| -> Vec<f64> {
            study(rng, 8).into_iter().zip(study(rng, 8)).map(|(a, b)| a - b).collect()
        };
        let found = (0..2_000).filter(|_| paired_p(&chance(&mut rng)) < 0.05).count();
        assert!((60..=140).contains(&found), "{found} of 2000");
    }

    #[test]
    fn holms_adjustment_matches_the_textbook() {
        let rounded = |p: &[f64]| holm(p).iter().map(|p| (p * 1000.0).round() as u32).collect::<Vec<_>>();
        assert_eq!(rounded(&[0.01, 0.04, 0.03, 0.005]), [30, 60, 60, 20]);
        assert_eq!(rounded(&[0.9, 0.6]), [1000, 1000]);
        assert_eq!(rounded(&[]), [0; 0]);
    }
}
