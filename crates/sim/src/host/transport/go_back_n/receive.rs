//! Receiver of RoCE, which accepts the expected frame alone, or frames in any order ([`crate::host::transport::irn`]).

use shallows_cc::receiver::Data;
use shallows_cc::units::Time;

use crate::host::timestamps::TimestampModel;
use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::notifications::Notifications;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::reassembly::Reassembly;
use crate::host::transport::reordering::ReorderingDepth;
use crate::host::transport::status::Responses;
use crate::host::transport::traits::TransportReceiver;
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::{MIN_FRAME, Retransmission};

/// Receiver of one flow.
#[derive(Clone, Debug)]
pub struct RoceReceiver {
    notifications: Notifications,
    reassembly: Reassembly,
    acceptance: Acceptance,
    pub(super) timestamps: Option<Box<TimestampModel>>,
}

/// Frames that a receiver accepts.
#[derive(Clone, Debug)]
enum Acceptance {
    /// The expected one.
    InOrder(Gap),
    /// All of them.
    AnyOrder(ReorderingDepth),
}

/// What a receiver that accepts the expected frame alone knows of the other frames.
#[derive(Clone, Debug, Default)]
struct Gap {
    /// Sequence number of the frame that arrived last.
    newest: u32,
    /// Whether a NACK for the current gap has been sent.
    nack_sent: bool,
}

impl RoceReceiver {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Self {
            reassembly: Reassembly::new(&config),
            notifications: Notifications::new(config.notification),
            acceptance: match config.retransmission {
                Retransmission::GoBackN => Acceptance::InOrder(Gap::default()),
                Retransmission::Selective => Acceptance::AnyOrder(ReorderingDepth::default()),
            },
            timestamps: config.timestamps,
        }
    }

    /// Handles a data frame.
    #[inline(always)]
    pub fn on_data(&mut self, now: Time, frame: &RoceData, marked: bool, out: &mut PacketSink<'_>) -> Responses {
        let in_order = frame.seq == self.reassembly.expected;
        let data = Data { marked, in_order, sent_at: frame.sent, ..Data::default() };
        let earlier = self.notifications.on_data(now, &data).then(|| self.notify(now, out));
        match &mut self.acceptance {
            Acceptance::InOrder(_) if in_order => self.reassembly.append(self.reassembly.message.payload(frame.seq)),
            Acceptance::InOrder(_) => {}
            Acceptance::AnyOrder(reordering) => {
                if frame.seq > self.reassembly.expected || !self.reassembly.has_no_holes() {
                    reordering.record(frame.seq, frame.sent);
                }
                self.reassembly.accept(frame.seq);
            }
        }
        let answer = self.answer(now, frame);
        let reply = match &mut self.acceptance {
            Acceptance::InOrder(gap) => gap.reply(frame, in_order, answer),
            Acceptance::AnyOrder(_) if frame.seq < answer.cumulative => {
                Some(Header::SelectiveAck { answer, seq: frame.seq })
            }
            Acceptance::AnyOrder(_) => Some(Header::SelectiveNack { answer, seq: frame.seq }),
        };
        Responses::new(earlier, reply.map(|header| out.put(MIN_FRAME, header)))
    }

    /// Returns what any answer to a frame says.
    #[inline(always)]
    fn answer(&mut self, now: Time, frame: &RoceData) -> RoceAnswer {
        let (delay, held) = match &mut self.timestamps {
            None => (now - frame.sent, 0),
            Some(timestamps) => (timestamps.data(frame.sent, now), timestamps.held(frame.sent, now)),
        };
        RoceAnswer { sent: frame.sent, delay, held, cumulative: self.reassembly.expected, has_int: false }
    }

    fn notify(&self, now: Time, out: &mut PacketSink<'_>) -> u32 {
        out.put(MIN_FRAME, Header::Notification { left: now, cumulative: self.reassembly.expected })
    }
}

impl Gap {
    /// Returns the header of the answer to a frame, which was the expected one or not; none if it needs no answer.
    #[inline(always)]
    fn reply(&mut self, frame: &RoceData, in_order: bool, answer: RoceAnswer) -> Option<Header> {
        let went_back = frame.seq <= std::mem::replace(&mut self.newest, frame.seq);
        if frame.seq >= answer.cumulative {
            return (!std::mem::replace(&mut self.nack_sent, true)).then_some(Header::RoceNack(answer));
        }
        self.nack_sent = false;
        let first_duplicate = !in_order && went_back;
        (frame.asks || first_duplicate).then_some(Header::RoceAck(answer))
    }
}

impl TransportReceiver for RoceReceiver {
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
    fn reassembly(&self) -> &Reassembly {
        &self.reassembly
    }

    fn reordering(&self) -> u32 {
        match &self.acceptance {
            Acceptance::InOrder(_) => 0,
            Acceptance::AnyOrder(reordering) => reordering.depth,
        }
    }

    fn timestamps(&self) -> Option<&TimestampModel> {
        self.timestamps.as_deref()
    }
}
