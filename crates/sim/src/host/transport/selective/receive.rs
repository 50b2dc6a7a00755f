//! The receiving half: what has arrived, and which acknowledgements say so.

use shallows_cc::receiver::{Data, Echo, Receiver};
use shallows_cc::units::{Bytes, Time};

use crate::host::timestamps::TimestampModel;
use crate::host::transport::inband::InbandEcho;
use crate::host::transport::message::Message;
use crate::host::transport::selective::ranges::Ranges;
use crate::host::transport::{PacketSink, ReceiverConfig, Responses};
use crate::packet::header::{Header, TcpAck, TcpData};
use crate::spec::network::MIN_FRAME;

/// The largest window that an acknowledgement can carry.
const MOST: f64 = u16::MAX as f64;

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    notification: Box<dyn Receiver>,
    message: Message,
    expected: u32,
    early: Ranges,
    pending: Pending,
    ack_delay: Time,
    measure: Option<Box<TimestampModel>>,
    /// Whether acknowledgements bear a window.
    advertises: bool,
    timer_armed: bool,
    /// Payload that is there, in whatever order it came.
    pub delivered: u64,
}

/// Data since the last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// How many packets, and the sum of their one-way delays.
    samples: u8,
    delay_sum: u64,
    /// The number of what came last, when it left its host, and when it came.
    newest: u32,
    newest_sent: Time,
    newest_at: Time,
}

impl Pending {
    /// Mean one-way delay.
    #[inline]
    fn delay(&self) -> Time {
        if self.samples == 1 { Time(self.delay_sum) } else { Time(self.delay_sum / u64::from(self.samples)) }
    }
}

impl Receiving {
    pub fn new(expecting: ReceiverConfig) -> Self {
        Self {
            advertises: expecting.notification.window().is_some(),
            notification: expecting.notification,
            message: Message::new(expecting.bytes, expecting.mss),
            expected: 0,
            early: Ranges::default(),
            pending: Pending::default(),
            ack_delay: expecting.ack_delay,
            measure: expecting.measure,
            timer_armed: false,
            delivered: 0,
        }
    }

