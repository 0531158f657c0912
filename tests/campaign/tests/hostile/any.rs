//! Any message in any phase. A case is one session of some kind, brought into some phase, and up to 24 hostile
//! datagrams, pauses and wishes of its own player, in the order of its seed. So it is for whole matches and servers,
//! with a real world, of which states are forged, too.

use std::time::Duration;

use net::message::{Choice, PacketId};
use net::{Architecture, ENVELOPE_BYTES, Event, InputDelay, OnLoss};
use sim::{Command, Direction, HeroControl, KindId, Tick};

use super::damage::{damaged, ragged};
use super::draw::Draw;
use super::peer::Node;
use super::room::{Room, TAG, Table, is_handshake};
use super::writer::{Hints, Writer};

const ACTIONS_MAX: u64 = 24;

/// Where a session can be found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// Nobody has joined, or nobody has answered.
    Alone,
    /// Some seats are taken.
    Gathering,
    /// The target has yet to build its world.
    Preparing,
    /// Others have.
    Seating,
    /// Tick 0 is agreed, and has not come.
    Counting,
    Running,
    Paused,
    /// The others' inputs do not come.
    Stalled,
    /// The others are lost.
    Lost,
    /// One of more than two has left.
    Departed,
    /// Hash chains differ, and states are awaited.
    Searching,
    /// All ticks have run, and others lack something.
    Finished,
    /// All ticks have run, and all stay.
    Over,
    /// The second match over the same links.
    Rematch,
    /// The target leaves.
    Leaving,
    Closed,
}

const STAGES: [Stage; 16] = [
    Stage::Alone,
    Stage::Gathering,
    Stage::Preparing,
    Stage::Seating,
    Stage::Counting,
    Stage::Running,
    Stage::Paused,
    Stage::Stalled,
    Stage::Lost,
    Stage::Departed,
    Stage::Searching,
    Stage::Finished,
    Stage::Over,
    Stage::Rematch,
    Stage::Leaving,
    Stage::Closed,
];

/// Those that a whole match comes to by itself.
const STAGES_OF_MATCHES: [Stage; 12] = [
    Stage::Alone,
    Stage::Gathering,
    Stage::Running,
    Stage::Paused,
    Stage::Stalled,
    Stage::Lost,
    Stage::Departed,
    Stage::Searching,
    Stage::Finished,
    Stage::Over,
    Stage::Leaving,
    Stage::Closed,
];

const ARCHITECTURES: [Architecture; 3] = [Architecture::P2p, Architecture::ClientServer, Architecture::Relay];

/// A room of which one session is to be attacked.
struct Scene {
    room: Room,
    target: usize,
}

impl Scene {
    fn new(architecture: Architecture, stage: Stage, is_real: bool, draw: &mut Draw) -> Self {
        let seats = match stage {
            Stage::Departed | Stage::Gathering => 3 + draw.below(2) as u8,
            // Of two, one can show a state alone.
            _ if is_real && draw.below(2) == 0 => 2,
            _ => 2 + draw.below(3) as u8,
        };
        let is_short = matches!(stage, Stage::Finished | Stage::Over | Stage::Rematch);
        let ticks = if is_short { 3 + draw.below(12) as u32 } else { 2_000 };
        let table = Table {
            on_loss: if draw.below(2) == 0 { OnLoss::End } else { OnLoss::Wait },
            stays: matches!(stage, Stage::Over | Stage::Rematch) || draw.below(2) == 0,
            input_delay: if draw.below(4) == 0 {
                InputDelay::Ticks(draw.below(33) as u32)
            } else {
                InputDelay::Auto
            },
            is_fair: architecture == Architecture::P2p && draw.below(4) == 0,
            is_real,
            ..Table::new(architecture, seats, ticks)
        };
        let guests = match stage {
            Stage::Alone => 1,
            Stage::Gathering => table.peers() - 2,
            _ => table.peers() - 1,
        };
        let target = draw.below(guests as u64 + 1) as usize;
        let astray = (stage == Stage::Searching).then_some(target);
        let room = Room::new(Table { astray, ..table }, guests);
        let mut scene = Self { room, target };
        scene.bring_to(stage, draw);
        scene
    }

    fn bring_to(&mut self, stage: Stage, draw: &mut Draw) {
        let Self { room, target } = self;
        let target = *target;
        match stage {
            Stage::Alone => {
                room.peers.iter_mut().for_each(|peer| peer.is_cut = draw.below(2) == 0);
                room.run(Duration::from_millis(300));
            }
            Stage::Gathering => room.run(Duration::from_millis(300)),
            Stage::Preparing | Stage::Seating => {
                let which = stage == Stage::Preparing;
                let n = room.peers.len();
                (0..n).filter(|&n| (n == target) == which).for_each(|n| room.peers[n].builds = false);
                room.run(Duration::from_millis(50));
            }
            Stage::Counting => {
                let is_counting =
                    |room: &Room| room.peers[target].has(|event| matches!(event, Event::Counting { .. }));
                room.run_until(is_counting);
            }
            Stage::Finished => {
                let tick = room.table.ticks - 1;
                room.play_to(tick);
                room.peers.iter_mut().enumerate().for_each(|(n, peer)| peer.is_cut = n != target);
                room.run(Duration::from_millis(200));
            }
            Stage::Over | Stage::Rematch => {
                room.play_to(room.table.ticks);
                room.run(Duration::from_millis(700));
                if stage == Stage::Rematch {
                    let now = room.now;
                    room.peers.iter_mut().for_each(|peer| peer.want_rematch(now));
                    room.run(Duration::from_millis(700));
                }
            }
            _ => {
                room.play_to(5 + draw.below(20) as u32);
                self.bring_on(stage);
            }
        }
    }

