//! Signed chain heads in a session: sent while ticks run, and shown to each other once inputs differ ([`Heads`]).

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::{LockstepSession, Phase};
use crate::connection::keys::CipherKind;
use crate::connection::signing::{Signer, SigningKey};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::lockstep::gate::{QUEUE_TICKS, TooFarAhead};
use crate::lockstep::heads::{Equivocation, HEADS_SHOWN_MAX, Heads, SIGNED_SEATS_MIN};
use crate::table::link::Link;
use crate::wire::message::{Head, PacketId, Relayed, Seating, ShownHead, encode};
use sim::{PLAYERS_MAX, PlayerId, Tick};

const MATCH: &str = "mini-rts-arena 2026-11 the match in which heads are signed";

/// By what this seat signs, and what its signatures are bound to.
pub(super) struct Signing {
    signer: Signer,
    cipher: CipherKind,
    /// Of the first seating, from which the keys between guests follow, too. Those of rematches have no part in it: two
    /// guests could be told different ones, and would find each other's signatures false.
    seating: [u8; 32],
    keys: ArrayVec<SigningKey, PLAYERS_MAX>,
    /// The number of matches over these links before this one.
    pub(super) game: u32,
}

impl Signing {
    pub(super) const fn new(signer: Signer, cipher: CipherKind) -> Self {
        Self { signer, cipher, seating: [0; 32], keys: ArrayVec::new_const(), game: 0 }
    }
}

impl LockstepSession {
    /// Host: the public keys that verify the signatures of all seats.
    pub(super) fn signing_keys(&self, seats: usize) -> ArrayVec<SigningKey, PLAYERS_MAX> {
        if seats < SIGNED_SEATS_MIN {
            return ArrayVec::new();
        }
        let own = self.signing.signer.public();
        let key = |player| self.guest(player).map_or(own, |(guest, _)| guest.signing_key);
        (0..seats as u8).map(PlayerId).map(key).collect()
    }

    /// Guest: whether all are told the key that this seat signs with, where it signs.
    pub(super) fn has_own_signing_key(&self, seating: &Seating) -> bool {
        let seats = seating.roster.len();
        let keys = &seating.signing_keys;
        let is_own = || keys.get(self.me.index()) == Some(&self.signing.signer.public());
        if seats < SIGNED_SEATS_MIN { keys.is_empty() } else { keys.len() == seats && is_own() }
    }

    /// Binds all signatures of this session to its first seating.
    pub(super) fn bind_signatures(&mut self, seating: &Seating) {
        if !self.votes.has_played() {
            self.signing.seating = *blake3::hash(&encode(seating)).as_bytes();
            self.signing.keys.clone_from(&seating.signing_keys);
        }
    }

    /// Before tick 0: prepares to sign and to check, if the match is one of three or more.
    pub(super) fn prepare_heads(&mut self) {
        let Some(play) = &mut self.play else { return };
        let Signing { cipher, seating, keys, game, .. } = &self.signing;
        if keys.len() < SIGNED_SEATS_MIN {
            return;
        }
        let mut hasher = blake3::Hasher::new_derive_key(MATCH);
        hasher.update(seating).update(&game.to_le_bytes());
        let id = (*hasher.finalize().as_bytes(), self.me);
        play.heads = Some(Box::new(Heads::new(self.now, id, keys, *cipher, self.config.tick_rate)));
    }

    /// Signs what was told, if that is due.
    pub(super) fn tell_heads(&mut self) {
        let now = self.now;
        let Some(play) = &mut self.play else { return };
        let (told, is_urgent) = (play.revealed(), play.stalls.is_signing(now));
        let Some(heads) = &mut play.heads else { return };
        let Some(tick) = heads.take_due(now, told, is_urgent) else { return };
        heads.extend(&play.gate);
        let mut last: Option<([u8; 32], Head)> = None;
        for link in 0..self.links.len() {
            let Some(peer) = self.links.get(link).filter(|peer| self.is_direct(peer)) else { continue };
            let heads = self.play.as_ref().and_then(|play| play.heads.as_ref());
            let Some((chain, bytes)) = heads.and_then(|heads| heads.own(peer.player, tick)) else { return };
            let signed = last.filter(|&(of, _)| of == chain).map(|(_, head)| head);
            let head =
                signed.unwrap_or_else(|| Head { tick: tick.0, signature: self.signing.signer.sign(&bytes) });
            last = Some((chain, head));
            self.send(link, PacketId::Head, &head);
        }
    }

