//! Where threads wait for each other between windows, and learn what they need to go on. Who waits looks again for a while
//! and then sleeps: for how long it looks, it learns from how long it slept. A quiet machine does not wait for a wake-up, a busy
//! one is not kept from its work.

use std::time::Duration;

use crate::parallel::status::{Posted, Report};
use crate::parallel::sync::atomic::{AtomicBool, AtomicUsize, Ordering, fence};
use crate::parallel::sync::{Apart, Condvar, Mutex, pause, time_of};

/// A wake-up takes some tens of microseconds. Who sleeps no longer than this had better looked on; who sleeps longer waits for a
/// thread that has no core.
const SHORT_SLEEP: Duration = Duration::from_micros(200);

/// How often a thread looks for the others before it sleeps.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    looks: u32,
}

impl Patience {
    /// Of a thread that has a core for itself: some tens of microseconds at first.
    pub const SOME: Self = Self { looks: 512 };
    /// Of one that has none: who looks while others wait for its core keeps them from coming.
    pub const NONE: Self = Self { looks: 0 };
    /// Of one that looks once.
    #[cfg(all(test, loom))]
    pub const ONE_LOOK: Self = Self { looks: 1 };
    /// Some tenths of a microsecond, and of a millisecond.
    const FEWEST: u32 = 16;
    const MOST: u32 = 1 << 15;

    /// It looked in vain and then slept so long.
    fn learn(&mut self, slept: Duration) {
        let fewest = self.looks.min(Self::FEWEST);
        self.looks = if slept < SHORT_SLEEP { self.looks * 2 } else { self.looks / 2 }.clamp(fewest, Self::MOST);
    }
}

/// How many steps are in use at once: who is ahead says what it did two steps after those that are known, and who is behind
/// still reads of the step before these.
pub const SIDES: usize = 5;

/// Where parties say how they stand at the end of each step, and wait until all others have, or until one of them fails.
#[derive(Debug)]
pub struct Meeting {
    /// By step, as far as it is in use, and party.
    posted: [Vec<Apart<Posted>>; SIDES],
    /// One of them will never come again.
    broken: AtomicBool,
    /// How many of them sleep: it changes with the lock held.
    sleepers: AtomicUsize,
    lock: Mutex<()>,
    wake: Condvar,
}

impl Meeting {
    /// Of so many parties, of which none has come.
    pub fn new(parties: usize) -> Self {
        Self {
            posted: std::array::from_fn(|_| (0..parties).map(|_| Apart(Posted::default())).collect()),
            broken: AtomicBool::new(false),
            sleepers: AtomicUsize::new(0),
            lock: Mutex::new(()),
            wake: Condvar::new(),
        }
    }

    /// How many there are.
    pub fn parties(&self) -> usize {
        self.posted[0].len()
    }

    /// A party has come to the end of this step, of which it has done all before.
    ///
    /// What it did until then has happened for all who see it here.
    pub fn come(&self, party: usize, step: u64, report: &Report) {
        self.posted(step)[party].0.post(step + 1, report);
        self.wake_sleepers();
    }

    /// Waits until all have come to the end of this step; false if one of them never will.
    pub fn await_all(&self, step: u64, patience: &mut Patience) -> bool {
        for _ in 0..patience.looks {
            if self.is_over(step) {
                return !self.is_broken();
            }
            pause();
        }
        if !self.is_over(step) {
            patience.learn(time_of(|| self.sleep_until(step)));
        }
        !self.is_broken()
    }

    /// What all have said at the end of a step that is over.
    pub fn heard(&self, step: u64) -> Report {
        self.posted(step).iter().map(|posted| posted.0.read()).fold(Report::NONE, Report::with)
    }

    fn posted(&self, step: u64) -> &[Apart<Posted>] {
        &self.posted[step as usize % SIDES]
    }

    /// Nobody waits for this party any more.
    pub fn leave_for_good(&self) {
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
        self.posted(step).iter().all(|posted| posted.0.is_after(step + 1)) || self.is_broken()
    }

    fn is_broken(&self) -> bool {
        self.broken.load(Ordering::Acquire)
    }
}

/// Leaves a meeting for good where its thread fails.
pub struct Attendance<'a>(pub &'a Meeting);

impl Drop for Attendance<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.leave_for_good();
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn who_sleeps_long_looks_less_and_who_sleeps_a_moment_looks_more() {
        let after = |mut patience: Patience, slept: Duration, times: u32| {
            (0..times).for_each(|_| patience.learn(slept));
            patience.looks
        };
        let (moment, slice) = (Duration::from_micros(30), Duration::from_millis(3));
        assert_eq!([after(Patience::SOME, moment, 1), after(Patience::SOME, slice, 1)], [1024, 256]);
        assert_eq!([after(Patience::SOME, moment, 99), after(Patience::SOME, slice, 99)], [1 << 15, 16]);
        assert_eq!([after(Patience::NONE, moment, 99), after(Patience::NONE, slice, 99)], [0, 0]);
    }
}
