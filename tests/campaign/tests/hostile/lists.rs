//! Any datagram and any hint to a list of rooms, at any time.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use net::discovery::{
    Beacon, Directory, FoundBy, Network, ROOM_INFO, ROOMS_MAX, RoomId, RoomInfo, SetupName, SetupNames,
    VersionText,
};
use net::{Architecture, PlayerName, Time};

use super::draw::Draw;

const ACTIONS_MAX: u64 = 300;

/// A list, and what somebody on its network knows of it.
struct Browser {
    now: Time,
    directory: Directory,
    /// The nonces of its queries, and 0.
    nonces: Vec<u64>,
    heard: Vec<Vec<u8>>,
}

impl Browser {
    fn new(draw: &mut Draw) -> Self {
        let mut directory = Directory::new([draw.bits() as u8; 32]);
        let prefix = *draw.pick(&[0, 8, 24, 31, 32, 33, 255]);
        directory.set_networks([Network { address: IpAddr::from([10, 0, 0, 2]), prefix }]);
        let now = *draw.pick(&[0, 1 << 40, u64::MAX / 2]);
        Self { now: Time::from_micros(now), directory, nonces: vec![0], heard: Vec::new() }
    }

    /// Its queries leave, and are read on the way.
    fn drain(&mut self) {
        while let Some((_, query)) = self.directory.poll_transmit() {
            self.learn(&query);
        }
        assert!(self.directory.rooms().count() <= ROOMS_MAX);
    }

    fn learn(&mut self, query: &[u8]) {
        self.nonces.push(u64::from_le_bytes(query[3..11].try_into().expect("8 bytes")));
    }

    fn act(&mut self, draw: &mut Draw) {
        match draw.below(16) {
            0 => {
                let query = self.directory.broadcast_query();
                self.learn(&query);
            }
            1..=3 => {
                let way = *draw.pick(&[FoundBy::Mdns, FoundBy::Broadcast]);
                let addresses: Vec<SocketAddr> = (0..draw.below(12)).map(|_| address(draw)).collect();
                self.directory.hint(self.now, way, room(draw), &addresses);
            }
            4..=9 => self.say(draw),
            10 => {
                let bytes: Vec<u8> = (0..draw.below(210)).map(|_| draw.bits() as u8).collect();
                self.directory.handle_datagram(self.now, address(draw), &bytes);
            }
            11 => self.say_damaged(draw),
            _ => {
                let waits = [Duration::ZERO, Duration::from_millis(20), Duration::from_secs(1), HOURS];
                self.now = self
                    .directory
                    .poll_timeout()
                    .filter(|_| draw.below(2) == 0)
                    .map_or_else(|| self.now.plus(*draw.pick(&waits)), |due| due.max(self.now));
                self.directory.handle_timeout(self.now);
            }
        }
        self.drain();
    }

    /// Something that a room could say, if it were there.
    fn say(&mut self, draw: &mut Draw) {
        let nonce = if draw.below(8) == 0 { draw.bits() } else { *draw.pick(&self.nonces) };
        let from = address(draw);
        let seats = 1 + draw.below(4) as u8;
        let beacon = Beacon {
            id: room(draw),
            port: (draw.bits() as u16).max(1),
            name: PlayerName::new("liar").expect("a name"),
            architecture: *draw.pick(&[Architecture::P2p, Architecture::ClientServer, Architecture::Relay]),
            players: draw.below(u64::from(seats) + 1) as u8,
            seats,
            locked: draw.below(2) == 0,
            closed: draw.below(4) == 0,
            version: VersionText::new("0.1").expect("a version"),
            build: draw.bits() as u32,
        };
        let bytes = RoomInfo { nonce, beacon, names: (draw.below(2) == 0).then(|| names(draw)) }.encode();
        self.heard.push(bytes.to_vec());
        self.directory.handle_datagram(self.now, from, &bytes);
    }

    fn say_damaged(&mut self, draw: &mut Draw) {
        if self.heard.is_empty() {
            return;
        }
        let mut bytes = draw.pick(&self.heard).clone();
        for _ in 0..1 + draw.below(4) {
            let at = draw.below(bytes.len() as u64) as usize;
            match draw.below(4) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.push(draw.bits() as u8),
                _ => bytes[at] = draw.bits() as u8,
            }
        }
        if draw.below(2) == 0 {
            bytes[0] = ROOM_INFO;
        }
        self.directory.handle_datagram(self.now, address(draw), &bytes);
    }
}

const HOURS: Duration = Duration::from_secs(100_000);

fn address(draw: &mut Draw) -> SocketAddr {
    let ip = match draw.below(8) {
        0 => IpAddr::from([127, 0, 0, 1]),
        1 => IpAddr::from(std::array::from_fn::<u8, 16, _>(|_| draw.bits() as u8)),
        2 => IpAddr::from(std::array::from_fn::<u8, 4, _>(|_| draw.bits() as u8)),
        _ => IpAddr::from([10, 0, 0, draw.below(6) as u8]),
    };
    SocketAddr::new(ip, if draw.below(4) == 0 { draw.bits() as u16 } else { 4124 })
}

fn room(draw: &mut Draw) -> RoomId {
    RoomId(if draw.below(4) == 0 { draw.bits() } else { draw.below(4) })
}

fn names(draw: &mut Draw) -> SetupNames {
    let long = "x".repeat(48);
    let texts = ["duel", "Zwei Hügel", &long];
    let mut name = || SetupName::shortened(draw.pick::<&str>(&texts)).expect("a name");
    SetupNames { rules: name(), map: name() }
}

/// One case.
pub(crate) fn play_list(draw: &mut Draw) {
    let mut browser = Browser::new(draw);
    for _ in 0..draw.below(ACTIONS_MAX) {
        browser.act(draw);
    }
}
