//! What leaves such a seat: its session's datagrams, changed, and forged ones between them.

use arrayvec::ArrayVec;
use core::time::Duration;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng as _;
use std::net::SocketAddr;

use super::forge::{Forge, any_parts};
use super::{Behaviour, ByzantinePlan, Spell};
use game::Session;
use lab::simnet::{FaultyLinks, SimNetwork, below, up_to};
use net::message::{Delivery, PacketId, decode};
use net::{
    ClientInputsHeader, EncodedInput, Inputs, InputsHeader, Notice, PacketProtection, PeerInputs, Time,
    decode_client_inputs, decode_fair_inputs, decode_inputs, encode_client_inputs, encode_fair_inputs,
    encode_inputs,
};
use sim::{Command, HeroControl, Selection, Target, UnitId, When};

/// Datagrams that it remembers, of its own and of others.
const TAPE_MAX: usize = 128;
/// The farthest that a datagram is held back.
const HELD_BACK: Duration = Duration::from_millis(300);

/// A datagram that leaves.
struct Shot {
    /// So long from now.
    after: Duration,
    to: SocketAddr,
    bytes: Vec<u8>,
}

impl Shot {
    fn now(to: SocketAddr, bytes: Vec<u8>) -> Self {
        Self { after: Duration::ZERO, to, bytes }
    }
}

/// What its player does.
pub(crate) enum Deed {
    Order(Command),
    Rebind,
    Leave,
    Crash,
    /// Its session sends this in the reliable channel of the connection to this address.
    Message(SocketAddr, PacketId, Vec<u8>),
    LookAhead,
    /// Its session signs for this address as if it had told it another control of the hero in this tick.
    SignAnother(SocketAddr, u16, HeroControl),
}

/// A connection of this seat.
struct Line {
    /// What the session seals with.
    protection: PacketProtection,
    to: SocketAddr,
    /// The number of the next datagram.
    number: u64,
    /// What was acknowledged when that ended: the first tick that lacks, how far behind it the match was, the
    /// chain there.
    frozen: Option<(u16, u16, [u8; 2])>,
    /// The tick whose input is another one here than elsewhere.
    split: Option<u16>,
    /// Whether that input was sent.
    has_lied: bool,
}

/// The seat at work.
pub(crate) struct Attacker {
    plan: ByzantinePlan,
    rng: ChaCha8Rng,
    lines: Vec<Line>,
    /// Connections of its session that it has not written to.
    unused: Vec<PacketProtection>,
    own: Vec<(SocketAddr, Vec<u8>)>,
    /// What it said in datagrams of its connections: packet id and body.
    said: Vec<(SocketAddr, Vec<u8>)>,
    overheard: Vec<(SocketAddr, Vec<u8>)>,
    /// Of each spell that is made of messages or deeds, when the next is due.
    due: Vec<Time>,
    /// The first tick, its low half, of which no input was sent yet.
    unsent: u16,
    /// From and to which tick all hear another input than the own world runs.
    wild: Option<(u16, Option<u16>)>,
    /// What one peer was told in one tick and the others were not, until its session signs accordingly.
    lies: Vec<(SocketAddr, u16, HeroControl)>,
    is_gone: bool,
    done: [bool; Behaviour::ALL.len()],
}

impl Attacker {
    pub(crate) fn new(plan: ByzantinePlan, seed: u64) -> Self {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        rng.set_stream(96);
        let due = |spell: &Spell| if is_timed(spell.behaviour) { spell.from } else { Time(u64::MAX) };
        let mut done = [false; Behaviour::ALL.len()];
        if plan.spells.iter().any(|spell| spell.behaviour == Behaviour::Deviation) {
            done[Behaviour::Deviation as usize] = true;
        }
        Self {
            due: plan.spells.iter().map(due).collect(),
            plan,
            rng,
            lines: Vec::new(),
            unused: Vec::new(),
            own: Vec::new(),
            said: Vec::new(),
            overheard: Vec::new(),
            unsent: 0,
            wild: None,
            lies: Vec::new(),
            is_gone: false,
            done,
        }
    }

    /// What it does.
    pub(crate) const fn plan(&self) -> &ByzantinePlan {
        &self.plan
    }

