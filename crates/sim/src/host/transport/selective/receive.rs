//! Selective acknowledgements at the receiver: when to acknowledge which packets.

use shallows_cc::port::Ecn;
use shallows_cc::receiver::{Data, Echo, Receiver};
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::inflow::{Feedback, Intake};
use crate::host::transport::lazy_timer::LazyTimer;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::Responses;
use crate::packet::Flags;
use crate::packet::header::{Header, Sack, TcpAck, TcpData};

/// Largest window that fits into an acknowledgement, in 16ths of a full payload.
const MAX_WINDOW: f64 = u16::MAX as f64;

/// Feedback of one flow.
#[derive(Clone, Debug)]
pub struct SelectiveFeedback {
    notification: Box<dyn Receiver>,
    pending: Pending,
    /// When the oldest of these arrived.
    oldest_at: Time,
    ack_delay: Time,
    ack_length: Bytes,
    /// Whether acknowledgements carry a window, and whether they may have CE in their IP header.
    advertises: bool,
    marks_acks: bool,
    timer: LazyTimer,
}

/// Data packets since the last acknowledgement.
#[derive(Clone, Copy, Debug, Default)]
struct Pending {
    /// Number of packets, and the sum of their one-way delays.
    samples: u8,
    delay_sum: u128,
    /// Sequence number of the newest packet, when it left its host, and when it arrived.
    newest: u32,
    newest_sent: Time,
    newest_at: Time,
}

impl Pending {
    /// Returns the mean one-way delay.
    #[inline]
    fn delay(&self) -> Time {
        match self.samples {
            1 => Time(self.delay_sum as u64),
            samples => Time((self.delay_sum / u128::from(samples)) as u64),
        }
    }
}

impl SelectiveFeedback {
    pub(crate) fn new(mut config: ReceiverConfig) -> Self {
        Self {
            advertises: config.notification.window().is_some(),
            marks_acks: config.notification.take_ce().is_some(),
            notification: config.notification,
            pending: Pending::default(),
            oldest_at: Time::ZERO,
            ack_delay: config.ack_delay,
            ack_length: config.tcp_ack,
            timer: LazyTimer::DISARMED,
        }
    }

    /// Handles a data packet.
    #[inline(always)]
    fn on_data(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (packet, marked): (&TcpData, bool),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let &TcpData { sent, heard, seq, window_reduced } = packet;
        let payload = intake.reassembly.message.payload(seq);
        let in_order = seq == intake.reassembly.expected && intake.reassembly.has_no_holes();
        let answers = (heard > Time::ZERO).then_some(heard);
        let data = Data { marked, window_reduced, in_order, sent_at: sent, answers, payload };
        let reply = self.notification.on_data(now, &data);
        let earlier = reply.earlier.map(|echo| self.acknowledge_earlier(intake, now, echo, out.reborrow()));
        let delay = match &mut intake.timestamps {
            None => now - sent,
            Some(timestamps) => timestamps.data(sent, now),
        };
        let Pending { samples, delay_sum, .. } = self.pending;
        let (samples, delay_sum) = (samples + 1, delay_sum + u128::from(delay.0));
        let pending = Pending { samples, delay_sum, newest: seq, newest_sent: sent, newest_at: now };
        if in_order {
            intake.reassembly.append(payload);
        } else {
            accept(intake, seq, sent);
        }
        if reply.now.is_none() {
            self.pending = pending;
            if samples == 1 {
                self.oldest_at = now;
            }
        }
        Responses::new(earlier, reply.now.map(|echo| self.acknowledge(intake, now, (echo, pending), out)))
    }

    /// Handles data with an in-band request, or answers a probe.
    #[inline(never)]
    fn on_inband_data(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (at, flags): (u32, Flags),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let header = out.packets.header(at);
        if let &Header::Probe { sent } = header {
            let answer = Header::ProbeAck { sent, sack: Sack::default() };
            return Responses::new(None, Some(out.put(self.ack_length, answer)));
        }
        let Some(&data) = header.tcp_data() else { unreachable!("a packet of another transport: {header:?}") };
        self.on_data(intake, now, (&data, flags.is_ce()), out)
    }

    /// Acknowledges packets that arrived before this event.
    #[inline(never)]
    fn acknowledge_earlier(&mut self, intake: &mut Intake, now: Time, echo: Echo, mut out: PacketSink<'_>) -> u32 {
        self.acknowledge(intake, now, (echo, self.pending), &mut out)
    }

