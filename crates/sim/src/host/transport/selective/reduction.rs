//! Proportional rate reduction (RFC 9937 §6): spreads a cut of the window over a round trip.
//!
//! Without it a sender that has cut its window waits until as much has left the network, then sends a packet for each
//! acknowledgement. With it the sender sends on in proportion: `target / flight` packets for each one delivered. Below the target
//! it sends what was delivered (the conservative reduction bound), and one packet more after an acknowledgement that shows good
//! progress (the slow-start reduction bound).
//!
//! | RFC | here |
//! |---|---|
//! | ssthresh | the window of the algorithm, which it may change during the reduction |
//! | `RecoverFS` | `flight` |
//! | `prr_delivered`, `prr_out`, `DeliveredData` | `delivered`, `out`, `newly_acked` |
//! | inflight, `SafeACK` | `in_flight`, `safe` |
//!
//! As in Linux (`tcp_cwnd_reduction`) and ns-3, it spreads cuts because of marks as well as cuts because of losses, but no timeouts.
//! Amounts are packets, as in Linux.

use shallows_cc::units::Bytes;

/// Reduction of one flow, in packets.
#[derive(Clone, Debug, Default)]
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
    /// Whether the cumulative acknowledgement advanced, and no further loss was indicated.
    pub safe: bool,
}

impl Reduction {
    /// Begins a reduction, which ends when everything below `next` is acknowledged. `flight` packets were outstanding that had not been
    /// acknowledged before, not even selectively.
    pub(crate) fn begin(&mut self, flight: u32, next: u32) {
        *self = Self { end: Some(next), flight: flight.max(1), ..Self::default() };
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
    pub fn on_ack(&mut self, Progress { unacked, newly_acked, in_flight, target, safe }: Progress) {
        if self.end.is_none_or(|end| unacked >= end) {
            self.end = None;
            return;
        }
        if newly_acked == 0 {
            return;
        }
        self.delivered += newly_acked;
        let mut send = if f64::from(in_flight) > target {
            let proportional = (f64::from(self.delivered) * target / f64::from(self.flight)).ceil() as u32;
            proportional.saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(newly_acked) + u32::from(safe);
            (target as u32 - in_flight).min(bound)
        };
        if self.out == 0 {
            send = send.max(1);
        }
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

    /// Handles acknowledgements of `(newly_acked, newly_lost, safe)` packets, the first of which begins the reduction of a flow with `flight`
    /// packets outstanding, of which `pipe` are in flight. Returns how many packets leave after each.
    fn series(flight: u32, mut pipe: u32, target: f64, acks: &[(u32, u32, bool)]) -> Vec<u32> {
        let mut reduction = Reduction::default();
        reduction.begin(flight, 100);
        let after = |&(newly_acked, lost, safe): &(u32, u32, bool)| {
            pipe -= newly_acked + lost;
            reduction.on_ack(Progress { unacked: 0, newly_acked, in_flight: pipe, target, safe });
            let sent = (reduction.window(Bytes::ZERO, Bytes(1)).0 as u32).saturating_sub(pipe);
            (0..sent).for_each(|_| reduction.on_sent());
            pipe += sent;
            sent
        };
        acks.iter().map(after).collect()
    }

    /// RFC 9937 §6.2, by hand: packet 0 of 20 is lost, and the SACK of packet 3 shows it. Packets 1 and 2 were selectively acknowledged
    /// before, so that RecoverFS is 18, and 18 packets are in flight before this one. ssthresh is 10: after n SACKs ceil(10 n / 18)
    /// packets have left, until 10 are in flight at the 15th.
    #[test]
    fn a_cut_is_spread_over_the_round_trip() {
        let acks = [[(1, 1, false)].as_slice(), &[(1, 0, false); 16]].concat();
        let sent = series(18, 18, 10.0, &acks);
        assert_eq!(sent, [1, 1, 0, 1, 0, 1, 0, 1, 0, 1, 1, 0, 1, 0, 0, 1, 1]);
    }

    /// RFC 9937 §6.2, by hand: packets 0 to 14 of 20 are lost, and the SACK of packet 17 shows it: 2 are in flight, below ssthresh = 10.
    /// A packet leaves for each that is delivered while only SACKs arrive (CRB). Then each repair that arrives moves the cumulative
    /// acknowledgement, so that two leave (SSRB), until 10 are in flight. One that shows a further loss is not safe, and lets one leave.
    #[test]
    fn after_many_losses_the_pipe_grows_by_one_with_each_safe_acknowledgement() {
        let acks = [[(1, 15, false)].as_slice(), &[(1, 0, false); 2], &[(1, 0, true); 9]].concat();
        assert_eq!(series(18, 18, 10.0, &acks), [1, 1, 1, 2, 2, 2, 2, 2, 2, 2, 1, 1]);
        let acks =
            [[(1, 15, false)].as_slice(), &[(1, 0, false); 2], &[(1, 0, true), (1, 1, false), (1, 0, true)]].concat();
        assert_eq!(series(18, 18, 10.0, &acks), [1, 1, 1, 2, 1, 2]);
    }

    /// RFC 9937 §6.2, by hand: packets 0 to 6 of 20 are lost, and the SACK of packet 9 shows it: 10 are in flight, which is ssthresh. The first
    /// repair leaves nevertheless (prr_out = sndcnt = 0), so that the next acknowledgement lets nothing leave. An acknowledgement
    /// without news changes nothing.
    #[test]
    fn the_first_repair_leaves_at_once() {
        let acks = [(1, 7, false), (1, 0, false), (0, 0, false), (1, 0, false), (2, 0, false)];
        assert_eq!(series(18, 18, 10.0, &acks), [1, 0, 0, 1, 2]);
    }

    #[test]
    fn the_window_of_the_algorithm_counts_again_when_all_is_acknowledged() {
        let mut reduction = Reduction::default();
        reduction.begin(20, 20);
        let progress = Progress { unacked: 5, newly_acked: 5, in_flight: 15, target: 10.0, safe: true };
        reduction.on_ack(progress);
        // ceil(5 * 10 / 20) = 3 more.
        assert_eq!(reduction.window(Bytes(99), Bytes(1)), Bytes(18));
        reduction.on_ack(Progress { unacked: 20, ..progress });
        assert_eq!(reduction.window(Bytes(99), Bytes(1)), Bytes(99));
    }
}
