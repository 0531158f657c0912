//! Catches panics on the threads that run matches: a bug ends a match, but not the process.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook};
use std::sync::Once;

thread_local! {
    /// Message of the panic being caught; `None` on a thread that catches none.
    static SAID: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work`. If it panics, nothing is printed: the panic message and its location are the error.
///
/// # Errors
/// If it panics. Data that it was modifying may then be inconsistent.
pub(super) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, String> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let usual = take_hook();
        set_hook(Box::new(move |panic| {
            let is_caught = SAID.with_borrow_mut(|said| said.as_mut().map(|said| *said = in_words(panic)));
            if is_caught.is_none() {
                usual(panic);
            }
        }));
    });
    SAID.set(Some(String::new()));
    let result = catch_unwind(AssertUnwindSafe(work));
    let said = SAID.take().unwrap_or_default();
    result.map_err(|_| said)
}

fn in_words(panic: &PanicHookInfo<'_>) -> String {
    let what = panic.payload_as_str().unwrap_or("no reason given");
    panic.location().map_or_else(|| what.to_owned(), |at| format!("{what}, at {}:{}", at.file(), at.line()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_message_and_location() {
        assert_eq!(caught(|| 3), Ok(3));
        let error = caught(|| panic!("number {}", 4)).expect_err("it panics");
        assert!(error.starts_with("number 4, at ") && error.contains("internal.rs:"), "{error}");
        assert_eq!(caught(|| 5), Ok(5));
    }
}
