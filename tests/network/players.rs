//! Two players of an encrypted match that does not end by itself, between whom a test carries the datagrams.

use game::{Match, MatchOptions, Server, ServerOptions, data};
use net::{Architecture, GuestConfig, Host, HostConfig, InputDelay, Join, Time};
use sim::fingerprint;

use crate::peers::{guest_config, host_config, settings};
use crate::served::star::server_config;

/// The server, unless they are peers, and both players. From address 0 on, each has the next one.
pub(crate) fn two_players(
    architecture: Architecture,
    options: impl Fn() -> MatchOptions,
) -> (Option<Server>, [Match; 2]) {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    let config = server_config(architecture, rules, None, 0, 2, 20);
    let play = || MatchOptions { interpolation: 2, updates: 20, ..options() };
    let settings = || settings(InputDelay::Auto);
    let join = |n| Match::new(Join::new(Time(0), settings(), guest_config(), [n; 32]), play());
    if architecture == Architecture::P2p {
        let host = HostConfig { config: config.config, ..host_config(2, 0) };
        let host = Host::new(Time(0), settings(), host, [1; 32]);
        return (None, [Match::new(host, play()), join(2)]);
    }
    let server = Server::new(Time(0), config, [1; 32], ServerOptions::default());
    (Some(server), [join(2), join(3)])
}

/// Three peers of such a match, each at the address of its number.
pub(crate) fn three_peers(options: impl Fn() -> MatchOptions) -> [Match; 3] {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    let config = server_config(Architecture::P2p, rules, None, 0, 3, 20);
    let settings = || settings(InputDelay::Auto);
    let host = HostConfig { config: config.config, ..host_config(3, 0) };
    let host = Host::new(Time(0), settings(), host, [1; 32]);
    let join = |n| {
        let config = GuestConfig { seat: Some(n), ..guest_config() };
        Match::new(Join::new(Time(0), settings(), config, [1 + n; 32]), options())
    };
    [Match::new(host, options()), join(1), join(2)]
}