    /// What took effect.
    pub(crate) fn done(&self) -> Vec<Behaviour> {
        Behaviour::ALL.into_iter().filter(|&behaviour| self.done[behaviour as usize]).collect()
    }

    /// Sends what it sends of its own now, and says what else it does.
    pub(crate) fn strike(&mut self, now: Time, network: &mut SimNetwork<FaultyLinks>) -> Vec<Deed> {
        let (shots, deeds) = self.act(now);
        self.fire(now, shots, network);
        deeds
    }

    /// Takes the keys of its session's connections.
    pub(crate) fn learn(&mut self, peer: usize, session: Option<&Session>) {
        let Some(session) = session.filter(|_| peer == self.plan.seat) else { return };
        for protection in session.protections() {
            let id = protection.remote_id();
            let is_known = self.lines.iter().any(|line| line.protection.remote_id() == id)
                || self.unused.iter().any(|unused| unused.remote_id() == id);
            if !is_known {
                self.unused.push(protection);
            }
        }
    }

    /// Whether a datagram is of this seat, and has left as that likes; that of anybody else is overheard.
    pub(crate) fn takes(
        &mut self,
        at: Time,
        peer: usize,
        (to, bytes): (SocketAddr, &[u8]),
        network: &mut SimNetwork<FaultyLinks>,
    ) -> bool {
        if peer != self.plan.seat {
            keep(&mut self.overheard, to, bytes, &mut self.rng);
            return false;
        }
        let shots = self.tamper(at, to, bytes);
        self.fire(at, shots, network);
        true
    }

    fn fire(&self, now: Time, shots: Vec<Shot>, network: &mut SimNetwork<FaultyLinks>) {
        for shot in shots {
            network.send(now.plus(shot.after), self.plan.seat, shot.to, &shot.bytes);
        }
    }

    /// When it does something of its own.
    pub(crate) fn next_at(&self) -> Option<Time> {
        self.due.iter().copied().min().filter(|&at| at < Time(u64::MAX) && !self.is_gone)
    }

    /// What leaves in place of a datagram of its session.
    fn tamper(&mut self, now: Time, to: SocketAddr, bytes: &[u8]) -> Vec<Shot> {
        let spells: Vec<Spell> = self.plan.spells.iter().copied().filter(|spell| spell.is_on(now)).collect();
        if spells.iter().any(|spell| spell.behaviour == Behaviour::Silence && spell.at.is_none()) {
            self.note(Behaviour::Silence);
            return Vec::new();
        }
        let Some((line, body)) = self.opened(to, bytes) else {
            keep(&mut self.own, to, bytes, &mut self.rng);
            return vec![Shot::now(to, bytes.to_vec())];
        };
        let spells: Vec<Spell> = spells.into_iter().filter(|spell| self.meets(spell, line)).collect();
        let Some(body) = self.changed(line, bytes[0], body, &spells) else { return Vec::new() };
        let (mut copies, mut after) = (1, Duration::ZERO);
        for spell in &spells {
            match spell.behaviour {
                Behaviour::Duplicates => copies = 2 + below(&mut self.rng, 5) as usize,
                Behaviour::Reordering => after = up_to(&mut self.rng, HELD_BACK),
                Behaviour::CounterJumps if below(&mut self.rng, 32) == 0 => {
                    let ahead = 1 << below(&mut self.rng, 32);
                    self.lines[line].number = self.lines[line].number.wrapping_add(ahead);
                }
                _ => continue,
            }
            self.note(spell.behaviour);
        }
        let bytes = self.enveloped(line, bytes[0], &body);
        (0..copies).map(|_| Shot { after, to, bytes: bytes.clone() }).collect()
    }

