//! What is measured of each match: one table, from which its key in JSON, its words, its columns and the least
//! difference that matters come.

use super::row::{MatchRow, Quantiles};

/// One tick at 60 a second, in milliseconds.
pub(super) const TICK_MS: f64 = 1000.0 / 60.0;

/// A row of the table.
struct Metric {
    /// In JSON.
    key: &'static str,
    /// In text.
    name: &'static str,
    /// At the head of a column.
    column: &'static str,
    /// In tables.
    unit: &'static str,
    /// A smaller difference is no finding, whatever its p-value.
    least: f64,
    /// In a sentence: subject and verb, unit, what more of it is called and what less.
    words: [&'static str; 4],
}

/// Declares the latencies: each is a variant, a column of the rows and a row of the table. The last word is the plural
/// of the sentence.
macro_rules! latencies {
    ($($(#[$note:meta])* $variant:ident { $field:ident, $name:literal, $column:literal, $one:literal, $many:literal })*) => {
        /// Between which two instants of an order.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum LatencyKind { $($(#[$note])* $variant,)* }

        impl LatencyKind {
            /// All, in the order of JSON.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The latencies of a match.
            #[must_use]
            pub const fn of(self, row: &MatchRow) -> &Quantiles {
                match self { $(Self::$variant => &row.$field,)* }
            }

            const fn metric(self) -> (Metric, &'static str) {
                let (key, name, column, one, many) = match self {
                    $(Self::$variant => (stringify!($field), $name, $column, $one, $many),)*
                };
                let words = [one, "ms", "later", "sooner"];
                (Metric { key, name, column, unit: "ms", least: TICK_MS, words }, many)
            }
        }
    };
}

/// Declares the measures that are no latencies: each is a variant and a row of the table.
macro_rules! rates {
    ($($(#[$note:meta])* $variant:ident {
        $key:literal, $name:literal, $column:literal, $unit:literal, $least:literal, $words:expr, $of:expr
    })*) => {
        /// A number that each match gives.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Measure {
            /// A percentile of a latency, in milliseconds.
            Latency(LatencyKind, Percentile),
            $($(#[$note])* $variant,)*
        }

        impl Measure {
            /// All that are no latencies, in the order of JSON.
            pub const RATES: &[Self] = &[$(Self::$variant),*];

            /// The value of one match, if it has one.
            #[must_use]
            pub fn of(self, row: &MatchRow) -> Option<f64> {
                let of: fn(&MatchRow) -> Option<f64> = match self {
                    Self::Latency(kind, percentile) => return kind.of(row).at(percentile),
                    $(Self::$variant => $of,)*
                };
                of(row)
            }

            const fn metric(self) -> Metric {
                let (key, name, column, unit, least, words) = match self {
                    Self::Latency(kind, _) => return kind.metric().0,
                    $(Self::$variant => ($key, $name, $column, $unit, $least, $words),)*
                };
                Metric { key, name, column, unit, least, words }
            }
        }
    };
}

latencies! {
    /// Until the confirmed state of the player who gave it has it.
    Own {
        own_ms, "own order confirmed", "own confirmed",
        "one's own order is confirmed", "one's own orders are confirmed"
    }
    /// Until a state that has it is shown to the player who gave it.
    OwnPredicted {
        own_predicted_ms, "own order shown", "own shown", "one's own order shows", "one's own orders show"
    }
    /// Until the others' screens show a state that has it.
    Opponent {
        opponent_ms, "opponent's order seen", "opponent seen",
        "the opponent's order is seen", "the opponent's orders are seen"
    }
    /// Until the others' confirmed states have it.
    OpponentConfirmed {
        opponent_confirmed_ms, "opponent's order confirmed", "opponent confirmed",
        "the opponent's order is confirmed", "the opponent's orders are confirmed"
    }
}

rates! {
    /// Milliseconds per second in which nothing new could be shown. 1 is a thousandth of the time.
    Stalls {
        "stall_ms_per_s", "stalls", "stalls", "ms/s", 1.0, ["play stalls", "ms per second", "more", "less"],
        |row| per(row.stall_ms, row.seconds)
    }
    /// Visible jumps of a predicted own hero, per minute and player.
    Corrections {
        "corrections_per_min", "corrections", "corrections", "per min", 1.0,
        ["a predicted hero jumps", "times a minute", "more often", "less often"],
        |row| per(60.0 * f64::from(row.corrections), row.seconds * f64::from(row.cell.players))
    }
    /// What a player sends, with headers.
    PlayerUp {
        "kbit_s_up", "sent by a player", "player up", "kbit/s", 1.0, ["a player sends", "kbit/s", "more", "less"],
        |row| Some(row.kbit_s_up)
    }
    /// What a player receives, with headers.
    PlayerDown {
        "kbit_s_down", "received by a player", "player down", "kbit/s", 1.0,
        ["a player receives", "kbit/s", "more", "less"], |row| Some(row.kbit_s_down)
    }
    /// What the server or relay sends, with headers.
    ServerUp {
        "server_kbit_s_up", "sent by the server", "server up", "kbit/s", 1.0,
        ["the server sends", "kbit/s", "more", "less"], |row| Some(row.server_kbit_s_up)
    }
    /// What the server or relay receives, with headers.
    ServerDown {
        "server_kbit_s_down", "received by the server", "server down", "kbit/s", 1.0,
        ["the server receives", "kbit/s", "more", "less"], |row| Some(row.server_kbit_s_down)
    }
    /// What all nodes together send, with headers.
    AllNodes {
        "kbit_s_all", "sent by all nodes", "all nodes", "kbit/s", 1.0,
        ["all nodes together send", "kbit/s", "more", "less"],
        |row| Some(f64::from(row.cell.players) * row.kbit_s_up + row.server_kbit_s_up)
    }
    /// Mean distance of a unit on two screens, in tiles. 0.1 is a fifth of the width of a hero.
    Divergence {
        "apart_tiles", "distance between screens", "divergence", "tiles", 0.1,
        ["two screens show a unit", "tiles", "farther apart", "closer together"], |row| Some(row.apart_mean)
    }
    /// Ticks played on after the host or the server was lost.
    TicksAfterLoss {
        "ticks_after_loss", "ticks after the loss", "after the loss", "ticks", 60.0,
        ["the remaining players play on for", "ticks", "more", "fewer"], |row| row.ticks_after_loss.map(f64::from)
    }
}

/// Which quantile of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Percentile {
    /// The median.
    P50,
    /// 95 of 100 are shorter.
    P95,
    /// 99 of 100 are shorter.
    P99,
}

impl Percentile {
    /// All, in order.
    pub const ALL: [Self; 3] = [Self::P50, Self::P95, Self::P99];

    /// Its name in JSON and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        ["p50", "p95", "p99"][self as usize]
    }

    /// The share of the orders that are quicker, 0 to 1.
    pub(super) const fn share(self) -> f64 {
        [0.5, 0.95, 0.99][self as usize]
    }
}

impl LatencyKind {
    /// Its column in the rows, and its key in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        self.metric().0.key
    }

    /// Its median.
    #[must_use]
    pub const fn median(self) -> Measure {
        Measure::Latency(self, Percentile::P50)
    }
}

impl Measure {
    /// Until the opponent's confirmed state has an order: the latency that all architectures have alike.
    pub const CONFIRMED: Self = LatencyKind::OpponentConfirmed.median();
    /// The same, 95 %.
    pub const CONFIRMED_P95: Self = Self::Latency(LatencyKind::OpponentConfirmed, Percentile::P95);
    /// The same, 99 %.
    pub const CONFIRMED_P99: Self = Self::Latency(LatencyKind::OpponentConfirmed, Percentile::P99);
    /// Until the opponent's screen shows an order.
    pub const SEEN: Self = LatencyKind::Opponent.median();
    /// Until the own confirmed state has an order.
    pub const OWN: Self = LatencyKind::Own.median();
    /// Until the own screen shows an order.
    pub const SHOWN: Self = LatencyKind::OwnPredicted.median();

