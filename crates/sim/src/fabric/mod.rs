//! The fabric: ports, links, and switches with their routes and memories. It forwards packets; hosts create and receive them
//! ([`crate::host::hosts`]).

use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use shallows_cc::port::Drops;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};

use crate::arch::huge_pages;
use crate::fabric::balanced::Balanced;
use crate::fabric::ownership::Ownership;
use crate::fabric::route::Routes;
use crate::fabric::shared_buffer::Switches;
use crate::observe::{Hop, Observer};
use crate::packet::{MAX_PACKETS, NIL, Packet, PacketKind, Slab};
use crate::port::Port;
use crate::port::admission::{ClassOverride, DropReason, Incoming};
use crate::port::link::LinkTarget;
use crate::port::loss_model::LossModel;
use crate::queue::event_queue::EventQueue;
use crate::randomness::Randomness;
use crate::spec::network::{Balancing, Network, PortSpec, TrafficClass};

mod balanced;
mod balancing;
mod ecmp;
mod enqueue;
mod link_events;
mod outbox;
pub(crate) mod ownership;
mod pfc;
mod port_lists;
mod reverse_links;
pub mod route;
pub(crate) mod shared_buffer;
mod shortest_paths;

pub use outbox::Transit;
pub(crate) use outbox::{Batch, Outbox};

/// Outcome for a packet at the end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// A switch has forwarded or dropped it, or it was lost.
    Forwarded,
    /// It is at this slot, for the host at the end of the link.
    AtHost(u32),
    /// It ended a pause of this port, whose flows may send again.
    Resumed(u32),
}

/// The part of the fabric that a domain simulates, NICs included. One struct holds what every hop uses, because
/// the compiler keeps it in registers only then.
#[derive(Clone, Debug)]
pub(crate) struct Fabric<O> {
    pub network: Arc<Network>,
    /// The present time.
    pub now: Time,
    pub events: EventQueue<O>,
    pub packets: Slab,
    /// Number of packets at which a run stops.
    pub max_packets: u64,
    /// Number of packets from which on the driver checks that limit, at a NIC that takes all that a window allows.
    pub check_at_packets: u64,
    pub ports: Vec<Port>,
    pub routes: Arc<Routes>,
    balanced: Balanced,
    /// The packet that arrives now and its next port, if that has been foreseen; else [`NIL`].
    pub foreseen: (u32, u32),
    outbox: Outbox,
    /// Packet memories of the switches, if they share memory or pause links.
    pub switches: Option<Switches>,
    /// Classes of links to pause or resume, in the order of the decisions.
    pauses_due: VecDeque<(u32, PacketKind, u8)>,
    /// Whether the driver has to check the run: a link has been paused, or the last flow has finished.
    pub interrupt: bool,
    /// Time of the first pause since the last check, or [`Time::MAX`].
    pub first_pause: Time,
    /// Whether any flow has a traffic class other than the first.
    has_classes: bool,
    /// Whether a watchdog looks at pauses.
    has_watchdogs: bool,
    /// The number of the first port on the event queue.
    first_port_entity: u32,
    /// Deliveries over a link.
    pub hops: u64,
    /// Packets that reached their destination.
    pub consumed: u64,
    pub observer: O,
}

impl<O: Observer> Fabric<O> {
    /// The idle fabric at time zero. Ports of other domains have an entry that is never used.
    pub fn new(
        network: Arc<Network>,
        routes: Arc<Routes>,
        ownership: &Ownership,
        prefetch_depth: usize,
        observer: O,
    ) -> Result<Self, String> {
        let mut known = BTreeSet::new();
        let changes = network.changing_links();
        let port = |(number, spec): (u32, &PortSpec)| {
            let owned = ownership.owns_port(spec);
            let port = if owned { port(&network, number.into(), spec) } else { Port::new(spec, network.mtu) };
            let port = port.with_target(ownership.link_target(spec)).with_shared_config(&mut known);
            if changes.contains(&number) {
                port.with_loss_model(LossModel::new(spec, network.seed, number))
            } else {
                port
            }
        };
        let wakes = network.ports.iter().any(|port| port.discipline.is_some());
        let ports = huge_pages::collected(network.ports.len(), (0..).zip(&network.ports).map(port));
        Ok(Self {
            now: Time::ZERO,
            events: EventQueue::new(network.entities(), ownership.crossing(&network), prefetch_depth, wakes)?,
            packets: Slab::default(),
            max_packets: network.max_packets.min(MAX_PACKETS),
            check_at_packets: network.max_packets.min(MAX_PACKETS),
            routes,
            balanced: Balanced::new(&network),
            foreseen: (NIL, NIL),
            outbox: Outbox::new(&network, ownership),
            switches: Switches::new(&network)?,
            pauses_due: VecDeque::new(),
            interrupt: false,
            first_pause: Time::MAX,
            ports,
            first_port_entity: network.ports.len() as u32 + network.nics(),
            has_classes: network.flows.iter().any(|flow| flow.class > 0),
            has_watchdogs: network
                .classes
                .iter()
                .any(|class| class.pause.is_some_and(|pause| pause.watchdog.is_some())),
            hops: 0,
            consumed: 0,
            observer,
            network,
        })
    }

