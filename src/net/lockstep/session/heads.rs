//! Signed chain heads in a session: sent while ticks run, and shown to each other once inputs differ ([`Heads`]).

use alloc::boxed::Box;
use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::{Lockstep, Mesh, Phase};
use crate::connection::keys::CipherKind;
use crate::connection::signing::{SIGNED_SEATS_MIN, Signer};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::lockstep::desync::Search;
use crate::lockstep::heads::{HEADS_SHOWN_MAX, Heads};
use crate::play::link::Link;
use crate::time::Time;
use crate::wire::input::EncodedInput;
use crate::wire::limits::QUEUE_TICKS;
use crate::wire::message::{Equivocation, Head, PacketId, Relayed, Seating, ShownHead, encode};
use sim::{PLAYERS_MAX, PlayerId, Tick, TickRate};

const MATCH: &str = "mini-rts-arena 2026-11 the match in which heads are signed";

/// Signs for this seat.
pub(super) struct Signing {
    signer: Signer,
    cipher: CipherKind,
}

impl Signing {
    pub(super) const fn new(signer: Signer, cipher: CipherKind) -> Self {
        Self { signer, cipher }
    }

    /// Before tick 0: prepares to sign and to check, if the match is one of three or more. All signatures are bound to the
    /// seating, as the keys between guests are: guests with different seatings do not reach each other.
    pub(super) fn heads(
        &self,
        now: Time,
        (seating, me): (&Seating, PlayerId),
        rate: TickRate,
    ) -> Option<Box<Heads>> {
        if seating.signing_keys.len() < SIGNED_SEATS_MIN {
            return None;
        }
        let id = (blake3::derive_key(MATCH, &encode(seating)), me);
        Some(Box::new(Heads::new(now, id, &seating.signing_keys, self.cipher, rate)))
    }
}

impl Mesh {
    /// Signs what was told, if that is due.
    pub(super) fn tell_heads(&mut self) {
        let now = self.now;
        let play = &mut self.play;
        let (told, is_urgent) = (play.revealed(), play.stalls.is_signing(now));
        let Some(heads) = &mut play.heads else { return };
        let Some(tick) = heads.take_due(now, told, is_urgent) else { return };
        heads.extend(&play.gate);
        let mut last: Option<([u8; 32], Head)> = None;
        for link in 0..self.links.len() {
            let Some(peer) = self.links.get(link).filter(|peer| peer.is_direct()) else { continue };
            let heads = self.play.heads.as_ref();
            let Some((chain, bytes)) = heads.and_then(|heads| heads.own(peer.player, tick)) else { return };
            let signed = last.filter(|&(of, _)| of == chain).map(|(_, head)| head);
            let head =
                signed.unwrap_or_else(|| Head { tick: tick.0, signature: self.signing.signer.sign(&bytes) });
            last = Some((chain, head));
            self.send(link, PacketId::Head, &head);
        }
    }

    /// A peer has signed its inputs.
    pub(super) fn take_head(&mut self, link: usize, head: Head) -> Handled {
        let peer = self.links.get(link).filter(|peer| peer.is_direct()).ok_or(OutOfPlace)?;
        let player = peer.player;
        let play = &mut self.play;
        let heads = play.heads.as_mut().ok_or(OutOfPlace)?;
        let before = heads.newest(player);
        heads.receive(self.now, player, head, &play.gate)?;
        self.after_head(player, before);
        Ok(())
    }

    /// Inputs of a player have arrived: checks a head that was waiting for them.
    pub(super) fn check_head_of(&mut self, player: PlayerId) {
        let play = &mut self.play;
        if let Some(heads) = &mut play.heads {
            let before = heads.newest(player);
            heads.check_waiting(player, &play.gate);
            self.after_head(player, before);
        }
    }

    /// Heads of a player may have been checked; the newest was that of the tick `before`.
    fn after_head(&mut self, player: PlayerId, before: Tick) {
        let heads = self.play.heads.as_ref();
        if heads.is_some_and(|heads| heads.newest(player) > before) {
            self.relay_signed(player, before);
        }
    }

