//! Pings of the peers, and what their answers say of paths and clocks.

use super::Mesh;
use crate::connection::{LOSSY_PER_MILLE, PING_RUNNING, PING_SETUP};
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::wire::message::{PacketId, Ping, Pong};
use arrayvec::ArrayVec;
use sim::{PLAYERS_MAX, Tick};

impl Mesh {
    /// Pings every peer; more often before tick 0, and until it is certain who is there.
    pub(super) fn ping_links(&mut self) {
        let is_calm = self.play.history.ran().0 > 0 && self.play.departures.is_calm();
        let every = if is_calm { PING_RUNNING } else { PING_SETUP };
        for link in self.links.iter_mut().filter(|link| link.is_direct()) {
            link.connection.ping(self.now, every, &mut self.out);
        }
    }

    pub(super) fn on_ping(&mut self, link: usize, ping: Ping, is_running: bool) -> Handled {
        let clock_us = is_running.then(|| self.play.own.clock.position_us(self.now));
        let lost_per_mille =
            self.links.get(link).ok_or(OutOfPlace)?.connection.lost_here().unwrap_or(LOSSY_PER_MILLE + 1);
        let (echo_us, time_us) = (ping.time_us, self.now.0);
        let pong = Pong { echo_us, clock_us, time_us, error_us: 0, lost_per_mille };
        self.send(link, PacketId::Pong, &pong);
        Ok(())
    }

    pub(super) fn on_pong(&mut self, index: usize, pong: Pong, is_running: bool) -> Handled {
        let theirs_us = self.links.get_mut(index).ok_or(OutOfPlace)?.on_pong(self.now, &pong)?;
        if self.play.own.inputs.next() == Tick(0) {
            self.guess_delay();
        }
        let Some(theirs_us) = theirs_us.filter(|_| is_running) else { return Ok(()) };
        let ahead_us = self.play.own.clock.position_us(self.now) - theirs_us;
        self.links.get_mut(index).ok_or(OutOfPlace)?.clock_is_ahead(ahead_us);
        // A suspect is heard no more: what was measured last would draw this clock along for ever.
        let here = self.links.iter().filter(|link| link.is_direct());
        let here = here.filter_map(|link| link.ahead.map(|ahead| (ahead.us, ahead.most_us)));
        let here: ArrayVec<(i64, i64), { PLAYERS_MAX - 1 }> = here.collect();
        self.play.own.clock.observe_all(&here);
        Ok(())
    }

    /// Sets the input delay before anything is committed: to the longest one-way delay that counts, plus an allowance for
    /// jitter and losses.
    pub(super) fn guess_delay(&mut self) {
        let ways = self.links.iter().map(|link| link.connection.rtt.longest_way_us());
        let mut ways: ArrayVec<i64, { PLAYERS_MAX - 1 }> = ways.collect();
        let way_us = self.play.own.delay.first_guess_us(&mut ways);
        self.play.restart_delay(way_us);
    }
}
