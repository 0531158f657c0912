//! Tests the methods of discovery on this machine.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use if_addrs::IfAddr;

use crate::{DEFAULT_PORT, LAST_DEFAULT_PORT, udp};
use net::discovery::{
    Beacon, DISCOVERY_BYTES_MAX, Dropped, Found, FoundBy, Room, RoomId, RoomInfo, RoomQuery, VersionText,
    answer,
};
use net::{Architecture, PlayerName};

use super::lan::{self, Buffer, Lan};
use super::{AnnounceError, Announcer, BrowseError, Browser, DISCOVERY_PORT, Warning};

/// Interval between queries to the named host.
const ASK_INTERVAL: Duration = Duration::from_millis(250);
/// Maximum wait on one socket.
const ROUND: Duration = Duration::from_millis(3);
/// Maximum number of other machines that are distinguished.
const OTHERS_MAX: usize = 256;
/// Maximum number of interfaces that are listed.
const INTERFACES_MAX: usize = 64;

/// Findings of a diagnosis.
#[derive(Clone, Debug)]
pub struct Diagnosis {
    /// Active addresses of this machine, of both families.
    pub interfaces: Vec<Interface>,
    /// Default ports of the game that no other process uses, in either address family.
    pub free_ports: Vec<u16>,
    /// One query to each broadcast address, and the system's error if it failed.
    pub broadcasts: Vec<(SocketAddr, Result<(), String>)>,
    /// Number of this machine's broadcasts that it received itself.
    pub heard_self: u32,
    /// Discovery methods with which a browser here found a room announced here.
    pub found_self: Found,
    /// Other machines that broadcast.
    pub others: BTreeMap<IpAddr, Heard>,
    /// Rooms of others that answer.
    pub rooms: Vec<Room>,
    /// Number of rooms that answer, too, but for which the list has no place.
    pub beyond: usize,
    /// Discovery datagrams that were dropped.
    pub dropped: Dropped,
    /// Warnings of the announcer and the browser.
    pub warnings: Vec<Warning>,
    /// Answer of the host that was asked directly.
    pub asked: Option<Asked>,
}

/// Address of this machine.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Interface {
    /// Name of the interface.
    pub name: String,
    /// Address of the interface.
    pub address: IpAddr,
    /// Prefix length of its network, in bits.
    pub prefix: u8,
    /// Whether it is a loopback address.
    #[serde(rename = "loopback")]
    pub is_loopback: bool,
}

/// Broadcasts of another machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Heard {
    /// Number of queries: a player is searching for matches there.
    pub queries: u32,
    /// Number of beacons: a match is open there.
    pub beacons: u32,
    /// Port of the newest beacon's match, if it has a free seat.
    pub port: Option<u16>,
    /// Number of datagrams that this version cannot decode.
    pub unreadable: u32,
}

/// Host that was asked directly.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Address of the host.
    pub address: SocketAddr,
    /// Number of queries.
    pub sent: u32,
    /// Fastest round trip.
    pub rtt: Option<Duration>,
    /// Error of the system, if nothing could be sent.
    pub error: Option<String>,
}

