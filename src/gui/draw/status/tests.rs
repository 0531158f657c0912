use game::data;
use macroquad::math::Rect;
use sim::math::Fx;
use sim::{KindId, SeatSetup, Setup, Tick, TickRate, World};

use super::super::{Camera, Scene};
use super::*;

/// Returns the lines for both players and for a spectator in a match changed by `change`.
fn lines(change: impl Fn(&mut GameState)) -> [String; 3] {
    lines_on("standard", &[0, 1], change)
}

/// Returns the lines for the first two teams' players and for a spectator on a map.
fn lines_on(map: &str, teams: &[u8], change: impl Fn(&mut GameState)) -> [String; 3] {
    lines_while(map, teams, change, false)
}

fn lines_while(map: &str, teams: &[u8], change: impl Fn(&mut GameState), is_core_hit: bool) -> [String; 3] {
    let seat = |&team| SeatSetup { hero: KindId(0), team };
    let setup = Setup {
        seed: 1,
        tick_rate: TickRate::HZ_60,
        seats: teams.iter().map(seat).collect(),
        rules: data::rules("standard").expect("built in"),
        map: data::map(map).expect("built in"),
    };
    let mut state = World::new(setup.clone()).state().clone();
    // The signs of the circles are explained by then.
    state.globals.tick[0] = Tick(30 * 60);
    change(&mut state);
    let camera = Camera::whole(&setup.map, Rect::new(0.0, 0.0, 1280.0, 720.0));
    [Some(PlayerId(0)), Some(PlayerId(1)), None].map(|me| {
        let scene = Scene { me, is_core_hit, ..Scene::watched(&setup, &state, &state) };
        line(&View::new(&camera, &scene, Rect::new(0.0, 0.0, 1280.0, 720.0))).0
    })
}

/// Returns the score that lacks this many points to the winning one.
fn short_by(points: i32) -> i32 {
    data::rules("standard").expect("built in").score_to_win - points
}

/// Circles and the players who hold them.
type Held = &'static [(usize, u8)];

fn hold(state: &mut GameState, circles: &[(usize, u8)]) {
    for &(circle, player) in circles {
        state.circles.owner[circle] = PlayerId(player);
    }
}

#[test]
fn the_line_follows_the_circles() {
    let [mine, ..] = lines(|state| state.globals.tick[0] = Tick(0));
    assert_eq!(mine, "A circle's dots are points a second, its plus signs supply a minute");
    let [mine, ..] = lines(|_| {});
    assert_eq!(mine, "Hold two circles: their core opens");
    let [mine, theirs, _] = lines(|state| hold(state, &[(0, 0)]));
    assert_eq!(mine, "Take one more circle: their core opens");
    assert_eq!(theirs, "Hold two circles: their core opens");
    let [mine, theirs, others] = lines(|state| {
        hold(state, &[(0, 0), (1, 0)]);
        state.cores.open[1] = 1;
    });
    assert_eq!(mine, "Their core is open: strike it");
    assert_eq!(theirs, "Your core is open: take a circle");
    assert_eq!(others, "Orange's core is open");
    let [mine, ..] = lines(|state| {
        hold(state, &[(0, 0), (1, 0)]);
        (state.circles.taker[1], state.circles.progress[1]) = (PlayerId(1), CAPTURED / 2);
    });
    assert_eq!(mine, "They take your circle: stop them");
}

/// Changes that make a situation of a duel, seen by player 0.
#[derive(Clone, Copy, Default)]
struct Scenario {
    mine: &'static [usize],
    theirs: &'static [usize],
    /// Circle that the enemy is capturing.
    taken: Option<usize>,
    captures: u16,
    scores: [i32; 2],
    is_core_hit: bool,
    second: u32,
}

