//! The address of the other end of a connection. A new source address is followed once it has echoed a challenge, as
//! in QUIC (RFC 9000, section 8.2); until then at most three times the bytes that came from it are sent there, so
//! that nobody points a connection at somebody else.

use arrayvec::ArrayVec;
use core::net::{IpAddr, SocketAddr};
use core::time::Duration;

use crate::outbox::Source;
use crate::time::Time;
use crate::wire::message::ADDRESSES_MAX;

/// Bytes that may be sent to an address for each byte that came from it.
const BYTES_PER_BYTE: u64 = 3;
/// Addresses that are asked at a time.
const CANDIDATES_MAX: usize = 3;
/// An address that has not answered for so long is forgotten, and may be asked anew.
const ANSWER_WITHIN: Duration = Duration::from_secs(1);
/// Shortest time between two challenges to one address.
const CHALLENGE_EVERY: Duration = Duration::from_millis(50);

/// Value that an address must echo: nobody else can know it.
pub(super) type Challenge = [u8; 8];

/// Knowledge of the other end before it is heard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// The address has shown that the other end is there, or the user has named it.
    Proven,
    /// A third party has named it.
    Told,
    /// The user has named it, and the other end is to be nowhere else.
    Fixed,
}

/// The addresses of the other end.
#[derive(Clone, Debug)]
pub(super) struct Path {
    /// Addresses to which datagrams are sent; several until the other end is heard.
    addresses: ArrayVec<SocketAddr, ADDRESSES_MAX>,
    /// The local address at which the first of them was heard.
    local: Option<IpAddr>,
    is_fixed: bool,
    is_heard: bool,
    /// Number of bytes that may be sent to an address that has not been proven; `None` once it is.
    allowance: Option<u64>,
    candidates: ArrayVec<Candidate, CANDIDATES_MAX>,
    /// From which the challenges follow.
    secret: [u8; 32],
    challenges: u64,
}

/// An address from which an authentic datagram came.
#[derive(Clone, Debug)]
struct Candidate {
    source: Source,
    challenge: Challenge,
    allowance: u64,
    ask_at: Time,
    until: Time,
}

impl Path {
    /// `secret` must be unpredictable.
    pub(super) fn new(addresses: &[SocketAddr], trust: Trust, secret: [u8; 32]) -> Self {
        Self {
            addresses: addresses.iter().copied().take(ADDRESSES_MAX).collect(),
            local: None,
            is_fixed: trust == Trust::Fixed,
            is_heard: false,
            allowance: (trust == Trust::Told).then_some(0),
            candidates: ArrayVec::new(),
            secret,
            challenges: 0,
        }
    }

    /// Returns the addresses to which datagrams are sent.
    pub(super) fn addresses(&self) -> &[SocketAddr] {
        &self.addresses
    }

    /// The local address from which to send there.
    pub(super) const fn local(&self) -> Option<IpAddr> {
        self.local
    }

    /// Whether `bytes` may be sent there now. Before the other end is heard its addresses are asked rarely, and
    /// nothing else is sent.
    pub(super) fn take(&mut self, bytes: usize) -> bool {
        let Some(allowance) = self.allowance.as_mut().filter(|_| self.is_heard) else { return true };
        let rest = allowance.checked_sub(bytes as u64);
        *allowance = rest.unwrap_or(*allowance);
        rest.is_some()
    }

    /// An authentic datagram of `bytes` came from `from`; `is_newest` says that no later one has been opened.
    /// Returns the challenge to send there, if one is due.
    pub(super) fn heard(
        &mut self,
        now: Time,
        from: Source,
        bytes: usize,
        is_newest: bool,
    ) -> Option<Challenge> {
        let gained = BYTES_PER_BYTE.saturating_mul(bytes as u64);
        if !core::mem::replace(&mut self.is_heard, true) && self.allowance.is_some() {
            self.addresses.clear();
            self.addresses.push(from.address);
        }
        let is_current = self.addresses.first() == Some(&from.address);
        if is_current && is_newest {
            self.local = from.local;
        }
        if self.is_fixed || !(is_newest || is_current) {
            return None;
        }
        if is_current {
            let allowance = self.allowance.as_mut()?;
            *allowance = allowance.saturating_add(gained);
        }
        self.candidates.retain(|candidate| now < candidate.until);
        let known = self.candidates.iter().position(|candidate| candidate.source.address == from.address);
        let at = known.or_else(|| self.begin(now, from))?;
        let candidate = self.candidates.get_mut(at)?;
        candidate.source = from;
        candidate.allowance = candidate.allowance.saturating_add(if is_current { 0 } else { gained });
        if now < candidate.ask_at {
            return None;
        }
        candidate.ask_at = now.plus(CHALLENGE_EVERY);
        Some(candidate.challenge)
    }

    fn begin(&mut self, now: Time, source: Source) -> Option<usize> {
        if self.candidates.is_full() {
            return None;
        }
        self.challenges = self.challenges.wrapping_add(1);
        let mut challenge = [0; 8];
        let mut hasher = blake3::Hasher::new_keyed(&self.secret);
        hasher.update(&self.challenges.to_le_bytes()).finalize_xof().fill(&mut challenge);
        let until = now.plus(ANSWER_WITHIN);
        self.candidates.push(Candidate { source, challenge, allowance: 0, ask_at: now, until });
        self.candidates.len().checked_sub(1)
    }

