//! Values in their canonical bytes: those of postcard, and no others.

use serde::{Deserialize, Serialize};

/// Appends a value to `to`, which allocates only while it grows.
#[expect(clippy::expect_used, reason = "memory is all it needs")]
pub(super) fn append<T: Serialize>(value: &T, to: &mut Vec<u8>) {
    *to = postcard::to_extend(value, core::mem::take(to)).expect("plain data encodes");
}

pub(super) fn encode<T: Serialize>(value: &T) -> Vec<u8> {
    let mut bytes = Vec::new();
    append(value, &mut bytes);
    bytes
}

/// Decodes a value whose encoding is exactly these bytes.
pub(super) fn decode<T: Serialize + for<'de> Deserialize<'de>>(bytes: &[u8]) -> Option<T> {
    postcard::from_bytes(bytes).ok().filter(|value| encode(value) == bytes)
}
