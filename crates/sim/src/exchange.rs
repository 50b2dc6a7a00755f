//! How domains go on together: one window after another, and in between the packets that they send each other.
//!
//! A window begins with the first thing that happens anywhere and is at most as long as the lookahead, so nothing that is sent
//! in it arrives in it. Each domain goes through it by itself, hands over what leaves it, says what it has seen, and meets the
//! others; then each takes in what is for it, and all come to the same next window from what all have said.
//!
//! Boxes and reports are there twice: while one domain still reads those of one window, another may write those of the next.

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
    /// Windows are this long, and no longer than `longest`.
    pub lookahead: Time,
    pub longest: Time,
    /// They end before this: from here on a single event may end the run.
    pub exact_from: Time,
    /// Or until so many packets are in flight.
    pub look_from: u64,
}

impl Plan {
    /// Where a window ends that begins then.
    pub fn window(&self, begins: Time) -> Time {
        Time(begins.0.saturating_add(self.lookahead.min(self.longest).0)).min(self.limit)
    }

    /// Whether no single event may end the run in that window.
    pub fn has_room(&self, begins: Time) -> bool {
        self.window(begins) <= self.exact_from
    }
}

/// What a domain says at the end of a window.
#[derive(Debug)]
struct Report {
    /// When something happens next because of it.
    next: AtomicU64,
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
        Self { next: never(), events: AtomicU64::new(0), paused: never(), live: AtomicU64::new(0) }
    }
}

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
    sides: [Side; 2],
}

impl Exchange {
    /// Between so many domains.
    pub fn new(domains: usize) -> Self {
        let side = || Side {
            boxes: (0..domains * domains).map(|_| Apart(Mutex::new(Parcel::default()))).collect(),
            reports: (0..domains).map(|_| Apart(Report::empty())).collect(),
        };
        Self { domains, sides: [side(), side()] }
    }

    /// Lets these domains, of which the first has this number, go on as far as the plan says, together with the others, which
    /// are elsewhere. Everything before the first time that comes back has happened, and no window may begin after the second.
    pub fn go_on<O: Observer>(
        &self,
        domains: &mut [Domain<O>],
        first: usize,
        (mut closed, plan): (Time, &Plan),
        (meeting, mut patience): (&Meeting, Patience),
    ) -> (Time, Time) {
        let mut side = 0;
        loop {
            for (number, domain) in (first..).zip(&mut *domains) {
                self.hand_over(side, (number, domain), closed, plan.lookahead);
            }
            if !meeting.wait(&mut patience) {
                return (closed, closed);
            }
            for (number, domain) in (first..).zip(&mut *domains) {
                self.take_in(side, number, domain);
            }
            let next = self.least(side, |report| &report.next);
            let end = plan.window(next);
            if !self.goes_on(side, plan, (next, end)) {
                return (closed, next);
            }
            domains.iter_mut().for_each(|domain| domain.run_on(end));
            closed = end;
            side = 1 - side;
        }
    }

    /// A domain has gone through all that is before `closed`.
    fn hand_over<O: Observer>(
        &self,
        side: usize,
        (number, domain): (usize, &mut Domain<O>),
        closed: Time,
        lookahead: Time,
    ) {
        let sent = domain.fabric.hand_over(closed, lookahead);
        let live = domain.fabric.live();
        for (to, parcel) in domain.fabric.parcels().iter_mut().enumerate() {
            if !parcel.is_empty() {
                std::mem::swap(parcel, &mut self.open(side, number, to));
            }
        }
        let report = &self.sides[side].reports[number].0;
        report.next.store(domain.next().min(sent).0, Ordering::Relaxed);
        report.events.store(domain.happened(), Ordering::Relaxed);
        report.live.store(live, Ordering::Relaxed);
        report.paused.store(domain.fabric.paused.0, Ordering::Relaxed);
    }

    /// All have met.
    fn take_in<O: Observer>(&self, side: usize, number: usize, domain: &mut Domain<O>) {
        for from in 0..self.domains {
            domain.fabric.adopt(&mut self.open(side, from, number));
        }
    }

    /// A box. Nobody ever waits here: its writer opens it before all meet, its reader after that.
    fn open(&self, side: usize, from: usize, to: usize) -> MutexGuard<'_, Parcel> {
        self.sides[side].boxes[from * self.domains + to].0.lock().expect("nobody panics with a box open")
    }

    /// The least that any domain has said.
    fn least(&self, side: usize, value: fn(&Report) -> &AtomicU64) -> Time {
        let reports = self.sides[side].reports.iter();
        reports.map(|report| Time(value(&report.0).load(Ordering::Relaxed))).min().unwrap_or(Time::MAX)
    }

    /// Whether there is such a window to go through, by what all domains have said.
    fn goes_on(&self, side: usize, plan: &Plan, (next, end): (Time, Time)) -> bool {
        let sum = |value: fn(&Report) -> &AtomicU64| -> u64 {
            self.sides[side].reports.iter().map(|report| value(&report.0).load(Ordering::Relaxed)).sum()
        };
        let enough = sum(|report| &report.events) >= plan.events || sum(|report| &report.live) >= plan.look_from;
        let paused = plan.awaits_pause && self.least(side, |report| &report.paused) < Time::MAX;
        next < plan.limit && !enough && !paused && end <= plan.exact_from
    }
}

/// Every order in which two threads may go through three windows: `make loom`.
#[cfg(all(test, loom))]
mod loom_tests {
    use super::*;
    use crate::header::Header;
    use crate::packet::Packet;
    use loom::sync::Arc;
    use loom::thread;

    const WINDOWS: u32 = 3;

    /// What a domain does between windows, with one packet to the other in each.
    fn go_through(exchange: &Exchange, meeting: &Meeting, mut patience: Patience, number: usize) {
        let (mut side, other) = (0, 1 - number);
        for window in 0..WINDOWS {
            exchange
                .open(side, number, other)
                .packets
                .push((Packet { flow: window, ..Packet::default() }, Header::Bare));
            exchange.sides[side].reports[number].0.next.store(u64::from(window), Ordering::Relaxed);
            assert!(meeting.wait(&mut patience));
            let came: Vec<_> =
                exchange.open(side, other, number).packets.drain(..).map(|(packet, _)| packet.flow).collect();
            assert_eq!(came, [window]);
            assert_eq!(exchange.least(side, |report| &report.next), Time(u64::from(window)));
            side = 1 - side;
        }
    }

    #[test]
    fn nothing_is_read_before_or_after_its_window() {
        for patience in [Patience::NONE, Patience::ONE_LOOK] {
            loom::model(move || {
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
            assert!(!meeting.wait(&mut Patience::NONE.clone()));
            thread.join().expect("it only leaves");
        });
    }
}
