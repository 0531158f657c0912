//! The battle by which the simulation is measured, and `arena bench` as other programs use it.

use crate::arena::run;
use lab::{Battlefield, ORDER_TICKS, Plan};
use sim::{COMMANDS_PER_TICK_MAX, KindId, PlayerId, SELECTION_MAX, Tick, UNITS_MAX, UnitId};

#[test]
fn the_seed_determines_the_battle() {
    let after = |seed| {
        let mut battle = Battlefield::new(300, seed);
        battle.run(400);
        // The seed itself is in the state, so hashes would differ anyway.
        (battle.world().state().units.clone(), battle.fallen())
    };
    let first = after(1);
    assert!(first == after(1), "the same seed, another battle");
    assert!(first.0 != after(2).0, "another seed, the same battle");
}

#[test]
fn a_battle_keeps_its_size() {
    let mut battle = Battlefield::new(300, 7);
    for _ in 0..600 {
        battle.prepare();
        let units = battle.world().state().units.len();
        // One or both heroes may be away.
        assert!((298..=300).contains(&units), "{units} at tick {}", battle.world().state().tick());
        battle.step();
    }
    assert!(battle.fallen() > 100, "only {} fell", battle.fallen());
    let state = battle.world().state();
    let fights = state.units.target.iter().filter(|&&target| target != UnitId::NONE).count();
    assert!(fights > 200, "only {fights} of 300 fight");
}

#[test]
fn the_largest_battle_is_fair_and_its_orders_fit() {
    let plan = Plan::new(UNITS_MAX, 7);
    assert_eq!(plan.soldiers.len(), UNITS_MAX - 2);
    let of = |player| plan.soldiers.iter().filter(|soldier| soldier.player == PlayerId(player)).count();
    assert!(of(0).abs_diff(of(1)) <= 60, "{} against {}", of(0), of(1));
    let archers = plan.soldiers.iter().filter(|soldier| soldier.kind == KindId(1)).count();
    assert_eq!(archers, (UNITS_MAX - 2) / 3);
    let half = plan.map.size.0 / 2000;
    let inside = |at: sim::math::Vec2| at.x.abs().max(at.y.abs()) < half;
    assert!(plan.soldiers.iter().all(|soldier| inside(soldier.at)));
    // Every soldier in one platoon, in order.
    let mut next = 0;
    for platoon in &plan.platoons {
        assert_eq!(platoon.soldiers.start, next);
        assert!((1..=SELECTION_MAX).contains(&platoon.soldiers.len()));
        assert!(
            plan.soldiers[platoon.soldiers.clone()].iter().all(|soldier| soldier.player == platoon.player)
        );
        next = platoon.soldiers.end;
    }
    assert_eq!(next, plan.soldiers.len());
    let mut ordered = vec![0; plan.platoons.len()];
    for tick in (500..500 + ORDER_TICKS).map(Tick) {
        let mut commands = [0; 2];
        for sortie in plan.sorties(tick) {
            ordered[sortie.platoon] += 1;
            commands[plan.platoons[sortie.platoon].player.index()] += 1;
            let (to, from) = (sortie.target.at(), plan.platoons[sortie.platoon].middle);
            assert!(inside(to) && (to.x - from.x).abs() <= 9 && (to.y - from.y).abs() <= 9);
        }
        assert!(commands.iter().all(|&count| count <= COMMANDS_PER_TICK_MAX), "{commands:?}");
    }
    assert!(ordered.iter().all(|&times| times == 1));
}

#[test]
fn the_result_has_the_keys_of_the_contract() {
    let home = tempfile::tempdir().expect("a folder");
    let ended = run(home.path(), &["bench", "--brief", "--units=200", "--units=10", "--json"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let result = ended.json();
    let rows = result["simulation"].as_array().expect("rows");
    let units: Vec<_> = rows.iter().map(|row| row["units"].as_u64()).collect();
    assert_eq!(units, [Some(200), Some(10)]);
    for row in rows {
        assert!(row["ticks"].as_u64().is_some_and(|ticks| ticks >= 8), "{row}");
        for figure in ["ns_per_unit_tick", "hash_us", "snapshot_us"] {
            assert!(row[figure].as_f64().is_some_and(|figure| figure > 0.0), "{figure} in {row}");
        }
    }
    assert!(result["replay_x_real_time"].as_f64().is_some_and(|speed| speed > 0.0), "{result}");
}

#[test]
fn wrong_use_is_an_error_in_one_line() {
    let home = tempfile::tempdir().expect("a folder");
    for wrong in [&["--units=9"][..], &["--units=50001"], &["--units"], &["--fast"], &["200"]] {
        let ended = run(home.path(), &[&["bench"], wrong].concat());
        assert_eq!(
            (ended.code, ended.stderr.trim_end().lines().count()),
            (Some(2), 1),
            "{wrong:?}: {ended:?}"
        );
        assert_eq!(ended.stdout, "");
    }
}

/// The comparisons build the arena as the arena builds itself.
#[test]
fn the_comparisons_measure_the_same_build() {
    let release = |text: &str| {
        let manifest: toml::Table = text.parse().expect("a manifest");
        manifest["profile"]["release"].as_table().expect("a profile").clone()
    };
    let own = release(include_str!("../../Cargo.toml"));
    let comparisons = [
        release(include_str!("../../benches/simulation/Cargo.toml")),
        release(include_str!("../../benches/versus/Cargo.toml")),
    ];
    for there in &comparisons {
        for package in [
            "arena-sim",
            "arena-net",
            "arena-transport",
            "arena-replay",
            "arena-bot",
            "arena-game",
            "arena-lab",
            "fixed",
        ] {
            // What is said of the package, else of all.
            let said = |profile: &toml::Table, key: &str| {
                let package =
                    profile.get("package").and_then(|packages| packages.get(package)?.get(key).cloned());
                package.or_else(|| profile.get(key).cloned())
            };
            let keys = [
                "opt-level",
                "overflow-checks",
                "debug-assertions",
                "lto",
                "codegen-units",
                "panic",
                "debug",
            ];
            for key in keys {
                assert_eq!(said(&own, key), said(there, key), "{key} of {package}");
            }
        }
    }
}
