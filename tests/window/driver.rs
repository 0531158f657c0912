//! A window on an X server of its own, driven by xdotool and read by what it says of its layout.

use serde_json::Value;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::rc::Rc;
use std::thread::sleep;
use std::time::{Duration, Instant};
use tempfile::TempDir;

use super::PATIENCE;

/// An X server of its own.
pub(crate) struct Display {
    server: Child,
    name: String,
}

impl Display {
    pub(crate) fn start() -> Self {
        Self::start_with_colours(24)
    }

    /// A server whose screen has pixels of this number of bits.
    pub(crate) fn start_with_colours(bits: u8) -> Self {
        let screen = format!("2560x1440x{bits}");
        let mut server = Command::new("Xvfb")
            // Not anew when its last client leaves: that would cut off who is just connecting.
            .args(["-displayfd", "1", "-screen", "0", &screen, "-nolisten", "tcp", "-noreset"])
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("Xvfb starts");
        let mut number = String::new();
        let read = BufReader::new(server.stdout.take().expect("piped")).read_line(&mut number);
        assert!(read.is_ok_and(|bytes| bytes > 0), "Xvfb says which display it is");
        Self { server, name: format!(":{}", number.trim()) }
    }

    /// As programs are told of it.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn xdotool(&self, arguments: &[&str]) -> String {
        self.run("xdotool", arguments, "")
    }

    /// Writes the resources of the desktop in place of those that it has, as its settings do.
    pub(crate) fn set_resources(&self, resources: &str) {
        self.run("xrdb", &["-load", "-nocpp"], resources);
    }

    /// Gives the keyboard another layout, or several of which the first is in force.
    pub(crate) fn set_layout(&self, layout: &str) {
        self.run("setxkbmap", &["-layout", layout, "-option", ""], "");
    }

    /// Runs a program on this display, with something to read; what it wrote.
    fn run(&self, program: &str, arguments: &[&str], input: &str) -> String {
        let mut child = Command::new(program)
            .args(arguments)
            .env("DISPLAY", &self.name)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{program} does not run: {error}"));
        let written = child.stdin.take().expect("piped").write_all(input.as_bytes());
        let done = child.wait_with_output().expect("it is ours");
        assert!(done.status.success() && written.is_ok(), "{program} {arguments:?}: {done:?}");
        String::from_utf8(done.stdout).expect("text")
    }
}

impl Drop for Display {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

/// A program with a window on a display of its own.
pub(crate) struct Window {
    pub(crate) display: Display,
    pub(crate) program: Child,
    pub(crate) home: Rc<TempDir>,
    name: &'static str,
    pub(crate) began: Instant,
}

impl Window {
    /// Starts `arena` with these arguments, in a network namespace if one is given.
    pub(crate) fn open(name: &'static str, size: &str, namespace: Option<&str>, arguments: &[&str]) -> Self {
        let home = Rc::new(tempfile::tempdir().expect("a folder"));
        Self::open_at_home(home, name, size, namespace, arguments, &[])
    }

    /// The same with settings that are there already.
    pub(crate) fn open_with(settings: &str, name: &'static str, size: &str, arguments: &[&str]) -> Self {
        let home = tempfile::tempdir().expect("a folder");
        let data = home.path().join("mini-rts-arena");
        std::fs::create_dir(&data).expect("a folder");
        std::fs::write(data.join("settings.toml"), settings).expect("a file");
        Self::open_at_home(Rc::new(home), name, size, None, arguments, &[])
    }

    /// Starts the program for somebody whose files are in `home`, with more variables in its environment.
    pub(crate) fn open_at_home(
        home: Rc<TempDir>,
        name: &'static str,
        size: &str,
        namespace: Option<&str>,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        Self::open_on(Display::start(), home, name, size, namespace, arguments, environment)
    }

    /// The same on a display that is there already; the window chooses its size if `size` is empty.
    pub(crate) fn open_on(
        display: Display,
        home: Rc<TempDir>,
        name: &'static str,
        size: &str,
        namespace: Option<&str>,
        arguments: &[&str],
        environment: &[(&str, &str)],
    ) -> Self {
        let mut command = arena_in(namespace);
        command.args(arguments);
        Self::start(command, display, home, name, size, environment)
    }

