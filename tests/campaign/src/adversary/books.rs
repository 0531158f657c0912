//! The books that honest players keep on each other, as the adversary sees them.

use core::time::Duration;

use super::plan::Goal;
use game::{Match, Session};
use net::{LinkStatus, Time};
use sim::{PLAYERS_MAX, PlayerId};

/// One player's.
#[derive(Clone, Debug)]
pub(super) struct Book {
    /// Whose.
    pub(super) player: PlayerId,
    /// Ticks run.
    pub(super) ticks: u32,
    pub(super) delay_us: i64,
    waits_for: Option<(PlayerId, Duration)>,
    links: Vec<LinkStatus>,
    /// How much each has spent of its budget of stalls.
    stalled: Vec<Duration>,
    /// When tick 0 runs.
    begin: Option<Time>,
}

/// All players'.
#[derive(Clone, Debug, Default)]
pub(super) struct Books {
    now: Time,
    books: Vec<Book>,
    /// Datagrams that the honest ones have sent to the adversary.
    pub(super) answers: u64,
}

impl Book {
    /// As this match has them.
    pub(super) fn of(now: Time, game: &Match) -> Self {
        let session = game.session();
        let waits_for = session.waits_for().map(|waits| (waits.player, now.since(waits.since)));
        Self {
            player: session.player(),
            ticks: game.world().map_or(0, |world| world.state().tick().0),
            delay_us: session.delay_us().unwrap_or(0),
            waits_for,
            links: session.links().collect(),
            stalled: match session {
                Session::Lockstep(session) => {
                    (0..PLAYERS_MAX as u8).map(|player| session.stalled(PlayerId(player))).collect()
                }
                _ => Vec::new(),
            },
            begin: game.begin(),
        }
    }
}

impl Books {
    pub(super) fn new(now: Time, books: impl Iterator<Item = Book>, answers: u64) -> Self {
        Self { now, books: books.collect(), answers }
    }

    /// Who plays.
    pub(super) fn players(&self) -> impl Iterator<Item = PlayerId> {
        self.books.iter().map(|book| book.player)
    }

    /// Whether somebody has waited for this player's input for at least so long.
    pub(super) fn waits_for(&self, player: PlayerId, least: Duration) -> bool {
        let waits = |book: &Book| book.waits_for.is_some_and(|(of, since)| of == player && since >= least);
        self.books.iter().any(|book| book.player != player && waits(book))
    }

    /// Whether somebody waits for an input.
    pub(super) fn waits(&self) -> bool {
        self.books.iter().any(|book| book.waits_for.is_some())
    }

    /// The one of these players whom the others blame most.
    pub(super) fn most_blamed(&self, players: &[PlayerId]) -> PlayerId {
        let blame = |&&player: &&PlayerId| self.blame(player);
        players.iter().max_by_key(blame).copied().unwrap_or(PlayerId(0))
    }

    /// How much of its budget a player has used, in the books of who has noted most.
    pub(super) fn blame(&self, player: PlayerId) -> Duration {
        let books = self.books.iter().filter(|book| book.player != player);
        books.filter_map(|book| book.stalled.get(player.index())).max().copied().unwrap_or_default()
    }

    /// How far this goal is reached; more is worse for them.
    pub(super) fn score(&self, goal: Goal, me: PlayerId) -> f64 {
        let seconds = |duration: Duration| duration.as_secs_f64();
        let behind = |book: &Book| {
            let due = book.begin.map_or(Duration::ZERO, |begin| self.now.since(begin));
            due.as_secs_f64() - f64::from(book.ticks) / 60.0
        };
        let stalled: f64 = self.books.iter().map(behind).sum();
        match goal {
            Goal::Frame => {
                let players: Vec<PlayerId> = self.players().filter(|&player| player != me).collect();
                players.iter().map(|&player| seconds(self.blame(player))).fold(0.0, f64::max)
                    - 0.1 * seconds(self.blame(me))
            }
            Goal::Stall | Goal::Discord => stalled - 0.2 * seconds(self.blame(me)),
            Goal::Delay => self.books.iter().map(|book| book.delay_us as f64 / 1e6).fold(0.0, f64::max),
            Goal::Clock => stalled.abs(),
            Goal::Flood => self.answers as f64,
            Goal::Crowd | Goal::Hold | Goal::Exchange | Goal::Guess => {
                let links = self.books.iter().flat_map(|book| &book.links);
                links
                    .filter(|link| link.player != me)
                    .map(|link| link.unacknowledged as f64)
                    .fold(0.0, f64::max)
            }
        }
    }
}
