//! Rules of this module that can be broken on purpose, one at a time and for the whole process. Each was broken once; the
//! campaign of adversaries must find each of them when it is broken again. Only builds with the feature `doors` can.

#[cfg(feature = "doors")]
use core::sync::atomic::{AtomicU8, Ordering};

/// Declares the mutations and their names.
macro_rules! mutations {
    ($($(#[$note:meta])* $variant:ident = $number:literal, $word:literal;)*) => {
        /// A rule that is broken.
        #[cfg_attr(not(feature = "doors"), expect(unreachable_pub, reason = "only the campaign breaks rules"))]
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum Mutation { $($(#[$note])* $variant = $number,)* }

        #[cfg(feature = "doors")]
        impl Mutation {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$variant,)*];

            /// Its name.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $word,)*
                }
            }
        }
    };
}

mutations! {
    /// Messages that describe a state do not replace each other, and choices are unlimited.
    QueuedStates = 2, "queued-states";
    /// A lone list that differs from all others ends the match.
    LoneList = 3, "lone-list";
    /// The first second of each stall is not counted.
    UncountedSecond = 4, "uncounted-second";
    /// Key exchanges are unlimited, and the oldest keys give way, whose they are does not matter.
    UnlimitedExchanges = 5, "unlimited-exchanges";
    /// Each challenge resets a guest's count of wrong proofs.
    UncountedGuesses = 6, "uncounted-guesses";
    /// Who held a room has no penalty, and may be unready for ever.
    HeldRoom = 7, "held-room";
    /// Round trips are measured by pongs alone, and no peer's demand is compared with those of others.
    PongsAlone = 8, "pongs-alone";
    /// Nothing that a peer sends is limited by its kind, and each suspicion is answered.
    UnlimitedAnswers = 9, "unlimited-answers";
    /// The tick clock follows the mean of all clocks.
    MeanClock = 10, "mean-clock";
}

/// The number of the mutation that is planted; 0 for none.
#[cfg(feature = "doors")]
static PLANTED: AtomicU8 = AtomicU8::new(0);

impl Mutation {
    /// Plants it in this process.
    #[cfg(feature = "doors")]
    pub fn plant(self) {
        PLANTED.store(self as u8, Ordering::Relaxed);
    }

    /// Whether it is planted.
    #[cfg(feature = "doors")]
    pub(crate) fn is_planted(self) -> bool {
        PLANTED.load(Ordering::Relaxed) == self as u8
    }

    /// Whether it is planted: never.
    #[cfg(not(feature = "doors"))]
    pub(crate) const fn is_planted(self) -> bool {
        false
    }
}
