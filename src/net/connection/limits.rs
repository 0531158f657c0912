//! Limits on the key exchanges of one address and of all together. In fixed memory: addresses share places by a secret
//! hash.

use arrayvec::ArrayVec;
use core::net::IpAddr;
use core::time::Duration;
use twox_hash::XxHash3_64;

use crate::rate_limit::TokenBucket;
use crate::time::Time;

/// Exchanges of an address at once: as many as guests behind one router may have.
const AT_ONCE: u32 = 4;
/// Exchanges per second and address after these.
const PER_ADDRESS_OPEN: u32 = 4;
const PER_ADDRESS_LOCKED: u32 = 2;
/// The same of all addresses together.
const IN_ALL: u64 = 20;
/// Places for addresses.
const PLACES: usize = 1024;
/// Most addresses that wait for their turn, fewer than the exchanges of all at once, so that there is one for each of
/// them in the end; of more, those that were served last give way.
const WAITING_MAX: usize = 16;
/// Time after its last request for which an address keeps its turn; a guest repeats its request every 100 ms.
const WAITS_FOR: Duration = Duration::from_millis(250);

/// The limits on key exchanges. When all addresses together ask for too many, they take turns: that which was served
/// longest ago, or never, comes first.
#[derive(Clone, Debug)]
pub(super) struct ExchangeLimits {
    key: u64,
    all: TokenBucket,
    /// Time between two exchanges of an address.
    interval: Duration,
    /// By address: when it would have had all its exchanges so far at its rate. The earlier, the fewer it had.
    used_until: [Time; PLACES],
    waiting: ArrayVec<Waiting, WAITING_MAX>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    place: usize,
    used_until: Time,
    asked: Time,
}

/// The address as limits count it: of IPv6 its network of 64 bits, all of whose addresses one computer may have.
pub(crate) fn network(ip: IpAddr) -> u64 {
    match ip.to_canonical() {
        IpAddr::V4(ip) => u64::from(ip.to_bits()),
        IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64,
    }
}

impl ExchangeLimits {
    /// `key` must be unpredictable, or others could take the place of an address.
    pub(super) fn new(now: Time, key: u64, is_open: bool) -> Self {
        let per_s = if is_open { PER_ADDRESS_OPEN } else { PER_ADDRESS_LOCKED };
        Self {
            key,
            all: TokenBucket::new(now, IN_ALL, IN_ALL),
            interval: Duration::from_secs(1) / per_s,
            used_until: [Time(0); PLACES],
            waiting: ArrayVec::new(),
        }
    }

    /// The secret by which addresses are hashed.
    pub(super) const fn key(&self) -> u64 {
        self.key
    }

    /// Whether `ip` may exchange keys now. If it is only not its turn, one is kept for it.
    pub(super) fn take(&mut self, now: Time, ip: IpAddr) -> bool {
        let place = XxHash3_64::oneshot_with_seed(self.key, &network(ip).to_le_bytes()) as usize % PLACES;
        let Some(&used_until) = self.used_until.get(place) else { return false };
        if used_until > now.plus(self.interval * (AT_ONCE - 1)) {
            return false;
        }
        self.waiting.retain(|other| other.place != place && now.since(other.asked) < WAITS_FOR);
        let ahead = self.waiting.iter().filter(|other| other.used_until < used_until).count();
        if !self.all.take_leaving(now, 1, ahead as u64) {
            self.wait(Waiting { place, used_until, asked: now });
            return false;
        }
        if let Some(place) = self.used_until.get_mut(place) {
            *place = used_until.max(now).plus(self.interval);
        }
        true
    }

    fn wait(&mut self, waiting: Waiting) {
        if self.waiting.is_full() {
            let last = (0..self.waiting.len()).max_by_key(|&at| self.waiting.get(at).map(|it| it.used_until));
            let last =
                last.filter(|&at| self.waiting.get(at).is_some_and(|it| it.used_until > waiting.used_until));
            let Some(at) = last else { return };
            self.waiting.remove(at);
        }
        self.waiting.push(waiting);
    }
}

/// Token buckets for addresses, in fixed memory: addresses share buckets by a secret hash.
#[derive(Clone, Debug)]
pub(crate) struct AddressBuckets {
    key: u64,
    buckets: [TokenBucket; BUCKETS],
}

/// Number of buckets that all addresses share.
const BUCKETS: usize = 256;

impl AddressBuckets {
    /// `key` must be unpredictable, or others could empty the bucket of an address.
    pub(crate) const fn new(now: Time, key: u64, most: u64, per_s: u64) -> Self {
        Self { key, buckets: [TokenBucket::new(now, most, per_s); BUCKETS] }
    }

    /// The bucket of an address.
    pub(crate) fn of(&mut self, ip: IpAddr) -> Option<&mut TokenBucket> {
        let hash = XxHash3_64::oneshot_with_seed(self.key, &network(ip).to_le_bytes());
        self.buckets.get_mut(hash as usize % BUCKETS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    fn address(n: u8) -> IpAddr {
        IpAddr::V4(Ipv4Addr::new(10, 0, n, 7))
    }

    #[test]
    fn an_address_gets_two_exchanges_a_second_in_a_locked_room_and_all_together_twenty() {
        let mut limits = ExchangeLimits::new(Time(0), 5, false);
        let mut taken = |ms: u64, ip| limits.take(Time(1_000 * ms), ip);
        assert!((0..4).all(|_| taken(0, address(1))) && !taken(0, address(1)));
        assert!(!taken(499, address(1)) && taken(500, address(1)) && !taken(501, address(1)));
        let all = (2..200).filter(|&n| taken(1_000, address(n))).count();
        assert_eq!(all, 20);
        // Each repeats its request until it is served.
        let served = (0..10).map(|n| (2..200).filter(|&a| taken(2_000 + 100 * n, address(a))).count());
        assert!((36..=40).contains(&served.sum::<usize>()), "twenty at once and twenty a second");
    }

    #[test]
    fn an_address_that_was_not_served_comes_before_those_that_were() {
        for others in [1_u8, 2, 12, 24, 60] {
            let mut limits = ExchangeLimits::new(Time(0), 5, false);
            // They ask every millisecond.
            let ask = |limits: &mut ExchangeLimits, ms: u64| {
                for n in 0..others {
                    limits.take(Time(1_000 * ms), address(n));
                }
            };
            (0..5_000).for_each(|ms| ask(&mut limits, ms));
            let mut asked = 5_000;
            while !limits.take(Time(1_000 * asked), address(200)) {
                (asked..asked + 100).for_each(|ms| ask(&mut limits, ms));
                asked += 100;
            }
            assert!(asked <= 5_100, "{others} others: {} ms", asked - 5_000);
        }
    }

    #[test]
    fn an_address_keeps_its_exchanges_while_those_of_all_are_used_up() {
        let mut limits = ExchangeLimits::new(Time(0), 5, false);
        let used = (0..20).filter(|n| limits.take(Time(0), address(n / 4))).count();
        assert_eq!(used, 20);
        assert!((0..8).all(|_| !limits.take(Time(0), address(9))), "all are used up");
        // A second later all have as many again, and this address has had none.
        assert_eq!((0..8).filter(|_| limits.take(Time(1_000_000), address(9))).count(), 4);
    }

    #[test]
    fn a_network_of_ipv6_is_one_address() {
        let mut limits = ExchangeLimits::new(Time(0), 5, false);
        let v6 = |n| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, n));
        assert_eq!((0..50).filter(|&n| limits.take(Time(0), v6(n))).count(), 4);
    }
}
