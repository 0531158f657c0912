//! Players who come back while ticks run; pings.

use super::client::Standing;
use super::{Authority, Phase};
use crate::connection::{PING_RUNNING, PING_SETUP};
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::Event;
use crate::expected::Expected;
use crate::outbox::Source;
use crate::play::link::Link;
use crate::wire::auth_string::AuthString;
use crate::wire::message::{Bye, PacketId, Ping, Pong, Ready, Seats, Start};
use sim::PlayerId;

impl Authority {
    /// Which datagrams this session can use now.
    #[must_use]
    pub fn expected(&self) -> Expected {
        let clients = self.clients.iter().flatten();
        let clients = clients.map(|client| client.link.connection.protection.local_id());
        Expected::new(clients.chain(self.room.reception.connection_ids()), None)
    }

    /// Counts datagrams that [`Self::expected`] has kept from this session.
    pub fn count_refused(&mut self, cause: DropCause, times: u64) {
        self.out.traffic.dropped.count(cause, times);
    }

    /// A datagram of no client. The room answers; it lets players back in, even before their silence has been noticed.
    pub(super) fn on_stranger(&mut self, from: Source, bytes: &[u8]) -> Handled {
        let is_running = matches!(self.phase, Phase::Running);
        let may_return = if is_running { self.seats_of(|client| client.is_in()) } else { Seats::default() };
        let admitted = self.room.receive(self.now, (from, bytes), may_return, &mut self.out)?;
        let Some((grant, entrant)) = admitted else { return Ok(()) };
        let player = grant.player;
        let mut connection = self.room.connect(self.now, from, &entrant, &mut self.out).ok_or(OutOfPlace)?;
        let before = self.clients.take(player.index()).ok_or(OutOfPlace)?;
        connection.replace(&before.link.connection);
        let words = connection.protection.words().map(AuthString::bytes).unwrap_or_default();
        if let Some(of_seat) = self.agreed.seating.words.get_mut(player.index()) {
            *of_seat = words;
        }
        self.clients.put(before.returned(Link::new(player, connection)));
        self.confirm(player);
        self.out.event(Event::Heard { player });
        if let Some(client) = self.clients.at_mut(player.index()) {
            client.link.connection.send(&mut self.out, PacketId::Seating, &self.agreed.seating);
        }
        Ok(())
    }

    /// Tells a client its seat.
    pub(super) fn confirm(&mut self, player: PlayerId) {
        let confirm = self.room.confirmation(player);
        self.send(player.index(), PacketId::JoinConfirm, &confirm);
    }

    /// A client that has come back has built its world.
    pub(super) fn on_ready(&mut self, seat: usize, ready: Ready) -> Handled {
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        if client.is_ready || ready.round != self.agreed.seating.round {
            return Ok(());
        }
        if ready.state_hash != self.agreed.hash {
            self.dismiss(seat, Bye::StartState);
            return Ok(());
        }
        client.is_ready = ready.unheard.is_empty();
        if client.is_ready {
            let start = Start { begin_us: self.ticks.begin.0 };
            self.send(seat, PacketId::Start, &start);
            self.send_update(seat);
        }
        Ok(())
    }

    pub(super) fn ping_clients(&mut self) {
        if matches!(self.phase, Phase::Closed) {
            return;
        }
        let every = if self.ticks.ran.0 > 0 { PING_RUNNING } else { PING_SETUP };
        for client in self.clients.iter_mut().flatten() {
            if client.standing == Standing::Here {
                client.link.connection.ping(self.now, every, &mut self.out);
            }
        }
    }

    pub(super) fn on_ping(&mut self, seat: usize, ping: Ping) -> Handled {
        let is_running = matches!(self.phase, Phase::Running);
        let clock_us = is_running.then(|| self.ticks.clock.position_us(self.now));
        let lost_per_mille =
            self.clients.at(seat).ok_or(OutOfPlace)?.link.connection.lost_here().unwrap_or(0);
        let others = self.clients.iter().enumerate().filter(|&(other, _)| other != seat);
        let error_us =
            others.filter_map(|(_, client)| Some(client.as_ref()?.link.connection.clock.error_us())).max();
        let pong = Pong {
            echo_us: ping.time_us,
            clock_us,
            time_us: self.now.0,
            error_us: u32::try_from(error_us.unwrap_or(0)).unwrap_or(u32::MAX),
            lost_per_mille,
        };
        self.send(seat, PacketId::Pong, &pong);
        Ok(())
    }

    pub(super) fn on_pong(&mut self, seat: usize, pong: Pong) -> Handled {
        let link = &mut self.clients.at_mut(seat).ok_or(OutOfPlace)?.link;
        link.connection.on_pong(self.now, &pong).map(|_| ()).ok_or(OutOfPlace)
    }
}
