//! Text files as people and their editors save them: one reader for scripts, link traces, rules, maps, settings,
//! studies and results.
#![cfg_attr(not(test), deny(clippy::expect_used, clippy::unwrap_used, clippy::indexing_slicing))]

use sim::is_hidden;
use std::fmt::{self, Display, Formatter, Write as _};
use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::Duration;

/// Maximum time without a byte from a pipe or a device: its writer may have to compute first, and a pipe without a
/// writer never yields any.
const SILENCE_MAX: Duration = Duration::from_secs(30);
/// Size of one read from a pipe or a device, in bytes.
const CHUNK_BYTES: usize = 1 << 16;

/// Reason why a file is not readable text.
#[derive(Debug, thiserror::Error)]
pub enum TextError {
    /// It cannot be read.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// It has too many bytes.
    #[error("it has more than {0} bytes, the limit for such a file: is it the right one?")]
    TooLarge(u64),
    /// A pipe or a device gives nothing.
    #[error("it yielded nothing for {} s: is it a pipe without a writer?", .0.as_secs())]
    Silent(Duration),
    /// The file is text in another encoding.
    #[error("it is UTF-16, which some editors call \"Unicode\": save it as UTF-8")]
    Utf16,
    /// The file is in no known text encoding.
    #[error("line {line} is not UTF-8: save the file as UTF-8, if it is text")]
    NotText {
        /// Line, counted from 1.
        line: usize,
    },
}

/// Reads the text of a file of at most `most` bytes, without byte order mark, each line terminated by one `\n`. The
/// size of a pipe or a device is unknown, so the read itself is limited, and so is the time without a byte.
///
/// # Errors
/// If it cannot be read, or is no such text.
pub fn read(file: &Path, most: u64) -> Result<String, TextError> {
    let most_and_one = most.saturating_add(1);
    let bytes = if file.metadata()?.is_file() {
        let mut bytes = Vec::new();
        File::open(file)?.take(most_and_one).read_to_end(&mut bytes)?;
        bytes
    } else {
        read_stream(file, most_and_one, SILENCE_MAX)?
    };
    if bytes.len() as u64 > most {
        return Err(TextError::TooLarge(most));
    }
    decode(bytes)
}

/// Reads at most `most` bytes from a pipe or a device, on a separate thread, since even opening a pipe waits for its
/// writer; after [`TextError::Silent`] the thread waits on until the process ends.
fn read_stream(file: &Path, most: u64, silence: Duration) -> Result<Vec<u8>, TextError> {
    let (sender, chunks) = sync_channel(1);
    let name = file.to_owned();
    std::thread::Builder::new().name("read-text".into()).spawn(move || {
        let read = || -> io::Result<()> {
            let mut stream = File::open(&name)?.take(most);
            loop {
                let mut chunk = vec![0; CHUNK_BYTES];
                match stream.read(&mut chunk) {
                    Ok(0) => return Ok(()),
                    Ok(bytes) => chunk.truncate(bytes),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => return Err(error),
                }
                if sender.send(Ok(chunk)).is_err() {
                    return Ok(());
                }
            }
        };
        if let Err(error) = read() {
            let _ = sender.send(Err(error));
        }
    })?;
    let mut bytes = Vec::new();
    loop {
        match chunks.recv_timeout(silence) {
            Ok(chunk) => bytes.extend(chunk?),
            Err(RecvTimeoutError::Disconnected) => return Ok(bytes),
            Err(RecvTimeoutError::Timeout) => return Err(TextError::Silent(silence)),
        }
    }
}

/// Decodes bytes that were already read.
///
/// # Errors
/// If they are no text.
pub fn decode(bytes: Vec<u8>) -> Result<String, TextError> {
    let begin = bytes.get(..4.min(bytes.len())).unwrap_or_default();
    // Without a byte order mark, every other byte of UTF-16 Latin text is zero, and in UTF-8 no byte is.
    let is_utf16 = begin.starts_with(b"\xff\xfe") || begin.starts_with(b"\xfe\xff") || begin.contains(&0);
    if is_utf16 && !begin.iter().all(|&byte| byte == 0) {
        return Err(TextError::Utf16);
    }
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.as_bytes().get(..error.utf8_error().valid_up_to()).unwrap_or_default();
        TextError::NotText { line: good.iter().filter(|&&byte| byte == b'\n').count().saturating_add(1) }
    })?;
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let mut text = text.replace("\r\n", "\n").replace('\r', "\n");
    if !text.is_empty() && !text.ends_with('\n') {
        text.push('\n');
    }
    Ok(text)
}

