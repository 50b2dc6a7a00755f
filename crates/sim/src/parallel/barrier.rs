//! Where threads wait for each other between windows, and learn what they need to go on. Who waits spins again for a while
//! and then sleeps: for how long it spins, it learns from how long it slept. A quiet machine does not wait for a wake-up, a busy
//! one is not kept from its work.

use std::time::Duration;

use crate::parallel::status::{AtomicStatus, DomainStatus};
use crate::parallel::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::parallel::sync::{CachePadded, Condvar, Mutex, pause, time_of};

/// A wake-up takes some tens of microseconds. Who sleeps no longer than this had better looked on; who sleeps longer waits for a
/// thread that has no core.
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// How often a thread spins for the others before it sleeps.
#[derive(Clone, Copy, Debug)]
pub struct SpinBudget {
    spins: u32,
}

impl SpinBudget {
    /// Of a thread that has a core for itself: some tens of microseconds at first.
    pub const SOME: Self = Self { spins: 512 };
    /// Of one that has none: who spins while others wait for its core keeps them from coming.
    pub const NONE: Self = Self { spins: 0 };
    /// Of one that spins once.
    #[cfg(all(test, loom))]
    pub const ONE_LOOK: Self = Self { spins: 1 };
    /// Some tenths of a microsecond, and of a millisecond.
    const FEWEST: u32 = 16;
    const MOST: u32 = 1 << 15;

    /// It looked in vain and then slept so long.
    fn learn(&mut self, slept: Duration) {
        let fewest = self.spins.min(Self::FEWEST);
        self.spins = if slept < SHORT_SLEEP { self.spins * 2 } else { self.spins / 2 }.clamp(fewest, Self::MOST);
    }
}

/// How many steps are in use at once: who is ahead says what it did two steps after those that are known, and who is behind
/// still reads of the step before these.
pub const BUFFERS: usize = 5;

/// Where parties say how they stand at the end of each step, and wait until all others have, or until one of them fails.
#[derive(Debug)]
pub struct Barrier {
    /// By step, as far as it is in use, and party.
    statuses: [Vec<CachePadded<AtomicStatus>>; BUFFERS],
    /// One of them will never arrive again.
    broken: AtomicBool,
    /// How many of them sleep: it changes with the lock held.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Barrier {
    /// Of so many parties, of which none has arrive.
    pub fn new(parties: usize) -> Self {
        Self {
            statuses: std::array::from_fn(|_| (0..parties).map(|_| CachePadded(AtomicStatus::default())).collect()),
            broken: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// How many there are.
    pub fn parties(&self) -> usize {
        self.statuses[0].len()
    }

    /// A party has arrive to the end of this step, of which it has done all before.
    ///
    /// What it did until then has happened for all who see it here.
    pub fn arrive(&self, party: usize, step: u64, report: &DomainStatus) {
        self.statuses(step)[party].0.publish(step + 1, report);
        self.wake_sleepers();
    }

    /// Waits until all have arrive to the end of this step; false if one of them never will.
    pub fn wait(&self, step: u64, spin_budget: &mut SpinBudget) -> bool {
        for _ in 0..spin_budget.spins {
            if self.is_over(step) {
                return !self.is_broken();
            }
            pause();
        }
        if !self.is_over(step) {
            spin_budget.learn(time_of(|| self.sleep_until(step)));
        }
        !self.is_broken()
    }

    /// What all have said at the end of a step that is over.
    pub fn total(&self, step: u64) -> DomainStatus {
        self.statuses(step).iter().map(|statuses| statuses.0.read()).fold(DomainStatus::NONE, DomainStatus::with)
    }

    fn statuses(&self, step: u64) -> &[CachePadded<AtomicStatus>] {
        &self.statuses[step as usize % BUFFERS]
    }

    /// Nobody waits for this party any more.
    pub fn poison(&self) {
        self.broken.store(true, Ordering::Release);
        fence(Ordering::SeqCst);
        self.wake_sleepers();
    }

    /// Either who is about to sleep sees what has just been stored, or it is seen here as one who sleeps.
    fn wake_sleepers(&self) {
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            let _held = self.lock.lock().expect("nobody panics with the lock held");
            self.wake.notify_all();
        }
    }

    fn sleep_until(&self, step: u64) {
        let mut held = self.lock.lock().expect("nobody panics with the lock held");
        self.sleepers.fetch_add(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        while !self.is_over(step) {
            held = self.wake.wait(held).expect("nobody panics with the lock held");
        }
        self.sleepers.fetch_sub(1, Ordering::Relaxed);
    }

    fn is_over(&self, step: u64) -> bool {
        self.statuses(step).iter().all(|statuses| statuses.0.is_after(step + 1)) || self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}

/// Leaves a meeting for good where its thread fails.
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
    fn who_sleeps_long_looks_less_and_who_sleeps_a_moment_looks_more() {
        let after = |mut spin_budget: SpinBudget, slept: Duration, times: u32| {
            (0..times).for_each(|_| spin_budget.learn(slept));
            spin_budget.spins
        };
        let (moment, slice) = (Duration::from_micros(30), Duration::from_millis(3));
        assert_eq!([after(SpinBudget::SOME, moment, 1), after(SpinBudget::SOME, slice, 1)], [1024, 256]);
        assert_eq!([after(SpinBudget::SOME, moment, 99), after(SpinBudget::SOME, slice, 99)], [1 << 15, 16]);
        assert_eq!([after(SpinBudget::NONE, moment, 99), after(SpinBudget::NONE, slice, 99)], [0, 0]);
    }
}
