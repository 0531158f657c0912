//! Shared state with another process, independent of the match: addresses, packet protection, round-trip time, loss,
//! clocks, keep-alive, and one reliable channel beside the unreliable datagrams. Knows nothing of ticks.

mod channel;
mod closing;
pub(super) mod cpace;
mod datagram_tracer;
pub(super) mod handshake;
pub(super) mod keys;
pub(crate) mod limits;
mod loss;
mod messages;
mod pace;
pub(super) mod pair_keys;
pub(super) mod path;
pub(super) mod protection;
mod quota;
pub(super) mod remote_clock;
mod rtt;
pub(crate) mod signing;

use alloc::vec::Vec;
use core::net::SocketAddr;
use core::time::Duration;
use rand_chacha::ChaCha12Rng;
use rand_chacha::rand_core::Rng as _;
use serde::Serialize;

pub(super) use self::closing::{CLOSE_WITHIN, Closing};

pub use self::channel::{
    Channel, ChannelError, ChannelFull, FRAGMENT_BYTES, QUEUED_BYTES_MAX, QUEUED_MESSAGES_MAX,
};
use self::datagram_tracer::DatagramTracer;
use self::loss::Loss;
use self::messages::Messages;
use self::pace::Pace;
use self::path::{Path, Trust};
use self::protection::{OpenError, Opened, OpeningRoom, PacketProtection};
use self::quota::Quotas;
use self::rtt::Rtt;
use crate::connection::remote_clock::RemoteClock;
use crate::drop_cause::{DropCause, Handled};
use crate::event::{LinkStatus, Traffic};
use crate::outbox::{Outbox, Source};
use crate::time::Time;
use crate::timer::{Timer, Timers};
use crate::wire::limits::{ENVELOPE_BYTES, SETUP_BYTES_MAX, TAG_BYTES};
use crate::wire::message::{Delivery, MatchConfig, PacketId, PathEcho, Ping, Pong, decode, encode};
use crate::wire::sealed::SealedPacket;
use sim::PlayerId;

/// Ping interval while a match is being set up.
pub(super) const PING_SETUP: Duration = Duration::from_millis(50);
/// Ping interval while it runs.
pub(super) const PING_RUNNING: Duration = Duration::from_millis(500);
/// Silence after which the other end is named on screen.
pub const SILENT_AFTER: Duration = Duration::from_millis(500);
/// After so much silence the match waits for a server, whose updates come twenty times a second by default. Of a
/// peer, which sends in every tick, half of it says that nothing arrives at all.
pub(crate) const QUIET_AFTER: Duration = Duration::from_millis(300);
/// Silence after which the other end, or the path to it, was interrupted; pings alone are never so far apart.
const GAP: Duration = Duration::from_millis(750);
/// Delay of the next ping after an interruption. Delayed datagrams arrive together, and a computer that was suspended
/// catches up; measurements during that time say nothing about the path.
const MEASURE_AFTER: Duration = Duration::from_millis(400);
/// Longest ping interval to a peer that was never heard; the interval doubles up to this.
const PING_UNHEARD_MAX: Duration = Duration::from_secs(1);
/// Loss above which a connection sends a second datagram per tick, per mille; it also does so while the loss
/// is unknown.
pub(super) const LOSSY_PER_MILLE: u16 = 10;
/// Most bytes of a message, unless the session expects a longer one.
pub(super) const MESSAGE_BYTES_MAX: usize = 1 + SETUP_BYTES_MAX;
/// Shortest time after which an unacknowledged message is sent again.
const MESSAGE_AGAIN_MIN: Duration = Duration::from_millis(20);

/// One end of a connection, known by its connection id.
#[derive(Debug)]
pub(super) struct Connection {
    path: Path,
    pub(super) protection: PacketProtection,
    pub(super) rtt: Rtt,
    loss: Loss,
    /// Share of our datagrams that the other end recently lost, per mille.
    pub(super) lost_there: u16,
    /// Rate of its datagrams with inputs.
    pub(super) pace: Pace,
    /// The other end's clock beside ours.
    pub(super) clock: RemoteClock,
    /// Time at which the other end was last heard; initially, when the connection was made.
    pub(super) heard_at: Time,
    /// Whether it was ever heard.
    pub(super) is_heard: bool,
    /// Whether its silence has been reported as an event.
    pub(super) is_silent: bool,
    pub(super) timers: Timers,
    /// Traffic over the connection.
    pub(super) traffic: Traffic,
    messages: Messages,
    /// Messages that the other end may still send.
    quotas: Quotas,
    /// Set if the datagrams of the running match are reported.
    tracer: Option<DatagramTracer>,
}

