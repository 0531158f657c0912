//! Signed chain heads: what a seat signs over the inputs that it has sent.

use serde::{Deserialize, Serialize};

use super::seats::seat;
use sim::{PlayerId, Tick};

/// The two halves of a signature.
pub type Signature = [[u8; 32]; 2];

/// Twice a second, to each peer of a match of three or more: the sender's signature over its own inputs. The chain
/// itself is not sent: the receiver has computed it from what it was told.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// The number of ticks whose inputs are covered.
    pub tick: u32,
    /// Over match, seat, tick and chain.
    pub signature: Signature,
}

/// A head as it is shown to others when inputs differ: by its author, and by those to whom the author has shown or
/// sent it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ShownHead {
    /// Its author.
    #[serde(deserialize_with = "seat")]
    pub seat: PlayerId,
    /// The number of ticks whose inputs are covered.
    pub tick: u32,
    /// The chain over them.
    pub chain: [u8; 32],
    /// Over match, seat, tick and chain.
    pub signature: Signature,
}

/// The proof that a seat has told different inputs of one tick: two heads that it has signed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Equivocation {
    /// Seat that signs the heads.
    pub seat: PlayerId,
    /// The number of ticks whose inputs both cover.
    pub tick: Tick,
    /// Both chains, the lower first.
    pub chains: [[u8; 32]; 2],
    /// A signature of each.
    pub signatures: [Signature; 2],
    /// The seat's public key.
    pub key: [u8; 32],
    /// The match in which it was signed.
    pub match_id: [u8; 32],
    /// Whether datagrams of the match were encrypted; if not, anybody could have signed.
    pub(crate) is_encrypted: bool,
}
