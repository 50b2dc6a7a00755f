//! The receiving end of a flow, whatever its transport.

use shallows_cc::catalog::Transport;
use shallows_cc::units::Time;

use crate::host::transport::config::{FlowEndpoint, ReceiverConfig};
use crate::host::transport::inband::InbandEcho;
use crate::host::transport::inflow::{Feedback as _, Intake};
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::{Pull, Pulls};
use crate::host::transport::reliabilities::{AnyReceiver, of_any_receiver};
use crate::host::transport::status::{ReceiverEvent, Responses};
use crate::packet::{Flags, Slab};

/// Receiving end of a flow.
#[derive(Clone, Debug)]
pub struct FlowReceiver {
    pub endpoint: FlowEndpoint,
    /// Whether hosts choose paths, so that answers carry the entropy value of the newest data, and that value.
    pub echoes_entropy: bool,
    entropy: u16,
    echo: Option<Box<InbandEcho>>,
    receiver: AnyReceiver,
}

impl FlowReceiver {
    pub(crate) fn new(transport: &Transport, endpoint: FlowEndpoint, config: ReceiverConfig) -> Self {
        let echo = InbandEcho::new(transport, &config);
        let receiver = AnyReceiver::new(transport, config);
        Self { endpoint, echoes_entropy: false, entropy: 0, echo, receiver }
    }

