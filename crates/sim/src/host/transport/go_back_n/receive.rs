//! Answers of RoCE: a receiver accepts the expected frame alone, or frames in any order ([`crate::host::transport::irn`]).

use shallows_cc::receiver::Data;
use shallows_cc::units::Time;

use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::inflow::{Feedback, Intake};
use crate::host::transport::notifications::Notifications;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::Responses;
use crate::packet::Flags;
use crate::packet::header::{Header, RoceAnswer, RoceData};
use crate::spec::network::{MIN_FRAME, Retransmission};

/// Feedback of one flow.
#[derive(Clone, Debug)]
pub struct RoceFeedback {
    notifications: Notifications,
    acceptance: Acceptance,
}

/// Frames that a receiver accepts.
#[derive(Clone, Debug)]
enum Acceptance {
    /// The expected one.
    InOrder(Gap),
    /// All of them.
    AnyOrder,
}

/// What a receiver that accepts the expected frame alone knows of the other frames.
#[derive(Clone, Debug, Default)]
struct Gap {
    /// Sequence number of the frame that arrived last.
    newest: u32,
    /// Whether a NACK for the current gap has been sent.
    nack_sent: bool,
}

impl RoceFeedback {
    pub(crate) fn new(config: ReceiverConfig) -> Self {
        Self {
            notifications: Notifications::new(config.notification),
            acceptance: match config.retransmission {
                Retransmission::GoBackN => Acceptance::InOrder(Gap::default()),
                Retransmission::Selective => Acceptance::AnyOrder,
            },
        }
    }

    /// Handles a data frame.
    #[inline(always)]
    pub(super) fn on_data(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (frame, marked): (&RoceData, bool),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let reassembly = &mut intake.reassembly;
        let in_order = frame.seq == reassembly.expected;
        let data = Data { marked, in_order, sent_at: frame.sent, ..Data::default() };
        let earlier = self.notifications.on_data(now, &data).then(|| notify(reassembly.expected, now, out));
        match &mut self.acceptance {
            Acceptance::InOrder(_) if in_order => reassembly.append(reassembly.message.payload(frame.seq)),
            Acceptance::InOrder(_) => {}
            Acceptance::AnyOrder => {
                if frame.seq > reassembly.expected || !reassembly.has_no_holes() {
                    intake.reordering.record(frame.seq, frame.sent);
                }
                reassembly.accept(frame.seq);
            }
        }
        let answer = answer(intake, now, frame);
        let reply = match &mut self.acceptance {
            Acceptance::InOrder(gap) => gap.reply(frame, in_order, answer),
            Acceptance::AnyOrder if frame.seq < answer.cumulative => {
                Some(Header::SelectiveAck { answer, seq: frame.seq })
            }
            Acceptance::AnyOrder => Some(Header::SelectiveNack { answer, seq: frame.seq }),
        };
        Responses::new(earlier, reply.map(|header| out.put(MIN_FRAME, header)))
    }
}

/// Returns what any answer to a frame says.
#[inline(always)]
fn answer(intake: &mut Intake, now: Time, frame: &RoceData) -> RoceAnswer {
    let (delay, held) = match &mut intake.timestamps {
        None => (now - frame.sent, 0),
        Some(timestamps) => (timestamps.data(frame.sent, now), timestamps.held(frame.sent, now)),
    };
    RoceAnswer { sent: frame.sent, delay, held, cumulative: intake.reassembly.expected, has_int: false }
}

fn notify(cumulative: u32, now: Time, out: &mut PacketSink<'_>) -> u32 {
    out.put(MIN_FRAME, Header::Notification { left: now, cumulative })
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

impl Feedback for RoceFeedback {
    #[inline(always)]
    fn on_packet(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (at, flags): (u32, Flags),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        match *out.packets.header(at) {
            Header::RoceData(frame) => self.on_data(intake, now, (&frame, flags.is_ce()), out),
            header => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    #[inline]
    fn arm_timer(&mut self) -> Option<Time> {
        self.notifications.arm_timer()
    }

    // The timer for congestion notifications.
    #[inline(always)]
    fn on_timer(&mut self, intake: &mut Intake, now: Time, out: &mut PacketSink<'_>) -> Responses {
        let due = self.notifications.on_timer();
        Responses::new(due.then(|| notify(intake.reassembly.expected, now, out)), None)
    }

    fn ack_pending(&self) -> bool {
        self.notifications.is_pending()
    }
}
