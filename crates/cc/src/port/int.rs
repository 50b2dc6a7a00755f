//! In-band network telemetry: writes a record of the port into packets that request it.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | B | `rate` | rate of the link |
//! | txBytes | `sent` | bytes that have left, of all classes |
//! | qlen | `queue` | queue behind the packet, of all classes |
//! | ts | `now` | when it begins to leave |
//!
//! Source: Li et al., SIGCOMM 2019 §3.1 and Fig. 7; what counts before and what after the packet, and that both sums
//! are those of the port, as in the authors' switch (switch-node.cc, which reads `GetNBytesTotal` and `m_txBytes` of the port).
//!
//! Differs: the fields are exact, where a switch rounds them to the bits that a header has for them, and they make no packet
//! longer (42 bytes for five hops).

use super::{Arrival, CongestionPoint};
use crate::event::HopRecord;
use crate::parameter::{Parameter, Values};
use crate::units::{Bytes, Rate, Time};

/// None.
pub const PARAMETERS: &[Parameter] = &[];

/// Builds the congestion point.
#[must_use]
pub fn build(_values: &Values, rate: Rate) -> Box<dyn CongestionPoint> {
    Box::new(Int { rate, sent: Bytes::ZERO })
}

/// State of one port.
#[derive(Clone, Copy, Debug)]
struct Int {
    rate: Rate,
    sent: Bytes,
}

impl CongestionPoint for Int {
    fn retune(&mut self, _now: Time, _values: &Values, _rate: Rate) {}

    fn mark_probability(&mut self, arrival: &Arrival) -> f64 {
        self.on_departure(arrival.length);
        0.0
    }

    fn on_departure(&mut self, length: Bytes) {
        self.sent += length;
    }

    fn record(&self, now: Time, queue: Bytes) -> Option<HopRecord> {
        Some(HopRecord { rate: self.rate, queue, sent: self.sent, at: now })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_reads_what_left_before_it_and_what_it_leaves_behind() {
        let mut port = build(&Values::defaults(PARAMETERS), Rate::from_gbps(10));
        let first = port.record(Time(5), Bytes(3000)).unwrap();
        assert_eq!(first, HopRecord { rate: Rate::from_gbps(10), queue: Bytes(3000), sent: Bytes::ZERO, at: Time(5) });
        port.mark_probability(&Arrival::frame(Time(5), Bytes(3000)));
        assert_eq!(port.record(Time(9), Bytes::ZERO).unwrap().sent, Bytes(1500));
    }
}
