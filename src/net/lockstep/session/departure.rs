//! Disconnects of players who leave or are lost while the others play on, without a host: all remaining peers
//! agree on the first tick for which such a player has no input.
//!
//! A peer that leaves names that tick itself. A peer that is silent, or holds the match up ([`super::stalls`]),
//! cannot be asked, so the remaining peers tell each other how many of its inputs they hold ([`Suspicion`])
//! and from then on accept no more from it directly. Each peer suspects on its own evidence alone, never on
//! another's claim. A peer without such evidence answers a suspicion by relaying the inputs it holds
//! ([`Relayed`]), so a broken link between two peers costs them latency but nobody a seat. Once all suspect
//! the same seats, the tick is the highest input that any of them holds, and the missing inputs before it are
//! relayed, too. A further loss during the agreement enlarges the set and restarts the agreement. A peer that
//! keeps the agreement itself from settling is suspected in turn.

use arrayvec::ArrayVec;
use core::time::Duration;

use super::stalls::DECIDE_WITHIN;
use super::{Lockstep, Mesh, SAMPLE_HOLDOFF};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::indexed::BySeat;
use crate::play::link::Link;
use crate::play::stall_budget::longest;
use crate::room::settings::OnLoss;
use crate::time::Time;
use crate::timer::Timer;
use crate::wire::input::{EncodedInput, decode_relayed};
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::limits::RELAYED_MAX;
use crate::wire::message::{Bye, Head, PacketId, Relayed, Seats, Suspicion};
use sim::{PLAYERS_MAX, PlayerId, Tick};

/// Time for which an agreement may stall the match before peers that claim inputs of a suspect without relaying them
/// are suspected, too; at least [`AGREE_TRIES`] times the retransmission timeout of their link.
const AGREE_WITHIN: Duration = Duration::from_secs(2);
/// Extra time for peers that name different seats, in which they must find evidence of their own.
const OWN_EVIDENCE: Duration = Duration::from_secs(1);
/// See [`AGREE_WITHIN`].
const AGREE_TRIES: u32 = 6;
/// Shortest interval between suspicions sent to peers that have not settled.
const SUSPICION_EVERY: Duration = Duration::from_millis(50);
/// Interval between requests to a lost peer for which the match waits.
pub(super) const ASK_LOST_EVERY: Duration = Duration::from_millis(500);
/// Number of retransmission timeouts that two peers need to be in step again after one was lost.
const CAUGHT_UP_WITHIN: u32 = 4;
/// Most relayed datagrams sent at once: a peer lacks at most the inputs that are kept after they have run.
const RELAYED_AT_ONCE: usize = 16;

/// Which seats are suspected, and what the other peers claim about them.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    suspects: Seats,
    /// Seats whose disconnect tick is agreed and whose inputs before it have arrived.
    departed: Seats,
    /// The latest suspicion from each peer.
    said: BySeat<Option<Suspicion>>,
    unchanged: Option<Unchanged>,
    /// The last other peer, while it is lost and the match waits for it.
    awaited: Option<PlayerId>,
}

/// How long the suspects and the next tick have been the same.
#[derive(Clone, Copy, Debug)]
struct Unchanged {
    suspects: Seats,
    next: Tick,
    lasted: Duration,
    /// The peers that claimed inputs which they had not relayed, when this was last brought up to date.
    claims: Seats,
    /// For how much of the time each peer did.
    claimed: BySeat<Duration>,
    /// Time of the last update.
    noted: Time,
}

impl Departures {
    /// The seats whose datagrams are not accepted directly.
    pub(super) const fn suspects(&self) -> Seats {
        self.suspects
    }

    /// The suspects whose disconnect is not agreed yet.
    const fn open(&self) -> Seats {
        self.suspects.difference(self.departed)
    }

    /// The player for whom the match waits.
    pub(super) const fn awaited(&self) -> Option<PlayerId> {
        self.awaited
    }

    /// Whether nobody is suspected.
    pub(super) const fn is_calm(&self) -> bool {
        self.open().is_empty()
    }