    /// What it sends and does of its own.
    fn act(&mut self, now: Time) -> (Vec<Shot>, Vec<Deed>) {
        let lies = self.lies.drain(..);
        let mut deeds: Vec<Deed> = lies.map(|(to, tick, hero)| Deed::SignAnother(to, tick, hero)).collect();
        let mut shots = Vec::new();
        for nth in 0..self.due.len() {
            if self.is_gone || self.due[nth] > now {
                continue;
            }
            let spell = self.plan.spells[nth];
            let next = now.plus(spell.every.max(Duration::from_millis(1)));
            let is_over = spell.behaviour.is_final() || next >= spell.until;
            self.due[nth] = if is_over { Time(u64::MAX) } else { next };
            match self.deed(spell.behaviour) {
                Some(deed) => {
                    // Whether it sees anything is not known yet.
                    if spell.behaviour != Behaviour::LookAhead {
                        self.note(spell.behaviour);
                    }
                    deeds.push(deed);
                }
                None => self.volley(&spell, &mut shots, &mut deeds),
            }
        }
        (shots, deeds)
    }

    fn deed(&mut self, behaviour: Behaviour) -> Option<Deed> {
        Some(match behaviour {
            Behaviour::Pauses if below(&mut self.rng, 4) == 0 => Deed::Order(Command::Resume),
            Behaviour::CountDowns => Deed::Order(Command::CountDown),
            Behaviour::Pauses => Deed::Order(Command::Pause),
            Behaviour::ForeignOrders => Deed::Order(foreign_order(&mut self.rng)),
            Behaviour::AddressChanges => Deed::Rebind,
            Behaviour::LookAhead => Deed::LookAhead,
            Behaviour::Leave => Deed::Leave,
            Behaviour::Crash => {
                self.is_gone = true;
                Deed::Crash
            }
            _ => return None,
        })
    }

    /// A forged message, or an old datagram, to all that the spell is about.
    fn volley(&mut self, spell: &Spell, shots: &mut Vec<Shot>, deeds: &mut Vec<Deed>) {
        let tape = match spell.behaviour {
            Behaviour::ReplayOwn => Some(&self.own),
            Behaviour::ReplayOthers => Some(&self.overheard),
            _ => None,
        };
        if let Some(tape) = tape {
            if !tape.is_empty() {
                let (to, bytes) = tape[below(&mut self.rng, tape.len() as u64) as usize].clone();
                self.note(spell.behaviour);
                shots.push(Shot { after: up_to(&mut self.rng, HELD_BACK), to, bytes });
            }
            return;
        }
        let Some((id, body)) = self.forged(spell.behaviour) else { return };
        for line in 0..self.lines.len() {
            if !self.meets(spell, line) {
                continue;
            }
            self.note(spell.behaviour);
            let to = self.lines[line].to;
            match PacketId::of(id).filter(|id| id.delivery() == Delivery::Reliable) {
                Some(id) => deeds.push(Deed::Message(to, id, body.clone())),
                None => {
                    let bytes = self.enveloped(line, id, &body);
                    shots.push(Shot::now(to, bytes));
                }
            }
        }
    }

    fn forged(&mut self, behaviour: Behaviour) -> Option<(u8, Vec<u8>)> {
        let (tick, is_served) = (u32::from(self.unsent), self.plan.is_served);
        let mut forge = Forge { rng: &mut self.rng, tick, is_served, is_fair: self.plan.is_fair };
        if behaviour != Behaviour::DamagedCopies {
            return forge.message(behaviour).map(|(id, body)| (id as u8, body));
        }
        // Inputs of peers are left out: damaged ones could be those of the next tick, and differ by peer.
        let is_fit = |said: &[u8]| is_served || said[0] != PacketId::PlayerInput as u8;
        let fit: Vec<&[u8]> =
            self.said.iter().map(|(_, said)| &said[..]).filter(|said| is_fit(said)).collect();
        if fit.is_empty() {
            return None;
        }
        let said = fit[below(forge.rng, fit.len() as u64) as usize];
        let mut body = said[1..].to_vec();
        forge.damage(&mut body);
        Some((said[0], body))
    }

