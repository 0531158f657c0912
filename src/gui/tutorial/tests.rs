use std::sync::Arc;

use bot::Sparring;
use game::data;
use net::Time;
use sim::math::{self, Fx};
use sim::{Command, Event, SeatSetup, Selection, Setup, Target, TickInputs, TickRate, When, World};

use super::*;
use sim::KindId;

const ME: PlayerId = PlayerId(0);

/// Player who follows the cards, and the opponent of the tutorial.
struct Lesson {
    world: World,
    opponent: Sparring,
    tutorial: Tutorial,
    view: View,
    /// Whether the first kind is trained again and again.
    repeats: bool,
    /// Hit points that the player's units have lost.
    hurt: i32,
}

impl Lesson {
    fn new() -> Self {
        let seat = |(team, hero)| SeatSetup { hero, team };
        let seats = [(0, KindId(0)), (1, KindId(1))];
        let rate = TickRate::HZ_60;
        let world = World::new(Setup {
            seed: 1,
            tick_rate: rate,
            seats: seats.into_iter().map(seat).collect(),
            rules: data::rules(data::TUTORIAL).expect("built in"),
            map: data::map(data::TUTORIAL).expect("built in"),
        });
        let view = View::new(&world, Arc::new([]), Some(ME), Time(0));
        let opponent = Sparring::new(PlayerId(1), rate);
        Self { world, opponent, tutorial: Tutorial::default(), view, repeats: false, hurt: 0 }
    }

    /// Runs a tick with these commands.
    fn give(&mut self, commands: &[Command]) {
        let mut inputs = TickInputs::idle(self.world.state().tick(), 2);
        inputs.inputs[0].commands.extend(commands.iter().cloned());
        let supply = crate::gui::production::Economy::of(&self.view.setup, &self.view.current, ME).supply;
        if self.repeats && supply >= 3 && inputs.tick.0.is_multiple_of(30) {
            inputs.inputs[0].commands.push(Command::Train(KindId(0)));
        }
        if inputs.tick.0 > 0 {
            inputs.inputs[1] = self.opponent.think(&self.world);
        }
        self.world.step(&inputs);
        let state = self.world.state();
        for event in self.world.events() {
            if let Event::Hit { by: PlayerId(1), damage, .. } = event {
                self.hurt += i32::from(*damage);
            }
        }
        self.view.current = Arc::new(state.clone());
        self.tutorial.observe(&self.view, self.repeats);
    }

    fn wait_s(&mut self, seconds: u32) {
        for _ in 0..seconds * 60 {
            self.give(&[]);
        }
    }

    /// Waits for the end of a step, at most this number of seconds.
    fn finish(&mut self, step: Step, seconds: u32) {
        for _ in 0..seconds * 60 {
            if self.tutorial.step() != Some(step) {
                return;
            }
            self.give(&[]);
        }
        panic!("{step:?} is not done after {seconds} s");
    }

    fn task(&self) -> Task {
        self.tutorial.task(&self.view, 0).expect("there is one")
    }

    fn goal(&self) -> Target {
        target(self.task().place.expect("there is one"))
    }

    fn army(&self) -> Selection {
        let units = &self.world.state().units;
        let own = |&row: &usize| units.owner[row] == ME && units.control[row] == ControlBehaviour::Minion;
        (0..units.len()).filter(own).map(|row| units.id[row]).collect()
    }

    /// Completes all steps before this one.
    fn until(step: Step) -> Self {
        let mut lesson = Self::new();
        while let Some(now) = lesson.tutorial.step().filter(|&now| now != step) {
            lesson.obey(now);
            lesson.finish(now, 30);
        }
        lesson
    }

    /// Follows the card of a step.
    fn obey(&mut self, step: Step) {
        let army = self.army();
        match step {
            Step::Walk | Step::Circle => self.give(&[Command::HeroGo(self.goal())]),
            Step::Train => {
                self.give(&[0, 1, 0, 1].map(|kind| Command::Train(KindId(kind))));
            }
            Step::Send => self.give(&[Command::AttackMove(army, self.goal(), When::Now)]),
            Step::Split => {
                let two = army.iter().take(2).copied().collect();
                self.give(&[Command::AttackMove(two, self.goal(), When::Now)]);
            }
            Step::Spend => {
                self.repeats = true;
                self.give(&[]);
            }
            Step::Assault => {
                let goal = self.goal();
                self.give(&[Command::AttackMove(army, goal, When::Now), Command::HeroGo(goal)]);
            }
            Step::Win => self.give(&[Command::Banner]),
        }
    }
}

fn target(at: Vec2) -> Target {
    Target::clamped(math::Vec2 { x: Fx::from_num(at.x), y: Fx::from_num(at.y) })
}

#[test]
fn following_the_cards_wins_in_ninety_seconds() {
    let mut lesson = Lesson::until(Step::Win);
    assert_eq!(lesson.task().title, "8 of 8: win");
    lesson.obey(Step::Win);
    lesson.finish(Step::Win, 25);
    assert_eq!(lesson.world.state().winner(), Some(0));
    assert!(lesson.tutorial.task(&lesson.view, 0).is_none());
    let seconds = lesson.world.state().tick().0 / 60;
    assert!(seconds < 70, "{seconds} s leave time to read");
    assert!(lesson.hurt > 0, "the guards are worth an army");
    // The match ends with work done, not with supply left over.
    let economy = crate::gui::production::Economy::of(&lesson.view.setup, &lesson.view.current, ME);
    assert!(economy.supply < economy.supply_max, "{} of {}", economy.supply, economy.supply_max);
}

