//! PI marking: changes the marking probability until the queue is at its reference.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | p | `probability` | share of packets that are marked |
//! | e | `queue - q_ref` | error of the queue |
//! | `K_1` | `k1` | gain on the change of the error, per kilobyte |
//! | `K_2` | `k2` | gain on the error, per kilobyte and second |
//!
//! Source: "ECN or Delay" (`CoNEXT` 2016) eq. 32, dp/dt = `K_1` de/dt + `K_2` e; Hollot et al., INFOCOM 2001, in
//! discrete time. p = `K_1` e + Z with Z its integral part; both stay within 0 and 1. Holding p alone there would
//! settle below the reference, since the noise of random marks often takes p to zero.
//!
//! The mean of the queue is at the reference, its standard deviation is as large as the reference with 2 to 10 flows:
//! random marks make the rates vary, and the controller answers slowly (docs/rates.md).
//!
//! Differs: the paper prints no gains, and its script applies them once a step of its solver. These are
//! chosen to settle within 0.25 s for 2 to 64 flows at 40 Gbps.

use super::{Arrival, CongestionPoint, ECN, NODROP, skip_to};
use crate::parameter::{Parameter, Values, bytes, number, time};
use crate::units::{Bytes, Rate, Time};

/// In the order of the paper.
pub const PARAMETERS: &[Parameter] = &[
    bytes("q_ref", "q_ref", 200e3, 0.0..=1e12).meaning("the queue it settles at").source("Fig. 18: 200 KB"),
    number("k1", "K_1", 5.8e-6, 0.0..=1.0)
        .meaning("gain on the change of the error, per kilobyte")
        .source("the authors' script for 85 us: 5.816e-6 per packet of 1 KB"),
    number("k2", "K_2", 1.74e-4, 0.0..=1e3)
        .meaning("gain on the error, per kilobyte and second")
        .source("30 times K_1: stable for 2 to 64 flows at 4 and 85 us by the linearised model"),
    time("interval", "-", 20e-6, 1e-7..=1.0)
        .meaning("how often it looks")
        .source("a choice: well below the round trips and time constants of Fig. 18"),
    ECN,
    NODROP,
];

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, _rate: Rate) -> Box<dyn CongestionPoint> {
    Box::new(Pi::new(values))
}

/// State of one port; queues in kilobytes.
#[derive(Clone, Copy, Debug)]
struct Pi {
    q_ref: f64,
    k1: f64,
    /// By interval, not by second.
    k2: f64,
    interval: Time,
    next: Time,
    integral: f64,
    probability: f64,
}

impl Pi {
    fn new(values: &Values) -> Self {
        let interval = values.time("interval");
        Self {
            q_ref: values.get("q_ref") / 1e3,
            k1: values.get("k1"),
            k2: values.get("k2") * interval.as_secs(),
            interval,
            next: interval,
            integral: 0.0,
            probability: 0.0,
        }
    }
}

impl CongestionPoint for Pi {
    fn retune(&mut self, _now: Time, values: &Values, _rate: Rate) {
        let &mut Self { next, integral, probability, .. } = self;
        *self = Self { next, integral, probability, ..Self::new(values) };
    }

