//! Addresses of hosts as people type and paste them: lenient parsing, with errors that name the fault.

use anyhow::{Context as _, bail, ensure};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, SocketAddrV6, ToSocketAddrs as _};

use net::ALTERNATIVES_MAX;
use transport::DEFAULT_PORT;

/// Maximum number of addresses of one host to try.
const ADDRESSES_MAX: usize = 1 + ALTERNATIVES_MAX;

/// Resolves `ADDR[:PORT]` to every address that the system knows for it, without duplicates: at least one, and at
/// most [`ADDRESSES_MAX`].
pub(crate) fn resolve(text: &str) -> anyhow::Result<Vec<SocketAddr>> {
    let Written { host, port } = read(text)?;
    let port = port.unwrap_or(DEFAULT_PORT);
    let mut found = match host {
        Host::Ip(IpAddr::V6(ip)) if ip.is_unicast_link_local() => link_local(ip, port)?,
        Host::Ip(ip) => vec![SocketAddr::new(ip, port)],
        // Both families, regardless of the system's hosts file (RFC 6761, section 6.3).
        Host::Name(name) if name.eq_ignore_ascii_case("localhost") => {
            vec![(Ipv4Addr::LOCALHOST, port).into(), (Ipv6Addr::LOCALHOST, port).into()]
        }
        Host::Name(name) => {
            let advice = || {
                format!(
                    "no such host: {name}; give an address such as 192.168.1.20:{DEFAULT_PORT}, or none to look on the \
                     LAN"
                )
            };
            let found = (name.as_str(), port).to_socket_addrs().with_context(advice)?;
            let found: Vec<_> = found.map(canonical).collect();
            ensure!(!found.is_empty(), advice());
            found
        }
    };
    let mut seen = Vec::new();
    found.retain(|address| {
        !seen.contains(address) && seen.len() < ADDRESSES_MAX && {
            seen.push(*address);
            true
        }
    });
    Ok(found)
}

/// Host and port in a text.
#[derive(Debug, PartialEq, Eq)]
struct Written {
    host: Host,
    port: Option<u16>,
}

#[derive(Debug, PartialEq, Eq)]
enum Host {
    /// Address without an interface; not mapped, not unspecified, no multicast or broadcast.
    Ip(IpAddr),
    /// Name, or address with an interface: the system resolves either.
    Name(String),
}

fn read(text: &str) -> anyhow::Result<Written> {
    let example = format!("192.168.1.20:{DEFAULT_PORT}");
    let plain = plain(text);
    let (has_scheme, rest) = match plain.split_once("://") {
        Some((_, rest)) => (true, rest),
        None => (false, plain.as_str()),
    };
    let (rest, path) = rest.split_once(['/', '?', '#']).unwrap_or((rest, ""));
    // A prefix length, as in listings of a machine's own addresses, is dropped as well.
    let is_prefix = path.parse().is_ok_and(|bits: u8| bits <= 128);
    ensure!(
        has_scheme || path.is_empty() || is_prefix,
        "unexpected {path:?} after the address; give an address such as {example}"
    );
    let rest = rest.trim();
    ensure!(!rest.is_empty(), "{text:?} contains no address; give one such as {example}");
    ensure!(!rest.contains('@'), "{rest:?} has a user name before the address; leave it out");
    let (host, port) = split(rest)?;
    let host = host.trim().trim_end_matches('.');
    let port = port.map(|port| read_port(port, host)).transpose()?;
    ensure!(
        !host.is_empty(),
        "{rest:?} is a port without an address; give the host's address before it, such as {example}"
    );
    Ok(Written { host: read_host(host)?, port })
}

/// Strips surroundings with which an address is often copied, and replaces characters by their ASCII equivalents.
fn plain(text: &str) -> String {
    const QUOTES: &[char] = &['"', '\'', '`', '<', '>', '(', ')', '\u{ab}', '\u{bb}'];
    let is_invisible = |c: char| matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2064}' | '\u{2066}'..='\u{2069}' | '\u{feff}' | '\u{ad}');
    let narrow = |c: char| match c {
        '\u{ff01}'..='\u{ff5e}' => char::from_u32(u32::from(c) - 0xfee0).unwrap_or(c),
        '\u{3002}' | '\u{ff61}' => '.',
        '\u{2018}'..='\u{201f}' => '"',
        c if c.is_whitespace() || c.is_control() => ' ',
        c => c,
    };
    let narrowed: String = text.chars().filter(|&c| !is_invisible(c)).map(narrow).collect();
    let is_around = |c: char| c == ' ' || QUOTES.contains(&c);
    // The marks of a list or a sentence follow the quotes, or stand within them.
    narrowed
        .trim_start_matches(is_around)
        .trim_end_matches(|c: char| is_around(c) || ",;.".contains(c))
        .to_owned()
}