    /// Starts a program in which signals that end others are ignored, as `nohup` and scripts do.
    pub(crate) fn open_ignoring_signals(name: &'static str, size: &str, arguments: &[&str]) -> Self {
        let mut command = Command::new("sh");
        command.args(["-c", "trap '' HUP INT TERM; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_arena")]);
        command.args(arguments);
        let home = Rc::new(tempfile::tempdir().expect("a folder"));
        Self::start(command, Display::start(), home, name, size, &[])
    }

    /// Starts a program on a display, with more variables in its environment.
    fn start(
        mut command: Command,
        display: Display,
        home: Rc<TempDir>,
        name: &'static str,
        size: &str,
        environment: &[(&str, &str)],
    ) -> Self {
        // What another program has told belongs to it.
        let _ = std::fs::remove_file(home.path().join("layout.json"));
        let began = Instant::now();
        let program = command
            .env("DISPLAY", &display.name)
            .env("HOME", home.path())
            .env("XDG_DATA_HOME", home.path())
            .env("USER", name)
            .env("ARENA_LAYOUT", home.path().join("layout.json"))
            .env("ARENA_WINDOW", size)
            .env("ARENA_FPS", "15")
            // Nothing is played to the loudspeakers of a developer.
            .env("PULSE_SERVER", "unix:/dev/null")
            .env("ALSA_CONFIG_PATH", "/dev/null")
            .envs(environment.iter().copied())
            .stderr(File::create(home.path().join("stderr")).expect("a file"))
            .spawn()
            .expect("the program starts");
        Self { display, program, home, name, began }
    }

    /// What the program has written to stderr.
    pub(crate) fn log(&self) -> String {
        std::fs::read_to_string(self.home.path().join("stderr")).unwrap_or_default()
    }

    /// What is shown now; null before the first frame.
    pub(crate) fn shown(&self) -> Value {
        let text = std::fs::read_to_string(self.home.path().join("layout.json")).unwrap_or_default();
        serde_json::from_str(&text).unwrap_or(Value::Null)
    }

    pub(crate) fn wait_for(&self, what: &str, ready: impl Fn(&Value) -> bool) -> Value {
        let deadline = Instant::now() + PATIENCE;
        loop {
            let shown = self.shown();
            if ready(&shown) {
                return shown;
            }
            if Instant::now() > deadline {
                self.picture("failed");
                panic!("{}: no {what}; shown: {shown}; log: {}", self.name, self.log());
            }
            sleep(Duration::from_millis(15));
        }
    }

    pub(crate) fn wait_screen(&self, screen: &str) -> Value {
        self.wait_for(&format!("screen {screen}"), |shown| shown["screen"] == screen)
    }

    pub(crate) fn wait_tick(&self, tick: u64) -> Value {
        self.wait_for(&format!("tick {tick}"), |shown| shown["match"]["tick"].as_u64() >= Some(tick))
    }

    /// Clicks on a control.
    pub(crate) fn click(&self, item: &str) {
        let [left, top, width, height] = self.wait_settled(item);
        self.point([left + width / 2.0, top + height / 2.0]);
        self.press("1");
    }

    /// Clicks on a control, and holds the button for a while.
    pub(crate) fn click_slowly(&self, item: &str) {
        let [left, top, width, height] = self.wait_settled(item);
        self.point([left + width / 2.0, top + height / 2.0]);
        self.display.xdotool(&["mousedown", "1"]);
        sleep(Duration::from_millis(1500));
        self.display.xdotool(&["mouseup", "1"]);
        self.next_frame();
    }

    /// Returns the rectangle of a control, once it is the same in two frames: a page that opens is laid out twice.
    fn wait_settled(&self, item: &str) -> [f64; 4] {
        let rect = |shown: &Value| {
            let found = shown["items"].as_array()?.iter().find(|found| found["name"] == item)?;
            Some([0, 1, 2, 3].map(|at| found["rect"][at].as_f64().expect("a number")))
        };
        let is_usable = |shown: &Value| rect(shown).is_some() && shown["is_inert"] == false;
        let mut last = self.wait_for(&format!("item {item}"), is_usable);
        loop {
            let is_later = |shown: &Value| shown["frames"].as_u64() > last["frames"].as_u64();
            let next = self.wait_for(&format!("item {item}"), |shown| is_later(shown) && is_usable(shown));
            if rect(&next) == rect(&last) {
                return rect(&next).expect("waited for");
            }
            last = next;
        }
    }

