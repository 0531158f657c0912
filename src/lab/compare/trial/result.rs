//! Conversion of a match's traces to its row.

use super::Run;
use super::command_trace::CommandTrace;
use super::cost::StateSizes;
use super::node::Player;
use crate::compare::latencies::{Latencies, Seen};
use crate::compare::order_row::OrderRow;
use crate::compare::row::{Experiment, MatchRow, Series, Topology};
use crate::compare::statistics::mean;
use crate::machine::Machine;
use crate::simnet::Account;
use game::Match;
use net::{Architecture, Time};
use sim::{PLAYERS_MAX, PlayerId, Tick};

impl Run {
    pub(super) fn into_row(mut self) -> MatchRow {
        let latencies = self.latencies();
        let seconds = self.window[1].since(self.window[0]).as_secs_f64();
        let players = self.players.len() as f64;
        let mean = |of: &dyn Fn(&Player) -> f64| self.players.iter().map(of).sum::<f64>() / players;
        let whole_seconds = seconds.ceil() as usize;
        let by_s = |of: &dyn Fn(&Player, usize) -> f64| {
            Series::of((0..whole_seconds).map(|s| self.players.iter().map(|node| of(node, s)).sum()))
        };
        let stall_ms = |cause: usize| mean(&|node| node.stalls.ms[cause]);
        let [all, others] = [0, 1].map(|left_out| self.freeze_ms(left_out));
        let corrections_by_s =
            by_s(&|node, s| f64::from(node.corrections.1.get(s).copied().unwrap_or_default()));
        let (player, server) = self.traffic();
        let kbit_s = |bytes: f64| bytes * 8.0 / 1000.0 / seconds;
        let played = self.world.now().since(self.origin).as_secs_f64();
        let whole = |of: fn(&Account) -> u64| {
            let accounts = self.world.network.accounts().iter().take(self.players.len());
            accounts.map(of).sum::<u64>() as f64 * 8.0 / 1000.0 / players / played
        };
        let total = |of: fn(&Account) -> u64| self.world.network.accounts().iter().map(of).sum::<u64>();
        latencies.into_row(MatchRow {
            apart_mean: self.divergence.mean(),
            apart_max: self.divergence.max,
            apart_p95: self.divergence.p95(),
            apart_far: self.divergence.far(),
            corrections: corrections_by_s.0.iter().sum::<f64>() as u32,
            corrections_by_s,
            stalls: self.players.iter().map(|node| node.stalls.count).sum(),
            stall_ms: stall_ms(0) + stall_ms(1),
            stall_network_ms: stall_ms(0),
            stall_computer_ms: stall_ms(1),
            stall_by_s: by_s(&|node, s| node.stalls.by_s.get(s).copied().unwrap_or_default() / players),
            freeze_ms: all,
            freeze_max_ms: self.players.iter().map(|node| node.freezes.max_ms).fold(0.0, f64::max),
            others_freeze_ms: others,
            tick_rate: self.tick_rate(seconds),
            others_kbit_s_up: kbit_s(self.sent_by_others()),
            whole_kbit_s_up: whole(|account| account.bytes_sent),
            whole_kbit_s_down: whole(|account| account.bytes_received),
            kbit_s_up: kbit_s(player[0]),
            kbit_s_down: kbit_s(player[1]),
            packets_s_up: player[2] / seconds,
            packets_s_down: player[3] / seconds,
            server_kbit_s_up: kbit_s(server.bytes_sent as f64),
            server_kbit_s_down: kbit_s(server.bytes_received as f64),
            bytes_sent: total(|account| account.bytes_sent),
            bytes_received: total(|account| account.bytes_received),
            bytes_lost: total(|account| account.bytes_lost),
            bytes_under_way: self.world.network.bytes_in_flight(),
            ticks_after_loss: self.ticks_after_loss(),
            winner: self.winner(),
            cpu_us_per_tick: self.player_cpu(),
            server_cpu_us_per_tick: self.server_cpu(),
            state_bytes: self.sizes.as_ref().and_then(StateSizes::bytes),
            state_hash: self.state_hash(),
            cell: self.cell.clone(),
            seed: self.seed,
            seconds,
            ..MatchRow::default()
        })
    }