impl Connection {
    pub(super) fn new(
        now: Time,
        (addresses, trust): (&[SocketAddr], Trust),
        protection: PacketProtection,
        rng: &mut ChaCha12Rng,
    ) -> Self {
        let mut secret = [0; 32];
        rng.fill_bytes(&mut secret);
        let mut timers = Timers::default();
        timers.set(Timer::Ping, now);
        Self {
            path: Path::new(addresses, trust, secret),
            protection,
            rtt: Rtt::default(),
            loss: Loss::default(),
            lost_there: 0,
            pace: Pace::new(now),
            clock: RemoteClock::default(),
            heard_at: now,
            is_heard: false,
            is_silent: false,
            timers,
            traffic: Traffic::default(),
            messages: Messages::new(now, MESSAGE_BYTES_MAX),
            quotas: Quotas::new(now),
            tracer: None,
        }
    }

    /// Reports each datagram of the match that begins, until it is over.
    pub(super) fn trace_datagrams(&mut self, peer: PlayerId, config: MatchConfig) {
        self.tracer = Some(DatagramTracer::new(peer, config, self.protection.next_number()));
    }

    /// Takes over from the connection that this one replaces while a match runs.
    pub(super) fn replace(&mut self, before: &Self) {
        self.tracer = before.tracer.as_ref().map(DatagramTracer::renewed);
    }

