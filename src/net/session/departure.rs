//! Seats that leave or are lost while the others play on, without a host: all who stay agree on the first
//! tick for which such a seat has no input.
//!
//! Who leaves says that tick itself. Who is no longer heard cannot, so those who still hear each other tell
//! each other how many of its inputs they hold ([`Suspicion`]) and from then on take no more from it. Once
//! all of them name the same seats, the tick is the most that any of them holds, and whoever lacks inputs
//! before it gets them from whoever has them ([`Relayed`]). Another loss meanwhile makes a larger set, and
//! all begin again with that. When two peers merely do not hear each other, the higher seat of the two goes.

use arrayvec::ArrayVec;
use core::time::Duration;

use super::{DEAF_FOR, End, Event, LockstepSession, OnLoss, Phase};
use crate::net::link::Link;
use crate::net::message::{Acknowledge, Bye, PacketId, RELAYED_MAX, Relayed, Seats, Suspicion};
use crate::net::time::Time;
use crate::sim::{PLAYERS_MAX, PlayerId, Tick};

/// How long a peer that another one suspects has to answer before it is suspected here, too.
const ANSWER_WITHIN: Duration = Duration::from_millis(1000);
/// Between two suspicions to those who have not settled, at least.
const SUSPICION_EVERY: Duration = Duration::from_millis(50);
/// Between two times that a peer is asked for that the match waits for.
pub(super) const ASK_LOST_EVERY: Duration = Duration::from_millis(500);
/// How many times the wait for an answer two peers need to be in step again after one was lost.
const CAUGHT_UP_WITHIN: u32 = 4;
/// Most relayed datagrams at one time: a peer lacks at most what is kept of the inputs that have passed.
const RELAYED_AT_ONCE: usize = 16;

/// Who is suspected, and what the others say of it.
#[derive(Clone, Debug, Default)]
pub(super) struct Departures {
    suspects: Seats,
    /// Seats of which the departure tick is known and whose inputs before it are here.
    departed: Seats,
    /// What the others said last, by seat.
    said: [Option<Suspicion>; PLAYERS_MAX],
    /// Who complained about whom, and when; until it is clear which of the two goes.
    complaints: ArrayVec<Complaint, { PLAYERS_MAX * PLAYERS_MAX }>,
    send_at: Time,
    /// The last of the others, while it is lost and the match waits for it.
    awaited: Option<PlayerId>,
}

#[derive(Clone, Copy, Debug)]
struct Complaint {
    by: PlayerId,
    about: PlayerId,
    at: Time,
}

impl Departures {
    /// The seats from which nothing more is taken.
    pub(super) const fn suspects(&self) -> Seats {
        self.suspects
    }

    /// For whom the match waits.
    pub(super) const fn awaited(&self) -> Option<PlayerId> {
        self.awaited
    }

    /// Whether nobody is suspected and nobody complains.
    pub(super) fn is_calm(&self) -> bool {
        self.suspects.without(self.departed).is_empty() && self.complaints.is_empty()
    }

    /// When there is something to do, as long as nothing comes in.
    pub(super) fn due_at(&self) -> Option<Time> {
        let answers = self.complaints.iter().map(|complaint| complaint.at.plus(ANSWER_WITHIN));
        let send = (!self.suspects.without(self.departed).is_empty()).then_some(self.send_at);
        answers.chain(send).min()
    }
}

impl LockstepSession {
    /// This seat is not heard any more, or has been given up by the others.
    pub(super) fn suspect(&mut self, player: PlayerId) {
        let Some(play) = &mut self.play else { return };
        if play.departures.suspects.has(player) {
            return;
        }
        play.departures.suspects = play.departures.suspects.with(player);
        play.departures.send_at = self.now;
        if self.others_here().is_empty() {
            // Nobody is left to agree with.
            self.close(End::PeerLost(player));
        }
    }

    /// Whether the match waits for this peer, which is lost: there is nobody else to go on with.
    pub(super) fn waits_for_lost(&self, player: PlayerId) -> bool {
        let others = self.others_here();
        self.settings.on_loss == OnLoss::Wait
            && others.has(player)
            && others.without([player].into_iter().collect()).is_empty()
    }

