//! Representation in reports: enums with a name per variant, and the units of JSON.

use core::time::Duration;
use serde::{Serialize as _, Serializer};

/// Serializes a duration as milliseconds.
///
/// # Errors
/// The error of the serializer.
pub fn milliseconds<S: Serializer>(duration: &Duration, to: S) -> Result<S::Ok, S::Error> {
    (duration.as_secs_f64() * 1e3).serialize(to)
}

/// Declares an enum with a name for each variant, which also represents it in JSON.
#[macro_export]
macro_rules! named {
    ($(#[$meta:meta])* pub enum $name:ident { $($(#[$note:meta])* $variant:ident = $word:literal,)* }) => {
        $(#[$meta])*
        pub enum $name { $($(#[$note])* $variant,)* }

        impl $name {
            /// All variants, in the order of their declaration.
            pub const ALL: [Self; [$($word),*].len()] = [$(Self::$variant),*];

            /// Returns the name in reports.
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