    /// The body that leaves in place of a datagram's; `None` if none does.
    fn changed(&mut self, line: usize, id: u8, mut body: Vec<u8>, spells: &[Spell]) -> Option<Vec<u8>> {
        let id = PacketId::of(id)?;
        if id == PacketId::Head && self.lies.iter().any(|lie| lie.0 == self.lines[line].to) {
            return None;
        }
        for spell in spells {
            let changed = match (spell.behaviour, id) {
                (Behaviour::Silence, _)
                | (Behaviour::WithholdDatagrams, PacketId::PlayerInput)
                | (Behaviour::WithholdSteps, PacketId::Acknowledge) => {
                    self.note(spell.behaviour);
                    return None;
                }
                (Behaviour::FalsePong, PacketId::Pong) => self.false_pong(&body),
                (Behaviour::FalseHeld, PacketId::Suspicion) => self.false_held(&body),
                _ => None,
            };
            if let Some(changed) = changed {
                self.note(spell.behaviour);
                body = changed;
            }
        }
        if id != PacketId::PlayerInput {
            return Some(body);
        }
        let changed = if self.plan.is_served {
            self.client_inputs(line, &body, spells)
        } else if self.plan.is_fair {
            self.fair_inputs(line, &body, spells)
        } else {
            self.inputs(line, &body, spells)
        };
        Some(changed.unwrap_or(body))
    }

    /// A peer's inputs, changed.
    fn inputs(&mut self, line: usize, body: &[u8], spells: &[Spell]) -> Option<Vec<u8>> {
        let (mut header, inputs) = decode_inputs(body).ok()?;
        let mut inputs = self.other_inputs(line, header.first, inputs, spells)?;
        for spell in spells {
            if self.change_header(spell.behaviour, line, &mut header) {
                self.note(spell.behaviour);
            }
        }
        inputs.truncate(usize::from(header.count));
        Some(encode_inputs(&header, inputs.iter().map(Option::as_deref)).to_vec())
    }

    /// A peer's commitments and inputs, changed; the nonces are those of the true inputs.
    fn fair_inputs(&mut self, line: usize, body: &[u8], spells: &[Spell]) -> Option<Vec<u8>> {
        let PeerInputs { mut fair, mut commitments, mut header, inputs, nonces } =
            decode_fair_inputs(body).ok()?;
        let inputs = self.other_inputs(line, header.first, inputs, spells)?;
        for spell in spells {
            if self.change_header(spell.behaviour, line, &mut header) {
                self.note(spell.behaviour);
            }
            if spell.behaviour == Behaviour::WithholdCommitments {
                (fair.count, commitments, header.count) = (0, &[], 0);
                self.note(spell.behaviour);
            }
        }
        let nonces = &nonces[..usize::from(header.count)];
        let inputs = inputs.iter().map(Option::as_deref);
        Some(encode_fair_inputs(&fair, commitments, &header, inputs, nonces).to_vec())
    }

    fn change_header(&mut self, behaviour: Behaviour, line: usize, header: &mut InputsHeader) -> bool {
        let rng = &mut self.rng;
        match behaviour {
            Behaviour::WithholdInputs => header.count = 0,
            Behaviour::WithholdAcks => {
                let told =
                    (header.first.wrapping_add(header.wanted.cast_unsigned()), header.behind, header.chain);
                let (wanted, behind, chain) = *self.lines[line].frozen.get_or_insert(told);
                header.wanted = wanted.wrapping_sub(header.first).cast_signed();
                (header.behind, header.chain, header.margin_tick, header.margin) = (behind, chain, 0, 0);
            }
            Behaviour::FalseWanted => {
                header.wanted = header.wanted.wrapping_add(below(rng, 400) as i16 - 200);
                header.behind = [header.behind, below(rng, 200) as u16, below(rng, 65_536) as u16]
                    [below(rng, 3) as usize];
            }
            Behaviour::FalseChain => header.chain[0] ^= 0x55,
            Behaviour::ChainTakenBack if below(rng, 16) == 0 => header.chain[1] ^= 0x55,
            Behaviour::FalseSlack => {
                header.margin_tick = header.margin_tick.max(1);
                header.margin = -1 - below(rng, 32_767) as i16;
            }
            Behaviour::ShiftedTicks => {
                let by = below(rng, 9) as i16 - 4;
                header.first = header.first.wrapping_add_signed(by);
                header.wanted = header.wanted.wrapping_sub(by);
            }
            _ => return false,
        }
        true
    }

    /// A client's inputs, changed.
    fn client_inputs(&mut self, line: usize, body: &[u8], spells: &[Spell]) -> Option<Vec<u8>> {
        let (mut header, inputs) = decode_client_inputs(body).ok()?;
        let mut inputs = self.other_inputs(line, header.first, inputs, spells)?;
        for spell in spells {
            if self.change_client_header(spell.behaviour, &mut header) {
                self.note(spell.behaviour);
            }
        }
        inputs.truncate(usize::from(header.count));
        Some(encode_client_inputs(&header, inputs.iter().map(Option::as_deref)).to_vec())
    }

