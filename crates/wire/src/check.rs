//! Checks of a datagram against the state of its flow.
//!
//! In the packet world a transport hears only what the other end of its flow has said, so transports contain no checks: a wrong
//! acknowledgement number stops a flow for ever, and some wrong numbers panic. Everything that a transport takes for granted is
//! checked here, and a datagram that fails changes no state.
//!
//! The authentication code already rejects datagrams that are corrupted or not from the other end. These checks are for the
//! other end itself: a peer with an error, or with bad intentions, must not stop this process.

use shallows_cc::event::HopRecord;
use shallows_cc::units::{Bytes, MIN_FRAME, Rate, Time};
use shallows_sim::{
    Control, FlowSpec, Header, Network, Packet, PacketKind, RealTimeDomain, Retransmission, TcpAck, Transit, exchanges,
};

use crate::header::Datagram;

/// The longest time by which a planned arrival may lie ahead: a queue of 2 s, less than the event queue holds.
const MAX_AHEAD: Time = Time::from_millis(2000);
/// Tolerance for the errors of time stamps that a scenario may give to hosts.
const STAMP_ERRORS: Time = Time::from_millis(1);
/// The most packets by which data may be ahead of what has arrived.
const MAX_PACKETS_AHEAD: u64 = 1 << 20;
/// Credit in bytes that a flow may have beyond what its link has carried since the start.
const MAX_CREDIT_AHEAD: u64 = 1 << 24;
/// The most credits of a flow: a billion per second for three days.
const MAX_CREDITS: u64 = 1 << 48;
/// The longest queue in an INT record.
const MAX_QUEUE: Bytes = Bytes(1 << 48);

/// Reasons to reject a datagram.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Rejection {
    /// It is shorter than its header.
    Short,
    /// It has another format, or a field has a value that does not exist.
    Format,
    /// Its authentication code is wrong.
    Code,
    /// There is no such flow here.
    Flow,
    /// The transport of the flow has no such packet.
    Kind,
    /// The frame is too short or too long, or its class does not exist.
    Frame,
    /// A time lies in the future, or before another one that it follows.
    Time,
    /// A sequence number is not one of the flow, or too far ahead.
    Sequence,
    /// Packets are acknowledged that have not been sent.
    Acknowledgement,
    /// Credits or pulls were never given, or are more than the link can carry.
    Credit,
    /// A rate is zero, or an INT record is impossible.
    Record,
}

/// All reasons, in the order of their numbers.
pub const REJECTIONS: [Rejection; 11] = [
    Rejection::Short,
    Rejection::Format,
    Rejection::Code,
    Rejection::Flow,
    Rejection::Kind,
    Rejection::Frame,
    Rejection::Time,
    Rejection::Sequence,
    Rejection::Acknowledgement,
    Rejection::Credit,
    Rejection::Record,
];

/// Rejected datagrams by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rejections([u64; REJECTIONS.len()]);

impl Rejections {
    /// Counts a rejection.
    pub fn count(&mut self, why: Rejection) {
        self.0[why as usize] += 1;
    }

    /// The number of datagrams rejected for this reason.
    #[must_use]
    pub fn of(&self, why: Rejection) -> u64 {
        self.0[why as usize]
    }

    /// The number of rejected datagrams.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }
}

/// Checks that datagrams have the packets of every algorithm of a network.
///
/// # Errors
/// A sentence about an algorithm that chooses paths, or that probes them.
pub fn check_algorithms(network: &Network) -> Result<(), String> {
    network.controls.iter().try_for_each(|control| {
        let expected = if control.algorithm.multipath.is_some() {
            "an algorithm without paths of its own, because a datagram is checked against the one path of its flow"
        } else if control.probes() {
            "an algorithm without probes, because datagrams carry data and its answers"
        } else {
            return Ok(());
        };
        Err(format!("cc = {}: expected {expected}", control.algorithm.name))
    })
}

/// Checks a datagram that has come to a domain at the time `now`.
///
/// # Errors
/// The first reason to reject it.
pub fn check(datagram: Datagram, now: Time, domain: &RealTimeDomain) -> Result<Transit, Rejection> {
    let Datagram { packet, header, int_stack } = datagram;
    let network = domain.network();
    let spec = network.flows.get(packet.flow as usize).ok_or(Rejection::Flow)?;
    let for_sender = packet.flags.for_sender();
    let (link, path) = domain.entry(packet.flow, for_sender).ok_or(Rejection::Flow)?;
    let control = &network.controls[spec.control as usize];
    let is_cut = matches!(packet.flags.kind(), PacketKind::Trimmed | PacketKind::Returned);
    require(exchanges(control, &network.host, &header), Rejection::Kind)?;
    require((MIN_FRAME..=network.mtu).contains(&packet.bytes()), Rejection::Frame)?;
    require(!is_cut || packet.bytes() == MIN_FRAME, Rejection::Frame)?;
    require(usize::from(packet.flags.class()) < network.classes.len(), Rejection::Frame)?;
    require(packet.arrives <= now + MAX_AHEAD, Rejection::Time)?;
    times(&header, packet.arrives)?;
    records(&int_stack, packet.arrives)?;
    let flow = Flow { number: packet.flow, spec, control, network, domain, arrives: packet.arrives };
    if for_sender && domain.owns(spec.src) {
        flow.answer(&header)?;
    } else if !for_sender && domain.owns(spec.dst) {
        flow.data(&header)?;
    }
    let packet = Packet { path, ..packet };
    Ok(Transit { link, packet, header, int_stack })
}

fn require(holds: bool, otherwise: Rejection) -> Result<(), Rejection> {
    if holds { Ok(()) } else { Err(otherwise) }
}