/// Splits a text into host and port, separated by a colon or a space.
fn split(text: &str) -> anyhow::Result<(&str, Option<&str>)> {
    if let Some(inner) = text.strip_prefix('[') {
        let (host, rest) =
            inner.split_once(']').with_context(|| format!("{text:?} lacks the closing bracket"))?;
        let rest = rest.trim();
        return match rest.strip_prefix(':') {
            Some(port) => Ok((host, Some(port.trim()))),
            None if rest.is_empty() => Ok((host, None)),
            None if rest.bytes().all(|c| c.is_ascii_digit()) => Ok((host, Some(rest))),
            None => bail!("{rest:?} after the bracket is not a port: give one as in [{host}]:{DEFAULT_PORT}"),
        };
    }
    // A bare IPv6 address contains colons itself.
    if text.split_once('%').map_or(text, |(ip, _)| ip).parse::<Ipv6Addr>().is_ok() {
        return Ok((text, None));
    }
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit());
    match text.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') => Ok((host, Some(port.trim()))),
        Some(_) => {
            bail!("{text:?} is not an IPv6 address; with a port it is written as [fd00::1]:{DEFAULT_PORT}")
        }
        None => Ok(match text.rsplit_once(' ') {
            Some((host, port)) if is_number(port) => (host.trim(), Some(port)),
            _ => (text, None),
        }),
    }
}

fn read_port(port: &str, host: &str) -> anyhow::Result<u16> {
    let host = if host.is_empty() { "the address" } else { host };
    port.parse().ok().filter(|&port| port > 0).with_context(|| {
        format!("{port:?} is not a UDP port: give one from 1 to 65535, or {host} alone for {DEFAULT_PORT}")
    })
}

fn read_host(host: &str) -> anyhow::Result<Host> {
    if let Ok(ip) = host.parse::<IpAddr>() {
        let ip = ip.to_canonical();
        let is_broadcast = matches!(ip, IpAddr::V4(ip) if ip.is_broadcast());
        ensure!(
            !ip.is_unspecified(),
            "{ip} stands for all addresses of the host's machine; give one of them, which `arena doctor` lists there"
        );
        ensure!(
            !ip.is_multicast() && !is_broadcast,
            "{ip} is not the address of a single machine; give the host's"
        );
        return Ok(Host::Ip(ip));
    }
    if let Some((ip, interface)) = host.split_once('%') {
        let ip: Ipv6Addr =
            ip.parse().ok().with_context(|| format!("{ip:?} before % is not an IPv6 address"))?;
        ensure!(!interface.is_empty(), "{host:?} names no interface after %; give one, such as {ip}%eth0");
        // Only a link-local address exists on several interfaces.
        return Ok(if ip.is_unicast_link_local() {
            Host::Name(host.to_owned())
        } else {
            Host::Ip(ip.into())
        });
    }
    let is_numeric = host.bytes().all(|c| c.is_ascii_digit() || c == b'.');
    ensure!(
        !is_numeric,
        "{host:?} is not an IPv4 address, which has four numbers from 0 to 255, such as 192.168.1.20"
    );
    ensure!(!host.contains(' '), "{host:?} is neither an address nor a name: a name has no spaces");
    Ok(Host::Name(host.to_owned()))
}

/// Resolves a link-local address without an interface: at every interface of this machine that has one, too.
fn link_local(ip: Ipv6Addr, port: u16) -> anyhow::Result<Vec<SocketAddr>> {
    let interfaces = if_addrs::get_if_addrs().unwrap_or_default();
    let own =
        interfaces.iter().filter(|own| matches!(own.ip(), IpAddr::V6(ip) if ip.is_unicast_link_local()));
    let found: Vec<_> =
        own.filter_map(|own| own.index).map(|index| SocketAddrV6::new(ip, port, 0, index).into()).collect();
    ensure!(!found.is_empty(), "{ip} is a link-local address, and no interface of this machine has one");
    Ok(found)
}

