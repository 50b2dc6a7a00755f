//! The barrier at which threads wait for each other between windows, and learn each other's status.
//!
//! A waiting thread spins for a while and then sleeps. It learns for how long to spin from how long it slept, so that a thread with a
//! core of its own does not wait for a wake-up, and a thread without one does not keep others from their work.

use std::time::Duration;

use crate::parallel::status::{AtomicStatus, DomainStatus};
use crate::parallel::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::parallel::sync::{CachePadded, Condvar, Mutex, spin_hint, time_of};

/// A wake-up takes some tens of microseconds. A thread that slept for less than this should have spun longer; one that slept for longer
/// waited for a thread without a core.
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// The number of times that a thread checks a barrier before it sleeps.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SpinBudget {
    spins: u32,
}

impl SpinBudget {
    /// For a thread with a core of its own: some tens of microseconds at first.
    pub const SOME: Self = Self { spins: 512 };
    /// For a thread without a core of its own: spinning would keep others from their work.
    pub(crate) const NONE: Self = Self { spins: 0 };
    /// For the model.
    #[cfg(all(test, loom))]
    pub const ONCE: Self = Self { spins: 1 };
    /// Some tenths of a microsecond.
    const MIN: u32 = 16;
    /// Some tenths of a millisecond.
    const MAX: u32 = 1 << 15;

    /// Adapts to the duration of a sleep after spinning in vain.
    fn learn(&mut self, slept: Duration) {
        let min = self.spins.min(Self::MIN);
        self.spins = if slept < SHORT_SLEEP { self.spins * 2 } else { self.spins / 2 }.clamp(min, Self::MAX);
    }
}

/// The number of steps whose data is kept: a fast thread writes that of a step two after the last one known to all, while a slow one
/// still reads that of the step before the last known one.
pub const BUFFERS: usize = 5;

/// The barrier.
#[derive(Debug)]
pub(crate) struct Barrier {
    /// By step modulo [`BUFFERS`], and thread.
    statuses: [Vec<CachePadded<AtomicStatus>>; BUFFERS],
    /// Whether a thread will never arrive again.
    poisoned: AtomicBool,
    /// The number of sleeping threads, which changes with the lock held.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    /// A barrier for this number of threads.
    pub fn new(threads: usize) -> Self {
        Self {
            statuses: std::array::from_fn(|_| (0..threads).map(|_| CachePadded(AtomicStatus::default())).collect()),
            poisoned: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// The number of threads.
    pub(crate) fn parties(&self) -> usize {
        self.statuses[0].len()
    }

    /// Publishes the status of a thread at the end of a step. What it has written so far is visible to threads that have waited for the
    /// step.
    pub fn arrive(&self, thread: usize, step: u64, status: &DomainStatus) {
        self.statuses(step)[thread].0.publish(step + 1, status);
        self.wake_sleepers();
    }

    /// Waits until all threads have arrived at the end of this step; false if the barrier is poisoned.
    pub(crate) fn wait(&self, step: u64, budget: &mut SpinBudget) -> bool {
        for _ in 0..budget.spins {
            if self.is_over(step) {
                return !self.is_poisoned();
            }
            spin_hint();
        }
        if !self.is_over(step) {
            budget.learn(time_of(|| self.sleep_until(step)));
        }
        !self.is_poisoned()
    }

    /// The status of all threads at the end of a step that is over.
    pub fn total(&self, step: u64) -> DomainStatus {
        self.statuses(step).iter().map(|status| status.0.read()).fold(DomainStatus::NONE, DomainStatus::with)
    }

    fn statuses(&self, step: u64) -> &[CachePadded<AtomicStatus>] {
        &self.statuses[step as usize % BUFFERS]
    }

    /// Makes all threads stop waiting, now and later.
    pub(crate) fn poison(&self) {
        self.poisoned.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.wake_sleepers();
    }

    /// Wakes threads that sleep. One that is about to sleep either is counted here, or sees what was stored before.
    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _held = self.lock.lock().expect("no thread panics while it holds the lock");
            self.wake.notify_all();
        }
    }

    fn sleep_until(&self, step: u64) {
        let mut held = self.lock.lock().expect("no thread panics while it holds the lock");
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while !self.is_over(step) {
            held = self.wake.wait(held).expect("no thread panics while it holds the lock");
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn is_over(&self, step: u64) -> bool {
        self.statuses(step).iter().all(|status| status.0.is_after(step + 1)) || self.is_poisoned()
    }

    fn is_poisoned(&self) -> bool {
        self.poisoned.load(Ordering::Acquire)
    }
}

/// Poisons a barrier if its thread panics.
pub struct BarrierGuard<'a>(pub &'a Barrier);

impl Drop for BarrierGuard<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.poison();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn long_sleeps_shorten_spinning_and_short_ones_lengthen_it() {
        let after = |mut budget: SpinBudget, slept: Duration, times: u32| {
            (0..times).for_each(|_| budget.learn(slept));
            budget.spins
        };
        let (short, long) = (Duration::from_micros(30), Duration::from_millis(3));
        assert_eq!([after(SpinBudget::SOME, short, 1), after(SpinBudget::SOME, long, 1)], [1024, 256]);
        assert_eq!([after(SpinBudget::SOME, short, 99), after(SpinBudget::SOME, long, 99)], [1 << 15, 16]);
        assert_eq!([after(SpinBudget::NONE, short, 99), after(SpinBudget::NONE, long, 99)], [0, 0]);
    }
}
