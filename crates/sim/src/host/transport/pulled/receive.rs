//! Receiver that answers every packet, and sends pulls.

use shallows_cc::units::Time;

use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::selective::Ranges;
use crate::host::transport::status::Responses;
use crate::host::transport::traits::TransportReceiver;
use crate::packet::header::{Header, PulledAnswer, PulledData};
use crate::spec::network::MIN_FRAME;

/// How often in a row a receiver repeats its newest pull: as often as Linux retransmits (`tcp_retries2`).
const RETRIES: u32 = 15;

/// Receiver of one flow.
#[derive(Debug)]
pub struct PullReceiver {
    message: Message,
    /// All packets below have arrived, and those in `out_of_order`.
    expected: u32,
    out_of_order: Ranges,
    delivered: u64,
    /// Pulls that packets have earned and that the host has not sent.
    owed: u64,
    /// Whether the flow is in the run queue of its host's pull pacer.
    queued: bool,
    /// Number of packets pulled since the start.
    pulled: u64,
    backoff: Backoff,
    deadline: Time,
    timer: LazyTimer,
}

impl PullReceiver {
    pub fn new(config: ReceiverConfig) -> Self {
        let (initial, max) = config.pull_timeout;
        Self {
            message: Message::new(config.bytes, config.mss),
            expected: 0,
            out_of_order: Ranges::default(),
            delivered: 0,
            owed: 0,
            queued: false,
            pulled: 0,
            backoff: Backoff::new(initial, max),
            deadline: Time::MAX,
            timer: LazyTimer::DISARMED,
        }
    }

    /// Handles a packet, which is `whole` or trimmed.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, data: &PulledData, whole: bool, out: &mut PacketSink<'_>) -> Responses {
        let answer = PulledAnswer::to(data, now, self.pulled);
        if whole {
            self.accept(data.seq);
        }
        let header = if self.has(data.seq) { Header::PulledAck(answer) } else { Header::PulledNack(answer) };
        self.backoff.reset();
        if self.complete() {
            (self.owed, self.deadline) = (0, Time::MAX);
        } else {
            self.owed += 1;
            self.deadline = now + self.backoff.current();
        }
        Responses::new(None, Some(out.put(MIN_FRAME, header)))
    }

    fn has(&self, seq: u32) -> bool {
        seq < self.expected || self.out_of_order.holes_in(seq, seq + 1) == 0
    }

    fn accept(&mut self, seq: u32) {
        if !self.has(seq) {
            self.delivered += self.message.payload(seq).0;
            self.out_of_order.insert(seq, seq + 1);
            self.expected = self.out_of_order.take_run_at(self.expected).unwrap_or(self.expected);
        }
    }

    /// Returns true if the flow owes pulls and is not in the run queue of the pull pacer; it must then join that queue.
    pub fn joins_pull_pacer(&mut self) -> bool {
        self.owed > 0 && !std::mem::replace(&mut self.queued, true)
    }

    /// Makes an answer that is about to leave a pull as well, because no other flow waits for one.
    pub fn pull_with(&mut self, answer: &mut Header) {
        if let Header::PulledAck(answer) | Header::PulledNack(answer) = answer {
            self.owed -= 1;
            self.pulled += 1;
            (answer.pulled, answer.is_pull) = (self.pulled, true);
            self.queued = self.owed > 0;
        }
    }

    /// Creates a pull and returns its index, and whether the flow owes more; none if everything has arrived meanwhile.
    pub fn pull(&mut self, now: Time, out: &mut PacketSink<'_>) -> Option<(u32, bool)> {
        self.queued = self.owed > 1;
        self.owed = self.owed.checked_sub(1)?;
        self.pulled += 1;
        Some((self.pull_frame(now, out), self.queued))
    }

    fn pull_frame(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Pull { left: now, number: self.pulled })
    }
}

impl TransportReceiver for PullReceiver {
    #[inline]
    fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        self.timer.arm(self.deadline)
    }

    // Repeats the newest pull, unless the flow waits in the pull pacer, or has repeated it often enough: the flow may have been
    // stopped.
    #[inline(always)]
    fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer.expire(now);
        if self.deadline > now {
            return Responses::NONE;
        }
        let repeats = self.owed == 0;
        if repeats {
            self.backoff.fail();
        }
        self.deadline = if self.backoff.failures() > RETRIES { Time::MAX } else { now + self.backoff.current() };
        Responses::new(None, repeats.then(|| self.pull_frame(now, out)))
    }

    // Pulls are not needed once everything has arrived.
    fn ack_pending(&self) -> bool {
        false
    }

    #[inline]
    fn complete(&self) -> bool {
        self.expected == self.message.end
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::parameter::Values;
    use shallows_cc::receiver::ecn_echo::Accurate;
    use shallows_cc::units::Bytes;

    use super::*;
    use crate::packet::Slab;

    #[test]
    fn pulls_are_counted_beyond_32_bits() {
        let ms = Time::from_millis(1);
        let mut receiver = PullReceiver::new(ReceiverConfig {
            bytes: Bytes::MAX,
            mss: Bytes(1460),
            ack_delay: Time::ZERO,
            pull_timeout: (ms, ms),
            notification: Accurate::boxed(&Values::defaults(&[]), 1),
            retransmission: crate::spec::network::Retransmission::GoBackN,
            has_int: false,
            timestamps: None,
            credits: None,
        });
        receiver.pulled = u64::from(u32::MAX);
        let mut packets = Slab::default();
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        receiver.on_data(ms, &PulledData { sent: Time::ZERO, seq: 0 }, false, out);
        let (at, more) = receiver.pull(ms, out).expect("a trimmed packet is pulled again");
        let Header::Pull { number, .. } = *packets.header(at) else { panic!("no pull") };
        assert_eq!((number, more), (1 << 32, false));
    }
}