    /// Returns the commands with an intended time inside the window.
    pub(super) fn orders(&self) -> Vec<OrderRow> {
        let mut given = [0; PLAYERS_MAX];
        let mut orders = Vec::new();
        for (player, trace) in self.traces.iter() {
            let order = given[player];
            given[player] += 1;
            if !(self.window[0]..self.window[1]).contains(&trace.intended) {
                continue;
            }
            let after = |at: Time| at.minus(trace.intended) as f64 / 1000.0;
            orders.push(OrderRow {
                seed: self.seed,
                player,
                order,
                intended_ms: trace.intended.since(self.origin).as_micros() as f64 / 1000.0,
                captured_ms: trace.captured.map(after),
                tick: trace.tick.map(|tick| tick.0),
                confirmed_ms: trace.confirmed.map(|at| at.map(after)),
                shown_ms: trace.shown.map(|at| at.map(after)),
            });
        }
        orders
    }

    fn latencies(&mut self) -> Latencies {
        let mut latencies = Latencies::new(self.players.len());
        for (player, trace) in self.traces.iter() {
            // A lost player gives no commands.
            let is_here = !self.players[player].is_lost() || trace.captured.is_some();
            if (self.window[0]..self.window[1]).contains(&trace.intended) && is_here {
                self.add(&mut latencies, player, trace);
            }
        }
        latencies
    }

    fn add(&self, latencies: &mut Latencies, player: usize, trace: &CommandTrace) {
        let nodes = || self.players.iter().filter(|node| !node.is_lost() || node.player == player);
        let (Some(captured), Some(authority), true) = (
            trace.captured,
            trace.tick.and_then(|tick| self.traces.ran_at(tick)),
            nodes().all(|node| trace.shown[node.player].and(trace.confirmed[node.player]).is_some()),
        ) else {
            return latencies.censor();
        };
        let after = |at: Time| at.since(trace.intended).as_micros() as f64 / 1000.0;
        let seen = nodes().map(|node| {
            let at = |instants: &[Option<Time>]| instants[node.player].expect("just looked at");
            let (confirmed, shown) = (at(&trace.confirmed), at(&trace.shown));
            let frame_us = node.display.frame_after(shown.since(self.origin).as_micros() as u64);
            let frame = after(Time(self.origin.0 + frame_us));
            Seen { player: node.player, confirmed: after(confirmed), shown: after(shown), frame }
        });
        latencies.add(player, after(captured), Some(after(authority)), seen);
    }

    /// Returns the mean freeze time over the players, without the `left_out` last seats.
    fn freeze_ms(&self, left_out: usize) -> f64 {
        let players = &self.players[..self.players.len() - left_out];
        players.iter().map(|node| node.freezes.ms).sum::<f64>() / players.len() as f64
    }

    /// Returns the bytes sent by a player, mean over all but the one in the last seat.
    fn sent_by_others(&self) -> f64 {
        let [before, after] = &self.accounts;
        let others = self.players.len() - 1;
        let sent =
            after.iter().zip(before).take(others).map(|(after, before)| after.since(before).bytes_sent);
        sent.sum::<u64>() as f64 / others as f64
    }

    /// Returns a player's bytes up and down and packets up and down, mean over the players with a link of their own,
    /// and the server's account. A player whose process runs the server uses the server's link.
    fn traffic(&self) -> ([f64; 4], Account) {
        let [before, after] = &self.accounts;
        let counted: Vec<Account> =
            after.iter().zip(before).map(|(after, before)| after.since(before)).collect();
        let (players, server) = counted.split_at(self.players.len().min(counted.len()));
        let first = usize::from(self.cell.topology == Topology::Listen && !server.is_empty());
        let linked = &players[first.min(players.len())..];
        let mean = |of: fn(&Account) -> u64| {
            linked.iter().map(|account| of(account) as f64).sum::<f64>() / linked.len().max(1) as f64
        };
        let player = [
            mean(|account| account.bytes_sent),
            mean(|account| account.bytes_received),
            mean(|account| account.packets_sent),
            mean(|account| account.packets_received),
        ];
        (player, server.first().copied().unwrap_or_default())
    }

