//! Greed: tries moves against the books of the honest players, and repeats what moves them most.

use core::time::Duration;
use rand_chacha::ChaCha8Rng;

use super::books::Books;
use super::insider::{Insider, NO_PRESSURE, Pressure};
use super::moves::{Move, Then, Trigger, Whom, drawn, opening};
use super::plan::Goal;
use lab::simnet::below;
use net::Time;
use net::message::Seats;
use sim::PlayerId;

/// One in this many moves is a new one while none is known that moves anything, and while one is.
const TRY_ONE_IN: [u64; 2] = [2, 8];
/// Between two looks at the books while a move waits for its instant.
const LOOK_EVERY: Duration = Duration::from_millis(4);
/// From one move to the next.
const REST: Duration = Duration::from_millis(150);
/// Rest after a move that was broken off, so that others forget.
const RECOVERY: Duration = Duration::from_secs(2);
/// How much of the others' patience it uses.
const BLAME_MAX: Duration = Duration::from_millis(8_500);

/// A move that is being made.
#[derive(Clone, Copy, Debug)]
struct Current {
    nth: usize,
    victim: PlayerId,
    since: Time,
    struck_at: Option<Time>,
    score: f64,
}

/// A mind.
pub(super) struct Strategy {
    goal: Goal,
    rng: ChaCha8Rng,
    me: PlayerId,
    /// Each with what it has moved so far per second, and how often it was tried.
    moves: Vec<(Move, f64, u32)>,
    current: Option<Current>,
    /// For how long it lets others wait for its own input.
    caution: Duration,
    next_at: Time,
    seems_far: bool,
}

impl Strategy {
    pub(super) fn new(goal: Goal, mut rng: ChaCha8Rng, from: Time) -> Self {
        let mut moves = opening(goal);
        // Which of the known ones comes first is a matter of chance.
        for nth in (1..moves.len()).rev() {
            moves.swap(nth, below(&mut rng, nth as u64 + 1) as usize);
        }
        let moves = moves.into_iter().map(|known| (known, 0.0, 0)).collect();
        let caution = Duration::from_millis(1_300 + below(&mut rng, 3_200));
        Self { goal, rng, me: PlayerId(0), moves, current: None, caution, next_at: from, seems_far: false }
    }

    /// When it next looks.
    pub(super) const fn next_at(&self) -> Time {
        self.next_at
    }

    /// Whether its seat was indistinguishable from a peer that is far away.
    pub(super) const fn seems_far(&self) -> bool {
        self.seems_far
    }

    /// Stops, since its match is over.
    pub(super) const fn stop(&mut self) {
        self.next_at = Time(u64::MAX);
    }

    /// Looks at the books, and continues its move or makes another one.
    pub(super) fn act(&mut self, now: Time, books: &Books, insider: &mut Insider) {
        self.next_at = now.plus(LOOK_EVERY);
        self.me = insider.game().session().player();
        self.seems_far |= insider.seems_far();
        let Some(mut current) = self.current else { return self.begin(now, books, insider) };
        let of = self.moves[current.nth].0;
        let is_at_risk = books.waits_for(self.me, self.caution) || books.blame(self.me) > BLAME_MAX;
        if is_at_risk {
            self.end(now, books, insider);
            insider.press(NO_PRESSURE);
            self.next_at = now.plus(RECOVERY);
            return;
        }
        if now.since(current.since) >= of.lasts {
            return self.end(now, books, insider);
        }
        if of.widened.is_some_and(|after| now.since(current.since) >= after) && current.struck_at.is_none() {
            let withheld = self.seats(Whom::All, current.victim, books);
            insider.press(Pressure { withheld, ..insider.pressure() });
        }
        let Some((blow, whom, every)) = of.blow else {
            self.next_at = current.since.plus(of.lasts);
            return;
        };
        if current.struck_at.is_some() && of.then == Some(Then::Silent) {
            let silent = self.seats(Whom::All, current.victim, books);
            insider.press(Pressure { silent, ..NO_PRESSURE });
        }
        let is_due = match (current.struck_at, every) {
            (None, _) => self.is_triggered(of.trigger, current.victim, books),
            (Some(at), Some(every)) => now.since(at) >= every,
            (Some(_), None) => false,
        };
        if !is_due || (blow.is_queued() && insider.room() < 8) {
            return;
        }
        for at in self.seats(whom, current.victim, books).iter() {
            insider.strike(now, Some(at), blow.about(current.victim));
        }
        if of.then == Some(Then::Released) && current.struck_at.is_none() {
            insider.press(NO_PRESSURE);
        }
        current.struck_at = Some(now);
        self.current = Some(current);
    }

