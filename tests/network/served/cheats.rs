//! What a client gains that breaks the rules: nothing.

use std::time::Duration;

use game::{MatchError, MatchOutcome, Server};
use net::message::PacketId;
use net::{ClientInputsHeader, DropCause, Notice, encode_client_inputs, encode_input};
use sim::math::{Fx, Vec2};
use sim::{Command, PlayerInput, Selection, Target, UnitId, When};

use super::star::{BOT, Net, relay_session, server_session};

/// Where nobody else sends anything.
const ELSEWHERE: Vec2 = Vec2 { x: Fx::from_bits(123_457), y: Fx::from_bits(-654_321) };

/// What a cheat sends, once a step.
type Cheat = fn(&mut Net, u32);

fn other_units(net: &mut Net, _n: u32) {
    let Some(world) = net.server.as_ref().and_then(Server::world) else { return };
    let state = world.state();
    let others = (0..state.units.len()).filter(|&row| state.units.owner[row].0 == 0);
    let theirs: Vec<UnitId> = others.map(|row| state.units.id[row]).take(8).collect();
    let target = Target::clamped(ELSEWHERE);
    let order = Command::Move(theirs.into_iter().collect::<Selection>(), target, When::Now);
    if let Some(game) = &mut net.seats[1].game {
        game.submit_command(net.now, order);
    }
}

fn far_ticks(net: &mut Net, n: u32) {
    let first = (net.tick() + 2000 + n) as u16;
    let header = ClientInputsHeader { first, count: 1, updated: -2000, notice: Notice::Nothing };
    let input = encode_input(&PlayerInput::default(), &[]).expect("short");
    let body = encode_client_inputs(&header, [Some(&input[..])].into_iter());
    net.forge(1, PacketId::PlayerInput, &body);
}

fn flood(net: &mut Net, _n: u32) {
    for _ in 0..20 {
        net.forge(1, PacketId::Ping, &[0]);
    }
}

fn garbage(net: &mut Net, n: u32) {
    net.forge(1, PacketId::PlayerInput, &n.to_le_bytes());
}

#[test]
fn a_cheat_gains_nothing_is_notified_and_expelled_and_the_honest_player_loses_no_tick() {
    // `None`: a command that names others' units is taken out of an input that is otherwise taken.
    let cheats: [(Cheat, Option<DropCause>); 4] = [
        (other_units, None),
        (far_ticks, Some(DropCause::OutOfPlace)),
        (flood, Some(DropCause::RateLimited)),
        (garbage, Some(DropCause::Malformed)),
    ];
    let sessions = [|| server_session("standard", None, 0, 2), || relay_session("standard", None, 0)];
    for ((cheat, why), session) in
        cheats.into_iter().flat_map(|cheat| sessions.map(|session| (cheat, session)))
    {
        let mut net = Net::new(session(), "delay=10ms", &[BOT, None]);
        net.run(Duration::from_secs(3), |_| {});
        let (mut n, mut most) = (0, 0);
        let mut foreign_orders = 0;
        net.run(Duration::from_secs(20), |net| {
            n += 1;
            cheat(net, n);
            if let Some(game) = &net.seats[1].game
                && let Some(client) = game.session().client()
            {
                most = most.max(client.rejected());
            }
            let state = net.server.as_ref().and_then(Server::world).map(|world| world.state().clone());
            foreign_orders += state.map_or(0, |state| {
                let rows = 0..state.units.len();
                rows.filter(|&row| {
                    state.units.owner[row].0 == 0
                        && state.units.goal_x[row] == ELSEWHERE.x
                        && state.units.goal_y[row] == ELSEWHERE.y
                })
                .count()
            });
        });
        assert!(net.is_over(), "{why:?}");
        let served = net.served.as_ref().expect("over").as_ref().expect("played");
        let cheater = &served.clients[1];
        let foreign = u64::from(cheater.counts.foreign_commands);
        let count = why.map_or(foreign, |why| cheater.traffic.dropped.of(why));
        assert!(count > 100, "{why:?}: {cheater:?}");
        assert_eq!(served.clients[0].counts.rejected, 0);
        // A flood is over before the next update; its farewell tells.
        assert!(most > 0 || why == Some(DropCause::RateLimited), "{why:?} is reported in updates");
        assert!(
            matches!(net.seats[1].ended, Some(Err(MatchError::Expelled))),
            "{why:?}: {:?}",
            net.seats[1].ended
        );
        assert!(why.is_some() || foreign_orders == 0, "{foreign_orders}");
        let honest = net.seats[0].summary();
        assert!(matches!(honest.outcome, MatchOutcome::PeerLeft(_)), "{:?}", honest.outcome);
        assert_eq!((honest.hash, honest.updates.expect("served").differed), (served.hash, 0));
    }
}
