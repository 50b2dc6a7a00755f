//! The congestion window with slow start and congestion avoidance (RFC 5681 §3.1), which most algorithms share.

use crate::event::{Ack, Loss};
use crate::sender::Path;
use crate::units::Bytes;

/// A congestion window and its slow-start threshold, in packets with fractions.
#[derive(Clone, Copy, Debug)]
pub struct Window {
    /// cwnd.
    pub packets: f64,
    /// ssthresh; infinite until the first cut.
    pub threshold: f64,
    /// Bytes of payload in a packet.
    mss: f64,
}

impl Window {
    /// Creates the initial window, in slow start.
    #[must_use]
    pub fn initial(path: &Path) -> Self {
        Self { packets: path.initial_window / path.mss, threshold: f64::INFINITY, mss: path.mss.0 as f64 }
    }

    /// Returns whether the window is in slow start.
    #[must_use]
    pub fn slow_start(&self) -> bool {
        self.packets < self.threshold
    }

    /// Converts bytes of payload to packets.
    #[must_use]
    pub fn packets_in(&self, payload: Bytes) -> f64 {
        payload.0 as f64 / self.mss
    }

    /// Grows by what was acknowledged: one packet for each packet in slow start, up to the threshold, then one packet a
    /// window. Does not grow if the window did not limit the flow, or during loss recovery.
    pub fn grow(&mut self, ack: &Ack) {
        if !ack.window_limited || ack.recovering {
            return;
        }
        let mut acked = self.packets_in(ack.acked);
        if self.slow_start() {
            let step = acked.min(self.threshold - self.packets);
            self.packets += step;
            acked -= step;
        }
        if !self.slow_start() {
            self.packets += acked / self.packets;
        }
    }

    /// Cuts to `packets`, but not below `floor`, and leaves slow start. Never raises the window, unless it is below
    /// the floor.
    pub fn cut_to(&mut self, packets: f64, floor: f64) {
        self.packets = packets.min(self.packets).max(floor);
        self.threshold = self.packets;
    }

    /// Sets window and threshold to half of what is in flight, at least two packets (RFC 5681 eq. 4).
    pub fn halve(&mut self, in_flight: Bytes) {
        self.cut_to(self.packets_in(in_flight) / 2.0, 2.0);
    }

    /// Handles a timeout: the window is one packet, the threshold half of what was in flight. Further timeouts of the same
    /// packet leave the threshold (RFC 5681 §3.1).
    pub fn collapse(&mut self, loss: &Loss) {
        if !loss.repeated {
            self.halve(loss.in_flight);
        }
        self.packets = 1.0;
    }

    /// Returns the window in bytes of payload.
    #[inline]
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        Bytes::nearest(self.packets * self.mss)
    }
}
