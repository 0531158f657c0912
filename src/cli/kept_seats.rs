//! Seats on servers that this user's processes hold, so that a player whose process died can take the seat back.
//!
//! Each seat is a file, locked by the process that plays: the system releases the lock when that process ends, for
//! whatever reason.

use serde::{Deserialize, Serialize};
use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use super::args::JoinArguments;
use super::paths;
use game::text_file;
use game::{Finished, MatchError, MatchOutcome};
use net::{PlayerName, Refusal, Token};
use sim::{KindName, PlayerId};

/// Maximum number of kept seats: more people than play at one computer.
const SEATS_MAX: usize = 4;
/// Maximum size of a file that is read, in bytes; the program's own is a fifth of it.
const BYTES_MAX: u64 = 4 * 1024;
/// Time after a seat was last played for which it is offered. Servers keep a seat for 45 s, or as configured.
const STALE_AFTER: Duration = Duration::from_secs(15 * 60);
/// Interval in which a playing process renews its file.
const REFRESH: Duration = Duration::from_secs(10);

/// Content of the file: everything needed to take the seat back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct KeptSeat {
    /// Addresses of the server.
    pub(crate) hosts: Vec<SocketAddr>,
    /// Room, by its name in lists.
    pub(crate) room: String,
    token: String,
    name: Option<PlayerName>,
    hero: Option<KindName>,
    code: Option<String>,
    rules: Option<String>,
    map: Option<String>,
}

impl KeptSeat {
    /// Describes the seat obtained with these arguments.
    pub(crate) fn new(arguments: &JoinArguments, hosts: &[SocketAddr], room: u64, token: Token) -> Self {
        let game = &arguments.game;
        Self {
            hosts: hosts.to_vec(),
            room: room_text(room),
            token: token_text(token),
            name: game.player.name,
            hero: game.player.hero,
            code: game.network.room.clone(),
            // A file whose name is not Unicode must be given again.
            rules: game.terms.rules.as_deref().and_then(Path::to_str).map(str::to_owned),
            map: game.terms.map.as_deref().and_then(Path::to_str).map(str::to_owned),
        }
    }

    /// Whether it is in this room.
    #[cfg_attr(not(feature = "gui"), allow(dead_code, reason = "only the window has a list of rooms"))]
    pub(crate) fn is_in(&self, room: u64) -> bool {
        self.room == room_text(room)
    }

    /// Adds the seat to the arguments; values from the command line take precedence.
    pub(crate) fn put_into(&self, arguments: &mut JoinArguments) {
        arguments.token = super::args::token(&self.token).ok();
        let game = &mut arguments.game;
        game.player.name = game.player.name.or(self.name);
        game.player.hero = self.hero;
        game.player.is_ready = true;
        game.network.room = game.network.room.take().or_else(|| self.code.clone());
        game.terms.rules = game.terms.rules.take().or_else(|| self.rules.as_ref().map(PathBuf::from));
        game.terms.map = game.terms.map.take().or_else(|| self.map.as_ref().map(PathBuf::from));
    }
}

fn room_text(room: u64) -> String {
    format!("{room:016x}")
}

/// Formats a token as digits.
pub(crate) fn token_text(token: Token) -> String {
    token.0.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Lists the seats that no process is playing and that may still be kept, last played first.
pub(crate) fn abandoned_seats() -> Vec<KeptSeat> {
    paths::data_folder("seats").map(|folder| abandoned_in(&folder)).unwrap_or_default()
}

fn abandoned_in(folder: &Path) -> Vec<KeptSeat> {
    let mut found: Vec<(SystemTime, KeptSeat)> = files(folder)
        .filter_map(|path| {
            let file = open(&path, false).ok()?;
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return None;
            }
            let played_at = file.metadata().and_then(|data| data.modified()).ok()?;
            let is_stale = played_at.elapsed().is_ok_and(|since| since > STALE_AFTER);
            match read(&file) {
                Some(seat) if !is_stale => Some((played_at, seat)),
                _ => {
                    let _ = std::fs::remove_file(&path);
                    None
                }
            }
        })
        .collect();
    found.sort_by_key(|(played_at, _)| core::cmp::Reverse(*played_at));
    found.into_iter().map(|(_, seat)| seat).collect()
}

