//! Bots in processes of their own: matches with good ones, and with all that a process can do wrong.

use serde_json::Value;
use std::path::Path;
use std::process::Command;

use crate::arena::{Arena, Ended, fails, run};

const HOST: [&str; 8] = [
    "host",
    "--headless",
    "--json",
    "--port=0",
    "--bind=127.0.0.1",
    "--no-discovery",
    "--record=off",
    "--seed=5",
];
const GUEST: [&str; 4] = ["--headless", "--json", "--no-discovery", "--record=off"];

/// The bot of the documents; `None`, and a word, where there is no Python, except in CI.
fn python_bot() -> Option<String> {
    let has_python = Command::new("python3").arg("--version").output().is_ok_and(|ran| ran.status.success());
    assert!(has_python || std::env::var_os("CI").is_none(), "python3 is missing");
    if !has_python {
        eprintln!("skipped: python3 is missing");
        return None;
    }
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/examples/bot.py");
    Some(format!("--bot=exec:python3 '{}'", file.display()))
}

/// Plays a match of `ticks` ticks over UDP; what the host and its guest left behind.
fn plays(host_bot: &str, guest_bot: &str, ticks: u32) -> [Ended; 2] {
    let home = tempfile::tempdir().expect("a folder");
    let ticks = format!("--ticks={ticks}");
    let host = Arena::run(home.path(), &[&HOST[..], &[host_bot, &ticks]].concat());
    let address = format!("127.0.0.1:{}", host.port());
    let guest = run(home.path(), &[&["join", &address][..], &GUEST, &[guest_bot]].concat());
    [host.end(), guest]
}

/// Plays a short match in which the host's bot is this command, and checks that the match was played to its end.
fn idles(command: &str) -> Ended {
    let [host, guest] = plays(&format!("--bot=exec:{command}"), "--bot=easy", 120);
    for ended in [&host, &guest] {
        let result = ended.json();
        assert_eq!((&result["outcome"], &result["ticks"]), (&"tick_limit".into(), &120.into()), "{ended:?}");
    }
    assert_eq!(host.json()["state_hash"], guest.json()["state_hash"]);
    assert_eq!((&host.json()["commands"], &guest.json()["bot"]), (&0.into(), &Value::Null));
    assert!(host.json()["bot"]["thinks"].as_u64() >= Some(19), "{host:?}");
    host
}

/// Number in the account of the host's bot.
fn count(ended: &Ended, key: &str) -> u64 {
    ended.json()["bot"][key].as_u64().unwrap_or_else(|| panic!("no {key} in {ended:?}"))
}

#[test]
fn a_python_bot_hosts_and_joins_over_udp_with_equal_hashes() {
    let Some(bot) = python_bot() else { return };
    let ended = plays(&bot, &bot, 600);
    let [host, guest] = ended.each_ref().map(Ended::json);
    assert_eq!((&host["outcome"], &host["state_hash"]), (&"tick_limit".into(), &guest["state_hash"]));
    for (result, ended) in [&host, &guest].into_iter().zip(&ended) {
        assert_eq!(result["bot"]["invalid"], 0, "{ended:?}");
        assert!(result["commands"].as_u64() >= Some(10), "{ended:?}");
    }
}

#[test]
fn a_python_bot_plays_the_same_match_each_time_in_virtual_time() {
    let Some(bot) = python_bot() else { return };
    let home = tempfile::tempdir().expect("a folder");
    let check = ["check", "--virtual", "--json", "--seed=3", "--ticks=1200", "--input-delay=2", &bot];
    let [first, again] = [run(home.path(), &check).json(), run(home.path(), &check).json()];
    assert_eq!((&first["verdict"], &first["log"]), (&"equal".into(), &again["log"]), "{first}");
}

#[test]
fn a_bot_that_never_answers_is_idle_and_its_author_reads_why() {
    let host = idles("exec sleep 600");
    assert_eq!(count(&host, "late"), count(&host, "thinks") - 1, "all but the first think: {host:?}");
    assert!(host.stderr.contains("bot 0: tick 12: no answer within 100 ms; idle"), "{host:?}");
    // The 1st, 2nd, 4th, 8th and so on.
    assert_eq!(host.stderr.matches("no answer within").count(), 5, "{host:?}");
}

#[test]
fn an_answer_that_comes_late_is_dropped() {
    // Each answer is to the question of its tick, and 250 ms late.
    let late = r#"while read -r line; do t=${line#*:}; sleep 0.25; echo "{\"tick\":${t%%,*},\"commands\":[\"Surrender\"]}"; done"#;
    let host = idles(late);
    assert_eq!((count(&host, "late") > 5, count(&host, "invalid")), (true, 0), "{host:?}");
}

#[test]
fn a_bot_that_floods_is_read_within_bounds() {
    let host = idles("exec yes '{'");
    assert!(count(&host, "invalid") + count(&host, "late") >= 18, "{host:?}");
    assert!(host.stderr.contains("bot 0: tick 6: { is not {\"tick\":N,\"commands\":[…]}"), "{host:?}");
    let host = idles("exec tr '\\0' x < /dev/zero");
    assert!(host.stderr.contains("the line is longer than 65536 bytes"), "{} bytes", host.stderr.len());
    let host = idles("exec yes >&2");
    assert!(host.stderr.contains("bot 0| more than 1000 lines: the rest is not shown"));
    assert!(host.stderr.len() < 64 << 10, "{} bytes", host.stderr.len());
}

