//! From the last seat taken to tick 0: the seating, the links between guests, the start.
//!
//! The host sends the seating to every guest. Each guest connects to the other guests, builds the world, and
//! reports the world's hash and the seats it has not heard yet. Once all guests have heard each other and
//! have the same hash, the host sets the instant of tick 0.

use super::play::Play;
use super::{LockstepSession, Phase, Role};
use crate::connection::Connection;
use crate::connection::path::Trust;
use crate::connection::protection::PacketProtection;
use crate::connection::words::AuthString;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::table::admission::READY_WITHIN;
use crate::table::link::Link;
use crate::table::lobby::LobbyNews;
use crate::table::rematch::are_same_players;
use crate::table::words::table_words;
use crate::time::Time;
use crate::wire::message::{Bye, PacketId, Ready, Seating, Seats, Start, encode};
use arrayvec::ArrayVec;
use rand_chacha::rand_core::Rng as _;
use sim::{PLAYERS_MAX, PlayerId, StateHash, Tick};

/// The current seating.
#[derive(Clone, Debug)]
pub(super) struct Seated {
    pub(super) seating: Seating,
    /// The hash of the world before tick 0, once it is built.
    hash: Option<u64>,
    /// Guest: the unheard seats last reported to the host.
    reported: Option<Seats>,
    pub(super) begin: Option<Time>,
}

impl LockstepSession {
    /// Host: sends the seating once all seats are taken and all players are ready; before that, tells who is.
    pub(super) fn seat_all_if_ready(&mut self) {
        let lobby = self.lobby();
        if !LobbyNews::is_complete(&lobby) {
            return self.tell_lobby();
        }
        let Role::Host { room, .. } = &mut self.role else { return };
        room.round = room.round.wrapping_add(1);
        let round = room.round;
        let seats = || (0..lobby.seats.len() as u8).map(PlayerId);
        let addresses = seats().map(|player| self.guest(player).map(|(guest, _)| guest.addresses.clone()));
        let public_keys = seats().map(|player| self.guest(player).map(|(guest, _)| guest.public_key));
        let mut seating = Seating {
            round,
            roster: lobby.seats.iter().flatten().map(|taken| taken.seat).collect(),
            mesh_key: 0,
            addresses: addresses.map(Option::unwrap_or_default).collect(),
            public_keys: public_keys.map(Option::unwrap_or_default).collect(),
            signing_keys: self.signing_keys(lobby.seats.len()),
            words: seats()
                .map(|player| self.words_with(player).map(AuthString::bytes).unwrap_or_default())
                .collect(),
        };
        // A guest must be able to distinguish its links by their ids.
        loop {
            seating.mesh_key = self.rng.next_u64();
            if are_distinct(&seating, |player| Some(self.guest(player)?.0.connection_id)) {
                break;
            }
        }
        self.bind_signatures(&seating);
        self.prepare(seating);
    }

    /// The words of the connection to this player.
    fn words_with(&self, player: PlayerId) -> Option<AuthString> {
        self.links.iter().find(|link| link.player == player)?.connection.protection.words()
    }

    /// All seats are taken: the caller builds the world.
    fn prepare(&mut self, seating: Seating) {
        let roster = seating.roster.clone();
        let own = if self.is_host() { None } else { self.words_with(PlayerId(0)) };
        let words = table_words(&seating, own.map(|words| (self.me, words)));
        self.out.event(Event::Words(words));
        self.seated = Some(Seated { seating, hash: None, reported: None, begin: None });
        self.phase = Phase::Preparing;
        self.out.event(Event::Prepare { roster });
    }

    /// Reports that the world before tick 0 is built, with its hash. Has no effect if a peer has left since
    /// [`Event::Prepare`] asked for it.
    pub fn prepared(&mut self, now: Time, hash: &StateHash) {
        self.now = self.now.max(now);
        let (Phase::Preparing, Some(seated)) = (&self.phase, &mut self.seated) else { return };
        seated.hash = Some(hash.whole);
        let links = self.links.len();
        self.play = Some(Play::new(self.now, &self.config, &self.settings, links));
        self.prepare_fair();
        self.prepare_heads();
        self.phase = Phase::Seating { since: self.now };
        if let Some(seated) = self.seated.as_ref().filter(|_| self.is_host()) {
            let seating = seated.seating.clone();
            self.send_to_all(PacketId::Seating, &seating);
        }
        self.report_ready();
        for link in 0..self.links.len() {
            self.take_messages(link);
        }
    }

    /// Host: at the deadline, guests that are not ready lose their seats, and the room is open again. Guest:
    /// at the deadline, the host has not started the match and will not.
    pub(super) fn seat(&mut self) {
        let Phase::Seating { since } = self.phase else { return };
        if !self.is_host() {
            self.give_up_if_due();
        } else if self.now.since(since) >= READY_WITHIN {
            self.vacate_unready(since);
        }
    }

