//! This peer's own inputs: commands wait for their tick, ticks are committed in order, and committed inputs
//! are kept until every peer has them.

use alloc::collections::VecDeque;

use crate::time::Time;
use crate::wire::given::{Given, GivenTimes, stamp};
use crate::wire::input::{EncodedInput, encode_input};
use crate::wire::short::shorten;
use sim::{COMMANDS_PER_TICK_MAX, Command, HeroControl, PlayerInput, Selection, Tick};

/// Most commands that wait for their tick; beyond it the newest are refused.
pub(crate) const WAITING_MAX: usize = 256;
/// Most hero controls that wait for their tick.
const HEROES_MAX: usize = 64;
/// Most ticks committed and not yet acknowledged by all.
pub(crate) const COMMITTED_MAX: usize = 128;
/// Most own commands that are committed and have not run; beyond that the oldest are no longer timed.
const UNDER_WAY_MAX: usize = COMMITTED_MAX * COMMANDS_PER_TICK_MAX;

/// The command was refused because the queue is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{WAITING_MAX} commands wait for their tick already")]
pub struct TooManyCommands;

/// A committed input.
#[derive(Clone, Debug)]
pub(crate) struct CommittedInput {
    /// Its tick.
    pub(crate) tick: Tick,
    /// Time of the commit.
    pub(crate) at: Time,
    /// Time between its commit and the due time of its tick, in microseconds: the input delay, unless this computer
    /// or its lead limit delayed the commit.
    pub(crate) delay_us: i64,
    /// Whether it holds the control of the tick before and has no command.
    pub(crate) is_held: bool,
    /// As it is sent: the encoded input, and when its commands were given.
    pub(crate) bytes: EncodedInput,
    /// The same in the short form, for a peer that has all inputs before it.
    pub(crate) short: EncodedInput,
}

/// This player's inputs: those not committed yet, and those committed but not yet acknowledged by all.
#[derive(Clone, Debug)]
pub(crate) struct LocalInputs {
    /// The first tick of which there is an input.
    first: Tick,
    next: Tick,
    hero: HeroControl,
    /// The controls held at any time since the last commit: a press shorter than a tick acts once.
    touched: HeroControl,
    heroes: VecDeque<(Tick, HeroControl)>,
    waiting: VecDeque<Waiting>,
    committed: VecDeque<CommittedInput>,
    /// Times at which commands were given that are committed and have not run.
    given: VecDeque<Time>,
    /// The control in the input committed last.
    last: HeroControl,
    /// The units of the last committed command.
    named: Selection,
}

/// A command that waits for its tick.
#[derive(Clone, Debug)]
struct Waiting {
    not_before: Tick,
    /// Time at which it was given; if it is for a later tick, the time at which that tick became open.
    given: Time,
    command: Command,
}

impl LocalInputs {
    pub(crate) fn new() -> Self {
        Self {
            first: Tick(0),
            next: Tick(0),
            hero: HeroControl::default(),
            touched: HeroControl::default(),
            heroes: VecDeque::with_capacity(HEROES_MAX),
            waiting: VecDeque::with_capacity(WAITING_MAX),
            committed: VecDeque::with_capacity(COMMITTED_MAX),
            given: VecDeque::with_capacity(UNDER_WAY_MAX),
            last: HeroControl::default(),
            named: Selection::default(),
        }
    }

    /// Sets the first tick, before anything is committed: a player who joins a running match has no inputs
    /// before it.
    pub(crate) fn begin_at(&mut self, tick: Tick) {
        assert!(self.committed.is_empty(), "committed from {} on", self.next);
        (self.first, self.next) = (tick, tick);
    }

    /// The first tick of which there is an input.
    pub(crate) const fn first(&self) -> Tick {
        self.first
    }

    /// The next tick to commit.
    pub(crate) fn next(&self) -> Tick {
        self.next
    }

    /// Queues a command, given at `given`, for tick `not_before` or the first open tick after it. A command
    /// to no units is ignored.
    pub(crate) fn command(
        &mut self,
        not_before: Tick,
        given: Time,
        mut command: Command,
    ) -> Result<(), TooManyCommands> {
        if self.waiting.len() == WAITING_MAX {
            return Err(TooManyCommands);
        }
        if command.selection_mut().is_none_or(|units| !units.is_empty()) {
            self.waiting.push_back(Waiting { not_before, given, command });
        }
        Ok(())
    }

    /// Sets the hero's control from tick `not_before` on. If too many are queued, the newest replaces the one
    /// before it.
    pub(crate) fn hero(&mut self, not_before: Tick, hero: HeroControl) {
        if self.heroes.len() == HEROES_MAX {
            self.heroes.pop_back();
        }
        self.heroes.push_back((not_before, hero));
    }

