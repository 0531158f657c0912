//! The wire format, as bytes and without state: the manifest of packets and messages, inputs, updates.

pub(super) mod architecture;
pub(super) mod auth_string;
pub(super) mod chat_text;
pub(super) mod client_inputs;
pub(super) mod fair_inputs;
pub(super) mod given;
pub(super) mod input;
pub(super) mod inputs;
pub(super) mod limits;
pub mod message;
pub(super) mod name;
pub(super) mod report;
pub(super) mod sealed;
pub(super) mod server_ticks;
pub(super) mod short;
pub(super) mod text;
pub(super) mod update;