/// Reason why the diagnosis failed.
#[derive(Debug, thiserror::Error)]
pub enum DiagnoseError {
    /// No socket can be opened.
    #[error("no UDP socket can be opened ({0})")]
    Socket(io::Error),
    /// The interfaces cannot be read.
    #[error("the network interfaces cannot be listed ({0})")]
    Interfaces(io::Error),
    /// The system has no random numbers.
    #[error("no random numbers ({0})")]
    Random(getrandom::Error),
    /// No announcement is possible.
    #[error(transparent)]
    Announce(#[from] AnnounceError),
    /// No search is possible.
    #[error(transparent)]
    Browse(#[from] BrowseError),
}

/// Announces a room, searches for it and for those of others, and listens to broadcasts, for `length`. The room
/// answers only this machine, so nobody else lists it. `version` and `build` are this program's; `ask` holds the
/// addresses of a host to be asked directly, of which the first that answers is reported.
///
/// # Errors
/// If there is no socket, no thread or no random number.
pub fn diagnose(
    length: Duration,
    version: VersionText,
    build: u32,
    ask: &[SocketAddr],
) -> Result<Diagnosis, DiagnoseError> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).map_err(DiagnoseError::Random)?;
    let nonce = u64::from_le_bytes(seed) | 1;
    let game = lan::ephemeral().map_err(DiagnoseError::Socket)?;
    let port = game.local_addr().map_err(DiagnoseError::Socket)?.port();
    let interfaces = interfaces().map_err(DiagnoseError::Interfaces)?;
    let free_ports = (DEFAULT_PORT..=LAST_DEFAULT_PORT).filter(|&port| udp::is_free(port)).collect();
    // The announcer and the browser report why they cannot listen; here it only counts as nothing received.
    let listener = lan::listen().ok();
    let beacon = beacon(RoomId(nonce), port, version, build);
    let announcer = Announcer::start(beacon.clone())?;
    let browser = Browser::start()?;
    let mut examination = Examination {
        own: interfaces.iter().map(|interface| interface.address).collect(),
        game_v6: lan::ephemeral_v6(port),
        game,
        listener,
        beacon,
        nonce,
        heard_self: 0,
        others: BTreeMap::new(),
        asked: ask.iter().map(|&address| Asked { address, sent: 0, rtt: None, error: None }).collect(),
        asking: nonce,
        asked_at: None,
    };
    let broadcasts = examination.broadcast();
    let end = Instant::now() + length;
    while Instant::now() < end {
        examination.ask();
        examination.answer();
        examination.listen();
    }
    let (own, others): (Vec<Room>, Vec<Room>) =
        browser.rooms().into_iter().partition(|room| room.id == RoomId(nonce));
    let mut warnings = announcer.warnings();
    warnings.extend(browser.warnings());
    warnings.dedup();
    Ok(Diagnosis {
        interfaces,
        free_ports,
        broadcasts,
        heard_self: examination.heard_self,
        found_self: own.first().map(|room| room.found_by).unwrap_or_default(),
        others: examination.others,
        rooms: others,
        beyond: browser.beyond(),
        dropped: browser.dropped(),
        warnings,
        asked: examination.asked.into_iter().min_by_key(|asked| asked.rtt.is_none()),
    })
}

impl Diagnosis {
    /// Whether matches can be announced and found from here, by at least one method.
    #[must_use]
    pub fn works(&self) -> bool {
        let is_on_network = self.networks().next().is_some();
        // On IPv6 alone a broadcast comes back by loopback, and reaches nobody else.
        let is_found = self.found_self.has(FoundBy::Mdns)
            || self.is_on_ipv4() && self.found_self.has(FoundBy::Broadcast);
        let is_silent = self.asked.as_ref().is_some_and(|asked| asked.rtt.is_none());
        is_on_network && is_found && !is_silent && self.mute().next().is_none()
    }

    /// Iterates over machines that announce a match whose port does not answer. Where more rooms answer than the list
    /// holds, that cannot be told.
    pub fn mute(&self) -> impl Iterator<Item = SocketAddr> {
        let announced = self.others.iter().filter_map(|(&ip, heard)| Some(SocketAddr::new(ip, heard.port?)));
        let is_listed = |address: &SocketAddr| self.rooms.iter().any(|room| room.address == *address);
        announced.filter(move |address| self.beyond == 0 && !is_listed(address))
    }