    /// How long the suspects and the `next` tick have been the same, and these peers have made their claims. The time
    /// since the last call counts.
    fn unchanged(&mut self, now: Time, next: Tick, claims: Seats) -> Unchanged {
        let suspects = self.suspects;
        let same = self.unchanged.filter(|last| (last.suspects, last.next) == (suspects, next));
        let (mut lasted, mut claimed) = (Duration::ZERO, BySeat::default());
        if let Some(last) = same {
            let since = now.since(last.noted);
            lasted = last.lasted + since;
            claimed = last.claimed;
            for player in last.claims.iter() {
                claimed[player] += since;
            }
        }
        *self.unchanged.insert(Unchanged { suspects, next, lasted, claims, claimed, noted: now })
    }

    /// The latest suspicion of `player`, if it names the seats that are suspected here. Seats already
    /// disconnected here need not be named.
    fn agreed(&self, player: PlayerId) -> Option<&Suspicion> {
        let said = self.said[player].as_ref()?;
        (said.seats.difference(self.departed) == self.open()).then_some(said)
    }

    /// The disconnect tick of `player`, if all of `others` have settled on the same one.
    fn settled_at(&self, others: Seats, player: PlayerId) -> Option<Tick> {
        let mut ticks = others.iter().map(|other| {
            let said = self.said[other].as_ref().filter(|said| said.is_settled)?;
            said.held_of(player)
        });
        let first = ticks.next()??;
        ticks.all(|tick| tick == Some(first)).then_some(first)
    }
}

impl Mesh {
    /// Whether this peer is lost and the match waits for it, because it is the only other one.
    pub(super) fn waits_for_lost(&self, player: PlayerId) -> bool {
        let others = self.others_here();
        self.settings.on_loss == OnLoss::Wait
            && others.contains(player)
            && others.difference([player].into_iter().collect()).is_empty()
    }

    /// The last other peer is lost, and the match waits for it. Nothing is decided: if it is heard again,
    /// play resumes where it stopped.
    pub(super) fn wait_for(&mut self, player: PlayerId) {
        if self.play.departures.awaited.is_some() {
            return;
        }
        self.play.departures.awaited = Some(player);
        if let Some(link) = self.links.iter_mut().find(|link| link.player == player) {
            link.connection.is_silent = true;
        }
        self.out.event(Event::Waiting { player });
    }

    /// A peer is heard: if the match waited for it, play resumes.
    pub(super) fn stop_waiting(&mut self, player: PlayerId) {
        let link = self.links.iter_mut().find(|link| link.player == player);
        let (Some(link), play) = (link, &mut self.play) else { return };
        if play.departures.awaited.take_if(|awaited| *awaited == player).is_none() {
            return;
        }
        play.stalls.came_back(self.now, player, self.settings.timeout);
        link.connection.timers.set(Timer::Resend, self.now);
        // Until both have caught up, arrivals were delayed by the outage and do not measure the network.
        play.ignore_samples_until =
            self.now.plus(link.connection.rtt.timeout(SAMPLE_HOLDOFF) * CAUGHT_UP_WITHIN);
    }

    /// The other seats that are neither disconnected nor suspected.
    fn others_here(&self) -> Seats {
        self.links.iter().filter(|link| link.is_direct()).map(|link| link.player).collect()
    }

    /// This peer's suspicion of `seats`.
    fn suspicion(&self, seats: Seats) -> Suspicion {
        let play = &self.play;
        let held = |player| play.gate.departed(player).unwrap_or(play.gate.next_needed(player)).0;
        let is_settled = seats.difference(play.departures.departed).is_empty();
        let players = seats.iter().filter(|player| player.0 < self.config.seats);
        Suspicion { seats, held: players.map(held).collect(), is_settled }
    }

    /// Nothing is accepted from these seats directly any more.
    fn keep_out(&mut self, seats: Seats) {
        let suspects = &mut self.play.departures.suspects;
        *suspects = suspects.union(seats);
        self.play.timers.set(Timer::Suspicion, self.now);
        for link in self.links.iter_mut().filter(|link| seats.contains(link.player)) {
            link.is_suspect = true;
        }
    }