    /// From a match that runs.
    fn bring_on(&mut self, stage: Stage) {
        let Self { room, target } = self;
        let target = *target;
        let others = |room: &mut Room, cut: bool| {
            room.peers.iter_mut().enumerate().for_each(|(n, peer)| peer.is_cut = cut && n != target);
        };
        match stage {
            Stage::Paused => {
                let last = room.peers.len() - 1;
                let now = room.now;
                room.peers[last].order(now, Command::Pause);
                room.run(Duration::from_millis(400));
            }
            Stage::Stalled | Stage::Lost => {
                others(room, true);
                room.run(Duration::from_millis(if stage == Stage::Lost { 4_000 } else { 300 }));
            }
            Stage::Departed => {
                let gone = if target + 1 == room.peers.len() { target - 1 } else { room.peers.len() - 1 };
                room.peers[gone].leave();
                room.run(Duration::from_millis(400));
            }
            Stage::Searching => {
                room.peers.iter_mut().for_each(|peer| peer.shows = false);
                room.peers[target].state.globals.seed[0] ^= 1 << 40;
                room.run(Duration::from_millis(300));
            }
            Stage::Leaving => {
                others(room, true);
                room.peers[target].leave();
                room.run(Duration::from_millis(30));
            }
            Stage::Closed => {
                room.peers[target].leave();
                room.run(Duration::from_millis(3_000));
            }
            _ => {}
        }
    }

    /// What an insider, and the player, do to the target.
    fn attack(&mut self, draw: &mut Draw) {
        for _ in 0..1 + draw.below(ACTIONS_MAX) {
            match draw.below(16) {
                8 if self.room.table.is_real => self.lie_about_state(draw),
                0..=8 => self.say(draw),
                9 => self.repeat(draw),
                10 | 11 => self.room.run(Duration::from_millis(draw.below(60))),
                12 if draw.below(4) == 0 => self.room.run(Duration::from_millis(draw.below(6_000))),
                12 => self.room.run(Duration::from_micros(draw.below(20_000))),
                13 => {
                    let peer = draw.below(self.room.peers.len() as u64) as usize;
                    self.room.peers[peer].is_cut ^= true;
                }
                14 => self.change_recent(draw),
                _ => self.wish(draw),
            }
        }
        self.room.run(Duration::from_millis(200));
    }

    fn from(&self, draw: &mut Draw) -> usize {
        let peers = self.room.peers.len();
        (self.target + 1 + draw.below(peers as u64 - 1) as usize) % peers
    }

    fn hints(&self, from: usize) -> Hints {
        let target = &self.room.peers[self.target];
        let asked =
            self.room.recent.iter().rev().find(|(_, _, bytes)| bytes[0] == PacketId::JoinRequest as u8);
        let nonce = asked.map_or(0, |(_, _, bytes)| {
            u64::from_le_bytes(std::array::from_fn(|i| bytes.get(3 + i).copied().unwrap_or(0)))
        });
        let tick = target.state.tick().max(self.room.peers[from].state.tick());
        Hints {
            tick: tick.0,
            seats: self.room.table.seats,
            hash: target.hash().whole,
            nonce,
            is_fair: self.room.table.is_fair,
        }
    }

    /// A message of any kind with any values.
    fn say(&mut self, draw: &mut Draw) {
        let from = self.from(draw);
        let (id, hints) = (any_id(draw), self.hints(from));
        let state = self.room.peers[self.target].world().map(|world| world.state().clone());
        let writer = Writer::new(draw, hints).of(state.as_ref());
        let bytes = if is_handshake(id as u8) {
            writer.handshake(id)
        } else {
            let body = writer.body(id);
            self.room.envelope(from, self.target, id as u8, &body)
        };
        self.room.deliver(from, self.target, &bytes[..bytes.len().min(1_300)]);
    }

    /// A difference in the last tick is claimed, and a state shown for it.
    fn lie_about_state(&mut self, draw: &mut Draw) {
        let (from, target) = (self.from(draw), self.target);
        let Some(mut state) = self.room.peers[target].world().map(|world| damaged(draw, world.state()))
        else {
            return;
        };
        let tick = state.tick().0.wrapping_sub(1 + draw.below(2) as u32);
        if draw.below(2) == 0 {
            ragged(draw, &mut state);
        }
        let hash = draw.bits();
        self.room.claim(from, target, tick, hash, &state);
        self.room.run(Duration::from_millis(draw.below(30)));
    }

