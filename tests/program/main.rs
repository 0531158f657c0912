//! The program as users and other programs run it, real sockets, and the studies made with it.

mod addresses;
mod arena;
mod bench;
mod cable;
mod cli;
mod compare;
mod compare_command;
mod compare_page;
#[cfg(unix)]
mod exec_bots;
#[cfg(target_os = "linux")]
mod files;
mod lab;
mod lan;
mod latency;
#[cfg(target_os = "linux")]
mod memory;
mod netns;
mod operating;
mod real;
mod reference;
#[cfg(target_os = "linux")]
mod series;
mod server;
mod shared_address;
#[cfg(target_os = "linux")]
mod signals;
#[cfg(target_os = "linux")]
mod streams;
mod study;
mod traces;
mod travel;
mod unready;
mod usage;
mod version;

/// The program, which cargo has built for these tests.
const fn program() -> &'static str {
    env!("CARGO_BIN_EXE_arena")
}