    /// The last of the others is lost, and the match waits for it. Nothing is decided: if it is heard again,
    /// all goes on where it stopped.
    pub(super) fn wait_for(&mut self, player: PlayerId) {
        let Some(play) = &mut self.play else { return };
        if play.departures.awaited.replace(player) == Some(player) {
            return;
        }
        if let Some(link) = self.link_of(player) {
            self.links[link].is_silent = true;
        }
        self.out.event(Event::Waiting { player });
    }

    /// A peer is heard: if the match waited for it, it goes on.
    pub(super) fn stop_waiting(&mut self, player: PlayerId) {
        let Some(play) = self.play.as_mut().filter(|play| play.departures.awaited == Some(player)) else {
            return;
        };
        play.departures.awaited = None;
        let Some(link) = self.link_of(player) else { return };
        let link = &mut self.links[link];
        link.resend_at = self.now;
        // What comes until both have caught up waited for the way to open, and says nothing of how long it is.
        self.deaf_until = self.now.plus(link.rtt.timeout(DEAF_FOR) * CAUGHT_UP_WITHIN);
    }

    pub(super) fn is_waiting(&self) -> bool {
        self.lost().is_some()
    }

    /// For whom the match waits since it is lost, and when it was last heard.
    #[must_use]
    pub fn lost(&self) -> Option<(PlayerId, Time)> {
        let running = self.play.as_ref().filter(|_| matches!(self.phase, Phase::Running))?;
        let player = running.departures.awaited?;
        Some((player, self.links[self.link_of(player)?].heard_at))
    }

    /// Waits no longer: the match ends with the other lost. Nothing comes of it while nobody is.
    pub fn claim(&mut self) {
        let Some((player, _)) = self.lost() else { return };
        if let Some(link) = self.link_of(player) {
            // In case it hears again.
            self.send(link, PacketId::Bye, &Bye::Dropped);
        }
        self.close(End::PeerLost(player));
    }

    /// The other seats that have neither departed nor are suspected.
    fn others_here(&self) -> Seats {
        let suspects = self.play.as_ref().map_or(Seats::default(), |play| play.departures.suspects);
        self.links
            .iter()
            .filter(|link| !link.is_gone)
            .map(|link| link.player)
            .collect::<Seats>()
            .without(suspects)
    }

    /// What this peer has to say of `seats`.
    fn suspicion(&self, seats: Seats) -> Suspicion {
        let play = self.play.as_ref().expect("running");
        let held = seats.iter().filter(|player| player.index() < self.roster.len());
        Suspicion {
            seats,
            held: held
                .map(|player| play.gate.departed(player).unwrap_or(play.gate.wanted(player)).0)
                .collect(),
            is_settled: seats.without(play.departures.departed).is_empty(),
        }
    }

    /// Judges complaints, tells the others again, and lets seats depart that all agree on.
    pub(super) fn pursue_suspicion(&mut self) {
        if !matches!(self.phase, Phase::Running | Phase::Ending { end: End::Finished, .. }) {
            return;
        }
        self.judge_complaints();
        let Some(play) = &self.play else { return };
        let open = play.departures.suspects.without(play.departures.departed);
        if open.is_empty() || matches!(self.phase, Phase::Closed) {
            return;
        }
        if self.now >= play.departures.send_at {
            let suspicion = self.suspicion(play.departures.suspects);
            let mut again = SUSPICION_EVERY;
            for player in self.others_here().iter() {
                let link = self.link_of(player).expect("here");
                self.send(link, PacketId::Suspicion, &suspicion);
                again = again.max(self.links[link].rtt.timeout(SUSPICION_EVERY));
            }
            let send_at = self.now.plus(again);
            self.play.as_mut().expect("running").departures.send_at = send_at;
        }
        self.settle_suspects();
    }

    /// A complaint whose subject has answered is about the way between the two: the higher seat goes. One
    /// whose subject has not is right.
    fn judge_complaints(&mut self) {
        let Some(play) = &mut self.play else { return };
        let complaints = core::mem::take(&mut play.departures.complaints);
        for complaint in complaints {
            let Complaint { by, about, at } = complaint;
            let play = self.play.as_ref().expect("running");
            if play.departures.suspects.has(about) || play.departures.suspects.has(by) {
                continue;
            }
            let answered = match self.link_of(about) {
                Some(link) => self.links[link].answered_at >= at,
                None => about == self.me,
            };
            let loser = if answered { by.max(about) } else { about };
            if !answered && self.now < at.plus(ANSWER_WITHIN) {
                self.play.as_mut().expect("running").departures.complaints.push(complaint);
            } else if loser == self.me {
                self.close(End::PeerLost(by));
                return;
            } else {
                self.suspect(loser);
            }
        }
    }