    /// Handles a packet from the sender. Slot `at` is already free, but valid until the next insertion.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, at: u32, flags: Flags, packets: &mut Slab) -> ReceiverEvent {
        if !self.echoes_entropy {
            return self.handle(now, at, flags, packets);
        }
        self.entropy = packets[at].entropy();
        let event = self.handle(now, at, flags, packets);
        self.attach_entropy(event.responses, packets);
        if let Some(answer) = event.responses.now() {
            let packet = &mut packets[answer];
            let last_hop = flags.has(Flags::LAST_HOP);
            let echoed = packet.flags.with(Flags::ECHOES, true).with(Flags::ECHOES_MARK, flags.is_ce());
            packet.flags = echoed.with(Flags::LAST_HOP, last_hop);
        }
        event
    }

    /// Gives responses the entropy value of the newest data.
    #[inline(never)]
    fn attach_entropy(&self, responses: Responses, packets: &mut Slab) {
        responses.packets().for_each(|at| packets[at].set_entropy(self.entropy));
    }

    #[inline(always)]
    fn handle(&mut self, now: Time, at: u32, flags: Flags, packets: &mut Slab) -> ReceiverEvent {
        let out = &mut PacketSink::new(self.endpoint, packets);
        of_any_receiver!(&mut self.receiver, inflow => {
            let responses = inflow.on_packet(now, (at, flags), self.echo.as_mut(), out);
            inflow.event(responses)
        })
    }

    /// Handles the timer of [`ReceiverEvent::timer`].
    #[inline(always)]
    pub(crate) fn on_timer(&mut self, now: Time, packets: &mut Slab) -> ReceiverEvent {
        let out = &mut PacketSink::new(self.endpoint, packets);
        let event = of_any_receiver!(&mut self.receiver, inflow => {
            let responses = inflow.on_timer(now, out);
            inflow.event(responses)
        });
        if let Some(echo) = &self.echo {
            echo.attach(event.responses, packets);
        }
        if self.echoes_entropy {
            self.attach_entropy(event.responses, packets);
        }
        event
    }

    /// Returns true if every byte has arrived and nothing is left to send. [`super::reply_after_close`] then handles later packets.
    pub fn may_close(&self) -> bool {
        let pending = of_any_receiver!(&self.receiver, inflow => inflow.feedback.ack_pending());
        self.intake().reassembly.complete() && !pending
    }

    #[inline]
    fn pulls(&mut self) -> Option<&mut Pulls> {
        of_any_receiver!(&mut self.receiver, inflow => inflow.feedback.pulls_mut())
    }

    /// Returns true if the flow newly owes pulls, and must join the run queue of its host's pull pacer.
    #[inline]
    pub(crate) fn joins_pull_pacer(&mut self) -> bool {
        self.pulls().is_some_and(Pulls::joins_pull_pacer)
    }

    /// Returns whether an answer to data can be the pull as well.
    #[inline]
    pub fn pulls_with_answers(&self) -> bool {
        of_any_receiver!(&self.receiver, inflow => inflow.feedback.pulls()).is_some_and(Pulls::pulls_with_answers)
    }

    /// Makes the answer in slot `at` a pull as well.
    pub(crate) fn pull_with(&mut self, at: u32, packets: &mut Slab) {
        if let Some(pulls) = self.pulls() {
            pulls.pull_with(packets.header_mut(at));
        }
    }

    /// Creates a pull; none if the flow owes none.
    pub fn pull(&mut self, now: Time, packets: &mut Slab) -> Option<Pull> {
        self.pull_by(packets, |pulls, out| pulls.pull(now, out))
    }

    /// Creates a slow pull, which grants credit before the sender asks for it.
    pub(crate) fn slow_pull(&mut self, now: Time, packets: &mut Slab) -> Option<Pull> {
        self.pull_by(packets, |pulls, out| pulls.slow_pull(now, out))
    }

    fn pull_by(
        &mut self,
        packets: &mut Slab,
        pull: impl FnOnce(&mut Pulls, &mut PacketSink<'_>) -> Option<Pull>,
    ) -> Option<Pull> {
        let endpoint = self.endpoint;
        let pull = pull(self.pulls()?, &mut PacketSink::new(endpoint, packets))?;
        if self.echoes_entropy {
            packets[pull.at].set_entropy(self.entropy);
        }
        Some(pull)
    }

    /// Returns what every receiver keeps.
    #[inline]
    pub(crate) fn intake(&self) -> &Intake {
        of_any_receiver!(&self.receiver, inflow => &inflow.intake)
    }

    /// Returns the number of credits sent.
    pub(crate) fn credits(&self) -> u64 {
        of_any_receiver!(&self.receiver, inflow => inflow.feedback.credits())
    }

    /// Returns true once the algorithm has drawn a random number.
    pub(crate) fn has_drawn(&self) -> bool {
        of_any_receiver!(&self.receiver, inflow => inflow.feedback.has_drawn())
    }

    /// Reports internal variables, if the receiver is where the algorithm runs.
    pub(crate) fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        of_any_receiver!(&self.receiver, inflow => inflow.feedback.probe(record));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::transport::{FlowSender, SenderConfig, reply_after_close};
    use crate::spec::network::{MIN_FRAME, Network};
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::sender::Path;
    use shallows_cc::units::Bytes;

    /// An answer after the receiver has closed carries no INT stack, although the data did.
    #[test]
    fn the_sender_of_int_data_accepts_an_answer_without_an_int_stack() {
        let (row, mss) = (catalog::find("hpcc").expect("a row"), Bytes(1460));
        let (host, endpoint) = (Network::bare().host, FlowEndpoint { flow: 0, nic: 0, port: 0, path: 0 });
        let path = Path { mss, initial_window: mss * 10, base_rtt: Time::from_micros(10), ..Path::default() };
        let control = (row.sender)(&Values::defaults(row.parameters), &path);
        let config = SenderConfig { has_int: true, ..SenderConfig::sample(&host, (1, mss), control) };
        let mut sender = FlowSender::new(row.transport, Time::ZERO, endpoint, config);
        let mut packets = Slab::default();
        let now = Time::from_micros(100);
        let (sent, _) = sender.send(now, Bytes(40), &mut packets);
        assert!(packets.header(sent).has_int());
        let (_, answer) = reply_after_close(now, (packets.header(sent), false), (mss, mss)).expect("an answer");
        let at = PacketSink::new(endpoint, &mut packets).put(MIN_FRAME, answer);
        assert!(sender.on_packet(now, at, &packets).is_none(), "the flow is done");
    }
}
