//! A fair match: commitments on their way, and inputs revealed once all commitments of their tick are here
//! ([`FairPlay`]).

use super::Mesh;
use super::play::Play;
use crate::connection::keys::SecretRng;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::lockstep::fair::FairPlay;
use crate::play::delay::{BEYOND_OTHERS_MAX_US, DelayControl};
use crate::play::link::{Front, Link};
use crate::time::Time;
use crate::wire::fair_inputs::{
    COMMITMENTS_PER_DATAGRAM_MAX, Commitment, FAIR_BYTES_MAX, FairHeader, Nonce, PeerInputs,
    decode_fair_inputs, encode_fair_inputs,
};
use crate::wire::input::{INPUTS_PER_DATAGRAM_MAX, count_fitting};
use crate::wire::inputs::decode_inputs;
use crate::wire::limits::BODY_BYTES_MAX;
use crate::wire::message::{Body, Malformed, MatchConfig, Seating, Seats};
use alloc::boxed::Box;
use arrayvec::ArrayVec;
use sim::{PlayerId, Tick};

/// New data of a datagram, by the first tick that was missing.
#[derive(Clone, Copy, Default)]
pub(super) struct Fresh {
    pub(super) inputs: Option<Tick>,
    pub(super) commitments: Option<Tick>,
}

impl Play {
    /// Before tick 0: prepares a fair match, if it is one.
    pub(super) fn prepare_fair(
        &mut self,
        now: Time,
        config: &MatchConfig,
        seating: &Seating,
        rng: SecretRng,
        links: usize,
    ) {
        if config.is_fair {
            let mut lead = DelayControl::new(now, links, 0, self.own.clock.tick_us(), false);
            lead.count_farthest();
            self.own.delay.count_farthest();
            self.fair = Some(Box::new(FairPlay::new(seating, rng, lead)));
        }
    }