    /// Returns the address for the answer to a challenge from this address: the fixed address, if there is one.
    pub(super) fn answer_to(&self, from: Source) -> Source {
        let fixed = self.addresses.first().filter(|_| self.is_fixed);
        fixed.map_or(from, |&address| Source { address, local: self.local })
    }

    /// Whether `bytes` may be sent to this address now, from which a datagram came.
    pub(super) fn take_to(&mut self, to: SocketAddr, bytes: usize) -> bool {
        if self.addresses.contains(&to) {
            return self.take(bytes);
        }
        let Some(candidate) = self.candidates.iter_mut().find(|candidate| candidate.source.address == to)
        else {
            return false;
        };
        let rest = candidate.allowance.checked_sub(bytes as u64);
        candidate.allowance = rest.unwrap_or(candidate.allowance);
        rest.is_some()
    }

    /// A challenge came back: the address to which it was sent is that of the other end. False if none was sent
    /// like that.
    pub(super) fn answered(&mut self, echo: Challenge) -> bool {
        let Some(candidate) = self.candidates.iter().find(|candidate| candidate.challenge == echo) else {
            return false;
        };
        let Source { address, local } = candidate.source;
        self.addresses.clear();
        self.addresses.push(address);
        self.local = local;
        self.allowance = None;
        self.candidates.clear();
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{IpAddr, Ipv4Addr};

    const fn address(n: u8) -> SocketAddr {
        SocketAddr::new(IpAddr::V4(Ipv4Addr::new(10, 0, 0, n)), 4124)
    }

    fn path(trust: Trust) -> Path {
        let both = [address(1), address(2)];
        Path::new(if trust == Trust::Proven { &both[..1] } else { &both }, trust, [5; 32])
    }

    #[test]
    fn a_new_address_is_followed_once_it_answers_and_not_before() {
        let mut path = path(Trust::Proven);
        assert_eq!(
            (path.heard(Time(0), address(1).into(), 40, true), path.addresses()),
            (None, &[address(1)][..])
        );
        let challenge = path.heard(Time(1), address(7).into(), 40, true).expect("it is asked");
        assert_eq!(path.addresses(), [address(1)]);
        assert_eq!(path.heard(Time(2), address(7).into(), 40, true), None, "not with every datagram");
        let other = path.heard(Time(3), address(8).into(), 40, true).expect("each its own");
        assert!(challenge != other && !path.answered([0; 8]));
        assert!(path.answered(challenge));
        assert_eq!(path.addresses(), [address(7)]);
        assert!(!path.answered(other), "what was asked before the move is over");
        assert_eq!(
            path.heard(Time(4), address(1).into(), 40, false),
            None,
            "late datagrams of the old address"
        );
    }

    #[test]
    fn an_unproven_address_gets_three_bytes_for_each_of_its_own() {
        let mut path = path(Trust::Proven);
        path.heard(Time(0), address(1).into(), 40, true);
        path.heard(Time(1), address(7).into(), 20, true).expect("it is asked");
        assert!(path.take_to(address(7), 33) && !path.take_to(address(7), 33));
        let mut told = self::path(Trust::Told);
        assert!(told.take(30), "asked whether it is there");
        told.heard(Time(0), address(2).into(), 20, true).expect("it is asked");
        assert_eq!(told.addresses(), [address(2)]);
        assert!(told.take(60) && !told.take(1));
        told.heard(Time(60_000), address(2).into(), 20, true).expect("asked again");
        assert!(told.take(60) && !told.take(1));
    }

    #[test]
    fn datagrams_of_the_current_address_count_in_whatever_order_they_come() {
        let mut told = path(Trust::Told);
        told.heard(Time(0), address(2).into(), 20, true).expect("it is asked");
        assert!(told.take(60) && !told.take(1));
        let again = told.heard(Time(60_000), address(2).into(), 20, false);
        assert!(again.is_some(), "asked again by a datagram that was overtaken");
        assert!(told.take(60) && !told.take(1));
        // Of any other address only the newest.
        assert_eq!(told.heard(Time(120_000), address(7).into(), 20, false), None);
        assert!(!told.take_to(address(7), 1));
    }

    #[test]
    fn a_fixed_address_is_never_left_and_a_silent_one_is_asked_anew() {
        let mut fixed = path(Trust::Fixed);
        assert_eq!(fixed.heard(Time(0), address(7).into(), 40, true), None);
        assert_eq!(fixed.addresses(), [address(1), address(2)]);
        assert_eq!(fixed.answer_to(address(7).into()).address, address(1));
        let mut path = path(Trust::Proven);
        path.heard(Time(0), address(1).into(), 40, true);
        let first = path.heard(Time(1), address(7).into(), 40, true).expect("it is asked");
        let again = path.heard(Time(2_000_000), address(7).into(), 40, true).expect("it is asked");
        assert_ne!(first, again);
    }
}
