//! What goes wrong in one virtual match, and when: drawn from a seed, or nothing at all.

use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;

use super::byzantine::ByzantinePlan;
use super::sabotage::Sabotage;
use lab::simnet::{below, up_to};
use lab::{Burst, Conditions, Fault, LinkFaults, PeerClock};
use net::Time;

/// No two silences of one scenario come nearer to each other: a peer is heard in between.
const BETWEEN_SILENCES: Duration = Duration::from_millis(2_500);
/// Longest silence that no peer may be given up for; the timeout is 3 s.
const SILENCE_MAX: Duration = Duration::from_millis(1_600);
/// Before the end of the match everything is calm for so long, or for half of it.
const CALM: Duration = Duration::from_secs(12);
/// One in this many kinds of faults is in a scenario.
const ONE_IN: u64 = 4;
/// One in this many scenarios has a fault that may end a match.
const FATAL_ONE_IN: u64 = 5;

/// Everything that goes wrong in one match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scenario {
    /// The links from the start on, from each node to each: row by row. With a server that is the last node.
    pub links: Vec<LinkFaults>,
    /// Each peer's clock.
    pub clocks: Vec<PeerClock>,
    /// When each peer starts.
    pub starts: Vec<Time>,
    /// What happens later, in order.
    pub acts: Vec<(Time, Act)>,
    /// A peer that goes with its n-th datagram, counted from 1, and whether without a word.
    pub stop: Option<Stop>,
    /// From here on nothing goes wrong any more.
    pub quiet_at: Time,
    /// What not every peer must survive; without it, all see the match through.
    pub fatal: Option<Fault>,
    /// A fault of the protocol to plant.
    pub sabotage: Option<Sabotage>,
    /// A seat that keeps to no rule.
    pub byzantine: Option<ByzantinePlan>,
}

/// A peer that goes at a step of the protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stop {
    /// Who.
    pub peer: usize,
    /// With which datagram it sends, counted from 1; that one still leaves.
    pub after: u64,
    /// Whether it leaves properly.
    pub says_bye: bool,
}

/// Something that happens at an instant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Act {
    /// The way from one peer to another changes.
    Link(usize, usize, Change),
    /// All links are as at the start, but for losses and damage, which stop.
    Calm,
    /// A computer is suspended for this long.
    Pause(usize, Duration, Fault),
    /// Every step of a computer takes so long from now on.
    Slow(usize, Duration),
    /// A peer is gone.
    Crash(usize),
    /// A peer leaves.
    Leave(usize),
    /// A peer gets another address.
    Rebind(usize),
    /// A peer hears everything again that an attacker has seen.
    Replay(usize),
    /// A peer receives this many datagrams of random bytes.
    Garbage(usize, usize, Fault),
    /// A peer hears false handshakes and farewells.
    Spoof(usize),
}

/// One value of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// [`LinkFaults::delay`], and whether that is a step to be counted.
    Delay(Duration, bool),
    /// [`LinkFaults::jitter`].
    Jitter(Duration),
    /// [`LinkFaults::loss`].
    Loss(u32),
    /// [`LinkFaults::burst`].
    Burst(Option<Burst>),
    /// [`LinkFaults::duplicate`].
    Duplicate(u32),
    /// [`LinkFaults::reorder`].
    Reorder(u32),
    /// The rate and the queue of [`LinkFaults::limit`].
    Rate(u64, Duration),
    /// [`LinkFaults::mtu`].
    Mtu(usize),
    /// [`LinkFaults::corrupt`].
    Corrupt(u32),
    /// [`LinkFaults::truncate`].
    Truncate(u32),
    /// [`LinkFaults::pad`].
    Pad(u32),
    /// [`LinkFaults::cut`].
    Cut(Option<Fault>),
}

impl Change {
    /// Makes it.
    pub const fn apply(self, faults: &mut LinkFaults) {
        match self {
            Self::Delay(delay, _) => faults.delay = delay,
            Self::Jitter(jitter) => faults.jitter = jitter,
            Self::Loss(loss) => faults.loss = loss,
            Self::Burst(burst) => faults.burst = burst,
            Self::Duplicate(share) => faults.duplicate = share,
            Self::Reorder(share) => faults.reorder = share,
            Self::Rate(rate, queue) => (faults.limit.rate, faults.limit.queue) = (rate, queue),
            Self::Mtu(mtu) => faults.mtu = mtu,
            Self::Corrupt(share) => faults.corrupt = share,
            Self::Truncate(share) => faults.truncate = share,
            Self::Pad(share) => faults.pad = share,
            Self::Cut(cut) => faults.cut = cut,
        }
    }