    /// Returns advice for the user, the most urgent first.
    #[must_use]
    pub fn advice(&self) -> Vec<String> {
        let mut advice = Vec::new();
        self.advise_on_this_machine(&mut advice);
        for address in self.mute() {
            advice.push(format!(
                "{address} announces a match but does not answer: allow UDP {DEFAULT_PORT} to \
                 {LAST_DEFAULT_PORT} in the firewall there"
            ));
        }
        if self.dropped.other_version > 0 {
            advice.push(
                "another version of the game is on this network: install the same version everywhere".into(),
            );
        }
        match &self.asked {
            Some(Asked { address, rtt: None, error: Some(error), .. }) => {
                advice.push(format!("{address} cannot be reached ({error}): check the address"));
            }
            Some(Asked { address, sent, rtt: None, .. }) => advice.push(format!(
                "{address} answered none of {sent} queries: is a match open there (`arena host`), at this \
                 port, and does its firewall let UDP in?"
            )),
            Some(Asked { rtt: Some(_), .. }) => {}
            None if self.rooms.is_empty() && self.others.is_empty() => advice.extend(self.nobody()),
            None => {}
        }
        if let Some(room) = self.rooms.first() {
            advice.push(format!("join with `arena join {}`", room.address));
        }
        advice
    }

    fn advise_on_this_machine(&self, advice: &mut Vec<String>) {
        if self.interfaces.iter().all(|interface| interface.is_loopback) {
            advice.push("this machine is not on a network: plug in a cable or join a Wi-Fi network".into());
            return;
        }
        if self.free_ports.is_empty() {
            advice.push(format!(
                "other programs have UDP {DEFAULT_PORT} to {LAST_DEFAULT_PORT}: host with `--port 0`"
            ));
        }
        for (to, result) in &self.broadcasts {
            if let (Err(error), false) = (result, is_optional(to)) {
                advice.push(format!("nothing can be broadcast to {to} ({error}): check the firewall"));
            }
        }
        // IPv6 has no broadcasts.
        let is_on_ipv4 = self.is_on_ipv4();
        if self.heard_self == 0 && is_on_ipv4 {
            advice.push(format!(
                "this machine does not receive its own broadcasts: allow UDP {DISCOVERY_PORT} in this machine's firewall"
            ));
        }
        if !self.found_self.has(FoundBy::Mdns) {
            let enough = if is_on_ipv4 {
                "broadcast alone is enough"
            } else {
                "without IPv4 nothing else finds matches"
            };
            advice.push(format!("mDNS does not work here: allow UDP 5353; {enough}"));
        }
    }

    /// Iterates over the addresses that reach others.
    fn networks(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.iter().filter(|interface| !interface.is_loopback)
    }

    fn is_on_ipv4(&self) -> bool {
        self.networks().any(|interface| interface.address.is_ipv4())
    }

    /// Advises on the absence of answers from others. Says nothing without a network: that has been said already.
    fn nobody(&self) -> Option<String> {
        let is_on_ipv4 = self.is_on_ipv4();
        let networks = self.networks().filter(|interface| interface.address.is_ipv4() == is_on_ipv4);
        let networks: Vec<_> =
            networks.map(|interface| format!("{}/{}", interface.address, interface.prefix)).collect();
        (!networks.is_empty()).then(|| format!(
            "nobody else was heard: open a match on the other machine (`arena host`); it must be on the same \
             network as {}, and a guest Wi-Fi may keep its guests apart; then join by its address",
            networks.join(" or ")
        ))
    }
}

/// Running diagnosis.
struct Examination {
    own: Vec<IpAddr>,
    /// Socket of the announced room.
    game: UdpSocket,
    /// The same for IPv6, if the system has it.
    game_v6: Option<UdpSocket>,
    listener: Option<UdpSocket>,
    beacon: Beacon,
    nonce: u64,
    heard_self: u32,
    others: BTreeMap<IpAddr, Heard>,
    asked: Vec<Asked>,
    /// Nonce of the latest query to that host.
    asking: u64,
    asked_at: Option<Instant>,
}

impl Examination {
    fn broadcast(&self) -> Vec<(SocketAddr, Result<(), String>)> {
        let query = RoomQuery { nonce: self.nonce }.encode();
        let send = |to: SocketAddr| match self.game.send_to(&query, to) {
            Ok(_) => (to, Ok(())),
            Err(error) => (to, Err(error.to_string())),
        };
        Lan::read().0.broadcasts.into_iter().map(send).collect()
    }