    /// Commits the next tick at `now` with everything that is queued for it; with `held_only`, only with the
    /// held control, and its commands stay queued.
    pub(crate) fn commit(&mut self, now: Time, delay_us: i64, held_only: bool) -> (Tick, PlayerInput) {
        assert!(self.committed.len() < COMMITTED_MAX, "committing runs ahead of every acknowledgement");
        let tick = self.next;
        let mut input = PlayerInput { hero: self.hero_for(tick, held_only), ..PlayerInput::default() };
        let mut given = Given::new();
        if !held_only {
            self.fill(now, tick, &mut input, &mut given);
        }
        self.next = tick.plus(1);
        // A bot's reaction time does not count as waiting time of its command.
        for waiting in self.waiting.iter_mut().filter(|waiting| waiting.not_before == self.next) {
            waiting.given = waiting.given.max(now);
        }
        let is_held = input.commands.is_empty() && input.hero == self.last;
        self.last = input.hero;
        #[expect(clippy::expect_used, reason = "it was filled up to the size limit")]
        let bytes = encode_input(&input, &given).expect("filled up to the limit");
        let short = self.shortened(&input, &given, &bytes);
        self.committed.push_back(CommittedInput { tick, at: now, delay_us, is_held, bytes, short });
        (tick, input)
    }

    /// The first tick whose committed input is kept.
    pub(crate) fn first_kept(&self) -> Tick {
        self.committed.front().map_or(self.next, |first| first.tick)
    }

    /// The committed inputs from `from` on, in order.
    pub(crate) fn since(&self, from: Tick) -> impl Iterator<Item = &CommittedInput> {
        let known = self.committed.front().map_or(0, |first| from.since(first.tick));
        self.committed.iter().skip(known as usize)
    }

    /// The committed input of `tick`, while it is kept.
    pub(crate) fn committed(&self, tick: Tick) -> Option<&CommittedInput> {
        self.since(tick).next().filter(|committed| committed.tick == tick)
    }

    /// Removes the next `count` own commands, which have run: when each was given.
    pub(crate) fn take_given(&mut self, count: usize) -> GivenTimes {
        (0..count.min(COMMANDS_PER_TICK_MAX)).map(|_| self.given.pop_front()).collect()
    }

    /// Drops committed inputs before `tick`, which every peer has. The latest [`COMMITTED_MAX`] / 2 are kept
    /// if they fit, for reports about them that are still in transit.
    pub(crate) fn forget(&mut self, tick: Tick) {
        while self.committed.len() > COMMITTED_MAX / 2
            && self.committed.front().is_some_and(|first| first.tick < tick)
        {
            self.committed.pop_front();
        }
    }

    fn hero_for(&mut self, tick: Tick, held_only: bool) -> HeroControl {
        while let Some((_, hero)) =
            self.heroes.pop_front_if(|(not_before, _)| *not_before <= tick && !held_only)
        {
            self.hero = hero;
            self.touched.walk = self.hero.walk.or(self.touched.walk);
            self.touched.strike = self.hero.strike.or(self.touched.strike);
        }
        if held_only {
            return self.hero;
        }
        let touched = core::mem::take(&mut self.touched);
        HeroControl { walk: self.hero.walk.or(touched.walk), strike: self.hero.strike.or(touched.strike) }
    }

    #[expect(clippy::expect_used, reason = "the short form only omits units")]
    fn shortened(&mut self, input: &PlayerInput, given: &Given, bytes: &EncodedInput) -> EncodedInput {
        if input.commands.is_empty() {
            return bytes.clone();
        }
        let mut short = input.clone();
        shorten(&mut short, &mut self.named);
        encode_input(&short, given).expect("shorter than the whole")
    }