    #[inline(always)]
    fn acknowledge(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (echo, pending): (Echo, Pending),
        out: &mut PacketSink<'_>,
    ) -> u32 {
        let (block_from, block, buffered) =
            if intake.reassembly.has_no_holes() { (0, 0, 0) } else { intake.reassembly.block(pending.newest) };
        let ack = TcpAck {
            sent: pending.newest_sent,
            left: now,
            delay: pending.delay(),
            samples: pending.samples,
            held: match &mut intake.timestamps {
                None => (now - pending.newest_at).0.cast_signed(),
                Some(timestamps) => timestamps.held(pending.newest_sent, now),
            },
            cumulative: intake.reassembly.expected,
            block_from,
            block,
            buffered,
            window: if self.advertises { self.window(intake) } else { 0 },
            marked: echo.marked,
        };
        (self.pending.samples, self.pending.delay_sum) = (0, 0);
        let ecn = if self.marks_acks && self.notification.take_ce() == Some(true) { Ecn::Ce } else { Ecn::NotEct };
        out.put_data(self.ack_length, ecn, Header::TcpAck(ack))
    }

    /// Returns the advertised window in 16ths of a full payload.
    #[inline(never)]
    fn window(&self, intake: &Intake) -> u16 {
        let mss = intake.reassembly.message.mss;
        self.notification.window().map_or(0, |window| (window / mss * 16.0).clamp(1.0, MAX_WINDOW) as u16)
    }
}

/// Records a packet that follows a hole, fills one, or is a duplicate.
#[inline(never)]
fn accept(intake: &mut Intake, seq: u32, sent: Time) {
    intake.reordering.record(seq, sent);
    intake.reassembly.accept(seq);
}

impl Feedback for SelectiveFeedback {
    #[inline(always)]
    fn on_packet(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (at, flags): (u32, Flags),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let Header::TcpData(data) = *out.packets.header(at) else {
            return self.on_inband_data(intake, now, (at, flags), out);
        };
        self.on_data(intake, now, (&data, flags.is_ce()), out)
    }

    #[inline]
    fn arm_timer(&mut self) -> Option<Time> {
        if self.pending.samples == 0 { None } else { self.timer.arm(self.oldest_at + self.ack_delay) }
    }

    // The timer for delayed acknowledgements. Packets that arrived after it was set, and an acknowledgement, wait for the next one.
    #[inline(always)]
    fn on_timer(&mut self, intake: &mut Intake, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer.expire(now);
        let due = self.pending.samples > 0 && self.oldest_at + self.ack_delay <= now;
        let owed = due.then(|| self.notification.on_timer(now));
        Responses::new(None, owed.map(|echo| self.acknowledge_earlier(intake, now, echo, out.reborrow())))
    }

