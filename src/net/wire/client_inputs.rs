//! The body of a PlayerInput datagram to a server: the tick of the newest update received, and the inputs
//! that the server has not acknowledged.
//!
//! `[count | has_notice << 7][first u16][updated]([notice])`, then the inputs as in lockstep. An input's sequence
//! number is the tick for which it was committed. The notice is `[bytes][tick u16][parts…]` for the parts that an update
//! lacks, a bit for each and the lowest first, or a single 0 for a client that needs a state.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::input::{Inputs, append_inputs};
use super::inputs::nearest;
use super::message::{Body, Malformed, append, decode_first};
use super::update::PartSet;
use sim::Tick;

/// Most bytes of the head.
pub(crate) const CLIENT_HEADER_BYTES_MAX: usize = 1 + 2 + 3 + 1 + 2 + PartSet::BYTES;

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
    /// A request to the server.
    pub notice: Notice,
}

/// A client's request to its server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Notice {
    /// None.
    #[default]
    Nothing,
    /// The world here has diverged from a relay's and needs its state.
    WantsState,
    /// Of the update of the tick with these low 14 bits these parts have not arrived.
    Lacks(u16, PartSet),
}

/// The flag in the byte that counts the inputs.
const HAS_NOTICE: u8 = 0x80;

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
    body.push(header.count | if header.notice == Notice::Nothing { 0 } else { HAS_NOTICE });
    body.extend(header.first.to_le_bytes());
    append(&mut body, &header.updated);
    match header.notice {
        Notice::Nothing => {}
        Notice::WantsState => body.push(0),
        Notice::Lacks(tick, parts) => {
            body.push(parts.bytes().len() as u8);
            body.extend(tick.to_le_bytes());
            body.extend(parts.bytes().iter().copied());
        }
    }
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
    let count = first_byte & !HAS_NOTICE;
    let (notice, rest) = if first_byte & HAS_NOTICE == 0 {
        (Notice::Nothing, rest)
    } else {
        read_notice(rest).ok_or(malformed)?
    };
    let header = ClientInputsHeader { first: u16::from_le_bytes(*first), count, updated, notice };
    Ok((header, Inputs::of_datagram(rest, count)?))
}

fn read_notice(bytes: &[u8]) -> Option<(Notice, &[u8])> {
    let (&length, rest) = bytes.split_first()?;
    if length == 0 {
        return Some((Notice::WantsState, rest));
    }
    let (tick, rest) = rest.split_first_chunk()?;
    let (parts, rest) = rest.split_at_checked(length.into())?;
    Some((Notice::Lacks(u16::from_le_bytes(*tick), PartSet::of_bytes(parts)?), rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_of_any_numbers_round_trip() {
        for (count, updated) in [(0, 0), (1, -9), (64, i16::MIN), (8, i16::MAX)] {
            let lacks = Notice::Lacks(9_000, PartSet::of_bytes(&[0, 5]).expect("canonical"));
            let notice = match count {
                0 => Notice::Nothing,
                8 => lacks,
                _ => Notice::WantsState,
            };
            let header = ClientInputsHeader { first: 65_530, count, updated, notice };
            let body = encode_client_inputs(&header, core::iter::repeat(None));
            assert!(body.len() <= CLIENT_HEADER_BYTES_MAX + 1);
            let (read, inputs) = decode_client_inputs(&body).expect("canonical");
            assert_eq!((read, inputs.count()), (header, usize::from(count)));
        }
        assert_eq!(
            ClientInputsHeader { first: 5, count: 0, updated: 0, notice: Notice::Nothing }
                .first_near(Tick(65_530)),
            Some(Tick(65_541))
        );
        assert!(decode_client_inputs(&[65, 0, 0, 0]).is_err(), "too many");
        assert!(decode_client_inputs(&[0, 0, 0, 0x80, 0]).is_err(), "not canonical");
        assert!(
            decode_client_inputs(&[0x80, 0, 0, 0, 2, 0, 0, 5, 0]).is_err(),
            "a part set that could be shorter"
        );
        assert!(decode_client_inputs(&[0x80, 0, 0, 0, 2, 0, 0, 5]).is_err(), "cut");
    }
}
