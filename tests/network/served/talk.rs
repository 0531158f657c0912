//! What people do beside a match with a server: talk, wait for it, play again.

use std::collections::BTreeSet;
use std::time::Duration;

use game::{MatchEvent, MatchOptions, MatchOutcome, Node as _, Summary, data};
use net::message::Choice;
use net::{Architecture, ChatText, OnLoss, Settings, StallCause, Time};
use sim::{KindId, PlayerId, fingerprint};

use super::star::{
    BOT, Net, Seat, client_of, hash, predicting, relay_session, server_session, session_of, settings, staying,
};

/// What was said, by whom, as it was told.
fn lines(told: &[MatchEvent]) -> Vec<(PlayerId, String)> {
    let lines = told.iter().filter_map(|event| match event {
        MatchEvent::Said(player, text) => Some((*player, text.to_string())),
        _ => None,
    });
    lines.collect()
}

#[test]
fn a_server_hands_every_line_on_in_order() {
    let rules = fingerprint(&*data::rules("endless").expect("built in"));
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        let session = session_of(architecture, rules, Some(900), 0, 3);
        let mut net = Net::new(session, "delay=40ms,jitter=10ms,loss=10%,dup=5%", &[None; 3]);
        let mut written = [const { Vec::new() }; 3];
        net.run(Duration::from_secs(40), |net| {
            if !net.now.0.is_multiple_of(100_000) || !(60..700).contains(&net.tick()) {
                return;
            }
            for (n, written) in written.iter_mut().enumerate() {
                let text = format!("line {} of player {n}", written.len());
                let line = ChatText::new(&text).expect("a line");
                let game = net.seats[n].game.as_mut().expect("playing");
                if game.submit_chat(net.now, line) {
                    written.push((game.session().player(), text));
                }
            }
        });
        assert!(net.is_over(), "{architecture}");
        for written in &written {
            assert!((12..=16).contains(&written.len()), "{architecture}: {} lines in 11 s", written.len());
            for seat in &net.seats {
                let mut heard = lines(&seat.told);
                heard.retain(|(player, _)| *player == written[0].0);
                assert_eq!(heard, *written, "{architecture}");
            }
        }
    }
}

#[test]
fn in_a_window_a_client_waits_for_its_server() {
    for session in [server_session("endless", Some(900), 45, 2), relay_session("endless", Some(900), 45)] {
        let mut net = Net::new(session, "delay=20ms,jitter=2ms", &[BOT, BOT]);
        let patient = Settings { on_loss: OnLoss::Wait, ..settings() };
        let options = MatchOptions { controller: BOT, ..predicting() };
        net.seats[1].game = Some(client_of(Time(0), 1, None, options, patient));
        net.run(Duration::from_secs(5), |_| {});
        net.seats[1].is_cut = true;
        let waits_for = |net: &Net| net.seats[1].game.as_ref().expect("it plays").session().waits_for();
        net.run(Duration::from_millis(250), |_| {});
        assert_eq!(waits_for(&net), None, "not yet worth a word");
        net.run(Duration::from_millis(150), |_| {});
        let waits = waits_for(&net).expect("the server");
        assert_eq!((waits.player, waits.cause), (PlayerId::NONE, StallCause::Network));
        net.run(Duration::from_millis(5_600), |_| {});
        let lost = net.seats[1].game.as_ref().expect("it waits").session().lost();
        assert_eq!(lost.map(|(player, _)| player), Some(PlayerId::NONE));
        net.seats[1].is_cut = false;
        net.run(Duration::from_secs(60), |_| {});
        assert!(net.is_over(), "at tick {}", net.tick());
        let waits = |event: &&MatchEvent| matches!(event, MatchEvent::Waiting(_));
        assert_eq!(net.seats[1].told.iter().filter(waits).count(), 1);
        for seat in &net.seats {
            assert_eq!((seat.summary().outcome, seat.summary().hash), (MatchOutcome::TickLimit, hash(&net)));
        }
    }
}

#[test]
fn all_play_again_on_their_server_once_all_want_to() {
    for architecture in [Architecture::ClientServer, Architecture::Relay] {
        for link in ["delay=1ms", "delay=40ms,jitter=10ms,loss=15%,dup=5%"] {
            let mut net = staying(architecture, link);
            net.run(Duration::from_secs(60), |net| {
                let now = net.now;
                for (n, seat) in net.seats.iter_mut().enumerate() {
                    // One takes its time; after three matches they have enough.
                    if seat.earlier.len() < 2 && (n != 1 || now.0 / 1_000_000 % 2 == 0) {
                        let game = seat.game.as_mut().expect("it stays");
                        // As a player does who sees the result.
                        if game.world().is_none() {
                            // After the second match.
                            if (n, seat.earlier.len()) == (2, 1) {
                                game.submit_choice(now, Choice { hero: KindId(1), is_ready: true });
                            }
                            game.want_rematch(now);
                        }
                    } else if let (2, Some(game), Some(Ok(_))) =
                        (seat.earlier.len(), &mut seat.game, &seat.ended)
                    {
                        game.leave();
                    }
                }
            });
            assert!(net.is_over(), "{architecture} {link}");
            // Who learns of the leaving before the vote has no vote.
            let played = |seat: &Seat| {
                let last = seat.ended.as_ref().and_then(|ended| ended.as_ref().ok());
                seat.earlier.iter().chain(last).cloned().collect::<Vec<Summary>>()
            };
            let (first, chose) = (played(&net.seats[0]), played(&net.seats[2])[0].player.index());
            for seat in &net.seats {
                let matches = played(seat);
                assert_eq!(matches.len(), 3, "{architecture} {link}");
                let led: Vec<_> = matches.iter().map(|summary| summary.roster[chose].hero).collect();
                let games = matches.iter().map(|summary| summary.config.game);
                assert!(games.eq(0..3), "{architecture} {link}: every second one is on swapped sides");
                const SWORDSMAN: KindId = KindId(0);
                const ARCHER: KindId = KindId(1);
                assert_eq!(led, [SWORDSMAN, SWORDSMAN, ARCHER], "{architecture} {link}");
                for (ours, theirs) in matches.iter().zip(&first) {
                    assert_eq!((ours.outcome, ours.ticks), (MatchOutcome::TickLimit, 120));
                    assert_eq!((ours.hash, ours.config.seed), (theirs.hash, theirs.config.seed));
                    assert_eq!(ours.player, matches[0].player, "everybody keeps the seat");
                }
                let seeds: BTreeSet<u64> = matches.iter().map(|summary| summary.config.seed).collect();
                assert_eq!(seeds.len(), 3, "{architecture} {link}");
                let wanted = seat.told.iter().filter(|event| matches!(event, MatchEvent::RematchWanted(_)));
                assert_eq!(wanted.count(), 6, "{architecture} {link}: each of three, twice");
            }
        }
    }
}

#[test]
fn who_leaves_a_server_after_the_end_ends_the_vote() {
    let mut net = staying(Architecture::ClientServer, "delay=20ms,loss=5%");
    net.run(Duration::from_secs(30), |net| {
        let now = net.now;
        for (n, seat) in net.seats.iter_mut().enumerate() {
            let Some(game) = seat.game.as_mut().filter(|_| seat.ended.is_some()) else { continue };
            if n == 2 && now.0 > 6_000_000 {
                game.leave();
            } else if n != 2 {
                game.want_rematch(now);
            }
        }
    });
    assert!(net.is_over());
    assert!(net.seats.iter().all(|seat| seat.earlier.len() == 1));
}
