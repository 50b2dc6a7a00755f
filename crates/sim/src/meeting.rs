//! Where threads wait for each other between windows. Who waits looks again for a while, as long as a short window takes, and
//! then sleeps: a busy machine is not kept from its work, a quiet one does not wait for a wake-up.

use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Condvar, Mutex, pause};

/// Looks before sleep: some tens of microseconds.
pub const LOOKS: u32 = 512;

/// A barrier that is used again and again, until one of its parties fails.
#[derive(Debug)]
pub struct Meeting {
    parties: usize,
    /// How often who waits looks before it sleeps.
    looks: u32,
    here: AtomicUsize,
    round: AtomicUsize,
    /// One of them will never come again.
    broken: AtomicBool,
    sleepers: Mutex<usize>,
    wake: Condvar,
}

impl Meeting {
    /// Of so many parties, who look so often before they sleep.
    pub fn new(parties: usize, looks: u32) -> Self {
        Self {
            parties,
            looks,
            here: AtomicUsize::new(0),
            round: AtomicUsize::new(0),
            broken: AtomicBool::new(false),
            sleepers: Mutex::new(0),
            wake: Condvar::new(),
        }
    }

    /// Waits until all are here; false if one of them will never be.
    ///
    /// What any of them did before it came has happened for all of them after it.
    pub fn wait(&self) -> bool {
        let round = self.round.load(Ordering::Relaxed);
        if self.here.fetch_add(1, Ordering::AcqRel) + 1 == self.parties {
            // The others look at the round alone until this is stored, and come here again only after that.
            self.here.store(0, Ordering::Relaxed);
            self.next_round(round + 1);
        } else {
            self.await_round_after(round);
        }
        !self.broken.load(Ordering::Acquire)
    }

    /// Nobody waits for this party any more.
    pub fn leave_for_good(&self) {
        self.broken.store(true, Ordering::Release);
        let sleepers = self.sleepers.lock().expect("nobody panics with the lock held");
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    fn next_round(&self, round: usize) {
        if self.parties == 1 {
            return self.round.store(round, Ordering::Release);
        }
        let sleepers = self.sleepers.lock().expect("nobody panics with the lock held");
        self.round.store(round, Ordering::Release);
        if *sleepers > 0 {
            self.wake.notify_all();
        }
    }

    fn is_over(&self, round: usize) -> bool {
        self.round.load(Ordering::Acquire) != round || self.broken.load(Ordering::Acquire)
    }

    fn await_round_after(&self, round: usize) {
        for _ in 0..self.looks {
            if self.is_over(round) {
                return;
            }
            pause();
        }
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
