//! The list of rooms on the LAN, kept up to date by probing.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::collections::VecDeque;
use alloc::vec::Vec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use arrayvec::ArrayVec;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};

use crate::time::Time;

use super::{
    DISCOVERY_BYTES_MAX, DecodeError, Dropped, Found, FoundBy, Network, ROOM_QUERY, Room, RoomId, RoomInfo,
    RoomQuery,
};

/// Most rooms in the list.
pub const ROOMS_MAX: usize = 64;
/// Most hints that await verification.
pub const HINTS_MAX: usize = 64;
/// Most addresses tried for one room.
pub const ADDRESSES_MAX: usize = 8;
/// Most networks of this machine.
pub const NETWORKS_MAX: usize = 32;
/// Most probes a second to addresses that have not answered yet: enough for a full list at once. A listed room costs
/// one a second more.
pub const HINT_PROBES_PER_SECOND_MAX: u32 = 100;
/// Interval between probes of a listed room.
pub const PROBE_INTERVAL: Duration = Duration::from_secs(1);
/// A room that has not answered for this long is dropped.
pub const ROOM_TIMEOUT: Duration = Duration::from_millis(3500);

/// A listed room silent for this long may answer from another address: after a pulled cable or an expired
/// lease.
const SILENT_AFTER: Duration = Duration::from_millis(1500);
/// Time for which hints of a room are ignored after its goodbye.
const GOODBYE_LASTS: Duration = Duration::from_secs(2);
/// The waits after each probe of a hinted address; after the last one the address is dropped until the next
/// hint.
const HINT_PROBE_WAITS: [Duration; 4] = [
    Duration::from_millis(250),
    Duration::from_millis(250),
    Duration::from_millis(500),
    Duration::from_millis(1000),
];
/// Time between the probes of a room's addresses, so that a room that answers at the first costs one probe.
const ADDRESS_WAIT: Duration = Duration::from_millis(100);
/// Interval between probes of a room for which the list has no place.
const BEYOND_INTERVAL: Duration = Duration::from_secs(3);
/// Time for which a loopback address waits for others to answer first: it is valid on this machine only.
const LOOPBACK_WAIT: Duration = Duration::from_millis(250);
/// Most outstanding probes: all that can be sent in three seconds.
const PROBES_MAX: usize = 384;
/// Most probes waiting to be sent; a caller that drains the queue after each call never reaches it.
const OUTGOING_MAX: usize = 128;
/// Most broadcast queries whose answers are still accepted.
const QUERIES_MAX: usize = 4;
/// Most probes of hints in a burst, after an idle period.
const PROBES_SAVED_MAX: u32 = ROOMS_MAX as u32;
/// The cost of one probe of a hint, in microseconds of waiting: a burst and the second after it stay within
/// [`HINT_PROBES_PER_SECOND_MAX`].
const PROBE_COST_US: u64 = 1_000_000 / (HINT_PROBES_PER_SECOND_MAX - PROBES_SAVED_MAX) as u64;

/// The rooms that answer. Hints and datagrams go in; probes and the list come out. After every call that
/// takes a time, drain [`poll_transmit`](Self::poll_transmit) and ask [`poll_timeout`](Self::poll_timeout).
pub struct Directory {
    rng: ChaCha8Rng,
    networks: ArrayVec<Network, NETWORKS_MAX>,
    /// Listed rooms and those awaiting verification, oldest first; at most [`ROOMS_MAX`] + [`HINTS_MAX`].
    entries: Vec<Entry>,
    /// Rooms that said goodbye, and until when their hints are ignored.
    closed: VecDeque<(RoomId, Time)>,
    probes: VecDeque<Probe>,
    outgoing: VecDeque<(SocketAddr, [u8; DISCOVERY_BYTES_MAX])>,
    /// The nonces of the latest broadcast queries.
    queries: VecDeque<u64>,
    budget: Budget,
    dropped: Dropped,
    revision: u64,
}

struct Entry {
    id: RoomId,
    found_by: Found,
    candidates: ArrayVec<Candidate, ADDRESSES_MAX>,
    listing: Option<Listing>,
    /// Whether it has answered, but the list was full.
    is_beyond: bool,
}

/// An address at which the room is said to be.
struct Candidate {
    address: SocketAddr,
    /// Time of the next probe, or of dropping it after the last probe.
    due: Time,
    probes: usize,
}

struct Listing {
    room: Room,
    heard_at: Time,
    due: Time,
}

/// An outstanding probe.
struct Probe {
    nonce: u64,
    id: RoomId,
    address: SocketAddr,
    sent_at: Time,
}

