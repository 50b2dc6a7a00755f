//! Errors at the boundary: no panic crosses it, and each thread keeps its last error as a text for C.

use std::any::Any;
use std::cell::RefCell;
use std::ffi::{CString, c_char};
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::declare::Failure;

thread_local! {
    static LAST: RefCell<CString> = RefCell::default();
}

/// The result of `work`, or the value of a failure, with the reason as the last error of this thread.
pub fn reported<T: Failure>(work: impl FnOnce() -> Result<T, String>) -> T {
    // State that a panic leaves is not used again: the lock of its network is poisoned.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|panic| Err(bug(panic.as_ref()))).unwrap_or_else(|problem| {
        let text = CString::new(problem.replace('\0', " ")).unwrap_or_default();
        LAST.with_borrow_mut(|last| *last = text);
        T::FAILURE
    })
}

fn bug(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or(panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
    format!("a bug of the simulator, please report it: {text} (version {})", env!("CARGO_PKG_VERSION"))
}

/// The last error of this thread.
pub fn last() -> *const c_char {
    LAST.with_borrow(|last| last.as_ptr())
}
