//! An input in bytes, and runs of inputs of consecutive ticks. There is one form, wherever inputs travel: from a peer,
//! from a client, in an update of a server, or passed on by another peer.
//!
//! A byte of 1 to 127 stands for as many inputs that hold the control of the tick before and have no command. Any other
//! input begins with `0x80 | has_control << 6 | commands`; then come the hero's control, unless it is released; the
//! commands; and for each of them when it was given.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use arrayvec::ArrayVec;
use core::ops::Deref;

use super::given::{GIVEN_BYTES, GIVEN_UNKNOWN, Given};
use super::message::{Malformed, decode_first};
use sim::{COMMANDS_PER_TICK_MAX, Command, HeroControl, INPUT_BYTES_MAX, PlayerInput, Selection};

/// Most inputs in one datagram.
pub const INPUTS_PER_DATAGRAM_MAX: usize = 64;
/// Marks the first byte of an input that is more than a held control.
const INPUT: u8 = 0x80;
/// Marks an input with a control.
const CONTROL: u8 = 0x40;
/// Most held inputs that one byte stands for.
const HELD_MAX: u8 = INPUT - 1;
/// Bytes of a released control in a [`PlayerInput`], which are left out here but count.
const RELEASED_BYTES: usize = 2;

/// An input in its canonical bytes, and when its commands were given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EncodedInput {
    bytes: ArrayVec<u8, { INPUT_BYTES_MAX + GIVEN_BYTES * COMMANDS_PER_TICK_MAX }>,
    /// Number of bytes before the instants.
    length: usize,
    /// The hero's control.
    pub(crate) hero: HeroControl,
    /// The units of its last command to units, if there is one.
    pub(crate) named: Option<Selection>,
}

impl EncodedInput {
    /// The input alone, without the instants.
    pub(crate) fn alone(&self) -> &[u8] {
        self.bytes.get(..self.length).unwrap_or_default()
    }

    /// Returns when its commands were given.
    #[must_use]
    pub fn given(&self) -> Given {
        read_given(self.bytes.get(self.length..).unwrap_or_default())
    }

    /// Decodes the input.
    #[must_use]
    pub fn decode(&self) -> PlayerInput {
        let mut input = PlayerInput::default();
        self.decode_into(&mut input);
        input
    }

    /// Decodes the input into an empty one.
    pub(crate) fn decode_into(&self, input: &mut PlayerInput) {
        input.hero = self.hero;
        let read = take(&self.bytes, |command| input.commands.push(command));
        debug_assert!(read.is_ok(), "encoded by `encode_input`");
    }
}

impl Deref for EncodedInput {
    type Target = [u8];