#[test]
fn the_worst_danger_comes_first() {
    const NONE: Scenario = Scenario {
        mine: &[],
        theirs: &[],
        taken: None,
        captures: 0,
        scores: [0, 0],
        is_core_hit: false,
        second: 30,
    };
    let open = Scenario { theirs: &[1, 2], ..NONE };
    let ahead = Scenario { mine: &[0, 1], captures: 2, ..NONE };
    let late = Scenario { second: 301, ..NONE };
    let table = [
        (NONE, "Hold two circles: their core opens"),
        (Scenario { mine: &[0], ..NONE }, "Take one more circle: their core opens"),
        (ahead, "Their core is open: strike it"),
        (open, "Your core is open: take a circle"),
        (Scenario { captures: 1, ..open }, "Your core is open: retake one"),
        (Scenario { theirs: &[0, 1, 2], ..open }, "Your core is open: take two circles"),
        (Scenario { theirs: &[0, 1, 2], captures: 1, ..open }, "Your core is open: retake two"),
        (Scenario { mine: &[0], taken: Some(0), ..open }, "They take your circle: stop them"),
        (Scenario { taken: Some(1), ..ahead }, "They take your circle: stop them"),
        (Scenario { is_core_hit: true, ..open }, "Your core is being hit: defend it"),
        (
            Scenario { is_core_hit: true, mine: &[0], taken: Some(0), ..open },
            "Your core is being hit: defend it",
        ),
        (Scenario { scores: [0, short_by(5)], ..open }, "They win in 5 points: take circles"),
        (
            Scenario { scores: [0, short_by(1)], is_core_hit: true, ..open },
            "They win in 1 point: take circles",
        ),
        (Scenario { scores: [0, short_by(31)], ..open }, "Your core is open: take a circle"),
        (Scenario { scores: [short_by(5), 0], ..ahead }, "Their core is open: strike it"),
        (Scenario { second: 280, ..ahead }, "Their core is open: strike it"),
        (Scenario { second: 280, ..open }, "Your core is open: take a circle"),
        (Scenario { second: 280, ..NONE }, "Sudden death in 20 s"),
        (late, "Sudden death: no core is safe, take one more circle"),
        (Scenario { theirs: &[0], ..late }, "Sudden death: your core burns, take circles"),
        (Scenario { mine: &[0], ..late }, "Sudden death: their core burns, hold on"),
        (Scenario { mine: &[0], taken: Some(0), ..late }, "They take your circle: stop them"),
        (Scenario { is_core_hit: true, ..late }, "Your core is being hit: defend it"),
        (Scenario { scores: [0, short_by(5)], ..late }, "They win in 5 points: take circles"),
    ];
    for (at, (situation, expected)) in table.into_iter().enumerate() {
        let Scenario { mine, theirs, taken, captures, scores, is_core_hit, second } = situation;
        let change = |state: &mut GameState| {
            state.globals.tick[0] = Tick(second * 60);
            mine.iter().for_each(|&circle| hold(state, &[(circle, 0)]));
            theirs.iter().for_each(|&circle| hold(state, &[(circle, 1)]));
            if let Some(circle) = taken {
                (state.circles.taker[circle], state.circles.progress[circle]) = (PlayerId(1), CAPTURED / 2);
            }
            state.players.captures[0] = captures;
            (state.players.score[0], state.players.score[1]) = (scores[0], scores[1]);
        };
        let [line, ..] = lines_while("standard", &[0, 1], change, is_core_hit);
        assert_eq!(line, expected, "situation {at}");
    }
}

/// Returns the line for a fight in which the first player has these minions in one place, `hero` tiles from the
/// player's hero, and the enemy these beside them.
fn line_of_a_fight(mine: usize, enemies: usize, hero: f32, held: &[(usize, u8)]) -> String {
    let [line, ..] = lines(|state| {
        hold(state, held);
        let heroes = [0, 1].map(|player| state.hero(PlayerId(player)).expect("one"));
        let minions: [Vec<usize>; 2] = [0, 1].map(|player| {
            let own = |&row: &usize| state.units.owner[row] == PlayerId(player) && !heroes.contains(&row);
            (0..state.units.len()).filter(own).collect()
        });
        let mut place = |row: usize, x: f32, y: f32| {
            (state.units.x[row], state.units.y[row]) = (Fx::from_num(x), Fx::from_num(y));
        };
        // Those who do not count stand at their bases.
        for (side, (rows, count)) in minions.iter().zip([mine, enemies]).enumerate() {
            for (number, &row) in rows.iter().enumerate() {
                let home = if side == 0 { -30.0 } else { 30.0 };
                place(row, if number < count { side as f32 * 2.0 } else { home }, 0.0);
            }
        }
        place(heroes[0], -hero, 0.0);
        place(heroes[1], 30.0, 0.0);
    });
    line
}