#[test]
fn a_bot_that_answers_nonsense_reads_why() {
    let answers = |answer: &str| idles(&format!("while read -r line; do echo '{answer}'; done"));
    for (answer, why) in [
        ("banana", "banana is not {\"tick\":N"),
        ("{\"tick\":4000000,\"commands\":[]}", "the answer is of tick 4000000"),
        ("\u{1b}[31m", "\\u{1b}[31m is not"),
    ] {
        let host = answers(answer);
        assert!(count(&host, "invalid") > 10 && host.stderr.contains(why), "{why}: {host:?}");
        assert!(host.json()["bot"]["last_fault"].as_str().is_some_and(|fault| fault.contains(why)));
    }
    let with_tick = |commands: &str| {
        let answer = format!(r#"{{\"tick\":${{t%%,*}},\"commands\":{commands}}}"#);
        idles(&format!("while read -r line; do t=${{line#*:}}; echo \"{answer}\"; done"))
    };
    assert!(with_tick(r#"[{\"Fly\":1}]"#).stderr.contains("{\"Fly\":1} is not a command: unknown variant"));
    let banners = [r#"\"Banner\""#; 9].join(",");
    let host = with_tick(&format!("[{banners}]"));
    assert!(host.stderr.contains("9 commands in an answer, which has at most 8"), "{host:?}");
}

#[test]
fn a_bot_that_dies_reads_why() {
    let host = idles("echo 'I give up' >&2; exit 3");
    assert!(host.stderr.contains("bot 0| I give up"), "{host:?}");
    assert!(host.stderr.contains("the process has ended or closed its stdout (exit status: 3)"), "{host:?}");
    let fault = host.json()["bot"]["last_fault"].to_string();
    assert!(fault.contains("the seat stays idle") && count(&host, "late") >= 18, "{host:?}");
}

#[test]
fn a_refused_command_is_named_with_the_reason() {
    let train = r#"[{\"Train\":\"archer\"},{\"Train\":\"archer\"},{\"Train\":\"archer\"},{\"Train\":\"archer\"},{\"Train\":\"archer\"},{\"Train\":\"archer\"}]"#;
    let bot = format!(
        "--bot=exec:while read -r line; do t=${{line#*:}}; echo \"{{\\\"tick\\\":${{t%%,*}},\\\"commands\\\":{train}}}\"; done"
    );
    let [host, _] = plays(&bot, "--bot=none", 60);
    assert!(
        host.stderr.contains("{\"Train\":\"Archer\"} is refused: it costs 3 supply, and there are"),
        "{host:?}"
    );
    assert!(count(&host, "refused") >= 8, "{host:?}");
}

#[cfg(target_os = "linux")]
#[test]
fn the_process_ends_with_its_match_and_with_an_interrupt() {
    let home = tempfile::tempdir().expect("a folder");
    let mark = home.path().join("ids");
    // A shell with a child of its own, neither of which reads.
    let command = format!("--bot=exec:echo $$ >'{0}'; sleep 600 & echo $! >>'{0}'; wait", mark.display());
    let are_gone = || {
        let ids = std::fs::read_to_string(&mark).expect("the bot has run");
        assert_eq!(ids.lines().count(), 2, "{ids}");
        // A zombie of somebody else's has ended, too.
        let lives = |id: &str| {
            let status = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            !status.is_empty() && !status.contains(") Z ")
        };
        !ids.lines().any(lives)
    };
    let ended = run(home.path(), &["play", "--headless", "--json", "--ticks=60", "--record=off", &command]);
    assert!(ended.code == Some(0) && are_gone(), "{ended:?}");
    std::fs::remove_file(&mark).expect("there");
    let host = Arena::run(home.path(), &[&HOST[..], &[&command]].concat());
    let address = format!("127.0.0.1:{}", host.port());
    let mut guest = Arena::run(home.path(), &[&["join", &address][..], &GUEST, &["--bot=easy"]].concat());
    guest.wait_for_line("all players are here");
    // It writes once its shell runs, which may be after all are there.
    let has_written = || std::fs::read_to_string(&mark).is_ok_and(|ids| ids.lines().count() == 2);
    let until = std::time::Instant::now() + std::time::Duration::from_secs(20);
    while !has_written() && std::time::Instant::now() < until {
        std::thread::yield_now();
    }
    host.signal("TERM");
    let ended = host.end();
    assert!(ended.code == Some(0) && are_gone(), "{ended:?}");
}

#[test]
fn a_bot_that_is_none_is_refused() {
    let home = tempfile::tempdir().expect("a folder");
    for (bot, why) in [
        ("--bot=exec:", "needs a command"),
        ("--bot=exec: ", "needs a command"),
        ("--bot=brutal", "give none, easy, 1, 2, normal, 4, hard, probe or exec:COMMAND"),
    ] {
        fails(&run(home.path(), &["host", "--headless", bot]), why);
    }
}
