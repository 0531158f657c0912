//! What an adversary wants in one match, and who sits there with it: drawn from a seed.

use core::fmt;
use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use lab::named;
use lab::simnet::below;
use net::{Architecture, Time};
use sim::PLAYERS_MAX;

named! {
    /// The goal of an adversary.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    pub enum Goal {
        /// An honest seat is given up by the others.
        Frame = "frame",
        /// The match ends for all as a desync.
        Discord = "discord",
        /// The match takes longer.
        Stall = "stall",
        /// The others' input delay grows.
        Delay = "delay",
        /// The others' clocks run too fast, or too slow.
        Clock = "clock",
        /// A guest loses its seat in the lobby, because its connection is full.
        Crowd = "crowd",
        /// The others answer without end.
        Flood = "flood",
        /// Nobody else gets into the room.
        Hold = "hold",
        /// A guest's key exchange never ends.
        Exchange = "exchange",
        /// A guest's room code is guessed.
        Guess = "guess",
    }
}

named! {
    /// A way to hold a room.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Holding {
        /// Is never ready.
        Unready = "unready",
        /// Is ready, and acknowledges nothing once it is seated; comes again when it is dropped.
        Mute = "mute",
        /// Takes a seat, leaves it, and takes it again.
        Restless = "restless",
    }
}

/// Seats, distances and goal of one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdversaryPlan {
    /// What the adversary wants.
    pub goal: Goal,
    /// Seats of the match.
    pub seats: usize,
    /// Somebody honest beyond the seats, in case that the adversary loses its own: the last of the players.
    pub standby: Option<usize>,
    /// The adversary's seat, if it has one.
    pub insider: Option<usize>,
    /// How it holds a room, if that is the goal.
    pub holding: Holding,
    /// Each node's way to anywhere, of which two are one way between two: the seats', the server's, the strangers'.
    pub access: Vec<Duration>,
    /// Addresses of strangers.
    pub strangers: usize,
    /// Strangers at each of them at a time.
    pub crowd: usize,
    /// When each seat's player comes.
    pub starts: Vec<Time>,
    /// Number of the right room code among those that a false host tries.
    pub code: usize,
}

impl AdversaryPlan {
    /// Draws a plan from the seed.
    #[must_use]
    pub fn from_seed(seed: u64, seats: Option<usize>, architecture: Architecture) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(95);
        let goal = Goal::ALL[below(&mut rng, Goal::ALL.len() as u64) as usize];
        let least = match goal {
            Goal::Frame | Goal::Discord | Goal::Crowd => 3,
            _ => 2,
        };
        let drawn = least + below(&mut rng, (PLAYERS_MAX - least) as u64 + 1) as usize;
        let seats = seats.unwrap_or(drawn).max(least);
        let is_served = architecture != Architecture::P2p;
        // The host of a room that it holds itself is not kept out of it.
        let lowest = u64::from(matches!(goal, Goal::Crowd | Goal::Hold) && !is_served);
        let insider = (lowest + below(&mut rng, seats as u64 - lowest)) as usize;
        let has_insider = !matches!(goal, Goal::Exchange | Goal::Guess);
        let insider = has_insider.then_some(insider);
        let strangers = match goal {
            Goal::Exchange => 1 + below(&mut rng, 2) as usize,
            Goal::Crowd => below(&mut rng, 3) as usize,
            _ => 0,
        };
        // Of a room that is held, or whose adversary is thrown out of it.
        let standby = matches!(goal, Goal::Crowd | Goal::Hold).then_some(seats);
        let players = seats + standby.iter().len();
        let nodes = players + usize::from(is_served) + strangers;
        let mut access: Vec<Duration> =
            (0..nodes).map(|_| Duration::from_micros(500 + below(&mut rng, 25_000))).collect();
        if goal == Goal::Exchange {
            let ways = [5, 25, 60].map(Duration::from_millis);
            access[seats - 1] = ways[below(&mut rng, 3) as usize];
        }
        // The attackers are near.
        for near in insider.into_iter().chain(nodes - strangers..nodes) {
            access[near] = Duration::from_micros(200 + below(&mut rng, 4_000));
        }
        let mut starts = vec![Time(0); players];
        match (goal, insider) {
            (Goal::Crowd, Some(insider)) => {
                // One seat stays free for a while, so that there is a lobby.
                let last = (0..seats).rev().find(|&seat| seat != insider).unwrap_or(0);
                starts[last] = Time(5_000_000);
                starts[seats] = Time(8_000_000);
            }
            (Goal::Hold, Some(insider)) => {
                for seat in (0..players).filter(|&seat| seat != insider && (is_served || seat > 0)) {
                    starts[seat] = Time(1_000_000);
                }
            }
            (Goal::Exchange, _) => starts[seats - 1] = Time(700_000),
            _ => {}
        }
        let holding = Holding::ALL[below(&mut rng, 3) as usize];
        let (crowd, code) = (4 + below(&mut rng, 20) as usize, 3 + below(&mut rng, 20) as usize);
        Self { goal, seats, standby, insider, holding, access, strangers, crowd, starts, code }
    }
}

impl AdversaryPlan {
    /// Number of players, the adversary included.
    pub(super) const fn players(&self) -> usize {
        self.starts.len()
    }

    /// Whether this player must get a seat and see the match through.
    pub(super) fn is_judged(&self, player: usize) -> bool {
        self.insider != Some(player) && (self.standby != Some(player) || self.goal == Goal::Hold)
    }
}

impl fmt::Display for AdversaryPlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an adversary for {}", self.goal.as_str())?;
        if let Some(seat) = self.insider {
            write!(f, " in seat {seat} of {}", self.seats)?;
        }
        if self.goal == Goal::Hold {
            write!(f, ", {}", self.holding.as_str())?;
        }
        if self.strangers > 0 {
            write!(f, ", strangers at {} addresses", self.strangers)?;
        }
        Ok(())
    }
}
