//! While ticks run: inputs, chat and departures; and the end of the match.

use core::time::Duration;

use super::client::{ClientConnection, Standing};
use super::{Authority, Phase};
use crate::connection::CLOSE_WITHIN;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::play::stream::Stream;
use crate::room::chat::LINES_WAITING_MAX;
use crate::timer::Timer;
use crate::wire::client_inputs::{Notice, decode_client_inputs};
use crate::wire::given::{GIVEN_UNKNOWN, Given, stamp};
use crate::wire::message::{Bye, Chat, FetchHistory, PacketId, decode};
use sim::{Command, PlayerId, PlayerInput, Tick};

/// Time from the last tick until every client must have acknowledged its state; goodbyes follow in any case.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);
/// Longest time after the last tick in which clients may fetch the rest of the recording: who acknowledges it slowly
/// holds the others up for no longer than a stall may.
const FETCH_WITHIN: Duration = Duration::from_secs(10);
/// Interval between transmissions of the last update to a client that has not acknowledged it.
const LAST_EVERY: Duration = Duration::from_millis(50);

/// What a seat does in `tick`, and when its commands were given.
pub(super) fn input_of(client: &mut Option<ClientConnection>, tick: Tick) -> (PlayerInput, Given) {
    let Some(client) = client else { return Default::default() };
    if core::mem::take(&mut client.departs) {
        let commands = core::iter::once(Command::Surrender).collect();
        let given = core::iter::once(GIVEN_UNKNOWN).collect();
        return (PlayerInput { commands, ..PlayerInput::default() }, given);
    }
    match client.standing {
        Standing::Here => client.queue.take(tick),
        // A silent client releases its keys.
        _ => Default::default(),
    }
}

/// Adds the command that counts down to every input that has room: the server has stalled the match, and has no seat of
/// its own, and the world ignores those of players who have surrendered.
pub(super) fn count_down(inputs: &mut [PlayerInput], given: &mut [Given]) {
    for (input, given) in inputs.iter_mut().zip(given) {
        if input.commands.try_push(Command::CountDown).is_ok() {
            given.push(GIVEN_UNKNOWN);
        }
    }
}

impl Authority {
    pub(super) fn on_datagram(&mut self, seat: usize, id: PacketId, body: &[u8]) -> Handled {
        if !self.clients.at(seat).ok_or(OutOfPlace)?.is_in() {
            return Ok(());
        }
        match id {
            PacketId::PlayerInput => self.on_inputs(seat, body),
            PacketId::Ping => self.on_ping(seat, decode(body)?),
            PacketId::Pong => self.on_pong(seat, decode(body)?),
            _ => Err(OutOfPlace),
        }
    }

    pub(super) fn on_message(&mut self, seat: usize, id: PacketId, body: &[u8]) -> Handled {
        match id {
            PacketId::Ready => self.on_ready(seat, decode(body)?),
            PacketId::Chat => self.on_chat(seat, decode(body)?),
            PacketId::Bye => self.on_bye(seat, decode(body)?),
            PacketId::FetchHistory => self.on_fetch(seat, decode(body)?),
            _ => Err(OutOfPlace),
        }
    }

    fn on_inputs(&mut self, seat: usize, body: &[u8]) -> Handled {
        let (now, next, ran) = (self.now, self.ticks.next, self.ticks.ran);
        let (header, inputs) = decode_client_inputs(body)?;
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        let first = header.first_near(client.queue.received().unwrap_or(next)).ok_or(OutOfPlace)?;
        let updated = Tick(first.0.checked_add_signed(i32::from(header.updated)).ok_or(OutOfPlace)?);
        // It cannot have an update that has not been sent.
        if updated > ran || first > Tick::MAX {
            return Err(OutOfPlace);
        }
        let newest = client.updated.max(Some(updated).filter(|&updated| updated > Tick(0)));
        let newest = newest.filter(|_| header.notice != Notice::WantsState);
        if client.queue.received().is_none() && header.count > 0 {
            if first > next.plus(crate::wire::limits::QUEUE_TICKS)
                || (newest == Some(Tick(0)) && first > Tick(0))
            {
                return Err(DropCause::TooFarAhead);
            }
            client.queue.begin_at(first);
        }
        let lacked = client.queue.received().unwrap_or(first);
        // A client begins with what is not acknowledged.
        if first > lacked {
            return Err(OutOfPlace);
        }
        let clock = &client.link.connection.clock;
        let here = |at| clock.here(at, now).map_or(GIVEN_UNKNOWN, |at| stamp(at, now));
        let limit = next.plus(crate::wire::limits::QUEUE_TICKS);
        let is_whole = client.queue.receive(first, limit, inputs, here)?;
        client.updated = newest;
        if let Some(received) = client.queue.received().filter(|&received| received > lacked) {
            let came = (lacked.0..received.0).map(Tick);
            client.counts.inputs = client.counts.inputs.saturating_add(received.since(lacked));
            client.counts.late += came.filter(|&number| self.ticks.clock.at(number) < now).count() as u32;
            client.link.margin.note(lacked, self.ticks.clock.at(lacked).minus(now));
        }
        if let Notice::Lacks(tick, parts) = header.notice {
            self.send_lacked(seat, tick, &parts);
        }
        if is_whole { Ok(()) } else { Err(DropCause::TooFarAhead) }
    }