/// Displays a text with its hidden characters escaped (`\u{1b}`), except line breaks: a file's content must not
/// control the terminal that shows an error about it.
pub(crate) struct Escaped<'a>(pub(crate) &'a str);

impl Display for Escaped<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            if is_hidden(character) && character != '\n' {
                write!(f, "{}", character.escape_debug())?;
            } else {
                f.write_char(character)?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(unix)]
    use std::io::Write as _;

    fn text(bytes: &[u8]) -> Result<String, String> {
        decode(bytes.to_vec()).map_err(|error| error.to_string())
    }

    #[test]
    fn byte_order_marks_and_line_ends_are_normalised() {
        let plain = Ok("a\nb \n\u{e9}\n".to_owned());
        for saved in [
            "a\nb \n\u{e9}\n",
            "a\nb \n\u{e9}",
            "a\r\nb \r\n\u{e9}\r\n",
            "\u{feff}a\r\nb \n\u{e9}",
            "a\rb \r\u{e9}\r",
        ] {
            assert_eq!(text(saved.as_bytes()), plain, "{saved:?}");
        }
        assert_eq!([text(b""), text(b"\xef\xbb\xbf")], [Ok(String::new()), Ok(String::new())]);
    }

    #[test]
    fn other_encodings_are_named_with_advice() {
        let wide =
            |bytes: fn(u16) -> [u8; 2]| "ms,\u{e9}\n".encode_utf16().flat_map(bytes).collect::<Vec<u8>>();
        let (little, big) = (wide(u16::to_le_bytes), wide(u16::to_be_bytes));
        let marked = |mark: &[u8], text: &[u8]| [mark, text].concat();
        for bytes in
            [&little, &big, &marked(b"\xff\xfe", &little), &marked(b"\xfe\xff", &big), &b"\xff\xfe".to_vec()]
        {
            let error = text(bytes).expect_err("UTF-16");
            assert!(error.contains("UTF-16") && error.contains("save it as UTF-8"), "{bytes:?}: {error}");
        }
        assert!(text(b"a\nb\xe9\n").expect_err("Latin-1").starts_with("line 2 is not UTF-8"));
    }

    #[test]
    fn a_file_has_a_limit_whether_its_size_is_known_or_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("a");
        std::fs::write(&file, "12345").expect("written");
        assert_eq!(read(&file, 5).expect("short enough"), "12345\n");
        assert!(matches!(read(&file, 4), Err(TextError::TooLarge(4))));
        assert!(matches!(read(folder.path(), 4), Err(TextError::Io(_))), "a folder is no text");
        if cfg!(unix) {
            assert!(matches!(read(Path::new("/dev/zero"), 1 << 16), Err(TextError::TooLarge(_))));
        }
    }

    #[test]
    #[cfg(unix)]
    fn pipes_are_read_and_one_without_a_writer_is_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        let [fed, dry] = ["fed", "dry"].map(|name| {
            let pipe = folder.path().join(name);
            let made = std::process::Command::new("mkfifo").arg(&pipe).status();
            assert!(made.is_ok_and(|status| status.success()), "a pipe");
            pipe
        });
        let into = fed.clone();
        let writer = std::thread::spawn(move || {
            let mut pipe = File::options().write(true).open(into)?;
            ["\u{feff}a\r", "\nb"].iter().try_for_each(|part| pipe.write_all(part.as_bytes()))
        });
        assert_eq!(read(&fed, 100).expect("text"), "a\nb\n");
        writer.join().expect("no panic").expect("written");
        let silent = read_stream(&dry, 100, Duration::from_millis(50)).expect_err("nothing is there");
        assert!(silent.to_string().contains("without a writer"), "{silent}");
    }

    #[test]
    fn hidden_characters_are_escaped_and_nothing_else_is() {
        let shown = Escaped("\"Zoë's\" \u{1b}[31mred\u{202e}\r\n\tback\\slash").to_string();
        assert_eq!(shown, "\"Zoë's\" \\u{1b}[31mred\\u{202e}\\r\n\\tback\\slash");
    }
}