    /// Reads the body of a PlayerInput datagram.
    pub(super) fn read<'a>(&self, body: &'a [u8]) -> Result<PeerInputs<'a>, Malformed> {
        if self.fair.is_some() {
            return decode_fair_inputs(body);
        }
        let (header, inputs) = decode_inputs(body)?;
        Ok(PeerInputs { fair: FairHeader::default(), commitments: &[], header, inputs, nonces: &[] })
    }

    /// The first tick whose own input the others may not know yet.
    pub(super) fn revealed(&self) -> Tick {
        self.fair.as_ref().map_or(self.own.inputs.next(), |fair| fair.revealed())
    }

    /// Returns the end of this player's input that others can have.
    pub(super) fn front(&self) -> Front {
        Front { inputs: self.revealed(), commitments: self.own.inputs.next() }
    }

    /// Returns the inputs of this player that a peer claims to have, if that is possible; `wanted` is the first input
    /// that it lacks.
    pub(super) fn acknowledged(&self, wanted: Tick, said: &PeerInputs<'_>) -> Option<Front> {
        let (commitments, most) = (wanted.plus(said.fair.ahead.into()), self.front());
        let has = Front { inputs: wanted, commitments };
        (has.inputs <= most.inputs && has.commitments <= most.commitments).then_some(has)
    }

    /// Reveals what may be. A seat whose inputs others relay is not waited for: who relays inputs to it asks for its
    /// commitments first.
    pub(super) fn reveal(&mut self, now: Time) {
        if let Some(fair) = &mut self.fair {
            let others = self.departures.suspects().union(self.stalls.relayed(now));
            fair.reveal(now, &self.own.clock, others);
        }
    }

    /// Whether what is revealed can no longer wait for the next commitment.
    pub(super) fn must_reveal(&self, now: Time) -> bool {
        self.fair.as_ref().and_then(|fair| fair.reveal_at()).is_some_and(|at| now >= at)
    }

    /// The seats whose commitments keep all others from revealing their inputs of the next tick.
    pub(super) fn withholding(&self) -> Seats {
        let lacks = |fair: &FairPlay| fair.lacking(self.gate.next());
        self.fair.as_deref().map(lacks).unwrap_or_default().difference(self.departures.suspects())
    }

    /// Sets the delays before anything is committed, if the longest way to a peer takes `way_us`.
    pub(super) fn restart_delay(&mut self, way_us: i64) {
        // There and back: commitments one way, inputs the other.
        let ways = if self.fair.is_some() { 2 } else { 1 };
        self.own.delay.restart(way_us * ways);
        if let Some(fair) = &mut self.fair {
            fair.lead.restart(way_us);
        }
    }

    /// The body of a datagram with the commitments and the revealed inputs from there on, and what did not fit.
    pub(super) fn encode_fair_inputs_from(
        &self,
        fair: &FairPlay,
        me: PlayerId,
        link: &Link,
        from: Front,
    ) -> (Body, Front) {
        // What is no longer kept others pass on.
        let inputs = from.inputs.max(self.own.inputs.first_kept());
        let from = Front { inputs, commitments: from.commitments.max(inputs) };
        let commitments: ArrayVec<Commitment, COMMITMENTS_PER_DATAGRAM_MAX> =
            fair.since(me, from.commitments).take(COMMITMENTS_PER_DATAGRAM_MAX).collect();
        let commitments_next = from.commitments.plus(commitments.len() as u32);
        // An input never arrives before its commitment.
        let revealed = fair.revealed().min(commitments_next);
        let opened = || self.short_inputs(from.inputs).take(revealed.since(from.inputs) as usize);
        let count = count_fitting(opened(), BODY_BYTES_MAX - FAIR_BYTES_MAX, size_of::<Nonce>());
        let next = from.inputs.plus(count.into());
        let nonces: ArrayVec<Nonce, INPUTS_PER_DATAGRAM_MAX> =
            (from.inputs.0..next.0).map(|tick| fair.nonce(Tick(tick))).collect();
        let (margin_tick, margin) = link.commitment_margin.report(fair.until(link.player));
        let header = FairHeader {
            count: commitments.len() as u8,
            offset: from.commitments.since(from.inputs) as u8,
            ahead: fair.until(link.player).since(self.gate.next_needed(link.player)) as u8,
            margin_tick,
            margin,
        };
        let inputs = self.header(link, from.inputs, count);
        let body = encode_fair_inputs(&header, &commitments, &inputs, opened(), &nonces);
        (body, Front { inputs: next, commitments: commitments_next })
    }

    /// Whether the player has committed to all of the fresh inputs. `first` is the tick of the first nonce.
    fn opens_fresh(&self, player: PlayerId, first: Tick, nonces: &[Nonce]) -> bool {
        let Some(fair) = &self.fair else { return true };
        let lacked = self.gate.next_needed(player);
        let nonces = nonces.iter().skip(lacked.since(first) as usize);
        let ticks = (lacked.0..).map(Tick);
        ticks
            .zip(nonces)
            .zip(&self.fresh.inputs)
            .all(|((tick, nonce), input)| fair.opens(player, tick, nonce, input.alone()))
    }
}

