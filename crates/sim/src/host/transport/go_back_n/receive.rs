//! Go-back-N receiver.

use shallows_cc::receiver::Data;
use shallows_cc::units::Time;

use crate::host::timestamps::TimestampModel;
use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::message::Message;
use crate::host::transport::notifications::Notifications;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::Responses;
use crate::host::transport::traits::TransportReceiver;
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::MIN_FRAME;

/// Receiver of one flow.
#[derive(Debug)]
pub struct GoBackNReceiver {
    notifications: Notifications,
    message: Message,
    expected: u32,
    /// Sequence number of the frame that arrived last.
    newest: u32,
    /// Whether a NACK for the current gap has been sent.
    nack_sent: bool,
    pub(super) timestamps: Option<Box<TimestampModel>>,
    /// Payload that has arrived in order.
    delivered: u64,
}

impl GoBackNReceiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Self {
            notifications: Notifications::new(config.notification),
            message: Message::new(config.bytes, config.mss),
            expected: 0,
            newest: 0,
            nack_sent: false,
            timestamps: config.timestamps,
            delivered: 0,
        }
    }

    /// Handles a data frame.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, frame: &RoceData, marked: bool, out: &mut PacketSink<'_>) -> Responses {
        let in_order = frame.seq == self.expected;
        let went_back = frame.seq <= std::mem::replace(&mut self.newest, frame.seq);
        let data = Data { marked, in_order, sent_at: frame.sent, ..Data::default() };
        let earlier = self.notifications.on_data(now, &data).then(|| self.notify(now, out));
        if in_order {
            self.delivered += self.message.payload(self.expected).0;
            self.expected += 1;
        }
        let (delay, held) = match &mut self.timestamps {
            None => (now - frame.sent, 0),
            Some(timestamps) => (timestamps.data(frame.sent, now), timestamps.held(frame.sent, now)),
        };
        let answer = RoceAnswer { sent: frame.sent, delay, held, cumulative: self.expected, has_int: false };
        let reply = if frame.seq < self.expected {
            self.nack_sent = false;
            let first_duplicate = !in_order && went_back;
            (frame.asks || first_duplicate).then_some(Header::RoceAck(answer))
        } else {
            (!std::mem::replace(&mut self.nack_sent, true)).then_some(Header::RoceNack(answer))
        };
        Responses::new(earlier, reply.map(|header| out.put(MIN_FRAME, header)))
    }

    fn notify(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Notification { left: now, cumulative: self.expected })
    }
}

impl TransportReceiver for GoBackNReceiver {
    #[inline]
    fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        self.notifications.arm_timer()
    }

    // The timer for congestion notifications.
    #[inline(always)]
    fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        let due = self.notifications.on_timer();
        Responses::new(due.then(|| self.notify(now, out)), None)
    }

    fn ack_pending(&self) -> bool {
        self.notifications.is_pending()
    }

    #[inline]
    fn complete(&self) -> bool {
        self.expected == self.message.end
    }

    fn timestamps(&self) -> Option<&TimestampModel> {
        self.timestamps.as_deref()
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}
