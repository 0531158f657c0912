//! The body of a PlayerInput datagram: acknowledgements, the hash chain, and inputs. A run of inputs that
//! only hold the previous control takes one byte.
//!
//! `[count | margin_tick << 4][first u16][wanted][behind][chain 2]([margin])`, then the inputs. A half byte
//! of 15 stands for 15 and more, and a varint with the rest follows the first byte, `count` before
//! `margin_tick`.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::given::{EncodedInput, GIVEN_BYTES};
use super::input_head::InputHead;
use super::message::{Body, Malformed, is_read};
use crate::connection::protection::BODY_BYTES_MAX;
use sim::Tick;

/// Most inputs in one datagram.
pub const INPUTS_PER_DATAGRAM_MAX: usize = 64;
/// Most bytes of the head: all numbers at their longest.
pub(crate) const HEADER_BYTES_MAX: usize = 1 + 2 + 2 + 2 + 3 + 3 + 2 + 3;
// An input's commands are bounded by bytes, so that one always fits beside the header.
const _: () = assert!(HEADER_BYTES_MAX + 1 + sim::INPUT_BYTES_MAX <= BODY_BYTES_MAX);
/// The value of a half byte that announces a varint with the rest.
const MORE: u8 = 15;
/// The tag of an input whose hero controls are all released, as is usual while the player commands units; its
/// low bits are the number of commands, at least one. It replaces the three bytes before the commands.
const AT_REST: u8 = 128;

/// The head of a PlayerInput datagram: `count` inputs follow it, of the ticks from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsHeader {
    /// The low half of the tick of the first input.
    pub first: u16,
    /// Number of inputs that follow, at most [`INPUTS_PER_DATAGRAM_MAX`].
    pub count: u8,
    /// The first tick whose input the sender still lacks from the receiver, less the tick of the first input.
    pub wanted: i16,
    /// The same tick, less the ticks that the sender has run.
    pub behind: u16,
    /// The low 16 bits of the sender's hash chain after the ticks it has run, little-endian. A chain that differs
    /// once differs in every later tick, too: 16 bits miss it for one tick in 65,536 cases.
    pub chain: [u8; 2],
    /// Identifies the receiver's input with the smallest arrival margin since the sender's last datagram: how
    /// many ticks before `wanted` it belongs. 0 if none arrived, in which case `margin` is 0, too.
    pub margin_tick: u8,
    /// The arrival margin of that input, in 0.1 ms; negative if it was late.
    pub margin: i16,
}

impl InputsHeader {
    /// The full tick of the first input: the tick nearest to `near` with this low half.
    #[must_use]
    pub fn first_near(&self, near: Tick) -> Option<Tick> {
        let ahead = self.first.wrapping_sub(near.0 as u16).cast_signed();
        near.0.checked_add_signed(i32::from(ahead)).map(Tick)
    }

    /// Appends the canonical bytes to `body`.
    ///
    /// # Panics
    /// If there is no room for [`HEADER_BYTES_MAX`].
    fn write(&self, body: &mut Body) {
        let half = |value: u8| value.min(MORE);
        body.push(half(self.count) | half(self.margin_tick) << 4);
        for more in [self.count, self.margin_tick].into_iter().filter(|&value| value >= MORE) {
            append(body, &u16::from(more.saturating_sub(MORE)));
        }
        body.extend(self.first.to_le_bytes());
        append(body, &(self.wanted, self.behind));
        body.extend(self.chain);
        if self.margin_tick > 0 {
            append(body, &self.margin);
        }
    }

