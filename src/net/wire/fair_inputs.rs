//! The body of a PlayerInput datagram in a fair match: commitments, and inputs that are revealed, each with the
//! nonce of its commitment.
//!
//! `[count u8][offset u8][ahead u8][margin_tick u8]([margin])`, then `count` commitments, the ordinary body, and
//! a nonce for each of its inputs.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use super::inputs::{HEADER_BYTES_MAX, Inputs, InputsHeader, append, decode_inputs, write_inputs};
use super::message::{Body, Malformed, is_read};
use crate::connection::protection::BODY_BYTES_MAX;

/// A hash that binds its author to an input and says nothing about it.
pub type Commitment = [u8; 16];

/// Random value that hides the input in a commitment until both are revealed. It must resist guessing for as long as
/// the input is hidden, half a second.
pub type Nonce = [u8; 8];

/// Most commitments in one datagram.
pub const COMMITMENTS_PER_DATAGRAM_MAX: usize = 32;
/// Most bytes before the commitments.
const FAIR_HEADER_BYTES_MAX: usize = 4 + 3;
/// Most bytes of everything but the inputs and their nonces.
pub(crate) const FAIR_BYTES_MAX: usize =
    FAIR_HEADER_BYTES_MAX + COMMITMENTS_PER_DATAGRAM_MAX * size_of::<Commitment>() + HEADER_BYTES_MAX;
// However many commitments there are, an input fits beside them.
const _: () = assert!(FAIR_BYTES_MAX + 1 + sim::INPUT_BYTES_MAX + 16 + size_of::<Nonce>() <= BODY_BYTES_MAX);

/// Header that precedes the ordinary body of a PlayerInput datagram in a fair match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FairHeader {
    /// Number of commitments that follow, at most [`COMMITMENTS_PER_DATAGRAM_MAX`].
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
    fn write(&self, body: &mut Body) {
        body.extend([self.count, self.offset, self.ahead, self.margin_tick]);
        if self.margin_tick > 0 {
            append(body, &self.margin);
        }
    }

    fn read(body: &[u8]) -> Option<(Self, &[u8])> {
        let (&[count, offset, ahead, margin_tick], rest) = body.split_first_chunk()?;
        let (margin, rest) = if margin_tick > 0 { postcard::take_from_bytes(rest).ok()? } else { (0, rest) };
        Some((Self { count, offset, ahead, margin_tick, margin }, rest))
    }
}

/// Content of a datagram of a fair match.
#[derive(Clone, Debug)]
pub struct FairInputs<'a> {
    /// About the commitments.
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
    let mut body = Body::new();
    write_fair_inputs(&mut body, fair, commitments, header, inputs, nonces);
    body
}

/// Appends what [`encode_fair_inputs`] returns.
pub(crate) fn write_fair_inputs<'a>(
    body: &mut Body,
    fair: &FairHeader,
    commitments: &[Commitment],
    header: &InputsHeader,
    inputs: impl Iterator<Item = Option<&'a [u8]>>,
    nonces: &[Nonce],
) {
    assert_eq!((commitments.len(), nonces.len()), (usize::from(fair.count), usize::from(header.count)));
    fair.write(body);
    body.extend(commitments.iter().flatten().copied());
    write_inputs(body, header, inputs);
    body.extend(nonces.iter().flatten().copied());
}

/// Reads the body of a PlayerInput datagram of a fair match.
///
/// # Errors
/// If anything in it is malformed, or if there are more or fewer commitments, inputs or nonces than announced.
pub fn decode_fair_inputs(body: &[u8]) -> Result<FairInputs<'_>, Malformed> {
    let malformed = Malformed::Body(body.len());
    let (fair, rest) = FairHeader::read(body).ok_or(malformed)?;
    let mut canonical = Body::new();
    fair.write(&mut canonical);
    if !is_read(body, &canonical, rest) {
        return Err(Malformed::NotCanonical(body.len()));
    }
    let count = usize::from(fair.count);
    let commitments = rest.split_at_checked(count.saturating_mul(size_of::<Commitment>()));
    let (commitments, rest) =
        commitments.filter(|_| count <= COMMITMENTS_PER_DATAGRAM_MAX).ok_or(malformed)?;
    let (header, _) = InputsHeader::read(rest).ok_or(malformed)?;
    let nonces = usize::from(header.count).saturating_mul(size_of::<Nonce>());
    let at = rest.len().checked_sub(nonces).ok_or(malformed)?;
    let (ordinary, nonces) = rest.split_at_checked(at).ok_or(malformed)?;
    let (header, inputs) = decode_inputs(ordinary)?;
    Ok(FairInputs {
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
    use crate::wire::inputs::INPUTS_PER_DATAGRAM_MAX;

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
                assert!(decode_fair_inputs(&body[..body.len() - 1]).is_err(), "cut");
                assert!(decode_fair_inputs(&[&body[..], &[0]].concat()).is_err(), "longer");
            }
        }
        let mut many = body(&FairHeader { count: 32, ..FAIR }, &HEADER);
        many[0] = 33;
        assert!(decode_fair_inputs(&many).is_err(), "too many commitments");
        let none = FairHeader { margin_tick: 0, margin: 0, ..FAIR };
        assert_eq!(decode_fair_inputs(&body(&none, &HEADER)).expect("canonical").fair, none);
    }
}