impl Mesh {
    /// Takes in the commitments and inputs of a datagram; `first` is the tick of its first input.
    pub(super) fn take_inputs(
        &mut self,
        link: usize,
        first: Tick,
        said: &PeerInputs<'_>,
        is_running: bool,
    ) -> Result<Fresh, DropCause> {
        let now = self.now;
        let play = &mut self.play;
        let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
        let player = peer.player;
        let lacked = play.gate.next_needed(player);
        play.fresh.read(&play.gate, player, first, said.inputs.clone())?;
        if play.departures.suspects().contains(player) {
            return Ok(Fresh::default());
        }
        let mut fresh = Fresh::default();
        if let Some(fair) = &mut play.fair {
            let before = fair.until(player);
            let from = first.plus(said.fair.offset.into());
            fair.take(player, lacked, from, said.commitments, play.gate.next())?;
            fresh.commitments = (fair.until(player) > before).then_some(before);
            // A datagram that was lost had the commitments to the rest: both come again.
            play.fresh.inputs.truncate(fair.until(player).since(lacked) as usize);
            if !play.opens_fresh(player, first, said.nonces) {
                return Err(DropCause::FalseReveal);
            }
        }
        play.gate.push(now, player, lacked, play.fresh.inputs.iter())?;
        fresh.inputs = (play.gate.next_needed(player) > lacked).then_some(lacked);
        // Datagrams that waited while this computer was suspended do not measure the network.
        if is_running && now >= play.ignore_samples_until {
            if let Some(tick) = fresh.inputs {
                peer.margin.note(tick, play.own.clock.at(tick).minus(now));
            }
            if let (Some(tick), Some(fair)) = (fresh.commitments, &play.fair) {
                peer.commitment_margin.note(tick, play.own.clock.at(tick).minus(now) - fair.lead.delay_us());
            }
        }
        if is_running {
            play.reveal(now);
        }
        Ok(fresh)
    }

    /// Learns from a peer how long before they were due our inputs, and commitments, arrived there. `wanted` is the
    /// first input that it lacks.
    pub(super) fn hear_margins(&mut self, link: usize, wanted: Tick, said: &PeerInputs<'_>) -> Handled {
        let farthest_us = self.farthest_us();
        let is_of_two = self.links.iter().filter(|link| link.is_direct()).count() == 1;
        let play = &mut self.play;
        let peer = self.links.get_mut(link).ok_or(OutOfPlace)?;
        let tick_us = play.own.clock.tick_us();
        let apart = peer.ahead.is_some_and(|ahead| (tick_us + 1..=ahead.most_us).contains(&ahead.us.abs()));
        let most_us = peer.required_max_us(tick_us);
        // Two clocks that are apart have no third to agree with. Until they meet, the delay covers a part of their offset.
        let offset_us = peer.ahead.filter(|_| apart && is_of_two).map_or(0, |ahead| ahead.us.abs());
        let offset_us = offset_us.min(BEYOND_OTHERS_MAX_US);
        let heard = peer.margin.hear(wanted, (said.header.margin_tick, said.header.margin))?;
        let heard = heard.and_then(|(tick, margin_us)| Some((play.own.inputs.committed(tick)?, margin_us)));
        if let Some((sealed, margin_us)) = heard {
            let (control, sent_us) = match &mut play.fair {
                Some(fair) => {
                    let lead_us = fair.lead_us(sealed.tick);
                    (&mut fair.lead, lead_us)
                }
                None => (&mut play.own.delay, sealed.delay_us),
            };
            control.limit(link, most_us + offset_us);
            control.observe(link, (sent_us - margin_us).min(most_us), apart);
        }
        if play.fair.is_none() {
            return Ok(());
        }
        let wanted = wanted.plus(said.fair.ahead.into());
        let heard = peer.commitment_margin.hear(wanted, (said.fair.margin_tick, said.fair.margin))?;
        let heard = heard.and_then(|(tick, margin_us)| Some((play.own.inputs.committed(tick)?, margin_us)));
        if let Some((sealed, margin_us)) = heard {
            // The peer's inputs then go on to the others, whose distance from it is not known here; by way of this
            // peer it is no more than this.
            let required_us = (sealed.delay_us - margin_us).min(most_us + farthest_us);
            play.own.delay.limit(link, most_us + farthest_us + offset_us);
            play.own.delay.observe(link, required_us, apart);
        }
        Ok(())
    }

    /// Returns the total requirement of the two longest links to this peer; of the only one, once.
    fn farthest_us(&self) -> i64 {
        let tick_us = self.play.own.clock.tick_us();
        let here = self.links.iter().filter(|link| link.is_direct());
        let mut most: ArrayVec<i64, { sim::PLAYERS_MAX - 1 }> =
            here.map(|link| link.required_max_us(tick_us)).collect();
        most.sort_unstable();
        most.iter().rev().take(2).sum()
    }
}