    /// Replaces the references to the request and the routes.
    pub(crate) fn set_network(&mut self, network: &Arc<Network>, routes: &Arc<Routes>) {
        self.network = Arc::clone(network);
        self.routes = Arc::clone(routes);
    }

    /// Adds a flow.
    pub(crate) fn join(&mut self, flow: u32) {
        self.has_classes |= self.network.flow(flow).class > 0;
    }

    /// Handles the arrival of the first packet of a link at the other end.
    #[inline]
    pub(crate) fn arrive(&mut self, number: u32) -> Delivery {
        if self.ports[number as usize].link.has_checks { self.arrive_checked(number) } else { self.deliver(number) }
    }

    /// The same for a link with faults, or whose port has to catch up.
    #[inline(never)]
    fn arrive_checked(&mut self, number: u32) -> Delivery {
        if self.ports[number as usize].link.first_arrival(&self.packets) != Some(self.now) {
            return self.deliver_late(number);
        }
        if !self.check_wire(number) {
            return if self.postpone(number) { Delivery::Forwarded } else { self.deliver(number) };
        }
        let link = &mut self.ports[number as usize].link;
        let (at, behind) = (link.deliver(self.now, &self.packets), link.head());
        self.schedule_next(number, behind);
        self.drop_accepted(number, at, DropReason::LinkFault);
        Delivery::Forwarded
    }

    /// Lets the first packet of a link arrive later, if chance says so.
    fn postpone(&mut self, number: u32) -> bool {
        let Self { packets, ports, now, .. } = self;
        let port = &mut ports[number as usize];
        let for_neighbour = packets[port.link.head()].flags.for_neighbour();
        let lateness = port.loss_model().filter(|_| !for_neighbour).and_then(|model| model.lateness());
        let Some(lateness) = lateness else { return false };
        let (at, arrives) = (port.link.postpone(packets), *now + lateness);
        packets[at].arrives = arrives;
        if let Some(model) = port.loss_model() {
            model.delay(at);
        }
        let behind = port.link.head();
        self.events.push(arrives, number);
        self.schedule_next(number, behind);
        true
    }

    /// Handles the arrival of a packet that is later than its place on the link.
    #[cold]
    fn deliver_late(&mut self, number: u32) -> Delivery {
        let Self { packets, ports, now, .. } = self;
        let port = &mut ports[number as usize];
        let late = port.loss_model().and_then(|model| model.take_late(*now, packets));
        let at = late.expect("an event of a link is the arrival of its first packet, or of a late one");
        port.link.deliver_late(*now, &packets[at]);
        let node = port.link.to;
        self.hops += 1;
        if O::LISTENS {
            self.observer.delivered(*now, Hop::of(number, at, packets));
        }
        if node < self.network.hosts {
            return Delivery::AtHost(at);
        }
        let out = self.routes.next(&mut self.packets[at]).or_else(|| self.choose(node, at));
        let out = out.expect("a flow is only set up where there is a path");
        self.enqueue_checked(out, at, number, ClassOverride::None);
        Delivery::Forwarded
    }

    #[inline(always)]
    fn deliver(&mut self, number: u32) -> Delivery {
        let Self { packets, ports, now, .. } = self;
        let ports: &mut [Port] = ports;
        let link = &mut ports[number as usize].link;
        let node = link.to;
        let (at, behind) = (link.deliver(*now, packets), link.head());
        self.hops += 1;
        if O::LISTENS {
            self.observer.delivered(*now, Hop::of(number, at, packets));
        }
        let packets: &mut [Packet] = packets;
        let packet = &mut packets[at as usize];
        if packet.flags.for_neighbour() {
            self.schedule_next(number, behind);
            return self.on_pause_frame(number, at);
        }
        if node < self.network.hosts {
            self.schedule_next(number, behind);
            return Delivery::AtHost(at);
        }
        let out = match self.routes.next(packet) {
            Some(out) => out,
            None => self.choose(node, at).expect("a flow is only set up where there is a path"),
        };
        self.enqueue(out, Incoming { packet: at, from: number, class: ClassOverride::None });
        self.schedule_next(number, behind);
        Delivery::Forwarded
    }

    /// Schedules the arrival of the packet `behind` the one that a link has delivered, if there is one.
    #[inline]
    fn schedule_next(&mut self, number: u32, behind: u32) {
        if let Some(packet) = self.packets.get(behind as usize) {
            self.events.push(packet.arrives, number);
        }
    }

