//! A match of clients and a server that runs the world or relays inputs, for `check`. Its only faults are those of the
//! links, and of a client that interferes.

use super::judge::end;
use super::{Conditions, Interference, PeerEnd, UPDATES, VirtualMatch, VirtualResult, VirtualSetup};
use crate::audit::Oracle;
use crate::machine::{Machine, PeerClock, State};
use game::{MatchOutcome, Node, ServerOptions, ServerSummary};
use net::{Architecture, BITS_PER_S_USUAL, Time};

impl<I: Interference> VirtualMatch<I> {
    /// Creates a match of clients and their server, before the first datagram; the server is the last node of the links.
    #[must_use]
    pub fn served(
        setup: VirtualSetup,
        conditions: Conditions,
        architecture: Architecture,
        interference: I,
    ) -> Self {
        let setup = VirtualSetup { numbered_every: None, ..setup };
        let mut game = Self::with(setup, conditions, architecture, interference);
        let (rules, map) = (Some(game.setup.rules.clone()), Some(game.setup.map.clone()));
        let options = ServerOptions { rules, map, trace: game.trace(None), ..ServerOptions::default() };
        let mut machine = Machine::new(PeerClock::default(), Time(0));
        machine.begin(game.table().server(UPDATES, false, BITS_PER_S_USUAL, options));
        game.world.server = Some(machine);
        game
    }

    /// Lets the server handle due events, and sends its datagrams.
    pub(super) fn advance_server(&mut self) {
        let (now, node) = (self.world.now(), self.setup.peers);
        let Some(server) = self.world.server.as_mut().filter(|server| server.is_running()) else { return };
        if let Err(message) = server.run(now, Node::advance) {
            return self.audit.violated(Oracle::Panic, node, now, message);
        }
        self.world.transmit(node);
    }

    /// Returns the server's summary, and whether the match did not take place there.
    fn verdict(&mut self) -> (Option<ServerSummary>, bool) {
        let (now, node) = (self.world.now(), self.setup.peers);
        match self.world.server.take().map(Machine::into_state) {
            Some(State::Over(server)) => match server.into_summary() {
                Ok(summary) => (Some(summary), false),
                // A client that takes a seat and never gets ready can keep a match from beginning.
                Err(_) if self.interference.disturbs_setup() => (None, true),
                Err(error) => {
                    self.audit.violated(Oracle::Outcome, node, now, error.to_string());
                    (None, false)
                }
            },
            Some(State::Crashed) => (None, self.interference.disturbs_setup()),
            _ => (None, false),
        }
    }

    /// Checks that all nodes ended with the same result, and that no client's state differed from the server's except
    /// by an injected desync.
    pub(super) fn judge_served(mut self) -> VirtualResult<I::Findings> {
        let (verdict, is_off) = self.verdict();
        let ends: Vec<PeerEnd> = core::mem::take(&mut self.world.players).into_iter().map(end).collect();
        for seat in self.honest().filter(|_| !is_off).collect::<Vec<_>>() {
            if let Some(what) = self.fault_of(seat, &ends[seat], verdict.as_ref()) {
                self.interference.lost(seat);
                self.audit.violated(Oracle::Outcome, seat, self.world.now(), what);
            }
        }
        I::judge(&mut self, &ends, &[]);
        VirtualResult {
            violations: self.audit.violations().to_vec(),
            counts: *self.world.network.links.counts(),
            log: self.world.network.log().hash(),
            ticks: verdict.map_or(0, |verdict| verdict.ticks),
            took: self.world.now().since(Time(0)),
            stopped_after: None,
            named_after: None,
            honest: (0..ends.len()).map(|seat| self.interference.is_honest(seat)).collect(),
            found: self.interference.into_findings(),
            ends,
        }
    }

    /// Describes an invalid end of a client.
    fn fault_of(&self, seat: usize, end: &PeerEnd, server: Option<&ServerSummary>) -> Option<String> {
        let Some(server) = server else { return Some("the server did not end".into()) };
        let PeerEnd::Played(summary) = end else {
            return Some(format!("it ended as {}: {end}", end.as_str()));
        };
        let said = (summary.outcome, summary.ticks, summary.hash.whole);
        let expected: (MatchOutcome, u32, u64) = (server.outcome, server.ticks, server.hash.whole);
        if said != expected {
            return Some(format!("{said:?}, and the server {expected:?}"));
        }
        let differed = summary.updates.map_or(0, |updates| updates.differed);
        let planted = self.setup.inject.as_ref().filter(|(planted, _)| *planted == seat);
        match (planted, &summary.desync) {
            (_, Some(_)) => None,
            (Some((_, inject)), None) if inject.tick.0 < server.ticks => {
                Some(format!("the desync injected in tick {} was not found", inject.tick))
            }
            (_, None) => (differed > 0).then(|| format!("{differed} states differed, and no tick was named")),
        }
    }
}
