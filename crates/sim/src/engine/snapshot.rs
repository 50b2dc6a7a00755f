//! What every port, every flow and every packet is doing at one moment of a run, after all that happens at or before it.

use shallows_cc::units::{Bytes, Time};

pub use crate::host::transport::SenderState;
use crate::observe::Observer;
use crate::observe::series::{ProbeTable, Recorder};
use crate::packet::header::Header;
use crate::packet::{Packet, PacketKind};
use crate::parallel::network::ParallelNetwork;
use crate::port::Port;

/// An egress port.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Frames that wait, and what is left of the one being sent.
    pub queue: Bytes,
    /// Frames that wait or are being sent.
    pub waiting: u32,
    /// Frames on the wire behind it.
    pub flying: u32,
    /// Their length.
    pub flying_bytes: Bytes,
    /// Whether it has been told to stop sending data.
    pub paused: bool,
    /// Whether its link does not work.
    pub down: bool,
}

/// A flow, as its two ends know it.
#[derive(Clone, Copy, Debug)]
pub struct FlowState {
    /// Its number.
    pub flow: u32,
    /// When it began.
    pub start: Time,
    /// When all of it had arrived; [`Time::MAX`] is not yet.
    pub finish: Time,
    /// Payload that its receiver has, in whatever order it came.
    pub delivered: u64,
    /// Data packets sent again.
    pub retransmits: u32,
    /// Retransmission timeouts.
    pub timeouts: u32,
    /// Its sending half; none once that knows that all has arrived.
    pub sender: Option<SenderState>,
}

/// Where on its hop a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Place {
    /// It waits at the port.
    Waiting,
    /// Its first bit has left, its last has not.
    Leaving,
    /// All of it is on the wire.
    Flying,
}

/// Every place by name, in the order of their numbers.
pub const PLACES: [&str; 3] = ["waiting", "leaving", "flying"];

/// A packet on its way.
#[derive(Clone, Copy, Debug)]
pub struct PacketState {
    /// The link behind its port.
    pub link: u32,
    /// Where on it.
    pub place: Place,
    /// Its flow; that of a pause is [`crate::packet::NIL`].
    pub flow: u32,
    /// What it is for.
    pub kind: PacketKind,
    /// Its number in the flow, or the one that it speaks of.
    pub number: u32,
    /// Its length on the wire.
    pub length: u16,
    /// Whether it bears a congestion mark.
    pub marked: bool,
    /// When it reaches the far end of the link; [`Time::MAX`] where that is not known yet.
    pub arrives: Time,
}

/// All of it.
#[derive(Debug)]
pub struct Snapshot {
    /// By link.
    pub ports: Vec<PortState>,
    /// Flows that have begun, in order.
    pub flows: Vec<FlowState>,
    /// What algorithms decide and know, of flows that live.
    pub probes: ProbeTable,
    /// Packets on their way, by link, those first that leave first.
    pub packets: Vec<PacketState>,
}

impl Snapshot {
    /// That of a network in which everything up to `now` has happened, and nothing after it.
    pub(crate) fn of<O: Observer>(domains: &mut ParallelNetwork<O>, now: Time, flows: u32) -> Self {
        domains.settle();
        let mut record = Recorder::default();
        let begun: Vec<_> = (0..flows).filter_map(|flow| flow_state(domains, now, flow)).collect();
        for flow in &begun {
            domains.probe(flow.flow, Time::ZERO, &mut |name, value| record.probe(now, flow.flow, name, value));
        }
        let mut packets = Vec::new();
        let ports = (0..domains.links()).map(|link| port_state(domains, link, now, &mut packets)).collect();
        Self { ports, flows: begun, probes: record.probes, packets }
    }
}

fn flow_state<O: Observer>(domains: &mut ParallelNetwork<O>, now: Time, flow: u32) -> Option<FlowState> {
    let (sent, received) = (*domains.sender(flow), *domains.receiver(flow));
    (sent.start < Time::MAX).then(|| FlowState {
        flow,
        start: sent.start,
        finish: received.finish,
        delivered: received.delivered,
        retransmits: sent.retransmits,
        timeouts: sent.timeouts,
        sender: domains.sender_state(now, flow),
    })
}

fn port_state<O: Observer>(
    domains: &ParallelNetwork<O>,
    link: u32,
    now: Time,
    packets: &mut Vec<PacketState>,
) -> PortState {
    let port = domains.port(link);
    let mine = packets.len();
    let on_its_way: Vec<_> = domains.in_flight(link).collect();
    let on_the_list = on_its_way.len() - domains.waiting(link).count();
    for (at, (packet, header)) in on_its_way.into_iter().enumerate() {
        let place = if at < on_the_list { place(port, packet, now) } else { Place::Waiting };
        let arrives = if at < on_the_list { packet.arrives } else { Time::MAX };
        packets.push(packet_state((packet, header), link, place, arrives));
    }
    let flying = packets[mine..].iter().filter(|packet| packet.place == Place::Flying);
    let flying_count = flying.clone().count();
    PortState {
        queue: port.queue(now),
        waiting: (packets.len() - mine - flying_count) as u32,
        flying: flying_count as u32,
        flying_bytes: flying.map(|packet| Bytes(u64::from(packet.length))).sum(),
        paused: port.is_paused(),
        down: port.is_down(),
    }
}

/// Where a packet is whose arrival is known.
fn place(port: &Port, packet: &Packet, now: Time) -> Place {
    let (begun, ended) = port.sending_of(packet);
    if ended <= now {
        Place::Flying
    } else if begun <= now {
        Place::Leaving
    } else {
        Place::Waiting
    }
}

fn packet_state((packet, header): (&Packet, &Header), link: u32, place: Place, arrives: Time) -> PacketState {
    let (number, ack_number) = header.numbers();
    PacketState {
        link,
        place,
        flow: packet.flow,
        kind: packet.flags.kind(),
        number: if packet.flags.for_sender() { ack_number } else { number },
        length: packet.length,
        marked: packet.flags.is_ce(),
        arrives,
    }
}