    /// A data packet arrived.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, packet: &TcpData, marked: bool, out: &mut PacketSink<'_>) -> Responses {
        let &TcpData { sent, heard, seq, window_reduced } = packet;
        let payload = self.message.payload(seq);
        let in_order = seq == self.expected && self.early.is_empty();
        let answers = (heard > Time::ZERO).then_some(heard);
        let data = Data { marked, window_reduced, in_order, sent_at: sent, answers, payload };
        let reply = self.notification.on_data(now, &data);
        let earlier = reply.earlier.map(|echo| self.acknowledge_earlier(now, echo, out.again()));
        let delay = match &mut self.measure {
            None => now - sent,
            Some(measure) => measure.data(sent, now),
        };
        let Pending { samples, delay_sum, .. } = self.pending;
        let (samples, delay_sum) = (samples + 1, delay_sum + delay.0);
        let pending = Pending { samples, delay_sum, newest: seq, newest_sent: sent, newest_at: now };
        if in_order {
            self.expected = seq + 1;
            self.delivered += payload.0;
        } else {
            self.accept(seq, payload);
        }
        if reply.now.is_none() {
            self.pending = pending;
        }
        Responses::new(earlier, reply.now.map(|echo| self.acknowledge(now, echo, pending, out)))
    }

    /// The same of a flow whose data asks the ports on its way for something; it lay `at` this place.
    #[inline(never)]
    pub fn on_asking_data(
        &mut self,
        now: Time,
        (at, echo): (u32, &mut InbandEcho),
        marked: bool,
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let header = *out.packets.header(at);
        let responses = match echo.record(at, &header, out) {
            Ok(data) => self.on_data(now, data, marked, out),
            Err(responses) => responses,
        };
        echo.attach(responses, out.packets);
        responses
    }

    /// A packet behind a hole, or in one, or one that has come before.
    #[inline(never)]
    fn accept(&mut self, seq: u32, payload: Bytes) {
        if seq == self.expected {
            self.expected = self.early.take_run_at(seq + 1).unwrap_or(seq + 1);
        } else if seq < self.expected || self.early.insert(seq, seq + 1) == 0 {
            return;
        }
        self.delivered += payload.0;
    }

    /// Whether data waits for its acknowledgement.
    pub fn ack_pending(&self) -> bool {
        self.pending.samples > 0
    }

    /// Whether every byte is there.
    #[inline]
    pub fn complete(&self) -> bool {
        self.expected == self.message.end
    }

    /// The time to look for an acknowledgement that is owed, if it is not already set.
    #[inline]
    pub fn arm_timer(&mut self, now: Time) -> Option<Time> {
        let wanted = self.pending.samples > 0 && !self.timer_armed;
        self.timer_armed |= wanted;
        wanted.then(|| now + self.ack_delay)
    }

    /// The delayed-acknowledgement timer ran out.
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer_armed = false;
        let owed = (self.pending.samples > 0).then(|| self.notification.on_timer(now));
        Responses::new(None, owed.map(|echo| self.acknowledge_earlier(now, echo, out.again())))
    }

    /// Acknowledges what came before this moment.
    #[inline(never)]
    fn acknowledge_earlier(&mut self, now: Time, echo: Echo, mut out: PacketSink<'_>) -> u32 {
        self.acknowledge(now, echo, self.pending, &mut out)
    }

    #[inline(always)]
    fn acknowledge(&mut self, now: Time, echo: Echo, pending: Pending, out: &mut PacketSink<'_>) -> u32 {
        let (block_from, block) = if self.early.is_empty() { (0, 0) } else { self.block(pending.newest) };
        let ack = TcpAck {
            sent: pending.newest_sent,
            left: now,
            delay: pending.delay(),
            samples: pending.samples,
            held: match &mut self.measure {
                None => (now - pending.newest_at).0.cast_signed(),
                Some(measure) => measure.held(pending.newest_sent, now),
            },
            cumulative: self.expected,
            block_from,
            block,
            window: if self.advertises { self.window() } else { 0 },
            marked: echo.marked,
        };
        (self.pending.samples, self.pending.delay_sum) = (0, 0);
        out.put(MIN_FRAME, Header::TcpAck(ack))
    }

    /// The block of what came last, or else the first, by its first number and its length.
    #[inline(never)]
    fn block(&self, newest: u32) -> (u32, u16) {
        let (from, end) = self.early.run_around(newest).unwrap_or((0, 0));
        (from, (end - from).min(u32::from(u16::MAX)) as u16)
    }

    /// The advertised window in 16ths of a full payload.
    #[inline(never)]
    fn window(&self) -> u16 {
        self.notification.window().map_or(0, |window| (window / self.message.mss * 16.0).clamp(1.0, MOST) as u16)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::Slab;
    use shallows_cc::parameter::Values;
    use shallows_cc::receiver::ecn_echo::Accurate;

    fn receiving() -> Receiving {
        let (bytes, mss) = (Bytes(4 * 1460 + 60), Bytes(1460));
        let (ack_delay, notification) = (Time::from_micros(500), Accurate::boxed(&Values::defaults(&[]), 1));
        let (has_int, measure, credits) = (false, None, None);
        let patience = (Time::ZERO, Time::ZERO);
        Receiving::new(ReceiverConfig { bytes, mss, ack_delay, patience, notification, has_int, measure, credits })
    }

    /// What it acknowledges at once when packet `seq` comes.
    fn ack(receiving: &mut Receiving, seq: u32) -> TcpAck {
        let (mut packets, data) = (Slab::default(), TcpData { seq, ..TcpData::default() });
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let at = receiving.on_data(Time::from_micros(10), &data, false, out).now().unwrap();
        let Header::TcpAck(ack) = *packets.header(at) else { panic!("no acknowledgement") };
        ack
    }

    #[test]
    fn a_hole_is_reported_with_the_block_behind_it() {
        let mut receiving = receiving();
        let acks = [0, 2, 3, 1, 4].map(|seq| ack(&mut receiving, seq));
        let seen = acks.map(|ack| (ack.cumulative, ack.block_from, ack.block_from + u32::from(ack.block)));
        assert_eq!(seen, [(1, 0, 0), (1, 2, 3), (1, 2, 4), (4, 0, 0), (5, 0, 0)]);
        assert!(receiving.complete());
        assert_eq!(receiving.delivered, 4 * 1460 + 60);
    }

    /// RFC 2647 §3.17: what arrives counts when it arrives, and not again. 0, 2, 3; 2 and 0 come again; 1 closes the hole.
    #[test]
    fn payload_counts_as_it_comes() {
        let mut receiving = receiving();
        let so_far = [0, 2, 3, 2, 0, 1, 4].map(|seq| {
            ack(&mut receiving, seq);
            receiving.delivered
        });
        assert_eq!(so_far, [1460, 2920, 4380, 4380, 4380, 5840, 5900]);
    }

    /// Sent at 0 and 90 us, both here at 100: their mean delay of 55 us after 90 would be in the future.
    #[test]
    fn an_acknowledgement_of_two_says_when_it_left() {
        let us = Time::from_micros;
        let mut packets = Slab::default();
        let mut receiving = Receiving { notification: Accurate::boxed(&Values::defaults(&[]), 2), ..receiving() };
        let mut come = |seq, sent| {
            let data = TcpData { seq, sent, ..TcpData::default() };
            receiving.on_data(us(100), &data, false, &mut PacketSink { packets: &mut packets, flow: 0, path: 0 }).now()
        };
        assert_eq!(come(0, us(0)), None);
        let at = come(1, us(90)).unwrap();
        let Header::TcpAck(ack) = *packets.header(at) else { panic!("no acknowledgement") };
        assert_eq!((ack.left, ack.delay, ack.sent, ack.held), (us(100), us(55), us(90), 0));
    }

    #[test]
    fn a_packet_twice_counts_once() {
        let mut receiving = receiving();
        ack(&mut receiving, 0);
        ack(&mut receiving, 0);
        assert_eq!(receiving.delivered, 1460);
    }
}
