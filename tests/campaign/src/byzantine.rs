//! A seat that keeps to no rule: how it misbehaves in a match, and when, drawn from a seed. It has passed the
//! handshake like everybody else, so it knows its connections and its envelopes are in order.

mod attacker;
mod figures;
mod forge;
mod pace;

use core::fmt;
use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

pub use self::figures::{BehaviourFigures, ByzantineFigures, ByzantineReport};

pub(crate) use self::attacker::{Attacker, Deed};
pub(crate) use self::pace::Pace;
use game::Inject;
use lab::named;
use lab::simnet::{LinkFaults, below, up_to};
use net::{Architecture, Time};
use sim::{Tick, TickRate};

/// What such a seat does before this may keep a match from beginning.
const SETUP: Duration = Duration::from_millis(2_500);
/// One in this many matches of four peers loses an honest peer, too.
const CRASH_ONE_IN: u64 = 4;
/// One in this many seats misbehaves in several ways at once.
const BUSY_ONE_IN: u64 = 8;

named! {
    /// One way to misbehave.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
    #[repr(u8)]
    pub enum Behaviour {
        /// Datagrams go out without inputs; everything else is answered.
        WithholdInputs = "withhold_inputs",
        /// No datagram of inputs goes out; pings are answered.
        WithholdDatagrams = "withhold_datagrams",
        /// Nothing that came is acknowledged any more.
        WithholdAcks = "withhold_acks",
        /// The steps before the match and after a pause are not acknowledged.
        WithholdSteps = "withhold_steps",
        /// Nothing goes out at all.
        Silence = "silence",
        /// Reports a hash chain that is not its own.
        FalseChain = "false_chain",
        /// So it is now and then, and the true one follows.
        ChainTakenBack = "chain_taken_back",
        /// Inputs are told to come much too late.
        FalseSlack = "false_slack",
        /// What is said to be here, and to have run, is random.
        FalseWanted = "false_wanted",
        /// Times, clocks, delays and losses that are told are random.
        FalsePong = "false_pong",
        /// Others are said not to be heard.
        FalseSuspicion = "false_suspicion",
        /// The number of inputs held of one who is gone is too large.
        FalseHeld = "false_held",
        /// The state before tick 0 is another one, or some are said not to be heard.
        FalseSeated = "false_seated",
        /// As the host: the seating is damaged, or everybody hears another start.
        FalseStart = "false_start",
        /// Inputs are others than the ones that this seat's own world runs.
        WildInputs = "wild_inputs",
        /// One peer hears another input than the others.
        Equivocation = "equivocation",
        /// Inputs are told to be of other ticks.
        ShiftedTicks = "shifted_ticks",
        /// The world here goes astray.
        Deviation = "deviation",
        /// Orders name units of others, or none that there are.
        ForeignOrders = "foreign_orders",
        /// Inputs of others are passed on that they never gave.
        ForgedRelayed = "forged_relayed",
        /// Hashes and states are shown that nobody has, and claimed to differ.
        ForgedHashes = "forged_hashes",
        /// Farewells of every kind but the next two.
        FalseBye = "false_bye",
        /// Farewells by its will, with odd ticks, and no leaving.
        FalseLeft = "false_left",
        /// Farewells after the last tick, with odd ticks and chains.
        FalseFinished = "false_finished",
        /// Asks for the count-down after a stall as often as it can.
        CountDowns = "count_downs",
        /// Messages of every kind with random contents, whether there can be such or not.
        RandomMessages = "random_messages",
        /// Random bytes under every packet id.
        RandomBodies = "random_bodies",
        /// Its own messages again, damaged, as new ones.
        DamagedCopies = "damaged_copies",
        /// Its own datagrams again.
        ReplayOwn = "replay_own",
        /// Datagrams of others again that it has overheard, from its own address.
        ReplayOthers = "replay_others",
        /// Every datagram many times.
        Duplicates = "duplicates",
        /// Datagrams leave in another order.
        Reordering = "reordering",
        /// Counters of datagrams jump.
        CounterJumps = "counter_jumps",
        /// Datagrams come from one new address after the other.
        AddressChanges = "address_changes",
        /// Pauses as often as it can, and ends them.
        Pauses = "pauses",
        /// Leaves.
        Leave = "leave",
        /// Is gone without a word.
        Crash = "crash",
        /// Chooses its orders when it knows what others give for the same tick.
        LookAhead = "look_ahead",
        /// In a fair match: commits to nothing any more.
        WithholdCommitments = "withhold_commitments",
    }
}

