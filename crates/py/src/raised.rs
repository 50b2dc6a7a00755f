//! The first exception of a run whose algorithms are written in Python, and the end of their calls.
//!
//! **Order of locks: the interpreter first, then a [`Leaf`].** A thread that holds a leaf neither runs Python nor waits for the
//! interpreter, because the thread that has the interpreter may wait for that leaf. Two types keep this: [`Leaf::with`] takes only work
//! that is [`Ungil`], which excludes a token of the interpreter and everything bound to one, and [`attached`] is the one place that
//! waits for the interpreter (`clippy.toml` refuses others).

#![allow(unsafe_code, reason = "numbers of threads, and exceptions in other threads, which pyo3 does not have")]

use std::ffi::c_long;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex};

use std::time::{Duration, Instant};

use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::ffi;
use pyo3::marker::Ungil;
use pyo3::prelude::*;

/// A value behind a lock that is the last in the order of locks.
#[derive(Debug, Default)]
pub struct Leaf<T>(Mutex<T>);

impl<T> Leaf<T> {
    /// A lock around `value`.
    pub const fn new(value: T) -> Self {
        Self(Mutex::new(value))
    }

    /// Works on the value. What the work returns is dropped after the lock is free, also an exception, whose end may run Python.
    pub fn with<R: Ungil>(&self, work: impl FnOnce(&mut T) -> R + Ungil) -> R {
        work(&mut self.0.lock().expect("no work panics with the lock held"))
    }
}

/// Calls `work` with the interpreter, for which it may wait.
fn attached<R>(work: impl FnOnce(Python<'_>) -> R) -> R {
    #[expect(clippy::disallowed_methods, reason = "the one place")]
    Python::attach(work)
}

/// How long work that is to end may go on before the call of an algorithm in Python is interrupted, and before it is left to itself.
const PATIENCE: Duration = Duration::from_millis(400);
const LEFT: Duration = Duration::from_millis(1200);

/// Calls `work` without the interpreter, on a thread that calls algorithms often: it is made known to the interpreter once.
pub fn among_calls<T>(work: impl FnOnce() -> T + Send) -> T
where
    T: Send,
{
    attached(|py| py.detach(work))
}

/// The end of work on another thread that calls algorithms, which the thread with the interpreter waits for.
pub struct Ending {
    /// Why it is to end.
    pub why: PyErr,
    since: Instant,
}

impl Ending {
    /// The end begins now.
    #[expect(clippy::disallowed_methods, reason = "a user waits, in real time")]
    pub fn begin(why: PyErr) -> Self {
        Self { why, since: Instant::now() }
    }

    /// Presses for the end: interrupts a call that goes on after [`PATIENCE`].
    ///
    /// # Errors
    /// `KeyboardInterrupt` if a call still goes on after [`LEFT`]: the work is to be left to itself.
    pub fn press(&self, py: Python<'_>, raised: &Raised, relax: impl FnOnce()) -> PyResult<()> {
        let waited = self.since.elapsed();
        if waited > PATIENCE {
            relax();
            raised.close();
            raised.interrupt(py);
        }
        let left = "while an algorithm in Python computed: its call does not end, so that the run is lost";
        if waited < LEFT { Ok(()) } else { Err(PyKeyboardInterrupt::new_err(left)) }
    }
}

/// What the algorithms of a run and the thread that started it share. Clones are the same.
#[derive(Clone, Debug, Default)]
pub struct Raised(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    first: Leaf<Option<PyErr>>,
    /// True after an exception, or when the run is to end: then no algorithm is called.
    closed: AtomicBool,
    /// Python's number of the thread that is in a call; 0: none.
    caller: AtomicI64,
}

impl Raised {
    /// Calls into Python and keeps the exception; `None` after an exception, or once the calls are closed.
    pub fn call<R>(&self, work: impl FnOnce(Python<'_>) -> PyResult<R>) -> Option<R> {
        let shared = &*self.0;
        if shared.closed.load(Ordering::Acquire) {
            return None;
        }
        let outcome = attached(|py| {
            // SAFETY: it returns a number, and needs nothing.
            shared.caller.store(unsafe { ffi::PyThread_get_thread_ident() }.cast_signed(), Ordering::Release);
            let outcome = work(py);
            shared.caller.store(0, Ordering::Release);
            outcome
        });
        match outcome {
            Ok(returned) => Some(returned),
            Err(error) => {
                // A later exception is dropped here, without the lock.
                let _later = shared.first.with(move |first| match first {
                    None => first.replace(error),
                    Some(_) => Some(error),
                });
                self.close();
                None
            }
        }
    }

    /// The exception, once.
    pub fn take(&self) -> Option<PyErr> {
        self.0.first.with(Option::take)
    }

    /// Calls no algorithm from now on: the run is to end.
    pub fn close(&self) {
        self.0.closed.store(true, Ordering::Release);
    }

    /// Whether no algorithm is called any more.
    pub fn is_closed(&self) -> bool {
        self.0.closed.load(Ordering::Acquire)
    }

    /// Raises `KeyboardInterrupt` in the call of another thread that goes on, if there is one. It acts between two steps of Python.
    pub fn interrupt(&self, py: Python<'_>) {
        let caller = self.0.caller.load(Ordering::Acquire);
        if caller != 0 {
            let kind = py.get_type::<PyKeyboardInterrupt>();
            // SAFETY: this thread has the interpreter, and the class outlives the call. A thread that has ended is not found.
            unsafe { ffi::PyThreadState_SetAsyncExc(caller as c_long, kind.as_ptr()) };
        }
    }
}
