//! Campaigns as a developer runs them.

use std::fs;

use crate::campaign;

#[test]
fn faults_and_a_byzantine_seat_leave_a_report_that_repeats_and_shards_play_all() {
    let home = tempfile::tempdir().expect("a folder");
    for task in ["faults", "byzantine"] {
        let play = |more: &[&str]| {
            let words = [&[task, "--matches=3", "--ticks=300", "--json"], more].concat();
            let ended = campaign(home.path(), &words);
            assert_eq!(ended.code, Some(0), "{ended:?}");
            ended.json()
        };
        let (whole, again) = (play(&[]), play(&["--jobs=1"]));
        assert_eq!((&whole["verdict"], &whole["matches"]), (&"equal".into(), &3.into()), "{task}");
        assert_eq!(whole["log"], again["log"], "{task}");
        let shards = ["--shard=0/2", "--shard=1/2"].map(|shard| play(&[shard]));
        // What goes wrong differs from seed to seed.
        for (fault, count) in whole["faults"].as_object().expect("counts") {
            let sum = shards.iter().map(|shard| shard["faults"][fault].as_u64().expect("a number")).sum();
            assert_eq!(count.as_u64(), Some(sum), "{task}: {fault}");
        }
        assert_eq!(whole["byzantine"].is_object(), task == "byzantine");
        let text = campaign(home.path(), &[task, "--matches=1", "--ticks=120"]).stdout;
        let figure = if task == "faults" { "burst_loss" } else { "honest lost" };
        assert!(text.starts_with("equal: 1 match,") && text.contains(figure), "{text}");
    }
}

#[test]
fn an_adversary_finds_a_rule_that_is_broken_and_nothing_where_none_is() {
    let home = tempfile::tempdir().expect("a folder");
    let words = ["--seed=3", "--ticks=2400", "--json"];
    let sound = campaign(home.path(), &[&["adversary"], &words[..]].concat());
    assert_eq!((sound.code, &sound.json()["violated_matches"]), (Some(0), &0.into()));
    let broken = ["adversary", "--mutation=uncounted-second"];
    let broken = campaign(home.path(), &[&broken, &words[..]].concat());
    let json = broken.json();
    assert_eq!((broken.code, &json["verdict"]), (Some(1), &"violation".into()));
    let again = json["violations"][0]["again"].as_str().expect("a command");
    assert!(again.contains("-p campaign -- adversary --seed 3") && again.contains("--mutation"), "{again}");

    let both = ["mutations", "--mutation=uncounted-second", "--mutation=held-room"];
    let ended = campaign(home.path(), &[&both, &words[..]].concat());
    let json = ended.json();
    let found = |name: &str| &json["mutations"][name]["seed"];
    assert_eq!((found("uncounted-second"), found("held-room")), (&3.into(), &().into()));
    assert_eq!((ended.code, &json["verdict"]), (Some(1), &"missed".into()), "one is not found by one seed");
}

#[test]
fn classic_lockstep_is_compared_on_twenty_eight_links() {
    let home = tempfile::tempdir().expect("a folder");
    let json = campaign(home.path(), &["baseline", "--ticks=120", "--json"]).json();
    assert_eq!(
        (json["links"].as_array().map(Vec::len), json["outages"].as_array().map(Vec::len)),
        (Some(28), Some(7))
    );
    for who in ["ours", "classic"] {
        let figures = &json["links"][5][who];
        assert!(
            figures["opponent_ms"]["p99"].as_f64() > Some(20.0) && figures["kbit_s"].is_number(),
            "{figures}"
        );
    }
}

#[test]
fn results_of_a_shard_are_read_as_editors_save_them() {
    let home = tempfile::tempdir().expect("a folder");
    let sweep = ["balance", "--matches=1", "--suite=levels", "--map=duel", "--tick-rate=30"];
    let file = home.path().join("shard");
    let shard = ["--shard=0/1", &format!("--results={}", file.display())];
    let ended = campaign(home.path(), &[&sweep[..], &shard].concat());
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let results = fs::read_to_string(&file).expect("results");
    let rebuild = |bytes: &[u8]| {
        fs::write(&file, bytes).expect("written");
        let flag = format!("--rebuild={}", file.display());
        campaign(home.path(), &[&sweep[..], &["--json", &flag]].concat())
    };
    let figures = |text: &str| {
        let json = rebuild(text.as_bytes()).json();
        (json["figures"].clone(), json["lines"].clone(), json["ticks"].clone())
    };
    let whole = figures(&results);
    assert!(whole.0[0].is_object(), "{whole:?}");
    assert_eq!(figures(&format!("\u{feff}{}", results.replace('\n', "\r\n"))), whole);
    assert_eq!(figures(&format!("\n\n{}", results.trim_end())), whole);
    let wide = rebuild(&results.encode_utf16().flat_map(u16::to_le_bytes).collect::<Vec<_>>());
    assert!(wide.code == Some(2) && wide.stderr.contains("save it as UTF-8"), "{wide:?}");
    let table = campaign(home.path(), &sweep).stdout;
    assert!(table.is_ascii() && table.contains("hard v normal"), "{table}");
}

#[test]
fn wrong_use_is_one_line() {
    let home = tempfile::tempdir().expect("a folder");
    for (words, says) in [
        (&["faults", "--map=duel"][..], "map duel has 2 seats, not 4"),
        (&["adversary", "--mutation=none"], "the mutations are queued-states"),
        (&["byzantine", "--shard=2/2"], "expected K/N with K from 0"),
        (&[], "subcommand"),
    ] {
        let ended = campaign(home.path(), words);
        let lines = ended.stderr.lines().count();
        assert_eq!((ended.code, lines), (Some(2), 1), "{words:?}: {ended:?}");
        assert!(ended.stderr.contains(says) && ended.stdout.is_empty(), "{words:?}: {ended:?}");
    }
}