    /// Returns the mean processor time over the players that ran ticks, if it was measured.
    fn player_cpu(&self) -> Option<f64> {
        let spent = self.players.iter().zip(&self.world.players);
        let spent: Vec<f64> =
            spent.filter_map(|(player, machine)| machine.cpu.us_per_tick(player.ticks_counted)).collect();
        mean(&spent)
    }

    fn server_cpu(&self) -> Option<f64> {
        self.world.server.as_ref()?.cpu.us_per_tick(self.server_ticks())
    }

    /// Returns the number of ticks of the server inside the window.
    fn server_ticks(&self) -> u32 {
        let counted = |at: &&Time| (self.window[0]..self.window[1]).contains(*at);
        self.server_node.ran_at.iter().filter(counted).count() as u32
    }

    /// Returns the tick rate of the slowest node that was not lost.
    fn tick_rate(&self, seconds: f64) -> f64 {
        let players = self.players.iter().filter(|node| !node.is_lost()).map(|node| node.ticks_counted);
        let server = self.world.server.as_ref().and_then(Machine::last_node);
        let server = server.filter(|_| !self.server_node.ran_at.is_empty()).map(|_| self.server_ticks());
        players.chain(server).min().map_or(0.0, |ticks| f64::from(ticks) / seconds)
    }

    /// Returns the number of ticks after the loss of the survivor with the fewest.
    fn ticks_after_loss(&self) -> Option<u32> {
        let survivors = self.players.iter().filter(|node| !node.is_lost());
        let after = survivors.map(|node| Some(node.ticks() - node.ticks_at_loss?));
        after.min().filter(|_| self.cell.experiment == Experiment::HostLost).flatten()
    }

    fn winner(&self) -> Option<u8> {
        let state = self.world.players[0]
            .last_node()?
            .world()
            .filter(|_| self.cell.experiment == Experiment::Outcome)?
            .state();
        let team = state.winner()?;
        let mut seats = self.setup.seats.iter().enumerate();
        seats.find(|(_, seat)| seat.team == team).map(|(seat, _)| PlayerId(seat as u8).0)
    }

    /// Returns the last hash of the player that ran the most ticks, before the first if none ran; 0 if the states of two
    /// players differ after any tick. All pairs are compared but those of which one has continued without the other: the
    /// other may have run its last ticks with inputs that never reached the first.
    fn state_hash(&self) -> u64 {
        let node = |player: &Player| self.world.players[player.player].last_node();
        let here = || self.players.iter().filter(|player| !player.is_lost());
        let continued_without = |one: &Player, other: &Player| {
            let peer = node(one).filter(|_| self.cell.architecture == Architecture::P2p);
            peer.is_some_and(|it| it.session().links().all(|link| usize::from(link.player.0) != other.player))
        };
        let agree = |(one, other): (&Player, &Player)| {
            continued_without(one, other)
                || continued_without(other, one)
                || are_alike(&one.hashes, &other.hashes)
        };
        let mut pairs =
            here().flat_map(|one| here().take_while(|it| it.player < one.player).map(move |it| (one, it)));
        let client =
            |player: &Player| node(player)?.session().client().map(|client| client.updates().differed);
        let has_differed = |player: &Player| client(player).is_some_and(|updates| updates > 0);
        if !pairs.all(agree) || here().any(has_differed) {
            return 0;
        }
        let Some(first) = here().max_by_key(|player| player.ticks()) else { return 0 };
        let start = || node(first).and_then(Match::world).map_or(0, |world| world.hash().whole);
        first.hashes.last().map_or_else(start, |&(_, hash)| hash)
    }
}

/// Whether two players had the same states after the ticks of which both have one: clients of a server need not have the
/// states of the same ticks.
fn are_alike(one: &[(Tick, u64)], other: &[(Tick, u64)]) -> bool {
    one.iter().all(|&(tick, hash)| {
        let found = other.binary_search_by_key(&tick, |&(of, _)| of);
        found.map_or(true, |at| other[at].1 == hash)
    })
}