/// Checks the times in a header of a packet that arrives then. A simulation never subtracts a later time from an earlier one.
fn times(header: &Header, arrives: Time) -> Result<(), Rejection> {
    let sent = header.stamp();
    require(sent <= arrives, Rejection::Time)?;
    let longest = arrives - sent + STAMP_ERRORS;
    let lasts = |delay: Time, held: i64| delay <= longest && held.unsigned_abs() <= longest.0;
    let holds = header.tcp_data().is_none_or(|data| data.heard <= arrives)
        && header.query().is_none_or(|query| query.rtt <= arrives)
        && header.tcp_ack().is_none_or(|ack| ack.left <= arrives && lasts(ack.delay, ack.held))
        && header.roce_answer().is_none_or(|answer| lasts(answer.delay, answer.held))
        && header.pulled_answer().is_none_or(|answer| lasts(answer.delay, 0));
    require(holds, Rejection::Time)
}

/// Checks INT records.
fn records(records: &[HopRecord], arrives: Time) -> Result<(), Rejection> {
    let holds = |record: &HopRecord| record.rate > Rate::ZERO && record.queue <= MAX_QUEUE && record.at <= arrives;
    require(records.iter().all(holds), Rejection::Record)
}

/// The flow of a datagram, at the end to which it has come.
struct Flow<'a> {
    number: u32,
    spec: &'a FlowSpec,
    control: &'a Control,
    network: &'a Network,
    domain: &'a RealTimeDomain,
    arrives: Time,
}

impl Flow<'_> {
    /// Checks a packet for the sender against what the sender has sent. A flow without a sender ignores it.
    fn answer(&self, header: &Header) -> Result<(), Rejection> {
        let Some((next, sends)) = self.domain.sent(self.number) else { return Ok(()) };
        let sent = |number: u32| require(number < next, Rejection::Acknowledgement);
        let acked = |cumulative: u32| require(cumulative <= next, Rejection::Acknowledgement);
        if let Header::RatedAck(_, offered) | Header::RateAnswer { offered, .. } = *header {
            require(offered > Rate::ZERO, Rejection::Record)?;
        }
        if let Some(ack) = header.tcp_ack() {
            return tcp_ack(ack, next);
        }
        if let Some(answer) = header.pulled_answer() {
            sent(answer.seq)?;
            return self.pulled(answer.pulled, sends);
        }
        match *header {
            // With selective retransmission it means that everything has arrived.
            Header::RoceAck(answer) if self.network.host.retransmission == Retransmission::Selective => {
                require(answer.cumulative > 0, Rejection::Acknowledgement)?;
            }
            Header::SelectiveAck { seq, .. } | Header::SelectiveNack { seq, .. } => sent(seq)?,
            Header::Credit(credit) => require(credit.number < MAX_CREDITS, Rejection::Credit)?,
            Header::Pull { number, .. } => return self.pulled(number, sends),
            _ => {}
        }
        let (seq, cumulative) = header.numbers();
        match header.kind() {
            PacketKind::Ack | PacketKind::Nack | PacketKind::Notification | PacketKind::Credit => acked(cumulative),
            PacketKind::RateAnswer => Ok(()),
            // The header of a trimmed packet that has returned.
            PacketKind::Data => sent(seq),
            _ => Err(Rejection::Kind),
        }
    }

    /// Each packet earns one pull at most; credit in bytes is given at the rate of a link at most.
    fn pulled(&self, number: u64, sends: u64) -> Result<(), Rejection> {
        let most = if self.control.grants().is_some() { self.most_credit(self.spec.dst) } else { sends };
        require(number <= most, Rejection::Credit)
    }

    /// Upper bound on the credit in bytes that a host can have given since the start.
    fn most_credit(&self, host: u32) -> u64 {
        let rates = self.network.ports.iter().filter(|port| port.to == host).map(|port| port.rate);
        let carried: u64 = rates.map(|rate| rate.sent_in(self.arrives).0).sum();
        carried.saturating_mul(2).saturating_add(MAX_CREDIT_AHEAD)
    }

    /// Checks a packet for the receiver against what has arrived, and the credits that it has sent.
    fn data(&self, header: &Header) -> Result<(), Rejection> {
        let (delivered, credits) = self.domain.received(self.number);
        let (bytes, mss) = (self.spec.bytes, self.network.mss());
        let packets = if bytes == Bytes::MAX { u64::from(u32::MAX) } else { bytes.0.div_ceil(mss.0) };
        let most = packets.min(delivered / mss.0 + MAX_PACKETS_AHEAD);
        match *header {
            Header::CreditData(data) => require(data.credit < credits, Rejection::Credit)?,
            Header::PulledData(data) => {
                let most = if self.control.grants().is_some() { self.most_credit(self.spec.dst) } else { 0 };
                require(data.target <= most, Rejection::Credit)?;
            }
            _ => {}
        }
        let seq = u64::from(header.numbers().0);
        match header.kind() {
            PacketKind::Data => require(seq < most, Rejection::Sequence),
            PacketKind::CreditRequest | PacketKind::CreditStop => require(seq <= packets, Rejection::Sequence),
            PacketKind::RateRequest => Ok(()),
            _ => Err(Rejection::Kind),
        }
    }
}

/// Checks an acknowledgement of a TCP-like flow whose next new packet is `next`.
fn tcp_ack(ack: &TcpAck, next: u32) -> Result<(), Rejection> {
    let block_end = u64::from(ack.block_from) + u64::from(ack.block);
    let block = ack.block == 0 || ack.block_from >= ack.cumulative && block_end <= u64::from(next);
    require(ack.cumulative <= next && block && ack.samples > 0, Rejection::Acknowledgement)
}
