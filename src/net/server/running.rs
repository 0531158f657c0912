//! While ticks run: inputs and departures; and the end of the match.

use arrayvec::ArrayVec;
use core::time::Duration;

use super::client::{ClientConnection, Standing};
use super::{Phase, ServerSession};
use crate::connection::CLOSE_WITHIN;
use crate::drop_cause::{DropCause, DropCause::OutOfPlace, Handled};
use crate::event::{End, Event};
use crate::time::Time;
use crate::wire::client_inputs::decode_client_inputs;
use crate::wire::given::{EncodedInput, GIVEN_UNKNOWN, Given, decode_input, encode_input, stamp};
use crate::wire::inputs::INPUTS_PER_DATAGRAM_MAX;
use crate::wire::message::{Bye, PacketId, decode};
use sim::{Command, HeroControl, PlayerId, PlayerInput, Tick};

/// Time from the last tick until every client must have acknowledged its state; goodbyes follow in any case.
const KNOWN_WITHIN: Duration = Duration::from_secs(5);
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

impl ServerSession {
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
            PacketId::Rematch => self.on_rematch(seat, decode(body)?),
            PacketId::Choice => self.on_choice(seat, decode(body)?),
            PacketId::Bye => self.on_bye(seat, decode(body)?),
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
        if header.wants_state {
            client.updated = None;
        } else if updated > Tick(0) {
            client.updated = client.updated.max(Some(updated));
        }
        if client.queue.received().is_none() && header.count > 0 {
            if first > next.plus(crate::lockstep::gate::QUEUE_TICKS)
                || (client.updated == Some(Tick(0)) && first > Tick(0))
            {
                return Err(DropCause::TooFarAhead);
            }
            client.queue.begin_at(first);
        }
        let Some(lacked) = client.queue.received() else { return Ok(()) };
        // Units may be omitted only relative to an input that has been acknowledged.
        if first > lacked {
            return Err(OutOfPlace);
        }
        // Inputs that are already here may be in any equivalent form; they are not validated again.
        let here = |given: &Given| -> Given {
            let here = client.link.connection.clock.all_here(given, now);
            here.iter().map(|at| at.map_or(GIVEN_UNKNOWN, |at| stamp(at, now))).collect()
        };
        let inputs = inputs.skip(lacked.since(first) as usize);
        let fresh = read_fresh(inputs, client.queue.newest(), here).ok_or(DropCause::Malformed)?;
        for (number, (hero, bytes)) in (lacked.0..).map(Tick).zip(&fresh) {
            if !client.queue.has_room(number) || number.since(next) >= crate::lockstep::gate::QUEUE_TICKS {
                return Err(DropCause::TooFarAhead);
            }
            client.queue.push(*hero, bytes);
        }
        if let Some(received) = client.queue.received().filter(|&received| received > lacked) {
            let came = (lacked.0..received.0).map(Tick);
            client.counts.inputs = client.counts.inputs.saturating_add(received.since(lacked));
            client.counts.late += came.filter(|&number| self.ticks.clock.at(number) < now).count() as u32;
            client.link.margin.note(lacked, self.ticks.clock.at(lacked).minus(now));
        }
        Ok(())
    }

    fn on_bye(&mut self, seat: usize, bye: Bye) -> Handled {
        let client = self.clients.at_mut(seat).ok_or(OutOfPlace)?;
        match (bye, &self.phase) {
            (Bye::Finished { .. } | Bye::Left { .. }, Phase::Ending { .. }) => client.link.said_bye = true,
            (Bye::Left { .. }, Phase::Gathering | Phase::Preparing | Phase::Seating { .. }) => {
                self.vacate(seat);
            }
            (Bye::Left { .. } | Bye::Finished { .. }, Phase::Over) => {
                client.link.said_bye = true;
                self.end_vote();
            }
            (Bye::Left { .. }, Phase::Running) => {
                self.depart(seat, Standing::Left);
            }
            _ => return Err(OutOfPlace),
        }
        Ok(())
    }

    /// A silent client's seat is no longer kept.
    pub(super) fn lose(&mut self, seat: usize) {
        match self.phase {
            Phase::Gathering | Phase::Preparing | Phase::Seating { .. } => self.turn_out(seat),
            Phase::Over => self.end_vote(),
            _ => self.depart(seat, Standing::Lost),
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
        match self.phase {
            Phase::Gathering | Phase::Preparing | Phase::Seating { .. } => self.turn_out(seat),
            Phase::Over => self.end_vote(),
            _ => self.depart(seat, Standing::Left),
        }
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
    }

    pub(super) fn begin_ending(&mut self, end: End) {
        let known_by = self.now.plus(KNOWN_WITHIN);
        self.phase = Phase::Ending { end, send_at: self.now, known_by, until: None };
    }

    /// Resends the last update until all clients have it or their time is up, then says goodbye.
    pub(super) fn end(&mut self) {
        let Phase::Ending { end, send_at, known_by, until } = self.phase else { return };
        let here = || self.clients.iter().flatten().filter(|client| client.standing == Standing::Here);
        // Who votes has every tick, and may have gone on to the next match before it could say so.
        let knows = |client: &ClientConnection| {
            client.link.said_bye
                || self.votes.stays(client.link.player)
                || client.updated >= Some(self.ticks.ran)
        };
        let has_all = |client: &ClientConnection| client.link.said_bye || client.link.connection.is_idle();
        if let Some(until) = until {
            if self.now >= until || here().all(has_all) {
                self.close(end);
            }
        } else if end == End::Finished && self.now < known_by && !here().all(knows) {
            if self.now >= send_at {
                self.send_last_again();
                let send_at = self.now.plus(LAST_EVERY);
                self.phase = Phase::Ending { end, send_at, known_by, until };
            }
        } else if end == End::Finished && self.awaits_vote() {
            if let Phase::Ending { send_at, .. } = &mut self.phase {
                *send_at = self.now.plus(LAST_EVERY);
            }
        } else {
            self.say_bye(end, known_by);
        }
    }

    /// Says goodbye, once, over the reliable channel.
    fn say_bye(&mut self, end: End, known_by: Time) {
        let bye = match end {
            End::Finished => Bye::Finished { ticks: self.ticks.ran.0, chain: self.ticks.chain.0 },
            _ => Bye::Left { tick: self.ticks.ran.0 },
        };
        for player in
            self.seats_of(|client| client.standing == Standing::Here && !client.link.said_bye).iter()
        {
            self.send(player.index(), PacketId::Bye, &bye);
        }
        let until = Some(self.now.plus(CLOSE_WITHIN));
        self.phase = Phase::Ending { end, send_at: self.now, known_by, until };
        self.end();
    }
}

/// The inputs that follow an input with this control, each with the control it holds, and with stamps
/// converted by `here`. `None` if any of them is not canonical: then the queue takes none of them.
fn read_fresh(
    inputs: impl Iterator<Item = Option<EncodedInput>>,
    mut held: HeroControl,
    here: impl Fn(&Given) -> Given,
) -> Option<Fresh> {
    let fresh = inputs.map(|input| {
        let Some(bytes) = input else {
            let input = PlayerInput { hero: held, ..PlayerInput::default() };
            return Some((held, encode_input(&input, &[])?));
        };
        let (input, given) = decode_input(&bytes).ok()?;
        // A shorter form exists, and only that is canonical.
        if input.commands.is_empty() && held == input.hero {
            return None;
        }
        held = input.hero;
        Some((held, encode_input(&input, &here(&given))?))
    });
    fresh.collect()
}

/// The inputs of a datagram that are new here.
type Fresh = ArrayVec<(HeroControl, EncodedInput), INPUTS_PER_DATAGRAM_MAX>;

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