    /// A peer does not hear some seats, or agrees with others who do not.
    pub(super) fn on_suspicion(&mut self, link: usize, suspicion: Suspicion) -> Option<()> {
        let is_played = matches!(self.phase, Phase::Running | Phase::Ending { end: End::Finished, .. });
        let (by, now) = (self.links[link].player, self.now);
        let is_whole = suspicion.seats.0 >> self.roster.len() == 0
            && suspicion.held.len() == suspicion.seats.count() as usize
            && suspicion.held.iter().all(|&held| held <= Tick::MAX.0)
            && !suspicion.seats.has(by);
        let play = self.play.as_mut().filter(|_| is_played && is_whole)?;
        if play.departures.suspects.has(by) {
            return None;
        }
        let known = play.departures.suspects.and(play.departures.departed);
        let mut is_news = false;
        for about in suspicion.seats.without(known).iter() {
            let complaint = Complaint { by, about, at: now };
            let is_known = |other: &Complaint| (other.by, other.about) == (by, about);
            if !play.departures.complaints.iter().any(is_known) {
                is_news |= play.departures.complaints.try_push(complaint).is_ok();
            }
        }
        if is_news {
            for link in &mut self.links {
                link.ping_at = now;
            }
        }
        let play = self.play.as_mut()?;
        let is_needed = !suspicion.is_settled;
        let settled = suspicion.seats.without(play.departures.departed).is_empty();
        play.departures.said[by.index()] = Some(suspicion.clone());
        if is_needed {
            self.relay(link, &suspicion);
            if settled {
                let answer = self.suspicion(suspicion.seats);
                self.send(link, PacketId::Suspicion, &answer);
            }
        }
        self.pursue_suspicion();
        Some(())
    }

    /// Sends the inputs of missing seats that the peer lacks and this one has.
    fn relay(&mut self, link: usize, lacking: &Suspicion) {
        let mut relayed = ArrayVec::<Relayed, RELAYED_AT_ONCE>::new();
        let gate = &self.play.as_ref().expect("running").gate;
        for (player, &from) in lacking.seats.iter().zip(&lacking.held) {
            if player == self.me {
                continue;
            }
            let until = gate.departed(player).unwrap_or(gate.wanted(player));
            let mut first = Tick(from);
            while first < until && !relayed.is_full() {
                let ticks = (first.0..until.0).map(Tick).take(RELAYED_MAX);
                let encoded =
                    ticks.map_while(|tick| Some(gate.encoded(player, tick)?.iter().copied().collect()));
                let inputs: ArrayVec<_, RELAYED_MAX> = encoded.collect();
                if inputs.is_empty() {
                    break;
                }
                let next = first.plus(inputs.len() as u32);
                relayed.push(Relayed { player: player.0, first: first.0, inputs });
                first = next;
            }
        }
        for piece in &relayed {
            self.send(link, PacketId::Relayed, piece);
        }
    }

    /// Inputs of a missing seat, from a peer that has them.
    pub(super) fn on_relayed(&mut self, link: usize, relayed: &Relayed) -> Option<()> {
        let (player, by, now) = (PlayerId(relayed.player), self.links[link].player, self.now);
        let play = self.play.as_mut()?;
        let suspects = play.departures.suspects;
        // Only for a seat that is frozen here; else its own word counts.
        if !suspects.has(player) || suspects.has(by) || Tick(relayed.first) > Tick::MAX {
            return None;
        }
        for (tick, bytes) in (relayed.first..).map(Tick).zip(&relayed.inputs) {
            crate::net::message::decode::<crate::sim::PlayerInput>(bytes).ok()?;
            play.gate.push(now, player, tick, bytes).ok()?;
        }
        self.settle_suspects();
        Some(())
    }