    fn change_client_header(&mut self, behaviour: Behaviour, header: &mut ClientInputsHeader) -> bool {
        let rng = &mut self.rng;
        match behaviour {
            Behaviour::WithholdInputs => header.count = 0,
            Behaviour::WithholdAcks => {
                let told = (header.first.wrapping_add(header.updated.cast_unsigned()), 0, [0; 2]);
                let Some(line) = self.lines.first_mut() else { return false };
                header.updated = line.frozen.get_or_insert(told).0.wrapping_sub(header.first).cast_signed();
            }
            Behaviour::FalseWanted => {
                header.updated = header.updated.wrapping_add(below(rng, 400) as i16 - 200);
                header.notice = match below(rng, 3) {
                    0 => Notice::Nothing,
                    1 => Notice::WantsState,
                    _ => Notice::Lacks(header.first, any_parts(below(rng, 256) as u8)),
                };
            }
            Behaviour::ShiftedTicks => {
                header.first = header.first.wrapping_add_signed(below(rng, 400) as i16 - 200);
            }
            _ => return false,
        }
        true
    }

    /// The inputs of a datagram, some of which are others than the own world runs.
    fn other_inputs(
        &mut self,
        line: usize,
        first: u16,
        inputs: Inputs<'_>,
        spells: &[Spell],
    ) -> Option<Vec<Option<EncodedInput>>> {
        let mut inputs: Vec<Option<EncodedInput>> = inputs.collect::<Result<_, _>>().ok()?;
        let is_on = |behaviour| spells.iter().any(|spell| spell.behaviour == behaviour);
        // Only what nobody has heard yet: an input of which one peer has the true form must keep it.
        match &mut self.wild {
            None if is_on(Behaviour::WildInputs) => self.wild = Some((self.unsent, None)),
            Some((_, until @ None)) if !is_on(Behaviour::WildInputs) => *until = Some(self.unsent),
            _ => {}
        }
        if is_on(Behaviour::Equivocation) && self.lines[line].split.is_none() {
            self.lines[line].split = Some(self.unsent);
        }
        let reaches = |tick: u16, from: u16| tick.wrapping_sub(from).cast_signed() >= 0;
        for (nth, input) in inputs.iter_mut().enumerate() {
            let tick = first.wrapping_add(nth as u16);
            let is_wild = self.wild.is_some_and(|(from, until)| {
                reaches(tick, from) && until.is_none_or(|until| !reaches(tick, until))
            });
            let is_split = self.lines[line].split == Some(tick);
            if is_wild || is_split {
                self.done[if is_split { Behaviour::Equivocation } else { Behaviour::WildInputs } as usize] =
                    true;
            }
            if is_split {
                let (hero, told) = Forge::other_hero(tick, input.as_ref());
                let line = &mut self.lines[line];
                if !core::mem::replace(&mut line.has_lied, true) {
                    self.lies.push((line.to, tick, hero));
                }
                *input = Some(told);
            } else if is_wild {
                *input = Some(Forge::input(tick));
            }
        }
        let next = first.wrapping_add(inputs.len() as u16);
        if reaches(next, self.unsent) {
            self.unsent = next;
        }
        Some(inputs)
    }

    fn false_pong(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let (echo_us, ..): (u64, Option<i64>, u32, u16) = decode(body).ok()?;
        Some(self.forge().pong(echo_us))
    }

    /// The seats that its session suspects, with more of their inputs than there are.
    fn false_held(&mut self, body: &[u8]) -> Option<Vec<u8>> {
        let (seats, mut held, is_settled): (u8, ArrayVec<u32, 4>, bool) = decode(body).ok()?;
        let more = [1, 40, 16_000_000][below(&mut self.rng, 3) as usize];
        for held in &mut held {
            *held = held.saturating_add(more);
        }
        postcard::to_allocvec(&(seats, held, is_settled)).ok()
    }