    /// All of its bytes.
    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

/// Encodes an input and when its commands were given; entries missing in `given` are unknown. `None` if the
/// input is longer than [`INPUT_BYTES_MAX`].
#[must_use]
pub fn encode_input(input: &PlayerInput, given: &[u16]) -> Option<EncodedInput> {
    let (mut room, mut control_room) = ([0; INPUT_BYTES_MAX], [0; 8]);
    let whole = &*postcard::to_slice(input, &mut room).ok()?;
    let control = &*postcard::to_slice(&input.hero, &mut control_room).ok()?;
    let (_, commands) = whole.strip_prefix(control)?.split_first()?;
    let (control, has_control) =
        if input.hero == HeroControl::default() { (&[][..], 0) } else { (control, CONTROL) };
    let mut encoded = EncodedInput { hero: input.hero, ..EncodedInput::default() };
    encoded.bytes.push(INPUT | has_control | input.commands.len() as u8);
    encoded.bytes.extend(control.iter().chain(commands).copied());
    encoded.length = encoded.bytes.len();
    let given = given.iter().copied().chain(core::iter::repeat(GIVEN_UNKNOWN)).take(input.commands.len());
    encoded.bytes.extend(given.flat_map(u16::to_le_bytes));
    let mut named = input.commands.iter().rev().filter_map(Command::selection);
    encoded.named = named.find(|units| !units.is_empty()).cloned();
    Some(encoded)
}

/// Decodes an input without instants, as one peer passes it on from another.
pub(crate) fn decode_relayed(bytes: &[u8]) -> Result<EncodedInput, Malformed> {
    let mut input = PlayerInput::default();
    let (hero, _, rest) = take(bytes, |command| input.commands.push(command))?;
    input.hero = hero;
    encode_input(&input, &[]).filter(|_| rest.is_empty()).ok_or(Malformed::Body(bytes.len()))
}

/// Decodes the input at the start of `bytes`, and hands its commands to `each`. Returns its control, the number of its
/// commands, and the remaining bytes, which begin with the instants. An input has more than a kilobyte, which takes
/// longer to move about than to read, and most of those that arrive have arrived before.
fn take(bytes: &[u8], mut each: impl FnMut(Command)) -> Result<(HeroControl, usize, &[u8]), Malformed> {
    let malformed = Malformed::Body(bytes.len());
    let (&tag, mut rest) = bytes.split_first().ok_or(malformed)?;
    let (mut hero, mut left_out) = (HeroControl::default(), RELEASED_BYTES);
    if tag & CONTROL != 0 {
        ((hero, rest), left_out) = (decode_first(rest)?, 0);
        if hero == HeroControl::default() {
            return Err(Malformed::NotCanonical(bytes.len()));
        }
    }
    let commands = usize::from(tag & !(INPUT | CONTROL));
    if tag & INPUT == 0 || commands > COMMANDS_PER_TICK_MAX {
        return Err(malformed);
    }
    for _ in 0..commands {
        let (command, after) = decode_first(rest)?;
        each(command);
        rest = after;
    }
    let length = bytes.len().saturating_sub(rest.len()).saturating_add(left_out);
    if length > INPUT_BYTES_MAX { Err(malformed) } else { Ok((hero, commands, rest)) }
}

fn read_given(bytes: &[u8]) -> Given {
    let (given, _) = bytes.as_chunks::<GIVEN_BYTES>();
    given.iter().copied().map(u16::from_le_bytes).take(COMMANDS_PER_TICK_MAX).collect()
}

/// Appends inputs, each as encoded by [`encode_input`], or `None` where the control of the tick before
/// is held and there is no command.
///
/// # Panics
/// If they do not fit.
pub(crate) fn append_inputs(
    to: &mut impl Extend<u8>,
    inputs: impl Iterator<Item = Option<impl Deref<Target = [u8]>>>,
) {
    let mut held: u8 = 0;
    for input in inputs {
        if held > 0 && (input.is_some() || held == HELD_MAX) {
            to.extend([core::mem::take(&mut held)]);
        }
        match input {
            Some(input) => to.extend(input.iter().copied()),
            None => held = held.saturating_add(1),
        }
    }
    to.extend((held > 0).then_some(held));
}

/// Number of inputs that fit into one datagram, at most `room` bytes with `beside` bytes more for each.
pub(crate) fn count_fitting<'a>(
    inputs: impl Iterator<Item = Option<&'a [u8]>>,
    mut room: usize,
    beside: usize,
) -> u8 {
    let fits = |input: Option<&[u8]>| {
        let left = room.checked_sub(input.map_or(1, <[u8]>::len).saturating_add(beside));
        left.map(|left| room = left)
    };
    inputs.take(INPUTS_PER_DATAGRAM_MAX).map_while(fits).count() as u8
}

/// A run of inputs that is read as it is walked through: each of its bytes is decoded once.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    rest: &'a [u8],
    /// Number of inputs left.
    left: usize,
    /// Of these, the number that the last byte stands for.
    held: u8,
    /// Whether the last byte could have stood for another held input.
    is_open: bool,
}

impl<'a> Inputs<'a> {
    /// `count` inputs at the start of `bytes`.
    pub(crate) const fn new(bytes: &'a [u8], count: usize) -> Self {
        Self { rest: bytes, left: count, held: 0, is_open: false }
    }

    /// The same where nothing may follow them: in a datagram.
    pub(crate) fn of_datagram(bytes: &'a [u8], count: u8) -> Result<Self, Malformed> {
        let count = usize::from(count);
        if count > INPUTS_PER_DATAGRAM_MAX {
            Err(Malformed::Body(bytes.len()))
        } else {
            Ok(Self::new(bytes, count))
        }
    }

    /// Passes the next input, and hands its commands to `each`: its control, and when they were given; `None` if it
    /// holds the control of the tick before.
    fn advance(&mut self, each: impl FnMut(Command)) -> Result<Option<(HeroControl, Given)>, Malformed> {
        let malformed = Malformed::Body(self.rest.len());
        let left = self.left.checked_sub(1).ok_or(malformed)?;
        if self.held == 0 {
            let (&tag, rest) = self.rest.split_first().ok_or(malformed)?;
            if tag & INPUT != 0 {
                let (hero, commands, rest) = take(self.rest, each)?;
                let given = rest.split_at_checked(commands.saturating_mul(GIVEN_BYTES));
                let (given, rest) = given.ok_or(malformed)?;
                (self.rest, self.left, self.is_open) = (rest, left, false);
                return Ok(Some((hero, read_given(given))));
            }
            if tag == 0 || usize::from(tag) > self.left {
                return Err(malformed);
            }
            if self.is_open {
                return Err(Malformed::NotCanonical(self.rest.len()));
            }
            (self.rest, self.held, self.is_open) = (rest, tag, tag < HELD_MAX);
        }
        (self.left, self.held) = (left, self.held.saturating_sub(1));
        Ok(None)
    }