    fn mark_probability(&mut self, _arrival: &Arrival) -> f64 {
        self.probability
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_wake(&mut self, now: Time, queue: Bytes) {
        let error = queue.0 as f64 / 1e3 - self.q_ref;
        self.integral = (self.integral + self.k2 * error).clamp(0.0, 1.0);
        self.probability = (self.k1 * error + self.integral).clamp(0.0, 1.0);
        self.next = now + self.interval;
    }

    fn skip_idle(&mut self, until: Time) {
        let mut later = *self;
        later.on_wake(self.next, Bytes::ZERO);
        if (later.integral, later.probability) == (self.integral, self.probability) {
            self.next = skip_to(self.next, self.interval, until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Gains of 0.001 per KB and 10 per KB and second, looking every 100 us: 0.001 per KB of error a look.
    fn controller() -> Box<dyn CongestionPoint> {
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in [("q_ref", 100e3), ("k1", 0.001), ("k2", 10.0), ("interval", 1e-4)] {
            values.set(name, value).unwrap();
        }
        build(&values, Rate::from_gbps(40))
    }

    fn probability(point: &mut dyn CongestionPoint) -> f64 {
        point.mark_probability(&Arrival::frame(Time::ZERO, Bytes::ZERO))
    }

    /// 50 KB too many: 0.050 for the error, and 0.050 a look for its integral.
    #[test]
    fn the_error_counts_as_it_is_and_adds_up() {
        let mut point = controller();
        for (look, share) in [(1, 0.1), (2, 0.15), (3, 0.2)] {
            assert_eq!(point.next_wake(), Some(Time::from_micros(100 * look)));
            point.on_wake(Time::from_micros(100 * look), Bytes(150_000));
            assert!((probability(point.as_mut()) - share).abs() < 2e-4);
        }
    }

    /// The gains a scenario gets if it says nothing: 100 KB too many for 1000 looks of 20 us are 5.8e-4 for the
    /// error and 1.74e-4 * 100 * 20e-3 = 3.48e-4 for its integral.
    #[test]
    fn its_defaults_are_those_that_settle() {
        let mut point = build(&Values::defaults(PARAMETERS), Rate::from_gbps(40));
        for look in 1..=1000 {
            point.on_wake(Time::from_micros(20 * look), Bytes(300_000));
        }
        assert!((9.27e-4..9.29e-4).contains(&probability(point.as_mut())));
    }

    /// A controller that skips idle updates has the same state as one that makes them, whether or not its integral had reached zero.
    #[test]
    fn a_rest_is_as_good_as_looking_at_an_empty_queue() {
        for rounds in [3, 30, 30_000] {
            let (mut patient, mut resting) = (controller(), controller());
            patient.on_wake(Time::from_micros(100), Bytes(600_000));
            resting.on_wake(Time::from_micros(100), Bytes(600_000));
            let until = Time::from_micros(100 * rounds + 250);
            let mut looks = 0;
            while patient.next_wake().unwrap() <= until {
                patient.on_wake(patient.next_wake().unwrap(), Bytes::ZERO);
            }
            while resting.next_wake().unwrap() <= until {
                resting.skip_idle(until);
                resting.on_wake(resting.next_wake().unwrap(), Bytes::ZERO);
                looks += 1;
            }
            assert_eq!(patient.next_wake(), resting.next_wake());
            assert!((probability(patient.as_mut()) - probability(resting.as_mut())).abs() < 1e-12);
            assert!(looks < 20, "{looks}");
        }
    }

    #[test]
    fn it_does_not_wind_up_below_zero() {
        let mut point = controller();
        for look in 1..100 {
            point.on_wake(Time::from_micros(100 * look), Bytes::ZERO);
        }
        point.on_wake(Time::from_micros(10_000), Bytes(150_000));
        assert!((probability(point.as_mut()) - 0.1).abs() < 2e-4);
    }

    /// 50 KB too many at the first look: 0.05 for the error, and 0.05 of integral. Then 100 KB too many of another queue, with twice the gains
    /// and looks each 200 us: 0.2 for the error, and 0.4 more of integral. The next look stays at 200 us.
    #[test]
    fn other_parameters_go_on_from_the_probability() {
        let mut point = controller();
        point.on_wake(Time::from_micros(100), Bytes(150_000));
        let mut values = Values::defaults(PARAMETERS);
        for (name, value) in [("q_ref", 50e3), ("k1", 0.002), ("k2", 20.0), ("interval", 2e-4)] {
            values.set(name, value).unwrap();
        }
        point.retune(Time::from_micros(150), &values, Rate::from_gbps(40));
        assert!((probability(point.as_mut()) - 0.1).abs() < 2e-4);
        assert_eq!(point.next_wake(), Some(Time::from_micros(200)));
        point.on_wake(Time::from_micros(200), Bytes(150_000));
        assert!((probability(point.as_mut()) - 0.65).abs() < 2e-4);
        assert_eq!(point.next_wake(), Some(Time::from_micros(400)));
    }
}
