//! Strangers at one address: they exchange keys and ask for no seat that there is, or take one and leave again.

use core::time::Duration;
use std::net::SocketAddr;

use lab::sessions::Table;
use net::{Guest, Join, Time, Transmit};

/// Most strangers at an address at the same time.
const AT_ONCE_MAX: usize = 24;
/// A stranger that has come no further for so long is replaced by another one.
const PATIENCE: Duration = Duration::from_millis(600);
/// A seat that no room has: who asks for it has shown that it holds the keys, and gets a refusal.
const NO_SEAT: u8 = 200;

/// What the strangers want.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Errand {
    /// To exchange keys as often as they can.
    Exchange,
    /// To take a seat and to leave it again.
    ComeAndGo,
}

/// Strangers at one address.
pub(super) struct Swarm {
    errand: Errand,
    host: SocketAddr,
    /// Number of strangers at the same time.
    count: usize,
    joins: Vec<(Time, Join)>,
    /// Who leaves a seat.
    leavers: Vec<(Time, Guest)>,
    until: Time,
    /// Strangers so far.
    drawn: u64,
    number: u64,
    out: Vec<Transmit>,
}

impl Swarm {
    pub(super) const fn new(
        errand: Errand,
        host: SocketAddr,
        number: u64,
        count: usize,
        until: Time,
    ) -> Self {
        Self {
            errand,
            host,
            count,
            joins: Vec::new(),
            leavers: Vec::new(),
            until,
            drawn: 0,
            number,
            out: Vec::new(),
        }
    }

    /// Sends others in place of those who are done.
    pub(super) fn act(&mut self, now: Time, table: &Table<'_>) {
        if now < self.until {
            while self.joins.len() < self.count.min(AT_ONCE_MAX) {
                self.drawn += 1;
                let seat = (self.errand == Errand::Exchange).then_some(NO_SEAT);
                let join = table.stranger(now, self.host, self.number << 32 | self.drawn, seat);
                self.joins.push((now, join));
            }
        }
        for (_, join) in &mut self.joins {
            join.handle_timeout(now);
            while let Some(transmit) = join.poll_transmit() {
                self.out.push(transmit);
            }
        }
        for (_, leaver) in &mut self.leavers {
            leaver.handle_timeout(now);
            self.out.extend(core::iter::from_fn(|| leaver.poll_transmit()));
        }
        self.leavers.retain(|(since, _)| now.since(*since) < PATIENCE);
        let is_over = |since: Time, join: &mut Join| {
            now.since(since) >= PATIENCE || join.poll_event().is_some() || now >= self.until
        };
        self.joins.retain_mut(|(since, join)| !is_over(*since, join));
    }

    pub(super) fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        for (_, join) in &mut self.joins {
            join.handle_datagram(now, from, bytes);
            if let Some(seat) = join.take_seat() {
                let mut leaver = Guest::new(now, seat);
                leaver.leave();
                self.leavers.push((now, leaver));
            }
        }
        for (_, leaver) in &mut self.leavers {
            leaver.handle_datagram(now, from, bytes);
        }
    }

    pub(super) fn poll_transmit(&mut self) -> Option<Transmit> {
        self.out.pop()
    }

    pub(super) fn poll_timeout(&self, now: Time) -> Option<Time> {
        let joins = self.joins.iter().filter_map(|(_, join)| join.poll_timeout()).min();
        let refill = (now < self.until && self.joins.len() < self.count).then(|| now.plus(STEP));
        let leavers = (!self.leavers.is_empty()).then(|| now.plus(STEP));
        [joins, refill, leavers].into_iter().flatten().min()
    }
}

/// Between two looks at those who are done.
const STEP: Duration = Duration::from_micros(500);
