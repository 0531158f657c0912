//! The body of a PlayerInput datagram to a peer: acknowledgements, the hash chain, and inputs.
//!
//! `[count | margin_tick << 4][first u16][wanted][behind][chain 2]([margin])`, then the inputs. A half byte
//! of 15 stands for 15 and more, and a varint with the rest follows the first byte, `count` before
//! `margin_tick`.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::input::{Inputs, append_inputs};
use super::message::{Body, Malformed, append, decode_first};
use crate::wire::limits::BODY_BYTES_MAX;
use sim::Tick;

/// Most bytes of the head: all numbers at their longest.
pub(crate) const HEADER_BYTES_MAX: usize = 1 + 2 + 2 + 2 + 3 + 3 + 2 + 3;
// An input's commands are bounded by bytes, so that one always fits beside the header.
const _: () = assert!(HEADER_BYTES_MAX + 1 + sim::INPUT_BYTES_MAX <= BODY_BYTES_MAX);
/// The value of a half byte that announces a varint with the rest.
const MORE: u8 = 15;

/// The head of a PlayerInput datagram: `count` inputs follow it, of the ticks from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InputsHeader {
    /// The low half of the tick of the first input.
    pub first: u16,
    /// Number of inputs that follow, at most [`INPUTS_PER_DATAGRAM_MAX`](crate::INPUTS_PER_DATAGRAM_MAX).
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
        nearest(self.first, near)
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
            let (more, after): (u16, _) = decode_first(rest).ok()?;
            rest = after;
            u8::try_from(more.checked_add(u16::from(MORE))?).ok()
        };
        let (count, margin_tick) = (whole(halves & 15)?, whole(halves >> 4)?);
        let (first, rest) = rest.split_first_chunk()?;
        let ((wanted, behind), rest) = decode_first(rest).ok()?;
        let (&chain, rest) = rest.split_first_chunk()?;
        let (margin, rest) = if margin_tick > 0 { decode_first(rest).ok()? } else { (0, rest) };
        let first = u16::from_le_bytes(*first);
        Some((Self { first, count, wanted, behind, chain, margin_tick, margin }, rest))
    }
}

/// The full tick nearest to `near` whose low half is `low`.
pub(crate) fn nearest(low: u16, near: Tick) -> Option<Tick> {
    let ahead = low.wrapping_sub(near.0 as u16).cast_signed();
    near.0.checked_add_signed(i32::from(ahead)).map(Tick)
}

/// The body of a PlayerInput datagram: the header, and as many inputs as it counts, each as encoded by
/// [`crate::encode_input`], or `None` for an input that holds the previous control and has no command.
///
/// # Panics
/// If they do not fit into a body.
#[must_use]
pub fn encode_inputs<'a>(header: &InputsHeader, inputs: impl Iterator<Item = Option<&'a [u8]>>) -> Body {
    let mut body = Body::new();
    header.write(&mut body);
    append_inputs(&mut body, inputs.take(usize::from(header.count)));
    body
}

/// Reads the body of a PlayerInput datagram: the header, and the inputs that follow it.
///
/// # Errors
/// If the header is malformed; the inputs are decoded as they are read.
pub fn decode_inputs(body: &[u8]) -> Result<(InputsHeader, Inputs<'_>), Malformed> {
    let (header, rest) = InputsHeader::read(body).ok_or(Malformed::Body(body.len()))?;
    Ok((header, Inputs::of_datagram(rest, header.count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_half_tick_number_is_completed_to_the_nearest_tick() {
        let header = InputsHeader { first: 5, ..IDLE };
        assert_eq!(header.first_near(Tick(0)), Some(Tick(5)));
        assert_eq!(header.first_near(Tick(65_530)), Some(Tick(65_541)));
        assert_eq!(InputsHeader { first: 65_530, ..IDLE }.first_near(Tick(65_541)), Some(Tick(65_530)));
        assert_eq!(InputsHeader { first: 65_530, ..IDLE }.first_near(Tick(3)), None, "before tick 0");
    }
}
