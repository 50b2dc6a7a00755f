//! Creation of the sender and the receiver of a flow.

use shallows_cc::rng::Rng;
use shallows_cc::sender::Path;
use shallows_cc::units::{Bytes, Time};

use crate::fabric::route::Routes;
use crate::host::nics::Nics;
use crate::host::path_selection::PathSelection;
use crate::host::timestamps::TimestampModel;
use crate::host::transport::{FlowEndpoint, FlowReceiver, FlowSender, ReceiverConfig, SenderConfig};
use crate::port::clock::Clock;
use crate::spec::network::{Control, FlowSpec, MIN_FRAME, Network};

/// First random stream of flows; streams below belong to ports.
const FLOW_STREAMS: u64 = 1 << 32;

/// The parts of a run from which the ends of flows are created.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub network: &'a Network,
    pub routes: &'a Routes,
    pub nics: &'a Nics,
}

impl Setup<'_> {
    /// Creates the sender of a flow that starts now, at a host that already sends `active` flows.
    pub fn sender(self, flow: u32, now: Time, active: u32) -> FlowSender {
        let network = self.network;
        let spec = &network.flows[flow as usize];
        let endpoint = self.endpoint(flow, false);
        let path = self.path(flow, now, active);
        let Path { mss, line_rate, base_rtt, seed, .. } = path;
        // RFC 6298 §2.2 after the sample R of a handshake: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        let first_timeout = network.host.rto_initial.max(base_rtt * 3);
        // 8e12: bits in a byte, and picoseconds in a second.
        let product = u128::from(line_rate.0) * u128::from(base_rtt.0) / 8_000_000_000_000;
        let control = &network.controls[spec.control as usize];
        let config = SenderConfig {
            bytes: spec.bytes,
            mss,
            ecn: control.algorithm.ecn(&control.values),
            has_int: control.asks_for_records(),
            sprayed: network.balancing.sprays(),
            host: &network.host,
            base_rtt,
            product: product.div_ceil(u128::from(network.mtu.0)) as u32,
            first_timeout,
            grants: control.grants(),
            control: control.sender(&path),
        };
        let mut sender = FlowSender::new(control.algorithm.transport, now, endpoint, config);
        sender.class = spec.class as u8;
        let paths = PathSelection::new(network.balancing, network.entropies, Rng::new(seed, 3));
        sender.paths = paths.map(Box::new);
        sender.leaves_gaps = network.host.gap > 0.0 && control.leaves_gaps();
        sender
    }

    /// Returns what the sender of a flow knows that starts now.
    fn path(self, flow: u32, now: Time, active: u32) -> Path {
        let network = self.network;
        let paths = self.routes.path(network, flow);
        Path {
            mss: network.mss(),
            frame: network.mtu,
            initial_window: network.host.initial_window,
            line_rate: self.routes.first_rate(network, flow, false),
            ports: self.routes.first_ports(flow, false).len() as u32,
            switches: paths[0].len() as u32 - 1,
            base_rtt: round_trip(network, &paths),
            seed: self.seed(flow),
            active,
            now,
        }
    }

    /// Returns the credit that a receiver may grant before its sender asks for it: as much as the sender asks for at most.
    fn credit_ahead(self, flow: u32, control: &Control) -> Bytes {
        let window = |_| (control.algorithm.sender)(&control.values, &self.path(flow, Time::ZERO, 0)).decision().window;
        control.grants().map_or(Bytes::ZERO, window)
    }

    /// Creates the receiver of a flow whose first packet has arrived.
    pub fn receiver(self, flow: u32, now: Time) -> FlowReceiver {
        let network = self.network;
        let spec = &network.flows[flow as usize];
        let endpoint = self.endpoint(flow, true);
        let rate = |port: u32| network.ports[port as usize].rate;
        let control = &network.controls[spec.control as usize];
        let seed = self.seed(flow);
        let frame_time = rate(self.routes.first_port(flow, false)).time_to_send(network.mtu);
        let timestamps = network.host.timestamps;
        let credits = control.credits(now, rate(endpoint.port), network.mtu);
        let config = ReceiverConfig {
            bytes: spec.bytes,
            mss: network.mss(),
            frame: network.mtu,
            credit_ahead: self.credit_ahead(flow, control),
            ack_delay: network.host.ack_delay,
            pull_timeout: (network.host.rto_initial, network.host.rto_max),
            notification: control.notification(network.host.acks_every),
            retransmission: network.host.retransmission,
            has_int: control.asks_for_records(),
            timestamps: timestamps.map(|spec| Box::new(TimestampModel::new(spec, frame_time, Rng::new(seed, 1)))),
            credits: credits.map(|credits| (credits, Rng::new(seed, 2))),
        };
        let mut receiver = FlowReceiver::new(control.algorithm.transport, endpoint, config);
        receiver.echoes_entropy = network.balancing.is_by_host();
        receiver
    }

    /// Returns the endpoint of a flow at its sender, or at its receiver if `back`.
    pub fn endpoint(self, flow: u32, back: bool) -> FlowEndpoint {
        let &FlowSpec { src, dst, .. } = &self.network.flows[flow as usize];
        let (from, to) = if back { (dst, src) } else { (src, dst) };
        let port = self.routes.first_port(flow, back);
        FlowEndpoint { flow, nic: self.nics.index(from, port), port, path: self.routes.first_hop(flow, to, back) }
    }

    /// Returns the random seed of a flow, which is the same at both ends.
    fn seed(self, flow: u32) -> u64 {
        Rng::new(self.network.seed, FLOW_STREAMS + u64::from(flow)).bits()
    }
}

/// Returns the round-trip time of a full frame and its acknowledgement over empty ports.
fn round_trip(network: &Network, [there, back]: &[Vec<u32>; 2]) -> Time {
    let cross = |path: &[u32], frame| {
        let ports = path.iter().map(|&port| &network.ports[port as usize]);
        ports.fold(Time::ZERO, |sum, port| sum + port.delay + Clock::new(port.rate).time(frame))
    };
    cross(there, network.mtu) + cross(back, MIN_FRAME)
}