    /// The newest head of a seat, if it is over inputs that this link's peer may lack. In a fair match an input counts only
    /// beside its commitment.
    pub(super) fn head_for(&self, link: usize, seat: PlayerId) -> Option<Head> {
        let peer = self.links.get(link).filter(|_| self.play.fair.is_none())?;
        let shown = self.play.heads.as_ref()?.kept(seat, peer.claims.ran.plus(1)).next_back()?;
        Some(Head { tick: shown.tick, signature: shown.signature })
    }

    /// Takes inputs of a seat that are lacking here, relayed by a peer, as far as their author has signed them.
    pub(super) fn take_signed(
        &mut self,
        by: PlayerId,
        relayed: &Relayed,
        inputs: &[EncodedInput],
    ) -> Handled {
        let (now, author) = (self.now, relayed.player);
        let play = &mut self.play;
        let heads = play.heads.as_mut().ok_or(OutOfPlace)?;
        play.stalls.since(author).filter(|_| play.fair.is_none()).ok_or(OutOfPlace)?;
        let from = play.gate.next_needed(author);
        let Some((head, run)) = play.stalls.take_run(by, relayed, inputs, from) else { return Ok(()) };
        heads.extend(&play.gate);
        let count =
            heads.check_relayed(now, by, (author, &head), run.iter().map(|(_, input)| input.alone()))?;
        play.gate.push(now, author, from, run.iter().take(count).map(|(_, input)| input))?;
        Ok(())
    }

    /// Whether the peer at the other end of this link has shown a head of another seat that is not over what that seat told
    /// here. Only its author can have signed it.
    pub(super) fn was_lied_to(&self, link: usize) -> bool {
        let Some(peer) = self.links.get(link) else { return false };
        let Some(heads) = self.play.heads.as_ref() else { return false };
        peer.claims.shown.iter().any(|shown| {
            let told = heads.chain(shown.seat, Tick(shown.tick));
            shown.seat != peer.player && told.is_some_and(|told| told != shown.chain)
        })
    }
}

impl Search {
    /// Inputs differ: shows the others the own head, those that the others have sent, and those that they show here.
    pub(super) fn show_heads(&mut self, mesh: &mut Mesh) {
        let (Some(at), play) = (self.split, &mut mesh.play) else { return };
        let Some(heads) = &mut play.heads else { return };
        heads.extend(&play.gate);
        let is_first = !core::mem::replace(&mut self.has_shown, true);
        let mut sends: Vec<(usize, ShownHead)> = Vec::new();
        let player = |link: usize| mesh.links.get(link).map(|peer| peer.player);
        for link in self.links().filter(|_| is_first) {
            let Some(to) = player(link) else { continue };
            if let Some((chain, bytes)) = heads.own(to, at) {
                let signature = mesh.signing.signer.sign(&bytes);
                sends.push((link, ShownHead { seat: mesh.me, tick: at.0, chain, signature }));
            }
            let seats = (0..mesh.config.seats).map(PlayerId);
            let others = seats.filter(|&seat| seat != mesh.me && seat != to);
            sends.extend(others.flat_map(|seat| heads.kept(seat, at)).map(|shown| (link, shown)));
        }
        for from in self.links() {
            let own = |shown: &&ShownHead| Some(shown.seat) == player(from) && Tick(shown.tick) == at;
            let Some(shown) = mesh.links.get(from).and_then(|peer| peer.claims.shown.iter().find(own)) else {
                continue;
            };
            if !self.passed_on.contains(shown.seat) {
                self.passed_on = self.passed_on.with(shown.seat);
                sends.extend(self.links().filter(|&to| to != from).map(|to| (to, *shown)));
            }
        }
        for (link, shown) in sends {
            mesh.send(link, PacketId::ShownHead, &shown);
        }
    }

