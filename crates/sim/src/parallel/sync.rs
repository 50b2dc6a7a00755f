//! What threads share: the standard library's, or in a model of it (`--cfg loom`) loom's, which tries every order.

use std::time::Duration;

#[cfg(loom)]
pub use loom::sync::{Condvar, Mutex, MutexGuard, atomic};
#[cfg(not(loom))]
pub use std::sync::{Condvar, Mutex, MutexGuard, atomic};

/// In cache lines of its own, two of them because processors fetch pairs: whoever changes what lies beside it does not take
/// it away from whoever reads this.
#[derive(Debug)]
#[repr(align(128))]
pub struct CachePadded<T>(pub T);

/// Says to the processor, or to the model, that somebody else has to go on.
pub fn pause() {
    #[cfg(loom)]
    loom::thread::yield_now();
    #[cfg(not(loom))]
    std::hint::spin_loop();
}

/// Stores what others may read from now on, and with it all that came before, before anything is read that comes after.
pub fn publish(at: &atomic::AtomicU64, value: u64) {
    // One instruction, where a store and a fence are slower; the model takes it for no fence.
    at.swap(value, atomic::Ordering::SeqCst);
    #[cfg(loom)]
    atomic::fence(atomic::Ordering::SeqCst);
}

/// How long something took; for ever in the model.
#[cfg_attr(not(loom), allow(clippy::disallowed_methods, reason = "how threads wait, not what comes out"))]
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
