use std::sync::Arc;

use sim::TickRate;
use sim::math;

use super::*;
use crate::gui::test_view::test_view;

const HZ: u32 = 60;

fn mine() -> View {
    test_view(Some(PlayerId(0)))
}

fn change(view: &mut View, with: impl FnOnce(&mut GameState)) {
    with(Arc::make_mut(&mut view.current));
}

/// Returns the cues of a tick's events.
fn heard(cues: &mut Cues, view: &View, tick: u32, events: &[Event]) -> Vec<Cue> {
    let (mut backlog, mut heard) = (EventBacklog::default(), Vec::new());
    backlog.add(Tick(tick), events);
    cues.observe(view, &view.previous.clone(), &backlog, &mut |cue| heard.push(cue));
    heard
}

fn kinds(heard: &[Cue]) -> Vec<Kind> {
    heard.iter().map(|cue| cue.kind).collect()
}

fn at(x: i32) -> math::Vec2 {
    math::Vec2 { x: math::Fx::from_num(x), y: math::Fx::from_num(2) }
}

fn hit(view: &View, owner: u8, attack: AttackBehaviour) -> Event {
    let row = (0..view.current.units.len()).find(|&row| view.current.units.owner[row] == PlayerId(owner));
    let unit = view.current.units.id[row.expect("everybody begins with units")];
    Event::Hit { unit, at: at(3), by: PlayerId(1 - owner), attack, damage: 5 }
}

#[test]
fn fight_events_have_sound_position_and_team_pitch() {
    use AttackBehaviour::{Archer, Swordsman};
    let view = test_view(None);
    let (player, unit) = (PlayerId(1), UnitId { index: 0, generation: 0 });
    let death = |control| Event::Death { unit, owner: player, control, kind: sim::KindId(1), at: at(3) };
    let table = [
        (hit(&view, 0, Swordsman), Kind::SwordHit),
        (hit(&view, 0, Archer), Kind::ArrowHit),
        (Event::Shot { unit, player, at: at(3) }, Kind::ArrowShot),
        (death(ControlBehaviour::Minion), Kind::UnitDeath),
        (death(ControlBehaviour::Player), Kind::HeroDeath),
        (Event::Dash { player, at: at(3) }, Kind::Dash),
        (Event::Banner { player, at: at(3) }, Kind::Banner),
    ];
    for (event, kind) in table {
        let expected = Cue { kind, at: Some(vec2(3.0, 2.0)), pitch: TEAM_PITCHES[1] };
        assert_eq!(heard(&mut Cues::default(), &view, 0, &[event]), [expected]);
    }
    assert!(TEAM_PITCHES.iter().all(|&pitch| (TEAM_PITCHES[1]..=TEAM_PITCHES[0]).contains(&pitch)));
}

#[test]
fn one_sides_alert_is_the_other_sides_chance() {
    let takes = |player| Event::Capture { circle: 1, player: PlayerId(player) };
    let opens = |core| Event::Shield { core: PlayerId(core), open: true };
    let core_hit = |core| Event::CoreHit { core: PlayerId(core), by: PlayerId(1 - core), damage: 5 };
    let spawn = |owner| Event::Spawn {
        unit: UnitId { index: 0, generation: 0 },
        owner: PlayerId(owner),
        control: ControlBehaviour::Minion,
        at: at(1),
    };
    let events =
        [takes(0), takes(1), takes(0), opens(0), opens(1), core_hit(0), core_hit(1), spawn(0), spawn(1)];
    use Kind::{CircleLost, CircleTaken, CoreChance, CoreHit, CoreOpens, OwnCoreHit, Trained};
    assert_eq!(
        kinds(&heard(&mut Cues::default(), &mine(), 0, &events)),
        [CircleTaken, CircleLost, CircleTaken, CoreOpens, CoreChance, OwnCoreHit, CoreHit, Trained]
    );
    assert_eq!(
        kinds(&heard(&mut Cues::default(), &test_view(None), 0, &events)),
        [CircleTaken, CircleTaken, CircleTaken, CoreChance, CoreChance, CoreHit, CoreHit]
    );
    let shut = Event::Shield { core: PlayerId(0), open: false };
    assert_eq!(heard(&mut Cues::default(), &mine(), 0, &[shut]), []);
}

