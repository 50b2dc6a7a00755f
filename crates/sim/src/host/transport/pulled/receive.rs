//! Answers of the receiver to every packet, and its pulls unless the sender has a window.

use shallows_cc::catalog::SendControl;
use shallows_cc::units::Time;

use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::inflow::{Feedback, Intake};
use crate::host::transport::lazy_timer::{Backoff, LazyTimer};
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::debt::Debt;
use crate::host::transport::pulled::pulls::Pulls;
use crate::host::transport::status::Responses;
use crate::packet::header::{Header, PulledAnswer, PulledData};
use crate::packet::{Flags, PacketKind};
use crate::spec::network::MIN_FRAME;

/// How often in a row a receiver repeats its newest pull: as often as Linux retransmits (`tcp_retries2`).
const RETRIES: u32 = 15;

/// Feedback of one flow.
#[derive(Clone, Debug)]
pub(crate) struct PerPacketFeedback {
    pulls: Pulls,
    backoff: Backoff,
    deadline: Time,
    timer: LazyTimer,
    has_sack: bool,
}

impl PerPacketFeedback {
    pub fn new(config: ReceiverConfig, leave: SendControl) -> Self {
        let (initial, max) = config.pull_timeout;
        let (grants, lengths) = (config.notification.grants(), (config.mss, config.frame));
        let debt = Debt::new(leave, grants, lengths, config.credit_ahead);
        Self {
            pulls: Pulls { debt, queued: false, slow: false },
            backoff: Backoff::new(initial, max),
            deadline: Time::MAX,
            timer: LazyTimer::DISARMED,
            has_sack: config.has_sack,
        }
    }

    /// Handles a packet, which is `whole` or trimmed, and `marked` or not.
    #[inline(always)]
    fn on_data(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (data, whole, marked): (&PulledData, bool, bool),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let mut answer = PulledAnswer::to(data, now, marked, self.pulls.debt.sent());
        if whole {
            intake.reassembly.accept(data.seq);
        }
        if self.has_sack {
            answer.sack = intake.reassembly.sack();
        }
        let arrived = intake.reassembly.has(data.seq);
        let header = if arrived { Header::PulledAck(answer) } else { Header::PulledNack(answer) };
        self.backoff.reset();
        if intake.reassembly.complete() {
            self.pulls.debt.cancel();
            self.deadline = Time::MAX;
        } else if self.pulls.debt.has_pulls() {
            self.pulls.debt.on_packet(data.target, !arrived);
            self.deadline = now + self.backoff.current();
        }
        Responses::new(None, Some(out.put(MIN_FRAME, header)))
    }
}

impl Feedback for PerPacketFeedback {
    #[inline(always)]
    fn on_packet(
        &mut self,
        intake: &mut Intake,
        now: Time,
        (at, flags): (u32, Flags),
        out: &mut PacketSink<'_>,
    ) -> Responses {
        match *out.packets.header(at) {
            Header::PulledData(data) => {
                self.on_data(intake, now, (&data, flags.is(PacketKind::Data), flags.is_ce()), out)
            }
            Header::Probe { sent } => {
                let answer = Header::ProbeAck { sent, sack: intake.reassembly.sack() };
                Responses::new(None, Some(out.put(MIN_FRAME, answer)))
            }
            header => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    #[inline]
    fn arm_timer(&mut self) -> Option<Time> {
        self.timer.arm(self.deadline)
    }

    // Repeats the newest pull, unless the flow waits in the pull pacer, or has repeated it often enough: the flow may have been
    // stopped. Pulls are not needed once everything has arrived.
    #[inline(always)]
    fn on_timer(&mut self, _intake: &mut Intake, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer.expire(now);
        if self.deadline > now {
            return Responses::NONE;
        }
        let repeats = !self.pulls.debt.owes();
        if repeats {
            self.backoff.fail();
        }
        self.deadline = if self.backoff.failures() > RETRIES { Time::MAX } else { now + self.backoff.current() };
        Responses::new(None, repeats.then(|| self.pulls.pull_frame(now, out)))
    }

    #[inline]
    fn pulls(&self) -> Option<&Pulls> {
        Some(&self.pulls)
    }

    #[inline]
    fn pulls_mut(&mut self) -> Option<&mut Pulls> {
        Some(&mut self.pulls)
    }
}

#[cfg(test)]
mod tests {
    use shallows_cc::units::Bytes;

    use super::*;
    use crate::host::transport::inflow::Inflow;
    use crate::host::transport::pulled::Pull;
    use crate::packet::Slab;

    #[test]
    fn pulls_are_counted_beyond_32_bits() {
        let ms = Time::from_millis(1);
        let config = ReceiverConfig::sample(Bytes::MAX, Bytes(1460));
        let mut receiver = Inflow::new(config, |config| PerPacketFeedback::new(config, SendControl::OnPulls));
        receiver.feedback.pulls.debt = Debt::of_pulls(u64::from(u32::MAX));
        let mut packets = Slab::default();
        let out = &mut PacketSink { packets: &mut packets, flow: 0, path: 0 };
        receiver.feedback.on_data(&mut receiver.intake, ms, (&PulledData::default(), false, false), out);
        let Pull { at, more, .. } = receiver.feedback.pulls.pull(ms, out).expect("a trimmed packet is pulled again");
        let Header::Pull { number, .. } = *packets.header(at) else { panic!("no pull") };
        assert_eq!((number, more), (1 << 32, false));
    }
}
