//! The emulated network: the ports of the packet world, driven by the caller's clock.
//!
//! Frames (Ethernet and IPv4) enter where hosts send, and leave with their marks when the network would have delivered
//! them. On the wire a frame has the length of its IP packet: a scenario's `mtu` is that of the hosts.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use shallows_cc::port::Ecn;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Clock, Flags, Header, Incoming, Marking, Outcome, Packet, Port, PortReport, PortSpec, Slab};

/// Length of an Ethernet header.
const ETHERNET: usize = 14;
/// The longest frame: the hosts' devices do not offload.
pub const LONGEST_FRAME: usize = ETHERNET + 9216;

/// The specification of a network.
#[derive(Clone, Copy, Debug)]
pub struct Wiring<'a> {
    /// Number of hosts, which are the first nodes.
    pub hosts: u32,
    /// Number of switches, which follow.
    pub nodes: u32,
    /// The ports.
    pub specs: &'a [PortSpec],
    /// Markings; a port has an index into them.
    pub markings: &'a [Marking],
}

/// A frame in the network.
#[derive(Debug, Default)]
struct Frame {
    bytes: Vec<u8>,
    sent: Time,
}

/// A frame that is due at its host.
#[derive(Debug)]
pub struct Delivery<'a> {
    /// The destination host.
    pub host: u32,
    /// The frame. The caller may keep the buffer if it leaves another one.
    pub bytes: &'a mut Vec<u8>,
    /// Send time.
    pub sent: Time,
    /// Delivery time.
    pub due: Time,
}

/// A network of ports, and the frames in it.
#[derive(Debug)]
pub struct Switch {
    hosts: u32,
    ports: Vec<Port>,
    /// The next port by node and destination host.
    way: Vec<Option<u32>>,
    delays: Vec<Time>,
    clocks: Vec<Clock>,
    packets: Slab,
    frames: Vec<Frame>,
    event_queue: BinaryHeap<Reverse<(Time, u32)>>,
    /// Frames that were not IPv4 to a host of this network.
    pub unroutable: u64,
}

impl Switch {
    /// An idle network; `mtu` sets the resolution of queue histograms.
    #[must_use]
    pub fn new(wiring: &Wiring, mtu: Bytes, seed: u64) -> Self {
        let &Wiring { hosts, nodes, specs, markings } = wiring;
        let port = |(at, spec): (usize, &PortSpec)| {
            let port = Port::new(spec, mtu);
            match spec.marking.map(|index| &markings[index as usize]) {
                Some(marking) => port.marking(spec.rate, marking, Rng::new(seed, at as u64)),
                None => port,
            }
        };
        Self {
            hosts,
            ports: specs.iter().enumerate().map(port).collect(),
            way: ways(hosts, nodes, specs),
            clocks: specs.iter().map(|spec| Clock::new(spec.rate)).collect(),
            delays: specs.iter().map(|spec| spec.delay).collect(),
            packets: Slab::default(),
            frames: Vec::new(),
            event_queue: BinaryHeap::new(),
            unroutable: 0,
        }
    }

    /// Sends a frame of a host now.
    pub fn send(&mut self, now: Time, host: u32, frame: &[u8]) {
        let Some((to, flags, length)) = read_header(frame).filter(|&(to, ..)| to < self.hosts && to != host) else {
            self.unroutable += 1;
            return;
        };
        let packet = Packet { path: to, flags, length, ..Packet::default() };
        let at = self.packets.insert(packet, Header::Bare);
        let place = at as usize;
        if self.frames.len() <= place {
            self.frames.resize_with(place + 1, Frame::default);
        }
        self.frames[place].sent = now;
        self.frames[place].bytes.clear();
        self.frames[place].bytes.extend_from_slice(frame);
        self.forward(now, host, at);
    }

    fn forward(&mut self, now: Time, node: u32, at: u32) {
        let way = self.way[(node * self.hosts + self.packets[at].path) as usize];
        let Some(port) = way else {
            self.unroutable += 1;
            self.packets.remove(at);
            return;
        };
        let enqueued = self.ports[port as usize].enqueue(now, Incoming::local(at), &mut self.packets);
        if let Some(arrives) = enqueued.arrives {
            self.event_queue.push(Reverse((arrives, port)));
        } else if let Outcome::Dropped(_) = enqueued.outcome {
            self.packets.remove(at);
        }
    }

    /// Time of the next event.
    #[must_use]
    pub fn next(&self) -> Option<Time> {
        self.event_queue.peek().map(|Reverse((time, _))| *time)
    }

