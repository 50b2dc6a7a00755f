//! The receiver of a flow: what every receiver keeps, and its feedback, which says what the sender hears.

use std::fmt::Debug;

use shallows_cc::units::Time;

use crate::host::timestamps::TimestampModel;
use crate::host::transport::config::ReceiverConfig;
use crate::host::transport::inband::InbandEcho;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::Pulls;
use crate::host::transport::reassembly::Reassembly;
use crate::host::transport::reordering::ReorderingDepth;
use crate::host::transport::status::{ReceiverEvent, Responses};
use crate::packet::Flags;

/// What the receiver of a flow keeps, whatever its feedback.
#[derive(Clone, Debug)]
pub(crate) struct Intake {
    pub reassembly: Reassembly,
    /// Reordering depth, where the receiver accepts packets out of order.
    pub reordering: ReorderingDepth,
    /// Errors of timestamps; none if they are exact.
    pub timestamps: Option<Box<TimestampModel>>,
}

/// Packets that the receiver of a flow sends, and what they say. A part has the state that only its transport needs.
pub(crate) trait Feedback: Clone + Debug {
    /// Handles a packet from the sender: its slot, which is already free, but valid until the next insertion, and its flags.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    fn on_packet(
        &mut self,
        intake: &mut Intake,
        now: Time,
        packet: (u32, Flags),
        out: &mut PacketSink<'_>,
    ) -> Responses;

    /// Returns the time for a new timer, if no earlier one is set.
    fn arm_timer(&mut self) -> Option<Time>;

    /// Handles a timer set by [`Self::arm_timer`] and returns the packets that it sends.
    fn on_timer(&mut self, intake: &mut Intake, now: Time, out: &mut PacketSink<'_>) -> Responses;

    /// Returns true if the receiver still has to send an acknowledgement, a notification or credits.
    fn ack_pending(&self) -> bool {
        false
    }

    /// Returns the number of credits sent.
    fn credits(&self) -> u64 {
        0
    }

    /// Returns true once the algorithm has drawn a random number.
    fn has_drawn(&self) -> bool {
        false
    }

    /// Reports internal variables, if the receiver is where the algorithm runs.
    fn probe(&self, _record: &mut dyn FnMut(&'static str, f64)) {}

    /// Returns the pulls that it sends in the turns of its host's pull pacer, if it sends some.
    #[inline]
    fn pulls(&self) -> Option<&Pulls> {
        None
    }

    /// Returns the pulls that it sends in the turns of its host's pull pacer, if it sends some.
    #[inline]
    fn pulls_mut(&mut self) -> Option<&mut Pulls> {
        None
    }
}

/// Receiver of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Inflow<F> {
    pub intake: Intake,
    pub feedback: F,
}

impl<F: Feedback> Inflow<F> {
    pub(crate) fn new(mut config: ReceiverConfig, feedback: impl FnOnce(ReceiverConfig) -> F) -> Self {
        let intake = Intake {
            reassembly: Reassembly::new(&config),
            reordering: ReorderingDepth::default(),
            timestamps: config.timestamps.take(),
        };
        Self { intake, feedback: feedback(config) }
    }

    /// Handles a packet from the sender, and what it carries for the `echo` of in-band requests. Slot `at` is already free, but valid until
    /// the next insertion.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    #[inline(always)]
    pub(crate) fn on_packet(
        &mut self,
        now: Time,
        packet: (u32, Flags),
        echo: Option<&mut Box<InbandEcho>>,
        out: &mut PacketSink<'_>,
    ) -> Responses {
        match echo {
            None => self.feedback.on_packet(&mut self.intake, now, packet, out),
            Some(echo) => self.on_inband_packet(now, packet, echo, out),
        }
    }

    #[inline(never)]
    fn on_inband_packet(
        &mut self,
        now: Time,
        packet: (u32, Flags),
        echo: &mut InbandEcho,
        out: &mut PacketSink<'_>,
    ) -> Responses {
        let answered = echo.record(packet.0, out);
        let responses = answered.unwrap_or_else(|| self.feedback.on_packet(&mut self.intake, now, packet, out));
        echo.attach(responses, out.packets);
        responses
    }

    /// Returns the time for a new timer, if no earlier one is set.
    #[inline(always)]
    pub(crate) fn arm_timer(&mut self) -> Option<Time> {
        self.feedback.arm_timer()
    }

    /// Handles a timer set by [`Self::arm_timer`] and returns the packets that it sends.
    #[inline(always)]
    pub(crate) fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.feedback.on_timer(&mut self.intake, now, out)
    }

    /// Returns what to do after an event.
    #[inline(always)]
    pub(crate) fn event(&mut self, responses: Responses) -> ReceiverEvent {
        ReceiverEvent { responses, timer: self.arm_timer(), complete: self.intake.reassembly.complete() }
    }
}
