//! The body of a PlayerInput datagram to a server: the tick of the newest update received, and the inputs
//! that the server has not acknowledged.
//!
//! `[count | wants_state << 7][first u16][updated]`, then the inputs as in lockstep. An input's sequence
//! number is the tick for which it was committed.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::input::{Inputs, append_inputs};
use super::inputs::nearest;
use super::message::{Body, Malformed, append, decode_first};
use sim::Tick;

/// Most bytes of the head.
pub(crate) const CLIENT_HEADER_BYTES_MAX: usize = 1 + 2 + 3;

/// The head of a client's PlayerInput datagram: `count` inputs follow it, numbered from `first` on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ClientInputsHeader {
    /// The low half of the number of the first input.
    pub first: u16,
    /// Number of inputs that follow, at most [`crate::INPUTS_PER_DATAGRAM_MAX`].
    pub count: u8,
    /// The tick of the newest update that is complete here, less the number of the first input; the start of
    /// the match if there is none yet.
    pub updated: i16,
    /// Whether the world here has diverged and needs the server's state, where updates carry inputs alone.
    pub wants_state: bool,
}

/// The flag in the byte that counts the inputs.
const WANTS_STATE: u8 = 0x80;

impl ClientInputsHeader {
    /// The full number of the first input: the number nearest to `near` with this low half.
    #[must_use]
    pub fn first_near(&self, near: Tick) -> Option<Tick> {
        nearest(self.first, near)
    }
}

/// The body: the header, and as many inputs as it counts, as in [`crate::encode_inputs`].
///
/// # Panics
/// If they do not fit into a body.
#[must_use]
pub fn encode_client_inputs<'a>(
    header: &ClientInputsHeader,
    inputs: impl Iterator<Item = Option<&'a [u8]>>,
) -> Body {
    let mut body = Body::new();
    body.push(header.count | if header.wants_state { WANTS_STATE } else { 0 });
    body.extend(header.first.to_le_bytes());
    append(&mut body, &header.updated);
    append_inputs(&mut body, inputs.take(usize::from(header.count)));
    body
}

/// Reads a client's body: the header, and the inputs that follow it.
///
/// # Errors
/// If the header is malformed; the inputs are decoded as they are read.
pub fn decode_client_inputs(body: &[u8]) -> Result<(ClientInputsHeader, Inputs<'_>), Malformed> {
    let malformed = Malformed::Body(body.len());
    let (&first_byte, rest) = body.split_first().ok_or(malformed)?;
    let (first, rest) = rest.split_first_chunk().ok_or(malformed)?;
    let (updated, rest) = decode_first(rest)?;
    let (count, wants_state) = (first_byte & !WANTS_STATE, first_byte & WANTS_STATE != 0);
    let header = ClientInputsHeader { first: u16::from_le_bytes(*first), count, updated, wants_state };
    Ok((header, Inputs::of_datagram(rest, count)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_any_numbers_round_trip() {
        for (count, updated) in [(0, 0), (1, -9), (64, i16::MIN), (8, i16::MAX)] {
            let header = ClientInputsHeader { first: 65_530, count, updated, wants_state: updated < 0 };
            let body = encode_client_inputs(&header, core::iter::repeat(None));
            assert!(body.len() <= CLIENT_HEADER_BYTES_MAX + 1);
            let (read, inputs) = decode_client_inputs(&body).expect("canonical");
            assert_eq!((read, inputs.count()), (header, usize::from(count)));
        }
        assert_eq!(
            ClientInputsHeader { first: 5, count: 0, updated: 0, wants_state: false }
                .first_near(Tick(65_530)),
            Some(Tick(65_541))
        );
        assert!(decode_client_inputs(&[65, 0, 0, 0]).is_err(), "too many");
        assert!(decode_client_inputs(&[0, 0, 0, 0x80, 0]).is_err(), "not canonical");
    }
}