#[test]
fn the_first_hit_after_a_calm_raises_an_alert() {
    let (view, mut cues) = (mine(), Cues::default());
    let calm = TickRate::HZ_60.ticks_in_ms(CALM_MS);
    let [own, theirs] = [0, 1].map(|owner| hit(&view, owner, AttackBehaviour::Archer));
    let mut attacks =
        |tick: u32, event: Event| kinds(&heard(&mut cues, &view, tick, &[event])).contains(&Kind::Attacked);
    assert!(!attacks(1, theirs));
    assert!(attacks(2, own));
    assert!(!attacks(calm, own), "less than the calm after the last hit");
    assert!(!attacks(2 * calm - 1, own), "every hit counts, also one without a sound");
    assert!(attacks(3 * calm - 1, own));
}

/// The player sees the hero's actions before their events arrive.
#[test]
fn the_players_dash_and_banner_sound_once_when_shown() {
    let (mut view, mut cues) = (mine(), Cues::default());
    assert_eq!(heard(&mut cues, &view, 0, &[]), []);
    let ready = |state: &mut GameState, at: u32| {
        (state.players.dash_ready_at[0], state.players.banner_ready_at[0]) = (Tick(at), Tick(at));
    };
    change(&mut view, |state| ready(state, 400));
    assert_eq!(kinds(&heard(&mut cues, &view, 1, &[])), [Kind::Dash, Kind::Banner]);
    let events =
        [Event::Dash { player: PlayerId(0), at: at(0) }, Event::Banner { player: PlayerId(0), at: at(0) }];
    assert_eq!(heard(&mut cues, &view, 2, &events), [], "its events come later");
    // The prediction loses the action briefly, then has it three ticks later.
    change(&mut view, |state| ready(state, 0));
    assert_eq!(heard(&mut cues, &view, 3, &[]), []);
    change(&mut view, |state| ready(state, 403));
    assert_eq!(heard(&mut cues, &view, 4, &[]), []);
    change(&mut view, |state| ready(state, 800));
    assert_eq!(kinds(&heard(&mut cues, &view, 5, &[])), [Kind::Dash, Kind::Banner]);
}

#[test]
fn a_circle_ticks_at_rising_pitch_until_captured() {
    let (mut view, mut cues) = (mine(), Cues::default());
    let mut pitches = Vec::new();
    for progress in (0..CAPTURED).step_by(500) {
        change(&mut view, |state| {
            (state.circles.taker[1], state.circles.progress[1]) = (PlayerId(1), progress);
        });
        let ticks = heard(&mut cues, &view, 0, &[]);
        assert!(ticks.iter().all(|cue| cue.kind == Kind::CircleTick));
        pitches.extend(ticks.iter().map(|cue| cue.pitch));
    }
    assert_eq!(pitches.len() as i32, CIRCLE_STEPS - 1, "taken has a sound of its own");
    assert!(pitches.is_sorted() && pitches[0] < pitches[1]);
    // The capture decays silently.
    change(&mut view, |state| state.circles.progress[1] = CAPTURED / 2);
    assert_eq!(heard(&mut cues, &view, 0, &[]), []);
}

#[test]
fn a_core_cracks_at_each_quarter() {
    let (mut view, mut cues) = (mine(), Cues::default());
    let whole = view.setup.rules.core_hp;
    let mut cracks = Vec::new();
    for left in (0..=whole).rev() {
        change(&mut view, |state| state.cores.hp[1] = left);
        let heard = kinds(&heard(&mut cues, &view, 0, &[]));
        cracks.extend(heard.iter().map(|&kind| (kind, left * 4 / whole)));
    }
    assert_eq!(cracks, [3, 2, 1, 0].map(|quarters| (Kind::CoreCracks, quarters)));
}