/// Iterates over the files of seats; their names are numbers below [`SEATS_MAX`].
fn files(folder: &Path) -> impl Iterator<Item = PathBuf> + '_ {
    (0..SEATS_MAX).map(|number| folder.join(format!("seat-{number}.toml")))
}

/// Opens a file. Only this user may read it, since it holds a token.
fn open(path: &Path, creates: bool) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create(creates);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

fn read(file: &File) -> Option<KeptSeat> {
    let mut bytes = Vec::new();
    file.take(BYTES_MAX).read_to_end(&mut bytes).ok()?;
    let seat: KeptSeat = toml::from_str(&text_file::decode(bytes).ok()?).ok()?;
    super::args::token(&seat.token).is_ok().then_some(seat)
}

/// File of the seat that this process plays.
#[derive(Default)]
pub(crate) struct SeatKeeper {
    kept: Option<(PathBuf, File)>,
    refreshed: Option<Instant>,
}

impl SeatKeeper {
    /// Keeps a seat from now on, in place of the previous one.
    ///
    /// # Errors
    /// If the file cannot be created; the match does not depend on it.
    pub(crate) fn keep(&mut self, seat: &KeptSeat) -> anyhow::Result<()> {
        self.keep_in(&paths::data_folder("seats")?, seat)
    }

    fn keep_in(&mut self, folder: &Path, seat: &KeptSeat) -> anyhow::Result<()> {
        if self.kept.is_none() {
            self.kept = free_file(folder, seat);
        }
        let Some((_, file)) = &mut self.kept else { anyhow::bail!("no file for it in {}", folder.display()) };
        let text = toml::to_string(seat)?;
        file.set_len(0)?;
        file.rewind()?;
        file.write_all(text.as_bytes())?;
        Ok(())
    }

    /// Renews the file at intervals while the seat is being played.
    pub(crate) fn refresh(&mut self) {
        let Some((_, file)) = &self.kept else { return };
        if self.refreshed.is_none_or(|at| at.elapsed() >= REFRESH) {
            self.refreshed = Some(Instant::now());
            let _ = file.set_modified(SystemTime::now());
        }
    }

    /// Forgets the seat if the match has ended in a way that leaves nothing to return to.
    pub(crate) fn end(&mut self, finished: &Finished) {
        let stays = matches!(
            finished.result,
            Ok(ref summary) if summary.outcome == MatchOutcome::PeerLost(PlayerId::NONE)
        ) || matches!(finished.result, Err(MatchError::Internal(_) | MatchError::NoAnswer));
        if !stays {
            self.forget();
        }
    }

    /// Forgets the seat.
    pub(crate) fn forget(&mut self) {
        if let Some((path, file)) = self.kept.take() {
            drop(file);
            let _ = std::fs::remove_file(path);
        }
    }
}

/// Returns a file that no process has locked: that of the same seat, an unused one, or that of the seat played
/// longest ago.
fn free_file(folder: &Path, seat: &KeptSeat) -> Option<(PathBuf, File)> {
    let mut free: Vec<((bool, SystemTime), PathBuf, File)> = files(folder)
        .filter_map(|path| {
            let file = open(&path, true).ok()?;
            if matches!(file.try_lock(), Err(TryLockError::WouldBlock)) {
                return None;
            }
            let there = read(&file);
            let is_same = there.as_ref().is_some_and(|there| there.token == seat.token);
            let played = file.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            let played = if there.is_none() { SystemTime::UNIX_EPOCH } else { played };
            Some(((!is_same, played), path, file))
        })
        .collect();
    free.sort_by_key(|(order, ..)| *order);
    let mut free = free.into_iter();
    let (_, path, file) = free.next()?;
    // Removes files that were created only for the search.
    for (_, path, file) in free {
        if file.metadata().is_ok_and(|data| data.len() == 0) {
            let _ = std::fs::remove_file(path);
        }
    }
    Some((path, file))
}

