//! `watch-both`: both seats' screens, their figures, and the link that changes under them.

use super::driver::Window;
use super::{turn, turn_alone};
use serde_json::Value;

#[test]
fn both_seats_are_watched_under_both_architectures_in_a_small_window() {
    let Some(_turn) = turn() else { return };
    assert_both_seats_are_shown("small", "960x540");
}

#[test]
fn both_seats_are_watched_under_both_architectures_in_a_medium_window() {
    let Some(_turn) = turn() else { return };
    assert_both_seats_are_shown("medium", "1280x720");
}

#[test]
fn both_seats_are_watched_under_both_architectures_in_a_large_window() {
    let Some(_turn) = turn_alone() else { return };
    assert_both_seats_are_shown("large", LARGE);
}

const LARGE: &str = "2560x1440";

fn assert_both_seats_are_shown(name: &'static str, size: &str) {
    let mut window = Window::open(name, size, None, &["watch-both", "--seed=7", "--prediction=off"]);
    window.wait_screen("both");
    window.wait_tick(300);
    window.assert_tidy("both");
    window.picture("both");
    let apart = |shown: &Value| {
        let rows = shown["match"]["rows"].as_array().cloned().unwrap_or_default();
        rows.iter().filter(|row| row["apart_mean"].as_f64() > Some(0.0)).count() == 2
    };
    // Without a graphics card a large window draws a few frames a second, and may miss the moments that differ.
    if size != LARGE {
        window.wait_for("screens that differ in both rows", apart);
    }
    window.click("pause");
    window.wait_for("a pause", |shown| shown["match"]["is_paused"] == true);
    window.click("back");
    window.wait_screen("start");
    window.close();
    window.wait_end();
}

#[test]
#[ignore = "one of the longest"]
fn a_link_that_changes_under_both_seats_shows_in_their_figures() {
    let Some(_turn) = turn() else { return };
    let link = ["watch-both", "--seed=7", "--rtt=100", "--jitter=0", "--loss=0"];
    let mut window = Window::open("figures", "1280x720", None, &link);
    window.wait_screen("both");
    let figure =
        |shown: &Value, row: usize, name: &str| shown["match"]["rows"][row]["figures"][0][name].clone();
    let other = |shown: &Value, row: usize| figure(shown, row, "clicks_ms")[1].as_f64();
    let all = |shown: &Value, test: &dyn Fn(f64) -> bool| {
        [0, 1].iter().all(|&row| other(shown, row).is_some_and(test))
    };
    let before = window.wait_for("clicks of a short link", |shown| all(shown, &|ms| ms < 120.0));
    assert!(figure(&before, 0, "kbit_s").as_f64() > Some(5.0), "{before}");
    window.picture("short");
    let rect = |name: &str| {
        let items = before["items"].as_array().expect("items");
        let rect = &items.iter().find(|item| item["name"] == name).expect("a slider")["rect"];
        [0, 1, 2, 3].map(|at| rect[at].as_f64().expect("a number"))
    };
    let [left, top, width, height] = rect("RTT");
    let at = |share: f64| [left + width * share, top + height / 2.0];
    window.drag(at(0.2), at(0.6));
    window.wait_for("a longer link", |shown| shown["match"]["link"][0].as_f64() > Some(300.0));
    window.wait_for("clicks of a longer link", |shown| all(shown, &|ms| ms > 150.0));
    // The loss by the keyboard.
    for _ in 0..10 {
        if window.shown()["focused"] == "loss" {
            break;
        }
        window.key("Tab");
    }
    window.key("Right");
    window.wait_for("a loss", |shown| shown["match"]["link"][2].as_f64() > Some(0.0));
    window.click("outage");
    window.wait_for("an outage", |shown| shown["match"]["is_out"] == true);
    let stalls = |shown: &Value| figure(shown, 0, "stalled_ms_s").as_f64() > Some(300.0);
    window.wait_for("a stall in lockstep", stalls);
    window.assert_tidy("outage");
    window.picture("outage");
    window.wait_for("its end", |shown| shown["match"]["is_out"] == false);
    window.wait_for("play without stalls", |shown| figure(shown, 0, "stalled_ms_s").as_f64() < Some(100.0));
    window.close();
    window.wait_end();
}
