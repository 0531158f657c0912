//! The first difference between two recordings.

use std::io::{Read, Seek};

use super::reader::{Record, Replay, SeekError};
use sim::{Difference, GameState, PlayerId, Setup, Tick, TickInputs, World};

/// First differences of two recordings.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Parting {
    /// Part of the setup that differs; nothing else is compared then.
    pub setup: Option<&'static str>,
    /// Tick after the last one of each recording.
    pub ends: [Tick; 2],
    /// First tick whose inputs differ, and the player whose they are.
    pub inputs: Option<(Tick, PlayerId)>,
    /// First tick after which the recorded states differ although the inputs did not: hashes are recorded after every
    /// tenth tick and the last, so the states diverge at most nine ticks before.
    pub hashes: Option<Tick>,
    /// First tick after which the states differ, and the first field. After different inputs this is exact; after
    /// equal inputs it is the next keyframe.
    pub state: Option<(Tick, Difference)>,
    /// First tick of each recording after which its hash differs from that of its own inputs, simulated here.
    pub astray: [Option<Tick>; 2],
    /// Number of ticks that are in both and were compared.
    pub ticks: u32,
}

impl Parting {
    /// Whether nothing differs: the same match, recorded up to the same tick.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.setup.is_none()
            && self.inputs.is_none()
            && self.hashes.is_none()
            && self.state.is_none()
            && self.ends[0] == self.ends[1]
    }

    /// Compares both recordings of the state before this tick.
    fn keyframes(&mut self, a: &Frame, b: &Frame) {
        if let (Some(one), Some(other)) = (&a.keyframe, &b.keyframe)
            && one != other
        {
            let last = Tick(a.inputs.tick.0.saturating_sub(1));
            if self.inputs.is_none() {
                self.hashes.get_or_insert(last);
            }
            let states = [one, other].map(|state| GameState::decode_to_compare(state).ok());
            if let [Some(one), Some(other)] = states {
                self.state = one.difference(&other).map(|difference| (last, difference));
            }
        }
    }

    /// Compares the last state hashes, unless the recordings have diverged before: the last ticks may have no other
    /// hash.
    fn last_hashes(&mut self, hashes: [Option<u64>; 2]) {
        if let [Some(one), Some(other)] = hashes
            && one != other
            && self.ends[0] == self.ends[1]
            && self.inputs.is_none()
        {
            self.hashes.get_or_insert(Tick(self.ends[0].0.saturating_sub(1)));
        }
    }
}

/// Simulates two recordings tick by tick until their states diverge, or one ends. Both must begin at the same tick.
///
/// # Errors
/// If one cannot be played here.
pub fn diff<R: Read + Seek>(mut one: Replay<R>, mut other: Replay<R>) -> Result<Parting, SeekError> {
    let setups = [one.header().setup()?, other.header().setup()?];
    let begins = [one.begins(), other.begins()];
    let mut found = Parting { setup: setup_difference(&setups), ..Parting::default() };
    if begins[0] != begins[1] {
        found.setup = found.setup.or(Some("first tick"));
    }
    if found.setup.is_some() {
        found.ends = [&one, &other].map(|replay| Tick(replay.promised_ticks().unwrap_or_default()));
        return Ok(found);
    }
    let world = one.world_at(begins[0])?;
    other.seek(begins[1])?;
    let mut pair = Pair { same: world, parted: None };
    while let (Some(a), Some(b)) = (next_frame(&mut one), next_frame(&mut other)) {
        found.keyframes(&a, &b);
        if found.state.is_some() {
            break;
        }
        pair.step(&mut found, [&a, &b]);
        found.ticks += 1;
        if found.state.is_some() {
            break;
        }
    }
    for replay in [&mut one, &mut other] {
        replay.for_each(drop);
    }
    found.ends = [&one, &other].map(|replay| replay.begins().plus(replay.ticks_read()));
    found.last_hashes([&one, &other].map(|replay| replay.trailer().and_then(|trailer| trailer.final_hash)));
    Ok(found)
}

/// World of both, and that of the second from the first tick with different inputs.
struct Pair {
    same: World,
    parted: Option<World>,
}

impl Pair {
    fn step(&mut self, found: &mut Parting, frames: [&Frame; 2]) {
        let [a, b] = frames;
        if a.inputs != b.inputs && self.parted.is_none() {
            let whose = a.inputs.iter().zip(b.inputs.iter()).find(|((_, a), (_, b))| a != b);
            let player = whose.map_or(PlayerId(0), |((player, _), _)| player);
            found.inputs = Some((a.inputs.tick, player));
            self.parted = Some(self.same.clone());
        }
        self.same.step(&a.inputs);
        if let Some(parted) = &mut self.parted {
            parted.step(&b.inputs);
        }
        let tick = a.inputs.tick;
        let worlds = [&self.same, self.parted.as_ref().unwrap_or(&self.same)];
        for (astray, (world, frame)) in found.astray.iter_mut().zip(worlds.iter().zip(frames)) {
            if frame.hash.is_some_and(|recorded| recorded != world.hash().whole) {
                astray.get_or_insert(tick);
            }
        }
        match &self.parted {
            Some(parted) => {
                let difference = self.same.state().difference(parted.state());
                found.state = difference.map(|difference| (tick, difference));
            }
            None if a.hash.is_some() && b.hash.is_some() && a.hash != b.hash => {
                found.hashes.get_or_insert(tick);
            }
            None => {}
        }
    }
}

/// Tick of a recording, and the state before it if that was recorded.
struct Frame {
    keyframe: Option<Vec<u8>>,
    inputs: TickInputs,
    hash: Option<u64>,
}

fn next_frame<R: Read + Seek>(replay: &mut Replay<R>) -> Option<Frame> {
    let mut keyframe = None;
    loop {
        match replay.next()? {
            Record::Tick { inputs, hash } => return Some(Frame { keyframe, inputs, hash }),
            Record::Keyframe { snapshot, .. } => keyframe = Some(snapshot),
            Record::Event { .. } => {}
        }
    }
}

/// Returns the first part of the setup that differs.
fn setup_difference([one, other]: &[Setup; 2]) -> Option<&'static str> {
    [
        ("seed", one.seed != other.seed),
        ("tick rate", one.tick_rate != other.tick_rate),
        ("seats", one.seats != other.seats),
        ("rules", one.rules != other.rules),
        ("map", one.map != other.map),
    ]
    .into_iter()
    .find_map(|(name, differs)| differs.then_some(name))
}
