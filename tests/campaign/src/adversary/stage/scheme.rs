//! The adversary's turn: what it sees, and what it does.

use core::time::Duration;

use super::super::blows::Blow;
use super::super::books::{Book, Books};
use super::super::insider::{NO_PRESSURE, Pressure};
use super::super::plan::{Goal, Holding};
use super::{Player, READY_AT, Stage};
use game::{Node as _, Session};
use lab::sessions::hero_of;
use net::message::{Choice, Seats};

impl Stage<'_> {
    /// Lets the adversary do what it likes.
    pub(super) fn scheme(&mut self) {
        let Some(seat) = self.plan.insider else { return };
        let now = self.now;
        match self.plan.goal {
            Goal::Hold => return self.hold(seat),
            Goal::Crowd if now >= READY_AT => {
                if !core::mem::replace(&mut self.is_ready, true)
                    && let Player::Insider(machine) = &mut self.players[seat]
                    && let Some((insider, local)) = machine.node_at(now)
                {
                    let choice = Choice { hero: hero_of(self.seed, seat), is_ready: true };
                    insider.press(NO_PRESSURE);
                    insider.game_mut().submit_choice(local, choice);
                }
                // From tick 0 on as always.
                if now < READY_AT.plus(Duration::from_secs(2)) {
                    return;
                }
            }
            _ => {}
        }
        if self.strategy.as_ref().is_none_or(|strategy| strategy.next_at() > now) {
            return;
        }
        let books = self.books();
        let Some(strategy) = &mut self.strategy else { return };
        let Player::Insider(machine) = &mut self.players[seat] else { return };
        match machine.node_at(now) {
            Some((insider, _)) => strategy.act(now, &books, insider),
            None => strategy.stop(),
        }
    }

    /// Holds the room.
    fn hold(&mut self, seat: usize) {
        let now = self.now;
        let Player::Insider(machine) = &mut self.players[seat] else { return };
        if !machine.is_open() {
            // It comes again at once.
            self.players[seat] = self.absent(seat, now.plus(Duration::from_millis(20)));
            return;
        }
        let Some((insider, _)) = machine.node_at(now) else { return };
        let is_seated = !matches!(insider.game().session(), Session::Joining(_));
        match self.plan.holding {
            Holding::Unready => {}
            Holding::Mute => {
                let all = Seats::of_bits(u8::MAX);
                let unacknowledged = if is_seated { all } else { Seats::default() };
                insider.press(Pressure { unacknowledged, ..NO_PRESSURE });
            }
            Holding::Restless if is_seated && now.0 % 7 < 4 => {
                insider.strike(now, None, Blow::Farewell(1));
                insider.game_mut().leave();
            }
            Holding::Restless => {}
        }
    }

    fn books(&self) -> Books {
        let honest = self.players.iter().filter_map(|player| match player {
            Player::Honest(machine) => machine.node(),
            Player::Insider(_) => None,
        });
        let seated = honest.filter(|game| !matches!(game.session(), Session::Joining(_)));
        Books::new(self.now, seated.map(|game| Book::of(self.now, game)), self.to_insider)
    }
}
