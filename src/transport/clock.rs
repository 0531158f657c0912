//! The library's only clock.

use crate::net::Time;

/// The time now: on Unix the microseconds of CLOCK_MONOTONIC, which all processes of a machine share;
/// elsewhere those since the first call.
#[must_use]
pub fn now() -> Time {
    #[cfg(unix)]
    {
        use nix::time::{ClockId, clock_gettime};
        let spec = clock_gettime(ClockId::CLOCK_MONOTONIC).expect("every Unix has a monotonic clock");
        Time(spec.tv_sec() as u64 * 1_000_000 + spec.tv_nsec() as u64 / 1_000)
    }
    #[cfg(not(unix))]
    {
        static START: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
        Time(START.get_or_init(std::time::Instant::now).elapsed().as_micros() as u64)
    }
}

/// CPU time that this process has used, in microseconds: in its own code, and in the kernel for it. Zeros
/// where the system does not tell.
#[must_use]
pub fn cpu_time_us() -> (u64, u64) {
    #[cfg(unix)]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        use nix::sys::time::TimeValLike as _;
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("every process may ask about itself");
        let micros = |time: nix::sys::time::TimeVal| time.num_microseconds().unsigned_abs();
        (micros(usage.user_time()), micros(usage.system_time()))
    }
    #[cfg(not(unix))]
    {
        (0, 0)
    }
}

/// Most memory that this process has held, in bytes; 0 where the system does not tell.
#[must_use]
pub fn memory_bytes() -> u64 {
    #[cfg(unix)]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("every process may ask about itself");
        // In kilobytes, but for macOS.
        let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
        u64::try_from(usage.max_rss()).unwrap_or(0) * unit
    }
    #[cfg(not(unix))]
    {
        0
    }
}