    /// Relays new inputs of `player` to peers that do not accept them from it directly.
    pub(super) fn relay_onward(&mut self, player: PlayerId, from: Tick) {
        for link in 0..self.links.len() {
            let (play, Some(to)) = (&self.play, self.links.get(link)) else { return };
            let said = play.departures.said[to.player].as_ref();
            let lacks = said.is_some_and(|said| said.seats.contains(player) && !said.is_settled);
            if lacks && to.player != player && !to.is_gone {
                let seats = Seats::default().with(player);
                let held = core::iter::once(from.0).collect();
                self.relay(link, &Suspicion { seats, held, is_settled: false }, Tick::NEVER, None);
            }
        }
    }

    /// Fair: a peer has committed to its inputs from `from` on, and may know those of the peers that it does not hear. What
    /// it lacks before that it asks for again.
    pub(super) fn relay_released(&mut self, link: usize, from: Tick) {
        let (play, Some(to)) = (&self.play, self.links.get(link)) else { return };
        let said = play.departures.said[to.player].as_ref().filter(|said| !said.is_settled).cloned();
        if let Some(mut said) = said {
            said.held.iter_mut().for_each(|held| *held = from.0.max(*held));
            self.relay(link, &said, Tick::NEVER, None);
        }
    }

    /// Sends the inputs of missing seats that this peer has and the other lacks, of ticks `before` one. In a fair match only of ticks for
    /// which that one has committed to its own: their authors did not wait for it.
    pub(super) fn relay(&mut self, link: usize, lacking: &Suspicion, before: Tick, head: Option<Head>) {
        let mut relayed = ArrayVec::<Relayed, RELAYED_AT_ONCE>::new();
        let (play, Some(to)) = (&self.play, self.links.get(link)) else { return };
        let (gate, may_know) = (&play.gate, play.fair.as_ref().map(|fair| fair.until(to.player)));
        for (player, &from) in lacking.seats.iter().zip(&lacking.held) {
            if player == self.me {
                continue;
            }
            let until = gate.departed(player).unwrap_or(gate.next_needed(player)).min(before);
            let until = may_know.map_or(until, |may_know| until.min(may_know));
            let mut first = Tick(from);
            while first < until && !relayed.is_full() {
                // A head goes with the inputs at whose end it is.
                let end =
                    head.map(|head| Tick(head.tick)).filter(|&end| end > first).unwrap_or(until).min(until);
                let ticks = (first.0..end.0).map(Tick).take(RELAYED_MAX);
                let encoded =
                    ticks.map_while(|tick| Some(gate.encoded(player, tick)?.iter().copied().collect()));
                let inputs: ArrayVec<_, RELAYED_MAX> = encoded.collect();
                if inputs.is_empty() {
                    break;
                }
                let next = first.plus(inputs.len() as u32);
                let head = head.filter(|head| Tick(head.tick) == next);
                relayed.push(Relayed { player, first: first.0, inputs, head });
                first = next;
            }
        }
        self.send_relayed(link, &relayed);
    }

    /// Takes inputs of a missing seat, relayed by a peer that has them.
    pub(super) fn take_relayed(&mut self, link: usize, relayed: &Relayed) -> Handled {
        let (player, by, now) = (relayed.player, self.links.get(link).ok_or(OutOfPlace)?.player, self.now);
        let play = &mut self.play;
        let suspects = play.departures.suspects;
        let is_suspect = suspects.contains(player);
        // Any other seat speaks for itself, unless it claims to have run ticks without sending its inputs for them, or
        // has signed them.
        let claimed = self.links.iter().find(|link| link.player == player).map(|link| link.claims.ran);
        let before = if is_suspect { Tick::NEVER } else { claimed.unwrap_or_default() };
        let is_relayed =
            is_suspect || play.stalls.relayed(now).contains(player) && Tick(relayed.first) < before;
        if player == self.me || suspects.contains(by) || Tick(relayed.first) > Tick::MAX {
            return Err(OutOfPlace);
        }
        // All of it is validated before any of it is used.
        let inputs = relayed.inputs.iter().map(|bytes| decode_relayed(bytes));
        let inputs = inputs.collect::<Result<ArrayVec<EncodedInput, RELAYED_MAX>, _>>()?;
        let claimed = if is_relayed { before.since(Tick(relayed.first)) as usize } else { 0 };
        play.gate.push(now, player, Tick(relayed.first), inputs.iter().take(claimed))?;
        if claimed < inputs.len() {
            return self.take_signed(by, relayed, &inputs);
        }
        Ok(())
    }

