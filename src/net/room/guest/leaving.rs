//! The end of a guest's room: this player leaves, or the host says that it is over.

use super::{Guest, Phase};
use crate::connection::CLOSE_WITHIN;
use crate::drop_cause::{DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::wire::message::{Bye, PacketId, Unplayable};

impl Guest {
    /// This player leaves, and the host hears of it.
    pub fn leave(&mut self) {
        self.leave_saying(&Bye::Left { tick: 0 });
    }

    /// This player cannot play by the host's rules or on its map: it leaves, and the host hears why.
    pub fn reject(&mut self, reason: Unplayable) {
        self.leave_saying(&Bye::Unplayable(reason));
    }

    fn leave_saying(&mut self, bye: &Bye) {
        if !matches!(self.phase, Phase::Leaving { .. } | Phase::Closed) {
            self.begin_leaving(bye, self.ends_with(End::Left));
        }
    }

    pub(super) fn begin_leaving(&mut self, bye: &Bye, end: End) {
        self.peers.send(self.host(), PacketId::Bye, bye, &mut self.out);
        self.phase = Phase::Leaving { end, until: self.now.plus(CLOSE_WITHIN) };
    }

    pub(super) fn close(&mut self, end: End) {
        if !matches!(self.phase, Phase::Closed) {
            self.phase = Phase::Closed;
            self.out.event(Event::Closed(end));
        }
    }

    pub(super) fn on_bye(&mut self, bye: Bye) -> Handled {
        let is_ready = matches!(self.phase, Phase::Ready { .. });
        let end = match bye {
            _ if matches!(self.phase, Phase::Leaving { .. }) => return Ok(()),
            // After a match the room closes because a player has left.
            Bye::Left { .. } if self.again.is_some() => End::Finished,
            Bye::Left { .. } => End::PeerLeft(self.host()),
            Bye::WaitOver => End::WaitOver,
            Bye::Dropped => End::PeerLost(self.host()),
            Bye::StartState if is_ready => End::StartState,
            Bye::Unreachable { seat, other } if is_ready && !self.is_served() => {
                End::Unreachable(seat, other)
            }
            Bye::Removed if self.again.is_none() => End::Removed,
            Bye::Unready if self.again.is_none() => End::Unready,
            _ => return Err(OutOfPlace),
        };
        self.close(self.ends_with(end));
        Ok(())
    }

    /// Returns the end to report. Between two matches it is that of the last match, whatever ends the room but a server
    /// that has waited in vain.
    pub(super) const fn ends_with(&self, end: End) -> End {
        let is_between = self.again.is_some() && matches!(self.phase, Phase::Waiting);
        if is_between && !matches!(end, End::WaitOver) { End::Finished } else { end }
    }
}
