//! Proportional rate reduction (RFC 6937): spreads a cut of the window over a round trip.
//!
//! Without it a sender that has cut its window waits until as much has left the network, then sends a packet for each
//! acknowledgement. With it the sender sends on in proportion: `target / flight` packets for each one delivered. Below the target
//! it sends what was delivered and one more (the slow-start reduction bound).
//!
//! | RFC | here |
//! |---|---|
//! | ssthresh | the window of the algorithm, which it may change during the reduction |
//! | `RecoverFS` | `flight` |
//! | `prr_delivered`, `prr_out` | `delivered`, `out` |
//!
//! As in Linux (`tcp_cwnd_reduction`) and ns-3, it spreads cuts because of marks as well as cuts because of losses, but no timeouts.

use shallows_cc::units::Bytes;

/// Reduction of one flow, in packets.
#[derive(Debug, Default)]
pub(crate) struct Reduction {
    /// The reduction ends when everything below is acknowledged; `None` outside reductions.
    end: Option<u32>,
    flight: u32,
    delivered: u32,
    out: u32,
    /// Packets that may be in flight.
    allowed: u32,
}

/// State of a flow after an acknowledgement, in packets.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    pub unacked: u32,
    pub newly_acked: u32,
    pub in_flight: u32,
    /// The window of the algorithm.
    pub target: f64,
}

impl Reduction {
    /// Begins a reduction, with the packets from `unacked` to `next` outstanding.
    pub(crate) fn begin(&mut self, unacked: u32, next: u32) {
        *self = Self { end: Some(next), flight: (next - unacked).max(1), ..Self::default() };
    }

    /// Ends the reduction.
    pub fn stop(&mut self) {
        self.end = None;
    }

    /// Counts a packet that is sent.
    pub(crate) fn on_sent(&mut self) {
        self.out = self.out.saturating_add(1);
    }

    /// Handles an acknowledgement; the first one is that with which the reduction began.
    pub fn on_ack(&mut self, Progress { unacked, newly_acked, in_flight, target }: Progress) {
        if self.end.is_none_or(|end| unacked >= end) {
            self.end = None;
            return;
        }
        self.delivered += newly_acked;
        let send = if f64::from(in_flight) > target {
            let proportional = (f64::from(self.delivered) * target / f64::from(self.flight)).ceil() as u32;
            proportional.saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(newly_acked) + 1;
            (target as u32 - in_flight).min(limit)
        };
        self.allowed = in_flight + send;
    }

    /// The payload that may be in flight, for packets of `mss`; `window` outside reductions.
    pub(crate) fn window(&self, window: Bytes, mss: Bytes) -> Bytes {
        if self.end.is_some() { mss * u64::from(self.allowed) } else { window }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends all that is allowed after each acknowledgement; returns what is sent.
    fn acks(reduction: &mut Reduction, pipe: &mut u32, count: u32, target: f64, lost: u32) -> Vec<u32> {
        *pipe -= lost;
        let sent = |unacked: u32| {
            *pipe -= 1;
            let progress = Progress { unacked, newly_acked: 1, in_flight: *pipe, target };
            reduction.on_ack(progress);
            let may = reduction.window(Bytes::ZERO, Bytes(1)).0 as u32 - *pipe;
            (0..may).for_each(|_| reduction.on_sent());
            *pipe += may;
            may
        };
        (1..=count).map(sent).collect()
    }

    /// RFC 6937 §3: one loss of 20 packets and a halved window: a packet leaves for every second acknowledgement, ten in all, so
    /// that the pipe ends at the target.
    #[test]
    fn a_cut_is_spread_over_the_round_trip() {
        let mut reduction = Reduction::default();
        reduction.begin(0, 20);
        let mut pipe = 20;
        let sent = acks(&mut reduction, &mut pipe, 19, 10.0, 1);
        assert_eq!(sent[..6], [1, 0, 1, 0, 1, 0]);
        assert_eq!((sent.iter().sum::<u32>(), pipe), (10, 10));
    }

    /// RFC 6937 §4: losses take the pipe below the target; it grows by one packet for each acknowledgement, up to the target.
    #[test]
    fn after_many_losses_the_pipe_grows_back_to_the_target() {
        let mut reduction = Reduction::default();
        reduction.begin(0, 20);
        let mut pipe = 20;
        let sent = acks(&mut reduction, &mut pipe, 5, 10.0, 15);
        assert_eq!(sent, [2, 2, 2, 2, 2]);
        assert_eq!(pipe, 10);
    }

    #[test]
    fn the_window_of_the_algorithm_counts_again_when_all_is_acknowledged() {
        let mut reduction = Reduction::default();
        reduction.begin(0, 20);
        let progress = Progress { unacked: 5, newly_acked: 5, in_flight: 15, target: 10.0 };
        reduction.on_ack(progress);
        // ceil(5 * 10 / 20) = 3 more.
        assert_eq!(reduction.window(Bytes(99), Bytes(1)), Bytes(18));
        reduction.on_ack(Progress { unacked: 20, ..progress });
        assert_eq!(reduction.window(Bytes(99), Bytes(1)), Bytes(99));
    }
}
