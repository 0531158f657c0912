//! Kinds of units that only a file of rules has: buttons, keys, help, and the size of it all.

use super::driver::Window;
use super::hands::{middle_of, training, wait_item};
use super::turn;

/// The standard rules with as many more kinds, the first of which trains by O.
fn rules(more: usize) -> String {
    let standard = include_str!("../../assets/rules/standard.toml");
    let standard = standard.replace("name = \"standard\"", "name = \"kinds\"");
    let minion = "[[minion]]\nattack = \"swordsman\"\ncost = 1\nstart = 0\nhp = 90\nspeed = 3.0\nradius = 0.4\n\
                  reach = 2.2\ndamage = 22\ncooldown = 1.3\nwindup = 0.35\n";
    let first =
        format!("{minion}name = \"pikeman\"\nplural = \"pikemen\"\ntrain_key = \"O\"\nselect_key = \"U\"\n");
    let others = (1..more).map(|number| format!("{minion}name = \"militia-{number}\"\n"));
    format!("{standard}\n{first}{}", others.collect::<String>())
}

#[test]
#[ignore = "one of the longest"]
fn a_kind_of_a_rules_file_has_a_button_and_keys() {
    let Some(_turn) = turn() else { return };
    for (name, more, size) in
        [("a kind", 1, "1280x720"), ("kinds", 3, "1280x720"), ("kinds in little room", 3, "960x540")]
    {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("pikes.toml");
        std::fs::write(&file, rules(more)).expect("a file");
        let file = file.to_str().expect("a path in Unicode");
        let mut window = Window::open(name, size, None, &["play", "--bot", "none", "--rules", file]);
        window.wait_tick(1);
        window.point(middle_of(&window, "economy: pikeman"));
        wait_item(&window, "tooltip");
        window.assert_tidy("tooltip");
        window.picture("tooltip");
        window.key("o");
        window.wait_for("a pikeman in training", |shown| training(shown, "training")[3] == 1);
        window.wait_for("a pikeman", |shown| training(shown, "training")[3] == 0);
        window.key("u");
        window.wait_for("the pikeman selected", |shown| shown["match"]["selected"] == 1);
        window.assert_tidy("selection");
        window.picture("selection");
        window.key("F1");
        window.wait_for("the help", |shown| shown["match"]["overlay"] == "Help");
        for page in ["keys", "rules"] {
            window.click(&format!("help {page}"));
            window.assert_tidy(page);
            window.picture(&format!("help-{page}"));
        }
        window.close();
        window.wait_end();
    }
}
