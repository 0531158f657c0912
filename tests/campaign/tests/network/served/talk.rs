//! Lines without end at a server.

use std::time::Duration;

use game::MatchEvent;
use net::message::{Chat, PacketId, encode};
use net::{ChatText, DropCause};
use sim::PlayerId;

use super::star::{Net, server_session};

/// What was said, by whom, as it was told.
fn lines(told: &[MatchEvent]) -> Vec<(PlayerId, String)> {
    let lines = told.iter().filter_map(|event| match event {
        MatchEvent::Said(player, text) => Some((*player, text.to_string())),
        _ => None,
    });
    lines.collect()
}

#[test]
fn who_says_too_much_to_a_server_is_refused_and_not_heard() {
    let mut net = Net::new(server_session("endless", Some(600), 0, 2), "delay=5ms", &[None; 2]);
    net.run(Duration::from_secs(2), |_| {});
    let from = net.seats[0].game.as_ref().expect("playing").session().player();
    for _ in 0..60 {
        let text = ChatText::new("buy gold").expect("a line");
        net.forge_message(0, PacketId::Chat, &encode(&Chat { from, text }));
        net.run(Duration::from_millis(20), |_| {});
    }
    let heard = lines(&net.seats[1].told).len();
    assert!((10..=13).contains(&heard), "{heard} of 60 lines in 1.2 s");
    let status =
        net.server.as_ref().expect("playing").session().clients().find(|client| client.player == from);
    let refused = status.expect("playing").traffic.dropped.of(DropCause::RateLimited);
    assert_eq!(refused as usize, 60 - heard);
}
