//! The ladder, climbed by a bot in virtual time, with its file read anew before each match.

use bot::BotLevel;
use game::data::{Opponent, opponents};
use game::ladder::{KeptProgress, LADDER_FILE, Progress};
use game::{ControllerChoice, MatchOutcome};
use lab::{PeerEnd, VirtualMatch, VirtualSetup};
use net::InputDelay;
use sim::{KindId, PlayerId, TickRate};

/// Matches against one opponent after which the climber has had bad luck beyond belief: it wins every sixth or more.
const TRIES_MAX: u64 = 60;
/// Ticks per second: the lowest rate, for speed.
const HZ: u32 = 30;

/// Plays a match of a hard bot against an opponent, each in a session of its own. Returns its length in milliseconds if
/// the bot wins.
fn won_ms(opponent: &Opponent, seed: u64) -> Option<u32> {
    let rivals = opponent.rivals.iter().map(|rival| ControllerChoice::Styled(rival.level, rival.style));
    let setup = VirtualSetup {
        seed,
        peers: 1 + opponent.rivals.len(),
        ticks: 8 * 60 * HZ,
        tick_rate: TickRate::new(HZ).expect("an allowed rate"),
        rules: opponent.rules.clone(),
        map: opponent.map.clone(),
        controllers: [ControllerChoice::Bot(BotLevel::Hard)].into_iter().chain(rivals).collect(),
        seats: Some(opponent.seats(KindId(0))),
        input_delay: InputDelay::Ticks(3),
        is_fair: false,
        numbered_every: None,
        inject: None,
        trace: None,
    };
    let result = VirtualMatch::steady(setup, Default::default()).play();
    assert!(result.violations.is_empty(), "{}: {:?}", opponent.name, result.violations);
    let PeerEnd::Played(summary) = &result.ends[0] else { panic!("{:?}", result.ends[0]) };
    assert!(
        matches!(summary.outcome, MatchOutcome::Rules(_)),
        "{}: {}",
        opponent.name,
        summary.outcome.as_str()
    );
    let teams: Vec<u8> = summary.roster.iter().map(|seat| seat.team).collect();
    assert!(teams.iter().copied().eq(opponent.seats(KindId(0)).iter().map(|seat| seat.team)), "{teams:?}");
    let length_ms = u64::from(summary.ticks) * 1000 / u64::from(HZ);
    summary.winners.contains(&PlayerId(0)).then_some(length_ms as u32)
}

#[test]
fn a_bot_climbs_from_the_first_opponent_to_the_last() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(LADDER_FILE);
    let (mut row, mut longest) = (0, 0);
    for (place, opponent) in opponents().iter().enumerate() {
        let mut tries = (1..=TRIES_MAX).map(|seed| (seed, won_ms(opponent, seed)));
        let is_won = tries.any(|(seed, won_ms)| {
            let (mut kept, said) = KeptProgress::open(path.clone());
            assert_eq!((kept.progress().next(), said), (Some(place), None));
            kept.count(opponent, won_ms).expect("written");
            row = if won_ms.is_some() { row + 1 } else { 0 };
            longest = longest.max(row);
            assert_eq!(kept.progress().streak(), (row, longest), "{} with seed {seed}", opponent.name);
            println!("{}, seed {seed}: {won_ms:?}", opponent.name);
            won_ms.is_some()
        });
        assert!(is_won, "{} is never beaten", opponent.name);
    }
    let (kept, said) = KeptProgress::open(path.clone());
    assert_eq!((kept.progress().next(), said), (None, None));
    assert!(opponents().iter().all(|opponent| kept.progress().best_ms(opponent).is_some()));
    // What is broken is set aside with all it holds, and the climb begins anew.
    let mut text = std::fs::read_to_string(&path).expect("a file");
    text.push_str("[[");
    std::fs::write(&path, &text).expect("written");
    let (kept, said) = KeptProgress::open(path);
    assert!(said.is_some_and(|said| said.contains("ladder.toml.broken")));
    assert_eq!(kept.progress(), &Progress::default());
    let aside = std::fs::read_to_string(folder.path().join("ladder.toml.broken")).expect("set aside");
    assert_eq!(aside, text);
}