    /// A client has sent a line: the server relays it to all others.
    fn on_chat(&mut self, seat: usize, chat: Chat) -> Handled {
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        let player = client.link.player;
        if chat.from != player {
            return Err(OutOfPlace);
        }
        if client.chat_limit.take(self.now).is_err() {
            return Err(DropCause::RateLimited);
        }
        for other in self.clients.iter_mut().flatten() {
            // A client that has rejoined receives chat only once it plays.
            let hears = other.is_in() && other.is_ready;
            if other.link.player != player && hears && other.link.connection.queued() < LINES_WAITING_MAX {
                other.link.connection.send(&mut self.out, PacketId::Chat, &chat);
            }
        }
        self.out.event(Event::Said { player, text: chat.text });
        Ok(())
    }

    /// A client asks for the recording.
    fn on_fetch(&mut self, seat: usize, fetch: FetchHistory) -> Handled {
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        if client.stream.is_some() {
            return Err(OutOfPlace);
        }
        client.stream = Some(Stream::new(self.now, fetch.from, &self.history)?);
        Ok(())
    }

    fn on_bye(&mut self, seat: usize, bye: Bye) -> Handled {
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        match (bye, &self.phase) {
            (Bye::Finished { stays, .. }, Phase::Ending { .. }) => {
                (client.link.said_bye, client.link.stays) = (true, stays);
            }
            (Bye::Left { .. }, Phase::Ending { .. }) => client.standing = Standing::Left,
            (Bye::Left { .. }, Phase::Running) => {
                self.depart(seat, Standing::Left);
            }
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// A silent client's seat is no longer kept.
    pub(super) fn lose(&mut self, seat: usize) {
        if matches!(self.phase, Phase::Over) {
            if !self.settings.reopens() {
                self.close(End::Finished);
            }
        } else {
            self.depart(seat, Standing::Lost);
        }
    }

    /// A client has been rejected too often: it is notified and loses its seat.
    pub(super) fn expel(&mut self, seat: usize) {
        let rejected = self.clients.at(seat).map_or(0, |client| client.counts.rejected);
        self.dismiss(seat, Bye::Expelled { rejected });
    }

    /// Removes a client from the match, with this as its last message. The others play on.
    pub(super) fn dismiss(&mut self, seat: usize, last_word: Bye) {
        self.send(seat, PacketId::Bye, &last_word);
        self.depart(seat, Standing::Left);
    }

    /// The seat surrenders in the next tick.
    fn depart(&mut self, seat: usize, standing: Standing) {
        let tick = self.ticks.next;
        let Some(client) = self.clients.at_mut(seat).filter(|client| client.is_in()) else { return };
        (client.standing, client.departs) = (standing, true);
        let (player, is_lost) = (client.link.player, standing == Standing::Lost);
        self.out.event(Event::Departed { player, tick, is_lost });
        if matches!(self.phase, Phase::Ending { .. }) {
            self.end();
        }
    }

    /// Closes the match if no client is left.
    pub(super) fn close_deserted(&mut self) {
        let lost = self.clients.iter().flatten().find(|client| client.standing == Standing::Lost);
        let end = lost.map_or(End::PeerLeft(PlayerId(0)), |client| End::PeerLost(client.link.player));
        self.close(end);
        if self.keeps_room() {
            self.phase = Phase::Over;
        }
    }

    pub(super) fn begin_ending(&mut self, end: End) {
        for client in self.clients.iter_mut().flatten() {
            client.link.connection.timers.set(Timer::Repeat, None);
        }
        self.timers.set(Timer::Resend, self.now);
        self.timers.set(Timer::Finish, self.now.plus(KNOWN_WITHIN));
        self.timers.set(Timer::Fetch, self.now.plus(FETCH_WITHIN));
        self.phase = Phase::Ending { end, is_closing: false };
    }

    /// Resends the last update until all clients have it or their time is up, then says goodbye.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end, is_closing } = self.phase else { return };
        let [may_lag, may_fetch] =
            [Timer::Finish, Timer::Fetch].map(|timer| self.timers.is_running(timer, self.now));
        let is_due = |timer| self.timers.is_due(timer, self.now);
        let here = || self.clients.iter().flatten().filter(|client| client.standing == Standing::Here);
        let knows = |client: &ClientConnection| client.updated >= Some(self.ticks.ran);
        let stays = end == End::Finished && self.keeps_room();
        if is_closing {
            let know_all = here().all(|client| client.link.connection.is_idle());
            let is_known = know_all || self.settings.reopens() && is_due(Timer::Close);
            if stays && is_known {
                self.phase = Phase::Over;
                self.timers.set(Timer::Close, None);
                self.out.event(Event::Over);
            } else if is_due(Timer::Close) || know_all {
                self.close(end);
            }
        } else if end == End::Finished && may_lag && !here().all(knows) {
            if is_due(Timer::Resend) {
                self.send_last_again();
                self.timers.set(Timer::Resend, self.now.plus(LAST_EVERY));
            }
        } else if end == End::Finished
            && (may_fetch && self.is_fetching() || may_lag && self.awaits_goodbyes())
        {
            self.timers.set(Timer::Resend, self.now.plus(LAST_EVERY));
        } else {
            self.say_bye(end);
        }
    }

    /// Whether a client that is here still fetches the recording.
    fn is_fetching(&self) -> bool {
        let fetches = |client: &ClientConnection| {
            let stream = client.stream.as_ref().filter(|_| client.standing == Standing::Here);
            stream.is_some_and(|stream| {
                !stream.is_done(&self.history) && self.now.since(stream.heard_at) < self.settings.timeout
            })
        };
        self.clients.iter().flatten().any(fetches)
    }

    /// Whether the room stays for another match: all players do, or others may come.
    fn keeps_room(&self) -> bool {
        self.settings.stays && (self.settings.reopens() || self.all_stay())
    }

    /// Whether all players are still here and stay for another match.
    fn all_stay(&self) -> bool {
        let stays = |client: &Option<ClientConnection>| {
            client.as_ref().is_some_and(|client| client.standing == Standing::Here && client.link.stays)
        };
        self.clients.iter().all(stays)
    }

    /// Whether some of the clients, which all have the last tick, may still say that they stay.
    fn awaits_goodbyes(&self) -> bool {
        let may_stay = |client: &ClientConnection| {
            client.standing == Standing::Here && (client.link.stays || !client.link.said_bye)
        };
        let mut clients = self.clients.iter();
        let awaits = if self.settings.reopens() {
            clients.flatten().any(|client| client.standing == Standing::Here && !client.link.said_bye)
        } else {
            clients.all(|client| client.as_ref().is_some_and(may_stay)) && !self.all_stay()
        };
        self.settings.stays && awaits
    }

    /// Says goodbye, once, over the reliable channel.
    fn say_bye(&mut self, end: End) {
        let bye = match end {
            End::Finished => {
                Bye::Finished { ticks: self.ticks.ran.0, chain: self.ticks.chain.0, stays: self.keeps_room() }
            }
            _ => Bye::Left { tick: self.ticks.ran.0 },
        };
        for player in self.seats_of(|client| client.standing == Standing::Here).iter() {
            self.send(player.index(), PacketId::Bye, &bye);
        }
        self.timers.set(Timer::Resend, None);
        self.timers.set(Timer::Finish, None);
        self.timers.set(Timer::Fetch, None);
        self.timers.set(Timer::Close, self.now.plus(CLOSE_WITHIN));
        self.phase = Phase::Ending { end, is_closing: true };
        self.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sim::COMMANDS_PER_TICK_MAX;

    #[test]
    fn every_input_that_has_room_asks_for_the_count_down() {
        let mut inputs = [PlayerInput::default(), PlayerInput::default(), PlayerInput::default()];
        inputs[1].commands.extend(core::iter::repeat_n(Command::Banner, COMMANDS_PER_TICK_MAX));
        let mut given = [Given::new(), Given::new(), Given::new()];
        count_down(&mut inputs, &mut given);
        let asks = |input: &PlayerInput| input.commands.contains(&Command::CountDown);
        assert_eq!(inputs.each_ref().map(asks), [true, false, true]);
        assert_eq!(given.map(|given| given.len()), [1, 0, 1]);
    }
}