    fn ack_pending(&self) -> bool {
        self.pending.samples > 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::transport::inflow::Inflow;
    use crate::packet::Slab;
    use shallows_cc::parameter::Values;
    use shallows_cc::receiver::ecn_echo::Accurate;

    type SelectiveReceiver = Inflow<SelectiveFeedback>;

    fn new_receiver() -> SelectiveReceiver {
        receiver_of(Bytes(4 * 1460 + 60), 1)
    }

    /// A receiver whose acknowledgements cover so many packets.
    fn receiver_of(bytes: Bytes, acks_every: u32) -> SelectiveReceiver {
        let notification = Accurate::boxed(&Values::defaults(&[]), acks_every);
        let config = ReceiverConfig { notification, ..ReceiverConfig::sample(bytes, Bytes(1460)) };
        Inflow::new(config, SelectiveFeedback::new)
    }

    impl SelectiveReceiver {
        fn on_data(&mut self, now: Time, data: &TcpData, marked: bool, out: &mut PacketSink<'_>) -> Responses {
            self.feedback.on_data(&mut self.intake, now, (data, marked), out)
        }
    }

    /// Returns the acknowledgement of packet `seq`.
    fn ack(receiver: &mut SelectiveReceiver, seq: u32) -> TcpAck {
        let (mut packets, data) = (Slab::default(), TcpData { seq, ..TcpData::default() });
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let at = receiver.on_data(Time::from_micros(10), &data, false, out).now().unwrap();
        let Header::TcpAck(ack) = *packets.header(at) else { panic!("no acknowledgement") };
        ack
    }

    #[test]
    fn an_acknowledgement_reports_the_block_after_a_hole() {
        let mut receiver = new_receiver();
        let acks = [0, 2, 3, 1, 4].map(|seq| ack(&mut receiver, seq));
        let seen = acks.map(|ack| (ack.cumulative, ack.block_from, ack.block_from + u32::from(ack.block)));
        assert_eq!(seen, [(1, 0, 0), (1, 2, 3), (1, 2, 4), (4, 0, 0), (5, 0, 0)]);
        assert_eq!(acks.map(|ack| ack.buffered), [0, 1, 2, 0, 0]);
        assert!(receiver.intake.reassembly.complete());
        assert_eq!(receiver.intake.reassembly.delivered, 4 * 1460 + 60);
    }

    /// RFC 2647 §3.17: a packet counts when it arrives first. Packets 2 and 0 arrive twice; 1 fills the hole.
    #[test]
    fn payload_counts_when_it_arrives_first() {
        let mut receiver = new_receiver();
        let so_far = [0, 2, 3, 2, 0, 1, 4].map(|seq| {
            ack(&mut receiver, seq);
            receiver.intake.reassembly.delivered
        });
        assert_eq!(so_far, [1460, 2920, 4380, 4380, 4380, 5840, 5900]);
    }

    /// Packets sent at 0 and 90 us both arrive at 100 us. Their mean delay is 55 us, but the acknowledgement leaves at 100 us,
    /// not at 90 + 55 us.
    #[test]
    fn an_acknowledgement_of_two_packets_carries_its_own_departure_time() {
        let us = Time::from_micros;
        let mut packets = Slab::default();
        let mut receiver = receiver_of(Bytes(4 * 1460 + 60), 2);
        let mut arrive = |seq, sent| {
            let data = TcpData { seq, sent, ..TcpData::default() };
            receiver.on_data(us(100), &data, false, &mut PacketSink { packets: &mut packets, flow: 0, path: 0 }).now()
        };
        assert_eq!(arrive(0, us(0)), None);
        let at = arrive(1, us(90)).unwrap();
        let Header::TcpAck(ack) = *packets.header(at) else { panic!("no acknowledgement") };
        assert_eq!((ack.left, ack.delay, ack.sent, ack.held), (us(100), us(55), us(90), 0));
    }

    /// A link was down for ten days: 255 packets were delayed by 8.64e17 ps each, together more than 2^64 ps.
    #[test]
    fn the_mean_of_the_longest_delays_is_right() {
        let days = Time::from_secs(864_000.0);
        let mut packets = Slab::default();
        let mut receiver = receiver_of(Bytes::MAX, 255);
        let mut arrive = |seq| {
            let data = TcpData { seq, ..TcpData::default() };
            receiver.on_data(days, &data, false, &mut PacketSink { packets: &mut packets, flow: 0, path: 0 }).now()
        };
        assert!((0..254).all(|seq| arrive(seq).is_none()));
        let at = arrive(254).unwrap();
        let Header::TcpAck(ack) = *packets.header(at) else { panic!("no acknowledgement") };
        assert_eq!((ack.delay, ack.samples), (days, 255));
    }

    /// RFC 5681 §4.2: an acknowledgement that waits for a second packet leaves after the delay at the latest, 500 us here. One timer runs
    /// at a time.
    #[test]
    fn an_acknowledgement_waits_for_a_second_packet_no_longer_than_its_delay() {
        let us = Time::from_micros;
        let mut packets = Slab::default();
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let mut receiver = receiver_of(Bytes(4 * 1460 + 60), 2);
        assert_eq!(receiver.arm_timer(), None);
        for (seq, begin) in [(0, 10), (1, 2000)] {
            let data = TcpData { seq, ..TcpData::default() };
            assert_eq!(receiver.on_data(us(begin), &data, false, out).now(), None);
            assert_eq!(receiver.arm_timer(), Some(us(begin + 500)));
            assert_eq!(receiver.arm_timer(), None);
            let at = receiver.on_timer(us(begin + 500), out).now().unwrap();
            let Header::TcpAck(ack) = *out.packets.header(at) else { panic!("no acknowledgement") };
            assert_eq!((ack.cumulative, ack.samples, ack.held), (seq + 1, 1, 500_000_000));
            assert_eq!(receiver.arm_timer(), None);
        }
    }

    /// RFC 5681 §4.2: no packet waits for its acknowledgement longer than the delay, 500 us here, and none leaves before that because an
    /// earlier packet was acknowledged meanwhile: 0 at 10 us, 1 at 400 us with the acknowledgement, 2 at 450 us.
    #[test]
    fn an_acknowledgement_restarts_the_timer() {
        let us = Time::from_micros;
        let mut packets = Slab::default();
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        let mut receiver = receiver_of(Bytes(4 * 1460 + 60), 2);
        let mut arrive = |receiver: &mut SelectiveReceiver, at, seq| {
            let data = TcpData { seq, ..TcpData::default() };
            receiver.on_data(us(at), &data, false, &mut out.reborrow()).now().is_some()
        };
        assert!(!arrive(&mut receiver, 10, 0));
        assert_eq!(receiver.arm_timer(), Some(us(510)));
        assert!(arrive(&mut receiver, 400, 1));
        assert!(!arrive(&mut receiver, 450, 2));
        assert_eq!(receiver.arm_timer(), None);
        assert_eq!(receiver.on_timer(us(510), out).now(), None);
        assert_eq!(receiver.arm_timer(), Some(us(950)));
        assert!(receiver.on_timer(us(950), out).now().is_some());
    }

    #[test]
    fn a_duplicate_counts_once() {
        let mut receiver = new_receiver();
        ack(&mut receiver, 0);
        ack(&mut receiver, 0);
        assert_eq!(receiver.intake.reassembly.delivered, 1460);
    }
}
