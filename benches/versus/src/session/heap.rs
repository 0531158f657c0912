//! A count of what is asked of the heap: a clone asks for exactly the bytes of its columns, and a tick in
//! its stride should ask for nothing.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static ASKED: Cell<Asked> = const { Cell::new(Asked { times: 0, bytes: 0 }) };
}

/// How often this thread has asked, and for how much.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    pub(crate) times: u64,
    pub(crate) bytes: u64,
}

/// What `work` asks for, and its result.
pub(crate) fn asked_by<T>(work: impl FnOnce() -> T) -> (Asked, T) {
    let before = ASKED.get();
    let result = work();
    let after = ASKED.get();
    (Asked { times: after.times - before.times, bytes: after.bytes - before.bytes }, result)
}

struct Counting;

fn count(bytes: usize) {
    let Asked { times, bytes: sum } = ASKED.get();
    ASKED.set(Asked { times: times + 1, bytes: sum + bytes as u64 });
}

// SAFETY: everything is passed on to the system's allocator; counting touches no memory of others.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size());
        unsafe { System.alloc(layout) }
    }
    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        unsafe { System.dealloc(pointer, layout) }
    }
    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count(size);
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;
