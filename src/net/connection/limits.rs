//! How many key exchanges an address, and all together, may ask for. In fixed memory: addresses share buckets
//! by a secret hash.

use core::net::IpAddr;
use twox_hash::XxHash3_64;

use crate::net::rate_limit::TokenBucket;
use crate::net::time::Time;

/// Exchanges per second and address; in a locked room those that do not end with the right code.
const PER_ADDRESS_OPEN: u64 = 4;
const PER_ADDRESS_LOCKED: u64 = 2;
/// The same of all addresses together.
const IN_ALL: u64 = 20;
/// Buckets for addresses.
const BUCKETS: usize = 256;

/// The address as limits count it: of IPv6 its network of 64 bits, all of whose addresses one computer may have.
pub(in crate::net) fn network(ip: IpAddr) -> u64 {
    match ip.to_canonical() {
        IpAddr::V4(ip) => u64::from(ip.to_bits()),
        IpAddr::V6(ip) => (ip.to_bits() >> 64) as u64,
    }
}

/// The limits on key exchanges. An exchange that ends with a datagram that opens does not count.
#[derive(Clone, Debug)]
pub(super) struct ExchangeLimits {
    key: u64,
    all: TokenBucket,
    addresses: [TokenBucket; BUCKETS],
}

impl ExchangeLimits {
    /// `key` must be unpredictable, or others could fill the bucket of an address.
    pub(super) fn new(now: Time, key: u64, is_open: bool) -> Self {
        let per_address = if is_open { PER_ADDRESS_OPEN } else { PER_ADDRESS_LOCKED };
        let all = TokenBucket::new(now, IN_ALL, IN_ALL);
        Self { key, all, addresses: [TokenBucket::new(now, per_address, per_address); BUCKETS] }
    }

    /// Whether `ip` may exchange keys now.
    pub(super) fn take(&mut self, now: Time, ip: IpAddr) -> bool {
        let Some(bucket) = self.bucket(ip) else { return false };
        if !bucket.take(now, 1) {
            return false;
        }
        let is_free = self.all.take(now, 1);
        if !is_free && let Some(bucket) = self.bucket(ip) {
            bucket.restore(1);
        }
        is_free
    }

    /// An exchange with `ip` has ended with the right code.
    pub(super) fn restore(&mut self, ip: IpAddr) {
        self.all.restore(1);
        if let Some(bucket) = self.bucket(ip) {
            bucket.restore(1);
        }
    }

    fn bucket(&mut self, ip: IpAddr) -> Option<&mut TokenBucket> {
        let hash = XxHash3_64::oneshot_with_seed(self.key, &network(ip).to_le_bytes());
        self.addresses.get_mut(hash as usize % BUCKETS)
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
    fn an_address_gets_two_wrong_codes_a_second_and_all_together_twenty() {
        let mut limits = ExchangeLimits::new(Time(0), 5, false);
        let mut taken = |ms: u64, ip| limits.take(Time(1_000 * ms), ip);
        assert!(taken(0, address(1)) && taken(0, address(1)) && !taken(0, address(1)));
        assert!(!taken(499, address(1)) && taken(500, address(1)) && !taken(501, address(1)));
        let all = (2..200).filter(|&n| taken(1_000, address(n))).count();
        assert_eq!(all, 20);
        let second = (2..200).filter(|&n| taken(2_000, address(n))).count();
        assert_eq!(second, 20, "they do not use up what is theirs while others fill the room");
    }

    #[test]
    fn right_codes_do_not_count_and_a_network_of_ipv6_is_one_address() {
        let mut limits = ExchangeLimits::new(Time(0), 5, false);
        for _ in 0..100 {
            assert!(limits.take(Time(0), address(1)));
            limits.restore(address(1));
        }
        let v6 = |n| IpAddr::V6(Ipv6Addr::new(0x2001, 0xdb8, 0, 1, 0, 0, 0, n));
        assert_eq!((0..50).filter(|&n| limits.take(Time(0), v6(n))).count(), 2);
    }
}
