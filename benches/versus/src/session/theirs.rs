//! Sessions of ggrs in lockstep. They are polled once a tick, the least that works: games poll more often.
//! Their timers follow the wall, so that in virtual time the reports of five times a second all but vanish.

use anyhow::Context as _;
use ggrs::{Message, NonBlockingSocket, P2PSession, PlayerType, SessionState};
use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::{CLICK_TICKS_MAX, Meter, ONE_WAY, Sessions};
use crate::peer::{Game, TICK, builder, mixed};

/// Its lockstep takes one datagram a round trip, which is three ticks here, and another one for polling; this
/// many ticks of delay keep it from stalling.
const DELAY_TICKS: usize = 6;
/// Ticks that peers may take to find each other.
const SYNCHRONIZE_TICKS: u32 = 1_000;

/// Peers of one match and what is under way between them.
pub(super) struct Theirs {
    is_encoded: bool,
    wire: Arc<Mutex<Wire>>,
    peers: Vec<Peer>,
    random: fastrand::Rng,
}

struct Peer {
    session: P2PSession<Game>,
    player: usize,
    ran: u32,
    click_at: u32,
    clicks: u64,
}

/// Datagrams in flight to each peer.
#[derive(Default)]
struct Wire {
    now: Duration,
    to: HashMap<SocketAddr, VecDeque<InFlight>>,
}

struct InFlight {
    at: Duration,
    from: SocketAddr,
    datagram: Datagram,
}

enum Datagram {
    Message(Message),
    /// As ggrs's own socket encodes it.
    Bytes(Vec<u8>),
}

/// The end of the wire at one peer.
struct WireEnd {
    is_encoded: bool,
    address: SocketAddr,
    wire: Arc<Mutex<Wire>>,
}

impl Theirs {
    /// With `is_encoded`, datagrams are bytes, as they are on a socket; else messages are passed on as they
    /// are, which no game can do.
    pub(super) fn new(players: usize, is_encoded: bool) -> anyhow::Result<Self> {
        let wire = Arc::new(Mutex::new(Wire::default()));
        let addresses: Vec<SocketAddr> =
            (1..=players as u8).map(|host| SocketAddr::from(([10, 0, 0, host], 7000))).collect();
        let peer = |player: usize| -> anyhow::Result<Peer> {
            let mut builder = builder(players, 0, DELAY_TICKS)?;
            for (other, &address) in addresses.iter().enumerate() {
                let kind = if other == player { PlayerType::Local } else { PlayerType::Remote(address) };
                builder = builder.add_player(kind, other)?;
            }
            let end = WireEnd { is_encoded, address: addresses[player], wire: Arc::clone(&wire) };
            let session = builder.start_p2p_session(end)?;
            Ok(Peer { session, player, ran: 0, click_at: 1, clicks: 0 })
        };
        let peers = (0..players).map(peer).collect::<anyhow::Result<_>>()?;
        let mut sessions =
            Self { is_encoded, wire: Arc::clone(&wire), peers, random: fastrand::Rng::with_seed(1) };
        for _ in 0..SYNCHRONIZE_TICKS {
            sessions.pass_time();
            for peer in &mut sessions.peers {
                peer.session.poll_remote_clients();
            }
            if sessions.peers.iter().all(|peer| peer.session.current_state() == SessionState::Running) {
                return Ok(sessions);
            }
        }
        anyhow::bail!("the sessions of ggrs did not find each other")
    }

    fn pass_time(&self) {
        self.wire.lock().expect("one thread").now += TICK;
    }
}

impl Sessions for Theirs {
    fn name(&self) -> &'static str {
        if self.is_encoded { "ggrs lockstep, encoded as for its socket" } else { "ggrs lockstep" }
    }

    fn run(&mut self, ticks: u32, meter: &mut Meter) -> anyhow::Result<()> {
        let goal = self.peers.iter().map(|peer| peer.ran).min().unwrap_or_default() + ticks;
        // A stall costs a poll more; many of them would be another program's figures.
        let mut patience = 2 * ticks + SYNCHRONIZE_TICKS;
        while self.peers.iter().any(|peer| peer.ran < goal) {
            patience = patience.checked_sub(1).context("the sessions of ggrs stall")?;
            self.pass_time();
            for peer in &mut self.peers {
                if peer.ran >= peer.click_at {
                    peer.click_at = peer.ran + self.random.u32(1..=CLICK_TICKS_MAX);
                    peer.clicks += 1;
                }
                let input = mixed(peer.clicks);
                let requests = meter.calls(|| -> anyhow::Result<_> {
                    peer.session.add_local_input(peer.player, input)?;
                    let requests = peer.session.advance_frame()?;
                    peer.session.events();
                    Ok(requests)
                })?;
                peer.ran += requests.len() as u32;
            }
        }
        Ok(())
    }
}

impl NonBlockingSocket<SocketAddr> for WireEnd {
    fn send_to(&mut self, message: &Message, to: &SocketAddr) {
        let datagram = if self.is_encoded {
            Datagram::Bytes(bincode::serialize(message).expect("messages can be encoded"))
        } else {
            Datagram::Message(message.clone())
        };
        let mut wire = self.wire.lock().expect("one thread");
        let at = wire.now + ONE_WAY;
        wire.to.entry(*to).or_default().push_back(InFlight { at, from: self.address, datagram });
    }

    fn receive_all_messages(&mut self) -> Vec<(SocketAddr, Message)> {
        let mut wire = self.wire.lock().expect("one thread");
        let now = wire.now;
        let mut received = Vec::new();
        let Some(queue) = wire.to.get_mut(&self.address) else { return received };
        while queue.front().is_some_and(|next| next.at <= now) {
            let Some(InFlight { from, datagram, .. }) = queue.pop_front() else { break };
            let message = match datagram {
                Datagram::Message(message) => Some(message),
                Datagram::Bytes(bytes) => bincode::deserialize(&bytes).ok(),
            };
            received.extend(message.map(|message| (from, message)));
        }
        received
    }
}