impl Directory {
    /// An empty list. `seed` must be unpredictable: anyone who guesses a nonce could list rooms that do not
    /// exist.
    #[must_use]
    pub fn new(seed: [u8; 32]) -> Self {
        Self {
            rng: ChaCha8Rng::from_seed(seed),
            networks: ArrayVec::new(),
            entries: Vec::new(),
            closed: VecDeque::new(),
            probes: VecDeque::new(),
            outgoing: VecDeque::new(),
            queries: VecDeque::new(),
            budget: Budget::default(),
            dropped: Dropped::default(),
            revision: 0,
        }
    }

    /// The networks of this machine, at most [`NETWORKS_MAX`] of them. Addresses outside them and loopback
    /// are never probed.
    pub fn set_networks(&mut self, networks: impl IntoIterator<Item = Network>) {
        self.networks = networks.into_iter().take(NETWORKS_MAX).collect();
    }

    /// The next query to broadcast. Answers to it are hints.
    pub fn broadcast_query(&mut self) -> [u8; DISCOVERY_BYTES_MAX] {
        let nonce = self.nonce();
        push_bounded(&mut self.queries, nonce, QUERIES_MAX);
        RoomQuery { nonce }.encode()
    }

    /// Room `id` is said to be at one of `addresses`.
    pub fn hint(&mut self, now: Time, way: FoundBy, id: RoomId, addresses: &[SocketAddr]) {
        self.closed.retain(|(_, until)| *until > now);
        if self.closed.iter().any(|(closed, _)| *closed == id) {
            return;
        }
        let mut local: ArrayVec<SocketAddr, ADDRESSES_MAX> = ArrayVec::new();
        for address in addresses {
            if !self.is_local(*address) {
                count(&mut self.dropped.not_local, 1);
            } else if local.try_push(*address).is_err() {
                count(&mut self.dropped.crowded, 1);
            }
        }
        if local.is_empty() {
            return;
        }
        let Some(index) = self.entry(id) else { return };
        let Some(entry) = self.entries.get_mut(index) else { return };
        let hinted = entry.hint(now, way, &local, &mut self.rng);
        count(&mut self.dropped.crowded, hinted.crowded);
        count(&mut self.revision, hinted.changed);
        self.handle_timeout(now);
    }

    /// Handles a datagram received on the socket of the beacons or on that of the probes.
    pub fn handle_datagram(&mut self, now: Time, from: SocketAddr, bytes: &[u8]) {
        if bytes.first() == Some(&ROOM_QUERY) {
            return; // another browser's, or an echo of ours
        }
        let info = match RoomInfo::decode(bytes) {
            Ok(info) => info,
            Err(DecodeError::Version { .. }) => {
                count(&mut self.dropped.other_version, 1);
                return;
            }
            Err(_) => {
                count(&mut self.dropped.malformed, 1);
                return;
            }
        };
        let RoomInfo { nonce, beacon, .. } = &info;
        let (nonce, id, port) = (*nonce, beacon.id, beacon.port);
        let probe = self.probes.iter().position(|p| p.nonce == nonce && p.address == from && p.id == id);
        let probe = probe.and_then(|index| self.probes.remove(index));
        if beacon.closed {
            self.goodbye(now, from.ip(), id, probe.is_some());
        } else if let Some(probe) = probe {
            self.answered(now, &probe, info);
        } else if nonce == 0 || self.queries.contains(&nonce) {
            let game = SocketAddr::new(from.ip(), port);
            self.hint(now, FoundBy::Broadcast, id, &[game]);
        } else {
            count(&mut self.dropped.unasked, 1);
        }
    }

    /// Does what is due at `now`: drops silent rooms and dead hints, sends probes.
    pub fn handle_timeout(&mut self, now: Time) {
        self.expire(now);
        self.probe_rooms(now);
        self.probe_hints(now);
    }

    /// The next probe to send, and its destination.
    pub fn poll_transmit(&mut self) -> Option<(SocketAddr, [u8; DISCOVERY_BYTES_MAX])> {
        self.outgoing.pop_front()
    }

