//! The body of a PlayerInput datagram in a fair match: commitments, and inputs that are revealed, each with the
//! nonce of its commitment.
//!
//! `[count u8][offset u8][ahead u8][margin_tick u8]([margin])`, then `count` commitments, the ordinary body, and
//! a nonce for each of its inputs.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::input::Inputs;
use super::inputs::{HEADER_BYTES_MAX, InputsHeader, decode_inputs, encode_inputs};
use super::message::{Body, Malformed, append, decode_first};
use crate::wire::limits::BODY_BYTES_MAX;

/// A hash that binds its author to an input and says nothing about it.
pub type Commitment = [u8; 16];

/// Random value that hides the input in a commitment until both are revealed. It must resist guessing for as long as
/// the input is hidden, half a second.
pub type Nonce = [u8; 8];

/// Most commitments in one datagram.
pub(crate) const COMMITMENTS_PER_DATAGRAM_MAX: usize = 32;
/// Most bytes before the commitments.
const FAIR_HEADER_BYTES_MAX: usize = 4 + 3;
/// Most bytes of everything but the inputs and their nonces.
pub(crate) const FAIR_BYTES_MAX: usize =
    FAIR_HEADER_BYTES_MAX + COMMITMENTS_PER_DATAGRAM_MAX * size_of::<Commitment>() + HEADER_BYTES_MAX;
// However many commitments there are, an input fits beside them.
const _: () = assert!(FAIR_BYTES_MAX + 1 + sim::INPUT_BYTES_MAX + 16 + size_of::<Nonce>() <= BODY_BYTES_MAX);

/// Header that precedes the ordinary body of a PlayerInput datagram in a fair match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FairHeader {
    /// Number of commitments that follow, at most 32.
    pub count: u8,
    /// The tick of the first of them, less that of the first input.
    pub offset: u8,
    /// The first tick whose commitment the sender still lacks from the receiver, less the first whose input it lacks.
    pub ahead: u8,
    /// Identifies the receiver's commitment with the smallest arrival margin since the sender's last datagram: how
    /// many ticks before the first that the sender lacks. 0 if none arrived, in which case `margin` is 0, too.
    pub margin_tick: u8,
    /// The arrival margin of that commitment, in 0.1 ms: how long before the sender must reveal an input for it to
    /// be in time everywhere. Negative if it was late.
    pub margin: i16,
}

impl FairHeader {
    fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (&[count, offset, ahead, margin_tick], rest) = body.split_first_chunk()?;
        let (margin, rest) = if margin_tick > 0 { decode_first(rest).ok()? } else { (0, rest) };
        Some((Self { count, offset, ahead, margin_tick, margin }, rest))
    }
}

/// Content of a PlayerInput datagram of a peer.
#[derive(Clone, Debug)]
pub struct PeerInputs<'a> {
    /// About the commitments; outside a fair match there are none.
    pub fair: FairHeader,
    /// The commitments, of consecutive ticks.
    pub commitments: &'a [Commitment],
    /// About the inputs.
    pub header: InputsHeader,
    /// The inputs, of consecutive ticks.
    pub inputs: Inputs<'a>,
    /// The nonce of each input's commitment.
    pub nonces: &'a [Nonce],
}

/// The body of a PlayerInput datagram in a fair match. `inputs` are as in [`crate::encode_inputs`].
///
/// # Panics
/// If the counts are not those of the headers, or all of it does not fit into a body.
#[must_use]
pub fn encode_fair_inputs<'a>(
    fair: &FairHeader,
    commitments: &[Commitment],
    header: &InputsHeader,
    inputs: impl Iterator<Item = Option<&'a [u8]>>,
    nonces: &[Nonce],
) -> Body {
    assert_eq!((commitments.len(), nonces.len()), (usize::from(fair.count), usize::from(header.count)));
    let mut body = Body::new();
    body.extend([fair.count, fair.offset, fair.ahead, fair.margin_tick]);
    if fair.margin_tick > 0 {
        append(&mut body, &fair.margin);
    }
    body.extend(commitments.iter().flatten().copied());
    body.extend(encode_inputs(header, inputs));
    body.extend(nonces.iter().flatten().copied());
    body
}