    fn forge(&mut self) -> Forge<'_> {
        let ByzantinePlan { is_served, is_fair, .. } = self.plan;
        Forge { rng: &mut self.rng, tick: u32::from(self.unsent), is_served, is_fair }
    }

    /// Whether a spell is about this line.
    fn meets(&self, spell: &Spell, line: usize) -> bool {
        spell.at.is_none_or(|at| usize::from(at) % self.lines.len() == line)
    }

    /// The line of a datagram of a connection, and the body in it. None of the handshake has one.
    fn opened(&mut self, to: SocketAddr, bytes: &[u8]) -> Option<(usize, Vec<u8>)> {
        if PacketId::of(*bytes.first()?)?.delivery() == Delivery::Unconnected {
            return None;
        }
        let id = u32::from_le_bytes(bytes.get(1..5)?.try_into().ok()?);
        let known = self.lines.iter().position(|line| line.protection.remote_id() == id);
        let line = known.or_else(|| {
            let unused = self.unused.iter().position(|unused| unused.remote_id() == id)?;
            let protection = self.unused.remove(unused);
            let (number, _) = protection.unseal(0, bytes)?;
            self.lines.push(Line { protection, to, number, frozen: None, split: None, has_lied: false });
            Some(self.lines.len() - 1)
        })?;
        self.lines[line].to = to;
        let (_, body) = self.lines[line].protection.unseal(0, bytes)?;
        Some((line, body.to_vec()))
    }

    /// The next datagram of a line.
    fn enveloped(&mut self, line: usize, id: u8, body: &[u8]) -> Vec<u8> {
        let line = &mut self.lines[line];
        let bytes = line.protection.seal_as(line.number, id, body).bytes().to_vec();
        line.number = line.number.wrapping_add(1);
        keep(&mut self.own, line.to, &bytes, &mut self.rng);
        keep(&mut self.said, line.to, &[&[id], body].concat(), &mut self.rng);
        bytes
    }

    /// Something took effect.
    pub(crate) const fn note(&mut self, behaviour: Behaviour) {
        self.done[behaviour as usize] = true;
    }
}

impl Spell {
    fn is_on(&self, now: Time) -> bool {
        self.from <= now && now < self.until
    }
}

/// Whether it is made of messages or deeds, not of changes to what is sent anyway.
const fn is_timed(behaviour: Behaviour) -> bool {
    !matches!(
        behaviour,
        Behaviour::WithholdInputs
            | Behaviour::WithholdDatagrams
            | Behaviour::WithholdAcks
            | Behaviour::WithholdSteps
            | Behaviour::Silence
            | Behaviour::FalseChain
            | Behaviour::ChainTakenBack
            | Behaviour::FalseSlack
            | Behaviour::FalseWanted
            | Behaviour::FalsePong
            | Behaviour::WildInputs
            | Behaviour::Equivocation
            | Behaviour::ShiftedTicks
            | Behaviour::Deviation
            | Behaviour::WithholdCommitments
            | Behaviour::Duplicates
            | Behaviour::Reordering
            | Behaviour::CounterJumps
    )
}

/// An order to some units, whoever's they are, if there are any.
fn foreign_order(rng: &mut ChaCha8Rng) -> Command {
    let mut unit = || UnitId { index: below(rng, 64) as u16, generation: below(rng, 2) as u16 };
    let (units, foe): (Selection, UnitId) = ((0..4).map(|_| unit()).collect(), unit());
    let place = Target::try_from((below(rng, 200) as i32 - 100, below(rng, 200) as i32 - 100));
    match (below(rng, 4), place) {
        (0, Ok(place)) => Command::Move(units, place, When::Now),
        (1, Ok(place)) => Command::AttackMove(units, place, When::Queued),
        (2, _) => Command::Attack(units, foe, When::Now),
        _ => Command::HeroAttack(foe),
    }
}

fn keep(tape: &mut Vec<(SocketAddr, Vec<u8>)>, to: SocketAddr, bytes: &[u8], rng: &mut ChaCha8Rng) {
    let kept = (to, bytes.to_vec());
    if tape.len() < TAPE_MAX {
        tape.push(kept);
    } else {
        let place = below(rng, TAPE_MAX as u64) as usize;
        tape[place] = kept;
    }
}