    /// What ends it: the same value of a link that does nothing.
    fn undone(self, calm: &LinkFaults) -> Self {
        match self {
            Self::Delay(..) => Self::Delay(calm.delay, true),
            Self::Jitter(_) => Self::Jitter(calm.jitter),
            Self::Loss(_) => Self::Loss(calm.loss),
            Self::Burst(_) => Self::Burst(calm.burst),
            Self::Duplicate(_) => Self::Duplicate(calm.duplicate),
            Self::Reorder(_) => Self::Reorder(calm.reorder),
            Self::Rate(..) => Self::Rate(calm.limit.rate, calm.limit.queue),
            Self::Mtu(_) => Self::Mtu(calm.mtu),
            Self::Corrupt(_) => Self::Corrupt(calm.corrupt),
            Self::Truncate(_) => Self::Truncate(calm.truncate),
            Self::Pad(_) => Self::Pad(calm.pad),
            Self::Cut(_) => Self::Cut(calm.cut),
        }
    }
}

impl Scenario {
    /// All links alike from beginning to end, and nothing else.
    #[must_use]
    pub fn steady(peers: usize, link: LinkFaults) -> Self {
        Self::of(Conditions::steady(peers, link))
    }

    /// The same for clients of a server.
    #[must_use]
    pub fn star(clients: usize, link: LinkFaults) -> Self {
        Self::of(Conditions::star(clients, link))
    }

    fn of(Conditions { links, clocks, starts }: Conditions) -> Self {
        Self {
            links,
            clocks,
            starts,
            acts: Vec::new(),
            stop: None,
            quiet_at: Time(0),
            fatal: None,
            sabotage: None,
            byzantine: None,
        }
    }

    /// Draws the faults of a match of `length` that begins as the `steady` one. With a server none may end the match of
    /// one client.
    #[must_use]
    pub fn from_seed(seed: u64, length: Duration, steady: Self) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(99);
        let calm_for = CALM.min(length / 2);
        let quiet_at = Time(0).plus(length - calm_for);
        let peers = steady.clocks.len();
        let nodes = (peers..=peers + 1).find(|nodes| nodes * nodes == steady.links.len()).expect("a square");
        let scenario = Self { quiet_at, ..steady };
        let (silent_until, fatal_until) = (Time(1_500_000), Time(0));
        let mut draft = Draft { rng, peers, nodes, length, silent_until, fatal_until, scenario };
        for fault in Fault::ALL.into_iter().filter(|fault| !fault.is_fatal()) {
            if draft.below(ONE_IN) == 0 {
                draft.add(fault);
            }
        }
        if draft.below(FATAL_ONE_IN) == 0 && nodes == peers {
            let fatal: Vec<Fault> = Fault::ALL.into_iter().filter(|fault| fault.is_fatal()).collect();
            let one = draft.below(fatal.len() as u64) as usize;
            draft.add_fatal(fatal[one]);
        }
        draft.scenario.acts.push((quiet_at, Act::Calm));
        draft.scenario.acts.sort_by_key(|&(at, _)| at);
        draft.scenario.quiet_at = quiet_at.max(draft.fatal_until);
        draft.scenario
    }
}

/// A scenario in the making.
struct Draft {
    rng: ChaCha8Rng,
    peers: usize,
    /// Number of peers, and the server if there is one.
    nodes: usize,
    length: Duration,
    /// The last silence ends here.
    silent_until: Time,
    /// What a match may end by is over.
    fatal_until: Time,
    scenario: Scenario,
}

impl Draft {
    fn below(&mut self, bound: u64) -> u64 {
        below(&mut self.rng, bound)
    }

    fn between(&mut self, least: u64, most: u64) -> u64 {
        least + self.below(most - least + 1)
    }

    fn millis(&mut self, least: u64, most: u64) -> Duration {
        Duration::from_micros(self.between(least * 1_000, most * 1_000))
    }

    fn share(&mut self, least_percent: u64, most_percent: u64) -> u32 {
        self.between(least_percent * 10_000, most_percent * 10_000) as u32
    }

    fn peer(&mut self) -> usize {
        self.below(self.peers as u64) as usize
    }

    /// The ends of a way: two different peers, or a client and its server.
    fn pair(&mut self) -> (usize, usize) {
        let from = self.peer();
        if self.nodes > self.peers {
            return if self.below(2) == 0 { (from, self.peers) } else { (self.peers, from) };
        }
        let to = (from + 1 + self.below(self.peers as u64 - 1) as usize) % self.peers;
        (from, to)
    }

    /// An instant before everything calms down.
    fn instant(&mut self) -> Time {
        Time(self.between(1_000_000.min(self.scenario.quiet_at.0), self.scenario.quiet_at.0))
    }

    fn act(&mut self, at: Time, act: Act) {
        self.scenario.acts.push((at, act));
    }