/// Reads the body of a PlayerInput datagram of a fair match.
///
/// # Errors
/// If anything but the inputs is malformed, which are decoded as they are read, or if there are fewer commitments or
/// nonces than announced.
pub fn decode_fair_inputs(body: &[u8]) -> Result<PeerInputs<'_>, Malformed> {
    let malformed = Malformed::Body(body.len());
    let (fair, rest) = FairHeader::read(body).ok_or(malformed)?;
    let count = usize::from(fair.count);
    let commitments = rest.split_at_checked(count.saturating_mul(size_of::<Commitment>()));
    let (commitments, rest) =
        commitments.filter(|_| count <= COMMITMENTS_PER_DATAGRAM_MAX).ok_or(malformed)?;
    let (header, _) = InputsHeader::read(rest).ok_or(malformed)?;
    let nonces = usize::from(header.count).saturating_mul(size_of::<Nonce>());
    let at = rest.len().checked_sub(nonces).ok_or(malformed)?;
    let (ordinary, nonces) = rest.split_at_checked(at).ok_or(malformed)?;
    let (header, inputs) = decode_inputs(ordinary)?;
    Ok(PeerInputs {
        fair,
        commitments: commitments.as_chunks().0,
        header,
        inputs,
        nonces: nonces.as_chunks().0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::input::INPUTS_PER_DATAGRAM_MAX;

    const HEADER: InputsHeader =
        InputsHeader { first: 7, count: 2, wanted: 0, behind: 2, chain: [1; 2], margin_tick: 0, margin: 0 };
    const FAIR: FairHeader = FairHeader { count: 3, offset: 2, ahead: 4, margin_tick: 1, margin: -80 };

    fn body(fair: &FairHeader, header: &InputsHeader) -> Body {
        let commitments: [Commitment; COMMITMENTS_PER_DATAGRAM_MAX] = core::array::from_fn(|n| [n as u8; 16]);
        let nonces: [Nonce; INPUTS_PER_DATAGRAM_MAX] = core::array::from_fn(|n| [n as u8; 8]);
        let inputs = core::iter::repeat(None);
        let (commitments, nonces) =
            (&commitments[..usize::from(fair.count)], &nonces[..usize::from(header.count)]);
        encode_fair_inputs(fair, commitments, header, inputs, nonces)
    }

    #[test]
    fn counts_of_any_size_round_trip_and_no_others() {
        for count in [0, 1, 31, 32] {
            for inputs in [0, 1, 15, 64] {
                let (fair, header) = (FairHeader { count, ..FAIR }, InputsHeader { count: inputs, ..HEADER });
                let body = body(&fair, &header);
                let read = decode_fair_inputs(&body).expect("canonical");
                assert_eq!((read.fair, read.header), (fair, header));
                assert_eq!(
                    (read.commitments.len(), read.nonces.len(), read.inputs.count()),
                    (usize::from(count), usize::from(inputs), usize::from(inputs))
                );
                for changed in [&body[..body.len() - 1], &[&body[..], &[0]].concat()] {
                    let read = decode_fair_inputs(changed).and_then(|read| read.inputs.finish());
                    assert!(read.is_err(), "{} bytes of {}", changed.len(), body.len());
                }
            }
        }
        let mut many = body(&FairHeader { count: 32, ..FAIR }, &HEADER);
        many[0] = 33;
        assert!(decode_fair_inputs(&many).is_err(), "too many commitments");
        let none = FairHeader { margin_tick: 0, margin: 0, ..FAIR };
        assert_eq!(decode_fair_inputs(&body(&none, &HEADER)).expect("canonical").fair, none);
    }
}
