//! Attacks on sessions, matches and servers in virtual time.

mod adversary;
mod byzantine;
mod campaigns;
mod entry;
mod fair;
mod floods;
mod forging;
mod heads;
mod insiders;
mod locks;
#[allow(dead_code, reason = "the tests of the program use the rest")]
#[path = "../../../network/peers.rs"]
mod peers;
mod served;
mod stalls;
mod virtual_matches;