    /// Guest: reports that the world is built, and again whenever fewer seats are unheard. A seat counts as
    /// heard once it has answered a ping: then datagrams pass in both directions, and its clock is known.
    pub(super) fn report_ready(&mut self) {
        let Some(seated) = self.seated.as_mut().filter(|_| matches!(self.phase, Phase::Seating { .. }))
        else {
            return;
        };
        let (round, Some(state_hash)) = (seated.seating.round, seated.hash) else { return };
        let is_unheard = |link: &&Link| link.connection.clock.ahead_us().is_none();
        let unheard: Seats = self.links.iter().filter(is_unheard).map(|link| link.player).collect();
        if matches!(self.role, Role::Guest { .. }) && seated.reported != Some(unheard) {
            seated.reported = Some(unheard);
            self.send(0, PacketId::Ready, &Ready { round, state_hash, unheard });
        }
    }

    /// Guest: all seats are taken.
    pub(super) fn on_seating(&mut self, link: usize, seating: Seating) -> Handled {
        let seats = usize::from(self.config.seats);
        let counts =
            [seating.roster.len(), seating.addresses.len(), seating.public_keys.len(), seating.words.len()];
        // The keys of each seating are used once.
        let is_later = self.seated.as_ref().is_none_or(|seated| seated.seating.round < seating.round);
        let is_whole = counts == [seats; 4] && is_later && self.has_own_signing_key(&seating);
        let is_open = matches!(self.phase, Phase::Gathering | Phase::Seating { .. } | Phase::Over);
        if self.is_host() || link != 0 || !is_whole || !is_open {
            return Err(OutOfPlace);
        }
        if matches!(self.phase, Phase::Over) && !self.is_rematch() {
            // Another guest's vote is still in transit.
            self.votes.seating = Some(seating);
            return Ok(());
        }
        self.sit_down(&seating).then_some(()).ok_or(OutOfPlace)?;
        if self.seated.is_none() {
            // Only the start is missing: the deadline allows for it, but a host that withholds it gains no
            // more time.
            let start_by = self.now.plus(READY_WITHIN * 2);
            if let Role::Guest { give_up_at: Some(at), .. } = &mut self.role {
                *at = start_by.max(*at);
            }
        }
        self.prepare(seating);
        Ok(())
    }

    /// Guest: checks and takes its seat. In a rematch every player has one, and must have asked for it.
    fn sit_down(&mut self, seating: &Seating) -> bool {
        if self.votes.has_played() || matches!(self.phase, Phase::Over) {
            let own = seating.roster.get(self.me.index());
            let is_own = own.is_some_and(|own| own.hero == self.settings.hero);
            let before = self.seated.as_ref();
            let is_same = before.is_some_and(|it| are_same_players(&seating.roster, &it.seating.roster));
            let is_wanted = self.is_rematch() && is_own && is_same;
            if is_wanted {
                self.begin_anew();
            }
            return is_wanted;
        }
        self.links.truncate(1);
        self.link_guests(seating);
        self.bind_signatures(seating);
        true
    }

    /// Guest: creates links to the other guests, which are heard once both ends know the other's address.
    fn link_guests(&mut self, seating: &Seating) {
        let Role::Guest { via, pair_secret, cipher, .. } = &self.role else { return };
        let told_all = encode(seating);
        let seats = (1..seating.roster.len() as u8).map(PlayerId);
        for player in seats.filter(|&player| player != self.me) {
            let public_key = seating.public_keys.get(player.index()).copied().unwrap_or_default();
            let keys = pair_secret.keys((self.me, player), public_key, &told_all);
            let id = |from, to| mesh_id(seating.mesh_key, from, to);
            let ids = (id(player, self.me), id(self.me, player));
            let protection = PacketProtection::new(ids, &keys, *cipher);
            let given = via.iter().find(|&&(seat, _)| seat == player).map(|&(_, address)| [address]);
            let told = seating.addresses.get(player.index()).map_or(&[][..], |told| told);
            let addresses = given.as_ref().map_or(told, |given| given);
            let trust = if given.is_some() { Trust::Fixed } else { Trust::Told };
            let connection = Connection::new(self.now, (addresses, trust), protection, &mut self.rng);
            self.links.push(Link::new(self.now, player, connection));
        }
    }

    /// Host: a guest has built its world.
    pub(super) fn on_ready(&mut self, link: usize, ready: Ready) -> Handled {
        let Ready { round, state_hash, unheard } = ready;
        let seated = self.seated.as_ref().ok_or(OutOfPlace)?;
        let is_current = matches!(self.phase, Phase::Seating { .. }) && seated.seating.round == round;
        if !self.is_host() || !is_current {
            return Err(OutOfPlace);
        }
        if Some(state_hash) != seated.hash {
            self.dismiss(link, Bye::StartState, End::StartState);
            return Ok(());
        }
        let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
        peer.unheard = Some(unheard);
        if self.links.iter().all(|link| link.is_ready()) {
            let Role::Host { countdown, .. } = self.role else { return Err(OutOfPlace) };
            let begin = self.now.plus(countdown);
            self.send_to_all(PacketId::Start, &Start { begin_us: begin.0 });
            self.begin_running(begin);
        }
        Ok(())
    }

