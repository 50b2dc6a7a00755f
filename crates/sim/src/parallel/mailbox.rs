//! Mailboxes: the packets that domains send each other between windows.

use std::sync::Arc;

use shallows_cc::units::Time;

use crate::engine::domain::Domain;
use crate::fabric::Batch;
use crate::observe::Observer;
use crate::parallel::barrier::BUFFERS;
use crate::parallel::status::DomainStatus;
use crate::parallel::sync::{CachePadded, Mutex, MutexGuard};

/// The mailboxes of one step, one from each domain to each other one.
type Buffer = Vec<CachePadded<Mutex<Batch>>>;

/// The mailboxes of a run, in a ring of buffers: a thread that is ahead writes while another one still reads an earlier step.
#[derive(Debug)]
pub struct Mailboxes {
    domains: usize,
    buffers: [Buffer; BUFFERS],
}

/// The mailboxes of one run, for its threads. They are empty while the driver has the run, and a copy of it gets its own.
#[derive(Debug)]
pub(crate) struct SharedMailboxes(pub Arc<Mailboxes>);

impl SharedMailboxes {
    /// Empty mailboxes between this number of domains.
    pub fn new(domains: usize) -> Self {
        Self(Arc::new(Mailboxes::new(domains)))
    }
}

impl Clone for SharedMailboxes {
    fn clone(&self) -> Self {
        Self::new(self.0.domains)
    }
}

impl Mailboxes {
    /// Empty mailboxes between this number of domains.
    pub(crate) fn new(domains: usize) -> Self {
        let buffer = || (0..domains * domains).map(|_| CachePadded(Mutex::new(Batch::default()))).collect();
        Self { domains, buffers: std::array::from_fn(|_| buffer()) }
    }

    /// Sends what a domain has for others after it has executed everything before `horizon`, and returns its status.
    pub fn flush<O: Observer>(
        &self,
        step: u64,
        (number, domain): (usize, &mut Domain<O>),
        horizon: Time,
        lookahead: Time,
    ) -> DomainStatus {
        let sent = domain.fabric.flush(horizon, lookahead);
        let live = domain.fabric.live();
        for (to, batch) in domain.fabric.batches().iter_mut().enumerate() {
            if !batch.is_empty() {
                std::mem::swap(batch, &mut self.open(step, number, to));
            }
        }
        let (next, paused) = (domain.next_time(), domain.fabric.first_pause);
        DomainStatus { next, sent, paused, events: domain.processed(), live }
    }

    /// Imports what was sent to these domains up to a step that all domains have finished, from the first step not `received` on.
    pub(crate) fn receive<O: Observer>(
        &self,
        received: &mut u64,
        step: u64,
        (first, domains): (usize, &mut [Domain<O>]),
    ) {
        for of in *received..=step {
            for (number, domain) in (first..).zip(&mut *domains) {
                for from in (0..self.domains).filter(|&from| from != number) {
                    domain.fabric.import(&mut self.open(of, from, number));
                }
            }
        }
        *received = step + 1;
    }

    /// Locks a mailbox. The lock is always free: the writer uses it before it finishes the step, the reader after that.
    fn open(&self, step: u64, from: usize, to: usize) -> MutexGuard<'_, Batch> {
        let mailbox = &self.buffers[step as usize % BUFFERS][from * self.domains + to];
        mailbox.0.lock().expect("no thread panics while it holds the lock")
    }
}

/// All interleavings of two threads over some windows: `make loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use loom::sync::Arc;
    use loom::thread;

    use super::*;
    use crate::packet::Packet;
    use crate::packet::header::Header;
    use crate::parallel::barrier::{Barrier, SpinBudget};

    const STEPS: u64 = 7;

    /// The steps of a domain that sends one packet to the other in each.
    fn run_steps(mailboxes: &Mailboxes, barrier: &Barrier, mut spin_budget: SpinBudget, number: usize) {
        let other = 1 - number;
        let mut received = 0;
        for step in 0..STEPS {
            let packet = Packet { flow: step as u32, ..Packet::default() };
            mailboxes.open(step, number, other).packets.push((packet, Header::Bare));
            barrier.arrive(number, step, &DomainStatus { next: Time(step), ..DomainStatus::NONE });
            let known = step.saturating_sub(1);
            assert!(barrier.wait(known, &mut spin_budget));
            while received <= known {
                let mut batch = mailboxes.open(received, other, number);
                let flows: Vec<_> = batch.packets.drain(..).map(|(packet, _)| u64::from(packet.flow)).collect();
                assert_eq!(flows, [received]);
                received += 1;
            }
            for of in [known, known.saturating_sub(1)] {
                assert_eq!(barrier.total(of).next, Time(of));
            }
        }
    }

    #[test]
    fn packets_are_read_once_and_in_their_step() {
        // Interleavings with at most three preemptions: all of them would be too many.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        for spin_budget in [SpinBudget::NONE, SpinBudget::ONCE] {
            model.check(move || {
                let shared = Arc::new((Mailboxes::new(2), Barrier::new(2)));
                let other = Arc::clone(&shared);
                let thread = thread::spawn(move || run_steps(&other.0, &other.1, spin_budget, 1));
                run_steps(&shared.0, &shared.1, spin_budget, 0);
                thread.join().expect("the other thread sees the same");
            });
        }
    }

    #[test]
    fn a_poisoned_barrier_releases_its_threads() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2));
            let other = Arc::clone(&barrier);
            let thread = thread::spawn(move || other.poison());
            barrier.arrive(0, 0, &DomainStatus::NONE);
            assert!(!barrier.wait(0, &mut SpinBudget::NONE.clone()));
            thread.join().expect("poisoning does not panic");
        });
    }
}
