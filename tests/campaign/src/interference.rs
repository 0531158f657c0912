//! Everything that goes wrong in a match beside its links: acts of a scenario, a planted fault of the protocol, a seat that
//! keeps to no rule.

mod judge;

use arrayvec::ArrayVec;
use core::time::Duration;

use self::judge::{judge_byzantine, judge_cost, judge_patience};
use crate::byzantine::{Attacker, Behaviour, ByzantineFigures, Deed, Pace};
use crate::sabotage::Saboteur;
use crate::scenario::{Act, Change, Scenario};
use game::{Confirmed, Inject, Match, Node as _};
use lab::sessions::TIMEOUT;
use lab::{Conditions, Fault, Interference, LinkFaults, PeerEnd, VirtualSetup};
use net::{Architecture, Time, Transmit};
use sim::TickRate;

/// A match in which something goes wrong.
pub type VirtualMatch = lab::VirtualMatch<Wrongs>;
/// Its result, with what a byzantine seat cost, if there was one.
pub type VirtualResult = lab::VirtualResult<Option<ByzantineFigures>>;

/// Does everything that goes wrong in a match.
pub struct Wrongs {
    scenario: Scenario,
    saboteur: Option<Saboteur>,
    attacker: Option<Attacker>,
    /// Costs of the byzantine seat so far.
    figures: ByzantineFigures,
    /// The same in the end.
    found: Option<ByzantineFigures>,
    paces: Vec<Pace>,
    next_act: usize,
    /// The instant at which the first peer crashed.
    gone_at: Option<Time>,
    /// Datagrams that each peer has sent.
    sent: Vec<u64>,
}

/// A match of peers before the first datagram.
///
/// # Panics
/// If there are not as many controllers as peers, or the scenario is one of another number of peers.
#[must_use]
pub fn virtual_match(setup: VirtualSetup, scenario: Scenario) -> VirtualMatch {
    let Scenario { links, clocks, starts, quiet_at, .. } = scenario.clone();
    let wrongs = Wrongs::new(&setup, scenario);
    let mut game = VirtualMatch::new(setup, Conditions { links, clocks, starts }, wrongs);
    game.quiet_at = quiet_at;
    game
}

/// A match of clients and their server, the last node of the scenario, before the first datagram.
///
/// # Panics
/// If the scenario is not one of as many clients.
#[must_use]
pub fn served_match(setup: VirtualSetup, scenario: Scenario, architecture: Architecture) -> VirtualMatch {
    let Scenario { links, clocks, starts, quiet_at, .. } = scenario.clone();
    assert!(links.len() == (setup.peers + 1) * (setup.peers + 1), "a star of {} clients", setup.peers);
    let wrongs = Wrongs::new(&setup, scenario);
    let mut game = VirtualMatch::served(setup, Conditions { links, clocks, starts }, architecture, wrongs);
    game.quiet_at = quiet_at;
    game
}

impl Wrongs {
    fn new(setup: &VirtualSetup, scenario: Scenario) -> Self {
        Self {
            saboteur: scenario.sabotage.map(|what| Saboteur::new(what, setup.seed)),
            attacker: scenario.byzantine.clone().map(|plan| Attacker::new(plan, setup.seed)),
            figures: ByzantineFigures::default(),
            found: None,
            paces: vec![Pace::default(); setup.peers],
            next_act: 0,
            gone_at: None,
            sent: vec![0; setup.peers],
            scenario,
        }
    }

    /// The seat that keeps to no rule.
    fn byzantine(&self) -> Option<usize> {
        self.scenario.byzantine.as_ref().map(|plan| plan.seat)
    }
}

impl Interference for Wrongs {
    type Findings = Option<ByzantineFigures>;

    fn into_findings(self) -> Self::Findings {
        self.found
    }

    fn next_at(&self) -> Option<Time> {
        let act = self.scenario.acts.get(self.next_act).map(|&(at, _)| at);
        let attack = self.attacker.as_ref().and_then(Attacker::next_at);
        act.into_iter().chain(attack).min()
    }

    fn act(game: &mut VirtualMatch) {
        while let Some(&(at, act)) = game.interference.scenario.acts.get(game.interference.next_act)
            && at <= game.world.now()
        {
            game.interference.next_act += 1;
            do_act(game, act);
        }
        attack(game);
    }

    fn is_honest(&self, node: usize) -> bool {
        self.byzantine() != Some(node)
    }

    fn reads_datagrams(&self) -> bool {
        self.saboteur.is_some()
    }

    fn deviation(&self, peer: usize, rate: TickRate) -> Option<Inject> {
        let byzantine = || self.scenario.byzantine.as_ref().filter(|plan| plan.seat == peer);
        let sabotage = self.scenario.sabotage.and_then(|sabotage| sabotage.inject(peer));
        sabotage.or_else(|| byzantine().and_then(|plan| plan.deviation(rate)))
    }

    fn numbers(&mut self, peer: usize, number: u32) -> ArrayVec<u32, 2> {
        self.saboteur.as_mut().map_or(ArrayVec::from_iter([number]), |s| s.numbers(peer, number))
    }

    fn ran(&mut self, peer: usize, now: Time, confirmed: Confirmed<'_>) {
        if let Some(saboteur) = &self.saboteur {
            saboteur.ran(peer, confirmed.tick());
        }
        self.paces[peer].ran(now);
    }

