//! Output by ALSA. The library is loaded on demand, so that the program neither builds nor starts with it.

use libloading::{Library, Symbol};
use std::convert::Infallible;
use std::ffi::{c_char, c_int, c_long, c_uint, c_ulong, c_void};
use std::time::{Duration, Instant};

use super::mixer::BLOCK_FRAMES;
use super::source::{RATE, Source};

/// Buffer between mixer and loudspeaker, in microseconds.
const LATENCY_US: c_uint = 25_000;
/// Number of consecutive blocks that a device accepts without waiting before it counts as one without a clock.
const UNCLOCKED_AFTER: u32 = 100;

// From `alsa/pcm.h`.
const PLAYBACK: c_int = 0;
const S16: c_int = if cfg!(target_endian = "big") { 3 } else { 2 };
const INTERLEAVED: c_int = 3;

type Pcm = *mut c_void;
type Handler = unsafe extern "C" fn(*const c_char, c_int, *const c_char, c_int, *const c_char);

/// Library functions in use, with their C types.
struct Functions<'a> {
    set_error_handler: Symbol<'a, unsafe extern "C" fn(Handler) -> c_int>,
    open: Symbol<'a, unsafe extern "C" fn(*mut Pcm, *const c_char, c_int, c_int) -> c_int>,
    set_params: Symbol<'a, unsafe extern "C" fn(Pcm, c_int, c_int, c_uint, c_uint, c_int, c_uint) -> c_int>,
    write: Symbol<'a, unsafe extern "C" fn(Pcm, *const c_void, c_ulong) -> c_long>,
    recover: Symbol<'a, unsafe extern "C" fn(Pcm, c_int, c_int) -> c_int>,
    close: Symbol<'a, unsafe extern "C" fn(Pcm) -> c_int>,
}

/// Open device.
struct Device<'a> {
    functions: &'a Functions<'a>,
    pcm: Pcm,
}

/// Plays to the default device until it fails.
///
/// # Errors
/// If there is no library or no device, or if the device disappears.
pub(super) fn play(source: &mut Source) -> anyhow::Result<Infallible> {
    // SAFETY: the library's initialisers have no preconditions.
    let library = unsafe { Library::new("libasound.so.2") }?;
    let functions = Functions::of(&library)?;
    let device = Device::open(&functions)?;
    let mut at_once = 0;
    loop {
        let mut frames = [[0; 2]; BLOCK_FRAMES];
        source.fill(&mut frames);
        let began = Instant::now();
        device.write(&frames)?;
        let block = Duration::from_secs(1) * BLOCK_FRAMES as u32 / RATE;
        at_once = if began.elapsed() < block / 10 { at_once + 1 } else { 0 };
        if at_once > UNCLOCKED_AFTER {
            std::thread::sleep(block);
        }
    }
}

impl<'a> Functions<'a> {
    fn of(library: &'a Library) -> Result<Self, libloading::Error> {
        // SAFETY: the types are those of `alsa/pcm.h` and `alsa/error.h`; the symbols live as long as the library.
        unsafe {
            Ok(Self {
                set_error_handler: library.get(b"snd_lib_error_set_handler")?,
                open: library.get(b"snd_pcm_open")?,
                set_params: library.get(b"snd_pcm_set_params")?,
                write: library.get(b"snd_pcm_writei")?,
                recover: library.get(b"snd_pcm_recover")?,
                close: library.get(b"snd_pcm_close")?,
            })
        }
    }
}

/// Ignores an error message: without a handler, the library writes them to stderr. C passes more arguments for the
/// text, which are not read.
unsafe extern "C" fn ignore(_: *const c_char, _: c_int, _: *const c_char, _: c_int, _: *const c_char) {}

impl<'a> Device<'a> {
    fn open(functions: &'a Functions<'a>) -> anyhow::Result<Self> {
        let mut pcm: Pcm = std::ptr::null_mut();
        // SAFETY: the handler may be called with more arguments than it names, which the caller removes; the library
        // writes the address of an open device and nothing else.
        let opened = unsafe {
            (functions.set_error_handler)(ignore);
            (functions.open)(&raw mut pcm, c"default".as_ptr(), PLAYBACK, 0)
        };
        anyhow::ensure!(opened >= 0, "no device ({})", reason(opened));
        let device = Self { functions, pcm };
        // SAFETY: the device is open. The 1 lets ALSA resample if the device has another rate.
        let set = unsafe { (functions.set_params)(pcm, S16, INTERLEAVED, 2, RATE, 1, LATENCY_US) };
        anyhow::ensure!(set >= 0, "the device does not support 16-bit stereo ({})", reason(set));
        Ok(device)
    }

    /// Waits for room in the device's buffer, and recovers from an underrun.
    fn write(&self, frames: &[[i16; 2]]) -> anyhow::Result<()> {
        let mut left = frames;
        while !left.is_empty() {
            // SAFETY: the device is open and set to two channels of 16 bits, and reads this number of frames.
            let written =
                unsafe { (self.functions.write)(self.pcm, left.as_ptr().cast(), left.len() as c_ulong) };
            if let Ok(written) = usize::try_from(written) {
                left = &left[written.min(left.len())..];
                continue;
            }
            // SAFETY: the device is open.
            let recovered = unsafe { (self.functions.recover)(self.pcm, written as c_int, 1) };
            anyhow::ensure!(recovered >= 0, "the device has disappeared ({})", reason(recovered));
        }
        Ok(())
    }
}

impl Drop for Device<'_> {
    fn drop(&mut self) {
        // SAFETY: the device is open, and nothing uses it any more.
        unsafe { (self.functions.close)(self.pcm) };
    }
}

/// Converts a negative errno of the library to an error.
fn reason(error: c_int) -> std::io::Error {
    std::io::Error::from_raw_os_error(-error)
}
