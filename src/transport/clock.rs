//! The only clock of the library.

use net::Time;

/// Returns the time now: on Unix the microseconds of CLOCK_MONOTONIC, which all processes of a machine share;
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

/// Returns the CPU time that this process has used, in microseconds: in its own code, and in the kernel for it. Zeros
/// where the system does not report it.
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

/// Returns the peak memory of this process, in bytes. Linux reports it as VmHWM in /proc/self/status; where only
/// getrusage is available (other Unixes), it may be the peak of the process that started this one. 0 where the system
/// does not report it.
#[must_use]
pub fn memory_bytes() -> u64 {
    #[cfg(target_os = "linux")]
    {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        peak_of(&status).unwrap_or(0)
    }
    #[cfg(all(unix, not(target_os = "linux")))]
    {
        use nix::sys::resource::{UsageWho, getrusage};
        let usage = getrusage(UsageWho::RUSAGE_SELF).expect("every process may ask about itself");
        // In kilobytes, except on macOS.
        let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
        u64::try_from(usage.max_rss()).unwrap_or(0) * unit
    }
    #[cfg(not(unix))]
    {
        0
    }
}

/// Parses the peak in a /proc status, in bytes.
#[cfg(target_os = "linux")]
fn peak_of(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn the_peak_memory_is_parsed_from_the_status() {
        assert_eq!(peak_of("VmPeak:\t  9000 kB\nVmHWM:\t   1234 kB\nVmRSS:\t 7 kB\n"), Some(1234 * 1024));
        assert_eq!(peak_of("VmRSS:\t 7 kB\n"), None);
        assert!(memory_bytes() > 100_000);
    }
}
