//! Metrics of a match, in one table: JSON key, name, column heads and the margin of equivalence of each.

use super::row::{MatchRow, Quantiles};

/// Length of a tick at 60 per second, in milliseconds.
pub(super) const TICK_MS: f64 = 1000.0 / 60.0;

/// Row of the table.
struct Metric {
    /// Key in JSON.
    key: &'static str,
    /// Name in text.
    name: &'static str,
    /// Head of a column.
    column: &'static str,
    /// Unit in tables.
    unit: &'static str,
    /// Margin of equivalence: a smaller difference does not matter.
    margin: f64,
    /// Words of a sentence: subject with verb, unit, and the words for more and less.
    words: [&'static str; 4],
}

/// Declares the latencies: each is a variant, a column of the rows and a row of the table. The last string is the
/// subject and verb of a sentence.
macro_rules! latencies {
    ($($(#[$note:meta])* $variant:ident { $field:ident, $name:literal, $column:literal, $says:literal })*) => {
        /// Latency of a command, by the event to which it is measured.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum LatencyKind { $($(#[$note])* $variant,)* }

        impl LatencyKind {
            /// All latencies, in the order of JSON.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// Returns this latency of a match.
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

/// Declares the measures other than latencies: each is a variant and a row of the table.
macro_rules! rates {
    ($($(#[$note:meta])* $variant:ident {
        $key:literal, $name:literal, $column:literal, $unit:literal, $least:literal, $words:expr, $of:expr
    })*) => {
        /// Number measured in each match.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Measure {
            /// A percentile of a latency, in milliseconds.
            Latency(LatencyKind, Percentile),
            $($(#[$note])* $variant,)*
        }

        impl Measure {
            /// All measures except latencies, in the order of JSON.
            pub const RATES: &[Self] = &[$(Self::$variant),*];

            /// Returns the value of one match, if it has one.
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
    /// Time until the issuing player's confirmed state has the command.
    Own { own_ms, "own order confirmed", "own confirmed", "one's own order is confirmed" }
    /// Time until the issuing player's view shows a state with the command.
    OwnPredicted { own_predicted_ms, "own order shown", "own shown", "one's own order is shown" }
    /// Time until the others' views show a state with the command.
    Opponent { opponent_ms, "opponent's order shown", "opponent shown", "the opponent's order is shown" }
    /// Time until the others' confirmed states have the command.
    OpponentConfirmed {
        opponent_confirmed_ms, "opponent's order confirmed", "opponent confirmed", "the opponent's order is confirmed"
    }
    /// Time until the first frame of the others' displays, at 60 per second, shows the command: the closest measure to
    /// motion-to-photon latency.
    OpponentFrame {
        opponent_frame_ms, "opponent's order in a frame", "opponent in a frame",
        "the opponent's order is in a frame of the display"
    }
    /// Time until confirmation between the players with good links, if one player's link is bad.
    Others {
        others_ms, "order confirmed between players with good links", "between good links",
        "an order between players with good links is confirmed"
    }
    /// Time until a player with a good link has its own command confirmed.
    OthersOwn {
        others_own_ms, "own order confirmed on a good link", "own, good link",
        "an own order on a good link is confirmed"
    }
}

rates! {
    /// Milliseconds per second in which the view had nothing new. 1 is a thousandth of the time.
    Stalls {
        "stall_ms_per_s", "stalls", "stalls", "ms/s", 1.0, ["play stalls", "ms per second", "more", "less"],
        |row| per(row.stall_ms, row.seconds)
    }
    /// Milliseconds per second by which a confirmed tick, or a server's next update, was more than 100 ms late; the
    /// first 100 ms do not count.
    Freezes {
        "freeze_ms_per_s", "freezes", "freezes", "ms/s", 1.0, ["the match freezes", "ms per second", "more", "less"],
        |row| per(row.freeze_ms, row.seconds)
    }
    /// Freezes of the players with good links.
    OthersFreezes {
        "others_freeze_ms_per_s", "freezes on good links", "freezes, good links", "ms/s", 1.0,
        ["the match freezes for players with good links", "ms per second", "more", "less"],
        |row| per(row.others_freeze_ms, row.seconds)
    }
    /// Longest freeze of any player.
    LongestFreeze {
        "freeze_max_ms", "longest freeze", "longest freeze", "ms", 100.0, ["the longest freeze is", "ms", "longer", "shorter"],
        |row| Some(row.freeze_max_ms)
    }
    /// Visible corrections of a player's own predicted hero, per minute and player.
    Corrections {
        "corrections_per_min", "corrections", "corrections", "per min", 1.0,
        ["a predicted hero jumps", "times a minute", "more often", "less often"],
        |row| per(60.0 * f64::from(row.corrections), row.seconds * f64::from(row.cell.players))
    }
    /// Traffic sent by a player, with headers.
    PlayerUp {
        "kbit_s_up", "sent by a player", "player up", "kbit/s", 1.0, ["a player sends", "kbit/s", "more", "less"],
        |row| Some(row.kbit_s_up)
    }
    /// Traffic sent by a player with a good link, with headers.
    OthersUp {
        "others_kbit_s_up", "sent on a good link", "up, good link", "kbit/s", 1.0,
        ["a player with a good link sends", "kbit/s", "more", "less"], |row| Some(row.others_kbit_s_up)
    }
    /// Traffic sent by a player over the whole match, comparable between real and virtual matches.
    WholeUp {
        "whole_kbit_s_up", "sent by a player, whole match", "up, whole match", "kbit/s", 1.0,
        ["a player sends over the whole match", "kbit/s", "more", "less"], |row| Some(row.whole_kbit_s_up)
    }
    /// Traffic received by a player over the whole match.
    WholeDown {
        "whole_kbit_s_down", "received by a player, whole match", "down, whole match", "kbit/s", 1.0,
        ["a player receives over the whole match", "kbit/s", "more", "less"], |row| Some(row.whole_kbit_s_down)
    }
    /// Traffic received by a player, with headers.
    PlayerDown {
        "kbit_s_down", "received by a player", "player down", "kbit/s", 1.0,
        ["a player receives", "kbit/s", "more", "less"], |row| Some(row.kbit_s_down)
    }
    /// Traffic sent by the server or relay, with headers.
    ServerUp {
        "server_kbit_s_up", "sent by the server", "server up", "kbit/s", 1.0,
        ["the server sends", "kbit/s", "more", "less"], |row| Some(row.server_kbit_s_up)
    }
    /// Traffic received by the server or relay, with headers.
    ServerDown {
        "server_kbit_s_down", "received by the server", "server down", "kbit/s", 1.0,
        ["the server receives", "kbit/s", "more", "less"], |row| Some(row.server_kbit_s_down)
    }
    /// Traffic sent by all nodes together, with headers.
    AllNodes {
        "kbit_s_all", "sent by all nodes", "all nodes", "kbit/s", 1.0,
        ["all nodes together send", "kbit/s", "more", "less"],
        |row| Some(f64::from(row.cell.players) * row.kbit_s_up + row.server_kbit_s_up)
    }
    /// Mean distance of a unit between two views, in tiles. 0.1 is a fifth of the width of a hero.
    Divergence {
        "apart_tiles", "distance between screens", "divergence", "tiles", 0.1,
        ["two screens show a unit", "tiles", "farther apart", "closer together"], |row| Some(row.apart_mean)
    }
    /// Distance of a moving unit between two views, p95 over units and samples, in tiles.
    MovingDivergence {
        "apart_p95_tiles", "distance of moving units between screens (p95)", "moving units apart p95", "tiles", 0.1,
        ["two screens show 19 of 20 moving units", "tiles", "farther apart", "closer together"],
        |row| Some(row.apart_p95)
    }
    /// Share of the samples in which a moving unit is more than half a tile apart in two views, in percent.
    FarApart {
        "apart_far_percent", "moving units more than half a tile apart", "over half a tile apart", "%", 1.0,
        ["two screens show a moving unit more than half a tile apart", "% of the time", "more", "less"],
        |row| Some(100.0 * row.apart_far)
    }
    /// Commands that had not run everywhere by the end, in percent.
    Censored {
        "censored_percent", "orders not applied by the end", "not applied", "%", 1.0,
        ["orders are not applied", "% of all", "more", "less"],
        |row| (row.commands > 0).then(|| 100.0 * f64::from(row.censored) / f64::from(row.commands))
    }
    /// Processor time of a player per tick.
    PlayerCpu {
        "cpu_us_per_tick", "processor time of a player per tick", "player's CPU per tick", "µs", 100.0,
        ["a player's tick takes", "µs of the processor", "more", "less"], |row| row.cpu_us_per_tick
    }
    /// Processor time of the server per tick.
    ServerCpu {
        "server_cpu_us_per_tick", "processor time of the server per tick", "server's CPU per tick", "µs", 100.0,
        ["the server's tick takes", "µs of the processor", "more", "less"], |row| row.server_cpu_us_per_tick
    }
    /// Size of the delta between the server's state and that of a client, in bytes.
    StateBytes {
        "state_bytes", "difference of the server's state from a client's", "difference of states", "bytes", 100.0,
        ["the difference of two states takes", "bytes", "more", "less"], |row| row.state_bytes
    }
    /// Time for which the match continued after the loss of the host or the server, in seconds; at most to the end of
    /// the measurement.
    SecondsAfterLoss {
        "seconds_after_loss", "survivors play on", "survivors play on", "s", 1.0,
        ["the survivors play on for", "s", "longer", "less long"],
        |row| row.ticks_after_loss.map(|ticks| f64::from(ticks) / 60.0)
    }
}

/// Percentile over the commands of a match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Percentile {
    /// The median.
    P50,
    /// The 95th percentile.
    P95,
    /// The 99th percentile.
    P99,
}

impl Percentile {
    /// All percentiles, in order.
    pub const ALL: [Self; 3] = [Self::P50, Self::P95, Self::P99];

    /// Returns the name in JSON and in tables.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        ["p50", "p95", "p99"][self as usize]
    }

    /// Returns the quantile, 0 to 1.
    pub(super) const fn share(self) -> f64 {
        [0.5, 0.95, 0.99][self as usize]
    }
}

impl LatencyKind {
    /// Returns the column in the rows, which is also the key in JSON.
    #[must_use]
    pub const fn key(self) -> &'static str {
        self.metric().key
    }

    /// Returns the median of the latency.
    #[must_use]
    pub const fn median(self) -> Measure {
        Measure::Latency(self, Percentile::P50)
    }
}

impl Measure {
    /// Median time until the opponent's confirmed state has a command: the latency with the same meaning in all
    /// architectures.
    pub const CONFIRMED: Self = LatencyKind::OpponentConfirmed.median();
    /// [`Self::CONFIRMED`] at the 95th percentile.
    pub const CONFIRMED_P95: Self = Self::Latency(LatencyKind::OpponentConfirmed, Percentile::P95);
    /// [`Self::CONFIRMED`] at the 99th percentile.
    pub const CONFIRMED_P99: Self = Self::Latency(LatencyKind::OpponentConfirmed, Percentile::P99);
    /// The 95th percentile of the time until the opponent's view shows a command.
    pub const SEEN_P95: Self = Self::Latency(LatencyKind::Opponent, Percentile::P95);
    /// Median time until a frame of the opponent's display shows a command.
    pub const IN_FRAME: Self = LatencyKind::OpponentFrame.median();
    /// [`Self::IN_FRAME`] at the 95th percentile.
    pub const IN_FRAME_P95: Self = Self::Latency(LatencyKind::OpponentFrame, Percentile::P95);
    /// Median time until a player with a good link has another's command confirmed, if one player's link is bad.
    pub const OTHERS: Self = LatencyKind::Others.median();
    /// [`Self::OTHERS`] at the 95th percentile.
    pub const OTHERS_P95: Self = Self::Latency(LatencyKind::Others, Percentile::P95);
    /// [`Self::OTHERS`] at the 99th percentile.
    pub const OTHERS_P99: Self = Self::Latency(LatencyKind::Others, Percentile::P99);
    /// Median time until a player with a good link has its own command confirmed.
    pub const OTHERS_OWN: Self = LatencyKind::OthersOwn.median();
    /// [`Self::OTHERS_OWN`] at the 95th percentile.
    pub const OTHERS_OWN_P95: Self = Self::Latency(LatencyKind::OthersOwn, Percentile::P95);
    /// Median time until the opponent's view shows a command.
    pub const SEEN: Self = LatencyKind::Opponent.median();
    /// Median time until the player's own confirmed state has a command.
    pub const OWN: Self = LatencyKind::Own.median();
    /// Median time until the player's own view shows a command.
    pub const SHOWN: Self = LatencyKind::OwnPredicted.median();

    /// Returns the key in JSON; of a latency, the keys of two nested objects.
    #[must_use]
    pub fn key(self) -> String {
        match self {
            Self::Latency(kind, percentile) => format!("{}.{}", kind.key(), percentile.as_str()),
            rate => rate.metric().key.to_owned(),
        }
    }

    /// Returns the name: `own order confirmed (p95)`.
    #[must_use]
    pub fn name(self) -> String {
        let name = self.metric().name;
        match self {
            Self::Latency(_, percentile) => format!("{name} ({})", percentile.as_str()),
            _ => name.to_owned(),
        }
    }

    /// Returns the head of the column: `own confirmed p95, ms`.
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

    /// Returns the unit in tables.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        self.metric().unit
    }

    /// Returns the subject and verb of a sentence: `the opponent's order is confirmed`, prefixed by the percentile such
    /// as `p95: `.
    pub(super) fn subject(self) -> String {
        let subject = self.metric().words[0];
        match self {
            Self::Latency(_, percentile) if percentile != Percentile::P50 => {
                format!("{}: {subject}", percentile.as_str())
            }
            _ => subject.to_owned(),
        }
    }

    /// Returns the unit in a sentence, and the words for more and less.
    pub(super) const fn words(self) -> [&'static str; 3] {
        let [_, unit, more, less] = self.metric().words;
        [unit, more, less]
    }

    /// Whether the measure depends on the views.
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

    /// Returns the margin of equivalence, in the unit of the measure: a smaller difference does not matter.
    #[must_use]
    pub const fn margin(self) -> f64 {
        self.metric().margin
    }
}

fn per(value: f64, of: f64) -> Option<f64> {
    (of > 0.0).then(|| value / of)
}
