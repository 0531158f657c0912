//! A client as the server sees it: its link, its inputs, and its violations.

use arrayvec::ArrayVec;
use core::ops::{Deref, DerefMut};

use super::queue::InputQueue;
use super::sent::SentUpdate;
use crate::drop_cause::{DropCause, Handled};
use crate::event::ClientCounts;
use crate::play::link::Link;
use crate::play::stream::Stream;
use crate::rate_limit::TokenBucket;
use crate::room::chat::ChatLimit;
use crate::time::Time;
use sim::{PLAYERS_MAX, Tick, TickRate};

/// Number of rejections that a client may collect before it is expelled. Datagrams that cannot be opened, replays
/// above all, do not count: links and strangers repeat datagrams, too.
const REFUSALS_MAX: u32 = 128;
/// Rejections forgiven per second: an honest client's inputs may arrive out of place after an outage.
const FORGIVEN_PER_S: u64 = 4;
/// Datagrams that a client may send per tick, averaged over a second.
const DATAGRAMS_PER_TICK: u64 = 3;

/// The state of a client's connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    Here,
    /// Silent; the seat is kept until then.
    Away {
        until: Time,
    },
    Left,
    Lost,
}

/// The clients, by seat.
#[derive(Debug)]
pub(super) struct Clients(ArrayVec<Option<ClientConnection>, PLAYERS_MAX>);

impl Clients {
    pub(super) fn new(seats: usize) -> Self {
        Self(core::iter::repeat_with(|| None).take(seats).collect())
    }

    /// The client in this seat.
    pub(super) fn at(&self, seat: usize) -> Option<&ClientConnection> {
        self.0.get(seat)?.as_ref()
    }

    /// The client in this seat, mutably.
    pub(super) fn at_mut(&mut self, seat: usize) -> Option<&mut ClientConnection> {
        self.0.get_mut(seat)?.as_mut()
    }

    /// Removes the client from its seat.
    pub(super) fn take(&mut self, seat: usize) -> Option<ClientConnection> {
        self.0.get_mut(seat)?.take()
    }

    /// Removes all clients from their seats.
    pub(super) fn take_all(&mut self) -> impl Iterator<Item = ClientConnection> {
        self.0.iter_mut().filter_map(Option::take)
    }

    /// Puts the client into its seat.
    pub(super) fn put(&mut self, client: ClientConnection) {
        if let Some(seat) = self.0.get_mut(client.link.player.index()) {
            *seat = Some(client);
        }
    }
}

impl Deref for Clients {
    type Target = [Option<ClientConnection>];

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for Clients {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.0
    }
}

/// One client's end of the server.
#[derive(Debug)]
pub(super) struct ClientConnection {
    pub(super) link: Link,
    /// Whether it has the world before tick 0: who has just come back has not.
    pub(super) is_ready: bool,
    pub(super) queue: InputQueue,
    pub(super) chat_limit: ChatLimit,
    pub(super) standing: Standing,
    /// Whether the surrender that its departure causes has yet to be played.
    pub(super) departs: bool,
    /// The tick of the newest update it has: it knows everything before that. `None` for a client that has
    /// just rejoined and has nothing yet.
    pub(super) updated: Option<Tick>,
    /// The update that it is sent.
    pub(super) sent: SentUpdate,
    /// The tick of the newest state that it has been sent: of a relay's ticks, it need not know those before.
    pub(super) state_sent: Tick,
    /// The recording, once it has asked for it.
    pub(super) stream: Option<Stream>,
    pub(super) counts: ClientCounts,
    refusals: TokenBucket,
    datagrams: TokenBucket,
    pub(super) bits: TokenBucket,
}

impl ClientConnection {
    pub(super) fn new(now: Time, link: Link, rate: TickRate, bits_per_s: u64) -> Self {
        let datagrams = DATAGRAMS_PER_TICK * u64::from(rate.hz());
        Self {
            link,
            is_ready: true,
            queue: InputQueue::new(),
            chat_limit: ChatLimit::of_others(now, 1),
            standing: Standing::Here,
            departs: false,
            updated: Some(Tick(0)),
            sent: SentUpdate::default(),
            state_sent: Tick(0),
            stream: None,
            counts: ClientCounts::default(),
            refusals: TokenBucket::new(now, u64::from(REFUSALS_MAX), FORGIVEN_PER_S),
            datagrams: TokenBucket::new(now, datagrams, datagrams),
            bits: TokenBucket::new(now, bits_per_s / 20, bits_per_s),
        }
    }

    /// The same player, rejoined over another link and without any state.
    pub(super) fn returned(self, mut link: Link) -> Self {
        link.connection.traffic = self.link.connection.traffic;
        let (queue, standing) = (InputQueue::new(), Standing::Here);
        Self {
            link,
            is_ready: false,
            queue,
            standing,
            updated: None,
            sent: SentUpdate::default(),
            stream: None,
            ..self
        }
    }

    /// Whether the seat is still this client's.
    pub(super) const fn is_in(&self) -> bool {
        matches!(self.standing, Standing::Here | Standing::Away { .. })
    }

    /// Whether updates are sent to it.
    pub(super) fn is_playing(&self) -> bool {
        matches!(self.standing, Standing::Here) && self.is_ready
    }

    /// Returns when a message or a piece of the recording must be sent again.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let connection = &self.link.connection;
        let piece = self.stream.as_ref().filter(|_| self.standing == Standing::Here);
        let piece = piece.and_then(|stream| stream.poll_timeout(connection));
        connection.poll_timeout().into_iter().chain(piece).min()
    }

    /// Counts a datagram received under its connection id.
    pub(super) const fn count_received(&mut self, bytes: usize) {
        let traffic = &mut self.link.connection.traffic;
        traffic.packets_received += 1;
        traffic.bytes_received += bytes as u64;
    }

    /// Counts a datagram that was opened, unless the client is over its rate limit.
    pub(super) fn count_opened(&mut self, now: Time) -> Handled {
        if self.datagrams.take(now, 1) { Ok(()) } else { Err(DropCause::RateLimited) }
    }

    /// Counts a violation by this client. False if there were too many.
    pub(super) fn reject(&mut self, now: Time) -> bool {
        self.counts.rejected = self.counts.rejected.saturating_add(1);
        self.refusals.take(now, 1)
    }
}