    /// Changes one way, or all, for a while.
    fn spell(&mut self, change: Change, seconds_max: u64) {
        let at = self.instant();
        let until = at.plus(self.millis(500, seconds_max * 1_000)).min(self.scenario.quiet_at);
        let all = self.below(2) == 0;
        let (from, to) = self.pair();
        for (a, b) in self.ways().filter(|&way| all || way == (from, to)).collect::<Vec<_>>() {
            let calm = self.scenario.links[a * self.nodes + b];
            self.act(at, Act::Link(a, b, change));
            self.act(until, Act::Link(a, b, change.undone(&calm)));
        }
    }

    /// The start of a silence that does not end a match; `None` when there is no more room for one.
    fn silence(&mut self, length: Duration) -> Option<Time> {
        let at = self.silent_until.plus(self.millis(0, 4_000));
        let until = at.plus(length);
        if until > self.scenario.quiet_at {
            return None;
        }
        self.silent_until = until.plus(BETWEEN_SILENCES);
        Some(at)
    }

    fn cut(&mut self, at: Time, length: Duration, fault: Fault, ways: &[(usize, usize)]) {
        for &(a, b) in ways {
            self.act(at, Act::Link(a, b, Change::Cut(Some(fault))));
            self.act(at.plus(length), Act::Link(a, b, Change::Cut(None)));
        }
    }

    fn ways(&self) -> impl Iterator<Item = (usize, usize)> + use<> {
        let (peers, nodes) = (self.peers, self.nodes);
        let is_way = move |&(a, b): &(usize, usize)| a != b && (nodes == peers || a.max(b) == peers);
        (0..nodes * nodes).map(move |way| (way / nodes, way % nodes)).filter(is_way)
    }

    fn add(&mut self, fault: Fault) {
        let (change, seconds_max) = match fault {
            Fault::Delay => return self.delay_links(false),
            Fault::Asymmetry => return self.delay_links(true),
            Fault::DelayStep => (Change::Delay(self.millis(0, 200), true), 20),
            Fault::Jitter => (Change::Jitter(self.millis(1, 40)), 30),
            Fault::Loss => (Change::Loss(self.share(1, 20)), 30),
            Fault::BurstLoss => {
                // One burst in 200 of those with a mean of 12 datagrams has 60: where few are sent, a silence that ends
                // a match.
                let (enter, length) = (self.share(1, 5), self.between(2, 12) as u32);
                let burst = Burst { enter, length, lasts_max: SILENCE_MAX };
                (Change::Burst(Some(burst)), 30)
            }
            Fault::Duplicate => (Change::Duplicate(self.share(1, 50)), 30),
            Fault::Reorder => (Change::Reorder(self.share(1, 30)), 30),
            Fault::RateLimit => (Change::Rate(self.between(24_000, 64_000), self.millis(50, 300)), 15),
            Fault::QueueOverflow => (Change::Rate(self.between(16_000, 32_000), self.millis(20, 200)), 5),
            Fault::Mtu => (Change::Mtu(self.between(60, 400) as usize), 3),
            Fault::Corruption => (Change::Corrupt(self.share(1, 20)), 30),
            Fault::Truncation => (Change::Truncate(self.share(1, 10)), 30),
            Fault::Padding => (Change::Pad(self.share(1, 10)), 30),
            Fault::Partition | Fault::OneWayPartition | Fault::Outage => return self.add_cut(fault),
            Fault::Pause | Fault::SocketOverflow => return self.add_pause(fault),
            _ => return self.add_to_peer(fault),
        };
        self.spell(change, seconds_max);
    }

    /// Delays for the whole match, the same both ways or not.
    fn delay_links(&mut self, is_asymmetric: bool) {
        for (a, b) in self.ways().filter(|(a, b)| a < b).collect::<Vec<_>>() {
            let delay = self.millis(0, 100);
            let back = if is_asymmetric { self.millis(0, 200) } else { delay };
            self.scenario.links[a * self.nodes + b].delay += delay;
            self.scenario.links[b * self.nodes + a].delay += back;
        }
    }

    fn add_cut(&mut self, fault: Fault) {
        let length = if fault == Fault::Outage {
            Duration::from_millis(120)
        } else {
            up_to(&mut self.rng, SILENCE_MAX)
        };
        let (a, b) = self.pair();
        let ways: Vec<(usize, usize)> = match fault {
            Fault::Partition => vec![(a, b), (b, a)],
            Fault::OneWayPartition => vec![(a, b)],
            _ => self.ways().collect(),
        };
        if let Some(at) = self.silence(length) {
            self.cut(at, length, fault, &ways);
        }
    }