    /// Its key in JSON; of a latency, the keys of two objects in each other.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Latency(kind, percentile) => format!("{}.{}", kind.key(), percentile.as_str()),
            rate => rate.metric().key.to_owned(),
        }
    }

    /// Its name: `own order confirmed (p95)`.
    #[must_use]
    pub fn name(self) -> String {
        let name = self.metric().name;
        match self {
            Self::Latency(_, percentile) => format!("{name} ({})", percentile.as_str()),
            _ => name.to_owned(),
        }
    }

    /// The head of its column: `own confirmed p95, ms`.
    #[must_use]
    pub fn column(self) -> String {
        let Metric { column, unit, .. } = self.metric();
        match self {
            Self::Latency(_, percentile) if percentile != Percentile::P50 => {
                format!("{column} {}, {unit}", percentile.as_str())
            }
            _ => format!("{column}, {unit}"),
        }
    }

    /// Its unit in tables.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        self.metric().unit
    }

    /// The subject of a sentence with its verb: `19 of 20 of one's own orders show`.
    pub(super) fn subject(self) -> String {
        match self {
            Self::Latency(kind, Percentile::P95) => format!("19 of 20 of {}", kind.metric().1),
            Self::Latency(kind, Percentile::P99) => format!("99 of 100 of {}", kind.metric().1),
            _ => self.metric().words[0].to_owned(),
        }
    }

    /// The unit in a sentence, and what more and less of it are called.
    pub(super) const fn words(self) -> [&'static str; 3] {
        let [_, unit, more, less] = self.metric().words;
        [unit, more, less]
    }

    /// A smaller difference is no finding, in the unit of the measure.
    pub(super) const fn least(self) -> f64 {
        self.metric().least
    }
}

fn per(value: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| value / of)
}
