//! The receiving half of a TCP-like transport: what has arrived, and which acknowledgements say so.

use shallows_cc::receiver::{Data, Echo, Receiver};
use shallows_cc::units::{Bytes, Time};

use crate::network::MIN_FRAME;
use crate::packet::{Flags, Packet};
use crate::ranges::Ranges;
use crate::send::packets_in;

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    pub flow: u32,
    pub host: u32,
    sender: u32,
    notification: Box<dyn Receiver>,
    mss: Bytes,
    last_payload: Bytes,
    expected: u32,
    end: u32,
    early: Ranges,
    /// Data since the last acknowledgement.
    samples: u8,
    delay_sum: u64,
    newest: Packet,
    newest_at: Time,
    pub timer_armed: bool,
    /// In-order payload.
    pub delivered: u64,
}

/// Acknowledgements to send because of a data packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Acks {
    pub earlier: Option<Packet>,
    pub now: Option<Packet>,
}

impl Receiving {
    pub fn new(flow: u32, ends: (u32, u32), bytes: Bytes, mss: Bytes, notification: Box<dyn Receiver>) -> Self {
        let (end, last_payload) = packets_in(bytes, mss);
        Self {
            flow,
            host: ends.1,
            sender: ends.0,
            notification,
            mss,
            last_payload,
            expected: 0,
            end,
            early: Ranges::default(),
            samples: 0,
            delay_sum: 0,
            newest: Packet::default(),
            newest_at: Time::ZERO,
            timer_armed: false,
            delivered: 0,
        }
    }

    /// A data packet arrived.
    #[inline]
    pub fn on_data(&mut self, now: Time, packet: &Packet) -> Acks {
        let data = Data {
            marked: packet.flags.has(Flags::CE),
            window_reduced: packet.flags.has(Flags::CWR),
            in_order: packet.seq == self.expected && self.early.is_empty(),
        };
        let reply = self.notification.on_data(now, &data);
        let earlier = reply.earlier.map(|echo| self.acknowledge(now, echo));
        self.samples += 1;
        self.delay_sum += (now - packet.sent).0;
        self.newest = *packet;
        self.newest_at = now;
        self.take_in(packet.seq);
        Acks { earlier, now: reply.now.map(|echo| self.acknowledge(now, echo)) }
    }

    #[inline]
    fn take_in(&mut self, seq: u32) {
        if seq == self.expected {
            let reached = seq + 1;
            self.advance(reached);
            if !self.early.is_empty()
                && let Some(end) = self.early.take_run_at(reached)
            {
                self.advance(end);
            }
        } else if seq > self.expected {
            self.early.insert(seq, seq + 1);
        }
    }

    #[inline]
    fn advance(&mut self, to: u32) {
        self.delivered += self.mss.0 * u64::from(to - self.expected);
        self.expected = to;
        if self.expected == self.end {
            self.delivered -= (self.mss - self.last_payload).0;
        }
    }

    /// Whether every byte is there.
    #[inline]
    pub fn complete(&self) -> bool {
        self.expected == self.end
    }

    /// Whether data waits for its acknowledgement.
    pub fn owes_ack(&self) -> bool {
        self.samples > 0
    }

    /// The delayed-acknowledgement timer ran out.
    pub fn on_timer(&mut self, now: Time) -> Option<Packet> {
        self.timer_armed = false;
        self.owes_ack().then(|| {
            let echo = self.notification.on_timer(now);
            self.acknowledge(now, echo)
        })
    }

    #[inline]
    fn acknowledge(&mut self, now: Time, echo: Echo) -> Packet {
        let block = if self.early.is_empty() { None } else { self.early.run_around(self.newest.seq) };
        let (seq, block_end) = block.unwrap_or((0, 0));
        let ack = Packet {
            sent: self.newest.sent,
            delay: Time(self.delay_sum / u64::from(self.samples)),
            held: now - self.newest_at,
            flow: self.flow,
            slot: self.newest.slot,
            to: self.sender,
            seq,
            block_end,
            cumulative: self.expected,
            length: MIN_FRAME.0 as u16,
            samples: self.samples,
            flags: Flags::ACK.with(Flags::ECE, echo.marked),
            ..Packet::default()
        };
        self.samples = 0;
        self.delay_sum = 0;
        ack
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_cc::receiver::ecn_echo::Accurate;

    fn receiving() -> Receiving {
        Receiving::new(0, (0, 1), Bytes(4 * 1460 + 60), Bytes(1460), Accurate::boxed(1))
    }

    fn data(seq: u32) -> Packet {
        Packet { seq, length: 1500, ..Packet::default() }
    }

    #[test]
    fn a_hole_is_reported_with_the_block_behind_it() {
        let mut receiving = receiving();
        let now = Time::from_micros(10);
        let acks: Vec<_> = [0, 2, 3, 1, 4].iter().map(|&seq| receiving.on_data(now, &data(seq)).now.unwrap()).collect();
        let seen: Vec<_> = acks.iter().map(|a| (a.cumulative, a.seq, a.block_end)).collect();
        assert_eq!(seen, [(1, 0, 0), (1, 2, 3), (1, 2, 4), (4, 0, 0), (5, 0, 0)]);
        assert!(receiving.complete());
        assert_eq!(receiving.delivered, 4 * 1460 + 60);
    }

    #[test]
    fn a_packet_twice_counts_once() {
        let mut receiving = receiving();
        receiving.on_data(Time::ZERO, &data(0));
        receiving.on_data(Time::ZERO, &data(0));
        assert_eq!(receiving.delivered, 1460);
    }
}
