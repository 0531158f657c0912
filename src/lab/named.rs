//! How what is measured stands in reports: enums whose variants have words, and the units of JSON.

use core::time::Duration;
use serde::{Serialize as _, Serializer};

/// A duration in JSON: milliseconds.
///
/// # Errors
/// Those of `to`.
pub fn milliseconds<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    (duration.as_secs_f64() * 1e3).serialize(to)
}

/// Declares an enum and the word for each variant, which stands for it in JSON, too.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$note:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$note])* $variant,)* }

        impl $name {
            /// All of them, in the order of their declaration.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// The word for it in reports.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }

        impl serde::Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
                to.serialize_str(self.as_str())
            }
        }
    };
}
