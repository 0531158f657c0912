//! Reports datagrams of a match as they are sent, received or found missing: for a trace. It reads of them which ticks they
//! carry.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::protection::{Opened, PacketProtection};
use crate::event::{Datagram, DatagramContent, DatagramFate, Event};
use crate::outbox::Outbox;
use crate::wire::architecture::Architecture;
use crate::wire::client_inputs::decode_client_inputs;
use crate::wire::fair_inputs::decode_fair_inputs;
use crate::wire::inputs::{decode_inputs, nearest};
use crate::wire::message::{MatchConfig, PacketId, Relayed, decode};
use crate::wire::server_ticks::decode_server_ticks;
use crate::wire::update::UpdatePart;
use sim::{PlayerId, Tick};

/// A number that is missing counts as lost once this many later ones have been sent: datagrams that overtake each other
/// are seldom so far apart.
const LOST_AFTER: u64 = 32;
/// Most datagrams that count as lost when a later one arrives; those of a longer outage are not reported.
const LOST_AT_ONCE_MAX: u64 = 256;

/// Reports the datagrams of one connection while a match runs.
#[derive(Debug)]
pub(super) struct DatagramTracer {
    /// The player at the other end.
    peer: PlayerId,
    /// The form of the match's inputs.
    config: MatchConfig,
    /// Newest tick so far; datagrams carry the low bits of ticks.
    near: Tick,
    /// Lowest number that has neither been received nor counts as lost.
    missing: u64,
}

impl DatagramTracer {
    /// Reports datagrams from now on; `next` is the number that is expected from the other end.
    pub(super) const fn new(peer: PlayerId, config: MatchConfig, next: u64) -> Self {
        Self { peer, config, near: Tick(0), missing: next }
    }

    /// The same, for a connection that replaces the one before.
    pub(super) const fn renewed(&self) -> Self {
        Self { peer: self.peer, config: self.config, near: self.near, missing: 0 }
    }

    /// Reports that a datagram is sent.
    pub(super) fn sent(&mut self, number: u64, id: PacketId, body: &[u8], out: &mut Outbox) {
        let fate = DatagramFate::Sent(self.content(id, body));
        self.report(number, fate, out);
    }

    /// Reports that a datagram has arrived, and those before it that count as lost now.
    pub(super) fn received(&mut self, opened: &Opened<'_>, protection: &PacketProtection, out: &mut Outbox) {
        if let Some(id) = PacketId::of(opened.packet_id) {
            let fate = DatagramFate::Received(self.content(id, opened.body));
            self.report(opened.number, fate, out);
        }
        let judged = opened.number.saturating_sub(LOST_AFTER);
        for number in self.missing.max(judged.saturating_sub(LOST_AT_ONCE_MAX))..judged {
            if !protection.has_received(number) {
                self.report(number, DatagramFate::Lost, out);
            }
        }
        self.missing = self.missing.max(judged);
    }

    fn report(&self, number: u64, fate: DatagramFate, out: &mut Outbox) {
        out.event(Event::Datagram(Datagram { peer: self.peer, number, fate }));
    }

    fn content(&mut self, id: PacketId, body: &[u8]) -> DatagramContent {
        let ticks = self.ticks(id, body);
        if let Some([_, last]) = ticks {
            self.near = last;
        }
        DatagramContent { id, ticks }
    }

    fn ticks(&self, id: PacketId, body: &[u8]) -> Option<[Tick; 2]> {
        let run = |first: Tick, count: usize| {
            let last = first.0.checked_add(u32::try_from(count).ok()?.checked_sub(1)?)?;
            Some([first, Tick(last)])
        };
        let near = |first: u16, count: u8| run(nearest(first, self.near)?, count.into());
        match id {
            PacketId::PlayerInput if self.config.architecture != Architecture::P2p => {
                let (header, _) = decode_client_inputs(body).ok()?;
                near(header.first, header.count)
            }
            PacketId::PlayerInput if self.config.is_fair => {
                let header = decode_fair_inputs(body).ok()?.header;
                near(header.first, header.count)
            }
            PacketId::PlayerInput => {
                let (header, _) = decode_inputs(body).ok()?;
                near(header.first, header.count)
            }
            PacketId::Relayed => {
                let relayed: Relayed = decode(body).ok()?;
                run(Tick(relayed.first), relayed.inputs.len())
            }
            PacketId::ServerTicks => {
                let ticks = decode_server_ticks(body, self.config.seats.into()).ok()?;
                let after = ticks.header.tick_near(self.near)?;
                run(Tick(after.0.checked_sub(ticks.ticks.into())?), ticks.ticks.into())
            }
            PacketId::GameStateUpdate => {
                let (part, _) = UpdatePart::decode(body).ok()?;
                run(Tick(part.tick_near(self.near)?.0.checked_sub(1)?), 1)
            }
            _ => None,
        }
    }
}
