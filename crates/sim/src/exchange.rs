//! How domains go on together: one window after another, and in between the packets that they send each other.
//!
//! A window begins with the first thing that happens anywhere, as far as is known, and nothing that is sent in it arrives in it.
//! Each domain goes through it by itself, hands over what leaves it, and says what it has seen; then it takes in what is for
//! it, and all come to the same next window from what all have said.
//!
//! Several threads do not wait for each other after each window. Their windows are half as long as a packet needs to another
//! domain, so who goes through one needs what the others have done up to the last but one: one that had less to do there
//! goes on meanwhile. Boxes and reports are there five times: who is ahead writes while who is behind still reads.

use shallows_cc::units::Time;

use crate::domain::Domain;
use crate::fabric::Parcel;
use crate::meeting::{Meeting, Patience};
use crate::observe::Observer;
use crate::sync::atomic::{AtomicU64, Ordering};
use crate::sync::{Apart, Mutex, MutexGuard};

/// How far windows go.
#[derive(Clone, Copy, Debug)]
pub struct Plan {
    /// Everything before this.
    pub limit: Time,
    /// Or so many events, and what belongs to the same window.
    pub events: u64,
    /// Or until a link is paused.
    pub awaits_pause: bool,
    /// What is sent to another domain arrives there this much later, or more.
    pub lookahead: Time,
    /// Windows are no longer than that, and together with what is known late no longer than this.
    pub longest: Time,
    /// They end before this: from here on a single event may end the run.
    pub exact_from: Time,
    /// Or until so many packets are in flight.
    pub look_from: u64,
}

impl Plan {
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
        self.window(begins) <= self.exact_from
    }
}

/// What a domain says at the end of a window.
#[derive(Debug)]
struct Report {
    /// When something happens next in it.
    next: AtomicU64,
    /// When something arrives elsewhere of what it has handed over.
    sent: AtomicU64,
    /// What has happened in it so far.
    events: AtomicU64,
    /// When a link was paused first.
    paused: AtomicU64,
    /// Packets that it has.
    live: AtomicU64,
}

impl Report {
    fn empty() -> Self {
        let never = || AtomicU64::new(Time::MAX.0);
        Self { next: never(), sent: never(), events: AtomicU64::new(0), paused: never(), live: AtomicU64::new(0) }
    }
}

/// How many steps are in use at once: who is ahead writes what it did two steps after those that are known, and who is behind
/// still reads of the step before these.
const SIDES: usize = 5;

/// One side of the exchange: a box from each domain to each other one, and a report of each.
#[derive(Debug)]
struct Side {
    boxes: Vec<Apart<Mutex<Parcel>>>,
    reports: Vec<Apart<Report>>,
}

/// What domains tell each other.
#[derive(Debug)]
pub struct Exchange {
    domains: usize,
    sides: [Side; SIDES],
}

impl Exchange {
    /// Between so many domains.
    pub fn new(domains: usize) -> Self {
        let side = || Side {
            boxes: (0..domains * domains).map(|_| Apart(Mutex::new(Parcel::default()))).collect(),
            reports: (0..domains).map(|_| Apart(Report::empty())).collect(),
        };
        Self { domains, sides: std::array::from_fn(|_| side()) }
    }

    /// Lets these domains, of which the first has this number, go on as far as the plan says, together with the others, which
    /// are elsewhere. Everything before the first time that comes back has happened, and no window may begin after the second.
    pub fn go_on<O: Observer>(
        &self,
        domains: &mut [Domain<O>],
        first: usize,
        (mut closed, plan): (Time, &Plan),
        (meeting, party, mut patience): (&Meeting, usize, Patience),
    ) -> (Time, Time) {
        let ahead = u64::from(meeting.parties() > 1);
        // At the first nothing is gone through: all say how they stand.
        let (mut step, mut taken) = (0, 0);
        loop {
            for (number, domain) in (first..).zip(&mut *domains) {
                self.hand_over(step, (number, domain), closed, plan.lookahead);
            }
            meeting.come(party, step);
            let known = step.saturating_sub(ahead);
            if !meeting.await_all(known, &mut patience) {
                return (closed, closed);
            }
            self.take_in(&mut taken, known, (first, domains));
            let begins = self.first_to_happen(known).max(closed);
            let end = plan.part_of_window(begins, 1 + ahead);
            if !self.goes_on(known, plan, (begins, end)) {
                break;
            }
            domains.iter_mut().for_each(|domain| domain.run_on(end));
            closed = end;
            step += 1;
        }
        if !meeting.await_all(step, &mut patience) {
            return (closed, closed);
        }
        self.take_in(&mut taken, step, (first, domains));
        (closed, self.first_to_happen(step).max(closed))
    }