    /// A peer has signed its inputs.
    pub(super) fn on_head(&mut self, link: usize, head: Head) -> Handled {
        let peer = self.links.get(link).filter(|peer| self.is_direct(peer)).ok_or(OutOfPlace)?;
        let player = peer.player;
        let play = self.play.as_mut().ok_or(OutOfPlace)?;
        let heads = play.heads.as_mut().ok_or(OutOfPlace)?;
        let before = heads.newest(player);
        heads.receive(self.now, player, head, &play.gate)?;
        self.after_head(player, before);
        Ok(())
    }

    /// Inputs of a player have arrived: checks a head that was waiting for them.
    pub(super) fn check_head_of(&mut self, player: PlayerId) {
        let Some(play) = &mut self.play else { return };
        if let Some(heads) = &mut play.heads {
            let before = heads.newest(player);
            heads.check_waiting(player, &play.gate);
            self.after_head(player, before);
        }
    }

    /// Heads of a player may have been checked; the newest was that of the tick `before`.
    fn after_head(&mut self, player: PlayerId, before: Tick) {
        self.suspect_false_signers();
        let heads = self.play.as_ref().and_then(|play| play.heads.as_ref());
        if heads.is_some_and(|heads| heads.newest(player) > before) {
            self.relay_signed(player, before);
        }
    }

    /// The newest head of a seat, if it is over inputs that this link's peer may lack. In a fair match an input counts only
    /// beside its commitment.
    pub(super) fn head_for(&self, link: usize, seat: PlayerId) -> Option<Head> {
        let (play, peer) = (self.play.as_ref().filter(|play| play.fair.is_none())?, self.links.get(link)?);
        let shown = play.heads.as_ref()?.kept(seat, peer.claims.ran.plus(1)).next_back()?;
        Some(Head { tick: shown.tick, signature: shown.signature })
    }

    /// Takes inputs of a seat that are lacking here, relayed by a peer, as far as their author has signed them.
    pub(super) fn take_signed(&mut self, by: PlayerId, relayed: &Relayed) -> Handled {
        let (now, author) = (self.now, relayed.player);
        let play = self.play.as_mut().ok_or(OutOfPlace)?;
        let heads = play.heads.as_mut().ok_or(OutOfPlace)?;
        play.stalls.since(author).filter(|_| play.fair.is_none()).ok_or(OutOfPlace)?;
        let from = play.gate.next_needed(author);
        let Some((head, run)) = play.stalls.take_run(by, relayed, from) else { return Ok(()) };
        heads.extend(&play.gate);
        let count = heads.check_relayed(now, by, (author, &head), run.iter().map(|(_, input)| &input[..]))?;
        for (tick, input) in run.iter().take(count) {
            play.gate.push(now, author, *tick, input)?;
        }
        Ok(())
    }

    /// Suspects peers that have signed other inputs than they have told here, or sign nothing. Others may have nothing
    /// against them, and then relay.
    pub(super) fn suspect_false_signers(&mut self) {
        if !self.is_agreeing() {
            return;
        }
        let Some(play) = &self.play else { return };
        let Some(heads) = &play.heads else { return };
        let next = play.gate.next();
        let is_false = |link: &&Link| self.is_direct(link) && heads.is_false(link.player, next);
        let signers: ArrayVec<PlayerId, PLAYERS_MAX> =
            self.links.iter().filter(is_false).map(|link| link.player).collect();
        for player in signers {
            self.suspect(player);
        }
    }

    /// Inputs differ: shows the others the own head, those that the others have sent, and those that they show here.
    pub(super) fn show_heads(&mut self) {
        let Phase::Searching { search, .. } = &mut self.phase else { return };
        let (Some(at), Some(play)) = (search.split, &mut self.play) else { return };
        let Some(heads) = &mut play.heads else { return };
        heads.extend(&play.gate);
        let is_first = !core::mem::replace(&mut search.has_shown, true);
        let mut sends: Vec<(usize, ShownHead)> = Vec::new();
        let player = |link: usize| self.links.get(link).map(|peer| peer.player);
        for link in search.links().filter(|_| is_first) {
            let Some(to) = player(link) else { continue };
            if let Some((chain, bytes)) = heads.own(to, at) {
                let signature = self.signing.signer.sign(&bytes);
                sends.push((link, ShownHead { seat: self.me, tick: at.0, chain, signature }));
            }
            let seats = (0..self.config.seats).map(PlayerId);
            let others = seats.filter(|&seat| seat != self.me && seat != to);
            sends.extend(others.flat_map(|seat| heads.kept(seat, at)).map(|shown| (link, shown)));
        }
        for from in search.links() {
            let own = |shown: &&ShownHead| Some(shown.seat) == player(from) && Tick(shown.tick) == at;
            let Some(shown) = self.links.get(from).and_then(|peer| peer.claims.shown.iter().find(own)) else {
                continue;
            };
            if !search.passed_on.contains(shown.seat) {
                search.passed_on = search.passed_on.with(shown.seat);
                sends.extend(search.links().filter(|&to| to != from).map(|to| (to, *shown)));
            }
        }
        for (link, shown) in sends {
            self.send(link, PacketId::ShownHead, &shown);
        }
    }

