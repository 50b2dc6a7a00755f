//! Completion time of a flow on an empty path.

use shallows_cc::units::{Bytes, Time};

use crate::fabric::route::{FlowPath, Routes};
use crate::port::clock::Clock;
use crate::spec::check::MAX_TIME;
use crate::spec::network::{Network, PortSpec};

/// Time that the last frame of a flow spends at one port of an empty path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdealHop {
    /// While the frames before it are sent.
    pub waits: Time,
    /// While it is sent.
    pub sending: Time,
    /// On the wire.
    pub delay: Time,
}

/// The completion of `bytes` on an empty path, hop by hop, from the first bit to the arrival of the last one. Packets
/// follow each other as fast as the slowest link allows, and each is stored and forwarded at every hop.
///
/// Exact for equal packets with a last one that may be shorter: a tandem of queues in which the last packet
/// waits at each hop for the one before it. At the slowest rate the largest flow takes longer than [`Time::MAX`], which then is the sum.
pub(crate) fn ideal_hops(bytes: Bytes, path: &[PortSpec], network: &Network) -> impl Iterator<Item = IdealHop> {
    let (mss, mtu) = (network.mss(), network.mtu);
    let full_packets = (bytes.0 - 1) / mss.0;
    let last = network.frame(Bytes(bytes.0 - full_packets * mss.0));
    let (mut first_done, mut slowest, mut done) = (Time::ZERO, Time::ZERO, Time::ZERO);
    path.iter().map(move |port| {
        let clock = Clock::new(port.rate);
        // Without propagation, which delays both packets alike.
        first_done += clock.time(mtu);
        slowest = slowest.max(clock.time(mtu));
        let behind = Time(slowest.0.saturating_mul(full_packets.saturating_sub(1)));
        let one_before = if full_packets == 0 { Time::ZERO } else { sum(first_done, behind) };
        let hop = IdealHop { waits: one_before.saturating_sub(done), sending: clock.time(last), delay: port.delay };
        done = sum(sum(done, hop.waits), hop.sending);
        hop
    })
}

/// The completion time of `bytes` on an empty path.
#[must_use]
pub fn ideal_completion(bytes: Bytes, path: &[PortSpec], network: &Network) -> Time {
    let times = ideal_hops(bytes, path, network).flat_map(|hop| [hop.waits, hop.sending, hop.delay]);
    times.fold(Time::ZERO, sum)
}

fn sum(a: Time, b: Time) -> Time {
    Time(a.0.saturating_add(b.0))
}

/// The ports of a flow's path, each with the time that its last frame spends there if the path is empty; none for an unlimited flow.
#[must_use]
pub fn ideal_path(network: &Network, flow: u32, [there, back]: &[FlowPath; 2]) -> Vec<(u32, IdealHop)> {
    let bytes = network.flow(flow).bytes;
    if bytes == Bytes::MAX {
        return Vec::new();
    }
    let counts = if network.hosts_choose_ports() { [there.first.len(), back.first.len()] } else { [1; 2] };
    let specs = specs(network, &there.ports);
    let hops = ideal_hops(busiest_share(bytes, network.mss(), counts), &specs, network);
    there.ports.iter().copied().zip(hops).collect()
}

fn specs(network: &Network, path: &[u32]) -> Vec<PortSpec> {
    path.iter().map(|&port| network.ports[port as usize]).collect()
}

/// The payload that the path with the last arrival carries. Where hosts choose a port for each packet, equal paths take full packets in
/// turn, as many as the host with fewer ports has; `counts` are the ports of both hosts.
fn busiest_share(bytes: Bytes, mss: Bytes, counts: [usize; 2]) -> Bytes {
    let paths = counts[0].min(counts[1]) as u64;
    let full_packets = (bytes.0 - 1) / mss.0;
    let last = Bytes(bytes.0 - full_packets * mss.0);
    // A full packet comes last unless the path of the last packet has one packet more than all others.
    mss * (full_packets / paths) + if full_packets.is_multiple_of(paths) { last } else { mss }
}

/// By flow: its completion time on an empty path; zero for unlimited flows, and for those that take longer than any run.
pub(crate) fn ideal_times(network: &Network, routes: &Routes) -> Vec<Time> {
    (0..network.flows.len() as u32).map(|flow| ideal_time(network, routes, flow)).collect()
}

/// The completion time of a flow on an empty path, as above.
pub(crate) fn ideal_time(network: &Network, routes: &Routes, number: u32) -> Time {
    let flow = network.flow(number);
    if flow.bytes == Bytes::MAX {
        return Time::ZERO;
    }
    let [there, _] = routes.path(network, number);
    let counts = [false, true].map(|back| routes.first_ports(number, back).len());
    let bytes = busiest_share(flow.bytes, network.mss(), counts);
    let ideal = ideal_completion(bytes, &specs(network, &there), network);
    if ideal > MAX_TIME { Time::ZERO } else { ideal }
}

#[cfg(test)]
mod tests {
    use shallows_cc::units::Rate;

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

    /// The largest flow over the slowest link: 2^31 frames of 12 ms take 2.6e7 s, more than 64 bits of picoseconds.
    #[test]
    fn the_longest_completion_does_not_wrap() {
        let slow = PortSpec { rate: Rate(1_000_000), ..hop(1, 2) };
        let largest = Bytes(1460 * ((1 << 31) - 1));
        assert_eq!(ideal_completion(largest, &[slow, slow], &Network::bare()), Time::MAX);
    }

    /// Three full packets and 1 B over two paths: each carries two packets, and the later one ends with a full packet. Five packets:
    /// the last of 1 B is the third on its path.
    #[test]
    fn equal_paths_take_packets_in_turn() {
        let share = |bytes, paths| busiest_share(Bytes(bytes), Bytes(1000), [paths, 4]).0;
        assert_eq!([share(3001, 2), share(4001, 2), share(4001, 1), share(4000, 4)], [2000, 2001, 4001, 1000]);
    }

    #[test]
    fn a_short_last_packet_waits_for_the_full_one_before_it() {
        // 1500 B then 140 B: at the second hop the short one waits until 2400 ns, then takes 112 ns.
        let ideal = ideal_completion(Bytes(1560), &[hop(10, 0), hop(10, 0)], &Network::bare());
        assert_eq!(ideal, Time::from_nanos(2400 + 112));
    }
}