    fn add_pause(&mut self, fault: Fault) {
        let length = up_to(&mut self.rng, SILENCE_MAX).max(Duration::from_millis(200));
        let peer = self.peer();
        let Some(at) = self.silence(length) else { return };
        self.act(at, Act::Pause(peer, length, Fault::Pause));
        if fault == Fault::SocketOverflow {
            self.act(at, Act::Garbage(peer, 1_000, Fault::Garbage));
        }
    }

    fn add_to_peer(&mut self, fault: Fault) {
        let (peer, at) = (self.peer(), self.instant());
        match fault {
            Fault::SlowComputer => {
                let cost = self.millis(1, 8);
                let until = at.plus(self.millis(500, 8_000)).min(self.scenario.quiet_at);
                self.act(at, Act::Slow(peer, cost));
                self.act(until, Act::Slow(peer, Duration::ZERO));
            }
            Fault::ClockDrift => {
                for peer in 0..self.peers {
                    self.scenario.clocks[peer].drift_ppm = self.between(0, 20_000) as i64 - 10_000;
                }
            }
            Fault::ClockOffset => {
                // Up to a day.
                self.scenario.clocks[peer].offset_us = self.below(86_400_000_000);
            }
            Fault::AddressChange if peer > 0 => self.act(at, Act::Rebind(peer)),
            Fault::LateJoin if peer > 0 => {
                self.scenario.starts[peer] = Time(0).plus(self.millis(500, 4_000));
            }
            Fault::Replay => self.act(at, Act::Replay(peer)),
            Fault::Garbage => {
                let count = self.between(1, 100) as usize;
                self.act(at, Act::Garbage(peer, count, Fault::Garbage));
            }
            Fault::Flood => self.act(at, Act::Garbage(peer, 1_000, Fault::Flood)),
            Fault::Spoof => {
                // In the handshake, and later.
                self.act(Time(self.scenario.starts[peer].0 + at.0 % 400_000), Act::Spoof(peer));
                self.act(at, Act::Spoof(peer));
            }
            // Guests were given the host's address.
            _ => {}
        }
    }

    /// Adds a fault that may end a match, at any moment of it.
    fn add_fatal(&mut self, fault: Fault) {
        self.scenario.fatal = Some(fault);
        let length = self.length.as_micros() as u64;
        let (peer, at) = (self.peer(), Time(self.below(length + 1_000_000)));
        let longer = self.millis(4_000, 8_000);
        let in_setup = self.below(3) == 0;
        match fault {
            Fault::Crash | Fault::Leave if in_setup => {
                let says_bye = fault == Fault::Leave;
                self.scenario.stop = Some(Stop { peer, after: self.between(1, 60), says_bye });
            }
            Fault::Crash => self.act(at, Act::Crash(peer)),
            Fault::Leave => self.act(at, Act::Leave(peer)),
            Fault::Sleep => self.act(at, Act::Pause(peer, longer, fault)),
            _ => {
                let (a, b) = self.pair();
                self.cut(at, longer, fault, &[(a, b), (b, a)]);
            }
        }
        // It comes when it likes, and what the others make of it takes its time.
        if self.scenario.stop.is_none() {
            self.fatal_until = at.plus(longer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scenario(seed: u64) -> Scenario {
        Scenario::from_seed(seed, Duration::from_secs(60), Scenario::steady(3, LinkFaults::default()))
    }

    #[test]
    fn a_scenario_follows_from_its_seed() {
        assert_eq!(scenario(5), scenario(5));
        assert_ne!(scenario(5), scenario(6));
    }

    #[test]
    fn before_the_end_everything_is_calm() {
        for seed in 0..500 {
            let scenario = scenario(seed);
            assert!(scenario.acts.is_sorted_by_key(|&(at, _)| at));
            let late = scenario.acts.iter().find(|&&(at, _)| at > scenario.quiet_at);
            assert!(late.is_none() || scenario.fatal.is_some(), "seed {seed}: {late:?}");
        }
    }

    #[test]
    fn silences_that_can_be_survived_are_short_and_apart() {
        for seed in 0..500 {
            let scenario = scenario(seed);
            let mut last = None;
            for &(at, act) in scenario.acts.iter().filter(|_| scenario.fatal.is_none()) {
                let silence = match act {
                    // Bursts are seldom long: they may come at any time.
                    Act::Link(_, _, Change::Burst(Some(burst))) => {
                        assert!(burst.lasts_max <= SILENCE_MAX, "seed {seed}");
                        continue;
                    }
                    Act::Pause(_, length, _) => length,
                    Act::Link(_, _, Change::Cut(Some(_))) if last != Some(at) => SILENCE_MAX,
                    _ => continue,
                };
                assert!(silence <= SILENCE_MAX, "seed {seed}");
                assert!(last.is_none_or(|last| at.since(last) >= BETWEEN_SILENCES), "seed {seed} at {at:?}");
                last = Some(at);
            }
        }
    }
}