    pub(super) fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (&halves, mut rest) = body.split_first()?;
        let mut whole = |half: u8| -> Option<u8> {
            if half < MORE {
                return Some(half);
            }
            let (more, after): (u16, _) = postcard::take_from_bytes(rest).ok()?;
            rest = after;
            u8::try_from(more.checked_add(u16::from(MORE))?).ok()
        };
        let (count, margin_tick) = (whole(halves & 15)?, whole(halves >> 4)?);
        let (first, rest) = rest.split_first_chunk()?;
        let ((wanted, behind), rest) = postcard::take_from_bytes(rest).ok()?;
        let (&chain, rest) = rest.split_first_chunk()?;
        let (margin, rest) = if margin_tick > 0 { postcard::take_from_bytes(rest).ok()? } else { (0, rest) };
        let first = u16::from_le_bytes(*first);
        Some((Self { first, count, wanted, behind, chain, margin_tick, margin }, rest))
    }
}

/// The body of a PlayerInput datagram: the header, and as many inputs as it counts, each as encoded by
/// [`crate::encode_input`], or `None` for an input that holds the previous control and has no command.
///
/// # Panics
/// If they do not fit into a body.
#[must_use]
pub fn encode_inputs<'a>(header: &InputsHeader, inputs: impl Iterator<Item = Option<&'a [u8]>>) -> Body {
    let mut body = Body::new();
    write_inputs(&mut body, header, inputs);
    body
}

/// Appends what [`encode_inputs`] returns.
pub(crate) fn write_inputs<'a>(
    body: &mut Body,
    header: &InputsHeader,
    inputs: impl Iterator<Item = Option<&'a [u8]>>,
) {
    header.write(body);
    append_inputs(body, inputs.take(usize::from(header.count)));
}

/// Appends inputs in the form in which they follow a header.
///
/// # Panics
/// If they do not fit.
pub(crate) fn append_inputs<'a>(body: &mut Body, inputs: impl Iterator<Item = Option<&'a [u8]>>) {
    let mut run: u8 = 0;
    for input in inputs {
        match input {
            Some(input) => {
                body.extend((run > 0).then_some(core::mem::take(&mut run)));
                let (tag, rest) = match input {
                    [0, 0, commands @ 1..AT_REST, orders @ ..] => (AT_REST | commands, orders),
                    _ => (0, input),
                };
                body.push(tag);
                #[expect(clippy::expect_used, reason = "the sender counts the bytes beforehand")]
                body.try_extend_from_slice(rest).expect("room was left for it");
            }
            None => run = run.saturating_add(1),
        }
    }
    body.extend((run > 0).then_some(run));
}

#[expect(clippy::expect_used, reason = "two numbers of 16 bits have at most six bytes")]
pub(crate) fn append<T: serde::Serialize>(body: &mut Body, value: &T) {
    let mut bytes = [0; 8];
    body.extend(postcard::to_slice(value, &mut bytes).expect("two short numbers").iter().copied());
}

/// Reads the body of a PlayerInput datagram: the header, and the inputs that follow it.
///
/// # Errors
/// If the header or one of the inputs is malformed, or if there are more or fewer than announced.
pub fn decode_inputs(body: &[u8]) -> Result<(InputsHeader, Inputs<'_>), Malformed> {
    let malformed = Malformed::Body(body.len());
    let (header, rest) = InputsHeader::read(body).ok_or(malformed)?;
    let mut canonical = Body::new();
    header.write(&mut canonical);
    if !is_read(body, &canonical, rest) {
        return Err(Malformed::NotCanonical(body.len()));
    }
    Ok((header, read_inputs(rest, header.count)?))
}

/// Reads exactly `count` inputs.
pub(crate) fn read_inputs(bytes: &[u8], count: u8) -> Result<Inputs<'_>, Malformed> {
    let malformed = Malformed::Body(bytes.len());
    if usize::from(count) > INPUTS_PER_DATAGRAM_MAX {
        return Err(malformed);
    }
    let (mut unread, mut left, mut was_run) = (bytes, count, false);
    while left > 0 {
        let (input, ticks, after) = split(unread)?;
        // Two adjacent runs must be encoded as one.
        if input.is_none() && was_run {
            return Err(Malformed::NotCanonical(bytes.len()));
        }
        was_run = input.is_none();
        left = left.checked_sub(ticks).ok_or(malformed)?;
        unread = after;
    }
    if unread.is_empty() { Ok(Inputs { rest: bytes, left: count, held: 0 }) } else { Err(malformed) }
}

