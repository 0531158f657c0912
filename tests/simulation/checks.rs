//! Mistakes of the library's callers: setups, inputs and commands that are refused with a reason.

use bot::Player;
use game::{ControllerChoice, data};
use lab::{Matches, Shard, VirtualOptions, virtual_check};
use net::{Architecture, InputDelay};
use sim::{
    Command, CommandRefusal, KindId, PlayerId, PlayerInput, Selection, SetupError, StepError, Target, Tick,
    TickInputs, TickRate, UnitId, When, World,
};

use transport::LinkSpec;

use crate::common::setup;

/// Player who gives up at a tick of its own.
#[derive(Debug)]
struct Quitter(Tick);

impl Player for Quitter {
    fn think(&mut self, world: &World) -> PlayerInput {
        let mut input = PlayerInput::default();
        if world.state().tick() == self.0 {
            input.commands.push(Command::Surrender);
        }
        input
    }
}

#[test]
fn a_player_of_the_callers_own_plays_a_seat_of_a_match() {
    let standard = setup("standard", "standard", 1, 60, true);
    let options = VirtualOptions {
        architecture: Architecture::P2p,
        matches: Matches { count: 1, seed: 1, shard: Shard::WHOLE, jobs: 1 },
        ticks: 600,
        tick_rate: TickRate::HZ_60,
        peers: 2,
        rules: standard.rules,
        map: standard.map,
        controller: ControllerChoice::Own(|_, player| {
            Box::new(Quitter(Tick(100 + 100 * u32::from(player.0))))
        }),
        input_delay: InputDelay::Ticks(3),
        is_fair: false,
        link: LinkSpec::default(),
        inject: None,
        trace: None,
    };
    let report = virtual_check(&options, |_| {});
    assert!(report.is_clean() && report.outcomes.contains_key("surrender"), "{report:?}");
    assert!((100..120).contains(&report.ticks_compared), "{}", report.ticks_compared);
}

#[test]
fn a_setup_that_is_none_is_an_error() {
    let good = setup("standard", "duel", 1, 60, false);
    assert_eq!(good.check(), Ok(()));
    let mut many = good.clone();
    many.seats.push(many.seats[0]);
    let error = World::try_new(many).expect_err("a map for two");
    assert!(error.to_string().contains("map.bases is 2, but must lie between 3 and 4"), "{error}");
    let mut few = good.clone();
    few.seats.pop();
    assert_eq!(few.check(), Err(SetupError::Seats(1)));
    let mut odd = good.clone();
    odd.seats[1].team = 4;
    assert_eq!(odd.check(), Err(SetupError::Team { seat: 1, team: 4 }));
    let mut rules = (*data::rules("standard").expect("built in")).clone();
    rules.core_hp = -5;
    let error = World::try_new(sim::Setup { rules: rules.into(), ..good }).expect_err("no such core");
    assert!(error.to_string().contains("core_hp is -5"), "{error}");
}

#[test]
fn inputs_of_another_tick_or_of_other_seats_change_nothing() {
    let mut world = World::new(setup("standard", "duel", 1, 60, false));
    let before = world.hash();
    let wrong = StepError::Tick { found: Tick(99), expected: Tick(0) };
    assert_eq!(world.try_step(&TickInputs::idle(Tick(99), 2)), Err(wrong));
    for seats in [1, 3] {
        let wrong = StepError::Seats { found: seats, expected: 2 };
        assert_eq!(world.try_step(&TickInputs::idle(Tick(0), seats)), Err(wrong));
    }
    assert_eq!(world.hash(), before);
    assert_eq!(world.try_step(&TickInputs::idle(Tick(0), 2)), Ok(()));
    assert_eq!(world.state().tick(), Tick(1));
}

#[test]
fn a_refused_command_has_a_reason_and_an_allowed_one_none() {
    let mut world = World::new(setup("standard", "duel", 1, 60, false));
    let me = PlayerId(0);
    let units = &world.state().units;
    let own_minion = |row: &usize| units.owner[*row] == me && Some(*row) != world.state().hero(me);
    let enemy = units.id[world.state().hero(PlayerId(1)).expect("alive")];
    let own: Selection = (0..units.len()).filter(own_minion).map(|row| units.id[row]).collect();
    let there = Target::clamped(world.base(PlayerId(1)));
    let given = [
        (Command::HeroGo(there), None),
        (Command::HeroAttack(enemy), None),
        (Command::HeroAttack(UnitId::NONE), Some(CommandRefusal::NoEnemy)),
        (Command::Banner, None),
        (Command::Move(Selection::default(), there, When::Now), Some(CommandRefusal::NoUnits)),
        (Command::Stop([enemy].into_iter().collect()), Some(CommandRefusal::NoUnits)),
        (Command::Train(KindId(7)), Some(CommandRefusal::NoKind)),
        (Command::Rally(None), None),
        (Command::Pause, None),
        (Command::Pause, Some(CommandRefusal::Paused)),
        (Command::Surrender, None),
        (Command::Banner, Some(CommandRefusal::Over)),
    ];
    let (commands, expected): (Vec<_>, Vec<_>) = given.into_iter().unzip();
    let before = world.hash();
    assert_eq!(world.refusals(me, &commands), expected);
    assert_eq!(world.hash(), before);
    // The banner's second call counts on the first, as commands of one tick do.
    let twice = world.refusals(me, &[Command::Banner, Command::Banner]);
    assert!(matches!(twice[..], [None, Some(CommandRefusal::NotReady(1..))]), "{twice:?}");
    assert!(!own.is_empty());
    assert_eq!(world.refusals(me, &[Command::Stop(own)]), [None]);
    let mut inputs = TickInputs::idle(Tick(0), 2);
    inputs.inputs[0].commands.push(Command::Pause);
    world.step(&inputs);
    assert_eq!(world.refusals(me, &[Command::Banner, Command::Resume]), [Some(CommandRefusal::Paused), None]);
}
