//! The receiving end of a flow, whatever its transport.

use shallows_cc::catalog::{Reliability, SendControl, Transport};
use shallows_cc::units::{Bytes, Time};

use crate::host::timestamps::TimestampModel;
use crate::host::transport::config::{FlowEndpoint, ReceiverConfig};
use crate::host::transport::credit::{self, CreditReceiver};
use crate::host::transport::go_back_n::GoBackNReceiver;
use crate::host::transport::inband::InbandEcho;
use crate::host::transport::irn::IrnReceiver;
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::{Pull, UnorderedReceiver};
use crate::host::transport::selective::SelectiveReceiver;
use crate::host::transport::status::{ReceiverEvent, Responses};
use crate::host::transport::traits::TransportReceiver;
use crate::packet::header::{Header, PulledAnswer, RoceAnswer, RoceData, Sack, TcpAck};
use crate::packet::{Flags, PacketKind, Slab};
use crate::spec::network::{MIN_FRAME, Retransmission};

/// Receiver of any transport. Functions that run for every packet match on it; all others use [`AnyReceiver::get`].
#[derive(Debug)]
// A separate tag, as in `AnySender`.
#[repr(u8)]
enum AnyReceiver {
    Selective(SelectiveReceiver),
    GoBackN(GoBackNReceiver),
    Irn(IrnReceiver),
    Credit(CreditReceiver),
    Unordered(UnorderedReceiver),
}

impl AnyReceiver {
    fn get(&self) -> &dyn TransportReceiver {
        match self {
            Self::Selective(receiver) => receiver,
            Self::GoBackN(receiver) => receiver,
            Self::Irn(receiver) => receiver,
            Self::Credit(receiver) => receiver,
            Self::Unordered(receiver) => receiver,
        }
    }
}

