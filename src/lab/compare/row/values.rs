//! Values of a row that are not single numbers: quantiles, and series of seconds.

use core::str::FromStr;
use serde::{Deserialize, Serialize};

use super::{QUANTILES, Quantiles};
use crate::compare::metric::Percentile;

/// Returns the nearest-rank quantile of `sorted`, which is always a measured value.
pub(in crate::compare) fn quantile(sorted: &[f64], share: f64) -> Option<f64> {
    let rank = (share * sorted.len() as f64).ceil() as usize;
    sorted.get(rank.saturating_sub(1).min(sorted.len().checked_sub(1)?)).copied()
}

impl Quantiles {
    /// Computes the quantiles of measurements in any order.
    #[must_use]
    pub fn of(mut measured: Vec<f64>) -> Self {
        measured.sort_unstable_by(f64::total_cmp);
        Self(QUANTILES.iter().filter_map(|&share| quantile(&measured, share)).map(rounded).collect())
    }

    /// Creates quantiles from their values in order; `None` if their number is wrong.
    #[must_use]
    pub fn of_sorted(values: Vec<f64>) -> Option<Self> {
        (values.len() == QUANTILES.len()).then_some(Self(values))
    }

    /// Returns a percentile.
    #[must_use]
    pub fn at(&self, percentile: Percentile) -> Option<f64> {
        let place = QUANTILES.iter().position(|&share| share == percentile.share())?;
        self.0.get(place).copied()
    }

    /// Returns the median.
    #[must_use]
    pub fn p50(&self) -> Option<f64> {
        self.at(Percentile::P50)
    }

    /// Returns the share and the value of each quantile.
    pub fn iter(&self) -> impl Iterator<Item = (f64, f64)> {
        QUANTILES.into_iter().zip(self.0.iter().copied())
    }
}

/// One value for each second of a match.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Series(pub Vec<f64>);

impl Series {
    /// Rounds values to the precision of the file.
    #[must_use]
    pub fn of(values: impl Iterator<Item = f64>) -> Self {
        Self(values.map(rounded).collect())
    }
}

/// Rounds to thousandths, finer than any measurement. Rows in memory have the precision of the file, so that a page
/// rebuilt from the file is the same, byte for byte.
fn rounded(number: f64) -> f64 {
    (number * 1000.0).round() / 1000.0
}

impl From<Series> for String {
    /// Joins the numbers with spaces, for a single field.
    fn from(Series(numbers): Series) -> Self {
        numbers.iter().map(f64::to_string).collect::<Vec<_>>().join(" ")
    }
}

impl TryFrom<String> for Series {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let numbers = text.split_ascii_whitespace().map(|number| f64::from_str(number).ok());
        let numbers = numbers.map(|number| number.filter(|number| number.is_finite()));
        numbers.collect::<Option<_>>().map(Self).ok_or("not a list of numbers")
    }
}

impl From<Quantiles> for String {
    fn from(Quantiles(values): Quantiles) -> Self {
        Series(values).into()
    }
}

impl TryFrom<String> for Quantiles {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let Series(values) = text.try_into()?;
        let is_whole = values.is_empty() || values.len() == QUANTILES.len();
        is_whole.then_some(Self(values)).ok_or("not 22 quantiles")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_measured_values() {
        let quantiles = Quantiles::of((1..=100).map(f64::from).rev().collect());
        let found =
            [Percentile::P50, Percentile::P95, Percentile::P99].map(|percentile| quantiles.at(percentile));
        assert_eq!(found, [Some(50.0), Some(95.0), Some(99.0)]);
        assert_eq!(quantiles.iter().last(), Some((1.0, 100.0)));
        assert_eq!(Quantiles::of(Vec::new()).p50(), None);
    }
}