    /// Commands keep their order: the list ends at the first that does not fit or is for a later tick.
    fn fill(&mut self, now: Time, tick: Tick, input: &mut PlayerInput, given: &mut Given) {
        while let Some(first) = self.waiting.pop_front() {
            let fits = first.not_before <= tick && input.commands.try_push(first.command.clone()).is_ok();
            if fits && encode_input(input, &[]).is_some() {
                given.push(stamp(first.given, now));
                if self.given.len() == UNDER_WAY_MAX {
                    self.given.pop_front();
                }
                self.given.push_back(first.given);
                continue;
            }
            if fits {
                input.commands.pop();
            }
            self.waiting.push_front(first);
            break;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::math::Angle;
    use sim::{COMMANDS_PER_TICK_MAX, Direction, SELECTION_MAX, UnitId, When};

    fn walk(eighth: u8) -> HeroControl {
        HeroControl { walk: Some(Direction::eighth(eighth)), strike: None }
    }

    #[test]
    fn commands_keep_their_order_and_none_is_lost_however_many_are_queued() {
        let mut local_inputs = LocalInputs::new();
        let whole: Selection =
            core::iter::repeat_n(UnitId { index: 40_000, generation: 9 }, SELECTION_MAX).collect();
        let target = |n: i32| sim::Target::try_from((n, 0)).expect("near");
        for n in 0..100 {
            let one = || core::iter::once(UnitId { index: 7, generation: 0 }).collect();
            let selection = if n % 3 == 0 { whole.clone() } else { one() };
            local_inputs
                .command(Tick(0), Time(0), Command::Move(selection, target(n), When::Now))
                .expect("room");
        }
        let mut seen = 0;
        for _ in 0..100 {
            let (tick, input) = local_inputs.commit(Time(0), 0, false);
            local_inputs.forget(tick);
            assert!(input.commands.len() <= COMMANDS_PER_TICK_MAX);
            for command in &input.commands {
                assert!(matches!(command, Command::Move(_, to, _) if *to == target(seen)));
                seen += 1;
            }
        }
        assert_eq!(seen, 100);
    }

    #[test]
    fn a_command_waits_for_its_tick() {
        let mut local_inputs = LocalInputs::new();
        local_inputs.command(Tick(2), Time(0), Command::Banner).expect("room");
        local_inputs.hero(Tick(1), walk(3));
        let committed: alloc::vec::Vec<PlayerInput> =
            (0..3).map(|_| local_inputs.commit(Time(0), 0, false).1).collect();
        assert_eq!(committed[0], PlayerInput::default());
        assert_eq!((committed[1].hero, committed[1].commands.len()), (walk(3), 0));
        assert_eq!((committed[2].hero, &committed[2].commands[..]), (walk(3), &[Command::Banner][..]));
    }

    #[test]
    fn a_press_shorter_than_a_tick_acts_exactly_once() {
        let mut local_inputs = LocalInputs::new();
        local_inputs.hero(Tick(0), walk(2));
        local_inputs.hero(Tick(0), HeroControl::default());
        assert_eq!(local_inputs.commit(Time(0), 0, false).1.hero, walk(2));
        assert_eq!(local_inputs.commit(Time(0), 0, false).1.hero, HeroControl::default());
    }

    #[test]
    fn of_several_presses_within_a_tick_the_latest_acts() {
        let mut local_inputs = LocalInputs::new();
        let press = |walk, aim| HeroControl { walk: Some(Direction::eighth(walk)), strike: Some(Angle(aim)) };
        for hero in [press(2, 100), HeroControl::default(), press(5, 200), HeroControl::default()] {
            local_inputs.hero(Tick(0), hero);
        }
        assert_eq!(local_inputs.commit(Time(0), 0, false).1.hero, press(5, 200));
        assert_eq!(local_inputs.commit(Time(0), 0, false).1.hero, HeroControl::default());
        // What is held at the end counts more than what was pressed before.
        for hero in [press(1, 300), press(3, 400)] {
            local_inputs.hero(Tick(2), hero);
        }
        assert_eq!(local_inputs.commit(Time(0), 0, false).1.hero, press(3, 400));
    }

    #[test]
    fn skipped_ticks_hold_the_control_and_carry_no_command() {
        let mut local_inputs = LocalInputs::new();
        local_inputs.hero(Tick(0), walk(1));
        local_inputs.command(Tick(0), Time(0), Command::Banner).expect("room");
        local_inputs.commit(Time(0), 0, true);
        let (tick, input) = local_inputs.commit(Time(0), 0, false);
        assert_eq!((tick, input.hero, input.commands.len()), (Tick(1), walk(1), 1));
    }

    #[test]
    fn more_than_can_wait_is_refused() {
        let mut local_inputs = LocalInputs::new();
        for _ in 0..WAITING_MAX {
            local_inputs.command(Tick(0), Time(0), Command::Banner).expect("room");
        }
        assert_eq!(local_inputs.command(Tick(0), Time(0), Command::Banner), Err(TooManyCommands));
    }

    #[test]
    fn a_command_is_timed_from_when_it_was_given_or_its_tick_opened() {
        let mut local_inputs = LocalInputs::new();
        let at = Time::from_micros;
        // For tick 2, immediately, and by hand in the open tick; commits are 10 ms apart.
        local_inputs.command(Tick(2), at(1_000), Command::Banner).expect("room");
        local_inputs.commit(at(10_000), 0, false);
        local_inputs.commit(at(20_000), 0, false);
        local_inputs.command(Tick(0), at(23_000), Command::Surrender).expect("room");
        let (_, input) = local_inputs.commit(at(30_000), 0, false);
        assert_eq!(input.commands.len(), 2);
        let committed = local_inputs.committed(Tick(2)).expect("kept");
        let (again, given) = (committed.bytes.decode(), committed.bytes.given());
        assert_eq!((again, &given[..]), (input, &[200, 230][..]));
        assert_eq!(local_inputs.take_given(2)[..], [Some(at(20_000)), Some(at(23_000))]);
        assert_eq!(local_inputs.take_given(1)[..], [None]);
    }
}
