//! Headers of RoCE-like flows.

use shallows_cc::units::Time;

use crate::packet::header::{host_delay, round_trip};
use crate::packet::wire::fields;

fields! {
    /// Data of a RoCE-like flow.
    pub struct RoceData {
        /// Departure from the sending host.
        pub sent: Time,
        /// Sequence number in the flow.
        pub seq: u32,
        /// Whether the sender requests an acknowledgement.
        pub asks: bool,
        /// Whether hops write records into it.
        pub has_int: bool,
    }

    /// Acknowledgement, positive or negative, of a RoCE-like flow.
    pub struct RoceAnswer {
        /// Departure of the acknowledged frame from its host.
        pub sent: Time,
        /// One-way delay of the acknowledged frame.
        pub delay: Time,
        /// Error of the timestamps in picoseconds, which shortens the measured round trip.
        pub held: i64,
        /// Cumulative acknowledgement: the sequence number expected next.
        pub cumulative: u32,
        /// Whether it carries the records of the frame that it answers.
        pub has_int: bool,
    }
}

impl RoceAnswer {
    /// The round-trip time of an acknowledgement that arrives `now`, as [`super::header::TcpAck::round_trip`].
    #[must_use]
    pub fn round_trip(&self, now: Time) -> Time {
        round_trip(now, self.sent, self.held)
    }

    /// As [`super::header::TcpAck::host_delay`].
    #[must_use]
    pub const fn host_delay(&self) -> Time {
        host_delay(self.held)
    }
}