#[test]
fn fights_are_muted_before_sudden_death_and_a_drum_beats_each_second_after() {
    let (mut view, mut cues) = (mine(), Cues::default());
    let begins = view.setup.sudden_death().0;
    let blow = hit(&view, 1, AttackBehaviour::Swordsman);
    let lost = [0, 1].map(|player| Event::Capture { circle: 0, player: PlayerId(player) });
    let mut drums = Vec::new();
    for tick in begins - 6 * HZ..begins + 3 * HZ {
        change(&mut view, |state| state.globals.tick[0] = Tick(tick));
        let heard = kinds(&heard(&mut cues, &view, tick, &[blow, lost[0], lost[1]]));
        let is_silent = (begins - 3 * HZ..begins).contains(&tick);
        assert_eq!(heard.contains(&Kind::SwordHit), !is_silent, "tick {tick}");
        assert!(heard.contains(&Kind::CircleLost), "danger is always heard");
        if heard.contains(&Kind::Drum) {
            drums.push(tick - begins);
        }
    }
    assert_eq!(drums, [0, HZ, 2 * HZ]);
}

#[test]
fn countdowns_and_stalls_have_their_sounds() {
    use Kind::{Alert, Count, Go};
    let table = [
        (None, false, None),
        (Some(2.9), false, Some(Count)),
        (Some(2.1), false, None),
        (Some(2.0), false, Some(Count)),
        (Some(0.4), false, Some(Count)),
        (Some(0.1), false, None),
        (None, false, Some(Go)),
        (None, true, Some(Alert)),
        (None, true, None),
        (Some(3.0), true, Some(Count)),
        (None, false, Some(Go)),
        (None, true, Some(Alert)),
    ];
    let mut waiting = Waiting::default();
    for (at, (left_s, is_held_up, expected)) in table.into_iter().enumerate() {
        assert_eq!(waiting.step(left_s, is_held_up), expected, "frame {at}");
    }
}

#[test]
fn the_music_follows_the_match() {
    let tick_rate = TickRate::HZ_60;
    let begins = mine().setup.sudden_death().0;
    let silence = tick_rate.ticks_in_ms(SILENCE_MS);
    let contact = tick_rate.ticks_in_ms(CONTACT_MS);
    use MusicState::{Calm, Contact, Danger, Silent, SuddenDeath};
    // Tick, tick of the last hit on the player, and the player whose core is open.
    let table = [
        (500, None, None, Calm),
        (500, Some(500 - contact + 1), None, Contact),
        (500, Some(500 - contact), None, Calm),
        (500, None, Some(1), Calm),
        (500, None, Some(0), Danger),
        (500, Some(499), Some(0), Danger),
        (begins - silence - 1, Some(begins - silence - 2), None, Contact),
        (begins - silence, None, Some(0), Silent),
        (begins - 1, Some(begins - 2), None, Silent),
        (begins, None, Some(0), SuddenDeath),
    ];
    for (now, hit_at, open, expected) in table {
        let (mut view, mut cues) = (mine(), Cues::default());
        change(&mut view, |state| {
            state.globals.tick[0] = Tick(now);
            if let Some(open) = open {
                state.cores.open[open] = 1;
            }
        });
        if let Some(hit_at) = hit_at {
            let event = hit(&view, 0, AttackBehaviour::Swordsman);
            heard(&mut cues, &view, hit_at, &[event]);
        }
        assert_eq!(cues.music(&view), expected, "tick {now}, hit at {hit_at:?}, open {open:?}");
    }
}

#[test]
fn the_end_of_a_match_is_silent_and_a_destroyed_core_is_no_danger() {
    let mut view = mine();
    change(&mut view, |state| (state.cores.open[0], state.cores.hp[0]) = (1, 0));
    assert_eq!(Cues::default().music(&view), MusicState::Calm);
    change(&mut view, |state| state.globals.outcome[0] = Outcome::Surrender);
    assert_eq!(Cues::default().music(&view), MusicState::Silent);
}

#[test]
fn only_fights_of_the_player_are_contact_and_any_is_for_a_spectator() {
    for (me, owner, by, expected) in [
        (Some(0), 0, 1, MusicState::Contact),
        (Some(0), 1, 0, MusicState::Contact),
        (Some(0), 1, 1, MusicState::Calm),
        (None, 1, 0, MusicState::Contact),
    ] {
        let (view, mut cues) = (test_view(me.map(PlayerId)), Cues::default());
        let Event::Hit { unit, at, attack, damage, .. } = hit(&view, owner, AttackBehaviour::Archer) else {
            unreachable!("a hit")
        };
        heard(&mut cues, &view, 0, &[Event::Hit { unit, at, by: PlayerId(by), attack, damage }]);
        assert_eq!(cues.music(&view), expected, "{me:?} {owner} {by}");
    }
}
