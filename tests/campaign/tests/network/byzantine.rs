//! Matches in which one seat keeps to no rule, on the virtual network: the others must not suffer for it.

use std::collections::BTreeSet;
use std::time::Duration;

use campaign::{
    Act, Behaviour, ByzantinePlan, CampaignOptions, Sabotage, Scenario, VirtualResult, campaign,
    virtual_match,
};
use game::{ControllerChoice, data};
use lab::{Fault, LinkFaults, Oracle, Shard, VirtualSetup};
use net::{Architecture, Time};

fn options(architecture: Architecture, matches: u32, seed: u64) -> CampaignOptions {
    CampaignOptions { architecture, has_byzantine: true, ..crate::campaigns::options(matches, seed, 600) }
}

/// Seeds that hold, as first seed and number.
const HELD: [(u64, u32); 2] = [(1, 4), (6, 35)];

#[test]
fn whatever_one_peer_does_the_others_play_on() {
    let mut behaviours = BTreeSet::new();
    for (seed, matches) in HELD {
        let report = campaign(&options(Architecture::P2p, matches, seed), |_| {});
        assert_eq!(report.violations, []);
        assert_eq!(report.byzantine.all.lost, 0);
        assert!(report.byzantine.all.stall <= Duration::from_secs(20));
        behaviours.extend(report.byzantine.behaviours.into_keys());
    }
    assert!(behaviours.len() > 25, "{behaviours:?}");
}

#[test]
fn whatever_one_peer_of_a_fair_match_does_the_others_play_on() {
    let options = CampaignOptions { is_fair: true, ..options(Architecture::P2p, 60, 1) };
    let report = campaign(&options, |_| {});
    assert_eq!(report.violations, []);
    assert_eq!(report.byzantine.all.lost, 0);
    let behaviours: BTreeSet<Behaviour> = report.byzantine.behaviours.into_keys().collect();
    assert!(behaviours.len() > 25 && !behaviours.contains(&Behaviour::LookAhead), "{behaviours:?}");
}

#[test]
fn who_looks_ahead_sees_something_only_where_nobody_commits() {
    for is_fair in [false, true] {
        let options = CampaignOptions { is_fair, peers: Some(3), ..options(Architecture::P2p, 1, 1) };
        let plan = ByzantinePlan::only(Behaviour::LookAhead, 1, Time(2_000_000));
        let plan = if is_fair { plan.in_fair() } else { plan };
        let link = LinkFaults { delay: Duration::from_millis(20), ..LinkFaults::default() };
        let scenario = Scenario { byzantine: Some(plan), ..Scenario::steady(3, link) };
        let result = virtual_match(options.setup(1), scenario).play();
        assert_eq!(result.violations, []);
        let took_effect = result.found.expect("a byzantine seat").behaviours;
        assert_eq!(took_effect, if is_fair { vec![] } else { vec![Behaviour::LookAhead] });
    }
}

/// Before its world goes astray the seat's false chains make one of the others search in vain.
#[test]
fn a_search_does_not_count_what_was_shown_in_an_earlier_one() {
    no_violations(&[660, 906]);
}

/// A peer that sees no difference answers with its list all the same. Counted, it made a search out of one forged list,
/// in which that peer took no part.
#[test]
fn a_forged_list_makes_no_search_of_those_who_see_no_difference() {
    no_violations(&[96, 158, 191, 225, 263]);
}

/// A pause while two of three are not on speaking terms: nobody holds anything up, and nobody is suspected for it.
#[test]
fn a_pause_makes_nobody_who_keeps_an_agreement_from_settling_suspect() {
    no_violations(&[781]);
}

/// A peer is heard now and then, but does not send the input that all wait for. There is one countdown, not one each time
/// it is heard, and the time allowed for an agreement continues after it instead of starting again.
#[test]
fn countdowns_do_not_prolong_a_stall() {
    no_violations(&[329, 348, 959]);
}

/// One of four has found out long before the others that a peer deviates, and they tell it what they hold of that peer.
#[test]
fn a_claim_leaves_time_to_relay_what_it_claims() {
    no_violations(&[2262]);
}

/// A peer that never says it has run the last tick: the others wait for it no longer than for its inputs.
#[test]
fn a_peer_that_does_not_finish_keeps_the_others_less_than_ten_seconds() {
    no_violations(&[6822]);
}

/// A host that names a start far ahead, or none, and then does nothing: its guests wait as long as they said, and go.
#[test]
fn a_host_that_withholds_the_match_keeps_its_guests_no_longer_than_they_wait() {
    no_violations(&[20_180, 20_312]);
}

/// One peer crashes, and only one of the other two still hears the byzantine one.
#[test]
fn who_hears_one_peer_alone_follows_it_on_who_crashed() {
    no_violations(&[593]);
}

