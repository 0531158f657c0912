//! Types of values of a file of rules or of a map, each with its range, so that an error names the line.

use std::fmt::Display;

use serde::Deserialize;
use serde::de::{Deserializer, Error as _, Unexpected, Visitor};

use sim::{RULES_NAME_MAX, is_hidden};

/// Name of rules or of a map.
pub(super) type Title = Line<RULES_NAME_MAX>;

/// Text of one line, of at most `MAX` bytes.
pub(super) struct Line<const MAX: usize>(String);

impl<'de, const MAX: usize> Deserialize<'de> for Line<MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let line = String::deserialize(deserializer)?;
        let length = line.len();
        if !(1..=MAX).contains(&length) {
            return Err(D::Error::custom(format_args!("{length} bytes are not from 1 to {MAX}")));
        }
        if line.contains(is_hidden) {
            return Err(D::Error::custom("it has control or invisible characters"));
        }
        Ok(Self(line))
    }
}

impl<const MAX: usize> From<Line<MAX>> for String {
    fn from(line: Line<MAX>) -> Self {
        line.0
    }
}

/// Decimal number from `MIN` to `MAX`, all in thousandths.
#[derive(Clone, Copy)]
pub(super) struct Decimal<const MIN: i32, const MAX: i32>(pub(super) i32);

/// Integer from `MIN` to `MAX`.
#[derive(Clone, Copy)]
pub(super) struct Whole<const MIN: i32, const MAX: i32>(pub(super) i32);

/// Number as written in the file, from `least` to `most`.
struct Number {
    least: f64,
    most: f64,
    is_whole: bool,
}

impl Number {
    /// Returns the number if it is in range; `written` is how errors show it.
    fn within<E: serde::de::Error>(&self, value: f64, written: impl Display) -> Result<f64, E> {
        let Self { least, most, .. } = self;
        if (least..=most).contains(&&value) {
            Ok(value)
        } else {
            Err(E::custom(format_args!("{written} is not from {least} to {most}")))
        }
    }
}

impl Visitor<'_> for Number {
    type Value = f64;
    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let whole = if self.is_whole { "whole " } else { "" };
        write!(f, "a {whole}number from {} to {}", self.least, self.most)
    }
    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<f64, E> {
        if self.is_whole {
            return Err(E::invalid_type(Unexpected::Float(value), &self));
        }
        self.within(value, value)
    }
    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<f64, E> {
        self.within(value as f64, value)
    }
    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<f64, E> {
        self.within(value as f64, value)
    }
    fn visit_i128<E: serde::de::Error>(self, value: i128) -> Result<f64, E> {
        self.within(value as f64, value)
    }
    fn visit_u128<E: serde::de::Error>(self, value: u128) -> Result<f64, E> {
        self.within(value as f64, value)
    }
}

impl<'de, const MIN: i32, const MAX: i32> Deserialize<'de> for Decimal<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let (least, most) = (f64::from(MIN) / 1000.0, f64::from(MAX) / 1000.0);
        let value = deserializer.deserialize_any(Number { least, most, is_whole: false })?;
        let milli = (value * 1000.0).round() as i32;
        // The two are equal exactly if the file's decimal has no more than three places.
        if f64::from(milli) / 1000.0 != value {
            return Err(D::Error::custom(format_args!("{value} has more than three decimal places")));
        }
        Ok(Self(milli))
    }
}

impl<'de, const MIN: i32, const MAX: i32> Deserialize<'de> for Whole<MIN, MAX> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let range = Number { least: MIN.into(), most: MAX.into(), is_whole: true };
        Ok(Self(deserializer.deserialize_any(range)? as i32))
    }
}

macro_rules! into_integers {
    ($number:ident: $($integer:ty),*) => {$(
        impl<const MIN: i32, const MAX: i32> From<$number<MIN, MAX>> for $integer {
            fn from(number: $number<MIN, MAX>) -> Self {
                const {
                    let (min, max) = (<$integer>::MIN as i64, <$integer>::MAX as i64);
                    assert!(MIN as i64 >= min && MAX as i64 <= max);
                }
                number.0 as Self
            }
        }
    )*};
}
into_integers!(Whole: u8, i16, u16, u32, i32);
into_integers!(Decimal: u32, i32);

/// Opening angle of an arc in degrees; the rules store half of it in 65,536ths of a turn.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Opening(Decimal<1_000, 180_000>);

impl From<Opening> for u16 {
    fn from(opening: Opening) -> Self {
        (i64::from(opening.0.0).saturating_mul(65_536) / 720_000) as Self
    }
}

/// Degrees per second; the rules store 65,536ths of a turn per second.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Turning(Decimal<10_000, 5_000_000>);

impl From<Turning> for u32 {
    fn from(turning: Turning) -> Self {
        (i64::from(turning.0.0).saturating_mul(65_536) / 360_000) as Self
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::rules_error;

    #[test]
    fn a_number_out_of_range_is_named_with_the_range_however_large_it_is() {
        let huge = "9".repeat(25);
        for (to, says) in [
            ("99999999999999999999999", "99999999999999999999999 is not from "),
            ("-1", "-1 is not from "),
            ("470.0", "invalid type: floating point `470.0`, expected a whole number from "),
            ("\"470\"", "invalid type: string \"470\", expected a whole number from "),
            ("[470]", "invalid type: sequence, expected a whole number from "),
            (&huge, &format!("{huge} is not from ")),
        ] {
            let error = rules_error("score_to_win = 900", &format!("score_to_win = {to}"));
            assert!(error.contains(&format!("score_to_win: {says}")), "{error}");
        }
        for (to, says) in [
            ("nan", "NaN is not from 1 to 20"),
            ("1e300", "is not from 1 to 20"),
            ("21", "21 is not from 1 to 20"),
        ] {
            let error = rules_error("aggro = 9.5", &format!("aggro = {to}"));
            assert!(error.ends_with(says), "{error}");
        }
    }
}