#[test]
fn every_step_waits_until_it_is_completed() {
    // The last one, in which the minions are at the core, waits for nobody.
    for step in Step::ALL.into_iter().filter(|&step| step != Step::Win) {
        let mut lesson = Lesson::until(step);
        let before = lesson.tutorial.done;
        lesson.wait_s(20);
        assert_eq!(lesson.tutorial.done, before, "{step:?}");
        assert_eq!(lesson.world.state().winner(), None);
        if before < Step::Send as usize {
            assert_eq!(lesson.hurt, 0, "{step:?}");
        }
    }
}

#[test]
fn no_player_is_hurt_before_having_an_army() {
    let mut lesson = Lesson::new();
    // Straight to the opponent's hero and core, and around them.
    for (x, y) in [(14.0, 0.0), (18.0, 2.5), (20.0, 0.0), (15.0, -1.0)] {
        lesson.give(&[Command::HeroGo(target(vec2(x, y)))]);
        lesson.wait_s(15);
    }
    lesson.give(&[KindId(1); 3].map(Command::Train));
    lesson.wait_s(20);
    assert_eq!((lesson.hurt, lesson.army().len()), (0, 3));
    assert_eq!(lesson.tutorial.step(), Some(Step::Walk));
}

#[test]
fn the_third_step_counts_living_minions() {
    let mut lesson = Lesson::until(Step::Train);
    assert!(lesson.task().progress < 0.01);
    lesson.obey(Step::Train);
    assert!(lesson.task().progress < 0.01, "in training is not trained");
    lesson.wait_s(3);
    assert!((0.5..1.0).contains(&lesson.task().progress), "{:?}", lesson.task());
    lesson.finish(Step::Train, 10);
}

#[test]
fn the_fourth_step_needs_an_order_besides_the_circle() {
    let mut lesson = Lesson::until(Step::Send);
    let goal = lesson.goal();
    // The hero captures it himself, with his minions behind him.
    lesson.give(&[Command::HeroGo(goal)]);
    lesson.wait_s(15);
    assert_eq!(lesson.world.state().circles_held(0), 2);
    assert_eq!(lesson.tutorial.step(), Some(Step::Send));
    lesson.obey(Step::Send);
    lesson.finish(Step::Send, 1);
}

#[test]
fn the_fifth_step_needs_minions_in_two_places() {
    let mut lesson = Lesson::until(Step::Split);
    let (goal, army) = (lesson.goal(), lesson.army());
    // All minions in one crowd.
    lesson.give(&[Command::AttackMove(army, goal, When::Now)]);
    lesson.wait_s(5);
    let all_there = lesson.army().len();
    assert!(all_there > 1 && !lesson.tutorial.is_split, "{all_there}");
    assert_eq!(lesson.tutorial.step(), Some(Step::Split));
}

#[test]
fn the_sixth_step_wants_training_that_repeats() {
    let mut lesson = Lesson::until(Step::Spend);
    let before = lesson.task().progress;
    for _ in 0..25 {
        lesson.give(&[Command::Train(KindId(0))]);
        lesson.wait_s(1);
    }
    assert!(lesson.task().progress > before);
    assert_eq!(lesson.army().len(), LARGE_ARMY);
    assert_eq!(
        lesson.tutorial.step(),
        Some(Step::Spend),
        "one by one they are not trained while nobody looks"
    );
    lesson.obey(Step::Spend);
    lesson.finish(Step::Spend, 1);
}

#[test]
fn who_leaves_the_core_reads_again_how_to_send() {
    let mut lesson = Lesson::until(Step::Win);
    assert_eq!(lesson.task().words, words_of(Step::Win));
    let (back, army) = (target(vec2(0.0, 0.0)), lesson.army());
    lesson.give(&[Command::Move(army, back, When::Now)]);
    lesson.wait_s(4);
    assert_eq!(lesson.task().words, words_of(Step::Assault));
    assert_eq!(lesson.task().title, "8 of 8: win");
}

#[test]
fn a_lost_army_is_trained_anew() {
    let mut lesson = Lesson::until(Step::Assault);
    let usual = lesson.task();
    let state = Arc::make_mut(&mut lesson.view.current);
    state.units.owner.iter_mut().skip(2).for_each(|owner| *owner = PlayerId(1));
    let task = lesson.task();
    assert_eq!(task.words, words_of(Step::Train));
    assert_eq!(task.title, usual.title);
    assert_ne!(task.reason, usual.reason);
}

#[test]
fn the_cards_name_the_keys_of_the_table() {
    let keys = |step| {
        let keys = words_of(step).into_iter().filter_map(|word| match word {
            Word::Key(key) => Some(key),
            Word::Text(_) => None,
        });
        keys.collect::<Vec<_>>()
    };
    let found = Step::ALL.map(keys).concat();
    let named = [
        "W",
        "A",
        "S",
        "D",
        "B",
        "N",
        "M",
        "E",
        "Right click",
        "Right click",
        "Shift",
        "B",
        "N",
        "M",
        "E",
        "Right click",
        "Q",
    ];
    assert_eq!(found, named);
}