/// The others have given up a peer whose states differ: they answer its lists of hashes, and do not search with it.
#[test]
fn an_answer_begins_no_search() {
    no_violations(&[4945, 6257, 6952]);
}

/// The seat names one honest peer after the other as the cause of its stall, and is heard again when it is a suspect.
#[test]
fn a_seat_gains_little_time_by_naming_others() {
    no_violations(&[390]);
}

/// One peer was told a farewell, the other waits for the inputs of the author until its budget is spent.
#[test]
fn a_peer_with_a_farewell_waits_for_the_evidence_of_the_others() {
    no_violations(&[511]);
}

fn no_violations(seeds: &[u64]) {
    for &seed in seeds {
        let options = CampaignOptions { ticks: 900, ..options(Architecture::P2p, 1, seed) };
        assert_eq!(campaign(&options, |_| {}).violations, []);
    }
}

#[test]
fn a_seed_repeats_what_happens_and_shards_together_play_all() {
    let options = CampaignOptions { ticks: 300, ..options(Architecture::P2p, 5, 6) };
    let whole = campaign(&options, |_| {});
    let again = campaign(&CampaignOptions { jobs: 1, ..options.clone() }, |_| {});
    assert_eq!((whole.log, &whole.byzantine), (again.log, &again.byzantine));
    let shards = [0, 1].map(|index| {
        let shard = Shard { index, count: 2 };
        campaign(&CampaignOptions { shard, ..options.clone() }, |_| {})
    });
    assert_eq!(shards.iter().map(|shard| shard.matches).collect::<Vec<_>>(), [3, 2]);
    assert_eq!(shards.iter().map(|shard| shard.ticks_compared).sum::<u64>(), whole.ticks_compared);
}

#[test]
fn whatever_one_client_does_the_others_and_the_server_play_to_the_end() {
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        let report = campaign(&options(architecture, 20, 1), |_| {});
        assert_eq!(report.violations, [], "{architecture}");
        assert_eq!(report.byzantine.all.lost, 0, "{architecture}");
    }
}

/// Three probes, of which the last misbehaves a little, and what is planted among the others.
fn planted(sabotage: Option<Sabotage>, acts: impl IntoIterator<Item = (u64, Act)>) -> VirtualResult {
    let options = CampaignOptions { peers: Some(3), ticks: 1_200, ..options(Architecture::P2p, 1, 1) };
    let plan = ByzantinePlan::only(Behaviour::ForeignOrders, 2, Time(3_000_000));
    let controllers = std::iter::repeat_n(ControllerChoice::Probe, 3).collect();
    let rules = data::rules("endless").expect("built in");
    let setup = VirtualSetup { controllers, rules, ..options.setup(1) };
    let link = LinkFaults { delay: Duration::from_millis(20), ..LinkFaults::default() };
    let mut scenario = Scenario { byzantine: Some(plan), sabotage, ..Scenario::steady(3, link) };
    scenario.acts.extend(acts.into_iter().map(|(at_ms, act)| (Time(at_ms * 1_000), act)));
    virtual_match(setup, scenario).play()
}

fn sees(result: &VirtualResult, oracle: Oracle) -> bool {
    result.violations.iter().any(|violation| violation.oracle == oracle)
}

#[test]
fn what_the_others_suffer_is_seen() {
    let calm = planted(None, []);
    assert_eq!(calm.violations, []);
    let figures = calm.found.expect("a byzantine seat");
    assert_eq!((figures.lost, figures.behaviours), (0, vec![Behaviour::ForeignOrders]));
    assert!(figures.has_begun && !figures.has_departed);

    // An honest peer is lost: it sleeps for longer than the timeout.
    let lost = planted(None, [(8_000, Act::Pause(1, Duration::from_secs(8), Fault::Sleep))]);
    assert!(sees(&lost, Oracle::Outcome) && lost.found.is_some_and(|figures| figures.lost > 0));

    // All stand for longer than they may.
    let sleep = Act::Pause(0, Duration::from_secs(22), Fault::Sleep);
    let others = [1, 2].map(|peer| (8_000, Act::Pause(peer, Duration::from_secs(22), Fault::Sleep)));
    let stalled = planted(None, [(8_000, sleep)].into_iter().chain(others));
    assert!(sees(&stalled, Oracle::Progress), "{:?}", stalled.violations);

    assert!(sees(&planted(Some(Sabotage::Panic), []), Oracle::Panic));
    assert!(sees(&planted(Some(Sabotage::ChangedInput), []), Oracle::Inputs));
    // An honest peer never says that it has built its world.
    assert!(sees(&planted(Some(Sabotage::WithheldStart), []), Oracle::Outcome));
}