/// Receiving end of a flow.
#[derive(Debug)]
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
        let echo = InbandEcho::new(transport, config.has_int);
        let receiver = match (transport.reliability, transport.leave) {
            (Reliability::Unordered, leave) => AnyReceiver::Unordered(UnorderedReceiver::new(config, leave)),
            (Reliability::Selective { .. }, _) => AnyReceiver::Selective(SelectiveReceiver::new(config)),
            (Reliability::GoBackN, SendControl::OnCredits) => AnyReceiver::Credit(CreditReceiver::new(config)),
            (Reliability::GoBackN, _) if config.retransmission == Retransmission::Selective => {
                AnyReceiver::Irn(IrnReceiver::new(config))
            }
            (Reliability::GoBackN, _) => AnyReceiver::GoBackN(GoBackNReceiver::new(config)),
        };
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
        let (endpoint, marked) = (self.endpoint, flags.is_ce());
        match (&mut self.receiver, packets.header(at)) {
            (AnyReceiver::Selective(receiver), header) => {
                let responses = match *header {
                    Header::TcpData(data) => {
                        receiver.on_data(now, &data, marked, &mut PacketSink::new(endpoint, packets))
                    }
                    _ => {
                        let echo = self.echo.as_mut().expect("only flows with in-band requests send other packets");
                        receiver.on_inband_data(now, (at, echo), marked, &mut PacketSink::new(endpoint, packets))
                    }
                };
                receiver.event(now, responses)
            }
            (AnyReceiver::GoBackN(receiver), &Header::RoceData(data)) => {
                if let Some(echo) = &mut self.echo {
                    echo.record_frame(at, packets);
                }
                let responses = receiver.on_data(now, &data, marked, &mut PacketSink::new(endpoint, packets));
                if let Some(echo) = &self.echo {
                    echo.attach(responses, packets);
                }
                receiver.event(now, responses)
            }
            (AnyReceiver::Irn(receiver), &Header::RoceData(data)) => {
                if let Some(echo) = &mut self.echo {
                    echo.record_frame(at, packets);
                }
                let responses = receiver.on_data(now, &data, marked, &mut PacketSink::new(endpoint, packets));
                if let Some(echo) = &self.echo {
                    echo.attach(responses, packets);
                }
                receiver.event(now, responses)
            }
            (AnyReceiver::Credit(receiver), &header) => {
                let responses = receiver.on_packet(now, &header, &mut PacketSink::new(endpoint, packets));
                receiver.event(now, responses)
            }
            (AnyReceiver::Unordered(receiver), &Header::PulledData(data)) => {
                let state = (flags.is(PacketKind::Data), marked);
                let responses = receiver.on_data(now, &data, state, &mut PacketSink::new(endpoint, packets));
                receiver.event(now, responses)
            }
            (AnyReceiver::Unordered(receiver), &Header::Probe { sent }) => {
                let responses = receiver.on_probe(sent, &mut PacketSink::new(endpoint, packets));
                receiver.event(now, responses)
            }
            (_, header) => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    /// Handles the timer of [`ReceiverEvent::timer`].
    #[inline(always)]
    pub(crate) fn on_timer(&mut self, now: Time, packets: &mut Slab) -> ReceiverEvent {
        let out = &mut PacketSink::new(self.endpoint, packets);
        let event = match &mut self.receiver {
            AnyReceiver::Selective(receiver) => {
                let responses = receiver.on_timer(now, out);
                receiver.event(now, responses)
            }
            AnyReceiver::GoBackN(receiver) => {
                let responses = receiver.on_timer(now, out);
                receiver.event(now, responses)
            }
            AnyReceiver::Irn(receiver) => {
                let responses = receiver.on_timer(now, out);
                receiver.event(now, responses)
            }
            AnyReceiver::Credit(receiver) => {
                let responses = receiver.on_timer(now, out);
                receiver.event(now, responses)
            }
            AnyReceiver::Unordered(receiver) => {
                let responses = receiver.on_timer(now, out);
                receiver.event(now, responses)
            }
        };
        if let Some(echo) = &self.echo {
            echo.attach(event.responses, packets);
        }
        if self.echoes_entropy {
            self.attach_entropy(event.responses, packets);
        }
        event
    }

    /// Returns true if every byte has arrived and nothing is left to send. [`reply_after_close`] then handles later packets.
    pub fn may_close(&self) -> bool {
        self.receiver.get().complete() && !self.receiver.get().ack_pending()
    }

    /// Returns true if the flow newly owes pulls, and must join the run queue of its host's pull pacer.
    #[inline]
    pub(crate) fn joins_pull_pacer(&mut self) -> bool {
        if let AnyReceiver::Unordered(receiver) = &mut self.receiver { receiver.joins_pull_pacer() } else { false }
    }

    /// Returns whether an answer to data can be the pull as well.
    #[inline]
    pub const fn pulls_with_answers(&self) -> bool {
        if let AnyReceiver::Unordered(receiver) = &self.receiver { receiver.pulls_with_answers() } else { false }
    }

    /// Makes the answer in slot `at` a pull as well.
    pub(crate) fn pull_with(&mut self, at: u32, packets: &mut Slab) {
        if let AnyReceiver::Unordered(receiver) = &mut self.receiver {
            receiver.pull_with(packets.header_mut(at));
        }
    }

    /// Creates a pull; none if the flow owes none.
    pub fn pull(&mut self, now: Time, packets: &mut Slab) -> Option<Pull> {
        self.pull_by(packets, |receiver, out| receiver.pull(now, out))
    }

    /// Creates a slow pull, which grants credit before the sender asks for it.
    pub(crate) fn slow_pull(&mut self, now: Time, packets: &mut Slab) -> Option<Pull> {
        self.pull_by(packets, |receiver, out| receiver.slow_pull(now, out))
    }

    fn pull_by(
        &mut self,
        packets: &mut Slab,
        pull: impl FnOnce(&mut UnorderedReceiver, &mut PacketSink<'_>) -> Option<Pull>,
    ) -> Option<Pull> {
        let AnyReceiver::Unordered(receiver) = &mut self.receiver else { return None };
        let pull = pull(receiver, &mut PacketSink::new(self.endpoint, packets))?;
        if self.echoes_entropy {
            packets[pull.at].set_entropy(self.entropy);
        }
        Some(pull)
    }

    /// Returns the reordering depth in packets ([`super::reordering`]).
    pub fn reordering(&self) -> u32 {
        self.receiver.get().reordering()
    }

    /// Returns the errors of timestamps, if they are not exact.
    pub(crate) fn timestamps(&self) -> Option<&TimestampModel> {
        self.receiver.get().timestamps()
    }

    /// Returns true once the algorithm has drawn a random number.
    pub fn has_drawn(&self) -> bool {
        self.receiver.get().has_drawn()
    }

    /// Returns the number of credits sent.
    pub(crate) fn credits(&self) -> u64 {
        self.receiver.get().credits()
    }

    /// Reports internal variables, if the receiver is where the algorithm runs.
    pub fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.receiver.get().probe(record);
    }

    /// Returns the number of distinct payload bytes that have arrived, in order or not.
    pub(crate) fn delivered(&self) -> u64 {
        self.receiver.get().delivered()
    }
}

