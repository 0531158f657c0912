//! A host that does not know the room code, and tries one after the other at a guest that waits for an answer.

use core::time::Duration;
use std::net::SocketAddr;

use net::{Host, HostConfig, RoomCode, Settings, Time, Transmit};

/// The false host: for each code that it tries, a room that asks for that one.
pub struct FalseHost {
    settings: Settings,
    config: HostConfig,
    codes: Vec<RoomCode>,
    seed: [u8; 32],
    current: Option<Host>,
    /// The code that is tried, counted from 0.
    tried: usize,
    /// The last request of the guest.
    request: Option<(SocketAddr, Vec<u8>)>,
    /// When the next code is tried.
    next_at: Time,
    /// Whether the guest has had the share of that code.
    has_shown: bool,
    /// The number of the code by which the guest has opened.
    found: Option<usize>,
}

/// From one code to the next, so that an answer to the last has arrived.
const EVERY: Duration = Duration::from_millis(60);
/// Packet ids of the handshake.
const JOIN_REQUEST: u8 = net::message::PacketId::JoinRequest as u8;
const JOIN_SHARE: u8 = net::message::PacketId::JoinShare as u8;
const JOIN_ENTRY: u8 = net::message::PacketId::JoinEntry as u8;

impl FalseHost {
    /// A host that tries these codes in this order.
    #[must_use]
    pub const fn new(settings: Settings, config: HostConfig, codes: Vec<RoomCode>, seed: [u8; 32]) -> Self {
        Self {
            settings,
            config,
            codes,
            seed,
            current: None,
            tried: 0,
            request: None,
            next_at: Time(0),
            has_shown: true,
            found: None,
        }
    }

    /// Number of codes it has tried.
    #[must_use]
    pub const fn tried(&self) -> usize {
        self.tried
    }

    /// The number of the code, counted from 0, by which the guest has asked for a seat.
    #[must_use]
    pub const fn found(&self) -> Option<usize> {
        self.found
    }

    /// Takes what the guest sends.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        match bytes.first() {
            Some(&JOIN_REQUEST) => self.request = Some((from, bytes.to_vec())),
            Some(&JOIN_ENTRY) => {
                self.found.get_or_insert(self.tried.saturating_sub(1));
                return;
            }
            _ => return,
        }
        self.act(now);
        if let Some(room) = &mut self.current {
            room.handle_datagram(now, from, bytes);
        }
    }

    /// Tries the next code when it is time.
    pub fn act(&mut self, now: Time) {
        if now < self.next_at || self.found.is_some() || self.request.is_none() || !self.has_shown {
            return;
        }
        let Some(code) = self.codes.get(self.tried).cloned() else { return };
        (self.tried, self.has_shown) = (self.tried + 1, false);
        self.next_at = now.plus(EVERY);
        let config = HostConfig { room_code: code, ..self.config.clone() };
        let mut seed = self.seed;
        seed[..8].copy_from_slice(&(self.tried as u64).to_le_bytes());
        let mut room = Host::new(now, self.settings.clone(), config, seed);
        // To a request whose cookie is of the last code it sends a challenge, with which the guest begins again.
        if let Some((from, bytes)) = &self.request {
            room.handle_datagram(now, *from, bytes);
        }
        self.current = Some(room);
    }

    /// When it next does something.
    #[must_use]
    pub const fn next_at(&self) -> Time {
        self.next_at
    }

    /// The next datagram to send.
    pub fn poll_transmit(&mut self) -> Option<Transmit> {
        let transmit = self.current.as_mut()?.poll_transmit()?;
        self.has_shown |= transmit.datagram.bytes().first() == Some(&JOIN_SHARE);
        Some(transmit)
    }
}