    /// Suspects that all remaining peers have disconnected, and from which tick on. They agreed while this peer named the same
    /// seats; since then it may suspect another, against which they have no evidence, and then it never agrees with them
    /// again.
    fn settled(&self, others: Seats) -> ArrayVec<(PlayerId, Tick), PLAYERS_MAX> {
        let (departures, gate) = (&self.play.departures, &self.play.gate);
        let settled = departures.open().iter().filter_map(|player| {
            let tick = departures.settled_at(others, player)?;
            // Not if the tick has run here, or inputs before it are missing.
            (gate.next() <= tick && tick <= gate.next_needed(player)).then_some((player, tick))
        });
        settled.collect()
    }

    /// The peers that keep an agreement from settling while it holds the match up: those that name other
    /// seats, and those that claim inputs of a suspect and do not relay them.
    fn dissenters(&mut self) -> Seats {
        let others = self.others_here();
        let now = self.now;
        let play = &mut self.play;
        let suspects = play.departures.suspects;
        let claims_more = |said: &Suspicion| {
            let claims = said.seats.iter().zip(&said.held);
            { claims }
                .any(|(seat, &held)| suspects.contains(seat) && play.gate.next_needed(seat) < Tick(held))
        };
        // A peer that names other seats may still be gathering evidence of its own.
        let differs: Seats =
            others.iter().filter(|&player| play.departures.agreed(player).is_none()).collect();
        let claims: Seats =
            others.iter().filter(|&player| play.departures.agreed(player).is_some_and(claims_more)).collect();
        let unchanged = play.departures.unchanged(now, play.gate.next(), claims);
        let is_held_up = play.departures.open().iter().any(|player| play.gate.lacks(player));
        if !is_held_up {
            return Seats::default();
        }
        // A whole budget may have to be spent there, and in a match of windows a user decides then.
        let decide = if self.settings.on_loss == OnLoss::Wait { DECIDE_WITHIN } else { Duration::ZERO };
        let to_agree = longest(self.settings.timeout) + OWN_EVIDENCE + decide;
        let lasts = |link: &&Link| {
            let (lasted, least) = if differs.contains(link.player) {
                (unchanged.lasted, to_agree)
            } else {
                (unchanged.claimed[link.player], AGREE_WITHIN)
            };
            let tries = link.connection.rtt.timeout(SUSPICION_EVERY).saturating_mul(AGREE_TRIES);
            differs.union(claims).contains(link.player) && lasted >= least.max(tries)
        };
        self.links.iter().filter(lasts).map(|link| link.player).collect()
    }

    /// The seats that have said that they leave.
    fn leavers(&self) -> Seats {
        self.links.iter().filter(|link| link.left_at.is_some()).map(|link| link.player).collect()
    }

    /// The links to these seats.
    fn links_to(&self, seats: Seats) -> impl Iterator<Item = usize> + use<> {
        let links: ArrayVec<usize, PLAYERS_MAX> = self
            .links
            .iter()
            .enumerate()
            .filter(|(_, link)| seats.contains(link.player))
            .map(|(at, _)| at)
            .collect();
        links.into_iter()
    }

    fn link_of(&self, player: PlayerId) -> Option<usize> {
        self.links.iter().position(|link| link.player == player)
    }
}

impl Lockstep {
    /// Suspects this seat: it is silent, or the others have given it up.
    pub(super) fn suspect(&mut self, player: PlayerId) {
        if self.mesh.play.departures.suspects.contains(player) {
            return;
        }
        self.mesh.keep_out(Seats::one(player));
        if let Some(link) = self.mesh.link_of(player) {
            // So that this peer, too, gets the missing inputs from the others.
            self.mesh.send(link, PacketId::Bye, &Bye::Dropped);
        }
        if self.mesh.others_here().is_empty() {
            // There is nobody left to agree with.
            self.close(End::PeerLost(player));
        }
    }