impl Behaviour {
    /// Whether a client of a server can do it: it has no host's part, and no peers.
    const fn is_for_clients(self) -> bool {
        !matches!(
            self,
            Self::FalseChain
                | Self::ChainTakenBack
                | Self::FalseSlack
                | Self::FalseStart
                | Self::Equivocation
                | Self::FalseHeld
                | Self::LookAhead
                | Self::WithholdCommitments
        )
    }

    /// Whether it is done once.
    const fn is_final(self) -> bool {
        matches!(self, Self::Leave | Self::Crash)
    }

    /// Whether only seeds of fair matches draw it.
    const fn is_of_fair(self) -> bool {
        matches!(self, Self::LookAhead | Self::WithholdCommitments)
    }

    /// Whether it comes before tick 0.
    const fn is_of_setup(self) -> bool {
        matches!(self, Self::FalseSeated | Self::FalseStart)
    }

    /// Whether by it peers hear, or claim to have heard, different inputs of one tick. Without signatures nobody can
    /// then tell who lies, and the match must merely end for all.
    const fn splits(self) -> bool {
        matches!(self, Self::Equivocation | Self::ShiftedTicks | Self::WildInputs)
    }
}

/// One behaviour for a while.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spell {
    /// Which.
    pub behaviour: Behaviour,
    /// From then on.
    pub from: Time,
    /// To then.
    pub until: Time,
    /// Between two messages or deeds of it, where it is made of those.
    pub every: Duration,
    /// Toward one of the others only, counted in the order in which they were first written to.
    pub at: Option<u8>,
}

/// How one seat misbehaves in one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByzantinePlan {
    /// Which seat.
    pub seat: usize,
    /// What every link does to datagrams.
    pub link: LinkFaults,
    /// What it does.
    pub spells: Vec<Spell>,
    /// An honest peer that crashes, and when.
    pub crash: Option<(usize, Time)>,
    is_served: bool,
    is_fair: bool,
}

impl ByzantinePlan {
    /// What the seed brings to a match of `length`, of which inputs are committed to before they are revealed if it
    /// `is_fair`.
    #[must_use]
    pub fn from_seed(
        seed: u64,
        peers: usize,
        length: Duration,
        architecture: Architecture,
        is_fair: bool,
    ) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(97);
        let is_served = architecture != Architecture::P2p;
        let seat = below(&mut rng, peers as u64) as usize;
        let link = draw_link(&mut rng);
        let count = if below(&mut rng, BUSY_ONE_IN) == 0 { 7 } else { 1 + below(&mut rng, 3) };
        let kinds = Behaviour::ALL.into_iter().filter(|kind| is_fair || !kind.is_of_fair());
        let kinds: Vec<Behaviour> = kinds.collect();
        let spells = (0..count).map(|_| draw_spell(&mut rng, length, seat, is_served, &kinds)).collect();
        let crashes = peers == 4 && !is_served && below(&mut rng, CRASH_ONE_IN) == 0;
        let other = (seat + 1 + below(&mut rng, peers as u64 - 1) as usize) % peers;
        let crash = crashes.then_some((other, Time(0).plus(up_to(&mut rng, length))));
        Self { seat, link, spells, crash, is_served, is_fair }
    }

    /// One behaviour from `from` to the end.
    #[must_use]
    pub fn only(behaviour: Behaviour, seat: usize, from: Time) -> Self {
        let every = Duration::from_millis(20);
        let spell = Spell { behaviour, from, until: Time(u64::MAX), every, at: None };
        let link = LinkFaults { delay: Duration::from_millis(20), ..LinkFaults::default() };
        Self { seat, link, spells: vec![spell], crash: None, is_served: false, is_fair: false }
    }

    /// The same in a fair match.
    #[must_use]
    pub fn in_fair(self) -> Self {
        Self { is_fair: true, ..self }
    }

    /// Whether honest peers may end differently.
    pub(super) fn splits(&self) -> bool {
        // In a fair match who reveals another input than it has committed to is found out by that alone.
        let splits = |spell: &Spell| !self.is_fair && spell.behaviour.splits() || self.is_false_host(spell);
        !self.is_served && self.spells.iter().any(splits)
    }

    /// As the host it decides who plays what.
    fn is_false_host(&self, spell: &Spell) -> bool {
        self.seat == 0 && spell.behaviour == Behaviour::FalseStart
    }

    /// Whether it does nothing but tell different inputs to different peers, and sign both.
    pub(super) fn only_equivocates(&self) -> bool {
        let only = |spell: &Spell| spell.behaviour == Behaviour::Equivocation;
        !self.is_fair && self.crash.is_none() && self.spells.iter().all(only)
    }

    /// Whether it does something before the match has surely begun.
    pub(super) fn disturbs_setup(&self) -> bool {
        let crash = self.crash.map(|(_, at)| at);
        let spells = self.spells.iter().map(|spell| spell.from);
        spells.chain(crash).any(|from| from < Time(0).plus(SETUP))
    }

    /// The difference that its world has from some tick on.
    pub(super) fn deviation(&self, rate: TickRate) -> Option<Inject> {
        let spell = self.spells.iter().find(|spell| spell.behaviour == Behaviour::Deviation)?;
        let tick = Tick((spell.from.0 * u64::from(rate.hz()) / 1_000_000) as u32);
        Some(Inject { tick, field: "units[0].hp".into() })
    }
}

