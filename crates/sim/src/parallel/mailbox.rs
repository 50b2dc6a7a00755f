//! How domains go on together: one window after another, and in between the packets that they send each other.
//!
//! A window begins with the first thing that happens anywhere, as far as is known, and nothing that is sent in it arrives in it.
//! Each domain goes through it by itself, hands over what leaves it, and says what it has seen; then it takes in what is for
//! it, and all arrive to the same next window from what all have said.
//!
//! Several threads do not wait for each other after each window. Their windows are half as long as a packet needs to another
//! domain, so who goes through one needs what the others have done up to the last but one: one that had less to do there
//! goes on meanwhile. Buffer and reports are there five times: who is ahead writes while who is behind still reads.

use shallows_cc::units::Time;

use crate::engine::domain::Domain;
use crate::fabric::Batch;
use crate::observe::Observer;
use crate::parallel::barrier::{BUFFERS, Barrier, SpinBudget};
use crate::parallel::status::DomainStatus;
use crate::parallel::sync::{CachePadded, Mutex, MutexGuard};

/// How far windows go.
#[derive(Clone, Copy, Debug)]
pub struct RunLimits {
    /// Everything before this.
    pub limit: Time,
    /// Or so many events, and what belongs to the same window.
    pub events: u64,
    /// Or until a link is paused.
    pub awaits_pause: bool,
    /// What is sent to another domain arrives there this much later, or more.
    pub lookahead: Time,
    /// CalendarQueue are no longer than that, and together with what is known late no longer than this.
    pub longest: Time,
    /// They end before this: from here on a single event may end the run.
    pub earliest_finish: Time,
    /// Or until so many packets are in flight.
    pub check_at_packets: u64,
}

impl RunLimits {
    /// Where a window ends that begins then, where all that has happened before is known.
    pub fn window(&self, begins: Time) -> Time {
        self.part_of_window(begins, 1)
    }

    /// The same of so many parts of it.
    fn part_of_window(&self, begins: Time, parts: u64) -> Time {
        Time(begins.0.saturating_add(self.lookahead.min(self.longest).0 / parts)).min(self.limit)
    }

    /// Whether no single event may end the run in that window.
    pub fn has_room(&self, begins: Time) -> bool {
        self.window(begins) <= self.earliest_finish
    }

    /// Whether there is such a window to go through, by what all domains have said.
    fn goes_on(&self, total: &DomainStatus, (begins, end): (Time, Time)) -> bool {
        let enough = total.events >= self.events || total.live >= self.check_at_packets;
        let paused = self.awaits_pause && total.paused < Time::MAX;
        begins < self.limit && !enough && !paused && end <= self.earliest_finish
    }
}

/// One step of the mailboxes: a box from each domain to each other one.
type Buffer = Vec<CachePadded<Mutex<Batch>>>;

/// What domains tell each other.
#[derive(Debug)]
pub struct Mailboxes {
    domains: usize,
    buffers: [Buffer; BUFFERS],
}

impl Mailboxes {
    /// Between so many domains.
    pub fn new(domains: usize) -> Self {
        let boxes = || (0..domains * domains).map(|_| CachePadded(Mutex::new(Batch::default()))).collect();
        Self { domains, buffers: std::array::from_fn(|_| boxes()) }
    }

    /// Lets these domains, of which the first has this number, go on as far as the plan says, together with the others, which
    /// are elsewhere. Everything before the first time that comes back has happened, and no window may begin after the second.
    pub fn go_on<O: Observer>(
        &self,
        domains: &mut [Domain<O>],
        first: usize,
        (mut horizon, plan): (Time, &RunLimits),
        (barrier, party, mut spin_budget): (&Barrier, usize, SpinBudget),
    ) -> (Time, Time) {
        let ahead = u64::from(barrier.parties() > 1);
        // At the first nothing is gone through: all say how they stand.
        let (mut step, mut taken) = (0, 0);
        loop {
            let mut report = DomainStatus::NONE;
            for (number, domain) in (first..).zip(&mut *domains) {
                report = report.with(self.flush(step, (number, domain), horizon, plan.lookahead));
            }
            barrier.arrive(party, step, &report);
            let known = step.saturating_sub(ahead);
            if !barrier.wait(known, &mut spin_budget) {
                return (horizon, horizon);
            }
            self.receive(&mut taken, known, (first, domains));
            let begins = first_to_happen(barrier, known).max(horizon);
            let end = plan.part_of_window(begins, 1 + ahead);
            if !plan.goes_on(&barrier.total(known), (begins, end)) {
                break;
            }
            domains.iter_mut().for_each(|domain| domain.run_until(end));
            horizon = end;
            step += 1;
        }
        if !barrier.wait(step, &mut spin_budget) {
            return (horizon, horizon);
        }
        self.receive(&mut taken, step, (first, domains));
        (horizon, first_to_happen(barrier, step).max(horizon))
    }

