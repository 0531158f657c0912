//! The real program, run as a user runs it.

use serde_json::Value;
use std::io::{BufRead, BufReader, Read};
use std::net::UdpSocket;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::Duration;

/// A running `arena`.
pub(crate) struct Arena {
    child: Child,
    stderr: BufReader<ChildStderr>,
    /// The first line on stderr.
    pub(crate) first_line: String,
}

/// What a process left behind.
#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// `arena` with these words, in an environment whose data folder is `home`.
pub(crate) fn command(home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(crate::program());
    prepare(&mut command, home, words);
    command
}

/// The same inside a network namespace.
pub(crate) fn command_in(namespace: &str, home: &Path, words: &[&str]) -> Command {
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, crate::program()]);
    prepare(&mut command, home, words);
    command
}

/// Gives it these words, and the environment.
pub(crate) fn prepare(command: &mut Command, home: &Path, words: &[&str]) {
    command.args(words).env("HOME", home).env("XDG_DATA_HOME", home).env_remove("DISPLAY");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
}

impl Arena {
    /// Starts it and waits for its first line.
    pub(crate) fn start(mut command: Command) -> Self {
        let mut child = command.spawn().expect("the program starts");
        let mut stderr = BufReader::new(child.stderr.take().expect("piped"));
        let mut first_line = String::new();
        stderr.read_line(&mut first_line).expect("a line");
        Self { child, stderr, first_line }
    }

    /// Starts it with these words.
    pub(crate) fn run(home: &Path, words: &[&str]) -> Self {
        Self::start(command(home, words))
    }

    /// The port that the first line names.
    pub(crate) fn port(&self) -> u16 {
        let port = self.first_line.trim().rsplit_once(':').and_then(|(_, port)| port.parse().ok());
        port.unwrap_or_else(|| panic!("no port in {:?}", self.first_line))
    }

    /// Reads stderr up to a line that contains `text`.
    pub(crate) fn wait_for_line(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line.clear();
            assert_ne!(self.stderr.read_line(&mut line).expect("stderr"), 0, "no line with {text:?}");
        }
        line
    }

    /// Sends a signal by name.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().expect("kill runs").success());
    }

    /// Returns its resident memory in kB, its threads and its open descriptors, as Linux counts them.
    pub(crate) fn holds(&self) -> [u64; 3] {
        let folder = format!("/proc/{}", self.child.id());
        let status = std::fs::read_to_string(format!("{folder}/status")).expect("it runs");
        let number = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name)).expect("Linux says it");
            line.trim().trim_end_matches(" kB").parse().expect("a number")
        };
        let descriptors = std::fs::read_dir(format!("{folder}/fd")).expect("it runs").count() as u64;
        [number("VmRSS:"), number("Threads:"), descriptors]
    }

    /// The most memory that it held, by the last that Linux says of it before it ends.
    pub(crate) fn peak_bytes(&self) -> u64 {
        let status = format!("/proc/{}/status", self.child.id());
        let mut peak = 0;
        while let Some(kilobytes) = std::fs::read_to_string(&status).ok().and_then(|status| {
            let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
            line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()
        }) {
            peak = kilobytes * 1024;
            std::thread::sleep(Duration::from_millis(5));
        }
        peak
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let mut stdout = self.child.stdout.take().expect("piped");
        let reader = std::thread::spawn(move || {
            let mut text = String::new();
            stdout.read_to_string(&mut text).map(|_| text)
        });
        let mut stderr = self.first_line.clone();
        self.stderr.read_to_string(&mut stderr).expect("stderr is text");
        let code = self.child.wait().expect("it ends").code();
        let stdout = reader.join().expect("no panic").expect("stdout is text");
        assert!(!stderr.contains("panicked"), "{stderr}");
        Ended { code, stdout, stderr }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Ended {
    /// The one JSON value on stdout of a run that went well.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }
}

/// Runs it to its end.
pub(crate) fn run(home: &Path, words: &[&str]) -> Ended {
    Arena::run(home, words).end()
}

/// What went wrong, in one line that says what to do.
pub(crate) fn fails(ended: &Ended, expected: &str) {
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let lines: Vec<&str> = ended.stderr.lines().collect();
    let errors: Vec<&&str> = lines.iter().filter(|line| line.starts_with("error: ")).collect();
    assert!(errors.len() == 1 && lines.last() == Some(errors[0]), "one line: {lines:?}");
    assert!(errors[0].contains(expected), "{expected:?} in {:?}", errors[0]);
    // A match that did not begin has its reason in JSON, too.
    assert!(ended.stdout.is_empty() || ended.json()["reason"].is_string(), "{}", ended.stdout);
}

/// A UDP proxy of somebody else's: the guest knows only its port, the host sees only its address.
pub(crate) struct Proxy {
    pub(crate) port: u16,
    socket: UdpSocket,
    passed: std::sync::Arc<[std::sync::atomic::AtomicU64; 2]>,
}

impl Proxy {
    /// Between anyone who writes to its port and the host on `host`.
    pub(crate) fn start(host: u16) -> Self {
        let front = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
        let port = front.local_addr().expect("bound").port();
        let back = UdpSocket::bind(("127.0.0.1", 0)).expect("a port");
        back.connect(("127.0.0.1", host)).expect("an address");
        let socket = front.try_clone().expect("a socket");
        let passed = std::sync::Arc::new([const { std::sync::atomic::AtomicU64::new(0) }; 2]);
        let guest = std::sync::Arc::new(std::sync::Mutex::new(None));
        std::thread::spawn({
            let (front, back) = (front.try_clone().expect("a socket"), back.try_clone().expect("a socket"));
            let (guest, passed) = (guest.clone(), passed.clone());
            move || {
                let mut buffer = [0; 2048];
                while let Ok((length, from)) = front.recv_from(&mut buffer) {
                    if length == 0 {
                        return;
                    }
                    *guest.lock().expect("no panic") = Some(from);
                    passed[0].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let _ = back.send(&buffer[..length]);
                }
            }
        });
        let count = passed.clone();
        std::thread::spawn(move || {
            back.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
            let mut buffer = [0; 2048];
            while let Ok(length) = back.recv(&mut buffer) {
                if let Some(guest) = *guest.lock().expect("no panic") {
                    count[1].fetch_add(1, std::sync::atomic::Ordering::Relaxed);
                    let _ = front.send_to(&buffer[..length], guest);
                }
            }
        });
        Self { port, socket, passed }
    }

    /// Datagrams passed to the host and to the guest.
    pub(crate) fn passed(&self) -> [u64; 2] {
        [0, 1].map(|way: usize| self.passed[way].load(std::sync::atomic::Ordering::Relaxed))
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        // An empty datagram ends the front thread; the back one ends by its timeout.
        let _ = self.socket.send_to(&[], ("127.0.0.1", self.port));
    }
}
