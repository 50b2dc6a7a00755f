//! Where threads wait for each other between windows. Who waits looks again for a while and then sleeps: for how long it looks,
//! it learns from how long it slept. A quiet machine does not wait for a wake-up, a busy one is not kept from its work.

use std::time::Duration;

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Apart, Condvar, Mutex, pause, time_of};

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

/// A barrier that is used again and again, until one of its parties fails.
#[derive(Debug)]
pub struct Meeting {
    parties: usize,
    here: AtomicUsize,
    sleepers: Mutex<usize>,
    wake: Condvar,
    /// What who waits looks at: it changes once a round, and what is above more often.
    watched: Apart<Watched>,
}

#[derive(Debug)]
struct Watched {
    round: AtomicUsize,
    /// One of the parties will never come again.
    broken: AtomicBool,
}

impl Meeting {
    /// Of so many parties.
    pub fn new(parties: usize) -> Self {
        Self {
            parties,
            here: AtomicUsize::new(0),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
            watched: Apart(Watched { round: AtomicUsize::new(0), broken: AtomicBool::new(false) }),
        }
    }

    /// Waits until all are here; false if one of them will never be.
    ///
    /// What any of them did before it came has happened for all of them after it.
    pub fn wait(&self, patience: &mut Patience) -> bool {
        let round = self.watched.0.round.load(Ordering::Relaxed);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // The others look at the round alone until this is stored, and come here again only after that.
            self.here.store(0, Ordering::Relaxed);
            self.next_round(round + 1);
        } else {
            self.await_round_after(round, patience);
        }
        !self.watched.0.broken.load(Ordering::Acquire)
    }

    /// Nobody waits for this party any more.
    pub fn leave_for_good(&self) {
        self.watched.0.broken.store(true, Ordering::Release);
        let sleepers = self.sleepers.lock().expect("nobody panics with the lock held");
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    fn next_round(&self, round: usize) {
        if self.parties == 1 {
            return self.watched.0.round.store(round, Ordering::Release);
        }
        let sleepers = self.sleepers.lock().expect("nobody panics with the lock held");
        self.watched.0.round.store(round, Ordering::Release);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    fn is_over(&self, round: usize) -> bool {
        self.watched.0.round.load(Ordering::Acquire) != round || self.watched.0.broken.load(Ordering::Acquire)
    }

    fn await_round_after(&self, round: usize, patience: &mut Patience) {
        for _ in 0..patience.looks {
            if self.is_over(round) {
                return;
            }
            pause();
        }
        patience.learn(time_of(|| self.sleep_until_after(round)));
    }

    fn sleep_until_after(&self, round: usize) {
        let mut sleepers = self.sleepers.lock().expect("nobody panics with the lock held");
        *sleepers += 1;
        while !self.is_over(round) {
            sleepers = self.wake.wait(sleepers).expect("nobody panics with the lock held");
        }
        *sleepers -= 1;
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