    /// Returns when [`handle_timeout`](Self::handle_timeout) has something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        let listings = self.entries.iter().filter_map(|entry| entry.listing.as_ref());
        let rooms = listings.map(|listing| listing.due.min(listing.heard_at.plus(ROOM_TIMEOUT)));
        let candidates = self.entries.iter().flat_map(|entry| &entry.candidates);
        let hints = candidates.map(|candidate| match candidate.is_spent() {
            true => candidate.due,
            false => candidate.due.max(self.budget.ready_at()),
        });
        rooms.chain(hints).min()
    }

    /// The rooms that answer, in the order in which they were found.
    pub fn rooms(&self) -> impl Iterator<Item = &Room> {
        self.entries.iter().filter_map(|entry| entry.listing.as_ref()).map(|listing| &listing.room)
    }

    /// Number of rooms that answer, but for which the list has no place: at most [`HINTS_MAX`].
    #[must_use]
    pub fn beyond(&self) -> usize {
        self.entries.iter().filter(|entry| entry.is_beyond).count()
    }

    /// Increases whenever a room appears, disappears or changes.
    #[must_use]
    pub const fn revision(&self) -> u64 {
        self.revision
    }

    /// Counts of datagrams and hints that were dropped.
    #[must_use]
    pub const fn dropped(&self) -> Dropped {
        self.dropped
    }

    /// A room closed. Anyone can send an unsolicited goodbye, so it must come from an address of the room.
    fn goodbye(&mut self, now: Time, from: IpAddr, id: RoomId, asked: bool) {
        let mut entries = self.entries.iter().enumerate();
        let Some((index, entry)) = entries.find(|(_, entry)| entry.id == id) else { return };
        if !asked && !entry.is_at(from) {
            count(&mut self.dropped.unasked, 1);
            return;
        }
        self.remove(index);
        push_bounded(&mut self.closed, (id, now.plus(GOODBYE_LASTS)), ROOMS_MAX);
    }

    /// A probe was answered by the game port of the room it was meant for.
    fn answered(&mut self, now: Time, probe: &Probe, info: RoomInfo) {
        let Some(entry) = self.entries.iter().find(|entry| entry.id == probe.id) else { return };
        let is_new = match &entry.listing {
            Some(old) if old.room.address != probe.address && old.is_fresh(now) => return,
            Some(_) => false,
            None => true,
        };
        let has_place = !is_new || self.make_place(probe.address.ip());
        let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == probe.id) else { return };
        count(&mut self.revision, u64::from(!has_place && !entry.is_beyond));
        entry.is_beyond = !has_place;
        if !has_place {
            count(&mut self.dropped.crowded, 1);
            // It stays while it answers, and has one probe after another.
            for candidate in entry.candidates.iter_mut().filter(|at| at.address == probe.address) {
                candidate.probes = HINT_PROBE_WAITS.len().saturating_sub(1);
                candidate.due = now.plus(BEYOND_INTERVAL);
            }
            return;
        }
        let before = entry.listing.as_ref().filter(|old| old.room.address == probe.address);
        let rtt = shown_rtt(before.map(|old| old.room.rtt), now.since(probe.sent_at));
        let room = Room::new(probe.address, info, entry.found_by, rtt);
        count(&mut self.revision, u64::from(entry.listing.as_ref().is_none_or(|old| old.room != room)));
        entry.candidates.clear();
        let due = entry.listing.as_ref().map_or(now.plus(PROBE_INTERVAL), |old| old.due);
        entry.listing = Some(Listing { room, heard_at: now, due });
    }

    /// Makes sure that the list has a place for a room of `host`: in a full list that of the newest room of the host
    /// with most rooms, if that has at least two more. False if there is none.
    fn make_place(&mut self, host: IpAddr) -> bool {
        if self.rooms().count() < ROOMS_MAX {
            return true;
        }
        let rooms_of = |ip: IpAddr| self.rooms().filter(|room| room.address.ip() == ip).count();
        let most = self.rooms().map(|room| room.address.ip()).max_by_key(|&ip| rooms_of(ip));
        let Some(most) = most.filter(|&ip| rooms_of(ip) > rooms_of(host).saturating_add(1)) else {
            return false;
        };
        let is_listed = |entry: &Entry| entry.listing.is_some() && entry.is_at(most);
        let Some(newest) = self.entries.iter().rposition(is_listed) else { return false };
        self.remove(newest);
        true
    }

    fn remove(&mut self, index: usize) {
        let entry = self.entries.remove(index);
        count(&mut self.revision, u64::from(entry.listing.is_some() || entry.is_beyond));
    }

    fn expire(&mut self, now: Time) {
        let mut lost = 0;
        self.entries.retain_mut(|entry| {
            entry.candidates.retain(|candidate| !(candidate.is_spent() && candidate.due <= now));
            if entry.listing.as_ref().is_some_and(|listing| now.since(listing.heard_at) >= ROOM_TIMEOUT) {
                entry.listing = None;
                count(&mut lost, 1);
            }
            let stays = entry.listing.is_some() || !entry.candidates.is_empty();
            count(&mut lost, u64::from(!stays && entry.is_beyond));
            stays
        });
        count(&mut self.revision, lost);
    }

    fn probe_rooms(&mut self, now: Time) {
        for index in 0..self.entries.len() {
            let Some(entry) = self.entries.get_mut(index) else { return };
            let Some(listing) = &mut entry.listing else { continue };
            if listing.due <= now {
                listing.due = now.plus(PROBE_INTERVAL);
                let (id, address) = (entry.id, listing.room.address);
                self.probe(now, id, address);
            }
        }
    }

    /// Probes hinted addresses within the budget, of a random host each: a flood of hints delays a real room, but never
    /// takes precedence over it, and that of one host counts as one.
    fn probe_hints(&mut self, now: Time) {
        // Each iteration spends budget, and a full budget pays for PROBES_SAVED_MAX of them.
        while self.budget.has_one(now) {
            let is_due = |candidate: &Candidate| candidate.due <= now && !candidate.is_spent();
            let due = self.entries.iter().flat_map(|entry| &entry.candidates).filter(|c| is_due(c));
            let mut hosts: Vec<IpAddr> = due.map(|candidate| candidate.address.ip()).collect();
            hosts.sort_unstable();
            let of_host = |host: IpAddr| hosts.iter().filter(|&&other| other == host).count();
            let mut distinct = hosts.clone();
            distinct.dedup();
            let Some(&host) = distinct.get(pick(&mut self.rng, distinct.len())) else { return };
            let pick = pick(&mut self.rng, of_host(host));
            let is_of_host = |at: &Candidate| is_due(at) && at.address.ip() == host;
            let all =
                self.entries.iter().flat_map(|entry| entry.candidates.iter().map(move |at| (entry.id, at)));
            let mut due = all.filter(|(_, candidate)| is_of_host(candidate));
            let Some((id, address)) = due.nth(pick).map(|(id, candidate)| (id, candidate.address)) else {
                return;
            };
            let Some(entry) = self.entries.iter_mut().find(|entry| entry.id == id) else { return };
            entry.probed(now, address);
            self.budget.spend(now);
            self.probe(now, id, address);
        }
    }

    fn probe(&mut self, now: Time, id: RoomId, address: SocketAddr) {
        let query = RoomQuery::for_names(self.nonce());
        let probe = Probe { nonce: query.nonce, id, address, sent_at: now };
        push_bounded(&mut self.probes, probe, PROBES_MAX);
        push_bounded(&mut self.outgoing, (address, query.encode()), OUTGOING_MAX);
    }

    /// The index of room `id`'s entry, which is created if missing.
    fn entry(&mut self, id: RoomId) -> Option<usize> {
        if let Some(index) = self.entries.iter().position(|entry| entry.id == id) {
            return Some(index);
        }
        if self.entries.iter().filter(|entry| entry.listing.is_none()).count() >= HINTS_MAX {
            self.make_way();
        }
        self.entries.push(Entry {
            id,
            found_by: Found::default(),
            candidates: ArrayVec::new(),
            listing: None,
            is_beyond: false,
        });
        self.entries.len().checked_sub(1)
    }

    /// Drops a random unverified room of the host that has most of them: if it were always the newest or the oldest, a
    /// flood could keep a room out for good.
    fn make_way(&mut self) {
        count(&mut self.dropped.crowded, 1);
        let waiting = self.entries.iter().enumerate().filter(|(_, entry)| entry.listing.is_none());
        let host = |entry: &Entry| entry.candidates.first().map(|candidate| candidate.address.ip());
        let hosts: Vec<_> = waiting.map(|(index, entry)| (index, host(entry))).collect();
        let crowd = |host| hosts.iter().filter(|(_, other)| *other == host).count();
        let most = hosts.iter().map(|&(_, host)| crowd(host)).max();
        let mut crowded = hosts.iter().filter(|&&(_, host)| Some(crowd(host)) == most);
        let pick = pick(&mut self.rng, crowded.clone().count());
        if let Some(&(index, _)) = crowded.nth(pick) {
            self.remove(index);
        }
    }

    /// Whether a probe may go to `address`.
    fn is_local(&self, address: SocketAddr) -> bool {
        let ip = address.ip();
        let one = match ip {
            IpAddr::V4(v4) => !v4.is_unspecified() && !v4.is_multicast() && !v4.is_broadcast(),
            IpAddr::V6(v6) => !v6.is_unspecified() && !v6.is_multicast(),
        };
        one && address.port() != 0
            && (ip.is_loopback() || self.networks.iter().any(|network| network.contains(ip)))
    }

    fn nonce(&mut self) -> u64 {
        self.rng.next_u64().max(1) // 0 marks an unsolicited beacon
    }
}