    fn begin(&mut self, now: Time, books: &Books, insider: &mut Insider) {
        let honest: Vec<PlayerId> = books.players().filter(|&player| player != self.me).collect();
        if honest.is_empty() {
            self.next_at = now.plus(REST);
            return;
        }
        let victim = if below(&mut self.rng, 4) == 0 {
            honest[below(&mut self.rng, honest.len() as u64) as usize]
        } else {
            books.most_blamed(&honest)
        };
        let nth = self.choose(victim);
        let of = self.moves[nth].0;
        let [withheld, unacknowledged, silent] =
            [of.withheld, of.unacknowledged, of.silent].map(|whom| self.seats(whom, victim, books));
        insider.press(Pressure { withheld, unacknowledged, silent, ..of.pressure });
        let score = books.score(self.goal, self.me);
        self.current = Some(Current { nth, victim, since: now, struck_at: None, score });
    }

    fn end(&mut self, now: Time, books: &Books, insider: &mut Insider) {
        let Some(current) = self.current.take() else { return };
        let (of, moved, tried) = &mut self.moves[current.nth];
        let seconds = (of.lasts + REST).as_secs_f64();
        let gain = (books.score(self.goal, self.me) - current.score) / seconds;
        *moved = (*moved * f64::from(*tried) + gain) / f64::from(*tried + 1);
        *tried += 1;
        // What works is repeated without a break.
        if gain <= 0.0 {
            insider.press(NO_PRESSURE);
            self.next_at = now.plus(REST);
        }
    }

    /// Which move comes next: first those that are known, then what has moved most, now and then a new one.
    fn choose(&mut self, victim: PlayerId) -> usize {
        if let Some(untried) = self.moves.iter().position(|&(_, _, tried)| tried == 0) {
            return untried;
        }
        let best = (0..self.moves.len()).max_by(|&a, &b| self.moves[a].1.total_cmp(&self.moves[b].1));
        let best = best.filter(|&nth| self.moves[nth].1 > 0.05);
        match best {
            Some(nth) if below(&mut self.rng, TRY_ONE_IN[1]) > 0 => nth,
            None if below(&mut self.rng, TRY_ONE_IN[0]) > 0 && !self.moves.is_empty() => {
                below(&mut self.rng, self.moves.len() as u64) as usize
            }
            _ => {
                let drawn = drawn(&mut self.rng, victim);
                self.moves.push((drawn, 0.0, 0));
                self.moves.len() - 1
            }
        }
    }

    fn is_triggered(&self, trigger: Trigger, victim: PlayerId, books: &Books) -> bool {
        match trigger {
            Trigger::AtOnce => true,
            Trigger::WaitsForVictim(least) => books.waits_for(victim, least),
            Trigger::Waits => books.waits(),
        }
    }

    fn seats(&self, whom: Whom, victim: PlayerId, books: &Books) -> Seats {
        let honest = books.players().filter(|&player| player != self.me).collect::<Seats>();
        let victim = Seats::one(victim);
        match whom {
            Whom::Nobody => Seats::default(),
            Whom::Victim => victim,
            Whom::Others => honest.difference(victim),
            Whom::All => honest,
        }
    }
}
