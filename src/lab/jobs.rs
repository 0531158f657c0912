//! Independent jobs on several cores.

use rayon::ThreadPoolBuilder;
use rayon::iter::{ParallelBridge as _, ParallelIterator as _};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs every job, at most `jobs` at a time; they start in the order of `all`, and the results have that order.
/// `progress` gets the number of finished jobs and the total. After an error no further job starts.
///
/// # Errors
/// The error of a job.
///
/// # Panics
/// If a job or `progress` panics, or the system has no threads.
pub fn run<J: Send, R: Send, E: Send>(
    jobs: usize,
    all: impl ExactSizeIterator<Item = J> + Send,
    progress: impl Fn(usize, usize) + Sync,
    run: impl Fn(J) -> Result<R, E> + Sync,
) -> Result<Vec<R>, E> {
    let (total, over) = (all.len(), AtomicUsize::new(0));
    let run = |(place, job)| {
        let result = run(job)?;
        progress(over.fetch_add(1, Ordering::Relaxed) + 1, total);
        Ok((place, result))
    };
    let pool = ThreadPoolBuilder::new().num_threads(jobs.clamp(1, total.max(1))).build().expect("threads");
    let results = pool.install(|| all.enumerate().par_bridge().map(run).collect::<Result<Vec<_>, E>>());
    let mut results = results?;
    results.sort_unstable_by_key(|&(place, _)| place);
    Ok(results.into_iter().map(|(_, result)| result).collect())
}

/// Runs work that may panic and turns the panic into an error. The caller must discard any state that the work shares.
///
/// # Errors
/// The panic's message.
pub fn guarded<R>(work: impl FnOnce() -> R) -> Result<R, String> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref::<&str>().copied());
        text.unwrap_or("without a message").to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    #[test]
    fn results_have_the_order_of_the_jobs() {
        let seen = Mutex::new(Vec::new());
        let progress = |over, total| seen.lock().expect("whole").push((over, total));
        let squares = run(3, 0..50_u32, progress, |job| Ok::<_, ()>(job * job)).expect("no error");
        assert!(squares.into_iter().eq((0..50).map(|job| job * job)));
        let mut seen = seen.into_inner().expect("whole");
        seen.sort_unstable();
        assert!(seen.into_iter().eq((1..=50).map(|over| (over, 50))));
        assert_eq!(run(0, 0..0_u32, |_, _| {}, Ok::<_, ()>), Ok(Vec::new()));
    }

    #[test]
    fn no_job_starts_after_an_error() {
        let run_jobs = AtomicUsize::new(0);
        let result = run(
            1,
            0..50_u32,
            |_, _| {},
            |job| {
                run_jobs.fetch_add(1, Ordering::Relaxed);
                if job == 3 { Err(job) } else { Ok(job) }
            },
        );
        assert_eq!((result, run_jobs.into_inner()), (Err(3), 4));
    }
}