    /// Queries the named host, if the interval has passed.
    fn ask(&mut self) {
        if self.asked.is_empty() || self.asked_at.is_some_and(|at| at.elapsed() < ASK_INTERVAL) {
            return;
        }
        // Each query has a nonce of its own, so that an answer is measured from the right one.
        self.asking = self.asking.wrapping_add(1).max(1);
        let query = RoomQuery { nonce: self.asking }.encode();
        for asked in &mut self.asked {
            let socket = if asked.address.is_ipv4() { Some(&self.game) } else { self.game_v6.as_ref() };
            let sent = socket.map(|socket| socket.send_to(&query, asked.address));
            match sent.unwrap_or_else(|| Err(io::Error::other("this machine has no IPv6"))) {
                Ok(_) => (asked.sent, asked.error) = (asked.sent + 1, None),
                Err(error) => asked.error = Some(error.to_string()),
            }
        }
        self.asked_at = Some(Instant::now());
    }

    /// Records a broadcast.
    fn listen(&mut self) {
        let mut buffer: Buffer = [0; _];
        let Some(listener) = &self.listener else { return };
        let Some((length, from)) = lan::receive(listener, &mut buffer, ROUND) else { return };
        if self.own.contains(&from.ip()) {
            self.heard_self += 1;
            return;
        }
        if self.others.len() == OTHERS_MAX && !self.others.contains_key(&from.ip()) {
            return;
        }
        let heard = self.others.entry(from.ip()).or_default();
        if RoomQuery::decode(&buffer[..length]).is_ok() {
            heard.queries += 1;
        } else if let Ok(RoomInfo { beacon, .. }) = RoomInfo::decode(&buffer[..length]) {
            heard.beacons += 1;
            let has_room = !beacon.closed && beacon.players < beacon.seats;
            heard.port = has_room.then_some(beacon.port);
        } else {
            heard.unreadable += 1;
        }
    }

    /// Answers this machine's browser, and records answers to [`Self::ask`].
    fn answer(&mut self) {
        for socket in [Some(&self.game), self.game_v6.as_ref()].into_iter().flatten() {
            let mut buffer: [u8; DISCOVERY_BYTES_MAX + 1] = [0; _];
            let Some((length, from)) = lan::receive(socket, &mut buffer, ROUND) else { continue };
            let bytes = &buffer[..length];
            let asking = self.asking;
            if let Some(asked) = self.asked.iter_mut().find(|asked| asked.address == from)
                && RoomInfo::decode(bytes).is_ok_and(|info| info.nonce == asking)
            {
                let rtt = self.asked_at.map_or(Duration::ZERO, |at| at.elapsed());
                asked.rtt = Some(asked.rtt.map_or(rtt, |known| known.min(rtt)));
                continue;
            }
            let is_own = self.own.contains(&from.ip());
            if let Some(reply) = is_own.then(|| answer(bytes, &self.beacon, None)).flatten() {
                // The browser asks again.
                let _ = socket.send_to(&reply, from);
            }
        }
    }
}

fn interfaces() -> io::Result<Vec<Interface>> {
    let mut all: Vec<_> = if_addrs::get_if_addrs()?
        .into_iter()
        .map(|interface| {
            let prefix = match &interface.addr {
                IfAddr::V4(v4) => v4.prefixlen,
                IfAddr::V6(v6) => v6.prefixlen,
            };
            let (address, is_loopback) = (interface.ip(), interface.is_loopback());
            Interface { name: interface.name, address, prefix, is_loopback }
        })
        .collect();
    all.sort_by_key(|interface| interface.address.is_ipv6());
    all.truncate(INTERFACES_MAX);
    Ok(all)
}

/// Whether the address needs a default route, which a LAN may lack: a broadcast to all networks.
fn is_optional(to: &SocketAddr) -> bool {
    to.ip() == IpAddr::V4(Ipv4Addr::BROADCAST) || to.ip().is_loopback()
}

