//! What lets a flow's packets leave: the window and the pace of its algorithm, and the window of its receiver.

use shallows_cc::event::Ack;
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

/// An algorithm, and what it has decided last.
#[derive(Debug)]
pub struct Gate {
    pub control: Box<dyn Sender>,
    /// Payload that may be in flight: the less of what the algorithm and the receiver allow.
    pub window: Bytes,
    pace: Option<Rate>,
    /// When the algorithm asked to be called, and what the world knows of it; [`Time::MAX`] is never.
    pub wake: Time,
    known_wake: Time,
    /// What the receiver allows.
    advertised: Bytes,
    /// Whether that is the less.
    pub rwnd_limited: bool,
    /// When the pace lets the next packet leave.
    pub next_paced: Time,
    /// What was spaced last: at which pace, how long, and the time it took. The next one is like it, but for the last of a flow.
    spaced: (Rate, Bytes, Time),
    last_rtt: Time,
    /// Payload acknowledged since the internals were last read.
    pub acked: Bytes,
}

impl Gate {
    pub fn new(control: Box<dyn Sender>) -> Self {
        let mut gate = Self {
            control,
            window: Bytes::ZERO,
            pace: None,
            wake: Time::MAX,
            known_wake: Time::MAX,
            advertised: Bytes::MAX,
            rwnd_limited: false,
            next_paced: Time::ZERO,
            spaced: (Rate::ZERO, Bytes::ZERO, Time::ZERO),
            last_rtt: Time::ZERO,
            acked: Bytes::ZERO,
        };
        gate.decide();
        gate
    }

    /// Asks the algorithm what it says now, after all that happened at once has been told.
    #[inline]
    pub fn decide(&mut self) {
        self.apply(self.control.decision());
    }

    #[inline]
    fn apply(&mut self, Decision { window, pace, wake }: Decision) {
        self.rwnd_limited = self.advertised < window;
        self.window = window.min(self.advertised);
        self.pace = pace;
        self.wake = wake.unwrap_or(Time::MAX);
    }

    /// When the algorithm asked to be called, if the world does not know it yet.
    #[inline]
    pub fn newly_asked(&mut self) -> Option<Time> {
        if self.wake == self.known_wake { None } else { self.tell_wake() }
    }

    #[inline(never)]
    fn tell_wake(&mut self) -> Option<Time> {
        self.known_wake = self.wake;
        (self.wake < Time::MAX).then_some(self.wake)
    }

    /// The receiver allows so much from the next decision on.
    #[inline]
    pub fn advertise(&mut self, window: Bytes) {
        self.advertised = window;
    }

    /// Feedback the algorithm of an acknowledgement, and asks what it says now.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.last_rtt = ack.rtt;
        self.acked += ack.acked;
        let decision = self.control.decide_on(now, ack);
        self.apply(decision);
    }

    /// Feedback the algorithm of a frame that leaves, and asks what it says now if that changes anything.
    #[inline]
    pub fn on_sent(&mut self, now: Time, length: Bytes) {
        if self.control.on_sent(now, length) {
            self.decide();
        }
    }

    /// The time that the algorithm asked for has come.
    pub fn on_wake(&mut self, now: Time) {
        self.known_wake = Time::MAX;
        self.control.on_wake(now);
        self.decide();
    }

    /// When the pace lets a packet leave, if not now.
    #[inline]
    pub fn paced_until(&self, now: Time) -> Option<Time> {
        (self.pace.is_some() && self.next_paced > now).then_some(self.next_paced)
    }

    /// A packet of this length began to leave, by its pace: the next one follows it by the present one.
    #[inline]
    pub fn advance_pacing(&mut self, began: Time, length: Bytes) {
        if let Some(pace) = self.pace {
            let (last_pace, last_length, _) = self.spaced;
            if (last_pace, last_length) != (pace, length) {
                self.spaced = (pace, length, pace.time_to_send(length));
            }
            self.next_paced = began + self.spaced.2;
        }
    }

    /// Internals worth plotting; `since` is the span since they were last read.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        if let Some(pace) = self.pace {
            record("pace_gbps", pace.as_gbps());
        }
        if self.last_rtt > Time::ZERO {
            record("rtt_us", self.last_rtt.as_micros());
        }
        let acked = std::mem::take(&mut self.acked);
        if since > Time::ZERO {
            record("rate_gbps", acked.0 as f64 * 8e3 / since.0 as f64);
        }
        self.control.probe(record);
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::event::Loss;

    use super::*;

    /// Half as fast after every frame of which it hears.
    #[derive(Debug)]
    struct Halving(Rate);

    impl Sender for Halving {
        fn on_ack(&mut self, _now: Time, _ack: &Ack) {}
        fn on_loss(&mut self, _now: Time, _loss: &Loss) {}
        fn on_sent(&mut self, _now: Time, _sent: Bytes) -> bool {
            self.0 = self.0 / 2;
            true
        }
        fn decision(&self) -> Decision {
            Decision { window: Bytes::MAX, pace: Some(self.0), wake: None }
        }
    }

    /// A byte takes a nanosecond at 8 Gbps, and two at 4.
    #[test]
    fn a_frame_takes_the_time_of_its_own_length_at_the_pace_of_its_own_time() {
        let mut gate = Gate::new(Box::new(Halving(Rate::from_gbps(8))));
        let mut takes = |length, slower| {
            if slower {
                gate.on_sent(Time::ZERO, Bytes(length));
            }
            gate.advance_pacing(Time::ZERO, Bytes(length));
            gate.next_paced
        };
        let times = [(1000, false), (1000, false), (100, false), (100, true), (1000, false)];
        let times = times.map(|(length, slower)| takes(length, slower));
        assert_eq!(times, [1000, 1000, 100, 200, 2000].map(Time::from_nanos));
    }
}
