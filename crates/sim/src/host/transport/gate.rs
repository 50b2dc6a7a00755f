//! Congestion window and pace of a flow, as its algorithm decides them, limited by the window of its receiver.

use shallows_cc::event::Ack;
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

/// An algorithm and its newest decision.
#[derive(Clone, Debug)]
pub(crate) struct Gate {
    pub control: Box<dyn Sender>,
    /// Payload that may be in flight: the smaller one of the congestion window and the receive window.
    pub window: Bytes,
    pub pace: Option<Rate>,
    /// Wake time that the algorithm has asked for, and the one for which a timer is set; [`Time::MAX`] is never.
    pub wake: Time,
    armed_wake: Time,
    receive_window: Bytes,
    /// Whether the receive window is smaller than the congestion window.
    pub rwnd_limited: bool,
    /// Earliest departure of the next packet by the pace.
    pub next_paced: Time,
    /// Cache of the last gap: pace, packet length and their quotient. Successive packets mostly have equal gaps.
    gap: (Rate, Bytes, Time),
    last_rtt: Time,
    /// Payload acknowledged so far, and up to the last report.
    pub acked: Bytes,
    reported: Bytes,
    /// Payload acknowledged as marked so far.
    pub marked: Bytes,
    /// Whether the algorithm is told of each frame that leaves.
    pub hears_departures: bool,
}

impl Gate {
    pub fn new(control: Box<dyn Sender>) -> Self {
        let mut gate = Self {
            hears_departures: control.hears_departures(),
            control,
            window: Bytes::ZERO,
            pace: None,
            wake: Time::MAX,
            armed_wake: Time::MAX,
            receive_window: Bytes::MAX,
            rwnd_limited: false,
            next_paced: Time::ZERO,
            gap: (Rate::ZERO, Bytes::ZERO, Time::ZERO),
            last_rtt: Time::ZERO,
            acked: Bytes::ZERO,
            reported: Bytes::ZERO,
            marked: Bytes::ZERO,
        };
        gate.decide();
        gate
    }

    /// Reads the algorithm's decision, after it has been told of everything that has just happened.
    #[inline]
    pub(crate) fn decide(&mut self) {
        self.apply(self.control.decision());
    }

    #[inline]
    fn apply(&mut self, Decision { window, pace, wake }: Decision) {
        self.rwnd_limited = self.receive_window < window;
        self.window = window.min(self.receive_window);
        self.pace = pace;
        self.wake = wake.unwrap_or(Time::MAX);
    }

    /// Returns the time for a new wake timer, if the algorithm has asked for another one.
    #[inline]
    pub fn arm_wake(&mut self) -> Option<Time> {
        if self.wake == self.armed_wake { None } else { self.set_armed_wake() }
    }

    #[inline(never)]
    fn set_armed_wake(&mut self) -> Option<Time> {
        self.armed_wake = self.wake;
        (self.wake < Time::MAX).then_some(self.wake)
    }

    /// Sets the window of the receiver, which limits the next decision.
    #[inline]
    pub(crate) fn set_receive_window(&mut self, window: Bytes) {
        self.receive_window = window;
    }

    /// Passes an acknowledgement to the algorithm, and reads its decision.
    #[inline]
    pub fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.last_rtt = ack.rtt;
        self.acked += ack.acked;
        self.marked += ack.marked;
        let decision = self.control.decide_on(now, ack);
        self.apply(decision);
    }

    /// Handles the wake timer.
    pub fn on_wake(&mut self, now: Time) {
        self.armed_wake = Time::MAX;
        self.control.on_wake(now);
        self.decide();
    }

    /// Passes a window and a pace that another program sets to the algorithm, and reads its decision. The next packet leaves by the new
    /// pace, as if it had been valid when the last one left.
    pub(crate) fn adopt(&mut self, window: Bytes, pace: Option<Rate>) {
        match pace {
            Some(pace) if self.pace.is_some() => {
                let (_, length, gap) = self.gap;
                self.gap = (pace, length, pace.time_to_send(length));
                self.next_paced = self.next_paced.saturating_sub(gap) + self.gap.2;
            }
            Some(_) => {}
            None => self.next_paced = Time::ZERO,
        }
        if self.control.adopt(window, pace) {
            self.decide();
        }
    }

    /// Returns the time at which pacing lets the next packet leave, unless it may leave now.
    #[inline]
    pub(crate) fn paced_until(&self, now: Time) -> Option<Time> {
        (self.pace.is_some() && self.next_paced > now).then_some(self.next_paced)
    }

    /// Sets the earliest departure of the next packet, after one of this length that `left`.
    #[inline]
    pub fn advance_pacing(&mut self, left: Time, length: Bytes) {
        if let Some(pace) = self.pace {
            let (last_pace, last_length, _) = self.gap;
            if (last_pace, last_length) != (pace, length) {
                self.gap = (pace, length, pace.time_to_send(length));
            }
            self.next_paced = left + self.gap.2;
        }
    }

    /// Reports internal variables; `since` is the time since the last report.
    pub(crate) fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        if let Some(pace) = self.pace {
            record("pace_gbps", pace.as_gbps());
        }
        if self.last_rtt > Time::ZERO {
            record("rtt_us", self.last_rtt.as_micros());
        }
        let acked = self.acked - std::mem::replace(&mut self.reported, self.acked);
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

    /// Algorithm that halves its rate after every frame.
    #[derive(Clone, Debug)]
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

    /// A byte takes 1 ns at 8 Gbps, and 2 ns at 4 Gbps.
    #[test]
    fn a_gap_follows_the_length_of_its_frame_and_the_current_pace() {
        let mut gate = Gate::new(Box::new(Halving(Rate::from_gbps(8))));
        let mut takes = |length, slower| {
            if slower {
                gate.control.on_sent(Time::ZERO, Bytes(length));
                gate.decide();
            }
            gate.advance_pacing(Time::ZERO, Bytes(length));
            gate.next_paced
        };
        let times = [(1000, false), (1000, false), (100, false), (100, true), (1000, false)];
        let times = times.map(|(length, slower)| takes(length, slower));
        assert_eq!(times, [1000, 1000, 100, 200, 2000].map(Time::from_nanos));
    }
}