/// A link that is no trouble by itself.
fn draw_link(rng: &mut ChaCha8Rng) -> LinkFaults {
    LinkFaults {
        delay: up_to(rng, Duration::from_millis(60)),
        jitter: up_to(rng, Duration::from_millis(8)),
        loss: below(rng, 20_000) as u32,
        ..LinkFaults::default()
    }
}

fn draw_spell(
    rng: &mut ChaCha8Rng,
    length: Duration,
    seat: usize,
    is_served: bool,
    kinds: &[Behaviour],
) -> Spell {
    let behaviour = loop {
        let behaviour = kinds[below(rng, kinds.len() as u64) as usize];
        let is_hosts = behaviour == Behaviour::FalseStart;
        if (!is_served || behaviour.is_for_clients()) && (seat == 0 || !is_hosts) {
            break behaviour;
        }
    };
    let early = below(rng, 5) == 0 || behaviour.is_of_setup();
    let from = if early { up_to(rng, SETUP) } else { up_to(rng, length) };
    let from = if behaviour.is_of_setup() { Time(0) } else { Time(0).plus(from) };
    let lasts = match below(rng, 4) {
        _ if behaviour.is_of_setup() => length,
        0 => up_to(rng, Duration::from_millis(400)),
        1 | 2 => up_to(rng, Duration::from_secs(8)),
        _ => length * 4,
    };
    let every = match below(rng, 4) {
        // Once, or nearly so.
        0 => Duration::from_secs(3_600),
        1 => Duration::from_secs(2) + up_to(rng, Duration::from_secs(5)),
        _ => Duration::from_millis(5) + up_to(rng, Duration::from_millis(80)),
    };
    let at = (below(rng, 3) == 0).then(|| below(rng, 3) as u8);
    let at = match behaviour {
        // What one hears and another does not splits them.
        Behaviour::Equivocation => Some(at.unwrap_or(0)),
        Behaviour::WildInputs => None,
        _ => at,
    };
    Spell { behaviour, from, until: from.plus(lasts), every, at }
}

impl fmt::Display for Spell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = |time: Time| time.0 as f64 / 1e6;
        write!(f, "{} from {:.1} s", self.behaviour.as_str(), seconds(self.from))?;
        if !self.behaviour.is_final() && self.until < Time(600_000_000) {
            write!(f, " to {:.1} s", seconds(self.until))?;
        }
        if let Some(at) = self.at {
            write!(f, " at the peer written to as number {at}")?;
        }
        Ok(())
    }
}

impl fmt::Display for ByzantinePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "seat {} is byzantine: ", self.seat)?;
        for (nth, spell) in self.spells.iter().enumerate() {
            write!(f, "{}{spell}", if nth > 0 { ", " } else { "" })?;
        }
        if let Some((seat, at)) = self.crash {
            write!(f, "; seat {seat} crashes after {:.1} s", at.0 as f64 / 1e6)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_behaviour_has_its_own_place_and_word_and_is_drawn() {
        for (place, behaviour) in Behaviour::ALL.into_iter().enumerate() {
            assert_eq!(behaviour as usize, place);
            assert!(Behaviour::ALL[..place].iter().all(|other| other.as_str() != behaviour.as_str()));
        }
        let draw = |seed, architecture, is_fair| {
            ByzantinePlan::from_seed(seed, 4, Duration::from_secs(60), architecture, is_fair)
        };
        let plans: Vec<ByzantinePlan> = (0..1_000).map(|seed| draw(seed, Architecture::P2p, true)).collect();
        let is_drawn =
            |behaviour| plans.iter().flat_map(|plan| &plan.spells).any(|spell| spell.behaviour == behaviour);
        assert!(Behaviour::ALL.into_iter().all(is_drawn));
        assert_eq!(plans[5], draw(5, Architecture::P2p, true));
        for seed in 0..1_000 {
            let plan = draw(seed, Architecture::Relay, false);
            assert!(plan.spells.iter().all(|spell| spell.behaviour.is_for_clients()), "seed {seed}");
        }
    }
}
