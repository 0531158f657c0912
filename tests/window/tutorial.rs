//! The match that teaches, played with the keys that its cards name and nothing else; and the result that does.

use std::time::Duration;

use replay::{Record, Replay};
use serde_json::Value;
use sim::{ControlBehaviour, Event, KindId, PlayerId, World};

use super::driver::Window;
use super::{turn, turn_alone, xy};

/// The number of the step to be done now.
fn step(shown: &Value) -> Option<u64> {
    shown["match"]["task"]["title"].as_str()?.split(' ').next()?.parse().ok()
}

fn place(shown: &Value) -> [f64; 2] {
    xy(&shown["match"]["task"]["place"])
}

/// Walks the hero toward the arrow until `is_there`, which gets what is shown and how far it still is.
fn walk_until(window: &Window, is_there: impl Fn(&Value, f64) -> bool) {
    for _ in 0..120 {
        let shown = window.shown();
        if shown["match"]["task"]["place"].is_null() || shown["match"]["hero"].is_null() {
            if is_there(&shown, 0.0) {
                return;
            }
            window.next_frame();
            continue;
        }
        let (hero, goal) = (xy(&shown["match"]["hero"]), place(&shown));
        let (x, y) = (goal[0] - hero[0], goal[1] - hero[1]);
        let far = x.abs().max(y.abs());
        if is_there(&shown, far) {
            return;
        }
        let key = match x.abs() > y.abs() {
            true if x > 0.0 => "d",
            true => "a",
            false if y > 0.0 => "s",
            false => "w",
        };
        window.hold(key, Duration::from_millis((far * 4.0).clamp(40.0, 400.0) as u64));
    }
    panic!("the hero does not get there: {}", window.shown());
}

/// Walks the hero to the arrow until the step is done.
fn walk(window: &Window, of: u64) {
    walk_until(window, |shown, _| step(shown) != Some(of));
}

/// Waits until the settings say that the tutorial is done.
fn wait_until_kept(window: &Window) {
    let file = window.home.path().join("mini-rts-arena/settings.toml");
    window.wait_for("a tutorial that is kept as done", |_| {
        std::fs::read_to_string(&file).is_ok_and(|text| text.contains("has_learned = true"))
    });
}

fn wait_step(window: &Window, number: u64) {
    window.wait_for(&format!("step {number}"), |shown| step(shown) == Some(number));
}

/// Points at the arrow and sends there who is selected; nobody once the last step is done.
fn send(window: &Window) {
    let shown = window.shown();
    if !shown["match"]["task"]["place"].is_null() {
        window.point(place(&shown));
        window.press("3");
    }
}

fn play(window: &Window) {
    let step_is_shown = |number: u64| {
        wait_step(window, number);
        window.assert_tidy(&format!("step {number}"));
        window.picture(&format!("step {number}"));
    };
    step_is_shown(1);
    walk(window, 1);
    step_is_shown(2);
    walk(window, 2);
    step_is_shown(3);
    for key in ["b", "n", "b", "n"] {
        window.key(key);
    }
    step_is_shown(4);
    window.key("e");
    window.wait_for("a selection", |shown| shown["match"]["selected"].as_u64() >= Some(4));
    window.picture("step 4, selected");
    send(window);
    step_is_shown(5);
    // A box over one of them that is about them, too, if they stand close: one at least stays.
    let minion = xy(&window.shown()["match"]["minions"][0]);
    window.drag([minion[0] - 14.0, minion[1] - 14.0], [minion[0] + 14.0, minion[1] + 14.0]);
    send(window);
    step_is_shown(6);
    window.key("shift+b");
    step_is_shown(7);
    window.key("e");
    send(window);
    wait_step(window, 8);
    window.key("q");
    let is_half_destroyed = |shown: &Value| {
        shown["match"]["task"]["progress"].as_f64() > Some(0.3) || shown["match"]["task"].is_null()
    };
    // Those who are trained meanwhile are sent, too.
    while !is_half_destroyed(&window.shown()) {
        window.key("e");
        send(window);
    }
    window.picture("step 8, fought");
    window.wait_for("the end", |shown| shown["match"]["overlay"] == "Learned");
    window.assert_tidy("learned");
    window.picture("learned");
}

