//! What is simulated: hosts, ports, flows and how long.

use std::sync::Arc;

use shallows_cc::catalog::{Algorithm, Marking as Marks, SendControl};
use shallows_cc::parameter::Values;
use shallows_cc::port::credit::CreditShaper;
use shallows_cc::receiver::{AlternateReceiver, CreditPath, Credits, Receiver};
use shallows_cc::sender::{Path, Sender};
pub use shallows_cc::units::MIN_FRAME;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::timestamps::Timestamps;
use crate::packet::PacketKind;
use crate::port::clock::Clock;
use crate::queue::event_queue;
use crate::spec::fault::{Change, Fault};

pub use crate::spec::application::{Application, Supply};
pub use crate::spec::ports::{ClassSpec, Discipline, Limit, Marking, PauseSpec, PortSpec, Shaper, SharedSpec};

/// How a host's NIC takes packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nic {
    /// Pulls one data packet at a time from its flows in turn when it is idle, as Linux does with TCP small
    /// queues and fair queueing; acknowledgements go straight to the device.
    Fair,
    /// One queue, into which flows put all that their windows allow.
    Fifo,
}

/// What all hosts have in common.
#[derive(Clone, Copy, Debug)]
pub struct HostSpec {
    /// Discipline of the NIC.
    pub nic: Nic,
    /// Payload that a flow may send before it hears anything.
    pub initial_window: Bytes,
    /// Shortest retransmission timeout.
    pub rto_min: Time,
    /// Longest.
    pub rto_max: Time,
    /// Before the first round-trip sample; at least three times the empty path's round trip.
    pub rto_initial: Time,
    /// Data packets that an acknowledgement covers.
    pub acks_every: u32,
    /// How long an acknowledgement waits for the packets it should cover.
    pub ack_delay: Time,
    /// Packets of a flow that are handed to the NIC together at most (TSO); 1: each by itself.
    pub segment: u32,
    /// How they stamp packets; none: ideally.
    pub timestamps: Option<Timestamps>,
}

/// An algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Control {
    /// Row of the catalog.
    pub algorithm: &'static Algorithm,
    /// Its parameters.
    pub values: Values,
    /// A notification point in place of the algorithm's own, with its parameters.
    pub receiver: Option<(&'static AlternateReceiver, Values)>,
    /// A reaction point in place of the algorithm's own.
    pub written: Option<UserAlgorithm>,
}

/// Makes the senders of an algorithm that is not in the catalog.
#[derive(Clone)]
pub struct UserAlgorithm(pub Arc<MakeSender>);

/// Makes the sender of one flow.
pub type MakeSender = dyn Fn(&Path) -> Box<dyn Sender> + Send + Sync;

impl std::fmt::Debug for UserAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserAlgorithm")
    }
}

impl Control {
    /// The reaction point of a flow.
    #[must_use]
    pub fn sender(&self, path: &Path) -> Box<dyn Sender> {
        match &self.written {
            Some(UserAlgorithm(make)) => make(path),
            None => (self.algorithm.sender)(&self.values, path),
        }
    }

    /// The notification point of a flow.
    #[must_use]
    pub fn notification(&self, acks_every: u32) -> Box<dyn Receiver> {
        match &self.receiver {
            Some((substitute, values)) => (substitute.build)(values, acks_every),
            None => (self.algorithm.receiver.build)(&self.values, acks_every),
        }
    }
}

impl Control {
    /// Whether its flows wait for credits.
    #[must_use]
    pub fn waits_for_credits(&self) -> bool {
        self.algorithm.transport.leave == SendControl::OnCredits
    }

    /// Whether its flows wait for pulls.
    #[must_use]
    pub fn waits_for_pulls(&self) -> bool {
        self.algorithm.transport.leave == SendControl::OnPulls
    }

    /// Whether hops write records into the data of its flows.
    #[must_use]
    pub fn asks_for_records(&self) -> bool {
        matches!(self.algorithm.marking, Marks::Records(_))
    }

    /// What hands out the credits of a flow that begins now, where it waits for credits; `frame` is a full one.
    #[must_use]
    pub fn credits(&self, now: Time, line_rate: Rate, frame: Bytes) -> Option<Box<dyn Credits>> {
        let build = self.algorithm.credits?;
        Some(build(&self.values, &CreditPath { now, line_rate, shaper: CreditShaper::new(&self.values, frame) }))
    }
}