/// The inputs of a datagram that [`decode_inputs`] found well-formed: the bytes of each, for
/// [`crate::decode_input`], or `None` for an input that holds the previous control and has no command.
#[derive(Clone, Debug)]
pub struct Inputs<'a> {
    rest: &'a [u8],
    left: u8,
    /// Number of inputs left in the current run.
    held: u8,
}

impl<'a> Inputs<'a> {
    /// The next input, not put together yet.
    fn advance(&mut self) -> Option<Option<Short<'a>>> {
        self.left = self.left.checked_sub(1)?;
        if let Some(held) = self.held.checked_sub(1) {
            self.held = held;
            return Some(None);
        }
        // Validated by `decode_inputs`.
        let (input, ticks, rest) = split(self.rest).ok()?;
        (self.held, self.rest) = (ticks.checked_sub(1)?, rest);
        Some(input)
    }
}

impl Iterator for Inputs<'_> {
    type Item = Option<EncodedInput>;

    fn next(&mut self) -> Option<Option<EncodedInput>> {
        Some(self.advance()?.map(Short::encoded))
    }

    /// Most inputs of a datagram have come before, and are skipped.
    fn nth(&mut self, skipped: usize) -> Option<Option<EncodedInput>> {
        for _ in 0..skipped {
            self.advance()?;
        }
        self.next()
    }
}

/// An input in a datagram: its tag, and the bytes behind that.
#[derive(Clone, Copy, Debug)]
struct Short<'a> {
    tag: u8,
    bytes: &'a [u8],
}

impl Short<'_> {
    fn encoded(self) -> EncodedInput {
        let mut input = EncodedInput::new();
        if self.tag >= AT_REST {
            input.extend([0, 0, self.tag & !AT_REST]);
        }
        input.extend(self.bytes.iter().copied().take(input.remaining_capacity()));
        input
    }
}