    /// Lets the suspects depart once all who stay name the same seats and their inputs are here.
    fn settle_suspects(&mut self) {
        let others = self.others_here();
        let Some(play) = &self.play else { return };
        let suspects = play.departures.suspects;
        let open = suspects.without(play.departures.departed);
        let said = |player: PlayerId| {
            play.departures.said[player.index()].as_ref().filter(|said| said.seats == suspects)
        };
        if open.is_empty() || !others.iter().all(|player| said(player).is_some()) {
            return;
        }
        let living = others.and(open).with(self.me);
        let here = others.with(self.me);
        let has_lowest = living.iter().next() == here.iter().next();
        if here.count() * 2 < living.count() || (here.count() * 2 == living.count() && !has_lowest) {
            // The others are more: they go on.
            self.close(End::PeerLost(open.iter().next().expect("not empty")));
            return;
        }
        let held = |player: PlayerId, said: &Suspicion| {
            let at = suspects.iter().position(|suspect| suspect == player).expect("a suspect");
            Tick(said.held[at])
        };
        let ticks: ArrayVec<(PlayerId, Tick), PLAYERS_MAX> = open
            .iter()
            .map(|player| {
                let told = others.iter().filter_map(|other| Some(held(player, said(other)?))).max();
                (player, told.unwrap_or_default().max(play.gate.wanted(player)))
            })
            .collect();
        if ticks.iter().all(|&(player, tick)| play.gate.wanted(player) >= tick) {
            for (player, tick) in ticks {
                self.depart(player, tick, true);
            }
        }
    }

    /// Lets those depart who have said so and whose inputs are all here.
    pub(super) fn settle_leavers(&mut self) {
        for link in 0..self.links.len() {
            let Link { player, left_at: Some(tick), is_gone: false, .. } = self.links[link] else { continue };
            let wanted = self.play.as_ref().map(|play| play.gate.wanted(player));
            if matches!(self.phase, Phase::Running) && wanted.is_some_and(|wanted| wanted >= tick) {
                self.send(link, PacketId::Acknowledge, &Acknowledge::Left);
                self.depart(player, tick, false);
            }
        }
    }

    /// From `tick` on this seat has no input, here and at all who stay.
    fn depart(&mut self, player: PlayerId, tick: Tick, is_lost: bool) {
        let link = self.link_of(player).expect("a peer");
        let play = self.play.as_mut().expect("running");
        play.gate.depart(player, tick);
        play.departures.departed = play.departures.departed.with(player);
        play.departures.suspects = play.departures.suspects.with(player);
        play.delay.forget(link);
        self.links[link].is_gone = true;
        self.forget_what_all_know();
        let is_last = self.links.iter().all(|link| link.is_gone);
        if is_last {
            self.close(if is_lost { End::PeerLost(player) } else { End::PeerLeft(player) });
        } else {
            self.out.event(Event::Departed { player, tick, is_lost });
        }
    }

    /// A seat that has departed speaks: it may not know yet.
    pub(super) fn on_heard_from_the_gone(&mut self, link: usize, id: PacketId, body: &[u8]) -> Option<()> {
        match id {
            // The answer to its farewell was lost.
            PacketId::Bye if self.links[link].left_at.is_some() => {
                self.send(link, PacketId::Acknowledge, &Acknowledge::Left);
                Some(())
            }
            PacketId::Ping if self.links[link].left_at.is_none() => {
                crate::net::message::decode::<crate::net::message::Ping>(body).ok()?;
                self.send(link, PacketId::Bye, &Bye::Dropped);
                Some(())
            }
            _ => None,
        }
    }

    /// The others have gone on without this peer.
    pub(super) fn on_dropped(&mut self, link: usize) {
        let player = self.links[link].player;
        if matches!(self.phase, Phase::Running) {
            self.suspect(player);
        }
    }

    /// All ticks have run here, and a peer is lost before it said good-bye. For those who stay the match ends
    /// as it would have without it.
    pub(super) fn lose_at_the_end(&mut self, link: usize) {
        let player = self.links[link].player;
        self.links[link].is_gone = true;
        if self.links.iter().all(|link| link.is_gone) {
            self.close(End::PeerLost(player));
        }
    }

    fn link_of(&self, player: PlayerId) -> Option<usize> {
        self.links.iter().position(|link| link.player == player)
    }
}