    fn advanced(game: &mut VirtualMatch, peer: usize) {
        let Some(seat) = game.interference.byzantine().filter(|&seat| seat != peer) else { return };
        let (now, pace) = (game.world.now(), &mut game.interference.paces[peer]);
        if let Some(node) = game.world.players[peer].node() {
            // Who departs surrenders.
            let surrendered = node.world().and_then(|world| world.state().players.surrendered.get(seat));
            game.interference.figures.has_departed |= surrendered.is_some_and(|&is| is != 0);
            let delay_us = node.session().delay_us().unwrap_or(0);
            game.interference.figures.delay_us = game.interference.figures.delay_us.max(delay_us);
        } else if game.world.players[peer].is_over() {
            pace.over(now);
        }
    }

    fn send(game: &mut VirtualMatch, peer: usize, at: Time, transmit: &Transmit) {
        let (to, bytes) = (transmit.to, transmit.datagram.bytes());
        if let Some(attacker) = &mut game.interference.attacker {
            let session = game.world.players[peer].node().map(Match::session);
            attacker.learn(peer, session);
            if attacker.takes(at, peer, (to, bytes), &mut game.world.network) {
                return;
            }
        }
        match &mut game.interference.saboteur {
            None => game.send(peer, at, to, bytes),
            Some(saboteur) => {
                for (later, bytes) in saboteur.tamper(at, peer, bytes) {
                    game.audit.sent(peer, at, bytes.len());
                    game.world.network.send(at.plus(later), peer, to, &bytes);
                }
            }
        }
        game.interference.sent[peer] += 1;
        let (stop, sent) = (game.interference.scenario.stop, game.interference.sent[peer]);
        match stop.filter(|stop| stop.peer == peer && stop.after == sent) {
            Some(stop) if stop.says_bye => leave(game, peer),
            Some(_) => crash(game, peer),
            None => {}
        }
    }

    fn fatal(&self) -> Option<Fault> {
        self.scenario.fatal
    }

    fn disturbs_setup(&self) -> bool {
        self.scenario.byzantine.as_ref().is_some_and(|plan| plan.disturbs_setup())
    }

    fn lost(&mut self, _peer: usize) {
        self.figures.lost += 1;
    }

    fn judges_alone(&self) -> bool {
        self.attacker.is_some()
    }

    fn judge(game: &mut VirtualMatch, ends: &[PeerEnd], ended_at: &[Time]) {
        match game.interference.attacker.take() {
            Some(attacker) if game.is_served() => {
                game.interference.found = Some(judge_cost(game, &attacker, ends));
            }
            Some(attacker) => {
                game.interference.found = Some(judge_byzantine(game, &attacker, ends, ended_at));
            }
            None if game.is_served() => {}
            None => judge_patience(game, ends, ended_at),
        }
    }
}

fn do_act(game: &mut VirtualMatch, act: Act) {
    let now = game.world.now();
    match act {
        Act::Link(from, to, change) => {
            change.apply(game.world.network.links.faults(from, to));
            if let Change::Delay(_, true) = change {
                game.fired(Fault::DelayStep);
            }
        }
        Act::Calm => calm(game),
        Act::Pause(peer, length, fault) if game.world.players[peer].is_running() => {
            game.world.players[peer].pause(now.plus(length));
            game.fired(fault);
        }
        Act::Slow(peer, cost) => {
            game.world.players[peer].cost = cost;
            if !cost.is_zero() {
                game.fired(Fault::SlowComputer);
            }
        }
        Act::Crash(peer) => crash(game, peer),
        Act::Leave(peer) => leave(game, peer),
        Act::Rebind(peer) => game.world.network.rebind(peer),
        Act::Replay(peer) => game.world.network.replay(now, peer),
        Act::Garbage(peer, count, fault) => game.world.network.garbage(now, peer, count, fault),
        Act::Spoof(peer) => game.world.network.spoof(now, peer),
        Act::Pause(..) => {}
    }
}

fn calm(game: &mut VirtualMatch) {
    let nodes = game.nodes();
    for (way, &faults) in game.conditions.links.iter().enumerate() {
        let link = game.world.network.links.faults(way / nodes, way % nodes);
        // Who cuts a link joins it again.
        *link = LinkFaults { cut: link.cut, ..faults };
    }
    for peer in &mut game.world.players {
        peer.cost = Duration::ZERO;
    }
}

fn crash(game: &mut VirtualMatch, peer: usize) {
    if game.world.players[peer].is_open() {
        game.world.players[peer].crash();
        game.interference.gone_at.get_or_insert(game.world.now());
        game.fired(Fault::Crash);
        pace_again(game);
    }
}

fn leave(game: &mut VirtualMatch, peer: usize) {
    if game.world.players[peer].is_running() {
        game.world.players[peer].leave();
        game.fired(Fault::Leave);
        pace_again(game);
    }
}

/// Those who stay wait for one who is gone until their timeout: the pace counts after that.
fn pace_again(game: &mut VirtualMatch) {
    game.quiet_at = game.quiet_at.max(game.world.now().plus(TIMEOUT));
    game.paced_from = None;
}

/// Does what the byzantine seat does of its own.
fn attack(game: &mut VirtualMatch) {
    let (now, Some(attacker)) = (game.world.now(), &mut game.interference.attacker) else { return };
    let seat = attacker.plan().seat;
    for deed in attacker.strike(now, &mut game.world.network) {
        let machine = &mut game.world.players[seat];
        let Some((seated, local)) = machine.node_at(now) else { continue };
        match deed {
            Deed::Order(command) => {
                seated.submit_command(local, command);
            }
            Deed::Message(to, id, body) => seated.forge(to, id, &body),
            Deed::LookAhead if seated.look_ahead(local) => attacker.note(Behaviour::LookAhead),
            Deed::LookAhead => {}
            Deed::SignAnother(to, tick, hero) => seated.sign_another(to, tick, hero),
            Deed::Rebind => game.world.network.rebind(seat),
            Deed::Leave => machine.leave(),
            Deed::Crash => machine.crash(),
        }
    }
}