/// Effect of a hint, and the limits that it hit.
struct Hinted {
    changed: u64,
    crowded: u64,
}

impl Entry {
    fn hint(&mut self, now: Time, way: FoundBy, addresses: &[SocketAddr], rng: &mut ChaCha8Rng) -> Hinted {
        let mut hinted = Hinted { changed: 0, crowded: 0 };
        self.found_by.add(way);
        if let Some(listing) = &mut self.listing {
            hinted.changed = u64::from(listing.room.found_by != self.found_by);
            listing.room.found_by = self.found_by;
            if listing.is_fresh(now) {
                return hinted; // it answers at its known address
            }
        }
        let others = |address: &SocketAddr| !address.ip().is_loopback();
        let elsewhere = addresses.iter().any(others) || self.candidates.iter().any(|c| others(&c.address));
        for address in addresses {
            if self.candidates.iter().any(|candidate| candidate.address == *address) {
                continue;
            }
            let wait = if address.ip().is_loopback() && elsewhere { LOOPBACK_WAIT } else { Duration::ZERO };
            let candidate = Candidate { address: *address, due: now.plus(wait), probes: 0 };
            if self.candidates.is_full() {
                let index = pick(rng, ADDRESSES_MAX);
                if let Some(place) = self.candidates.get_mut(index) {
                    *place = candidate;
                }
                count(&mut hinted.crowded, 1);
            } else {
                self.candidates.push(candidate);
            }
        }
        hinted
    }