/// Converts an address to the form of its family's sockets: IPv4 is never mapped into IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    match address {
        SocketAddr::V6(v6) if v6.scope_id() != 0 && v6.ip().is_unicast_link_local() => address,
        _ => SocketAddr::new(address.ip().to_canonical(), address.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ip(host: &str, port: Option<u16>) -> Written {
        Written { host: Host::Ip(host.parse().unwrap()), port }
    }

    #[test]
    fn pasted_addresses_are_parsed() {
        for text in [
            "10.9.0.1",
            " 10.9.0.1\n",
            "\"10.9.0.1\"",
            "udp://10.9.0.1",
            "http://10.9.0.1/",
            "10.9.0.1/",
            "10.9.0.1/24",
            "10.9.0.1.",
            "<10.9.0.1>",
            "[10.9.0.1]",
            "\u{201c}10.9.0.1\u{201d}",
            "10.9.0.1,",
            "\"10.9.0.1\",",
            "(10.9.0.1);",
            "::ffff:10.9.0.1",
            "\u{feff}10.9.0.1\u{200b}",
            "\u{ff11}\u{ff10}\u{3002}9.0.1",
            "UDP://10.9.0.1/join?x=1",
            "\u{a0}10.9.0.1\u{3000}",
        ] {
            assert_eq!(read(text).unwrap(), ip("10.9.0.1", None), "{text:?}");
        }
        for text in [
            "10.9.0.1:4125",
            "\"10.9.0.1:4125\", ",
            "(10.9.0.1:4125).",
            "udp://10.9.0.1:4125/;",
            "10.9.0.1 4125",
            "10.9.0.1 : 4125",
            "udp://10.9.0.1:4125/",
            "'10.9.0.1:4125'",
            "[10.9.0.1]:4125",
            "10.9.0.1\u{ff1a}4125",
            "[::ffff:10.9.0.1]:4125",
            "10.9.0.1.:4125",
            "10.9.0.1\t4125",
        ] {
            assert_eq!(read(text).unwrap(), ip("10.9.0.1", Some(4125)), "{text:?}");
        }
        assert_eq!(read("::1").unwrap(), ip("::1", None));
        assert_eq!(read("[::1]").unwrap(), ip("::1", None));
        for text in ["[::1]:4125", "udp://[::1]:4125", "[::1] 4125"] {
            assert_eq!(read(text).unwrap(), ip("::1", Some(4125)), "{text:?}");
        }
        assert_eq!(read("fd00::1%eth0").unwrap(), ip("fd00::1", None), "the interface says nothing there");
        let name = |host: &str, port| Written { host: Host::Name(host.into()), port };
        assert_eq!(read("ann-laptop.local.").unwrap(), name("ann-laptop.local", None));
        assert_eq!(read("ann-laptop:4125").unwrap(), name("ann-laptop", Some(4125)));
        assert_eq!(read("[fe80::1%eth0]:4125").unwrap(), name("fe80::1%eth0", Some(4125)));
    }

    #[test]
    fn invalid_addresses_are_explained_in_one_line() {
        for (text, why) in [
            (":4124", "a port without an address"),
            ("", "contains no address"),
            (" \" ", "contains no address"),
            ("udp://", "contains no address"),
            ("10.9.0.1:0", "not a UDP port"),
            ("10.9.0.1:70000", "not a UDP port"),
            ("10.9.0.1:", "not a UDP port"),
            ("10.9.0.1:x", "not a UDP port"),
            ("10.9.0.1:-1", "not a UDP port"),
            ("10.9.0", "not an IPv4 address"),
            ("10.9.0.256", "not an IPv4 address"),
            ("010.9.0.1", "not an IPv4 address"),
            ("4124", "not an IPv4 address"),
            ("0.0.0.0", "all addresses"),
            ("[::]:4124", "all addresses"),
            ("255.255.255.255", "a single machine"),
            ("ff02::1", "a single machine"),
            ("[::1", "closing bracket"),
            ("[::1]x", "not a port"),
            ("fd00::1::2", "not an IPv6 address"),
            ("fe80::1%", "no interface"),
            ("x%eth0", "not an IPv6 address"),
            ("ann@10.9.0.1", "user name"),
            ("10.9.0.1/join", "unexpected \"join\" after"),
            ("two words", "no spaces"),
        ] {
            let said = read(text).expect_err(text).to_string();
            assert!(said.contains(why) && !said.contains('\n'), "{text:?}: {said}");
        }
    }

    #[test]
    fn a_name_resolves_to_every_address_once() {
        let both = ["127.0.0.1:4125", "[::1]:4125"].map(|address| address.parse().unwrap());
        assert_eq!(resolve("LocalHost:4125").unwrap(), both);
        assert!(resolve("no-such-host.invalid").is_err());
    }
}