    /// Passes the next `count` inputs, as far as there are that many.
    pub(crate) fn pass(&mut self, count: usize) -> Result<(), Malformed> {
        (0..count.min(self.left)).try_for_each(|_| self.advance(drop).map(drop))
    }

    /// Passes all that are left; returns the bytes behind them.
    pub(crate) fn end(mut self) -> Result<&'a [u8], Malformed> {
        self.pass(self.left)?;
        Ok(self.rest)
    }

    /// Passes all that are left: nothing may follow them.
    pub(crate) fn finish(self) -> Result<(), Malformed> {
        let rest = self.end()?;
        if rest.is_empty() { Ok(()) } else { Err(Malformed::Body(rest.len())) }
    }

    /// Whether none is left.
    pub(crate) const fn is_done(&self) -> bool {
        self.left == 0
    }

    /// Reads the next input, and when its commands were given. `held` is the control of the tick before: an input that
    /// only holds it must not say so.
    pub(crate) fn read(
        &mut self,
        held: HeroControl,
        input: &mut PlayerInput,
        given: &mut Given,
    ) -> Result<(), Malformed> {
        input.commands.clear();
        let (hero, at) = match self.advance(|command| input.commands.push(command))? {
            Some((hero, _)) if input.commands.is_empty() && hero == held => {
                return Err(Malformed::NotCanonical(self.rest.len()));
            }
            Some(told) => told,
            None => (held, Given::new()),
        };
        (input.hero, *given) = (hero, at);
        Ok(())
    }
}

