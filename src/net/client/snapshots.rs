//! The states that a server sends, and what happened between them.

use alloc::vec::Vec;
use core::time::Duration;

use super::states::CommandRun;
use crate::time::Time;
use crate::wire::report::Report;
use crate::wire::update::{
    Assembled, Assembly, COMMANDS_AT_ONCE_MAX, PartSet, RanCommand, Update, UpdatePart, decode_update,
};
use sim::{
    DeltaCoder, EVENTS_AT_ONCE_MAX, GameState, PARTS, PlayerId, StateHash, Tick, TickEvent, decode_events,
};

/// States kept as delta bases: the server uses one of the newest that it knows to have arrived here.
const BASES: usize = 32;

/// Counts of received updates, by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UpdateCounts {
    /// Complete, new, and with the hash that they announced.
    pub applied: u64,
    /// Those of them whose hash matched the world here, or from a server that runs the world the state that was adopted.
    pub agreed: u64,
    /// Those before which the state here was not the server's.
    pub differed: u64,
    /// Parts of updates, or ticks, that were duplicates or older than the newest update.
    pub stale: u64,
    /// Updates superseded by a newer one before they were complete.
    pub incomplete: u64,
    /// Malformed, without a base here, or with a hash other than the announced one.
    pub refused: u64,
    /// The longest time between two updates.
    pub gap_max: Duration,
}

impl UpdateCounts {
    /// Counts an update that has been applied, `since` being when the one before was.
    pub(super) fn apply(&mut self, now: Time, since: &mut Option<Time>) {
        self.applied += 1;
        let gap = since.replace(now).map_or(Duration::ZERO, |at| now.since(at));
        self.gap_max = self.gap_max.max(gap);
    }
}

/// A state, and the next tick to run of it.
struct StoredSnapshot {
    tick: Tick,
    hash: StateHash,
    state: GameState,
}

/// The states of the last updates, and what has happened since the caller took the newest.
pub(super) struct Snapshots {
    bases: Bases,
    /// The tick of the newest state.
    newest: Tick,
    assembly: Assembly,
    /// Whether the caller has yet to take the newest state.
    is_new: bool,
    /// The events and the commands since the state that the caller took before it.
    events: Vec<TickEvent>,
    commands: Vec<CommandRun>,
    /// Number of this client's inputs for ticks before the newest state that are not part of it yet.
    lag: u32,
}

/// The states of the last updates, as bases of the next.
struct Bases {
    /// The state before tick 0.
    first: GameState,
    states: Vec<StoredSnapshot>,
    newest: usize,
    coder: DeltaCoder,
}

/// The outcome of a part.
pub(super) enum Received {
    /// The update is not complete.
    More,
    /// It is a duplicate, or older than the newest state.
    Stale,
    /// The state of this tick is here.
    State { report: Report, tick: Tick },
}

impl Snapshots {
    /// `first` is the state before tick 0.
    pub(super) fn new(first: &GameState) -> Self {
        let bases = Bases {
            first: first.clone(),
            states: Vec::with_capacity(BASES),
            newest: 0,
            coder: DeltaCoder::default(),
        };
        let (events, commands) = (Vec::new(), Vec::new());
        let (assembly, newest) = (Assembly::default(), Tick(0));
        Self { bases, newest, assembly, is_new: false, events, commands, lag: 0 }
    }

    /// The tick of the newest state; 0 before the first.
    pub(super) const fn newest(&self) -> Tick {
        self.newest
    }

    /// Number of this client's inputs for ticks before the newest state that are not part of it yet.
    pub(super) const fn lag(&self) -> u32 {
        self.lag
    }

    /// Takes the newest state, once. Its events and commands are kept until the next one arrives.
    pub(super) const fn take(&mut self) -> Option<Tick> {
        if core::mem::replace(&mut self.is_new, false) { Some(self.newest) } else { None }
    }

    /// The events since the state that was taken before the last.
    pub(super) fn events(&self) -> &[TickEvent] {
        &self.events
    }

    /// The commands that have run since then.
    pub(super) fn commands(&self) -> &[CommandRun] {
        &self.commands
    }

    /// Updates superseded by a newer one before they were complete.
    pub(super) const fn given_up(&self) -> u64 {
        self.assembly.given_up()
    }

    /// The tick of a large update that has begun to arrive, in the form of its parts, and the parts that it lacks.
    pub(super) fn lacks(&self) -> Option<(u16, PartSet)> {
        let (tick, parts) = self.assembly.lacks().filter(|&(tick, _)| tick > self.newest)?;
        Some((UpdatePart::new(0, 1, 0, tick).tick, parts))
    }

    /// The state of the update of `tick`, while it is kept.
    pub(super) fn state(&self, tick: Tick) -> Option<&GameState> {
        self.bases.states.iter().find(|kept| kept.tick == tick).map(|kept| &kept.state)
    }

    /// The same, with its hash.
    pub(super) fn with_hash(&self, tick: Tick) -> Option<(&GameState, StateHash)> {
        let kept = self.bases.states.iter().find(|kept| kept.tick == tick)?;
        Some((&kept.state, kept.hash))
    }

