//! Limits on what travels: of datagrams, and of what outside bytes may make a peer keep.
#![cfg_attr(not(test), deny(clippy::arithmetic_side_effects))]

/// Most bytes of a UDP payload: below the MTU of every common path.
pub const DATAGRAM_BYTES_MAX: usize = 1200;
/// Bytes before the body.
pub const ENVELOPE_BYTES: usize = 7;
/// Bytes of the authentication tag, which follows the body.
pub const TAG_BYTES: usize = 16;
/// Most bytes of a body.
pub(crate) const BODY_BYTES_MAX: usize = DATAGRAM_BYTES_MAX - ENVELOPE_BYTES - TAG_BYTES;
/// Maximum distance of an accepted input ahead of the next tick, in ticks.
pub(crate) const QUEUE_TICKS: u32 = 64;
/// Most such guests. Of those addresses that have two the oldest gives way, else the oldest of all, which then has had
/// its keys for 2 s at the rate of all addresses together.
pub(crate) const PENDING_MAX: usize = 64;
/// Most such connections; when full, the oldest is dropped.
pub(crate) const CLOSING_MAX: usize = 16;
/// Most other addresses at which a guest looks for its host.
pub const ALTERNATIVES_MAX: usize = 7;
/// Most tick hashes in one `DesyncHashes`.
pub const DESYNC_HASHES_MAX: usize = 64;
/// Most inputs in one `Relayed`.
pub const RELAYED_MAX: usize = 4;
/// Most bytes of a `MatchSetup`: rules and a map with every list full and every number at its longest take 2.5 KB.
pub const SETUP_BYTES_MAX: usize = 4095;
/// Most bytes of one state that peers exchange after a desync.
pub const DESYNC_STATE_BYTES_MAX: usize = 4 << 20;
/// Most bytes of a recording that its node keeps for others: some five hours of two bots.
pub(crate) const HISTORY_BYTES_MAX: usize = 16 << 20;
/// Bytes of every query, and the most of an answer: a query with a spoofed source address gains no
/// amplification.
pub const DISCOVERY_BYTES_MAX: usize = 200;
