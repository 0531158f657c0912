//! ServerTicks, from a relay: the inputs of the ticks that the client lacks, the oldest first, and the hash of the state
//! that they lead to. The client computes the state itself.
//!
//! The body is `[tick u16][continues][report…][hash u64][ticks][inputs]`, `tick` being the one after the last of them.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use alloc::vec::Vec;
use arrayvec::ArrayVec;

use super::given::{GIVEN_UNKNOWN, Given, TickGiven};
use super::input::{Inputs, append_inputs, encode_input};
use super::inputs::nearest;
use super::message::{Malformed, append, decode_first};
use super::report::Report;
use sim::{HeroControl, PLAYERS_MAX, PlayerId, PlayerInput, Tick, TickInputs};

/// Most ticks whose inputs one datagram carries: a client that acknowledges within a second is never delayed by this.
pub(crate) const TICKS_AT_ONCE_MAX: u8 = 64;

/// The inputs of a tick, and when their commands were given on the server's clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TimedInputs {
    /// The inputs of all players.
    pub inputs: TickInputs,
    /// By player: when each command was given.
    pub given: TickGiven,
}

impl From<TickInputs> for TimedInputs {
    /// With all instants unknown.
    fn from(inputs: TickInputs) -> Self {
        let unknown = |input: &PlayerInput| input.commands.iter().map(|_| GIVEN_UNKNOWN).collect();
        let given = inputs.inputs.iter().map(unknown).collect();
        Self { inputs, given }
    }
}

/// The head of relayed ticks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ServerTicksHeader {
    /// The low half of the tick after the last.
    pub tick: u16,
    /// Whether the first of them refers to the controls held in the tick before; otherwise to none.
    pub continues: bool,
    /// As of that tick.
    pub report: Report,
    /// The hash of the state after the last of them.
    pub hash: u64,
}

/// The controls that all players held in the tick before some inputs.
pub type HeldControls = ArrayVec<HeroControl, PLAYERS_MAX>;

impl ServerTicksHeader {
    /// The full number of `tick`: the one nearest to `near`.
    #[must_use]
    pub fn tick_near(&self, near: Tick) -> Option<Tick> {
        nearest(self.tick, near).filter(|&tick| tick <= Tick::MAX)
    }
}

/// Appends the body to `bytes`. `held` is what was held before the first of `inputs`.
///
/// # Panics
/// If there are more than 64 ticks.
pub fn encode_server_ticks<'a>(
    header: &ServerTicksHeader,
    held: &HeldControls,
    inputs: impl ExactSizeIterator<Item = &'a TimedInputs>,
    bytes: &mut Vec<u8>,
) {
    assert!(inputs.len() <= usize::from(TICKS_AT_ONCE_MAX), "inputs of {} ticks", inputs.len());
    bytes.extend(header.tick.to_le_bytes());
    bytes.push(header.continues.into());
    header.report.write(bytes);
    bytes.extend_from_slice(&header.hash.to_le_bytes());
    append(bytes, &(inputs.len() as u8));
    let mut held = held.clone();
    let told = |((player, input), given): ((PlayerId, &PlayerInput), &Given)| {
        let held = held.get_mut(player.index()).map(|held| core::mem::replace(held, input.hero));
        let is_more = !input.commands.is_empty() || held != Some(input.hero);
        #[expect(clippy::expect_used, reason = "it was decoded from an encoding, or committed as one")]
        is_more.then(|| encode_input(input, given).expect("an input fits"))
    };
    append_inputs(bytes, inputs.flat_map(|timed| timed.inputs.iter().zip(&timed.given)).map(told));
}

/// Relayed ticks that are read as they are walked through.
#[derive(Clone, Debug)]
pub struct ServerTicks<'a> {
    /// The head.
    pub header: ServerTicksHeader,
    /// Number of ticks.
    pub ticks: u8,
    /// The inputs of each tick in the order of the seats.
    inputs: Inputs<'a>,
}

