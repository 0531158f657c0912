//! Checks beforehand whether a window can be opened, since the window library panics if it cannot.

#[cfg(target_os = "linux")]
use std::path::{Path, PathBuf};

/// Minimum colour depth for OpenGL, in bits.
#[cfg(target_os = "linux")]
pub(crate) const COLOUR_BITS_LEAST: u8 = 15;
/// Limits of the width and height that can be requested, in pixels.
pub(crate) const SIDE_LEAST: u16 = 100;
pub(crate) const SIDE_MAX: u16 = 8_192;

/// Reason why no window can be opened.
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
    /// The screen's colour depth, in bits, is too low for OpenGL.
    #[cfg(target_os = "linux")]
    #[error("the screen has {0} bits of colour, and the window needs {COLOUR_BITS_LEAST} or more")]
    FewColours(u8),
    /// `ARENA_WINDOW` is not a size.
    #[error("ARENA_WINDOW is {0:?}: a size such as 1280x720, each side from {SIDE_LEAST} to {SIDE_MAX}")]
    Size(String),
    /// The X server does not answer.
    #[cfg(target_os = "linux")]
    #[error("the X server {0} does not answer ({1})")]
    NoServer(String, std::io::Error),
    /// A system graphics library is missing.
    #[cfg(target_os = "linux")]
    #[error("{0} is not installed")]
    NoLibrary(&'static str),
    /// The window library failed.
    #[error("it cannot be opened ({0})")]
    Failed(String),
}

/// Checks everything that can be checked without opening a window.
#[cfg(not(target_os = "linux"))]
pub(crate) fn probe() -> Result<(), NoWindow> {
    Ok(())
}

/// Checks everything that can be checked without opening a window.
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
        // If the system keeps its libraries elsewhere, assume that it has them.
        !installed.is_empty() && !names.iter().any(is_there)
    });
    missing.map_or(Ok(()), |names| Err(NoWindow::NoLibrary(names[0])))
}

/// Connects as the window library will: to `:N` by a local socket, to `HOST:N` by TCP.
#[cfg(target_os = "linux")]
fn connect(display: &str) -> std::io::Result<()> {
    use std::io::{Error, ErrorKind};
    use std::net::{TcpStream, ToSocketAddrs as _};
    use std::os::linux::net::SocketAddrExt as _;
    use std::os::unix::net::{SocketAddr, UnixStream};
    use std::time::Duration;
    const FIRST_PORT: u16 = 6000;
    const PATIENCE: Duration = Duration::from_secs(2);
    let malformed = || Error::new(ErrorKind::InvalidInput, "there is no display of this name");
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

/// Returns the names of all files in the usual library folders.
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
    fn missing_displays_are_distinguished() {
        for display in ["x", ":x", ":4711", "127.0.0.1:59000"] {
            assert!(connect(display).is_err(), "{display}");
        }
    }
}
