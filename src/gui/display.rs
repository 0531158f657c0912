//! Whether a window can be opened, found out beforehand: the window library panics where there is none.

#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

/// Least bits of colour with which OpenGL draws.
#[cfg(target_os = "linux")]
pub(crate) const COLOUR_BITS_LEAST: u8 = 15;
/// Least and most pixels of a side that can be asked for.
pub(crate) const SIDE_LEAST: u16 = 100;
pub(crate) const SIDE_MAX: u16 = 8_192;

/// Why there is no window.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NoWindow {
    /// No X server is named.
    #[cfg(target_os = "linux")]
    #[error("DISPLAY is not set")]
    NoDisplay,
    /// A Wayland compositor runs without XWayland.
    #[cfg(target_os = "linux")]
    #[error("DISPLAY is not set, and on Wayland the window needs XWayland: install it, or turn it on")]
    NoXWayland,
    /// The screen has too few bits of colour for OpenGL.
    #[cfg(target_os = "linux")]
    #[error("the screen has {0} bits of colour, and the window needs {COLOUR_BITS_LEAST} or more")]
    FewColours(u8),
    /// `ARENA_WINDOW` is not a size.
    #[error("ARENA_WINDOW is {0:?}: a size such as 1280x720, each side from {SIDE_LEAST} to {SIDE_MAX}")]
    Size(String),
    /// No X server answers.
    #[cfg(target_os = "linux")]
    #[error("the X server {0} does not answer ({1})")]
    NoServer(String, std::io::Error),
    /// A part of the system's graphics is missing.
    #[cfg(target_os = "linux")]
    #[error("{0} is not installed")]
    NoLibrary(&'static str),
    /// The window library gave up.
    #[error("it cannot be opened ({0})")]
    Failed(String),
}

/// Asks what can be asked without opening a window.
#[cfg(not(target_os = "linux"))]
pub(crate) fn probe() -> Result<(), NoWindow> {
    Ok(())
}

/// Asks what can be asked without opening a window.
#[cfg(target_os = "linux")]
pub(crate) fn probe() -> Result<(), NoWindow> {
    let named = |variable| std::env::var(variable).ok().filter(|name| !name.is_empty());
    let missing = || named("WAYLAND_DISPLAY").map_or(NoWindow::NoDisplay, |_| NoWindow::NoXWayland);
    let display = named("DISPLAY").ok_or_else(missing)?;
    connect(&display).map_err(|error| NoWindow::NoServer(display, error))?;
    const NEEDED: [&[&str]; 4] =
        [&["libX11.so"], &["libXi.so"], &["libxkbcommon.so"], &["libGL.so", "libGLX.so", "libEGL.so"]];
    let installed = installed_libraries();
    let missing = NEEDED.into_iter().find(|names| {
        let is_there = |name: &&str| installed.iter().any(|file| file.starts_with(*name));
        // A system whose libraries lie elsewhere gets the benefit of the doubt.
        !installed.is_empty() && !names.iter().any(is_there)
    });
    missing.map_or(Ok(()), |names| Err(NoWindow::NoLibrary(names[0])))
}

/// Connects as the window library will: `:N` by a local socket, `HOST:N` by TCP.
#[cfg(target_os = "linux")]
fn connect(display: &str) -> std::io::Result<()> {
    use std::io::{Error, ErrorKind};
    use std::net::{TcpStream, ToSocketAddrs as _};
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream};
    use std::time::Duration;
    const FIRST_PORT: u16 = 6000;
    const PATIENCE: Duration = Duration::from_secs(2);
    let malformed = || Error::new(ErrorKind::InvalidInput, "no display is called that");
    let (host, number) = display.rsplit_once(':').ok_or_else(malformed)?;
    let number: u16 = number.split('.').next().unwrap_or("").parse().map_err(|_| malformed())?;
    if host.is_empty() || host == "unix" {
        let path = format!("/tmp/.X11-unix/X{number}");
        let by_name = SocketAddr::from_abstract_name(&path).and_then(|name| UnixStream::connect_addr(&name));
        return by_name.or_else(|_| UnixStream::connect(&path)).map(drop);
    }
    let port = FIRST_PORT.checked_add(number).ok_or_else(malformed)?;
    let address = (host, port).to_socket_addrs()?.next().ok_or_else(malformed)?;
    TcpStream::connect_timeout(&address, PATIENCE).map(drop)
}

/// The names of all files where libraries usually are.
#[cfg(target_os = "linux")]
fn installed_libraries() -> Vec<String> {
    let triplet = format!("{}-linux-gnu", std::env::consts::ARCH);
    let mut folders: Vec<PathBuf> = ["/lib", "/lib64", "/usr/lib", "/usr/lib64", "/usr/local/lib"]
        .into_iter()
        .flat_map(|folder| [folder.into(), Path::new(folder).join(&triplet)])
        .collect();
    let given = std::env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    folders.extend(std::env::split_paths(&given).filter(|folder| !folder.as_os_str().is_empty()));
    let files = folders.iter().filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten();
    files.filter_map(|file| file.file_name().into_string().ok()).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn displays_that_are_not_there_are_told_apart() {
        for display in ["x", ":x", ":4711", "127.0.0.1:59000"] {
            assert!(connect(display).is_err(), "{display}");
        }
    }
}
