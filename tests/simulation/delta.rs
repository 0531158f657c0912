//! Differences of states: exact whatever the states, small for what moves steadily, and never more than what
//! was sent.

use std::sync::OnceLock;

use crate::common::{BotMatch, MODES, setup};
use bot::BotLevel;
use proptest::prelude::*;
use sim::math::{Fx, Vec2};
use sim::*;

/// Encodes, decodes, compares; returns the bytes.
fn there_and_back(coder: &mut DeltaCoder, base: &GameState, new: &GameState) -> Vec<u8> {
    let (mut bytes, mut again) = (Vec::new(), GameState::default());
    coder.encode(base, new, &mut bytes);
    assert_eq!(coder.decode(base, &bytes, &mut again), Ok(()), "{} bytes", bytes.len());
    assert_eq!(new.difference(&again), None);
    assert!(again == *new && again.hash() == new.hash());
    bytes
}

#[test]
fn every_state_of_a_match_comes_back_from_any_earlier_one() {
    let mut coder = DeltaCoder::default();
    for (mode, seed) in MODES.iter().zip(1..) {
        let mut game = BotMatch::new(mode.setup(seed, 60), BotLevel::Hard);
        let mut kept = vec![GameState::default(), game.world.state().clone()];
        for tick in 1..6_000_u32 {
            game.step();
            if tick.is_multiple_of(37) {
                for base in &kept {
                    there_and_back(&mut coder, base, game.world.state());
                }
                kept.push(game.world.state().clone());
                if kept.len() > 5 {
                    kept.remove(2);
                }
            }
        }
    }
}

/// A state in which every table has rows.
fn full() -> BotMatch {
    let mut game = BotMatch::new(setup("standard", "standard", 3, 60, true), BotLevel::Normal);
    while game.world.state().projectiles.is_empty() {
        game.step();
    }
    let units = [game.world.state().units.id[1]].into_iter().collect();
    let target = Target::clamped(Vec2 { x: Fx::from_num(20), y: Fx::from_num(14) });
    let orders = [When::Now, When::Queued].map(|when| Command::Move(Selection::clone(&units), target, when));
    let mut inputs = TickInputs::idle(game.world.state().tick(), 2);
    inputs.inputs[0].commands.extend(orders);
    game.world.step(&inputs);
    game
}

#[test]
fn a_change_of_any_field_comes_over() {
    let game = full();
    let base = game.world.state();
    let tables: [(&str, &[&str]); PARTS] = [
        (Globals::PART, Globals::FIELDS),
        (Players::PART, Players::FIELDS),
        (Slots::PART, Slots::FIELDS),
        (Units::PART, Units::FIELDS),
        (Orders::PART, Orders::FIELDS),
        (Projectiles::PART, Projectiles::FIELDS),
        (Circles::PART, Circles::FIELDS),
        (Cores::PART, Cores::FIELDS),
    ];
    let mut coder = DeltaCoder::default();
    let nothing = there_and_back(&mut coder, base, base);
    for (name, fields) in tables {
        for (row, field) in [0, 1, 7].into_iter().flat_map(|row| fields.iter().map(move |field| (row, field)))
        {
            let mut new = base.clone();
            match new.disturb(&format!("{name}[{row}].{field}")) {
                Err(NoSuchField::Row { .. }) if row > 0 => continue,
                done => done.expect("each table has a row"),
            }
            let bytes = there_and_back(&mut coder, base, &new);
            assert_ne!(bytes, nothing, "{name}[{row}].{field}");
            there_and_back(&mut coder, &new, base);
            there_and_back(&mut coder, &GameState::default(), &new);
        }
    }
}

#[test]
fn what_is_cut_off_or_too_long_is_refused() {
    let mut game = full();
    let base = game.world.state().clone();
    game.run(9);
    let mut coder = DeltaCoder::default();
    let bytes = there_and_back(&mut coder, &base, game.world.state());
    let mut again = GameState::default();
    for length in 0..bytes.len() {
        assert!(coder.decode(&base, &bytes[..length], &mut again).is_err(), "{length} of {}", bytes.len());
    }
    for more in [0, 1, 255] {
        let longer: Vec<u8> = bytes.iter().copied().chain([more]).collect();
        assert!(coder.decode(&base, &longer, &mut again).is_err());
    }
}