/// Whether a refusal means that the seat no longer exists.
pub(crate) const fn is_gone(error: &MatchError) -> bool {
    matches!(error, MatchError::Refused(Refusal::Token | Refusal::Running))
}

/// Forgets an abandoned seat that its server no longer keeps.
pub(crate) fn forget(token: Token) {
    let Ok(folder) = paths::data_folder("seats") else { return };
    for path in files(&folder) {
        let is_it = open(&path, false).ok().and_then(|file| read(&file));
        if is_it.is_some_and(|seat| seat.token == token_text(token)) {
            let _ = std::fs::remove_file(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cli::args::usual;

    fn seat(number: u8) -> KeptSeat {
        let mut arguments: JoinArguments = usual();
        arguments.game.network.room = Some("oak".into());
        let host = "192.168.1.20:4124".parse().expect("an address");
        KeptSeat::new(&arguments, &[host], 7, Token([number; 16]))
    }

    #[test]
    fn a_seat_is_offered_once_its_process_has_gone_and_until_it_is_stale() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut keeper = SeatKeeper::default();
        keeper.keep_in(folder.path(), &seat(1)).expect("kept");
        assert_eq!(abandoned_in(folder.path()), [], "it is being played");
        // As when the process dies, without cleaning up.
        drop(keeper);
        assert_eq!(abandoned_in(folder.path()), [seat(1)]);
        let path = files(folder.path()).next().expect("the first");
        let text = std::fs::read_to_string(&path).expect("text");
        std::fs::write(&path, format!("\u{feff}{}", text.replace('\n', "\r\n"))).expect("written");
        assert_eq!(abandoned_in(folder.path()), [seat(1)], "as an editor saves it");
        #[cfg(unix)]
        {
            let mode =
                std::os::unix::fs::PermissionsExt::mode(&path.metadata().expect("there").permissions());
            assert_eq!(mode & 0o777, 0o600);
        }
        let mut arguments: JoinArguments = usual();
        seat(1).put_into(&mut arguments);
        assert_eq!(
            (arguments.token, arguments.game.network.room),
            (Some(Token([1; 16])), Some("oak".into()))
        );
        assert!(seat(1).is_in(7) && !seat(1).is_in(8));
        let long_ago = SystemTime::now() - STALE_AFTER - Duration::from_secs(1);
        open(&path, false).expect("there").set_modified(long_ago).expect("set");
        assert_eq!(abandoned_in(folder.path()), []);
        assert!(!path.exists(), "a stale one is removed");
    }

    #[test]
    fn seats_are_bounded_and_a_seat_that_was_taken_back_has_one_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut keepers: Vec<SeatKeeper> = (0..SEATS_MAX).map(|_| SeatKeeper::default()).collect();
        for (number, keeper) in (1..).zip(&mut keepers) {
            keeper.keep_in(folder.path(), &seat(number)).expect("kept");
        }
        assert!(SeatKeeper::default().keep_in(folder.path(), &seat(9)).is_err(), "all are being played");
        keepers.truncate(2);
        keepers[0].forget();
        let mut again = SeatKeeper::default();
        again.keep_in(folder.path(), &seat(4)).expect("kept");
        assert_eq!(abandoned_in(folder.path()), [seat(3)]);
        drop(again);
        std::fs::write(files(folder.path()).next().expect("a name"), [0xff; 64]).expect("written");
        let mut left: Vec<KeptSeat> = abandoned_in(folder.path());
        left.sort_by(|a, b| a.token.cmp(&b.token));
        assert_eq!(left, [seat(3), seat(4)], "what cannot be understood is no seat");
    }
}
