//! How the halves of a flow begin.

use shallows_cc::draws::Draws;
use shallows_cc::sender::Path;
use shallows_cc::units::{Rate, Time};

use crate::clock::Clock;
use crate::measure::Measure;
use crate::network::{MIN_FRAME, Network};
use crate::transport::{Ends, Expecting, Opening, Receiving, Sending};

/// Streams of draws below belong to ports, from here on to flows.
const FLOW_STREAMS: u64 = 1 << 32;

/// What a flow's own draws begin with: the same at both its ends.
fn seed(network: &Network, flow: u32) -> u64 {
    Draws::new(network.seed, FLOW_STREAMS + u64::from(flow)).bits()
}

fn ends(network: &Network, flow: u32) -> Ends {
    let spec = &network.flows[flow as usize];
    Ends { flow, src: spec.src, dst: spec.dst }
}

/// A full frame there and an acknowledgement back, over ports that are empty.
fn round_trip(network: &Network, [there, back]: &[Vec<u32>; 2]) -> Time {
    let cross = |path: &[u32], frame| {
        let ports = path.iter().map(|&port| &network.ports[port as usize]);
        ports.fold(Time::ZERO, |sum, port| sum + port.delay + Clock::new(port.rate).time(frame))
    };
    cross(there, network.mtu) + cross(back, MIN_FRAME)
}

/// The sending half of a flow that begins now at a host which sends `active` others; `path` are the ports there and back.
pub fn sending(network: &Network, flow: u32, now: Time, path: &[Vec<u32>; 2], active: u32) -> Sending {
    let spec = &network.flows[flow as usize];
    let mss = network.mss();
    let line_rate = network.ports[path[0][0] as usize].rate;
    let (initial_window, base_rtt) = (network.host.initial_window, round_trip(network, path));
    // RFC 6298 §2.2 after the sample R of a handshake: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
    let first_timeout = network.host.rto_initial.max(base_rtt * 3);
    let path = Path { mss, initial_window, line_rate, base_rtt, seed: seed(network, flow), active };
    let control = &network.controls[spec.control as usize];
    let opening = Opening {
        bytes: spec.bytes,
        mss,
        ecn: control.algorithm.ecn_capable(&control.values),
        traced: control.asks_for_records(),
        host: &network.host,
        first_timeout,
        control: control.sender(&path),
    };
    let mut sending = Sending::new(control.algorithm.transport, now, ends(network, flow), opening);
    sending.priority = spec.priority;
    sending
}

/// The receiving half of a flow whose first packet has come; both ends have links of these rates.
pub fn receiving(network: &Network, flow: u32, now: Time, sends_at: Rate, line_rate: Rate) -> Receiving {
    let spec = &network.flows[flow as usize];
    let control = &network.controls[spec.control as usize];
    let seed = seed(network, flow);
    let measure = network
        .host
        .timestamps
        .map(|timestamps| Box::new(Measure::new(timestamps, sends_at.time_to_send(network.mtu), Draws::new(seed, 1))));
    let credits = control.credits(now, line_rate, network.mtu);
    let expecting = Expecting {
        bytes: spec.bytes,
        mss: network.mss(),
        ack_delay: network.host.ack_delay,
        patience: (network.host.rto_initial, network.host.rto_max),
        notification: control.notification(network.host.acks_every),
        traced: control.asks_for_records(),
        measure,
        credits: credits.map(|credits| (credits, Draws::new(seed, 2))),
    };
    Receiving::new(control.algorithm.transport, ends(network, flow), expecting)
}