    /// A domain has gone through all that is before `closed`.
    fn hand_over<O: Observer>(
        &self,
        step: u64,
        (number, domain): (usize, &mut Domain<O>),
        closed: Time,
        lookahead: Time,
    ) {
        let sent = domain.fabric.hand_over(closed, lookahead);
        let live = domain.fabric.live();
        for (to, parcel) in domain.fabric.parcels().iter_mut().enumerate() {
            if !parcel.is_empty() {
                std::mem::swap(parcel, &mut self.open(step, number, to));
            }
        }
        let report = &self.side(step).reports[number].0;
        report.next.store(domain.next().0, Ordering::Relaxed);
        report.sent.store(sent.0, Ordering::Relaxed);
        report.events.store(domain.happened(), Ordering::Relaxed);
        report.live.store(live, Ordering::Relaxed);
        report.paused.store(domain.fabric.paused.0, Ordering::Relaxed);
    }

    /// All have come to the end of this step: takes in what they have handed over up to then, from the first not taken on.
    fn take_in<O: Observer>(&self, taken: &mut u64, step: u64, (first, domains): (usize, &mut [Domain<O>])) {
        for of in *taken..=step {
            for (number, domain) in (first..).zip(&mut *domains) {
                for from in 0..self.domains {
                    domain.fabric.adopt(&mut self.open(of, from, number));
                }
            }
        }
        *taken = step + 1;
    }

    fn side(&self, step: u64) -> &Side {
        &self.sides[step as usize % SIDES]
    }

    /// A box. Nobody ever waits here: its writer opens it before it comes to the end of the step, its reader after that.
    fn open(&self, step: u64, from: usize, to: usize) -> MutexGuard<'_, Parcel> {
        self.side(step).boxes[from * self.domains + to].0.lock().expect("nobody panics with a box open")
    }

    /// When something happens next, by what all have said at the end of this step. What was handed over a step before may not
    /// have been taken in then.
    fn first_to_happen(&self, step: u64) -> Time {
        let before = self.least(step.saturating_sub(1), |report| &report.sent);
        self.least(step, |report| &report.next).min(self.least(step, |report| &report.sent)).min(before)
    }

    /// The least that any domain has said.
    fn least(&self, step: u64, value: fn(&Report) -> &AtomicU64) -> Time {
        let reports = self.side(step).reports.iter();
        reports.map(|report| Time(value(&report.0).load(Ordering::Relaxed))).min().unwrap_or(Time::MAX)
    }

    /// Whether there is such a window to go through, by what all domains have said.
    fn goes_on(&self, step: u64, plan: &Plan, (begins, end): (Time, Time)) -> bool {
        let sum = |value: fn(&Report) -> &AtomicU64| -> u64 {
            self.side(step).reports.iter().map(|report| value(&report.0).load(Ordering::Relaxed)).sum()
        };
        let enough = sum(|report| &report.events) >= plan.events || sum(|report| &report.live) >= plan.look_from;
        let paused = plan.awaits_pause && self.least(step, |report| &report.paused) < Time::MAX;
        begins < plan.limit && !enough && !paused && end <= plan.exact_from
    }
}

/// Every order in which two threads may go through some windows: `make loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::header::Header;
    use crate::packet::Packet;
    use loom::sync::Arc;
    use loom::thread;

    const STEPS: u64 = 7;

    /// What a domain does between windows, with one packet to the other in each.
    fn go_through(exchange: &Exchange, meeting: &Meeting, mut patience: Patience, number: usize) {
        let other = 1 - number;
        let mut taken = 0;
        for step in 0..STEPS {
            let packet = Packet { flow: step as u32, ..Packet::default() };
            exchange.open(step, number, other).packets.push((packet, Header::Bare));
            exchange.side(step).reports[number].0.next.store(step, Ordering::Relaxed);
            meeting.come(number, step);
            let known = step.saturating_sub(1);
            assert!(meeting.await_all(known, &mut patience));
            while taken <= known {
                let mut parcel = exchange.open(taken, other, number);
                let came: Vec<_> = parcel.packets.drain(..).map(|(packet, _)| u64::from(packet.flow)).collect();
                assert_eq!(came, [taken]);
                taken += 1;
            }
            for of in [known, known.saturating_sub(1)] {
                let said = exchange.side(of).reports.iter().map(|report| report.0.next.load(Ordering::Relaxed));
                assert_eq!(said.collect::<Vec<_>>(), [of, of]);
            }
        }
    }

    #[test]
    fn nothing_is_read_before_or_after_its_window() {
        // All orders in which threads are stopped three times at most where they could go on: all of them are too many.
        let mut model = loom::model::Builder::new();
        model.preemption_bound = Some(3);
        for patience in [Patience::NONE, Patience::ONE_LOOK] {
            model.check(move || {
                let shared = Arc::new((Exchange::new(2), Meeting::new(2)));
                let other = Arc::clone(&shared);
                let thread = thread::spawn(move || go_through(&other.0, &other.1, patience, 1));
                go_through(&shared.0, &shared.1, patience, 0);
                thread.join().expect("it holds there too");
            });
        }
    }

    #[test]
    fn nobody_waits_for_who_has_left() {
        loom::model(|| {
            let meeting = Arc::new(Meeting::new(2));
            let other = Arc::clone(&meeting);
            let thread = thread::spawn(move || other.leave_for_good());
            meeting.come(0, 0);
            assert!(!meeting.await_all(0, &mut Patience::NONE.clone()));
            thread.join().expect("it only leaves");
        });
    }
}
