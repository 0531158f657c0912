//! The system's allocator, counting what each thread asks of it.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// What a thread has asked for since it began.
#[derive(Clone, Copy, Default)]
struct Counts {
    allocations: usize,
    bytes: usize,
    /// Bytes of the largest allocation since it was last reset.
    largest: usize,
}

thread_local! {
    static COUNTS: Cell<Counts> = const { Cell::new(Counts { allocations: 0, bytes: 0, largest: 0 }) };
}

struct Counting;

#[global_allocator]
static COUNTING: Counting = Counting;

fn count(size: usize) {
    // A thread that ends no longer counts.
    let _ = COUNTS.try_with(|counts| {
        let Counts { allocations, bytes, largest } = counts.get();
        counts.set(Counts {
            allocations: allocations + 1,
            bytes: bytes.wrapping_add(size),
            largest: largest.max(size),
        });
    });
}

// SAFETY: everything is passed on to the system's allocator; counting touches no memory of others.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        unsafe { System.dealloc(at, layout) }
    }
    unsafe fn realloc(&self, at: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(at, layout, size) }
    }
}

/// Runs `work` and says how often this thread allocated meanwhile.
pub fn allocations<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = COUNTS.get().allocations;
    let result = work();
    (result, COUNTS.get().allocations - before)
}

/// Runs `work` and says how many bytes this thread allocated meanwhile.
pub fn allocated_bytes<T>(work: impl FnOnce() -> T) -> (T, usize) {
    let before = COUNTS.get().bytes;
    let result = work();
    (result, COUNTS.get().bytes.wrapping_sub(before))
}

/// Runs `work` and says how many bytes the largest allocation of this thread had meanwhile.
pub fn largest_allocation<T>(work: impl FnOnce() -> T) -> (T, usize) {
    COUNTS.set(Counts { largest: 0, ..COUNTS.get() });
    let result = work();
    (result, COUNTS.get().largest)
}