    /// A domain has gone through all that is before `horizon`.
    fn flush<O: Observer>(
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

    /// All have arrive to the end of this step: takes in what they have handed over up to then, from the first not taken on.
    fn receive<O: Observer>(&self, taken: &mut u64, step: u64, (first, domains): (usize, &mut [Domain<O>])) {
        for of in *taken..=step {
            for (number, domain) in (first..).zip(&mut *domains) {
                for from in (0..self.domains).filter(|&from| from != number) {
                    domain.fabric.import(&mut self.open(of, from, number));
                }
            }
        }
        *taken = step + 1;
    }

    /// A box. Nobody ever waits here: its writer opens it before it comes to the end of the step, its reader after that.
    fn open(&self, step: u64, from: usize, to: usize) -> MutexGuard<'_, Batch> {
        self.buffers[step as usize % BUFFERS][from * self.domains + to].0.lock().expect("nobody panics with a box open")
    }
}

/// When something happens next, by what all have said at the end of this step. What was handed over a step before may not
/// have been taken in then.
fn first_to_happen(barrier: &Barrier, step: u64) -> Time {
    barrier.total(step).first().min(barrier.total(step.saturating_sub(1)).sent)
}

/// Every order in which two threads may go through some windows: `make loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use crate::packet::Packet;
    use crate::packet::header::Header;
    use crate::*;
    use loom::sync::Arc;
    use loom::thread;

    const STEPS: u64 = 7;

    /// What a domain does between windows, with one packet to the other in each.
    fn go_through(mailboxes: &Mailboxes, barrier: &Barrier, mut spin_budget: SpinBudget, number: usize) {
        let other = 1 - number;
        let mut taken = 0;
        for step in 0..STEPS {
            let packet = Packet { flow: step as u32, ..Packet::default() };
            mailboxes.open(step, number, other).packets.push((packet, Header::Bare));
            barrier.arrive(number, step, &DomainStatus { next: Time(step), ..DomainStatus::NONE });
            let known = step.saturating_sub(1);
            assert!(barrier.wait(known, &mut spin_budget));
            while taken <= known {
                let mut batch = mailboxes.open(taken, other, number);
                let came: Vec<_> = batch.packets.drain(..).map(|(packet, _)| u64::from(packet.flow)).collect();
                assert_eq!(came, [taken]);
                taken += 1;
            }
            for of in [known, known.saturating_sub(1)] {
                assert_eq!(barrier.total(of).next, Time(of));
            }
        }
    }

    #[test]
    fn nothing_is_read_before_or_after_its_window() {
        // All orders in which threads are stopped three times at most where they could go on: all of them are too many.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        for spin_budget in [SpinBudget::NONE, SpinBudget::ONE_LOOK] {
            model.check(move || {
                let shared = Arc::new((Mailboxes::new(2), Barrier::new(2)));
                let other = Arc::clone(&shared);
                let thread = thread::spawn(move || go_through(&other.0, &other.1, spin_budget, 1));
                go_through(&shared.0, &shared.1, spin_budget, 0);
                thread.join().expect("it holds there too");
            });
        }
    }

    #[test]
    fn nobody_waits_for_who_has_left() {
        loom::model(|| {
            let barrier = Arc::new(Barrier::new(2));
            let other = Arc::clone(&barrier);
            let thread = thread::spawn(move || other.poison());
            barrier.arrive(0, 0, &DomainStatus::NONE);
            assert!(!barrier.wait(0, &mut SpinBudget::NONE.clone()));
            thread.join().expect("it only leaves");
        });
    }
}
