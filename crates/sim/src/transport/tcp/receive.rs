//! The receiving half of a TCP-like transport: what has arrived, and which acknowledgements say so.

use shallows_cc::receiver::{Data, Echo, Receiver};
use shallows_cc::units::{Bytes, Time};

use super::ranges::Ranges;
use crate::measure::Measure;
use crate::network::MIN_FRAME;
use crate::packet::{Flags, Packet, PacketKind};
use crate::transport::{Ends, Expecting, Replies, packets_in};

/// The largest window that an acknowledgement can carry.
const MOST: f64 = u16::MAX as f64;

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
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
    ack_delay: Time,
    measure: Option<Box<Measure>>,
    timer_armed: bool,
    /// In-order payload.
    pub delivered: u64,
}

impl Receiving {
    pub fn new(expecting: Expecting) -> Self {
        let (end, last_payload) = packets_in(expecting.bytes, expecting.mss);
        Self {
            notification: expecting.notification,
            mss: expecting.mss,
            last_payload,
            expected: 0,
            end,
            early: Ranges::default(),
            samples: 0,
            delay_sum: 0,
            newest: Packet::default(),
            newest_at: Time::ZERO,
            ack_delay: expecting.ack_delay,
            measure: expecting.measure,
            timer_armed: false,
            delivered: 0,
        }
    }

    /// A data packet arrived.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &Packet, ends: &Ends) -> Replies {
        let data = Data {
            marked: packet.flags.has(Flags::CE),
            window_reduced: packet.flags.has(Flags::CWR),
            in_order: packet.seq == self.expected && self.early.is_empty(),
            sent_at: packet.sent,
            answers: (packet.delay > Time::ZERO).then_some(packet.delay),
            payload: if packet.seq + 1 == self.end { self.last_payload } else { self.mss },
        };
        let reply = self.notification.on_data(now, &data);
        let earlier = reply.earlier.map(|echo| self.acknowledge(now, ends, echo));
        self.samples += 1;
        self.delay_sum += match &mut self.measure {
            None => now - packet.sent,
            Some(measure) => measure.data(packet.sent, now),
        }
        .0;
        self.newest = *packet;
        self.newest_at = now;
        self.take_in(packet.seq);
        Replies { earlier, now: reply.now.map(|echo| self.acknowledge(now, ends, echo)) }
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

    /// Whether data waits for its acknowledgement.
    pub fn owes(&self) -> bool {
        self.samples > 0
    }

    /// Whether every byte is there.
    #[inline]
    pub fn complete(&self) -> bool {
        self.expected == self.end
    }

    /// The time to look for an acknowledgement that is owed, if it is not already set.
    #[inline]
    pub fn arm_timer(&mut self, now: Time) -> Option<Time> {
        let wanted = self.samples > 0 && !self.timer_armed;
        self.timer_armed |= wanted;
        wanted.then(|| now + self.ack_delay)
    }

    /// The delayed-acknowledgement timer ran out.
    pub fn on_timer(&mut self, now: Time, ends: &Ends) -> Replies {
        self.timer_armed = false;
        let owed = (self.samples > 0).then(|| self.notification.on_timer(now));
        Replies { earlier: None, now: owed.map(|echo| self.acknowledge(now, ends, echo)) }
    }

    #[inline]
    fn acknowledge(&mut self, now: Time, ends: &Ends, echo: Echo) -> Packet {
        let block = if self.early.is_empty() { None } else { self.early.run_around(self.newest.seq) };
        let (seq, block_end) = block.unwrap_or((0, 0));
        let window = self.notification.window().map_or(0, |window| (window / self.mss * 16.0).clamp(1.0, MOST) as u16);
        let ack = Packet {
            sent: self.newest.sent,
            delay: Time(self.delay_sum / u64::from(self.samples)),
            held: match &mut self.measure {
                None => now - self.newest_at,
                Some(measure) => measure.held(self.newest.sent, now),
            },
            flow: ends.flow,
            to: ends.src,
            seq,
            block: (block_end - seq).min(u32::from(u16::MAX)) as u16,
            window,
            cumulative: self.expected,
            length: MIN_FRAME.0 as u16,
            samples: self.samples,
            flags: Flags::of(PacketKind::Ack).with(Flags::ECE, echo.marked),
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

    const ENDS: Ends = Ends { flow: 0, src: 0, dst: 1 };

    fn receiving() -> Receiving {
        let (bytes, mss) = (Bytes(4 * 1460 + 60), Bytes(1460));
        let (ack_delay, notification) =
            (Time::from_micros(500), Accurate::boxed(&shallows_cc::parameter::Values::defaults(&[]), 1));
        Receiving::new(Expecting { bytes, mss, ack_delay, notification, measure: None, credits: None })
    }

    fn data(seq: u32) -> Packet {
        Packet { seq, length: 1500, ..Packet::default() }
    }

    #[test]
    fn a_hole_is_reported_with_the_block_behind_it() {
        let mut receiving = receiving();
        let now = Time::from_micros(10);
        let acks: Vec<_> =
            [0, 2, 3, 1, 4].iter().map(|&seq| receiving.on_packet(now, &data(seq), &ENDS).now.unwrap()).collect();
        let seen: Vec<_> = acks.iter().map(|a| (a.cumulative, a.seq, a.seq + u32::from(a.block))).collect();
        assert_eq!(seen, [(1, 0, 0), (1, 2, 3), (1, 2, 4), (4, 0, 0), (5, 0, 0)]);
        assert!(receiving.complete());
        assert_eq!(receiving.delivered, 4 * 1460 + 60);
    }

    #[test]
    fn a_packet_twice_counts_once() {
        let mut receiving = receiving();
        receiving.on_packet(Time::ZERO, &data(0), &ENDS);
        receiving.on_packet(Time::ZERO, &data(0), &ENDS);
        assert_eq!(receiving.delivered, 1460);
    }
}