/// One transfer.
#[derive(Clone, Debug)]
pub struct FlowSpec {
    /// The host that sends.
    pub src: u32,
    /// The host that receives.
    pub dst: u32,
    /// Payload; [`Bytes::MAX`] is unlimited.
    pub bytes: Bytes,
    /// When it begins; with `after`, how long after that.
    pub start: Time,
    /// Earlier flows of the list: it starts when all of them have finished at its host.
    pub after: Vec<u32>,
    /// After this it sends nothing new.
    pub stop: Time,
    /// When there is something to send.
    pub application: Application,
    /// Its packets, both ways, go before others: at its hosts, and where a port has a class for them.
    pub priority: bool,
    /// Index of its [`Control`].
    pub control: u32,
}

/// What is written down on the way.
#[derive(Clone, Debug, Default)]
pub struct RecordSpec {
    /// How often the queues of `ports` are read; zero is never.
    pub queue_interval: Time,
    /// Which.
    pub ports: Vec<u32>,
    /// How often the internals of `flows` are read; zero is never.
    pub probe_interval: Time,
    /// Which.
    pub flows: Vec<u32>,
}

/// How a switch chooses among equal paths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Balancing {
    /// One way for all packets of a flow (ECMP).
    #[default]
    Flow,
    /// Another one for each packet, at random (packet spraying).
    Packet,
    /// For each packet the port with the shortest queue, at random among equal ones.
    Queue,
}

/// A whole experiment in plain numbers.
#[derive(Clone, Debug)]
pub struct Network {
    /// Nodes below this number are hosts, the others switches.
    pub hosts: u32,
    /// All nodes.
    pub nodes: u32,
    /// Directed links with their egress ports.
    pub ports: Vec<PortSpec>,
    /// What ports mark by.
    pub markings: Vec<Marking>,
    /// Ways to schedule.
    pub disciplines: Vec<Discipline>,
    /// Whether the ports of a switch share its memory.
    pub shared: Option<SharedSpec>,
    /// Whether switches pause the links that bring them too much (PFC).
    pub pause: Option<PauseSpec>,
    /// How switches choose among equal paths.
    pub balancing: Balancing,
    /// What happens to links, in the order of time.
    pub faults: Vec<Fault>,
    /// How long after a link has gone down or come up packets are sent round it, or over it again; [`Time::MAX`] is never.
    pub convergence: Time,
    /// Transfers.
    pub flows: Vec<FlowSpec>,
    /// Algorithms.
    pub controls: Vec<Control>,
    /// Hosts.
    pub host: HostSpec,
    /// A full frame on the wire.
    pub mtu: Bytes,
    /// The part of a frame that is not payload.
    pub header: Bytes,
    /// The run ends here at the latest.
    pub duration: Time,
    /// The run ends when every limited flow has finished.
    pub until_done: bool,
    /// Statistics begin here.
    pub warmup: Time,
    /// Salts the choice among equal paths.
    pub seed: u64,
    /// Records.
    pub record: RecordSpec,
}

impl Network {
    /// Payload of a full packet.
    #[must_use]
    pub fn mss(&self) -> Bytes {
        self.mtu - self.header
    }

    /// The length on the wire of a frame with this payload.
    #[must_use]
    pub fn frame(&self, payload: Bytes) -> Bytes {
        (payload + self.header).max(MIN_FRAME)
    }

    /// How many things may wait on the event queue: links, hosts, and ports where some have classes.
    #[must_use]
    pub fn entities(&self) -> usize {
        let scheduled = if self.disciplines.is_empty() { 0 } else { self.ports.len() };
        self.ports.len() + self.hosts as usize + scheduled
    }

    /// Checks what the simulator relies on.
    ///
    /// # Errors
    /// A sentence that says what contradicts what.
    pub fn check(&self) -> Result<(), String> {
        let entities = self.entities();
        if entities > event_queue::MAX_ENTITIES {
            return Err(format!(
                "{entities} ports, hosts and schedulers: expected at most {}",
                event_queue::MAX_ENTITIES
            ));
        }
        if self.header.0 == 0 || self.mtu <= self.header || self.mtu.0 > u64::from(u16::MAX) {
            return Err(format!("mtu of {} with headers of {}: expected room for payload", self.mtu.0, self.header.0));
        }
        if self.host.acks_every == 0 || self.host.acks_every > 255 {
            return Err(format!("acks_every = {}: expected 1 to 255", self.host.acks_every));
        }
        if self.duration == Time::MAX && !self.until_done {
            return Err("the run has no end: expected a duration, or to end when flows are done".into());
        }
        self.check_disciplines()?;
        self.check_ports()?;
        self.check_faults()?;
        self.check_flows()
    }