    /// Whether all that the others have to show is here.
    pub(super) fn has_seen_heads(&self, mesh: &Mesh) -> bool {
        let Some(at) = self.split else { return true };
        let shows = |by: usize, seat: PlayerId| {
            let shown = mesh.links.get(by).map_or(&[][..], |peer| &peer.claims.shown);
            shown.iter().any(|shown| shown.seat == seat && Tick(shown.tick) == at)
        };
        let players: ArrayVec<PlayerId, PLAYERS_MAX> =
            self.links().filter_map(|link| Some(mesh.links.get(link)?.player)).collect();
        self.links().all(|by| players.iter().all(|&seat| shows(by, seat)))
    }

    /// The proof in all heads that are known here, if there is one.
    pub(super) fn equivocation(&self, mesh: &Mesh) -> Option<Equivocation> {
        let (at, heads) = (self.split?, mesh.play.heads.as_ref()?);
        let shown = self.links().filter_map(|link| mesh.links.get(link));
        let shown = shown.flat_map(|peer| peer.claims.shown.iter().copied());
        let seats = (0..mesh.config.seats).map(PlayerId).filter(|&seat| seat != mesh.me);
        let mut all: Vec<ShownHead> = shown.chain(seats.flat_map(|seat| heads.kept(seat, at))).collect();
        heads.proof(&mut all)
    }
}

impl Lockstep {
    /// Suspects peers that have signed other inputs than they have told here, or sign nothing. Others may have nothing
    /// against them, and then relay.
    pub(super) fn suspect_false_signers(&mut self) {
        if !self.phase.is_agreeing() {
            return;
        }
        let play = &self.mesh.play;
        let Some(heads) = &play.heads else { return };
        let next = play.gate.next();
        let is_false = |link: &&Link| link.is_direct() && heads.is_false(link.player, next);
        let signers: ArrayVec<PlayerId, PLAYERS_MAX> =
            self.mesh.links.iter().filter(is_false).map(|link| link.player).collect();
        for player in signers {
            self.suspect(player);
        }
    }

    /// A peer shows a head: its own, or another's that it was sent or shown.
    pub(super) fn on_shown_head(&mut self, link: usize, shown: ShownHead) -> Handled {
        let peer = self.mesh.links.get(link).filter(|peer| peer.is_direct()).ok_or(OutOfPlace)?;
        let (by, is_searching) = (peer.player, matches!(self.phase, Phase::Searching { .. }));
        let is_known = |known: &ShownHead| (known.seat, known.tick) == (shown.seat, shown.tick);
        if shown.seat == self.mesh.me || !(is_searching || self.phase.is_agreeing()) {
            return Err(OutOfPlace);
        }
        if peer.claims.shown.iter().any(is_known) {
            return Err(DropCause::Stale);
        }
        let play = &mut self.mesh.play;
        let (tick, next) = (Tick(shown.tick), play.gate.next());
        if tick.since(next) > QUEUE_TICKS || peer.claims.shown.len() >= HEADS_SHOWN_MAX {
            return Err(DropCause::TooFarAhead);
        }
        play.heads.as_mut().ok_or(OutOfPlace)?.check_shown(self.mesh.now, by, &shown)?;
        self.mesh.links.get_mut(link).ok_or(OutOfPlace)?.claims.shown.push(shown);
        if let Phase::Searching { search, .. } = &mut self.phase {
            search.show_heads(&mut self.mesh);
        }
        Ok(())
    }

    /// Signs for the peer at this address as if it were told another control of the hero in the tick with this low
    /// half, and not in others.
    #[cfg(feature = "doors")]
    pub fn sign_another(&mut self, to: core::net::SocketAddr, tick: u16, hero: sim::HeroControl) {
        let is_to = |link: &&Link| link.connection.addresses().contains(&to);
        let Some(to) = self.mesh.links.iter().find(is_to).map(|link| link.player) else { return };
        let play = &mut self.mesh.play;
        let next = play.gate.next_needed(self.mesh.me);
        let Some(tick) = next.0.checked_sub(u32::from((next.0 as u16).wrapping_sub(tick))) else { return };
        if let Some(heads) = &mut play.heads {
            heads.extend(&play.gate);
            heads.lie(to, Tick(tick), hero);
        }
    }
}
