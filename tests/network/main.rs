//! Sessions, matches and servers in virtual time, and the bytes between them.

mod adversary;
mod allocations;
mod byzantine;
mod campaigns;
mod entry;
mod fair;
mod floods;
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
mod stalls;
mod talk;
mod virtual_matches;
mod watch;
