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
    /// The margin of equivalence: a smaller difference does not matter.
    margin: f64,
    /// In a sentence: subject and verb, unit, what more of it is called and what less.
    words: [&'static str; 4],
}

/// Declares the latencies: each is a variant, a column of the rows and a row of the table. The last words are the
/// subject and the verb of a sentence.
macro_rules! latencies {
    ($($(#[$note:meta])* $variant:ident { $field:ident, $name:literal, $column:literal, $says:literal })*) => {
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

            const fn metric(self) -> Metric {
                let (key, name, column, says) = match self {
                    $(Self::$variant => (stringify!($field), $name, $column, $says),)*
                };
                let words = [says, "ms", "later", "sooner"];
                Metric { key, name, column, unit: "ms", margin: TICK_MS, words }
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
                let (key, name, column, unit, margin, words) = match self {
                    Self::Latency(kind, _) => return kind.metric(),
                    $(Self::$variant => ($key, $name, $column, $unit, $least, $words),)*
                };
                Metric { key, name, column, unit, margin, words }
            }
        }
    };
}

latencies! {
    /// Until the confirmed state of the player who gave it has it.
    Own { own_ms, "own order confirmed", "own confirmed", "one's own order is confirmed" }
    /// Until a state that has it is shown to the player who gave it.
    OwnPredicted { own_predicted_ms, "own order shown", "own shown", "one's own order is shown" }
    /// Until the others' screens show a state that has it.
    Opponent { opponent_ms, "opponent's order shown", "opponent shown", "the opponent's order is shown" }
    /// Until the others' confirmed states have it.
    OpponentConfirmed {
        opponent_confirmed_ms, "opponent's order confirmed", "opponent confirmed", "the opponent's order is confirmed"
    }
    /// Until the first frame of the others' displays, of 60 a second, shows it: what is nearest to motion to photon.
    OpponentFrame {
        opponent_frame_ms, "opponent's order in a frame", "opponent in a frame",
        "the opponent's order is in a frame of the display"
    }
    /// Between the players whose links are good, where one's is bad.
    Others {
        others_ms, "order confirmed between players with good links", "between good links",
        "an order between players with good links is confirmed"
    }
    /// Of the own orders of players whose links are good.
    OthersOwn {
        others_own_ms, "own order confirmed on a good link", "own, good link",
        "an own order on a good link is confirmed"
    }
}

rates! {
    /// Milliseconds per second in which nothing new could be shown. 1 is a thousandth of the time.
    Stalls {
        "stall_ms_per_s", "stalls", "stalls", "ms/s", 1.0, ["play stalls", "ms per second", "more", "less"],
        |row| per(row.stall_ms, row.seconds)
    }
    /// Milliseconds per second in which a confirmed tick, or a server's next update, was late by more than 100 ms, without
    /// these.
    Freezes {
        "freeze_ms_per_s", "freezes", "freezes", "ms/s", 1.0, ["the match freezes", "ms per second", "more", "less"],
        |row| per(row.freeze_ms, row.seconds)
    }
    /// The same of the players whose links are good.
    OthersFreezes {
        "others_freeze_ms_per_s", "freezes on good links", "freezes, good links", "ms/s", 1.0,
        ["the match freezes for players with good links", "ms per second", "more", "less"],
        |row| per(row.others_freeze_ms, row.seconds)
    }
    /// The longest freeze of any player.
    LongestFreeze {
        "freeze_max_ms", "longest freeze", "longest freeze", "ms", 100.0, ["the longest freeze is", "ms", "longer", "shorter"],
        |row| Some(row.freeze_max_ms)
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
    /// What a player whose link is good sends, with headers.
    OthersUp {
        "others_kbit_s_up", "sent on a good link", "up, good link", "kbit/s", 1.0,
        ["a player with a good link sends", "kbit/s", "more", "less"], |row| Some(row.others_kbit_s_up)
    }
    /// What a player sends over the whole match: alike in real and virtual matches.
    WholeUp {
        "whole_kbit_s_up", "sent by a player, whole match", "up, whole match", "kbit/s", 1.0,
        ["a player sends over the whole match", "kbit/s", "more", "less"], |row| Some(row.whole_kbit_s_up)
    }
    /// What a player receives over the whole match.
    WholeDown {
        "whole_kbit_s_down", "received by a player, whole match", "down, whole match", "kbit/s", 1.0,
        ["a player receives over the whole match", "kbit/s", "more", "less"], |row| Some(row.whole_kbit_s_down)
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
    /// Distance of a moving unit on two screens, p95 over units and looks, in tiles.
    MovingDivergence {
        "apart_p95_tiles", "distance of moving units between screens (p95)", "moving units apart p95", "tiles", 0.1,
        ["two screens show 19 of 20 moving units", "tiles", "farther apart", "closer together"],
        |row| Some(row.apart_p95)
    }
    /// Share of the looks that find a moving unit more than half a tile apart on two screens, in percent.
    FarApart {
        "apart_far_percent", "moving units more than half a tile apart", "over half a tile apart", "%", 1.0,
        ["two screens show a moving unit more than half a tile apart", "% of the time", "more", "less"],
        |row| Some(100.0 * row.apart_far)
    }
    /// Orders that had not run everywhere at the end, percent.
    Censored {
        "censored_percent", "orders not applied by the end", "not applied", "%", 1.0,
        ["orders are not applied", "% of all", "more", "less"],
        |row| (row.commands > 0).then(|| 100.0 * f64::from(row.censored) / f64::from(row.commands))
    }
    /// Processor time of a player for each tick.
    PlayerCpu {
        "cpu_us_per_tick", "processor time of a player per tick", "player's CPU per tick", "µs", 100.0,
        ["a player's tick takes", "µs of the processor", "more", "less"], |row| row.cpu_us_per_tick
    }
    /// Processor time of the server for each tick.
    ServerCpu {
        "server_cpu_us_per_tick", "processor time of the server per tick", "server's CPU per tick", "µs", 100.0,
        ["the server's tick takes", "µs of the processor", "more", "less"], |row| row.server_cpu_us_per_tick
    }
    /// By how many bytes the server's state differs from that of a client.
    StateBytes {
        "state_bytes", "difference of the server's state from a client's", "difference of states", "bytes", 100.0,
        ["the difference of two states takes", "bytes", "more", "less"], |row| row.state_bytes
    }
    /// Seconds played on after the host or the server was lost; to the end of what counts at most.
    SecondsAfterLoss {
        "seconds_after_loss", "survivors play on", "survivors play on", "s", 1.0,
        ["the survivors play on for", "s", "longer", "less long"],
        |row| row.ticks_after_loss.map(|ticks| f64::from(ticks) / 60.0)
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
        self.metric().key
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
    /// Until the opponent's screen shows an order, p95.
    pub const SEEN_P95: Self = Self::Latency(LatencyKind::Opponent, Percentile::P95);
    /// Until a frame of the opponent's display shows an order.
    pub const IN_FRAME: Self = LatencyKind::OpponentFrame.median();
    /// The same, 95 %.
    pub const IN_FRAME_P95: Self = Self::Latency(LatencyKind::OpponentFrame, Percentile::P95);
    /// Until a player with a good link has the order of another, where one player's link is bad.
    pub const OTHERS: Self = LatencyKind::Others.median();
    /// The same, 95 %.
    pub const OTHERS_P95: Self = Self::Latency(LatencyKind::Others, Percentile::P95);
    /// The same, 99 %.
    pub const OTHERS_P99: Self = Self::Latency(LatencyKind::Others, Percentile::P99);
    /// Until a player with a good link has an own order confirmed.
    pub const OTHERS_OWN: Self = LatencyKind::OthersOwn.median();
    /// The same, 95 %.
    pub const OTHERS_OWN_P95: Self = Self::Latency(LatencyKind::OthersOwn, Percentile::P95);
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

    /// The subject of a sentence with its verb: `the opponent's order is confirmed`, with `p95: ` before it.
    pub(super) fn subject(self) -> String {
        let subject = self.metric().words[0];
        match self {
            Self::Latency(_, percentile) if percentile != Percentile::P50 => {
                format!("{}: {subject}", percentile.as_str())
            }
            _ => subject.to_owned(),
        }
    }

    /// The unit in a sentence, and what more and less of it are called.
    pub(super) const fn words(self) -> [&'static str; 3] {
        let [_, unit, more, less] = self.metric().words;
        [unit, more, less]
    }

    /// Whether it depends on what the screens show.
    pub(super) const fn is_of_the_view(self) -> bool {
        match self {
            Self::Latency(kind, _) => {
                matches!(kind, LatencyKind::OwnPredicted | LatencyKind::Opponent | LatencyKind::OpponentFrame)
            }
            measure => matches!(
                measure,
                Self::Divergence | Self::MovingDivergence | Self::FarApart | Self::Corrections
            ),
        }
    }

    /// The margin of equivalence, in the unit of the measure: a smaller difference does not matter.
    #[must_use]
    pub const fn margin(self) -> f64 {
        self.metric().margin
    }
}

fn per(value: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| value / of)
}