    /// Opens a datagram of the other end in `room`.
    pub(super) fn open<'a>(
        &mut self,
        datagram: &[u8],
        room: &'a mut OpeningRoom,
        out: &mut Outbox,
    ) -> Result<Opened<'a>, OpenError> {
        let opened = self.protection.open(datagram, room)?;
        if let Some(tracer) = &mut self.tracer {
            tracer.received(&opened, &self.protection, out);
        }
        Ok(opened)
    }

    /// Share of the other end's datagrams that were recently lost, per mille; `None` before it is known.
    pub(super) const fn lost_here(&self) -> Option<u16> {
        self.loss.per_mille()
    }

    /// Returns the addresses of the other end; several until it is heard.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        self.path.addresses()
    }

    /// An authentic datagram of `bytes` came from `from`; `newest` says that no later one has. A new address is
    /// challenged.
    pub(super) fn hear(&mut self, now: Time, (from, bytes): (Source, usize), newest: bool, out: &mut Outbox) {
        if now.since(self.heard_at) >= GAP {
            self.measure_anew(now);
        }
        self.heard_at = now;
        let (sent, arrived) = self.protection.arrivals();
        self.loss.observe(sent, arrived);
        let is_first = !core::mem::replace(&mut self.is_heard, true);
        if is_first {
            // The other end exists and answers.
            self.timers.set(Timer::Ping, now);
        }
        if let Some(data) = self.path.heard(now, from, bytes, newest) {
            self.transmit_to(out, from, PacketId::PathChallenge, &PathEcho { data });
        }
    }

    /// Handles what is said about the path. False if it is something else.
    pub(super) fn receive_path(
        &mut self,
        from: Source,
        id: PacketId,
        body: &[u8],
        out: &mut Outbox,
    ) -> Result<bool, DropCause> {
        match id {
            PacketId::PathChallenge => {
                let echo: PathEcho = decode(body)?;
                self.transmit_to(out, self.path.answer_to(from), PacketId::PathResponse, &echo);
            }
            PacketId::PathResponse => {
                let PathEcho { data } = decode(body)?;
                self.path.answered(data);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Sends a datagram about the path to this address, as far as what came from there allows.
    fn transmit_to(&mut self, out: &mut Outbox, to: Source, id: PacketId, echo: &PathEcho) {
        let body = encode(echo);
        let datagram = self.seal(id, &body, out);
        if self.path.take_to(to.address, datagram.bytes().len()) {
            self.count_sent(datagram.bytes().len());
            out.transmit(to, datagram);
        }
    }

    fn seal(&mut self, id: PacketId, body: &[u8], out: &mut Outbox) -> SealedPacket {
        if let Some(tracer) = &mut self.tracer {
            tracer.sent(self.protection.sent(), id, body, out);
        }
        self.protection.seal(id as u8, body)
    }

    const fn count_sent(&mut self, bytes: usize) {
        self.traffic.packets_sent += 1;
        self.traffic.bytes_sent = self.traffic.bytes_sent.saturating_add(bytes as u64);
    }

    /// This process was suspended for `by`: the other end's datagrams have not been read, and that is not
    /// its silence.
    pub(super) fn forgive(&mut self, now: Time, by: Duration) {
        self.heard_at = self.heard_at.plus(by).min(now);
        // A slow computer is late all the time, and still has to measure.
        if by >= GAP {
            self.measure_anew(now);
        }
    }

    /// After an interruption: earlier pings would measure that.
    fn measure_anew(&mut self, now: Time) {
        self.rtt.forget_unanswered();
        self.timers.set(Timer::Ping, now.plus(MEASURE_AFTER));
    }

    /// The match that had it is over: the room has it again.
    pub(super) fn begin_anew(&mut self) {
        self.tracer = None;
        self.protection.begin_anew();
        self.traffic = Traffic::default();
        self.timers.set(Timer::Resend, None);
        self.timers.set(Timer::Repeat, None);
    }

    /// Sends an unreliable datagram.
    pub(super) fn transmit(&mut self, out: &mut Outbox, id: PacketId, body: &[u8]) {
        for at in 0..self.path.addresses().len() {
            let Some(&address) = self.path.addresses().get(at) else { return };
            if !self.path.take(ENVELOPE_BYTES + body.len() + TAG_BYTES) {
                // Like a lost datagram.
                return;
            }
            let datagram = self.seal(id, body, out);
            self.count_sent(datagram.bytes().len());
            out.transmit(Source { address, local: self.path.local() }, datagram);
        }
    }

    /// Pings the other end if a ping is due: every `every`, less often while it was never heard, because
    /// a stranger at a guessed address has not asked for datagrams.
    pub(super) fn ping(&mut self, now: Time, every: Duration, out: &mut Outbox) {
        if !self.timers.is_due(Timer::Ping, now) {
            return;
        }
        let unheard = if self.is_heard { 0 } else { self.rtt.unanswered() };
        let doubled = PING_SETUP * (1 << unheard.min(5));
        self.timers.set(Timer::Ping, now.plus(every.max(doubled.min(PING_UNHEARD_MAX))));
        self.rtt.ping(now);
        self.transmit(out, PacketId::Ping, &encode(&Ping { time_us: now.0 }));
    }

    /// Handles the answer to a ping, and returns the round-trip time. `None` if there was no such ping.
    pub(super) fn on_pong(&mut self, now: Time, pong: &Pong) -> Option<Duration> {
        let sample = self.rtt.answer(now, Time(pong.echo_us))?;
        let (sent, received) = (Time(pong.echo_us), Time(pong.time_us));
        self.clock.observe(sent, received, now);
        self.lost_there = pong.lost_per_mille.min(1000);
        self.pace.observe(now, received.minus(sent), sample, self.lost_there);
        Some(sample)
    }

    /// Sends a message as its [`Delivery`] says: in a datagram of its own, or reliably and in order.
    pub(super) fn send<T: Serialize>(&mut self, out: &mut Outbox, id: PacketId, message: &T) {
        let body = encode(message);
        match id.delivery() {
            Delivery::Reliable => self.send_bytes(id, &body),
            Delivery::Datagram | Delivery::Unconnected => self.transmit(out, id, &body),
        }
    }

    /// Sends an encoded message reliably. If it describes a state, it replaces its older message that still waits.
    pub(super) fn send_bytes(&mut self, id: PacketId, bytes: &[u8]) {
        self.messages.send(id, bytes);
    }

    /// Sends an arbitrary message reliably, whatever waits.
    #[cfg(feature = "doors")]
    pub(super) fn forge(&mut self, id: PacketId, bytes: &[u8]) {
        self.messages.send_at_once(id, bytes);
    }

    /// Counts a message or a datagram of this kind, once it is authentic; an error if the other end has sent too many.
    pub(super) fn admit(&mut self, now: Time, id: PacketId) -> Handled {
        self.quotas.take(now, id)
    }

    /// Whether a suspicion of the other end may be answered now.
    pub(super) fn may_answer(&mut self, now: Time) -> bool {
        self.quotas.take_answer(now)
    }

    /// Whether inputs of this many bytes may be relayed to the other end now.
    pub(super) fn may_relay(&mut self, now: Time, bytes: usize) -> bool {
        self.quotas.take_relayed(now, bytes)
    }

    /// Whether the other end sends far more than an honest one: it must lose its seat.
    pub(super) const fn is_flooding(&self) -> bool {
        self.quotas.is_flooding()
    }

    /// The state of the connection to this player.
    pub(super) fn status(&self, player: PlayerId, now: Time) -> LinkStatus {
        LinkStatus {
            player,
            rtt_us: self.rtt.smoothed_us(),
            jitter_us: self.rtt.deviation_us(),
            lost_from_per_mille: self.lost_here().unwrap_or(0),
            lost_to_per_mille: self.lost_there,
            silent_for: now.since(self.heard_at),
            unacknowledged: self.queued(),
            words: self.protection.words(),
        }
    }

    /// Returns the number of unacknowledged messages.
    pub(super) const fn queued(&self) -> usize {
        self.messages.queued()
    }

    /// Whether every message has been acknowledged.
    pub(super) fn is_idle(&self) -> bool {
        self.messages.is_idle()
    }

    /// Whether a message could not be queued because the other end does not acknowledge: the connection must
    /// be closed.
    pub(super) const fn is_broken(&self) -> bool {
        self.messages.is_broken()
    }

    /// Sets the longest message accepted from now on, in bytes.
    pub(super) const fn set_message_bytes_max(&mut self, bytes: usize) {
        self.messages.set_message_bytes_max(bytes);
    }

    /// Handles a packet of the reliable channel. [`Self::poll_message`] returns the messages it completes. An
    /// error if the other end may not send it.
    pub(super) fn receive(&mut self, body: &[u8]) -> Handled {
        self.messages.receive(body)
    }

    /// The next complete message.
    pub(super) fn poll_message(&mut self) -> Option<(PacketId, Vec<u8>)> {
        self.messages.poll_message()
    }

    /// Sends the channel's packets that are due.
    pub(super) fn flush(&mut self, now: Time, out: &mut Outbox) {
        let timeout = self.rtt.message_timeout(MESSAGE_AGAIN_MIN);
        while let Some((body, is_again)) = self.messages.poll_packet(now, timeout) {
            self.transmit(out, PacketId::Acknowledge, &body);
            out.traffic.retransmissions += u64::from(is_again);
        }
    }

    /// The retransmission timeout of the bulk lane.
    pub(super) fn bulk_timeout(&self) -> Duration {
        self.rtt.message_timeout(MESSAGE_AGAIN_MIN)
    }

    /// Returns when a retransmission is due, or a state that waits. First transmissions leave with [`Self::flush`].
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        self.messages.poll_timeout(self.rtt.message_timeout(MESSAGE_AGAIN_MIN))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::event::Traffic;
    use rand_chacha::rand_core::SeedableRng as _;

    const AT: SocketAddr = SocketAddr::new(core::net::IpAddr::V4(core::net::Ipv4Addr::LOCALHOST), 4124);

    fn at(ms: u64) -> Time {
        Time(1_000_000 + 1_000 * ms)
    }

    fn connection() -> (Connection, Outbox) {
        let rng = &mut ChaCha12Rng::from_seed([1; 32]);
        let protection = PacketProtection::plaintext(1, 2);
        let connection = Connection::new(at(0), (&[AT], Trust::Proven), protection, rng);
        (connection, Outbox::new(Traffic::default()))
    }

    /// A connection that was heard at 0 ms and has sent a ping then, and whether the answer counts at `ms`.
    fn counts(ms: u64, before: impl FnOnce(&mut Connection)) -> bool {
        let (mut connection, mut out) = connection();
        connection.hear(at(0), (AT.into(), 40), true, &mut out);
        connection.ping(at(0), PING_RUNNING, &mut out);
        before(&mut connection);
        connection.hear(at(ms), (AT.into(), 40), true, &mut out);
        let (echo_us, time_us) = (at(0).0, at(ms).0);
        let pong = Pong { echo_us, clock_us: None, time_us, error_us: 0, lost_per_mille: 0 };
        connection.on_pong(at(ms), &pong).is_some()
    }

    #[test]
    fn an_interruption_is_not_taken_for_a_long_way() {
        assert!(counts(740, |_| {}), "a slow path");
        assert!(!counts(760, |_| {}), "the other end was suspended");
        assert!(!counts(900, |connection| connection.forgive(at(850), GAP)), "this one was");
    }

    #[test]
    fn a_message_of_4096_bytes_arrives_and_a_longer_one_does_not() {
        // A byte of it names its kind.
        for (length, arrives) in [(4_095, true), (4_096, false)] {
            let ((mut here, _), (mut there, _)) = (connection(), connection());
            here.send_bytes(PacketId::Bye, &alloc::vec![7; length]);
            let mut arrived = None;
            let pass = |ms: u64, from: &mut Connection, to: &mut Connection| {
                while let Some((body, _)) = from.messages.poll_packet(at(ms), Duration::from_millis(20)) {
                    to.receive(&body).expect("a packet");
                }
            };
            for ms in 0..1_000 {
                pass(ms, &mut here, &mut there);
                pass(ms, &mut there, &mut here);
                arrived = arrived.or_else(|| there.poll_message());
            }
            assert_eq!(arrived.map(|(_, bytes)| bytes.len()), arrives.then_some(length));
        }
    }

    #[test]
    fn a_computer_that_is_often_late_still_measures() {
        let (mut connection, mut out) = connection();
        for ms in (0..2_000).step_by(50) {
            connection.hear(at(ms), (AT.into(), 40), true, &mut out);
            connection.forgive(at(ms), Duration::from_millis(25));
            connection.ping(at(ms), PING_RUNNING, &mut out);
        }
        assert_eq!(connection.traffic.packets_sent, 4, "a ping every 500 ms");
        assert!(!connection.rtt.is_interrupted());
    }
}
