//! Admission limits: how long a guest may hold a seat without being ready, and how many seats one address may
//! take. The same for hosts and servers.

use core::net::IpAddr;
use core::time::Duration;

/// Time from the first Seating until every guest must have acknowledged it; a guest that has not loses its
/// seat.
pub(in crate::net) const READY_WITHIN: Duration = Duration::from_secs(5);

/// Whether `ip` belongs to this computer: loopback, unspecified, or one of its `own` addresses as far as the
/// caller knows them.
fn is_local(ip: IpAddr, own: &[IpAddr]) -> bool {
    let ip = ip.to_canonical();
    ip.is_loopback() || ip.is_unspecified() || own.iter().any(|own| own.to_canonical() == ip)
}

/// How many of the `open` seats, those that any guest may take, a single remote address may have: all but
/// one, and at least one.
pub(in crate::net) const fn seats_per_address(open: u8) -> u8 {
    if open > 1 { open - 1 } else { 1 }
}

/// Whether a guest at `ip` may take one more of `open` seats, given the addresses of the guests already
/// `seated`.
pub(in crate::net) fn may_sit(
    ip: IpAddr,
    own: &[IpAddr],
    seated: impl Iterator<Item = IpAddr>,
    open: u8,
) -> bool {
    let has = seated.filter(|other| other.to_canonical() == ip.to_canonical()).count();
    is_local(ip, own) || has < usize::from(seats_per_address(open))
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::net::{Ipv4Addr, Ipv6Addr};

    #[test]
    fn an_address_may_take_all_seats_but_one_unless_it_is_local() {
        let remote = IpAddr::V4(Ipv4Addr::new(10, 0, 0, 7));
        let mapped = IpAddr::V6(Ipv4Addr::new(10, 0, 0, 7).to_ipv6_mapped());
        let loopback = IpAddr::V6(Ipv6Addr::LOCALHOST);
        let may = |ip, seated: &[IpAddr], open| may_sit(ip, &[], seated.iter().copied(), open);
        assert!(may(remote, &[], 2) && !may(remote, &[remote], 2) && may(remote, &[loopback], 2));
        assert!(may(remote, &[mapped, loopback], 4) && !may(mapped, &[remote; 3], 4));
        assert!(may(remote, &[], 1), "the only seat");
        assert!(may(loopback, &[loopback; 3], 4));
        assert!(may_sit(mapped, &[remote], [remote; 3].into_iter(), 4), "its own address");
    }
}
