//! What an adversary in a seat may do for a while: the moves that are known to have moved something once, and any others.

use core::time::Duration;
use rand_chacha::ChaCha8Rng;

use super::blows::Blow;
use super::insider::{NO_PRESSURE, Pressure};
use super::plan::Goal;
use lab::simnet::below;
use net::message::Seats;
use sim::PlayerId;

/// The seats that a part of a move is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whom {
    Nobody,
    /// The one whose books are to be spoilt.
    Victim,
    /// Who keeps books on the victim.
    Others,
    All,
}

/// The instant at which the message of a move leaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Trigger {
    AtOnce,
    /// Somebody has waited for the victim's input for so long.
    WaitsForVictim(Duration),
    /// Somebody waits for anything.
    Waits,
}

/// How the pressure changes with the first message of a move.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Then {
    /// There is none any more.
    Released,
    /// Nothing leaves any more.
    Silent,
}

/// What it may do for a while.
#[derive(Clone, Copy, Debug)]
pub(super) struct Move {
    pub(super) withheld: Whom,
    /// After so long nobody gets inputs any more.
    pub(super) widened: Option<Duration>,
    pub(super) unacknowledged: Whom,
    pub(super) silent: Whom,
    /// Everything else that changes.
    pub(super) pressure: Pressure,
    pub(super) trigger: Trigger,
    /// The message, to whom, and how often it is repeated.
    pub(super) blow: Option<(Blow, Whom, Option<Duration>)>,
    /// The pressure after the first message, if it is another one.
    pub(super) then: Option<Then>,
    pub(super) lasts: Duration,
}

const CALM: Move = Move {
    withheld: Whom::Nobody,
    widened: None,
    unacknowledged: Whom::Nobody,
    silent: Whom::Nobody,
    pressure: NO_PRESSURE,
    trigger: Trigger::AtOnce,
    blow: None,
    then: None,
    lasts: Duration::from_secs(1),
};

/// Nothing is signed, or said to have run.
const SECRETIVE: Pressure = Pressure { is_unsigned: true, is_frozen: true, ..NO_PRESSURE };

const fn ms(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

/// As many messages of a kind to everybody as every link takes.
const fn flood(blow: Blow) -> Move {
    Move { blow: Some((blow, Whom::All, Some(ms(4)))), lasts: ms(2_500), ..CALM }
}

/// The moves that are known to have moved something once.
pub(super) fn opening(goal: Goal) -> Vec<Move> {
    let calm = NO_PRESSURE;
    match goal {
        Goal::Frame => framing(),
        Goal::Discord => [false, true]
            .into_iter()
            .flat_map(|is_odd| {
                [Whom::All, Whom::Victim].map(|whom| Move {
                    blow: Some((Blow::List { is_odd }, whom, None)),
                    // What its session answers would be true.
                    then: Some(Then::Silent),
                    lasts: ms(4_000),
                    ..CALM
                })
            })
            .collect(),
        Goal::Stall => stalling(),
        Goal::Delay => vec![
            pressed(Pressure { late_pongs: ms(650), margin: Some(-500), ..calm }, 12_000),
            pressed(Pressure { late_pongs: ms(300), margin: Some(-3_000), ..calm }, 12_000),
            pressed(Pressure { margin: Some(-2_000), ..calm }, 6_000),
            pressed(Pressure { late_pongs: ms(400), late_inputs: ms(200), ..calm }, 8_000),
        ],
        Goal::Clock => [10_000_000, 1_000_000, 300_000, -10_000_000, -1_000_000]
            .map(|clock_us| pressed(Pressure { clock_us, ..calm }, 12_000))
            .to_vec(),
        Goal::Flood => vec![
            flood(Blow::Suspicions(Seats::default(), 30)),
            flood(Blow::Pings(40)),
            flood(Blow::PathChallenges(40)),
            flood(Blow::Chats(8)),
            flood(Blow::Stays(8)),
            flood(Blow::Readies(8)),
            flood(Blow::Choices(8)),
        ],
        Goal::Crowd => vec![
            flood(Blow::Choices(4)),
            flood(Blow::Choices(8)),
            flood(Blow::Choices(7)),
            flood(Blow::Chats(8)),
        ],
        Goal::Hold | Goal::Exchange | Goal::Guess => vec![],
    }
}

/// Moves that let others wait for a victim.
fn framing() -> Vec<Move> {
    vec![
        Move { withheld: Whom::Victim, lasts: ms(4_500), ..CALM },
        Move { silent: Whom::Victim, lasts: ms(2_800), ..CALM },
        // Nobody can pass on what the victim lacks.
        Move { withheld: Whom::Victim, pressure: SECRETIVE, lasts: ms(2_800), ..CALM },
    ]
}

/// Moves that let everybody wait, and cost little.
fn stalling() -> Vec<Move> {
    let calm = NO_PRESSURE;
    vec![
        pressed(Pressure { drip: Some(ms(970)), ..calm }, 12_000),
        pressed(Pressure { drip: Some(ms(400)), ..calm }, 8_000),
        Move { withheld: Whom::All, lasts: ms(2_100), ..CALM },
        Move { withheld: Whom::All, lasts: ms(950), ..CALM },
        Move { withheld: Whom::Victim, lasts: ms(2_100), ..CALM },
        pressed(Pressure { is_frozen: true, ..calm }, 2_800),
        pressed(Pressure { late_inputs: ms(900), ..calm }, 8_000),
    ]
}

fn pressed(pressure: Pressure, lasts: u64) -> Move {
    Move { pressure, lasts: ms(lasts), ..CALM }
}

/// Any move.
pub(super) fn drawn(rng: &mut ChaCha8Rng, victim: PlayerId) -> Move {
    const WHOM: [Whom; 6] = [Whom::Nobody, Whom::Nobody, Whom::Nobody, Whom::Victim, Whom::Others, Whom::All];
    let whom = |rng: &mut ChaCha8Rng| WHOM[below(rng, 6) as usize];
    let some = |rng: &mut ChaCha8Rng, most: u64| (below(rng, 4) == 0).then(|| ms(20 + below(rng, most)));
    let pressure = Pressure {
        drip: some(rng, 1_500),
        late_pongs: some(rng, 800).unwrap_or_default(),
        late_inputs: some(rng, 900).unwrap_or_default(),
        margin: (below(rng, 4) == 0).then(|| -(below(rng, 8_000) as i16)),
        clock_us: if below(rng, 6) == 0 { below(rng, 8_000_000) as i64 - 4_000_000 } else { 0 },
        is_frozen: below(rng, 8) == 0,
        is_unsigned: below(rng, 4) == 0,
        ..NO_PRESSURE
    };
    let trigger = {
        let least = ms(below(rng, 1_500));
        [Trigger::AtOnce, Trigger::WaitsForVictim(least), Trigger::Waits][below(rng, 3) as usize]
    };
    let blow = (below(rng, 4) > 0).then(|| {
        let at = [Whom::Victim, Whom::Others, Whom::All][below(rng, 3) as usize];
        (Blow::drawn(rng, victim), at, some(rng, 400))
    });
    Move {
        withheld: whom(rng),
        widened: some(rng, 900),
        unacknowledged: whom(rng),
        silent: if below(rng, 3) == 0 { whom(rng) } else { Whom::Nobody },
        pressure,
        trigger,
        blow,
        then: [None, Some(Then::Released), Some(Then::Silent)][below(rng, 3) as usize],
        lasts: ms(300 + below(rng, 4_500)),
    }
}
