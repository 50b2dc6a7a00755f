//! The state of every port, flow and packet at one moment, after all events at or before it.

use std::ops::Range;

use shallows_cc::units::{Bytes, Time};

pub use crate::host::transport::SenderState;
use crate::observe::series::{ProbeTable, Recorder};
use crate::observe::{BlockedBy, Observer, Readiness};
use crate::packet::header::Header;
use crate::packet::{Packet, PacketKind};
use crate::parallel::network::ParallelNetwork;
use crate::port::Port;

/// State of an egress port.
#[derive(Clone, Copy, Debug)]
pub struct PortState {
    /// Backlog in bytes: queued frames plus the unsent part of the frame in transmission.
    pub queue: Bytes,
    /// Frames queued or in transmission.
    pub waiting: u32,
    /// Frames on the wire.
    pub flying: u32,
    /// Their bytes.
    pub flying_bytes: Bytes,
    /// Whether it is paused.
    pub paused: bool,
    /// Whether its link is down.
    pub down: bool,
}

/// State of a flow at its two ends.
#[derive(Clone, Copy, Debug)]
pub struct FlowState {
    /// Its number.
    pub flow: u32,
    /// When it started.
    pub start: Time,
    /// When it finished; [`Time::MAX`] if it has not.
    pub finish: Time,
    /// Payload bytes that have arrived, in any order.
    pub delivered: u64,
    /// Data packets retransmitted.
    pub retransmits: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Its sender; `None` once it knows that everything has arrived.
    pub sender: Option<SenderState>,
}

impl FlowState {
    /// Index in [`Snapshot::WAITS`] of what the flow waits for; `None` without a sender.
    #[must_use]
    pub fn waits_for(&self) -> Option<u8> {
        Some(match self.sender?.readiness {
            Readiness::Ready => 0,
            Readiness::At(_) => 1,
            Readiness::HostBusy { .. } => 2,
            Readiness::Blocked(BlockedBy::Window(_)) => 3,
            Readiness::Blocked(BlockedBy::Receiver(_)) => 4,
            Readiness::Blocked(BlockedBy::Application) => 5,
            Readiness::Blocked(BlockedBy::Answer) => 6,
        })
    }

    /// The end of the wait; [`Time::MAX`] if it is not known.
    #[must_use]
    pub fn waits_until(&self) -> Time {
        match self.sender.map(|sender| sender.readiness) {
            Some(Readiness::At(at) | Readiness::HostBusy { until: at, .. }) => at,
            Some(Readiness::Ready | Readiness::Blocked(_)) | None => Time::MAX,
        }
    }
}

/// Place of a packet on its hop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Place {
    /// Queued at the port.
    Waiting,
    /// In transmission: its first bit has left, its last one has not.
    Leaving,
    /// On the wire.
    Flying,
}

/// State of a packet in flight.
#[derive(Clone, Copy, Debug)]
pub struct PacketState {
    /// The link of its port.
    pub link: u32,
    /// Its place on the hop.
    pub place: Place,
    /// Its flow; `NIL` for a PFC frame.
    pub flow: u32,
    /// Its kind.
    pub kind: PacketKind,
    /// Its sequence number, or the number that it acknowledges.
    pub number: u32,
    /// Its length on the wire, in bytes.
    pub length: u16,
    /// Whether it is marked (CE).
    pub marked: bool,
    /// When it arrives at the end of the link; [`Time::MAX`] if that is not known yet.
    pub arrives: Time,
}

/// State of a network.
#[derive(Clone, Debug)]
pub struct Snapshot {
    /// By link.
    pub ports: Vec<PortState>,
    /// Flows that have started, in order.
    pub flows: Vec<FlowState>,
    /// Internals of the senders and receivers of live flows.
    pub probes: ProbeTable,
    /// Packets in flight, by link and in the order in which they leave.
    pub packets: Vec<PacketState>,
}

impl Snapshot {
    /// Names of the places of a packet, in the order of their numbers.
    pub const PLACES: [&str; 3] = ["waiting", "leaving", "flying"];

    /// Names of what a flow may wait for, in the order of `FlowState::waits_for`.
    pub const WAITS: [&str; 7] = ["nic", "pace", "host", "window", "receiver", "application", "answer"];

    /// The state of a network that has executed everything up to `now`, and nothing after it.
    pub(crate) fn of<O: Observer>(domains: &mut ParallelNetwork<O>, now: Time, flows: Range<u32>) -> Self {
        domains.settle();
        let mut record = Recorder::default();
        let started: Vec<_> = flows.filter_map(|flow| flow_state(domains, now, flow)).collect();
        for flow in &started {
            domains.probe(flow.flow, Time::ZERO, &mut |name, value| record.probe(now, flow.flow, name, value));
        }
        let mut packets = Vec::new();
        let ports = (0..domains.links()).map(|link| port_state(domains, link, now, &mut packets)).collect();
        Self { ports, flows: started, probes: record.probes, packets }
    }
}

fn flow_state<O: Observer>(domains: &mut ParallelNetwork<O>, now: Time, flow: u32) -> Option<FlowState> {
    let (sent, received) = (domains.sender(flow).clone(), *domains.receiver(flow));
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
    let in_flight: Vec<_> = domains.in_flight(link).collect();
    let on_the_list = in_flight.len() - domains.waiting(link).count();
    let newest = port.newest().map(|[left, arrives]| {
        let is_it = |(packet, _): &(&Packet, &Header)| packet.arrives == arrives;
        (left, in_flight[..on_the_list].iter().rposition(is_it))
    });
    for (at, (packet, header)) in in_flight.into_iter().enumerate() {
        let place = if at < on_the_list {
            place(port, packet, newest.map(|(left, place)| (left, place == Some(at))), now)
        } else {
            Place::Waiting
        };
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
        paused: port.pauses_any(),
        down: port.is_down(),
    }
}

/// The place of a packet whose arrival time is known. Where departures do not follow from arrivals, `newest` says when the newest packet
/// leaves and whether it is this one.
fn place(port: &Port, packet: &Packet, newest: Option<(Time, bool)>, now: Time) -> Place {
    // Frames leave in order, and a port of which departures do not follow from arrivals has begun to send all with a known arrival.
    let (begun, ended) = match newest {
        Some((left, true)) => port.sending_until(left, packet),
        Some(_) => return Place::Flying,
        None => port.sending_of(packet),
    };
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