    /// Waits until all input so far has been seen: what comes within one frame may be seen as one.
    pub(crate) fn next_frame(&self) {
        let frames = |shown: &Value| shown["frames"].as_u64();
        // The first frame told from now on may have begun before the input, the one told after it has not.
        let mut last = self.wait_for("frame", |shown| frames(shown).is_some());
        for _ in 0..2 {
            last = self.wait_for("frame", |shown| frames(shown) > frames(&last));
        }
    }

    pub(crate) fn point(&self, [x, y]: [f64; 2]) {
        self.display.xdotool(&["mousemove", &format!("{x:.0}"), &format!("{y:.0}")]);
        self.next_frame();
    }

    pub(crate) fn press(&self, button: &str) {
        self.display.xdotool(&["mousedown", button]);
        self.next_frame();
        self.display.xdotool(&["mouseup", button]);
        self.next_frame();
    }

    pub(crate) fn key(&self, key: &str) {
        self.display.xdotool(&["key", key]);
        self.next_frame();
    }

    pub(crate) fn hold(&self, key: &str, time: Duration) {
        self.display.xdotool(&["keydown", key]);
        sleep(time);
        self.display.xdotool(&["keyup", key]);
        self.next_frame();
    }

    pub(crate) fn drag(&self, from: [f64; 2], to: [f64; 2]) {
        self.point(from);
        self.display.xdotool(&["mousedown", "1"]);
        self.next_frame();
        self.point(to);
        self.display.xdotool(&["mouseup", "1"]);
        self.next_frame();
    }

    /// The colour of a pixel of the window, such as `#E6EAF0`.
    pub(crate) fn pixel(&self, x: f64, y: f64) -> String {
        let crop = format!("1x1+{:.0}+{:.0}", x.floor(), y.floor());
        let words = ["-window", "root", "-crop", &crop, "+repage", "-depth", "8", "txt:-"];
        let text = self.display.run("import", &words, "");
        let colour = text.lines().last().and_then(|line| line.split_whitespace().nth(2));
        colour.unwrap_or_default().to_owned()
    }

    /// Keeps what is on the screen.
    pub(crate) fn picture(&self, of: &str) -> PathBuf {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("target").join("pictures");
        std::fs::create_dir_all(&folder).expect("a folder for pictures");
        let file = folder.join(format!("{}-{of}.png", self.name));
        let shown = self.shown();
        let size = |at: usize| shown["window"][at].as_f64().unwrap_or(0.0);
        let crop = format!("{}x{}+0+0", size(0), size(1));
        let taken = Command::new("import")
            .args(["-display", &self.display.name, "-window", "root", "-crop", &crop, "+repage"])
            .arg(&file)
            .status();
        assert!(taken.is_ok_and(|status| status.success()), "a picture");
        file
    }

    /// Asserts that nothing is cut, covered or too small.
    pub(crate) fn assert_tidy(&self, of: &str) {
        // A frame after every animation.
        let began = self.wait_for("frame", |shown| shown["seconds"].is_f64())["seconds"].as_f64();
        let shown =
            self.wait_for("frame", |shown| shown["seconds"].as_f64() > began.map(|began| began + 0.3));
        let problems = shown["problems"].as_array().expect("a list");
        if !problems.is_empty() {
            self.picture(&format!("untidy-{of}"));
        }
        assert!(problems.is_empty(), "{} {of}: {problems:?}", self.name);
        // In a match there is nothing but the arena unless something is said.
        assert!(!shown["items"].as_array().expect("a list").is_empty() || shown["screen"] == "match");
    }

    /// Closes the window as its cross does.
    pub(crate) fn close(&self) {
        let id = self.display.xdotool(&["search", "--onlyvisible", "--name", "Mini RTS Arena"]);
        let id = id.lines().last().and_then(|id| id.parse().ok()).expect("a window");
        close_window(&self.display.name, id).expect("the X server takes requests");
    }