/// Returns the answer to a packet of a flow whose receiver has closed because all `bytes` have arrived; none if the packet
/// needs no answer. The answer of a transport whose answers to each packet carry marks says whether this one was `marked`.
pub fn reply_after_close(
    now: Time,
    (header, marked): (&Header, bool),
    (bytes, mss): (Bytes, Bytes),
) -> Option<(Bytes, Header)> {
    let cumulative = Message::new(bytes, mss).end;
    let tcp = |sent| TcpAck { sent, left: now, delay: now - sent, samples: 1, cumulative, ..TcpAck::default() };
    let header = match *header {
        Header::TcpData(data) | Header::IntData(data) => Header::TcpAck(tcp(data.sent)),
        Header::RatedData(data, query) => Header::RatedAck(tcp(data.sent), query.offered),
        Header::RateRequest { sent, query } => Header::RateAnswer { sent, offered: query.offered },
        Header::PulledData(data) => {
            let sack = Sack { cumulative, ..Sack::default() };
            Header::PulledAck(PulledAnswer { sack, ..PulledAnswer::to(&data, now, marked, 0) })
        }
        Header::Probe { sent } => Header::ProbeAck { sent, sack: Sack { cumulative, ..Sack::default() } },
        Header::RoceData(RoceData { sent, asks: true, .. }) => {
            Header::RoceAck(RoceAnswer { sent, delay: now - sent, held: 0, cumulative, has_int: false })
        }
        // A credit request may be late: the data that it is for has arrived.
        Header::CreditStop { .. } | Header::CreditRequest { .. } => {
            return Some((credit::CONTROL_FRAME, Header::CreditAck { cumulative }));
        }
        _ => return None,
    };
    Some((MIN_FRAME, header))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::transport::{FlowSender, SenderConfig};
    use crate::spec::network::Network;
    use shallows_cc::catalog;
    use shallows_cc::parameter::Values;
    use shallows_cc::port::Ecn;
    use shallows_cc::sender::Path;

    /// An answer after the receiver has closed carries no INT stack, although the data did.
    #[test]
    fn the_sender_of_int_data_accepts_an_answer_without_an_int_stack() {
        let (row, mss) = (catalog::find("hpcc").expect("a row"), Bytes(1460));
        let (host, endpoint) = (Network::bare().host, FlowEndpoint { flow: 0, nic: 0, port: 0, path: 0 });
        let path = Path { mss, initial_window: mss * 10, base_rtt: Time::from_micros(10), ..Path::default() };
        let config = SenderConfig {
            bytes: mss,
            mss,
            ecn: Ecn::NotEct,
            has_int: true,
            sprayed: false,
            base_rtt: Time::from_micros(100),
            in_flight_limit: 100,
            host: &host,
            first_timeout: host.rto_initial,
            grants: None,
            multipath: None,
            control: (row.sender)(&Values::defaults(row.parameters), &path),
        };
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
