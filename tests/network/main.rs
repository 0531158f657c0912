//! Sessions, matches and servers in virtual time, and the bytes between them.

mod allocations;
mod fair;
mod handshake;
mod heads;
mod insiders;
mod lobby;
mod locks;
mod mesh;
mod pauses;
mod peers;
mod players;
mod protocol;
mod reaction;
mod served;
mod session;
mod setups;
mod stalls;
mod talk;
mod watch;
