//! Rules and map of a match in bytes, as a replay's header and the network carry them.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::canonical::{decode, encode};
use sim::{Map, RuleError, Rules, is_hidden};

/// Encoded rules and map. They are opaque, so that those of another simulation build can still be carried;
/// [`Self::open`] decodes and checks them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetupData {
    rules: Vec<u8>,
    map: Vec<u8>,
}

/// Reason why encoded rules and a map cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetupError {
    /// The bytes are not the encoding of rules and a map.
    #[error("they cannot be read")]
    Unreadable,
    /// A name has characters that cannot be seen.
    #[error("their name has invisible characters")]
    Name,
    /// A value is out of range.
    #[error("they are out of range: {0}")]
    Rules(#[from] RuleError),
}

impl SetupData {
    /// Encodes rules and a map.
    #[must_use]
    pub fn new(rules: &Rules, map: &Map) -> Self {
        Self { rules: encode(rules), map: encode(map) }
    }

    /// Encodes both together.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        encode(self)
    }

    /// Decodes what [`Self::to_bytes`] returned; `None` for any other bytes.
    #[must_use]
    pub fn of_bytes(bytes: &[u8]) -> Option<Self> {
        decode(bytes)
    }

    /// Decodes the rules, and the map for this number of seats.
    ///
    /// # Errors
    /// If they cannot be read, or are out of range: what is returned cannot overflow the simulation.
    pub fn open(&self, seats: usize) -> Result<(Arc<Rules>, Arc<Map>), SetupError> {
        let rules: Rules = decode(&self.rules).ok_or(SetupError::Unreadable)?;
        let map: Map = decode(&self.map).ok_or(SetupError::Unreadable)?;
        rules.check()?;
        map.check(seats)?;
        if rules.name.chars().chain(map.name.chars()).any(is_hidden) {
            return Err(SetupError::Name);
        }
        Ok((Arc::new(rules), Arc::new(map)))
    }
}
