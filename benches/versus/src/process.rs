//! Peers as processes: started, read to their end, and never left behind.

use anyhow::{Context as _, bail};
use std::io::{BufRead as _, BufReader, Read as _};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How often a process is asked whether it has ended.
const ASK_EVERY: Duration = Duration::from_millis(20);

/// A running process. Dropping it kills it.
pub(crate) struct Process {
    name: &'static str,
    child: Child,
    output: Option<JoinHandle<String>>,
    complaints: Receiver<String>,
}

impl Process {
    /// Starts `command`; `name` is for errors.
    pub(crate) fn start(name: &'static str, command: &mut Command) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("starting {name}: {command:?}"))?;
        let (mut stdout, stderr) =
            child.stdout.take().zip(child.stderr.take()).context("pipes were asked for")?;
        let output = std::thread::spawn(move || {
            let mut text = String::new();
            // What cannot be read is missed where the text is parsed.
            let _ = stdout.read_to_string(&mut text);
            text
        });
        let (told, complaints) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if told.send(line).is_err() {
                    return;
                }
            }
        });
        Ok(Self { name, child, output: Some(output), complaints })
    }

    /// The next line on stderr.
    pub(crate) fn line(&self, patience: Duration) -> anyhow::Result<String> {
        let line = self.complaints.recv_timeout(patience);
        line.with_context(|| format!("{} said nothing for {} s", self.name, patience.as_secs()))
    }

    /// Waits for its end and returns what it wrote to stdout.
    pub(crate) fn finish(mut self, until: Instant) -> anyhow::Result<String> {
        let status = loop {
            match self.child.try_wait()? {
                Some(status) => break status,
                None if Instant::now() >= until => bail!("{} did not end: {}", self.name, self.last_words()),
                None => std::thread::sleep(ASK_EVERY),
            }
        };
        if !status.success() {
            bail!("{} failed ({status}): {}", self.name, self.last_words());
        }
        let output = self.output.take().context("finished once")?;
        Ok(output.join().expect("reading text does not panic"))
    }

    fn last_words(&self) -> String {
        self.complaints.try_iter().last().unwrap_or_else(|| "nothing on stderr".to_owned())
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // One that has ended already cannot be killed, which is as well.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