    /// A peer shows a head: its own, or another's that it was sent or shown.
    pub(super) fn on_shown_head(&mut self, link: usize, shown: ShownHead) -> Handled {
        let peer = self.links.get(link).filter(|peer| self.is_direct(peer)).ok_or(OutOfPlace)?;
        let (by, is_searching) = (peer.player, matches!(self.phase, Phase::Searching { .. }));
        let is_known = |known: &ShownHead| (known.seat, known.tick) == (shown.seat, shown.tick);
        if shown.seat == self.me || !(is_searching || self.is_agreeing()) {
            return Err(OutOfPlace);
        }
        if peer.claims.shown.iter().any(is_known) {
            return Err(DropCause::Stale);
        }
        let play = self.play.as_mut().ok_or(OutOfPlace)?;
        let (tick, next) = (Tick(shown.tick), play.gate.next());
        if tick.since(next) > QUEUE_TICKS || peer.claims.shown.len() >= HEADS_SHOWN_MAX {
            return Err(TooFarAhead { tick, next }.into());
        }
        play.heads.as_mut().ok_or(OutOfPlace)?.check_shown(self.now, by, &shown)?;
        self.links.get_mut(link).ok_or(OutOfPlace)?.claims.shown.push(shown);
        self.show_heads();
        Ok(())
    }

    /// Whether all that the others have to show is here.
    pub(super) fn has_seen_heads(&self) -> bool {
        let Phase::Searching { search, .. } = &self.phase else { return false };
        let Some(at) = search.split else { return true };
        let shows = |by: usize, seat: PlayerId| {
            let shown = self.links.get(by).map_or(&[][..], |peer| &peer.claims.shown);
            shown.iter().any(|shown| shown.seat == seat && Tick(shown.tick) == at)
        };
        let players: ArrayVec<PlayerId, PLAYERS_MAX> =
            search.links().filter_map(|link| Some(self.links.get(link)?.player)).collect();
        search.links().all(|by| players.iter().all(|&seat| shows(by, seat)))
    }

    /// The proof in all heads that are known here, if there is one.
    pub(super) fn equivocation(&self) -> Option<Equivocation> {
        let Phase::Searching { search, .. } = &self.phase else { return None };
        let (at, heads) = (search.split?, self.play.as_ref()?.heads.as_ref()?);
        let shown = search.links().filter_map(|link| self.links.get(link));
        let shown = shown.flat_map(|peer| peer.claims.shown.iter().copied());
        let seats = (0..self.config.seats).map(PlayerId).filter(|&seat| seat != self.me);
        let mut all: Vec<ShownHead> = shown.chain(seats.flat_map(|seat| heads.kept(seat, at))).collect();
        heads.proof(&mut all)
    }

    /// Whether the peer at the other end of this link has shown a head of another seat that is not over what that seat told
    /// here. Only its author can have signed it.
    pub(super) fn was_lied_to(&self, link: usize) -> bool {
        let Some(peer) = self.links.get(link) else { return false };
        let Some(heads) = self.play.as_ref().and_then(|play| play.heads.as_ref()) else { return false };
        peer.claims.shown.iter().any(|shown| {
            let told = heads.chain(shown.seat, Tick(shown.tick));
            shown.seat != peer.player && told.is_some_and(|told| told != shown.chain)
        })
    }

    /// Signs for the peer at this address as if it were told another control of the hero in the tick with this low
    /// half, and not in others.
    #[cfg(feature = "doors")]
    pub fn sign_another(&mut self, to: core::net::SocketAddr, tick: u16, hero: sim::HeroControl) {
        let is_to = |link: &&Link| link.connection.addresses().contains(&to);
        let Some(to) = self.links.iter().find(is_to).map(|link| link.player) else { return };
        let Some(play) = &mut self.play else { return };
        let next = play.gate.next_needed(self.me);
        let Some(tick) = next.0.checked_sub(u32::from((next.0 as u16).wrapping_sub(tick))) else { return };
        if let Some(heads) = &mut play.heads {
            heads.extend(&play.gate);
            heads.lie(to, Tick(tick), hero);
        }
    }
}
