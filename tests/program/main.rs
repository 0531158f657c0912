//! The program as users and other programs run it, real sockets, and the studies made with it.

mod addresses;
#[cfg(target_os = "linux")]
mod adversary;
mod arena;
mod balance;
mod bench;
mod cable;
mod cli;
mod compare;
mod compare_command;
mod compare_page;
#[cfg(target_os = "linux")]
mod files;
mod lan;
mod latency;
#[cfg(target_os = "linux")]
mod memory;
mod netns;
mod real;
mod reference;
mod server;
mod shared_address;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod streams;
mod study;
mod usage;
mod version;
