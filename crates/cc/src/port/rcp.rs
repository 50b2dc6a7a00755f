//! RCP at the port: offers every flow the same rate, and changes it until the link is full and its queue empty.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | R | `rate` | the rate that it offers |
//! | gamma C | `capacity` | the share of the link that it fills |
//! | y | `arrived` | bytes that arrived in a slot, dropped or not |
//! | Q | `queue` | backlog at the end of the slot |
//! | d | `rtt` | mean round trip of arriving packets, by their headers |
//! | T | `slot` | time between two changes of R: d, or `timeslot` if that is less |
//!
//! Source: Dukkipati et al., `IWQoS` 2005, eq. 2: R <- R (1 + (T/d) (alpha (gamma C - y) - beta Q/d) / (gamma C)); the
//! average d and the clipping of R as in the authors' ns-2 code (rcp.cc). Constants for a datacenter are those of the
//! scripts in which PERC's authors compare with RCP over 100 Gbps and 10.8 us.
//!
//! Differs: slots begin at time zero instead of one drawn around it; a packet counts whole in the slot in which it comes.

use super::{Arrival, CongestionPoint, skip_to};
use crate::parameter::{Parameter, Values, number, time};
use crate::units::{Bytes, Rate, Time};

/// In the order of the equation.
pub const PARAMETERS: &[Parameter] = &[
    number("alpha", "alpha", 0.4, 1e-6..=10.0)
        .meaning("gain on the capacity left over")
        .source("rcp.cc: 0.4; PERC's scripts for a datacenter: 0.4"),
    number("beta", "beta", 0.2, 0.0..=10.0)
        .meaning("gain on the queue")
        .source("PERC's scripts for a datacenter: 0.2; rcp.cc: 0.4, the authors' scripts: 1"),
    number("gamma", "gamma", 1.0, 0.01..=1.0).meaning("share of the link's rate that it fills").source("rcp.cc: 1"),
    time("rtt", "d", 100e-6, 1e-6..=10.0)
        .meaning("round trip until packets tell theirs")
        .source("SIGCOMM 2017 §6.1: 100 us (PERC's scripts: its network's; rcp.cc: 200 ms, one move in all that time)")
        .fixed(),
    time("timeslot", "T", 10e-3, 1e-6..=10.0)
        .meaning("the longest slot")
        .source("rcp.cc: 10 ms, so that d decides in a datacenter"),
    number("initial_rate", "init_rate_fact", 0.5, 1e-6..=1.0)
        .meaning("what it first offers, as a share of the link's rate; an idle link soon offers all of it")
        .source("PERC's scripts for a datacenter: 0.5; rcp.cc: 0.05")
        .fixed(),
    number("min_rate", "min_pprtt", 0.01, 1e-6..=1.0)
        .meaning("the least that it offers, in packets of 1000 bytes a round trip")
        .source("its ns-3 port: 0.01; its NetFPGA router: 0.1"),
];

/// The packet of `min_rate` (rcp.cc).
const LEAST_PACKET: f64 = 1000.0;

/// Builds the congestion point.
#[must_use]
pub fn build(values: &Values, rate: Rate) -> Box<dyn CongestionPoint> {
    let link = rate.0 as f64 / 8.0;
    let (rtt, timeslot) = (values.get("rtt"), values.get("timeslot"));
    let slot = rtt.min(timeslot);
    Box::new(Rcp {
        alpha: values.get("alpha"),
        beta: values.get("beta"),
        timeslot,
        min_rate: values.get("min_rate"),
        link,
        capacity: values.get("gamma") * link,
        rate: values.get("initial_rate") * link,
        rtt,
        slot,
        next: Time::from_secs(slot),
        arrived: 0.0,
        rtt_bytes: 0.0,
        rtt_sum: 0.0,
    })
}

/// State of one port: bytes, seconds and bytes a second.
#[derive(Clone, Copy, Debug)]
struct Rcp {
    alpha: f64,
    beta: f64,
    timeslot: f64,
    min_rate: f64,
    link: f64,
    capacity: f64,
    rate: f64,
    rtt: f64,
    slot: f64,
    next: Time,
    arrived: f64,
    /// What came in this slot with a round trip in its header, and the sum of those, byte by byte.
    rtt_bytes: f64,
    rtt_sum: f64,
}

impl Rcp {
    /// A longer mean counts as it is; a shorter one the less, the lower the rate, as it may be that of a few flows.
    fn update_rtt(&mut self) {
        if self.rtt_bytes == 0.0 {
            return;
        }
        let mean = self.rtt_sum / self.rtt_bytes;
        let gain =
            self.slot / self.rtt * if mean >= self.rtt { 1.0 } else { self.rate / self.link * (mean / self.rtt) };
        self.rtt += gain * (mean - self.rtt);
    }

    fn update_rate(&mut self, queue: f64) {
        let spare = self.alpha * (self.capacity - self.arrived / self.slot) - self.beta * queue / self.rtt;
        let moved = self.rate * (1.0 + self.slot / self.rtt * spare / self.capacity);
        self.rate = moved.max(self.min_rate * LEAST_PACKET / self.rtt).min(self.capacity);
    }
}

impl CongestionPoint for Rcp {
    fn retune(&mut self, _now: Time, values: &Values, _rate: Rate) {
        (self.alpha, self.beta) = (values.get("alpha"), values.get("beta"));
        (self.timeslot, self.min_rate) = (values.get("timeslot"), values.get("min_rate"));
        self.capacity = values.get("gamma") * self.link;
    }

    fn mark_probability(&mut self, _arrival: &Arrival) -> f64 {
        0.0
    }