/// Plays the recorded match again: whether anybody of player 0 was hit before four minions lived.
fn assert_nobody_was_hurt_before_the_fourth_step(window: &Window) {
    let file = window.replays().pop().expect("a replay");
    let replay = Replay::open(&file).expect("a replay");
    let mut world = World::new(replay.header().setup().expect("a match"));
    let (mut hits, mut has_army) = ([0, 0], false);
    for record in replay {
        let Record::Tick { inputs, .. } = record else { continue };
        world.step(&inputs);
        let units = &world.state().units;
        let own = units.owner.iter().zip(&units.control);
        let minions = own.filter(|own| *own == (&PlayerId(0), &ControlBehaviour::Minion)).count();
        has_army |= minions >= 4;
        let is_hit = |event: &&Event| matches!(event, Event::Hit { by: PlayerId(1), .. });
        hits[usize::from(has_army)] += world.events().iter().filter(is_hit).count();
    }
    println!("hits on the player before the army and after: {hits:?}");
    assert_eq!(hits[0], 0);
    assert!(has_army && world.state().winner() == Some(0));
}

#[test]
#[ignore = "one of the longest"]
fn the_tutorial_is_won_by_the_keys_that_it_names() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("lesson", "1280x720", None, &[]);
    window.wait_screen("start");
    window.assert_tidy("start");
    window.picture("start");
    window.click("learn");
    play(&window);
    assert_nobody_was_hurt_before_the_fourth_step(&window);
    wait_until_kept(&window);
    window.click("next");
    let shown = window.wait_tick(30);
    assert!(shown["match"]["task"].is_null() && shown["match"]["is_practice"] == true, "{shown}");
    window.close();
    window.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn the_tutorial_is_won_in_a_large_window() {
    let Some(_turn) = turn_alone() else { return };
    let mut window = Window::open("large-lesson", "1920x1080", None, &[]);
    window.wait_screen("start");
    window.assert_tidy("start");
    window.picture("start");
    window.click("learn");
    play(&window);
    window.click("menu");
    window.wait_screen("start");
    window.assert_tidy("start");
    window.picture("start after");
    window.close();
    window.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn a_result_tells_its_course_and_gives_a_tip() {
    let Some(_turn) = turn() else { return };
    // Nobody plays the own side: at 20 s its supply lies unspent.
    let words = ["play", "--bot", "hard", "--ticks", "2700"];
    let mut window = Window::open("course", "1280x720", None, &words);
    let shown = window.wait_screen("result")["match"].clone();
    let tip = shown["tip"].as_str().unwrap_or_default();
    assert!(tip.starts_with("You left supply unspent for "), "{shown}");
    assert!(shown["moments"].as_array().is_some_and(|moments| (1..=3).contains(&moments.len())), "{shown}");
    assert!(shown["series"].is_null(), "one match is no series");
    window.assert_tidy("course");
    window.picture("result");
    window.click("details");
    window.wait_for("details", |shown| shown["items"].to_string().contains("\"latency\""));
    window.assert_tidy("details");
    window.picture("details");
    window.click("details");
    // Another hero, and the same match again.
    window.click("hero archer");
    window.click("again");
    window.wait_tick(1);
    window.close();
    window.wait_end();
    let last = window
        .replays()
        .into_iter()
        .max_by_key(|file| std::fs::metadata(file).and_then(|data| data.modified()).expect("a file"));
    let replay = Replay::open(last.expect("a replay")).expect("a replay");
    assert_eq!(replay.header().seats[0].setup.hero, KindId(1));
}

#[test]
fn a_key_skips_the_tutorial_for_good() {
    let Some(_turn) = turn() else { return };
    let mut window = Window::open("skipped", "1280x720", None, &[]);
    window.wait_screen("start");
    // Who leaves by the menu may want to come back.
    window.click("learn");
    wait_step(&window, 1);
    window.point([640.0, 200.0]);
    window.key("Escape");
    window.click("leave");
    window.wait_screen("start");
    window.click("learn");
    wait_step(&window, 1);
    window.point([640.0, 200.0]);
    window.key("k");
    window.wait_screen("start");
    wait_until_kept(&window);
    // It can be played again, and left by its button.
    window.click("learn");
    wait_step(&window, 1);
    window.click("skip");
    window.wait_screen("start");
    window.close();
    window.wait_end();
}
