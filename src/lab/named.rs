//! Enums whose variants have words in reports.

/// Declares an enum and the word for each variant.
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
    };
}

pub(super) use named;
