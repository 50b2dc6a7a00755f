//! Interface of a transport: its sending and its receiving end.

use shallows_cc::units::{Bytes, Time};

use crate::host::stats::RttStats;
use crate::host::timestamps::TimestampModel;
use crate::host::transport::gate::Gate;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::reassembly::Reassembly;
use crate::host::transport::status::{Readiness, ReceiverEvent, Responses, SendStatus};
use crate::host::waits::TotalWait;
use crate::spec::network::Supply;

/// Sending end of a flow.
pub trait TransportSender {
    /// Returns whether the flow may send.
    fn readiness(&mut self, now: Time) -> Readiness;

    /// Creates the next packet and returns its index; `header` is the length of a data frame without its payload.
    fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32;

    /// Returns the time for a new timer, if no earlier one is set.
    fn arm_timer(&mut self) -> Option<Time>;

    /// Handles a timer set by [`Self::arm_timer`]; the deadline may have moved since.
    fn on_timer(&mut self, now: Time);

    /// Sends no new data from now on.
    fn stop(&mut self, now: Time);

    /// Returns true if the sender knows that every byte has arrived.
    fn done(&self) -> bool;

    /// Returns the number of the next new packet, and the packets in flight unless credits count them.
    fn progress(&self) -> (u32, Option<u32>);

    /// Returns the numbers of retransmitted packets and of timeouts.
    fn repairs(&self) -> (u64, u64);

    /// Returns the time waited for timeouts.
    fn timeout_wait(&self) -> TotalWait;

    /// Returns the congestion window and pace, unless credits replace them.
    fn gate(&self) -> Option<&Gate>;

    /// Returns the congestion window and pace, unless credits replace them.
    fn gate_mut(&mut self) -> Option<&mut Gate>;

    /// Returns the time for a wake timer that the algorithm has newly asked for.
    #[inline]
    fn arm_wake(&mut self) -> Option<Time> {
        self.gate_mut().and_then(Gate::arm_wake)
    }

    /// Makes data of the application available.
    fn write(&mut self, supply: Supply);

    /// Returns true if the application will write more data.
    fn app_limited(&self) -> bool;

    /// Returns the number of credits that arrived when nothing was left to send.
    fn credits_wasted(&self) -> u64;

    /// Returns true once the algorithm has drawn a random number.
    fn has_drawn(&self) -> bool;

    /// Returns the smoothed round-trip times, if the transport computes them.
    fn rtt(&self) -> RttStats;

    /// Reports internal variables; `since` is the time since the last report, and `has_rates` says whether switches announce rates.
    fn probe(&mut self, since: Time, has_rates: bool, record: &mut dyn FnMut(&'static str, f64));

    /// Returns the state after an event. A deadline that has passed, because fewer packets in flight have a shorter timeout, is now.
    #[inline(always)]
    fn status(&mut self, now: Time, queued: bool) -> SendStatus {
        SendStatus {
            readiness: if queued { None } else { Some(self.readiness(now)) },
            timeout: self.arm_timer().map(|deadline| deadline.max(now)),
            wake: self.arm_wake(),
        }
    }

    /// Returns the state after an event, or none if the flow is done.
    #[inline(always)]
    fn status_unless_done(&mut self, now: Time, queued: bool) -> Option<SendStatus> {
        if self.done() { None } else { Some(self.status(now, queued)) }
    }

    /// Sends a packet and returns its index and the state after that.
    #[inline(always)]
    fn send_and_report(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> (u32, SendStatus) {
        let at = self.send(now, header, out);
        (at, self.status(now, false))
    }
}

/// Receiving end of a flow.
pub(crate) trait TransportReceiver {
    /// Returns the time for a new timer, if no earlier one is set.
    fn arm_timer(&mut self) -> Option<Time>;

    /// Handles a timer set by [`Self::arm_timer`] and returns the packets that it sends.
    fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses;

    /// Returns true if the receiver still has to send an acknowledgement, a notification or credits.
    fn ack_pending(&self) -> bool;

    /// Returns the data that has arrived.
    fn reassembly(&self) -> &Reassembly;

    /// Returns the reordering depth in packets ([`super::reordering`]); zero if the receiver accepts packets in order alone.
    fn reordering(&self) -> u32;

    /// Returns the number of credits sent.
    fn credits(&self) -> u64;

    /// Returns the errors of timestamps, if they are not exact.
    fn timestamps(&self) -> Option<&TimestampModel>;

    /// Returns true once the algorithm has drawn a random number.
    fn has_drawn(&self) -> bool;

    /// Reports internal variables, if the receiver is where the algorithm runs.
    fn probe(&self, record: &mut dyn FnMut(&'static str, f64));

    /// Handles a timer and returns what to do after it.
    #[inline(always)]
    fn expire(&mut self, now: Time, out: &mut PacketSink<'_>) -> ReceiverEvent {
        let responses = self.on_timer(now, out);
        self.event(responses)
    }

    /// Returns what to do after an event.
    #[inline(always)]
    fn event(&mut self, responses: Responses) -> ReceiverEvent {
        ReceiverEvent { responses, timer: self.arm_timer(), complete: self.reassembly().complete() }
    }
}