    /// Lets the port catch up before a delivery. Returns whether the packet is lost on the wire.
    #[inline]
    fn check_wire(&mut self, number: u32) -> bool {
        let port = &mut self.ports[number as usize];
        if port.marks_at_dequeue() {
            port.before_delivery(self.now, &mut self.packets);
        }
        let packet = &self.packets[port.link.head()];
        !packet.flags.for_neighbour()
            && port.loss_model().is_some_and(|loss_model| loss_model.loses(self.now, packet.bytes()))
    }

    /// Drops a packet that the port has accepted.
    #[cold]
    fn drop_accepted(&mut self, number: u32, at: u32, reason: DropReason) {
        self.observer.lost(self.now, Hop::of(number, at, &self.packets), reason);
        self.packets.remove(at);
    }

    /// Tells the observer of every packet that is on a link at the end of the run.
    pub fn report_in_flight(&mut self) {
        for (number, port) in (0..).zip(&self.ports) {
            for place in port.late().chain(port.link.places(&self.packets)) {
                self.observer.in_flight_at_end(self.now, Hop::of(number, place, &self.packets));
            }
        }
    }

    /// Schedules the arrival of the first packet on a link, here or in the domain at its end.
    #[inline]
    fn schedule_arrival(&mut self, arrives: Time, link: u32) {
        match self.ports[link as usize].link.target {
            LinkTarget::Local => self.events.push(arrives, link),
            _ => self.leave(link),
        }
    }

    /// The number under which a host waits for its NIC on the event queue.
    #[inline]
    pub(crate) fn nic_entity(&self, nic: u32) -> u32 {
        self.ports.len() as u32 + nic
    }

    /// The number of a port with classes on the event queue.
    #[inline]
    fn port_entity(&self, number: u32) -> u32 {
        self.first_port_entity + number
    }

    /// Whether more packets are in flight than a run may hold.
    #[inline]
    pub fn has_too_many_packets(&self) -> bool {
        self.live() >= self.max_packets
    }

    /// The sources of random numbers in ports, on wires and in switches from which the run has drawn.
    pub(crate) fn randomness(&self) -> Randomness {
        let mut all = Randomness { balancing: self.balanced.has_drawn(), ..Randomness::default() };
        for (port, spec) in self.ports.iter().zip(&self.network.ports) {
            port.note_draws(&mut all);
            let Some(at) = spec.discipline else { continue };
            let discipline = &self.network.disciplines[at as usize];
            let classes = (0..self.network.classes.len() as u32).zip(0_usize..);
            let drawn = |(_, class): &(u32, usize)| port.class_has_drawn(discipline.class_of_data(*class));
            all.classes.extend(classes.filter(drawn).map(|(class, _)| class));
        }
        all
    }

    /// The memory in use by the counts of the switches, and by the packets that wait in them; `None` without memories.
    pub fn balance(&self) -> Option<(Bytes, Bytes)> {
        self.switches.as_ref().map(|switches| switches.balance(&self.ports, &self.packets))
    }
}

/// First key of the random streams that decide which packets the classes of a port mark.
const CLASS_MARKS: u64 = 1 << 36;

/// First key of the random streams that decide which packet is trimmed.
const TRIMS: u64 = 1 << 33;

/// An idle port with its own random streams.
fn port(network: &Network, number: u64, spec: &PortSpec) -> Port {
    let port = match spec.discipline {
        None => Port::new(spec, network.mtu).measured(network.warmup, network.duration),
        // Its classes have limits of their own.
        Some(at) => {
            let unlimited = PortSpec { buffer: Bytes::MAX, ..*spec };
            let draws = Rng::new(network.seed, TRIMS + number);
            let port = Port::new(&unlimited, network.mtu).scheduled(&network.disciplines[at as usize], draws);
            let reports = network.balancing == Balancing::Mrc && spec.to < network.hosts;
            if reports { port.at_last_hop() } else { port }
        }
    };
    let port = class_markings(network, number, spec, port);
    let Some(at) = spec.marking else { return port };
    let port = port.marking(spec.rate, &network.markings[at as usize], Rng::new(network.seed, number));
    // Where links are paused nothing is dropped.
    if network.pauses() { port.without_early_drops() } else { port }
}

/// The same port with markers of its classes.
fn class_markings(network: &Network, number: u64, spec: &PortSpec, mut port: Port) -> Port {
    let Some(at) = spec.discipline else { return port };
    let discipline = &network.disciplines[at as usize];
    for (class, of) in discipline.classes.iter().enumerate() {
        let Some(marking) = of.marking else { continue };
        let pauses = |(traffic_class, of): (usize, &TrafficClass)| {
            of.pause.is_some() && usize::from(discipline.class_of_data(traffic_class)) == class
        };
        let marking = &network.markings[marking as usize];
        let drops = if network.classes.iter().enumerate().any(pauses) { Drops::Nothing } else { marking.drops() };
        // A class alone draws as a port without classes does.
        let stream = if network.classes.len() == 1 { number } else { CLASS_MARKS + number * 16 + class as u64 };
        let draws = Rng::new(network.seed, stream);
        port = port.class_marking(class, spec.rate, (marking, drops), draws);
    }
    port
}