    /// The last of the other players, if it is lost or has spent its budget, and since when: when it was last heard, or
    /// began to hold the match up.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        let running = self.phase.is_running().then_some(&self.mesh.play)?;
        let player = running.departures.awaited().or_else(|| self.mesh.held_up_by_last())?;
        let heard_at = self.mesh.links.iter().find(|link| link.player == player)?.connection.heard_at;
        Some((player, running.stalls.since(player).map_or(heard_at, |since| since.min(heard_at))))
    }

    /// Stops waiting: the match ends with the other player lost. Has no effect while nobody is.
    pub fn claim(&mut self) {
        let Some((player, _)) = self.lost() else { return };
        if let Some(link) = self.mesh.link_of(player) {
            // In case that peer becomes reachable again.
            self.mesh.send(link, PacketId::Bye, &Bye::Dropped);
        }
        self.close(End::PeerLost(player));
    }

    /// Repeats our suspicions to the others, and disconnects the seats that all agree on.
    pub(super) fn agree_on_suspects(&mut self) {
        let play = &mut self.mesh.play;
        if !self.phase.is_agreeing() || play.departures.is_calm() {
            play.timers.set(Timer::Suspicion, None);
            return;
        }
        if play.timers.is_due(Timer::Suspicion, self.mesh.now) {
            let suspicion = self.mesh.suspicion(self.mesh.play.departures.suspects);
            let mut again = SUSPICION_EVERY;
            for link in self.mesh.links_to(self.mesh.others_here()) {
                self.mesh.send(link, PacketId::Suspicion, &suspicion);
                again = again.max(self.mesh.timeout_of(link, SUSPICION_EVERY));
            }
            self.mesh.play.timers.set(Timer::Suspicion, self.mesh.now.plus(again));
        }
        for player in self.mesh.dissenters().iter() {
            self.suspect(player);
        }
        self.settle_suspects();
    }

    /// Handles a suspicion. Seats without evidence against them here are not suspected because of it; instead
    /// the peer gets the inputs of theirs that it lacks.
    pub(super) fn on_suspicion(&mut self, link: usize, suspicion: Suspicion) -> Handled {
        let by = self.mesh.links.get(link).ok_or(OutOfPlace)?.player;
        let play = self.phase.is_agreeing().then_some(&self.mesh.play).ok_or(OutOfPlace)?;
        // No peer can hold inputs that were never committed, and none are committed farther ahead.
        let held_max = play.gate.next().plus(QUEUE_TICKS).min(Tick::MAX);
        let is_whole = suspicion.seats.bits() >> self.mesh.config.seats == 0
            && suspicion.held.len() == suspicion.seats.count() as usize
            && suspicion.held.iter().all(|&held| Tick(held) <= held_max)
            && !suspicion.seats.contains(by);
        if !is_whole || play.departures.suspects.contains(by) {
            return Err(OutOfPlace);
        }
        let settled = suspicion.seats.intersection(play.departures.departed);
        if !suspicion.is_settled && self.mesh.may_answer(link) {
            self.mesh.relay(link, &suspicion, Tick::NEVER, None);
            if !settled.is_empty() {
                let answer = self.mesh.suspicion(settled);
                self.mesh.send(link, PacketId::Suspicion, &answer);
            }
        }
        let play = &mut self.mesh.play;
        play.stalls.names_cause(self.mesh.now, by);
        play.departures.said[by] = Some(suspicion);
        self.agree_on_suspects();
        Ok(())
    }

    /// Disconnects the suspects once all remaining peers name the same seats and their inputs have arrived.
    pub(super) fn settle_suspects(&mut self) {
        let others = self.mesh.others_here();
        for (player, tick) in self.mesh.settled(others) {
            self.depart(player, tick, !self.mesh.leavers().contains(player));
        }
        let play = &self.mesh.play;
        let departures = &play.departures;
        let open = departures.open();
        let Some(first) = open.iter().next() else { return };
        if !others.iter().all(|player| departures.agreed(player).is_some()) {
            return;
        }
        let left = self.mesh.leavers();
        let living = others.union(open.difference(left)).with(self.mesh.me);
        let here = others.with(self.mesh.me);
        let has_lowest = living.iter().next() == here.iter().next();
        if here.count() * 2 < living.count() || (here.count() * 2 == living.count() && !has_lowest) {
            // The others are the majority: the match continues there.
            self.close(End::PeerLost(first));
            return;
        }
        let held = |player: PlayerId| {
            let said = others.iter().filter_map(|other| departures.agreed(other));
            said.filter_map(|said| said.held_of(player))
                .max()
                .unwrap_or_default()
                .max(play.gate.next_needed(player))
        };
        let ticks: ArrayVec<(PlayerId, Tick), PLAYERS_MAX> =
            open.iter().map(|player| (player, held(player))).collect();
        if ticks.iter().all(|&(player, tick)| play.gate.next_needed(player) >= tick) {
            for (player, tick) in ticks {
                self.depart(player, tick, !left.contains(player));
            }
        }
    }

    /// Begins the disconnect of players who have said that they leave and whose inputs have all arrived. It
    /// is agreed like any other, because a peer could say goodbye to some and play on with others.
    pub(super) fn settle_leavers(&mut self) {
        if !self.phase.is_running() {
            return;
        }
        let play = &self.mesh.play;
        let leaves = |link: &&Link| {
            let is_here = |tick| play.gate.next_needed(link.player) >= tick;
            link.is_direct() && link.left_at.is_some_and(is_here)
        };
        let leavers: Seats = self.mesh.links.iter().filter(leaves).map(|link| link.player).collect();
        if leavers.is_empty() {
            return;
        }
        self.mesh.keep_out(leavers);
        for link in self.mesh.links_to(leavers) {
            // All its inputs have arrived; it need not wait for their acknowledgement.
            self.mesh.send(link, PacketId::Bye, &Bye::Dropped);
        }
        self.agree_on_suspects();
    }

    /// From `tick` on this seat has no input, here and at all remaining peers.
    fn depart(&mut self, player: PlayerId, tick: Tick, is_lost: bool) {
        let (Some(link), play) = (self.mesh.link_of(player), &mut self.mesh.play) else { return };
        if play.gate.disconnect_at(player, tick).is_err() {
            // What the others have agreed on can no longer be played here.
            self.close(End::PeerLost(player));
            return;
        }
        play.departures.departed = play.departures.departed.with(player);
        play.departures.suspects = play.departures.suspects.with(player);
        play.own.delay.forget(link);
        if let Some(fair) = &mut play.fair {
            fair.lead.forget(link);
        }
        if let Some(peer) = self.mesh.links.get_mut(link) {
            peer.is_gone = true;
        }
        self.mesh.forget_what_all_know();
        let is_last = self.mesh.links.iter().all(|link| link.is_gone);
        if is_last {
            self.close(if is_lost { End::PeerLost(player) } else { End::PeerLeft(player) });
        } else {
            self.mesh.out.event(Event::Departed { player, tick, is_lost });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disconnect_is_settled_once_all_others_name_the_same_tick() {
        let (gone, others) = (PlayerId(2), [PlayerId(1), PlayerId(3)]);
        let settled = |said: [Option<(u32, bool)>; 2]| {
            let mut departures = Departures::default();
            for (other, said) in others.into_iter().zip(said) {
                departures.said[other] = said.map(|(held, is_settled)| Suspicion {
                    seats: [gone].into_iter().collect(),
                    held: [held].into_iter().collect(),
                    is_settled,
                });
            }
            departures.settled_at(others.into_iter().collect(), gone)
        };
        assert_eq!(settled([Some((40, true)); 2]), Some(Tick(40)));
        assert_eq!(settled([Some((40, true)), Some((41, true))]), None, "another tick");
        assert_eq!(settled([Some((40, true)), Some((40, false))]), None, "it still lacks something");
        assert_eq!(settled([Some((40, true)), None]), None, "it has said nothing");
    }
}