/// Decodes the head of relayed ticks of a match of `players` players.
///
/// # Errors
/// If it is malformed; the inputs are decoded as they are read.
pub fn decode_server_ticks(body: &[u8], players: usize) -> Result<ServerTicks<'_>, Malformed> {
    read(body, players).ok_or(Malformed::Body(body.len()))
}

fn read(body: &[u8], players: usize) -> Option<ServerTicks<'_>> {
    let (&[low, high, flags], rest) = body.split_first_chunk()?;
    let (report, rest) = Report::read(rest)?;
    let (&hash, rest) = rest.split_first_chunk()?;
    let (ticks, rest) = decode_first::<u8>(rest).ok()?;
    if ticks > TICKS_AT_ONCE_MAX || players > PLAYERS_MAX || flags > 1 {
        return None;
    }
    let (tick, hash) = (u16::from_le_bytes([low, high]), u64::from_le_bytes(hash));
    let header = ServerTicksHeader { tick, continues: flags != 0, report, hash };
    Some(ServerTicks { header, ticks, inputs: Inputs::new(rest, usize::from(ticks).checked_mul(players)?) })
}

impl ServerTicks<'_> {
    /// Decodes the inputs, tick by tick; the last is the one before `tick`. `held` is what each of the players held before
    /// the first, and afterwards what was held in the last.
    ///
    /// # Errors
    /// If an input is malformed or something follows them; what comes before has been handed out.
    pub fn inputs(
        mut self,
        tick: Tick,
        held: &mut HeldControls,
        mut each: impl FnMut(TimedInputs),
    ) -> Result<(), Malformed> {
        for back in (1..=u32::from(self.ticks)).rev() {
            let tick = Tick(tick.0.checked_sub(back).ok_or(Malformed::Body(self.ticks.into()))?);
            let mut timed =
                TimedInputs { inputs: TickInputs::idle(tick, held.len()), given: TickGiven::new() };
            for (hero, input) in held.iter_mut().zip(&mut timed.inputs.inputs) {
                let mut given = Given::new();
                self.inputs.read(*hero, input, &mut given)?;
                *hero = input.hero;
                timed.given.push(given);
            }
            each(timed);
        }
        self.inputs.finish()
    }
}

#[cfg(test)]
mod tests {
    use super::super::report::tests::report;
    use super::*;
    use sim::{Command, Direction};

    fn ticks() -> Vec<TimedInputs> {
        let mut ticks: Vec<TickInputs> = (600..609).map(|tick| TickInputs::idle(Tick(tick), 3)).collect();
        for tick in &mut ticks[3..] {
            tick.inputs[1].hero.walk = Some(Direction::eighth(3));
        }
        ticks[5].inputs[2].commands.push(Command::Banner);
        let mut ticks: Vec<TimedInputs> = ticks.into_iter().map(TimedInputs::from).collect();
        ticks[5].given[2][0] = 40_000;
        ticks
    }

    fn nothing() -> HeldControls {
        [HeroControl::default(); 3].into_iter().collect()
    }

    #[test]
    fn head_and_inputs_round_trip() {
        for continues in [false, true] {
            let header =
                ServerTicksHeader { tick: 609, continues, report: report(), hash: 0x0123_4567_89ab_cdef };
            let (ticks, mut bytes) = (ticks(), Vec::new());
            encode_server_ticks(&header, &nothing(), ticks.iter(), &mut bytes);
            let read = decode_server_ticks(&bytes, 3).expect("well-formed");
            let (mut again, mut held) = (Vec::new(), nothing());
            assert_eq!((read.header, read.header.tick_near(Tick(500))), (header, Some(Tick(609))));
            read.inputs(Tick(609), &mut held, |inputs| again.push(inputs)).expect("canonical");
            assert_eq!(again, ticks);
            assert_eq!(held[PlayerId(1).index()].walk, Some(Direction::eighth(3)));
            for length in 0..=bytes.len() {
                let cut = [&bytes[..length], &[0][..usize::from(length == bytes.len())]].concat();
                let read = decode_server_ticks(&cut, 3);
                let read = read.and_then(|read| read.inputs(Tick(609), &mut nothing(), drop));
                assert!(read.is_err(), "{length}");
            }
        }
    }
}