    /// A real datagram once more, as it was.
    fn repeat(&mut self, draw: &mut Draw) {
        let Some((from, to, bytes)) = self.recent(draw) else { return };
        self.room.deliver(from, to, &bytes);
    }

    /// What was really said, a little changed, in the name of any peer, and to the target.
    fn change_recent(&mut self, draw: &mut Draw) {
        let Some((_, _, mut bytes)) = self.recent(draw) else { return };
        let from = self.from(draw);
        if bytes.len() >= ENVELOPE_BYTES + TAG.len() && !is_handshake(bytes[0]) {
            let body = &bytes[ENVELOPE_BYTES..bytes.len() - TAG.len()];
            bytes = self.room.envelope(from, self.target, bytes[0], body);
        }
        for _ in 0..draw.below(4) {
            let at = draw.below(bytes.len() as u64) as usize;
            match draw.below(6) {
                0 => bytes.truncate(at.max(1)),
                1 => bytes.push(draw.bits() as u8),
                2 => bytes[at] ^= 1 << draw.below(8),
                3 => bytes[at] = bytes[at].wrapping_add(1),
                _ => bytes[at] = draw.bits() as u8,
            }
        }
        self.room.deliver(from, self.target, &bytes);
    }

    fn recent(&self, draw: &mut Draw) -> Option<(usize, usize, Vec<u8>)> {
        let count = self.room.recent.len() as u64;
        (count > 0).then(|| self.room.recent[draw.below(count) as usize].clone())
    }

    /// What the target's own player, or the program around it, does.
    fn wish(&mut self, draw: &mut Draw) {
        let now = self.room.now;
        let peer = &mut self.room.peers[self.target];
        let choice = Choice { hero: KindId(1), is_ready: draw.below(2) == 0 };
        let hero = HeroControl { walk: Some(Direction::eighth(draw.below(8) as u8)), strike: None };
        match (draw.below(8), &mut peer.node) {
            (0, _) => peer.order(now, Command::Banner),
            (1, _) => peer.order(now, Command::Pause),
            (2, _) => peer.build(now),
            (3, _) if draw.below(4) == 0 => peer.leave(),
            (3, _) => peer.want_rematch(now),
            (4, Node::Lockstep(session)) => session.claim(),
            (4, Node::Client(session)) => session.claim(),
            (4, Node::Match(game)) => game.claim(),
            (5, _) => peer.order(now, [Command::Resume, Command::CountDown][draw.below(2) as usize].clone()),
            (_, Node::Host(room)) => room.submit_choice(now, choice),
            (_, Node::Guest(room)) => room.submit_choice(now, choice),
            (_, Node::Lockstep(session)) => session.submit_hero(Tick(0), hero),
            (_, Node::Client(session)) => session.submit_hero(Tick(0), hero),
            (_, Node::Match(game)) => game.submit_hero(hero),
            _ => {}
        }
    }
}

/// Every kind is as likely as any other, but for those that lead the deepest.
fn any_id(draw: &mut Draw) -> PacketId {
    const DEEPEST: [PacketId; 5] = [
        PacketId::PlayerInput,
        PacketId::PlayerInput,
        PacketId::GameStateUpdate,
        PacketId::ServerTicks,
        PacketId::Acknowledge,
    ];
    let n = draw.below((PacketId::ALL.len() + DEEPEST.len()) as u64) as usize;
    PacketId::ALL.iter().chain(&DEEPEST).nth(n).copied().expect("one of them")
}

/// One case, with a world that is a number.
pub(crate) fn play_session(draw: &mut Draw) {
    let (architecture, stage) = (*draw.pick(&ARCHITECTURES), *draw.pick(&STAGES));
    Scene::new(architecture, stage, false, draw).attack(draw);
}

/// One case, with a real world.
pub(crate) fn play_match(draw: &mut Draw) {
    let (architecture, stage) = (*draw.pick(&ARCHITECTURES), *draw.pick(&STAGES_OF_MATCHES));
    Scene::new(architecture, stage, true, draw).attack(draw);
}

/// Datagrams of nothing but drawn bytes, from strangers and from those who have a connection, to a session of this
/// architecture in any phase.
pub(crate) fn play_datagrams(architecture: Architecture, draw: &mut Draw) {
    let stage = *draw.pick(&STAGES);
    let Scene { mut room, target } = Scene::new(architecture, stage, false, draw);
    let peers = room.peers.len() as u64;
    while !draw.is_spent() {
        let from = draw.below(peers + 1) as usize;
        let length = draw.below(256);
        let bytes: Vec<u8> = (0..length).map(|_| draw.below(256) as u8).collect();
        room.deliver(from, target, &bytes);
        room.run(Duration::from_millis(draw.below(20)));
    }
}
