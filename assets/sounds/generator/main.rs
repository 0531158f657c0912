//! Writes every sound of the game beside itself, into `assets/sounds`: `cargo run --example sounds`.
//!
//! Nothing is drawn from outside and only exactly defined arithmetic is used, so that every machine writes the
//! same bytes; the test compares them with the files.

mod instruments;
mod sounds;

use std::path::{Path, PathBuf};

use instruments::RATE;
use sounds::SOUNDS;

fn main() -> std::io::Result<()> {
    let mut bytes = 0;
    for (name, make) in SOUNDS {
        let wav = wav(&make().into_samples());
        bytes += wav.len();
        std::fs::write(file(name), wav)?;
    }
    println!("{} sounds, {bytes} bytes", SOUNDS.len());
    Ok(())
}

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/sounds").join(format!("{name}.wav"))
}

/// A WAV file: one channel, 16 bits, [`RATE`] samples a second.
fn wav(samples: &[i16]) -> Vec<u8> {
    let bytes = samples.len() as u32 * 2;
    let mut file = Vec::with_capacity(44 + bytes as usize);
    file.extend(b"RIFF");
    file.extend((36 + bytes).to_le_bytes());
    file.extend(b"WAVEfmt ");
    file.extend(16_u32.to_le_bytes());
    // Format 1 is plain samples; then the channels.
    file.extend(1_u16.to_le_bytes());
    file.extend(1_u16.to_le_bytes());
    file.extend(RATE.to_le_bytes());
    file.extend((RATE * 2).to_le_bytes());
    // Bytes a frame, bits a sample.
    file.extend(2_u16.to_le_bytes());
    file.extend(16_u16.to_le_bytes());
    file.extend(b"data");
    file.extend(bytes.to_le_bytes());
    samples.iter().for_each(|sample| file.extend(sample.to_le_bytes()));
    file
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn the_files_are_what_the_generator_writes() {
        for (name, make) in SOUNDS {
            let found = std::fs::read(file(name)).unwrap_or_default();
            assert!(found == wav(&make().into_samples()), "{name}: run `cargo run --example sounds`");
        }
    }

    #[test]
    fn the_folder_holds_no_other_sound() {
        let folder = file("any");
        let files = std::fs::read_dir(folder.parent().expect("a folder")).expect("readable");
        let found: BTreeSet<PathBuf> = files.map(|file| file.expect("readable").path()).collect();
        let expected = SOUNDS.iter().map(|(name, _)| file(name));
        let expected: BTreeSet<PathBuf> = expected.chain([folder.with_file_name("generator")]).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn sounds_are_loud_enough_and_begin_and_end_without_a_click() {
        for (name, make) in SOUNDS {
            let samples = make().into_samples();
            let loudest = samples.iter().map(|sample| sample.unsigned_abs()).max().unwrap_or(0);
            assert!((8_000..32_000).contains(&loudest), "{name}: loudest sample {loudest}");
            let ends = [samples[0], samples[samples.len() - 1]];
            assert!(ends.iter().all(|sample| sample.unsigned_abs() < 300), "{name}: {ends:?}");
            assert!(samples.len() < 2 * RATE as usize, "{name}: {} samples", samples.len());
        }
    }
}
