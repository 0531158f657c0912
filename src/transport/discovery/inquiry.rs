//! Asks one host for its version.

use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::lan::{self, Buffer};
use net::discovery::{RoomInfo, RoomQuery, VersionText};

/// Time for which each socket is polled before the query is repeated.
const ROUND: Duration = Duration::from_millis(50);

/// Asks a host at one of these addresses for the version of its program. Discovery is the same in all versions of the
/// protocol, so a host of another version answers, too. `None` if no answer arrives `within` this time.
#[must_use]
pub fn ask_version(hosts: &[SocketAddr], within: Duration) -> Option<VersionText> {
    let mut seed = [0; 8];
    getrandom::fill(&mut seed).ok()?;
    let nonce = u64::from_le_bytes(seed) | 1;
    let query = RoomQuery { nonce }.encode();
    let [ipv4, ipv6] = [lan::ephemeral().ok(), lan::ephemeral_v6(0)];
    let mut buffer: Buffer = [0; _];
    let end = Instant::now() + within;
    while Instant::now() < end {
        for host in hosts {
            let socket = if host.is_ipv4() { &ipv4 } else { &ipv6 };
            // An address that cannot be reached does not answer.
            let _ = socket.as_ref().map(|socket| socket.send_to(&query, host));
        }
        for socket in [&ipv4, &ipv6].into_iter().flatten() {
            let Some((length, from)) = lan::receive(socket, &mut buffer, ROUND) else { continue };
            if let Ok(info) = RoomInfo::decode(&buffer[..length])
                && info.nonce == nonce
                && hosts.contains(&from)
            {
                return Some(info.beacon.version);
            }
        }
    }
    None
}