#[test]
fn a_world_adopts_its_own_states_alone() {
    let mut game = full();
    let state = game.world.state().clone();
    let mut other = World::new(game.world.setup().clone());
    assert_eq!(other.adopt(&state), Ok(()));
    game.run(60);
    let mut world = game.world.clone();
    assert_eq!(world.adopt(&state), Ok(()));
    let inputs = TickInputs::idle(world.state().tick(), 2);
    world.step(&inputs);
    other.step(&inputs);
    assert_eq!(world.hash(), other.hash());
    let mut foreign = state.clone();
    foreign.units.x[0] = Fx::from_num(300);
    assert_eq!(world.adopt(&foreign), Err(ForeignState));
    assert_eq!(world.adopt(&GameState::default()), Err(ForeignState));
    assert_eq!(world.hash(), other.hash(), "unchanged");
}

#[test]
fn an_update_of_a_standard_match_is_small() {
    let mut coder = DeltaCoder::default();
    let mut sizes = Vec::new();
    for seed in 1..=4 {
        let mut game = BotMatch::new(setup("standard", "standard", seed, 60, true), BotLevel::Normal);
        let mut kept: Vec<GameState> = Vec::new();
        while game.world.state().outcome() == Outcome::Running {
            game.run(3);
            let state = game.world.state().clone();
            if kept.len() == 3 {
                let mut bytes = Vec::new();
                coder.encode(&kept[0], &state, &mut bytes);
                sizes.push(bytes.len());
                kept.remove(0);
            }
            kept.push(state);
        }
    }
    sizes.sort_unstable();
    let at = |percent: usize| sizes[sizes.len() * percent / 100];
    println!("{} updates: p50 {} p95 {} p99 {} bytes", sizes.len(), at(50), at(95), at(99));
    assert!(at(50) <= 190 && at(95) <= 400, "p50 {}, p95 {} bytes", at(50), at(95));
}

#[test]
fn what_has_not_changed_costs_next_to_nothing() {
    let mut game = BotMatch::new(setup("standard", "standard", 3, 60, true), BotLevel::Hard);
    game.run(1_200);
    let state = game.world.state();
    let bytes = there_and_back(&mut DeltaCoder::default(), state, state);
    assert!(bytes.len() <= 8, "{} bytes for {} units", bytes.len(), state.units.len());
}

#[test]
fn a_snapshot_is_read_in_its_canonical_bytes_alone() {
    let world = World::new(setup("standard", "standard", 1, 60, true));
    let bytes = world.state().encode();
    assert_eq!(GameState::decode(&bytes).as_ref(), Ok(world.state()));
    // Each small number in two bytes instead of one: the same value to a reader that does not look closely.
    for place in (0..bytes.len()).filter(|&place| bytes[place] < 0x80).take(300) {
        let mut longer = bytes.clone();
        longer.splice(place..=place, [bytes[place] | 0x80, 0]);
        assert!(GameState::decode(&longer).is_err(), "byte {place}");
        assert!(GameState::decode_to_compare(&longer).is_err(), "byte {place}");
    }
    assert!(GameState::decode(&[&bytes[..], &[0]].concat()).is_err(), "one byte more");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused(
        bytes in proptest::collection::vec(any::<u8>(), 0..200),
        flip in 0..4_000_usize,
        from_nothing in any::<bool>(),
    ) {
        static GAME: OnceLock<World> = OnceLock::new();
        let world = GAME.get_or_init(|| full().world);
        let base = if from_nothing { GameState::default() } else { world.state().clone() };
        let (mut coder, mut new, mut again) = (DeltaCoder::default(), GameState::default(), Vec::new());
        if coder.decode(&base, &bytes, &mut new).is_ok() {
            coder.encode(&base, &new, &mut again);
            prop_assert_eq!(&again, &bytes);
        }
        // Nearly right bytes go deeper.
        let mut later = world.clone();
        (0..3).for_each(|tick| later.step(&TickInputs::idle(Tick(tick), 2)));
        let mut near = Vec::new();
        coder.encode(&base, later.state(), &mut near);
        let bit = flip % (8 * near.len());
        near[bit / 8] ^= 1 << (bit % 8);
        if coder.decode(&base, &near, &mut new).is_ok() {
            let rows = new.units.len() + new.projectiles.len() + new.orders.len() + new.slots.len();
            prop_assert!(rows <= 200 + 8 * 4 * near.len(), "{rows} rows of {} bytes", near.len());
            let mut world = world.clone();
            if world.adopt(&new).is_ok() {
                (0..3).for_each(|tick| world.step(&TickInputs::idle(Tick(tick), 2)));
            }
        }
    }
}