    fn check_disciplines(&self) -> Result<(), String> {
        for (at, discipline) in self.disciplines.iter().enumerate() {
            let classes = discipline.classes.len();
            let named = discipline.class_of.iter().chain(&discipline.priority).chain(&discipline.paced);
            if let Some(&class) = named.into_iter().find(|&&class| usize::from(class) >= classes) {
                return Err(format!("discipline {at} puts packets into class {class}: it has {classes}"));
            }
            if discipline.classes.iter().filter(|class| class.turn.is_some()).count() > 1 {
                return Err(format!("discipline {at} has several classes with turns: expected one"));
            }
            let trims = discipline.classes.iter().any(|class| class.trims);
            let headers = discipline.class_of[PacketKind::Trimmed as usize];
            if trims
                && (discipline.classes[usize::from(headers)].trims || self.shared.is_some() || self.pause.is_some())
            {
                return Err(format!(
                    "discipline {at} cuts packets to headers: expected a class for those that does not, no shared memory and no pauses"
                ));
            }
        }
        Ok(())
    }

    fn check_ports(&self) -> Result<(), String> {
        let mut nics = vec![0; self.hosts as usize];
        for (at, port) in self.ports.iter().enumerate() {
            if port.from >= self.nodes || port.to >= self.nodes || port.from == port.to {
                return Err(format!(
                    "link {at} from node {} to {}: expected two of {}",
                    port.from, port.to, self.nodes
                ));
            }
            if port.rate.0 < 1_000_000 || port.delay.0 > event_queue::HORIZON.0 / 2 {
                return Err(format!("link {at}: expected at least 1 Mbps and at most 2 s of delay"));
            }
            let scheduled = port.discipline.is_some_and(|at| (at as usize) < self.disciplines.len());
            if port.discipline.is_some() != scheduled {
                return Err(format!("link {at} has a discipline that is not one of {}", self.disciplines.len()));
            }
            if (self.shared.is_some() && port.from >= self.hosts || self.pause.is_some()) && !scheduled {
                return Err(format!("link {at}: shared memory and pauses need ports with classes"));
            }
            if port.marking.is_some_and(|marking| marking as usize >= self.markings.len()) {
                return Err(format!("link {at} marks by a marking that is not one of {}", self.markings.len()));
            }
            if let Some(count) = nics.get_mut(port.from as usize) {
                *count += 1;
            }
        }
        match nics.iter().position(|&count| count != 1) {
            Some(host) => Err(format!("host {host} has {} links: expected one", nics[host])),
            None => Ok(()),
        }
    }

    fn check_faults(&self) -> Result<(), String> {
        for (at, fault) in self.faults.iter().enumerate() {
            let Some(port) = self.ports.get(fault.link as usize) else {
                return Err(format!("fault {at} is of link {}: expected one of {}", fault.link, self.ports.len()));
            };
            let wrong = match fault.change {
                Change::Loss(share) if !(0.0..1.0).contains(&share) => Some("a loss of at least 0 and below 1"),
                Change::Rate(rate) if rate.0 < 1_000_000 || rate > port.rate => Some("1 Mbps to the link's own rate"),
                Change::Down | Change::Up | Change::Rate(_) if port.discipline.is_none() => {
                    Some("a link whose port has classes")
                }
                _ if at > 0 && fault.at < self.faults[at - 1].at => Some("faults in the order of time"),
                _ => None,
            };
            if let Some(expected) = wrong {
                return Err(format!("fault {at}, {:?} of link {}: expected {expected}", fault.change, fault.link));
            }
        }
        Ok(())
    }

    fn check_flows(&self) -> Result<(), String> {
        for (at, flow) in self.flows.iter().enumerate() {
            if flow.src >= self.hosts || flow.dst >= self.hosts || flow.src == flow.dst {
                return Err(format!(
                    "flow {at} from host {} to {}: expected two of {}",
                    flow.src, flow.dst, self.hosts
                ));
            }
            if flow.control as usize >= self.controls.len() {
                return Err(format!("flow {at} uses algorithm {}: there are {}", flow.control, self.controls.len()));
            }
            let control = &self.controls[flow.control as usize];
            let one_way = match control.algorithm.marking {
                _ if control.waits_for_credits() => Some("waits for credits, which need one way there and back"),
                Marks::Records(_) => Some("compares the records of hops from packet to packet, which need one way"),
                _ => None,
            };
            if let Some(why) = one_way.filter(|_| self.balancing != Balancing::Flow) {
                return Err(format!("flow {at} {why}: expected no balancing by packet"));
            }
            let called = control.waits_for_credits() || control.waits_for_pulls();
            if called && flow.application.pauses() {
                return Err(format!("flow {at} waits to be called: expected an application that does not pause"));
            }
            if flow.application.off > Time::ZERO && flow.application.on == Time::ZERO {
                return Err(format!("flow {at} pauses for ever: expected a time in which its application writes"));
            }
            for &first in &flow.after {
                let ends = self.flows[..at].get(first as usize).is_some_and(|first| first.bytes != Bytes::MAX);
                if !ends || flow.stop != Time::MAX {
                    return Err(format!("flow {at} follows {first}: expected an earlier one that ends, and no stop"));
                }
            }
            if flow.bytes.0 == 0 || (flow.bytes != Bytes::MAX && flow.bytes.0 / self.mss().0 >= 1 << 31) {
                return Err(format!("flow {at} has {} bytes: expected 1 to {} packets", flow.bytes.0, 1_u32 << 31));
            }
        }
        Ok(())
    }
}