/// Takes the first tag of `bytes` apart: an input, or `None` for one with the held control; the number of ticks
/// it covers, at least one; and the remaining bytes.
fn split(bytes: &[u8]) -> Result<(Option<Short<'_>>, u8, &[u8]), Malformed> {
    let malformed = Malformed::Body(bytes.len());
    let (&tag, rest) = bytes.split_first().ok_or(malformed)?;
    let (head, commands) = match tag {
        0 => InputHead::take(rest).ok_or(malformed)?,
        AT_REST.. => (InputHead::at_rest(tag & !AT_REST), rest),
        ticks => return Ok((None, ticks, rest)),
    };
    let given = head.take_commands(commands, drop).ok_or(malformed)?;
    let after = given.get(head.commands.saturating_mul(GIVEN_BYTES)..).ok_or(malformed)?;
    // An input that can use the at-rest tag must use it.
    if tag == AT_REST || (tag == 0 && matches!(rest, [0, 0, 1..AT_REST, ..])) {
        return Err(Malformed::NotCanonical(bytes.len()));
    }
    let length = rest.len().saturating_sub(after.len());
    Ok((Some(Short { tag, bytes: rest.get(..length).unwrap_or(rest) }), 1, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::given::encode_input;
    use sim::PlayerInput;

    fn body_of(header: &InputsHeader) -> Body {
        encode_inputs(header, core::iter::repeat(None))
    }

    const IDLE: InputsHeader = InputsHeader {
        first: 40_000,
        count: 1,
        wanted: -3,
        behind: 7,
        chain: [1; 2],
        margin_tick: 1,
        margin: 90,
    };

    #[test]
    fn an_idle_tick_takes_at_most_ten_bytes() {
        assert_eq!(body_of(&IDLE).len(), 10);
        assert_eq!(body_of(&InputsHeader { margin: 63, ..IDLE }).len(), 9);
    }

    #[test]
    fn numbers_of_any_size_round_trip() {
        for count in [0, 1, 14, 15, 16, 64] {
            for margin_tick in [0, 1, 14, 15, 16, 255] {
                for (wanted, behind, margin) in [(0, 0, 0), (-64, 128, -900), (i16::MIN, u16::MAX, i16::MAX)]
                {
                    let margin = if margin_tick == 0 { 0 } else { margin };
                    let header = InputsHeader { count, wanted, behind, margin_tick, margin, ..IDLE };
                    let body = body_of(&header);
                    assert!(body.len() <= HEADER_BYTES_MAX + 1);
                    let (read, inputs) = decode_inputs(&body).expect("canonical");
                    assert_eq!((read, inputs.count()), (header, usize::from(count)));
                }
            }
        }
        assert!(decode_inputs(&body_of(&InputsHeader { count: 65, ..IDLE })).is_err(), "too many");
    }

    #[test]
    fn runs_of_held_inputs_take_a_byte_each_and_have_one_form() {
        let input = postcard::to_allocvec(&PlayerInput::default()).expect("an input");
        let ticks =
            [None, None, Some(&input[..]), None, Some(&input[..]), Some(&input[..]), None, None, None];
        let body = encode_inputs(&InputsHeader { count: 9, ..IDLE }, ticks.into_iter());
        let (_, inputs) = decode_inputs(&body).expect("canonical");
        assert!(inputs.eq(ticks.map(|tick| tick.map(|input| input.iter().copied().collect()))));
        let runs = 3;
        assert_eq!(body.len(), 10 - 1 + runs + 3 * (1 + input.len()));
        let mut split = encode_inputs(&InputsHeader { count: 2, ..IDLE }, [None, None].into_iter());
        *split.last_mut().expect("a run") = 1;
        split.push(1);
        assert!(matches!(decode_inputs(&split), Err(Malformed::NotCanonical(_))), "two runs in a row");
        *split.last_mut().expect("a run") = 9;
        assert!(decode_inputs(&split).is_err(), "more than it counts");
    }

    #[test]
    fn orders_of_a_hero_at_rest_take_two_bytes_besides_themselves_and_have_one_form() {
        use sim::Command::Banner;
        let orders =
            PlayerInput { commands: [Banner, Banner].into_iter().collect(), ..PlayerInput::default() };
        let orders = encode_input(&orders, &[7, 0x0102]).expect("short");
        let body = encode_inputs(&IDLE, [Some(&orders[..])].into_iter());
        assert_eq!(body.len(), 9 + 1 + 2 + 2 * 2, "with two bytes per command for when it was given");
        let (_, mut inputs) = decode_inputs(&body).expect("canonical");
        assert_eq!(inputs.next().expect("one").expect("orders"), orders);
        let (head, _) = body.split_at(9);
        let read = |input: &[u8]| decode_inputs(&[head, input].concat()).map(|(_, inputs)| inputs.count());
        assert_eq!(read(&[AT_REST | 2, 3, 3, 7, 0, 2, 1]), Ok(1));
        assert!(
            matches!(read(&[0, 0, 0, 2, 3, 3, 7, 0, 2, 1]), Err(Malformed::NotCanonical(_))),
            "the long form"
        );
        assert!(matches!(read(&[AT_REST]), Err(Malformed::NotCanonical(_))), "no orders");
        assert!(read(&[AT_REST | 2, 3, 3, 7, 0, 2]).is_err(), "cut");
        assert!(read(&[&[AT_REST | 9][..], &[3; 9 + 18]].concat()).is_err(), "too many");
    }

    #[test]
    fn a_half_tick_number_is_completed_to_the_nearest_tick() {
        let header = InputsHeader { first: 5, ..IDLE };
        assert_eq!(header.first_near(Tick(0)), Some(Tick(5)));
        assert_eq!(header.first_near(Tick(65_530)), Some(Tick(65_541)));
        assert_eq!(InputsHeader { first: 65_530, ..IDLE }.first_near(Tick(65_541)), Some(Tick(65_530)));
        assert_eq!(InputsHeader { first: 65_530, ..IDLE }.first_near(Tick(3)), None, "before tick 0");
    }
}
