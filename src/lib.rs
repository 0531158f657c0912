//! Mini RTS Arena: a two-player RTS in deterministic lockstep over UDP, and a laboratory to measure it.
//!
//! ```text
//! bot, window ─► Command ─► Session (sans-IO) ─► gate ─► TickInputs ─► World::step ─► view
//!                            ▲      │                                     ├─► replay
//!                 datagrams  │      ▼                                     └─► StateHash ─► Session
//!                           Transport (UDP)
//! ```
//!
//! [`sim`] is the deterministic world, [`net`] the protocol without sockets, [`transport`] the sockets,
//! [`replay`] the recorder, [`bot`] the players that are programs, [`game`] one match of one peer, and
//! [`lab`] experiments on whole matches.
#![forbid(unsafe_code)]

extern crate alloc;

pub mod bot;
pub mod game;
pub mod lab;
pub mod net;
pub mod replay;
pub mod sim;
mod text;
pub mod transport;

/// The version of this program with the commit that it was built from, such as `0.2.0+abc1234`: who must find the
/// same program again needs both. `+unknown` where neither `ARENA_COMMIT` nor a `.git` told the build.
pub const VERSION: &str = env!("PROGRAM_VERSION");

/// More digits of that commit, or `unknown`.
pub const COMMIT: &str = env!("ARENA_COMMIT");