    /// Host: removes guests that are not ready and keep all others waiting. Those that have not answered are
    /// removed first; if all have answered, the guest with the most broken links to other guests; of several,
    /// a guest that is not ready, and then the highest seat.
    fn vacate_unready(&mut self, since: Time) {
        // Time that other guests wasted does not count against the wait for guests.
        let wasted = self.now.since(since);
        if let Role::Host { room, .. } = &mut self.role {
            room.extend(wasted);
        }
        let guests: Seats = self.links.iter().map(|link| link.player).collect();
        let mut is_silent = false;
        for link in (0..self.links.len()).rev() {
            let Some(peer) = self.links.get(link) else { continue };
            // A report that names seats without a guest does not count.
            if peer.unheard.is_none_or(|unheard| !unheard.difference(guests).is_empty()) {
                is_silent = true;
                self.dismiss(link, Bye::Dropped, End::PeerLost(peer.player));
            }
        }
        if is_silent {
            return;
        }
        let names = |a: &Link, b: &Link| a.unheard.is_some_and(|unheard| unheard.contains(b.player));
        let breaks = |a: &Link, b: &Link| names(a, b) || names(b, a);
        let broken = |link: &Link| self.links.iter().filter(|other| breaks(link, other)).count();
        let rank = |link: &Link| (broken(link), !link.is_ready(), link.player);
        let worst = self.links.iter().enumerate().max_by_key(|(_, link)| rank(link));
        let Some((at, worst)) = worst else { return };
        let player = worst.player;
        let other = self.links.iter().find(|other| breaks(worst, other));
        let other = other.map_or(self.me, |other| other.player);
        let (seat, other) = (player.min(other), player.max(other));
        let bye = Bye::Unreachable { seat, other };
        self.dismiss(at, bye, End::Unreachable(seat, other));
    }

    /// Host: removes this guest, and only it. In a rematch nobody can take its place, so the rematch ends.
    fn dismiss(&mut self, link: usize, bye: Bye, end: End) {
        self.send(link, PacketId::Bye, &bye);
        if self.votes.has_played() {
            self.begin_ending(end);
        } else {
            self.turn_out(link);
        }
    }

    /// Guest: the host names the instant of tick 0.
    pub(super) fn on_start(&mut self, link: usize, start: Start) -> Handled {
        if self.is_host() || link != 0 || !matches!(self.phase, Phase::Seating { .. }) {
            return Err(OutOfPlace);
        }
        let begin = self
            .links
            .get(link)
            .ok_or(OutOfPlace)?
            .connection
            .clock
            .local(start.begin_us, self.now)
            .ok_or(OutOfPlace)?;
        self.begin_running(begin);
        Ok(())
    }

    fn begin_running(&mut self, begin: Time) {
        let now = self.now;
        let (Some(play), Some(seated)) = (&mut self.play, &mut self.seated) else { return };
        play.begin(now, begin);
        seated.begin = Some(begin);
        for link in &mut self.links {
            // For guests that have just connected, silence counts from here on.
            link.connection.heard_at = if link.connection.is_heard { link.connection.heard_at } else { now };
            link.resend_at = begin;
        }
        self.phase = Phase::Running;
        self.out.event(Event::Counting { begin });
    }

    /// The longest one-way delay that counts, plus an allowance for jitter and losses: the first guess at the input delay.
    pub(super) fn way_guess_us(&self) -> i64 {
        let ways = self.links.iter().map(|link| link.connection.rtt.longest_way_us());
        let mut ways: ArrayVec<i64, { PLAYERS_MAX - 1 }> = ways.collect();
        self.play.as_ref().map_or(0, |play| play.own.delay.first_guess_us(&mut ways))
    }

    /// Whether a tick has been committed: until then the delay may be reset.
    pub(super) fn has_committed(&self) -> bool {
        self.play.as_ref().is_some_and(|play| play.own.inputs.next() > Tick(0))
    }
}

/// The connection id in datagrams from the guest `from` to the guest `to`.
fn mesh_id(key: u64, from: PlayerId, to: PlayerId) -> u32 {
    twox_hash::XxHash3_64::oneshot_with_seed(key, &[from.0, to.0]) as u32
}

/// Whether every guest is addressed by distinct ids.
fn are_distinct(seating: &Seating, with_host: impl Fn(PlayerId) -> Option<u32>) -> bool {
    let guests = || (1..seating.roster.len() as u8).map(PlayerId);
    guests().all(|to| {
        let others = guests().filter(|&from| from != to).map(|from| mesh_id(seating.mesh_key, from, to));
        let ids: ArrayVec<u32, PLAYERS_MAX> = others.chain(with_host(to)).collect();
        ids.iter().enumerate().all(|(i, id)| ids.iter().position(|other| other == id) == Some(i))
    })
}
