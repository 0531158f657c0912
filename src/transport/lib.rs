//! Sockets and clock: the program's only access to network and time. The meaning of the bytes belongs to `net`.
#![forbid(unsafe_code)]

mod bottleneck;
pub mod clock;
pub mod discovery;
mod impair;
mod socket;
mod timer;
mod udp;

pub use bottleneck::{Bottleneck, RateLimit};
pub use impair::{Impairment, InvalidLinkSpec, LinkSpec};
pub use timer::Timer;
pub use udp::{BindError, DEFAULT_PORT, LAST_DEFAULT_PORT, PortChoice, Received, Udp};
