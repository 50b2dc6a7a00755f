//! Credits of the receiver.

use shallows_cc::receiver::{CreditEcho, Credits};
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::credit::CONTROL_FRAME;
use crate::host::transport::inflow::{Feedback, Intake};
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::Responses;
use crate::packet::Flags;
use crate::packet::header::{Credit, CreditData, Header};

/// Feedback of one flow.
#[derive(Clone, Debug)]
pub(crate) struct CreditFeedback {
    algorithm: Box<dyn Credits>,
    rng: Rng,
    /// CREDIT_SENDING: the sender has requested credits, and not yet stopped them.
    open: bool,
    /// When the next credit leaves.
    due: Time,
    timer_armed: bool,
    /// When it last reported a gap. Frames whose credits are older belong to the same gap.
    reported: Time,
    /// Number of credits sent.
    credits: u64,
}

impl CreditFeedback {
    pub fn new(config: ReceiverConfig) -> Self {
        let (algorithm, rng) = config.credits.expect("the algorithm of the flow sends credits");
        Self { algorithm, rng, open: false, due: Time::ZERO, timer_armed: false, reported: Time::ZERO, credits: 0 }
    }

    /// Handles a packet from the sender.
    #[inline(always)]
    fn on_header(&mut self, intake: &mut Intake, now: Time, header: &Header, out: &mut PacketSink<'_>) -> Responses {
        let reply = match header {
            Header::CreditRequest { .. } => {
                if !self.open {
                    self.open = true;
                    self.due = now;
                }
                None
            }
            Header::CreditStop { .. } => {
                self.open = false;
                Some(Header::CreditAck { cumulative: intake.reassembly.expected })
            }
            Header::CreditData(data) => {
                let reveals = self.on_data(intake, now, data);
                reveals.then_some(Header::CreditNack { cumulative: intake.reassembly.expected })
            }
            _ => unreachable!("a packet of another transport: {header:?}"),
        };
        Responses::new(None, reply.map(|header| out.put(CONTROL_FRAME, header)))
    }

    /// Handles a data frame. Returns true if it reveals a gap that has not been reported.
    #[inline(always)]
    fn on_data(&mut self, intake: &mut Intake, now: Time, data: &CreditData) -> bool {
        let echo = CreditEcho { number: data.credit, granted_at: data.granted_at };
        self.algorithm.on_data(now, &echo);
        let reassembly = &mut intake.reassembly;
        if data.seq == reassembly.expected {
            reassembly.append(reassembly.message.payload(data.seq));
            return false;
        }
        let new_gap = data.seq > reassembly.expected && echo.granted_at >= self.reported;
        if new_gap {
            self.reported = now;
        }
        new_gap
    }
}

impl Feedback for CreditFeedback {
    #[inline(always)]
    fn on_packet(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (at, _): (u32, Flags),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let header = *out.packets.header(at);
        self.on_header(intake, now, &header, out)
    }

    #[inline]
    fn arm_timer(&mut self) -> Option<Time> {
        let wanted = self.open && !self.timer_armed;
        self.timer_armed |= wanted;
        wanted.then_some(self.due)
    }

    // The timer for the next credit.
    #[inline(always)]
    fn on_timer(&mut self, intake: &mut Intake, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer_armed = false;
        if !self.open || self.due > now {
            return Responses::NONE;
        }
        let grant = self.algorithm.grant(now, [self.rng.uniform(), self.rng.uniform()]);
        self.due = grant.next;
        self.credits += 1;
        let credit = Credit { number: grant.number, granted_at: now, cumulative: intake.reassembly.expected };
        Responses::new(None, Some(out.put(grant.size, Header::Credit(credit))))
    }

    fn ack_pending(&self) -> bool {
        self.open
    }

    fn has_drawn(&self) -> bool {
        self.rng.has_drawn()
    }

    fn credits(&self) -> u64 {
        self.credits
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.algorithm.probe(record);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::transport::inflow::Inflow;
    use shallows_cc::receiver::Grant;
    use shallows_cc::units::Bytes;

    /// Grants nothing of interest.
    #[derive(Clone, Debug)]
    struct Idle;

    impl Credits for Idle {
        fn on_data(&mut self, _now: Time, _answered: &CreditEcho) {}

        fn grant(&mut self, _now: Time, _draws: [f64; 2]) -> Grant {
            unreachable!("no credit is due")
        }
    }

    /// Frame 0 is lost. Frame 1 reveals the gap at 10 us. A frame whose credit left before that belongs to the same gap; one whose
    /// credit left then was sent by a sender that could know of it. A frame that has arrived before reveals none.
    #[test]
    fn a_gap_is_reported_once_until_a_credit_leaves_after_the_report() {
        let us = Time::from_micros;
        let feedback = CreditFeedback {
            algorithm: Box::new(Idle),
            rng: Rng::new(1, 0),
            open: false,
            due: Time::ZERO,
            timer_armed: false,
            reported: Time::ZERO,
            credits: 0,
        };
        let mut receiver = Inflow::new(ReceiverConfig::sample(Bytes(6 * 1460), Bytes(1460)), |_| feedback);
        let frames = [(1, 5, 10), (2, 9, 11), (3, 10, 12), (0, 11, 13), (0, 14, 14), (2, 14, 15), (3, 15, 16)];
        let reported = frames.map(|(seq, granted, now)| {
            let data = CreditData { seq, granted_at: us(granted), ..CreditData::default() };
            receiver.feedback.on_data(&mut receiver.intake, us(now), &data)
        });
        assert_eq!(reported, [true, false, true, false, false, true, true]);
        assert_eq!((receiver.intake.reassembly.expected, receiver.intake.reassembly.delivered), (1, 1460));
    }
}