/// What the last frame of a flow spends at a port of an empty path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealHop {
    /// While those before it are sent.
    pub waits: Time,
    /// While it is.
    pub sending: Time,
    /// On the wire.
    pub delay: Time,
}

/// The completion of `bytes` on an empty path, hop by hop, from the first bit to the arrival of the last: packets
/// follow each other as fast as the slowest link lets them, each is stored and forwarded at every hop.
///
/// Exact for equal packets with a last one that may be shorter: a tandem of queues in which the last packet
/// waits at each hop for the one before it.
pub fn ideal_hops(bytes: Bytes, path: &[PortSpec], network: &Network) -> impl Iterator<Item = IdealHop> {
    let (mss, mtu) = (network.mss(), network.mtu);
    let full_packets = (bytes.0 - 1) / mss.0;
    let last = network.frame(Bytes(bytes.0 - full_packets * mss.0));
    let (mut first_done, mut slowest, mut done) = (Time::ZERO, Time::ZERO, Time::ZERO);
    path.iter().map(move |port| {
        let clock = Clock::new(port.rate);
        // Without propagation: it shifts both packets alike.
        first_done += clock.time(mtu);
        slowest = slowest.max(clock.time(mtu));
        let one_before = if full_packets == 0 { Time::ZERO } else { first_done + slowest * (full_packets - 1) };
        let hop = IdealHop { waits: one_before.saturating_sub(done), sending: clock.time(last), delay: port.delay };
        done += hop.waits + hop.sending;
        hop
    })
}

/// How long that takes.
#[must_use]
pub fn ideal_completion(bytes: Bytes, path: &[PortSpec], network: &Network) -> Time {
    ideal_hops(bytes, path, network).fold(Time::ZERO, |sum, hop| sum + hop.waits + hop.sending + hop.delay)
}

#[cfg(test)]
impl Network {
    /// Nothing in it yet: tests fill in what they look at.
    pub(crate) fn bare() -> Self {
        Self {
            hosts: 0,
            nodes: 0,
            ports: Vec::new(),
            markings: Vec::new(),
            disciplines: Vec::new(),
            shared: None,
            pause: None,
            balancing: Balancing::Flow,
            faults: Vec::new(),
            convergence: Time::MAX,
            flows: Vec::new(),
            controls: Vec::new(),
            host: HostSpec {
                nic: Nic::Fair,
                initial_window: Bytes(14600),
                rto_min: Time::from_millis(1),
                rto_max: Time::from_millis(100),
                rto_initial: Time::from_millis(10),
                acks_every: 1,
                ack_delay: Time::from_micros(500),
                segment: 1,
                timestamps: None,
            },
            mtu: Bytes(1500),
            header: Bytes(40),
            duration: Time::from_millis(1),
            until_done: false,
            warmup: Time::ZERO,
            seed: 1,
            record: RecordSpec::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(gbps: u64, micros: u64) -> PortSpec {
        PortSpec {
            from: 0,
            to: 1,
            rate: Rate::from_gbps(gbps),
            delay: Time::from_micros(micros),
            buffer: Bytes::MAX,
            marking: None,
            discipline: None,
        }
    }

    #[test]
    fn one_full_packet_is_serialised_at_every_hop() {
        let ideal = ideal_completion(Bytes(1460), &[hop(10, 5), hop(10, 5), hop(1, 5)], &Network::bare());
        assert_eq!(ideal, Time::from_nanos(1200 + 1200 + 12_000 + 15_000));
    }

    #[test]
    fn a_train_follows_at_the_pace_of_the_slowest_link() {
        let ideal = ideal_completion(Bytes(14_600), &[hop(10, 0), hop(1, 0), hop(10, 0)], &Network::bare());
        assert_eq!(ideal, Time::from_nanos(1200 + 10 * 12_000 + 1200));
    }

    #[test]
    fn a_short_last_packet_waits_for_the_full_one_before_it() {
        // 1500 B then 140 B: at the second hop the short one waits until 2400 ns, then takes 112 ns.
        let ideal = ideal_completion(Bytes(1560), &[hop(10, 0), hop(10, 0)], &Network::bare());
        assert_eq!(ideal, Time::from_nanos(2400 + 112));
    }
}
