//! The trace of a match: one JSON object per line, for external measuring programs.

use core::fmt::Display;
use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use net::{Datagram, DatagramFate, Stall, StallCause, Time};
use sim::{PlayerId, Tick};

/// Size of the write buffer, in bytes.
const BUFFER_BYTES: usize = 1 << 20;

/// Trace being written; by default none is. A write error ends the trace, but never the match.
#[derive(Debug, Default)]
pub struct Trace {
    file: PathBuf,
    out: Option<BufWriter<File>>,
    error: Option<std::io::Error>,
}

impl Trace {
    /// Creates the file, or truncates it.
    ///
    /// # Errors
    /// If it cannot be created.
    pub fn create(path: &Path) -> std::io::Result<Self> {
        let out = BufWriter::with_capacity(BUFFER_BYTES, File::create(path)?);
        Ok(Self { file: path.to_owned(), out: Some(out), error: None })
    }

    /// Whether lines are written.
    pub(super) const fn is_open(&self) -> bool {
        self.out.is_some()
    }

    /// Returns the error that ended the trace early, if any.
    #[must_use]
    pub const fn error(&self) -> Option<&std::io::Error> {
        self.error.as_ref()
    }

    /// Returns the file and the error that ended it early, if any.
    pub(super) fn failure(&self) -> Option<String> {
        self.error.as_ref().map(|error| format!("{}: {error}", self.file.display()))
    }

    /// Writes an input that was applied: this player's own with the instant of its commit, another's without.
    pub(super) fn tick(&mut self, tick: Tick, player: PlayerId, sealed: Option<Time>, applied: Time) {
        let sealed = OrNull(sealed.map(|time| time.0));
        self.line(format_args!(
            r#"{{"tick":{tick},"player":{player},"t_capture_us":{sealed},"t_apply_us":{}}}"#,
            applied.0
        ));
    }

    /// Writes a command of this player, which the session received at `taken`. A probe or a script schedules it for
    /// the instant `due`, however late this computer gets to it.
    pub(super) fn given(&mut self, id: u32, player: PlayerId, taken: Time, due: Option<Time>) {
        let Time(taken) = taken;
        match due {
            Some(Time(due)) => self.line(format_args!(
                r#"{{"cmd":{id},"player":{player},"t_capture_us":{due},"t_taken_us":{taken}}}"#
            )),
            None => self.line(format_args!(r#"{{"cmd":{id},"player":{player},"t_capture_us":{taken}}}"#)),
        }
    }

    /// Writes a command that was applied and is shown, unless the match ended before.
    pub(super) fn applied(&mut self, command: &Applied) {
        let Applied { id, player, tick, at: Time(at), shown } = *command;
        match shown {
            Some(Time(shown)) => self.line(format_args!(
                r#"{{"cmd":{id},"player":{player},"tick":{tick},"t_apply_us":{at},"t_shown_us":{shown}}}"#
            )),
            None => {
                self.line(format_args!(
                    r#"{{"cmd":{id},"player":{player},"tick":{tick},"t_apply_us":{at}}}"#
                ));
            }
        }
    }

    /// Writes a late tick.
    pub(super) fn stall(&mut self, tick: Tick, stall: &Stall) {
        let cause = match stall.cause {
            StallCause::Network => "network",
            StallCause::Computer => "computer",
        };
        // A relay server is no player.
        let peer = OrNull((stall.peer != PlayerId::NONE).then_some(stall.peer.0));
        self.line(format_args!(
            r#"{{"stall":{tick},"t0_us":{},"t1_us":{},"peer":{peer},"cause":"{cause}"}}"#,
            stall.due.0, stall.ran.0
        ));
    }

    /// Writes the state hash after a tick.
    pub(super) fn hash(&mut self, tick: Tick, whole: u64) {
        self.line(format_args!(r#"{{"tick":{tick},"hash":"{whole:016x}"}}"#));
    }

    /// Writes a datagram that was sent, has arrived or counts as lost. A lost one has no ticks: its sender's line has.
    pub(super) fn datagram(&mut self, now: Time, datagram: &Datagram) {
        let Datagram { peer, number, fate } = *datagram;
        // A server is no player.
        let peer = OrNull((peer != PlayerId::NONE).then_some(peer.0));
        let (what, content) = match fate {
            DatagramFate::Sent(content) => ("sent", content),
            DatagramFate::Received(content) => ("received", content),
            DatagramFate::Lost => {
                return self.line(format_args!(r#"{{"lost":{number},"peer":{peer},"t_us":{}}}"#, now.0));
            }
        };
        let message = content.id;
        match content.ticks {
            Some([first, last]) => self.line(format_args!(
                r#"{{"{what}":{number},"peer":{peer},"t_us":{},"message":"{message:?}","ticks":[{first},{last}]}}"#,
                now.0
            )),
            None => self.line(format_args!(
                r#"{{"{what}":{number},"peer":{peer},"t_us":{},"message":"{message:?}","ticks":null}}"#,
                now.0
            )),
        }
    }

    /// Writes a change of the input delay.
    pub(super) fn delay(&mut self, tick: Tick, delay_us: i64) {
        self.line(format_args!(r#"{{"delay_us":{delay_us},"tick":{tick}}}"#));
    }

    /// Writes the last line and flushes the file; later lines are not written.
    pub(super) fn summary(&mut self, span: [Time; 2], ticks: u32, cpu_us: (u64, u64), sent: (u64, u64)) {
        self.line(format_args!(
            r#"{{"summary":1,"t_start_us":{},"t_end_us":{},"ticks":{ticks},"cpu_user_us":{},"cpu_sys_us":{},"bytes_sent":{},"packets_sent":{}}}"#,
            span[0].0, span[1].0, cpu_us.0, cpu_us.1, sent.0, sent.1
        ));
        let flushed = self.out.take().map(|mut out| out.flush());
        self.check(flushed);
    }

    fn line(&mut self, line: core::fmt::Arguments<'_>) {
        let written = self.out.as_mut().map(|out| writeln!(out, "{line}"));
        self.check(written);
    }

    fn check(&mut self, result: Option<std::io::Result<()>>) {
        if let Some(Err(error)) = result {
            self.error = Some(error);
            self.out = None;
        }
    }
}

/// Command that the confirmed world has run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Applied {
    /// Its number among its player's commands, from 0.
    pub(super) id: u32,
    pub(super) player: PlayerId,
    pub(super) tick: Tick,
    /// Time at which it ran here.
    pub(super) at: Time,
    /// Time at which the view first showed it.
    pub(super) shown: Option<Time>,
}

struct OrNull<T>(Option<T>);

impl<T: Display> Display for OrNull<T> {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        match &self.0 {
            Some(value) => value.fmt(f),
            None => f.write_str("null"),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_ends_the_trace_and_is_reported() {
        let mut trace = Trace::create(Path::new("/dev/full")).expect("Linux has it");
        trace.delay(Tick(0), 50_000);
        assert!(trace.error().is_none(), "it is still in the buffer");
        trace.summary([Time(0), Time(1)], 1, (0, 0), (0, 0));
        assert_eq!(trace.error().map(std::io::Error::kind), Some(std::io::ErrorKind::StorageFull));
    }
}
