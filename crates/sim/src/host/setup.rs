//! How the halves of a flow begin.

use shallows_cc::rng::Rng;
use shallows_cc::sender::Path;
use shallows_cc::units::Time;

use crate::fabric::route::Routes;
use crate::host::timestamps::TimestampModel;
use crate::host::transport::{FlowEndpoint, ReceiverConfig, Receiving, SenderConfig, Sending};
use crate::port::clock::Clock;
use crate::spec::network::{FlowSpec, MIN_FRAME, Network};

/// Streams of draws below belong to ports, from here on to flows.
const FLOW_STREAMS: u64 = 1 << 32;

/// What a flow's own draws begin with: the same at both its ends.
fn seed(network: &Network, flow: u32) -> u64 {
    Rng::new(network.seed, FLOW_STREAMS + u64::from(flow)).bits()
}

/// The ends of a flow, for its receiver if `back`.
fn ends(network: &Network, routes: &Routes, flow: u32, back: bool) -> FlowEndpoint {
    let &FlowSpec { src, dst, .. } = &network.flows[flow as usize];
    let (from, to) = if back { (dst, src) } else { (src, dst) };
    FlowEndpoint { flow, src, dst, port: routes.nic(from), path: routes.first_hop(flow, to, back) }
}

/// A full frame there and an acknowledgement back, over ports that are empty.
fn round_trip(network: &Network, [there, back]: &[Vec<u32>; 2]) -> Time {
    let cross = |path: &[u32], frame| {
        let ports = path.iter().map(|&port| &network.ports[port as usize]);
        ports.fold(Time::ZERO, |sum, port| sum + port.delay + Clock::new(port.rate).time(frame))
    };
    cross(there, network.mtu) + cross(back, MIN_FRAME)
}

/// The sending half of a flow that begins now at a host which sends `active` others.
pub fn sending(network: &Network, routes: &Routes, flow: u32, now: Time, active: u32) -> Sending {
    let spec = &network.flows[flow as usize];
    let ends = ends(network, routes, flow, false);
    let mss = network.mss();
    let line_rate = network.ports[ends.port as usize].rate;
    let base_rtt = round_trip(network, &routes.path(network, flow));
    let initial_window = network.host.initial_window;
    // RFC 6298 §2.2 after the sample R of a handshake: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
    let first_timeout = network.host.rto_initial.max(base_rtt * 3);
    let path = Path { mss, initial_window, line_rate, base_rtt, seed: seed(network, flow), active };
    let control = &network.controls[spec.control as usize];
    let opening = SenderConfig {
        bytes: spec.bytes,
        mss,
        ecn: control.algorithm.ecn_capable(&control.values),
        has_int: control.asks_for_records(),
        host: &network.host,
        first_timeout,
        control: control.sender(&path),
    };
    let mut sending = Sending::new(control.algorithm.transport, now, ends, opening);
    sending.priority = spec.priority;
    sending
}

/// The receiving half of a flow whose first packet has come.
pub fn receiving(network: &Network, routes: &Routes, flow: u32, now: Time) -> Receiving {
    let spec = &network.flows[flow as usize];
    let ends = ends(network, routes, flow, true);
    let [sends_at, line_rate] = [routes.nic(spec.src), ends.port].map(|port| network.ports[port as usize].rate);
    let control = &network.controls[spec.control as usize];
    let seed = seed(network, flow);
    let measure = network.host.timestamps.map(|timestamps| {
        Box::new(TimestampModel::new(timestamps, sends_at.time_to_send(network.mtu), Rng::new(seed, 1)))
    });
    let credits = control.credits(now, line_rate, network.mtu);
    let expecting = ReceiverConfig {
        bytes: spec.bytes,
        mss: network.mss(),
        ack_delay: network.host.ack_delay,
        patience: (network.host.rto_initial, network.host.rto_max),
        notification: control.notification(network.host.acks_every),
        has_int: control.asks_for_records(),
        measure,
        credits: credits.map(|credits| (credits, Rng::new(seed, 2))),
    };
    Receiving::new(control.algorithm.transport, ends, expecting)
}
