//! IRN receiver.

use shallows_cc::receiver::Data;
use shallows_cc::units::Time;

use crate::host::timestamps::TimestampModel;
use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::message::Message;
use crate::host::transport::notifications::Notifications;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::reordering::ReorderingDepth;
use crate::host::transport::selective::Ranges;
use crate::host::transport::status::Responses;
use crate::host::transport::traits::TransportReceiver;
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::MIN_FRAME;

/// Receiver of one flow.
#[derive(Debug)]
pub(crate) struct IrnReceiver {
    notifications: Notifications,
    message: Message,
    expected: u32,
    out_of_order: Ranges,
    reordering: ReorderingDepth,
    timestamps: Option<Box<TimestampModel>>,
    delivered: u64,
}

impl IrnReceiver {
    pub fn new(config: ReceiverConfig) -> Self {
        Self {
            notifications: Notifications::new(config.notification),
            message: Message::new(config.bytes, config.mss),
            expected: 0,
            out_of_order: Ranges::default(),
            reordering: ReorderingDepth::default(),
            timestamps: config.timestamps,
            delivered: 0,
        }
    }

    /// Handles a data frame.
    pub(crate) fn on_data(&mut self, now: Time, frame: &RoceData, marked: bool, out: &mut PacketSink<'_>) -> Responses {
        let &RoceData { sent, seq, .. } = frame;
        let in_order = seq == self.expected;
        let data = Data { marked, in_order, sent_at: sent, ..Data::default() };
        let earlier = self.notifications.on_data(now, &data).then(|| self.notify(now, out));
        if seq > self.expected || !self.out_of_order.is_empty() {
            self.reordering.record(seq, sent);
        }
        self.accept(seq);
        let (delay, held) = match &mut self.timestamps {
            None => (now - sent, 0),
            Some(timestamps) => (timestamps.data(sent, now), timestamps.held(sent, now)),
        };
        let answer = RoceAnswer { sent, delay, held, cumulative: self.expected, has_int: false };
        let header = if seq < self.expected {
            Header::SelectiveAck { answer, seq }
        } else {
            Header::SelectiveNack { answer, seq }
        };
        Responses::new(earlier, Some(out.put(MIN_FRAME, header)))
    }

    /// Records a frame, unless it is a duplicate.
    fn accept(&mut self, seq: u32) {
        if seq == self.expected {
            self.expected = self.out_of_order.take_run_at(seq + 1).unwrap_or(seq + 1);
        } else if seq < self.expected || self.out_of_order.insert(seq, seq + 1) == 0 {
            return;
        }
        self.delivered += self.message.payload(seq).0;
    }

    fn notify(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Notification { left: now, cumulative: self.expected })
    }
}

impl TransportReceiver for IrnReceiver {
    fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        self.notifications.arm_timer()
    }

    // The timer for congestion notifications.
    fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        let due = self.notifications.on_timer();
        Responses::new(due.then(|| self.notify(now, out)), None)
    }

    fn ack_pending(&self) -> bool {
        self.notifications.is_pending()
    }

    fn complete(&self) -> bool {
        self.expected == self.message.end
    }

    fn reordering(&self) -> u32 {
        self.reordering.depth
    }

    fn timestamps(&self) -> Option<&TimestampModel> {
        self.timestamps.as_deref()
    }

    fn delivered(&self) -> u64 {
        self.delivered
    }
}