#[test]
fn the_line_knows_strength() {
    let two: Held = &[(0, 0), (1, 0)];
    let table: [(usize, usize, f32, Held, &str); 9] = [
        (2, 4, 25.0, &[], "Two against four: wait for your hero"),
        // The open core does not send few into many.
        (1, 5, 25.0, two, "One against five: wait for your hero"),
        // He is there: three against five.
        (2, 5, 3.0, &[], "Three against five: fall back, train, regroup"),
        (3, 4, 25.0, &[], "Hold two circles: their core opens"),
        (2, 3, 25.0, &[], "Hold two circles: their core opens"),
        (5, 2, 25.0, &[], "Five against two: drive them off"),
        (5, 2, 3.0, two, "Six against two, their core is open: strike"),
        (5, 0, 3.0, two, "Their core is open: strike it"),
        (0, 5, 25.0, &[], "Hold two circles: their core opens"),
    ];
    for (mine, enemies, hero, held, expected) in table {
        assert_eq!(line_of_a_fight(mine, enemies, hero, held), expected, "{mine} against {enemies}, {hero}");
    }
}

#[test]
fn every_rule_says_something_of_its_own() {
    let quiet = Situation {
        points_left: 400,
        is_core_hit: false,
        is_losing_circle: false,
        is_sudden: false,
        sudden_in: None,
        held: 0,
        theirs: 0,
        needed: 2,
        has_held: false,
        is_new_ground: false,
        cores: 1,
        fight: Fight::default(),
    };
    let outnumbered = Fight { ours: 2, enemies: 6, mine: 2, has_hero: true, hero_lives: true };
    let strong = Fight { ours: 6, enemies: 2, mine: 6, has_hero: true, hero_lives: true };
    let reached = [
        Situation { points_left: 3, ..quiet.clone() },
        Situation { is_core_hit: true, ..quiet.clone() },
        Situation { is_sudden: true, theirs: 1, ..quiet.clone() },
        Situation { is_sudden: true, ..quiet.clone() },
        Situation { fight: Fight { has_hero: false, ..outnumbered }, ..quiet.clone() },
        Situation { fight: outnumbered, ..quiet.clone() },
        Situation { is_losing_circle: true, ..quiet.clone() },
        Situation { theirs: 2, has_held: true, ..quiet.clone() },
        Situation { theirs: 2, ..quiet.clone() },
        Situation { is_sudden: true, held: 1, ..quiet.clone() },
        Situation { held: 2, fight: strong, ..quiet.clone() },
        Situation { held: 2, ..quiet.clone() },
        Situation { sudden_in: Some(9), ..quiet.clone() },
        Situation { fight: strong, ..quiet.clone() },
        Situation { held: 1, ..quiet.clone() },
        Situation { is_new_ground: true, ..quiet.clone() },
        quiet,
    ];
    for (rule, situation) in reached.iter().enumerate() {
        let first = RULES.iter().position(|(applies, ..)| applies(situation));
        assert_eq!(first, Some(rule), "{situation:?}: {}", say(situation).0);
    }
}

#[test]
fn several_enemies_have_several_cores() {
    let hold_three = |state: &mut GameState| {
        hold(state, &[(0, 0), (1, 0), (2, 0)]);
        for enemy in 1..4 {
            state.cores.open[enemy] = 1;
        }
    };
    let [mine, theirs, others] = lines_on("quad", &[0, 1, 2, 3], hold_three);
    assert_eq!(mine, "Their cores are open: strike one");
    assert_eq!(theirs, "Your core is open: take a circle");
    assert_eq!(others, "Three cores are open");
    let [mine, ally, _] = lines_on("quad", &[0, 0, 1, 1], |_| {});
    assert_eq!([mine, ally], ["Hold three circles: their cores open"; 2]);
    let [mine, ..] = lines_on("quad", &[0, 1, 2, 3], |state| {
        (state.cores.hp[1], state.cores.hp[3]) = (0, 0);
    });
    assert_eq!(mine, "Hold three circles: their core opens");
}

#[test]
fn the_line_announces_the_end() {
    let [mine, theirs, others] = lines(|state| {
        state.globals.tick[0] = Tick(301 * 60);
        hold(state, &[(0, 0)]);
    });
    assert_eq!(mine, "Sudden death: their core burns, hold on");
    assert_eq!(theirs, "Sudden death: your core burns, take circles");
    assert_eq!(others, "Sudden death");
    let [mine, ..] = lines(|state| state.globals.tick[0] = Tick(299 * 60));
    assert_eq!(mine, "Sudden death in 1 s");
    let [mine, theirs, _] = lines(|state| state.players.score[1] = short_by(20));
    assert_eq!(mine, "They win in 20 points: take circles");
    assert_eq!(theirs, "Hold two circles: their core opens");
}