    /// Processes all events up to `now`, in order.
    pub fn advance(&mut self, now: Time, mut deliver: impl FnMut(Delivery<'_>)) {
        while let Some(&Reverse((time, number))) = self.event_queue.peek()
            && time <= now
        {
            self.event_queue.pop();
            let port = &mut self.ports[number as usize];
            if port.marks_at_dequeue() {
                port.before_delivery(time, &mut self.packets);
            }
            let link = &mut port.link;
            let (at, node) = (link.deliver(time, &self.packets), link.to);
            if let Some(next) = link.first_arrival(&self.packets) {
                self.event_queue.push(Reverse((next, number)));
            }
            if node < self.hosts {
                let Frame { bytes, sent } = &mut self.frames[at as usize];
                if self.packets[at].flags.is_ce() {
                    mark(&mut bytes[ETHERNET..]);
                }
                deliver(Delivery { host: node, bytes, sent: *sent, due: time });
                self.packets.remove(at);
            } else {
                self.forward(time, node, at);
            }
        }
    }

    /// Bytes queued at a port.
    #[must_use]
    pub fn queue(&self, port: u32, now: Time) -> Bytes {
        self.ports[port as usize].queue(now)
    }

    /// Starts the statistics.
    pub fn end_warmup(&mut self, now: Time) {
        self.ports.iter_mut().for_each(|port| port.end_warmup(now, 0));
    }

    /// Ends the statistics of the `span` up to now.
    #[must_use]
    pub fn report(&mut self, now: Time, span: Time) -> Vec<PortReport> {
        self.ports.iter_mut().map(|port| port.report(now, span, port.carried(), &self.packets)).collect()
    }

    /// The ports on the path between two hosts.
    #[must_use]
    pub fn way(&self, from: u32, to: u32) -> Vec<u32> {
        let mut node = from;
        let mut ports = Vec::new();
        while let Some(port) = self.way[(node * self.hosts + to) as usize] {
            ports.push(port);
            node = self.ports[port as usize].link.to;
        }
        ports
    }

    /// Propagation delay between two hosts; `None` without a path.
    #[must_use]
    pub fn propagation(&self, from: u32, to: u32) -> Time {
        self.way(from, to).iter().fold(Time::ZERO, |sum, &port| sum + self.delays[port as usize])
    }

    /// The least time in which this payload can reach another host, in frames of this length and payload.
    #[must_use]
    pub fn ideal(&self, from: u32, to: u32, payload: Bytes, frame: (Bytes, Bytes)) -> Time {
        let (mtu, full) = frame;
        let frames = payload.0.div_ceil(full.0).max(1);
        let last = payload - full * (frames - 1) + (mtu - full);
        let (mut slowest, mut sum) = (Time::ZERO, self.propagation(from, to));
        for port in self.way(from, to) {
            let clock = self.clocks[port as usize];
            slowest = slowest.max(clock.time(mtu));
            sum += clock.time(last);
        }
        sum + slowest * (frames - 1)
    }

    /// Packets in the network.
    #[must_use]
    pub fn in_flight(&self) -> u64 {
        self.packets.live()
    }
}

/// The first port of a shortest path for every node and host; ties take the first.
fn ways(hosts: u32, nodes: u32, specs: &[PortSpec]) -> Vec<Option<u32>> {
    let mut ways = vec![None; (nodes * hosts) as usize];
    for host in 0..hosts {
        let mut distance = vec![u32::MAX; nodes as usize];
        distance[host as usize] = 0;
        let mut open = VecDeque::from([host]);
        while let Some(node) = open.pop_front() {
            for (spec, port) in specs.iter().zip(0..).filter(|(spec, _)| spec.to == node) {
                if distance[spec.from as usize] == u32::MAX {
                    distance[spec.from as usize] = distance[node as usize] + 1;
                    ways[(spec.from * hosts + host) as usize] = Some(port);
                    // hosts do not forward
                    if spec.from >= hosts {
                        open.push_back(spec.from);
                    }
                }
            }
        }
    }
    ways
}

/// The address of a host: 10.77.0.0 and its number, from 1.
#[must_use]
pub const fn address(host: u32) -> [u8; 4] {
    [10, 77, ((host + 1) >> 8) as u8, (host + 1) as u8]
}

/// Destination, flags and length of an IPv4 packet behind its Ethernet header.
fn read_header(frame: &[u8]) -> Option<(u32, Flags, u16)> {
    let ip = frame.get(ETHERNET..).filter(|ip| ip.len() >= 20)?;
    let ours = frame[12..14] == [8, 0] && ip[0] >> 4 == 4 && ip[16..18] == [10, 77];
    let number = u32::from(u16::from_be_bytes([ip[18], ip[19]]));
    let length = u16::from_be_bytes([ip[2], ip[3]]);
    let flags = Flags::default().with_ecn(Ecn::from_bits(ip[1]));
    (ours && number > 0 && usize::from(length) <= ip.len()).then_some((number.wrapping_sub(1), flags, length))
}

/// Sets Congestion Experienced in an IPv4 header and updates its checksum (RFC 1624 eq. 3).
fn mark(ip: &mut [u8]) {
    let before = u16::from_be_bytes([ip[0], ip[1]]);
    ip[1] |= 3;
    let after = u16::from_be_bytes([ip[0], ip[1]]);
    let mut sum = u32::from(!u16::from_be_bytes([ip[10], ip[11]])) + u32::from(!before) + u32::from(after);
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    ip[10..12].copy_from_slice(&(!(sum as u16)).to_be_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;
    use shallows_cc::parameter::Values;
    use shallows_cc::port::{MarkAt, find};
    use shallows_cc::units::Rate;

    const MTU: Bytes = Bytes(1500);
    /// 1500 B at 500 Mbps.
    const FRAME: Time = Time::from_micros(24);

    /// Two hosts on either side of two switches, 10 us a link, K = 3 packets in between.
    fn dumbbell() -> Switch {
        let link = |from, to, rate, marking| PortSpec {
            from,
            to,
            rate: Rate(rate),
            delay: Time::from_micros(10),
            buffer: MTU * 10,
            marking,
            discipline: None,
        };
        let fast = 10_000_000_000;
        let specs: Vec<_> = [(0, 2, fast, None), (1, 3, fast, None), (2, 3, 500_000_000, Some(0))]
            .into_iter()
            .flat_map(|(a, b, rate, marking)| [link(a, b, rate, marking), link(b, a, rate, marking)])
            .collect();
        let mechanism = find("step").unwrap();
        let mut values = Values::defaults(mechanism.parameters);
        values.set("threshold", 4500.0).unwrap();
        let markings = [Marking { mechanism, values, at: MarkAt::Enqueue }];
        Switch::new(&Wiring { hosts: 2, nodes: 4, specs: &specs, markings: &markings }, MTU, 1)
    }

    fn checksum(header: &[u8]) -> u16 {
        let sum: u32 = header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum();
        !((sum & 0xffff) + (sum >> 16)) as u16
    }

    fn frame(to: u32, ecn: u8) -> Vec<u8> {
        let mut frame = vec![0; ETHERNET + 1500];
        frame[12] = 8;
        let ip = &mut frame[ETHERNET..];
        (ip[0], ip[1]) = (0x45, ecn);
        ip[2..4].copy_from_slice(&1500_u16.to_be_bytes());
        ip[16..20].copy_from_slice(&address(to));
        let sum = checksum(&ip[..20]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame
    }

    #[test]
    fn frames_come_out_when_the_network_delivers_them_with_the_marks_they_met() {
        let mut switch = dumbbell();
        for _ in 0..6 {
            switch.send(Time::ZERO, 0, &frame(1, 2));
        }
        assert_eq!(switch.propagation(0, 1), Time::from_micros(30));
        let payload = Bytes(1460 * 6);
        let ideal = Time::from_nanos(2 * 1200) + FRAME * 6 + Time::from_micros(30);
        assert_eq!(switch.ideal(0, 1, payload, (MTU, Bytes(1460))), ideal);
        let mut out = Vec::new();
        let second = Time::from_millis(1000);
        switch.advance(second, |Delivery { host, bytes, sent, due }| {
            assert_eq!((checksum(&bytes[ETHERNET..ETHERNET + 20]), sent), (0, Time::ZERO));
            out.push((host, bytes[ETHERNET + 1] & 3, due));
        });
        // 1.2 us at each edge, 24 us in between, 30 us of propagation; then one every 24 us.
        let first = Time::from_nanos(2 * 1200) + FRAME + Time::from_micros(30);
        for (n, &(host, _, due)) in out.iter().enumerate() {
            assert_eq!((host, due), (1, first + FRAME * n as u64));
        }
        // They join every 1.2 us: behind the third packet of queue the marks begin.
        assert_eq!(out.iter().map(|&(_, ecn, _)| ecn).collect::<Vec<_>>(), [2, 2, 2, 3, 3, 3]);
        assert_eq!(switch.in_flight(), 0);
        assert_eq!(switch.next(), None);
    }

    #[test]
    fn what_is_not_for_a_host_here_is_counted_and_dropped() {
        let mut switch = dumbbell();
        switch.send(Time::ZERO, 0, &frame(7, 0));
        switch.send(Time::ZERO, 0, &frame(0, 0));
        switch.send(Time::ZERO, 0, &[0; 20]);
        let mut truncated = frame(1, 0);
        truncated.truncate(60);
        switch.send(Time::ZERO, 0, &truncated);
        assert_eq!((switch.unroutable, switch.in_flight()), (4, 0));
    }

    /// How many of twenty frames with an ECN field arrive that a host sends at once.
    fn arrivals(ecn: u8) -> usize {
        let mut switch = dumbbell();
        for _ in 0..20 {
            switch.send(Time::ZERO, 0, &frame(1, ecn));
        }
        let mut count = 0;
        switch.advance(Time::from_millis(1000), |_| count += 1);
        assert_eq!(switch.in_flight(), 0);
        count
    }

    #[test]
    fn a_full_port_drops() {
        assert_eq!(arrivals(2), 10);
    }

    #[test]
    fn frames_that_are_not_ecn_capable_are_dropped_where_others_are_marked() {
        assert_eq!(arrivals(0), 3);
    }
}