    /// Handles a part of an update, which is used if it is of a tick after `after`. `given_here` converts the instant of
    /// each player's next command from the server's clock to this one. `None` if the part is rejected.
    pub(super) fn receive(
        &mut self,
        part: UpdatePart,
        piece: &[u8],
        after: Tick,
        given_here: impl FnMut(PlayerId, u16) -> Option<Time>,
    ) -> Option<Received> {
        let tick = part.tick_near(after)?;
        if tick <= after {
            return Some(Received::Stale);
        }
        match self.assembly.add(tick, part, piece) {
            Assembled::Nothing => Some(Received::Stale),
            Assembled::More => Some(Received::More),
            Assembled::Whole => {
                let assembly = core::mem::take(&mut self.assembly);
                let report = self.apply(tick, assembly.bytes(), given_here);
                self.assembly = assembly;
                Some(Received::State { report: report?, tick })
            }
        }
    }

    fn apply(
        &mut self,
        tick: Tick,
        bytes: &[u8],
        mut given_here: impl FnMut(PlayerId, u16) -> Option<Time>,
    ) -> Option<Report> {
        let update = decode_update(bytes).ok()?;
        let base = Tick(tick.0.checked_sub(update.header.back)?);
        self.bases.keep(tick, base, &update)?;
        self.take_events(base, tick, &update)?;
        self.take_commands(tick, &update, &mut given_here);
        let report = update.header.report;
        self.lag = (i32::from(report.waiting) - i32::from(report.received)).max(0).cast_unsigned();
        (self.newest, self.is_new) = (tick, true);
        Some(report)
    }

    /// Adds the events since the newest state; of those since the base some are known already.
    fn take_events(&mut self, base: Tick, tick: Tick, update: &Update<'_>) -> Option<()> {
        if !self.is_new {
            self.events.clear();
        }
        let known = self.events.len();
        let (of_base, of_new) = (self.bases.at(base, None)?, self.bases.at(tick, None)?);
        if decode_events(of_base, of_new, update.events, &mut self.events).is_err() {
            self.events.truncate(known);
            return None;
        }
        let since = self.newest;
        let mut place = 0;
        self.events.retain(|event| {
            place += 1;
            place <= known || event.tick >= since
        });
        let beyond = self.events.len().saturating_sub(EVENTS_AT_ONCE_MAX);
        self.events.drain(..beyond);
        Some(())
    }

    /// Adds the commands that have run since the newest state.
    fn take_commands(
        &mut self,
        tick: Tick,
        update: &Update<'_>,
        given_here: &mut impl FnMut(PlayerId, u16) -> Option<Time>,
    ) {
        if !self.is_new {
            self.commands.clear();
        }
        let since = self.newest;
        let ran = update.commands().filter_map(|RanCommand { back, player, given }| {
            let of = Tick(tick.0.checked_sub(back)?);
            (of >= since).then(|| CommandRun { tick: of, player, given: given_here(player, given) })
        });
        self.commands.extend(ran);
        let beyond = self.commands.len().saturating_sub(COMMANDS_AT_ONCE_MAX);
        self.commands.drain(..beyond);
    }
}

impl Bases {
    /// The state of `tick`, unless it is in the place `except`.
    fn at(&self, tick: Tick, except: Option<usize>) -> Option<&GameState> {
        if tick == Tick(0) {
            return Some(&self.first);
        }
        let known = self.states.iter().enumerate();
        let mut known = known.filter(|&(place, kept)| Some(place) != except && kept.tick == tick);
        Some(&known.next()?.1.state)
    }

    /// Keeps the state of an update if its hash is the announced one.
    fn keep(&mut self, tick: Tick, base: Tick, update: &Update<'_>) -> Option<()> {
        // The oldest entry, removed while its base is read.
        let place = if self.states.len() < BASES { self.states.len() } else { (self.newest + 1) % BASES };
        let mut state = match self.states.get_mut(place) {
            Some(kept) => core::mem::take(&mut kept.state),
            None => GameState::default(),
        };
        let decoded = self.decode(tick, base, update, place, &mut state);
        let (tick, hash) =
            decoded.map_or((Tick::NEVER, StateHash::of_parts([0; PARTS])), |hash| (tick, hash));
        let kept = StoredSnapshot { tick, hash, state };
        match self.states.get_mut(place) {
            Some(slot) => *slot = kept,
            None => self.states.push(kept),
        }
        decoded?;
        self.newest = place;
        Some(())
    }

    /// Decodes the state of an update. Returns its hash, if it is the announced one.
    fn decode(
        &mut self,
        tick: Tick,
        base: Tick,
        update: &Update<'_>,
        place: usize,
        state: &mut GameState,
    ) -> Option<StateHash> {
        let mut coder = core::mem::take(&mut self.coder);
        let decoded = self.at(base, Some(place)).map(|base| coder.decode(base, update.delta, state));
        self.coder = coder;
        decoded?.ok()?;
        if state.globals.len() != 1 || state.tick() != tick {
            return None;
        }
        Some(state.hash()).filter(|hash| hash.whole == update.header.hash)
    }
}
