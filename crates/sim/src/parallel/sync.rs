//! Synchronisation primitives: those of the standard library, or in a model (`--cfg loom`) those of loom, which tries all interleavings.

use std::time::Duration;

#[cfg(loom)]
pub use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub use std::sync::{Condvar, Mutex, MutexGuard, atomic};

/// A value in two cache lines of its own, because processors fetch pairs: writes to its neighbours do not take it away from its readers.
#[derive(Debug)]
#[repr(align(128))]
pub(crate) struct CachePadded<T>(pub T);

/// Tells the processor, or the model, that another thread has to make progress.
pub fn spin_hint() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::hint::spin_loop();
}

/// Stores a value with a full fence: readers of the value see all earlier writes, and no later read moves before the store.
pub(crate) fn publish(at: &atomic::AtomicU64, value: u64) {
    // One instruction, which is faster than a store and a fence. The model does not take it for a fence.
    at.swap(value, atomic::Ordering::SeqCst);
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// Measures the duration of some work; in the model it is infinite.
#[cfg_attr(not(loom), allow(clippy::disallowed_methods, reason = "it affects how threads wait, not what they compute"))]
pub fn time_of(work: impl FnOnce()) -> Duration {
    #[cfg(loom)]
    {
        work();
        Duration::MAX
    }
    #[cfg(not(loom))]
    {
        let started = std::time::Instant::now();
        work();
        started.elapsed()
    }
}