/// Goes through a datagram that holds nothing behind its inputs.
impl Iterator for Inputs<'_> {
    type Item = Result<Option<EncodedInput>, Malformed>;

    /// The next input as encoded by [`encode_input`], or `None` if it holds the control of the tick before. After an
    /// error there is none.
    fn next(&mut self) -> Option<Self::Item> {
        if self.is_done() {
            let rest = core::mem::take(&mut self.rest);
            return (!rest.is_empty()).then_some(Err(Malformed::Body(rest.len())));
        }
        let mut input = PlayerInput::default();
        let told = self.advance(|command| input.commands.push(command));
        if told.is_err() {
            *self = Self::new(&[], 0);
        }
        told.map(|told| {
            let (hero, given) = told?;
            input.hero = hero;
            encode_input(&input, &given)
        })
        .into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use sim::Command::{Banner, Hold, Surrender};
    use sim::{Direction, UnitId, When};

    fn walks(eighth: u8, commands: &[Command]) -> PlayerInput {
        let hero = HeroControl { walk: Some(Direction::eighth(eighth)), strike: None };
        PlayerInput { hero, commands: commands.iter().cloned().collect() }
    }

    fn encoded(input: &PlayerInput) -> EncodedInput {
        encode_input(input, &[]).expect("short")
    }

    fn run(inputs: &[Option<EncodedInput>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        append_inputs(&mut bytes, inputs.iter().map(Option::as_deref));
        bytes
    }

    /// All inputs of a datagram, if all are well-formed.
    fn read(bytes: &[u8], count: u8) -> Result<Vec<Option<EncodedInput>>, Malformed> {
        Inputs::of_datagram(bytes, count)?.collect()
    }

    #[test]
    fn an_input_round_trips_with_one_instant_per_command() {
        let commands = [Banner, Surrender].into_iter().collect();
        let input = PlayerInput { commands, ..PlayerInput::default() };
        let bytes = encode_input(&input, &[7, 65_000]).expect("short");
        assert_eq!((bytes.decode(), &bytes.given()[..]), (input.clone(), &[7, 65_000][..]));
        assert_eq!(read(&bytes, 1), Ok([Some(bytes.clone())].into()));
        assert_eq!(decode_relayed(bytes.alone()).expect("well-formed").decode(), input);
        assert!(decode_relayed(&bytes).is_err(), "with instants");
        assert!(read(&bytes[..bytes.len() - 1], 1).is_err(), "an instant is truncated");
        assert_eq!(encoded(&input).given()[..], [GIVEN_UNKNOWN; 2]);
        let idle = encode_input(&PlayerInput::default(), &[7]).expect("short");
        assert_eq!(idle.len(), 1, "without commands there are no instants");
    }

    #[test]
    fn an_input_has_one_form_and_is_bounded() {
        assert_eq!(encoded(&walks(2, &[Banner]))[..], [0xc1, 1, 2, 0, 3, 0xff, 0xff]);
        assert!(read(&[0xc0, 0, 0], 1).is_err(), "a control that is released");
        assert!(read(&[0xc0, 1, 9, 0], 1).is_err(), "no direction");
        assert!(read(&[0x89, 3, 3, 3, 3, 3, 3, 3, 3, 3], 1).is_err(), "too many commands");
        for byte in [0, 0x41, 0x7f] {
            assert!(read(&[byte], 1).is_err(), "{byte:#x} begins no input");
        }
        let hold = |count: u16| {
            let units = (0..count).map(|index| UnitId { index: 1000 + index, generation: 0 });
            Hold(units.collect(), When::Now)
        };
        // Whatever a control takes, an input may be as long as the simulation counts it.
        for (hero, head) in [(HeroControl::default(), &[0x83][..]), (walks(1, &[]).hero, &[0xc3, 1, 1, 0])] {
            let is_read = (0..=32).map(|last| {
                let commands = [32, 32, last].map(hold);
                let all = commands.iter().flat_map(|command| postcard::to_allocvec(command).expect("short"));
                let bytes: Vec<u8> = head.iter().copied().chain(all).chain([7; 6]).collect();
                let input = PlayerInput { hero, commands: commands.into_iter().collect() };
                assert_eq!(read(&bytes, 1).is_ok(), encode_input(&input, &[]).is_some(), "{last} units");
                read(&bytes, 1).is_ok()
            });
            let count = is_read.filter(|&is_read| is_read).count();
            assert!((1..32).contains(&count), "{count} of them are short enough");
        }
    }

    #[test]
    fn runs_of_held_inputs_take_a_byte_each_and_have_one_form() {
        let input = Some(encoded(&PlayerInput::default()));
        let ticks = [None, None, input.clone(), None, input.clone(), input, None, None, None];
        let bytes = run(&ticks);
        assert_eq!(bytes, [2, 0x80, 1, 0x80, 0x80, 3]);
        assert_eq!(read(&bytes, 9).expect("canonical"), ticks);
        assert!(matches!(read(&[1, 1], 2), Err(Malformed::NotCanonical(_))), "two runs in a row");
        for (bytes, what) in
            [(&[9][..], "more than it counts"), (&[0, 2], "of none"), (&[1], "fewer"), (&[2, 2], "and more")]
        {
            assert!(read(bytes, 2).is_err(), "{what}");
        }
        let fitting = |room| count_fitting(core::iter::repeat(None), room, 8);
        assert_eq!([8, 9, 44, 45, 10_000].map(fitting), [0, 1, 4, 5, 64], "each with 8 bytes beside it");
        let many = run(&[const { None }; 300]);
        assert_eq!(many, [127, 127, 46]);
        assert_eq!(Inputs::new(&many, 300).end(), Ok(&[][..]));
    }

    #[test]
    fn a_control_is_held_until_the_next_one_and_not_said_again() {
        let told = [None, Some(encoded(&walks(3, &[]))), None, Some(encoded(&walks(3, &[Banner]))), None];
        let bytes = run(&told);
        let (mut input, mut given) = (PlayerInput::default(), Given::new());
        let mut walk = |passed, mut held: HeroControl| -> Result<Vec<PlayerInput>, Malformed> {
            let (mut inputs, mut all) = (Inputs::of_datagram(&bytes, 5)?, Vec::new());
            inputs.pass(passed)?;
            while !inputs.is_done() {
                inputs.read(held, &mut input, &mut given)?;
                held = input.hero;
                all.push(input.clone());
            }
            inputs.finish().map(|()| all)
        };
        let (still, all) =
            (walks(5, &[]), [walks(3, &[]), walks(3, &[]), walks(3, &[Banner]), walks(3, &[])]);
        assert_eq!(walk(0, still.hero).expect("canonical"), [&[still], &all[..]].concat());
        assert_eq!(walk(2, all[0].hero).expect("canonical"), all[1..], "what is here is passed over");
        assert!(walk(1, all[0].hero).is_err(), "said although it is held");
        assert_eq!(walk(9, all[0].hero), Ok(Vec::new()));
    }
}