    fn on_arrival(&mut self, packet: Bytes, rtt: Option<Time>) {
        self.arrived += packet.0 as f64;
        if let Some(rtt) = rtt {
            self.rtt_bytes += packet.0 as f64;
            self.rtt_sum += packet.0 as f64 * rtt.as_secs();
        }
    }

    fn offered_rate(&self) -> Option<Rate> {
        Some(Rate((self.rate * 8.0) as u64))
    }

    fn next_wake(&self) -> Option<Time> {
        Some(self.next)
    }

    fn on_wake(&mut self, now: Time, queue: Bytes) {
        self.update_rtt();
        self.update_rate(queue.0 as f64);
        self.slot = self.rtt.min(self.timeslot);
        self.next = now + Time::from_secs(self.slot);
        self.arrived = 0.0;
        self.rtt_bytes = 0.0;
        self.rtt_sum = 0.0;
    }

    fn skip_idle(&mut self, until: Time) {
        let mut later = *self;
        later.on_wake(self.next, Bytes::ZERO);
        if self.arrived == 0.0 && (later.rate, later.slot) == (self.rate, self.slot) {
            self.next = skip_to(self.next, Time::from_secs(self.slot), until);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 10 Gbps and 100 us: 125 000 bytes a slot. It begins at half of the link.
    fn router() -> Box<dyn CongestionPoint> {
        build(&Values::defaults(PARAMETERS), Rate::from_gbps(10))
    }

    fn end_slot(router: &mut dyn CongestionPoint, queue: u64) -> f64 {
        let now = router.next_wake().unwrap();
        router.on_wake(now, Bytes(queue));
        router.offered_rate().unwrap().as_gbps()
    }

    #[test]
    fn the_rate_follows_what_is_left_over_and_what_waits() {
        let mut router = router();
        assert_eq!(router.next_wake(), Some(Time::from_micros(100)));
        // Nothing came: 5 (1 + 0.4).
        assert!((end_slot(router.as_mut(), 0) - 7.0).abs() < 1e-6);
        // Twice what fits, and a round trip of it waits: 7 (1 - 0.4 - 0.2).
        router.on_arrival(Bytes(250_000), None);
        assert!((end_slot(router.as_mut(), 125_000) - 2.8).abs() < 1e-6);
        // Full and nothing waits: it stays.
        router.on_arrival(Bytes(125_000), None);
        assert!((end_slot(router.as_mut(), 0) - 2.8).abs() < 1e-6);
    }

    #[test]
    fn an_idle_link_offers_all_and_a_flooded_one_a_hundredth_packet_a_round_trip() {
        let mut router = router();
        // 5, 7, 9.8, 10.
        let offers: Vec<_> = (0..3).map(|_| end_slot(router.as_mut(), 0)).collect();
        assert!((offers[1] - 9.8).abs() < 1e-6 && offers[2] == 10.0);
        router.on_arrival(Bytes(1_000_000), None);
        // 0.01 * 8000 bits in 100 us.
        assert!((end_slot(router.as_mut(), 0) - 0.0008).abs() < 1e-9);
    }

    #[test]
    fn an_idle_second_is_skipped_once_all_is_offered() {
        let (until, mut looks) = (Time::from_secs(1.0), 0);
        let mut router = router();
        while router.next_wake().unwrap() <= until {
            router.skip_idle(until);
            router.on_wake(router.next_wake().unwrap(), Bytes::ZERO);
            looks += 1;
        }
        // 5, 7, 9.8, 10 Gbps, and the last slot of the second.
        assert_eq!(router.offered_rate(), Some(Rate::from_gbps(10)));
        assert!(looks <= 6, "{looks}");
        assert_eq!(router.next_wake(), Some(until + Time::from_micros(100)));
    }

    #[test]
    fn a_longer_round_trip_is_believed_at_once_and_a_shorter_one_slowly() {
        let mut router = router();
        router.on_arrival(Bytes(1000), Some(Time::from_micros(300)));
        router.on_arrival(Bytes(1000), Some(Time::from_micros(100)));
        end_slot(router.as_mut(), 0);
        // Their mean of 200 us is the next slot; the rate has grown by T/d = 1/2: 5 (1 + 0.5 * 0.4 * (1 - 2000/125000)).
        assert_eq!(router.next_wake(), Some(Time::from_micros(300)));
        let rate = router.offered_rate().unwrap().as_gbps();
        assert!((rate - 5.984).abs() < 1e-6, "{rate}");
        router.on_arrival(Bytes(1000), Some(Time::from_micros(100)));
        end_slot(router.as_mut(), 0);
        // d + R/C (100/200) (T/d) (100 us - d) = 200 - 0.5984 * 0.5 * 100 = 170.08 us.
        assert_eq!(router.next_wake(), Some(Time::from_micros(300) + Time::from_nanos(170_080)));
    }

    /// 5 (1 + 0.4) = 7 at first. At half the link 7.5 Gbps are half too many: 7 (1 - 0.8 / 2) = 4.2.
    #[test]
    fn other_gains_go_on_from_the_rate() {
        let mut router = router();
        assert!((end_slot(router.as_mut(), 0) - 7.0).abs() < 1e-6);
        let mut values = Values::defaults(PARAMETERS);
        values.set("alpha", 0.8).unwrap();
        values.set("gamma", 0.5).unwrap();
        router.retune(Time::from_micros(150), &values, Rate::from_gbps(10));
        assert_eq!(router.next_wake(), Some(Time::from_micros(200)));
        router.on_arrival(Bytes(93_750), None);
        assert!((end_slot(router.as_mut(), 0) - 4.2).abs() < 1e-6);
    }
}