    /// Plans the next probe of this address, and of the room's others.
    fn probed(&mut self, now: Time, address: SocketAddr) {
        for candidate in &mut self.candidates {
            if candidate.address == address {
                let wait = HINT_PROBE_WAITS.get(candidate.probes).copied().unwrap_or_default();
                candidate.due = now.plus(wait);
                candidate.probes = candidate.probes.saturating_add(1);
            } else if !candidate.is_spent() {
                candidate.due = candidate.due.max(now.plus(ADDRESS_WAIT));
            }
        }
    }

    fn is_at(&self, ip: IpAddr) -> bool {
        self.listing.as_ref().is_some_and(|listing| listing.room.address.ip() == ip)
            || self.candidates.iter().any(|candidate| candidate.address.ip() == ip)
    }
}

impl Candidate {
    const fn is_spent(&self) -> bool {
        self.probes >= HINT_PROBE_WAITS.len()
    }
}

impl Listing {
    fn is_fresh(&self, now: Time) -> bool {
        now.since(self.heard_at) < SILENT_AFTER
    }
}

/// The budget for probing hints: an idle period saves up at most [`PROBES_SAVED_MAX`] probes.
#[derive(Default)]
struct Budget {
    /// The instant from which savings count.
    since: Time,
}

impl Budget {
    fn has_one(&self, now: Time) -> bool {
        now >= self.ready_at()
    }

    /// Returns when the next probe is affordable.
    const fn ready_at(&self) -> Time {
        Time(self.since.0.saturating_add(PROBE_COST_US))
    }

    fn spend(&mut self, now: Time) {
        let saved_up = Time(now.0.saturating_sub(u64::from(PROBES_SAVED_MAX) * PROBE_COST_US));
        self.since = Time(self.since.max(saved_up).0.saturating_add(PROBE_COST_US));
    }
}

/// A random number below `count`, which is not 0.
fn pick(rng: &mut ChaCha8Rng, count: usize) -> usize {
    (rng.next_u32() as usize).checked_rem(count).unwrap_or(0)
}

fn count(what: &mut u64, more: u64) {
    *what = what.saturating_add(more);
}

/// Appends to a bounded queue, dropping its oldest entry if it is full.
fn push_bounded<T>(queue: &mut VecDeque<T>, value: T, most: usize) {
    if queue.len() == most {
        queue.pop_front();
    }
    queue.push_back(value);
}

/// The round-trip time that is shown, after one more was measured. A busy computer only lengthens what it measures: a
/// shorter time counts in full, a longer one an eighth.
fn shown_rtt(before: Option<Duration>, measured: Duration) -> Duration {
    let later = |before: Duration| measured.saturating_sub(before).checked_div(8).unwrap_or_default();
    before.map_or(measured, |before| measured.min(before.saturating_add(later(before))))
}

#[cfg(test)]
mod tests;