fn beacon(id: RoomId, port: u16, version: VersionText, build: u32) -> Beacon {
    Beacon {
        id,
        port,
        name: PlayerName::new("doctor").expect("a name"),
        architecture: Architecture::P2p,
        // Full: nobody else misses a room that answers this machine alone.
        players: 2,
        seats: 2,
        locked: false,
        closed: false,
        version,
        build,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn healthy() -> Diagnosis {
        let interface = |name: &str, address: [u8; 4], prefix| Interface {
            name: name.into(),
            address: IpAddr::from(address),
            prefix,
            is_loopback: name == "lo",
        };
        Diagnosis {
            interfaces: vec![interface("lo", [127, 0, 0, 1], 8), interface("eth0", [10, 0, 0, 2], 24)],
            free_ports: vec![DEFAULT_PORT],
            broadcasts: vec![(SocketAddr::from(([10, 0, 0, 255], DISCOVERY_PORT)), Ok(()))],
            heard_self: 3,
            found_self: Found { mdns: true, broadcast: true },
            others: BTreeMap::from([([10, 0, 0, 3].into(), Heard { queries: 1, ..Heard::default() })]),
            rooms: Vec::new(),
            beyond: 0,
            dropped: Dropped::default(),
            warnings: Vec::new(),
            asked: None,
        }
    }

    type Trouble = fn(&mut Diagnosis);

    #[test]
    fn every_fault_has_its_advice() {
        assert!(healthy().works() && healthy().advice().is_empty());
        let other = IpAddr::from([10, 0, 0, 3]);
        let address = SocketAddr::new(other, 4124);
        let asked = |error: Option<&str>| Asked { address, sent: 9, rtt: None, error: error.map(Into::into) };
        let troubles: [(&str, Trouble); 5] = [
            ("not on a network", |d| d.interfaces.truncate(1)),
            ("--port 0", |d| d.free_ports.clear()),
            ("10.0.0.255:4123 (refused)", |d| d.broadcasts[0].1 = Err("refused".into())),
            ("UDP 4123", |d| d.heard_self = 0),
            ("UDP 5353", |d| d.found_self.mdns = false),
        ];
        for (said, trouble) in troubles {
            let mut diagnosis = healthy();
            trouble(&mut diagnosis);
            let advice = diagnosis.advice();
            assert!(advice[0].contains(said), "{said}: {advice:?}");
        }
        let mut mute = healthy();
        mute.others.insert(other, Heard { beacons: 1, port: Some(4124), ..Heard::default() });
        assert!(!mute.works() && mute.advice()[0].contains("10.0.0.3:4124 announces"));
        mute.beyond = 1;
        assert!(mute.works() && mute.advice().is_empty(), "it may be one of those beyond the list");
        let silent = Diagnosis { asked: Some(asked(None)), ..healthy() };
        assert!(!silent.works() && silent.advice()[0].contains("none of 9 queries"));
        let nowhere = Diagnosis { asked: Some(asked(Some("no route"))), ..healthy() };
        assert!(nowhere.advice()[0].contains("(no route)"));
        let alone = Diagnosis { others: BTreeMap::new(), ..healthy() };
        assert!(alone.works() && alone.advice()[0].contains("same network as 10.0.0.2/24"));
    }

    #[test]
    fn on_ipv6_alone_mdns_is_needed() {
        let mut diagnosis = Diagnosis { heard_self: 0, broadcasts: Vec::new(), ..healthy() };
        diagnosis.interfaces[1].address = IpAddr::from([0xfd78, 0, 0, 0, 0, 0, 0, 2]);
        assert!(diagnosis.works() && diagnosis.advice().is_empty());
        diagnosis.found_self.mdns = false;
        let advice = diagnosis.advice();
        assert!(!diagnosis.works() && advice[0].contains("nothing else finds matches"), "{advice:?}");
    }
}