    pub(crate) fn wait_end(&mut self) {
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            if let Some(status) = self.program.try_wait().expect("it is ours") {
                assert!(status.success(), "{}: {status}; log: {}", self.name, self.log());
                return;
            }
            sleep(Duration::from_millis(20));
        }
        panic!("{}: the program does not end", self.name);
    }

    /// The whole replays it recorded.
    pub(crate) fn replays(&self) -> Vec<PathBuf> {
        self.recordings("mra")
    }

    /// The recordings whose names have this ending: `mra` if they are whole, else `part`.
    pub(crate) fn recordings(&self, ending: &str) -> Vec<PathBuf> {
        let folder = self.home.path().join("mini-rts-arena/replays");
        let files = std::fs::read_dir(folder).into_iter().flatten().flatten().map(|file| file.path());
        files.filter(|file| file.extension().is_some_and(|found| found == ending)).collect()
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        if std::thread::panicking() {
            let (name, ended, log) = (self.name, self.program.try_wait(), self.log());
            eprintln!("{name} at the end: {ended:?}; log: {log}");
        }
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

/// The program, in a network namespace if one is given.
pub(crate) fn arena_in(namespace: Option<&str>) -> Command {
    let arena = env!("CARGO_BIN_EXE_arena");
    let Some(namespace) = namespace else { return Command::new(arena) };
    let mut command = Command::new("ip");
    command.args(["netns", "exec", namespace, arena]);
    command
}

/// The text of an item of the page, or of the arena's own interface; empty for an item that is not there.
pub(crate) fn text_of(shown: &Value, item: &str) -> String {
    let items = ["items", "arena_items"].into_iter().filter_map(|list| shown[list].as_array()).flatten();
    let mut found = items.filter(|found| found["name"] == item);
    found.next().and_then(|found| found["text"].as_str()).unwrap_or_default().to_owned()
}

/// A connection to an X server, for requests in the X protocol.
pub(crate) fn connect(display: &str) -> std::io::Result<UnixStream> {
    let mut server = UnixStream::connect(format!("/tmp/.X11-unix/X{}", display.trim_start_matches(':')))?;
    server.write_all(&[b'l', 0, 11, 0, 0, 0, 0, 0, 0, 0, 0, 0])?;
    let mut head = [0; 8];
    server.read_exact(&mut head)?;
    assert_eq!(head[0], 1, "the server lets us in");
    let mut rest = vec![0; usize::from(u16::from_le_bytes([head[6], head[7]])) * 4];
    server.read_exact(&mut rest)?;
    Ok(server)
}

/// Puts another of the keyboard's layouts in force, as a key for it does.
pub(crate) fn lock_group(display: &str, group: u8) -> std::io::Result<()> {
    let mut server = connect(display)?;
    let mut request = vec![98, 0, 5, 0, 9, 0, 0, 0];
    request.extend(b"XKEYBOARD\0\0\0");
    server.write_all(&request)?;
    let mut reply = [0; 32];
    server.read_exact(&mut reply)?;
    let extension = reply[9];
    // The version that is spoken, 1.0.
    server.write_all(&[extension, 0, 2, 0, 1, 0, 0, 0])?;
    server.read_exact(&mut reply)?;
    server.write_all(&[extension, 5, 4, 0, 0, 1, 0, 0, 1, group, 0, 0, 0, 0, 0, 0])?;
    // An answer to a later request says that this one was carried out.
    server.write_all(&[16, 1, 3, 0, 4, 0, 0, 0, b'A', b'T', b'O', b'M'])?;
    server.read_exact(&mut reply)
}

/// Asks a window to close, as a window manager does: with a WM_DELETE_WINDOW message.
pub(crate) fn close_window(display: &str, window: u32) -> std::io::Result<()> {
    let mut server = connect(display)?;
    let mut atom = |name: &str| -> std::io::Result<u32> {
        let mut padded = name.as_bytes().to_vec();
        padded.resize(name.len().next_multiple_of(4), 0);
        let mut request = vec![16, 0];
        request.extend((2 + padded.len() as u16 / 4).to_le_bytes());
        request.extend((name.len() as u16).to_le_bytes());
        request.extend([0, 0]);
        request.extend(padded);
        server.write_all(&request)?;
        let mut reply = [0; 32];
        server.read_exact(&mut reply)?;
        Ok(u32::from_le_bytes([reply[8], reply[9], reply[10], reply[11]]))
    };
    let (protocols, delete) = (atom("WM_PROTOCOLS")?, atom("WM_DELETE_WINDOW")?);
    let mut request = vec![25, 0];
    request.extend(11_u16.to_le_bytes());
    request.extend(window.to_le_bytes());
    request.extend(0_u32.to_le_bytes());
    request.extend([33, 32, 0, 0]);
    for word in [window, protocols, delete, 0, 0, 0, 0] {
        request.extend(word.to_le_bytes());
    }
    server.write_all(&request)?;
    // An answer to a later request says that this one was carried out.
    let mut request = vec![16, 1];
    request.extend([3, 0, 4, 0, 0, 0]);
    request.extend(b"ATOM");
    server.write_all(&request)?;
    server.read_exact(&mut [0; 32])
}
