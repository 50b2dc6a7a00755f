//! Creation of the sender and the receiver of a flow.

use shallows_cc::rng::Rng;
use shallows_cc::sender::Path;
use shallows_cc::units::{Bytes, Time};

use crate::fabric::route::Routes;
use crate::host::nics::Nics;
use crate::host::path_selection::PathSelection;
use crate::host::timestamps::TimestampModel;
use crate::host::transport::{FlowEndpoint, FlowReceiver, FlowSender, ReceiverConfig, SenderConfig};
use crate::host::value_set::ValueSet;
use crate::port::clock::Clock;
use crate::spec::network::{Balancing, Control, FlowSpec, Limit, MIN_FRAME, Network, PortSpec, TrafficClass};

/// First random stream of flows; streams below belong to ports.
const FLOW_STREAMS: u64 = 1 << 32;

/// Full frames that the slowest link of a path queues at least while it is busy: two flows keep two in flight each (RFC 8257 §3.3), and
/// one more is being sent. The default step of a port has the same bound.
const QUEUED: u64 = 5;
/// The same where packets are sprayed, because they queue by chance: DCTCP's threshold at 1 Gbps (SIGCOMM 2010 §3.5). Over 16 to 64
/// paths by REPS a DCTCP flow leaves links idle with steps of less than 16 to 20 frames of 1500 to 9000 B.
const QUEUED_WHERE_SPRAYED: u64 = 20;

/// The parts of a run from which the ends of flows are created.
#[derive(Clone, Copy, Debug)]
pub struct Setup<'a> {
    pub network: &'a Network,
    pub routes: &'a Routes,
    pub nics: &'a Nics,
}

impl Setup<'_> {
    /// Creates the sender of a flow that starts now, at a host that already sends `active` flows.
    pub(crate) fn sender(self, flow: u32, now: Time, active: u32) -> FlowSender {
        let network = self.network;
        let spec = network.flow(flow);
        let endpoint = self.endpoint(flow, false);
        let path = self.path(flow, now, active);
        let Path { mss, base_rtt, .. } = path;
        // RFC 6298 §2.2 after the sample R of a handshake: SRTT = R, RTTVAR = R/2, RTO = SRTT + 4 RTTVAR.
        let first_timeout = network.host.rto_initial.max(base_rtt * 3);
        let sprayed = network.balancing.sprays();
        let control = &network.controls[spec.control as usize];
        let config = SenderConfig {
            bytes: spec.bytes,
            mss,
            ecn: control.algorithm.ecn(&control.values),
            has_int: control.asks_for_records(),
            has_counts: control.counts_packets(),
            sprayed,
            host: &network.host,
            base_rtt,
            in_flight_limit: in_flight_limit(&path, sprayed),
            first_timeout,
            grants: control.grants(),
            multipath: control.multipath(base_rtt),
            control: control.sender(&path),
        };
        let mut sender = FlowSender::new(control.algorithm.transport, now, endpoint, config);
        sender.class = spec.class as u8;
        sender.paths = self.path_selection(flow, &path, first_timeout).map(Box::new);
        sender.leaves_gaps = network.host.gap > 0.0 && control.fills_queues() && self.may_find_full_queue(flow);
        sender
    }

    /// Creates the choice of a path for each packet, if hosts choose.
    fn path_selection(self, flow: u32, path: &Path, timeout: Time) -> Option<PathSelection> {
        let (network, draws) = (self.network, Rng::new(path.seed, 3));
        let control = &network.controls[network.flow(flow).control as usize];
        if network.balancing != Balancing::Mrc {
            return PathSelection::new(network.balancing, network.entropies, draws);
        }
        let rules = control.multipath(path.base_rtt)?;
        let ports = self.routes.first_ports(flow, false);
        Some(PathSelection::of_values(draws, |draws| ValueSet::new(rules, ports, timeout, draws)))
    }

    /// Returns whether data of a flow can find a full queue on its path, because no pause comes before that.
    fn may_find_full_queue(self, flow: u32) -> bool {
        let network = self.network;
        let class = network.flow(flow).class as usize;
        let TrafficClass { pause, pool, .. } = &network.classes[class];
        let is_limited = |&port: &u32| {
            let PortSpec { buffer, discipline, .. } = network.ports[port as usize];
            let Some(number) = discipline else { return buffer < Bytes::MAX };
            let discipline = &network.disciplines[number as usize];
            let data = discipline.class_of_data(class);
            discipline.classes[usize::from(data)].limit != Limit::Bytes(Bytes::MAX)
        };
        pause.is_none() && (pool.is_some() || self.routes.path(network, flow)[0].iter().any(is_limited))
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
            least_queue: least_queue(network, &paths[0]),
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
        let spec = network.flow(flow);
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
            tcp_ack: network.tcp_ack(),
            credit_ahead: self.credit_ahead(flow, control),
            ack_delay: network.host.ack_delay,
            pull_timeout: (network.host.rto_initial, network.host.rto_max),
            notification: control.notification(),
            retransmission: network.host.retransmission,
            has_int: control.asks_for_records(),
            has_counts: control.counts_packets(),
            has_sack: control.algorithm.multipath.is_some(),
            timestamps: timestamps.map(|spec| Box::new(TimestampModel::new(spec, frame_time, Rng::new(seed, 1)))),
            credits: credits.map(|credits| (credits, Rng::new(seed, 2))),
        };
        let mut receiver = FlowReceiver::new(control.algorithm.transport, endpoint, config);
        receiver.echoes_entropy = network.balancing.is_by_host();
        receiver
    }

    /// Returns the endpoint of a flow at its sender, or at its receiver if `back`.
    pub(crate) fn endpoint(self, flow: u32, back: bool) -> FlowEndpoint {
        let &FlowSpec { src, dst, .. } = self.network.flow(flow);
        let (from, to) = if back { (dst, src) } else { (src, dst) };
        let port = self.routes.first_port(flow, back);
        FlowEndpoint { flow, nic: self.nics.index(from, port), port, path: self.routes.first_hop(flow, to, back) }
    }

    /// Returns the random seed of a flow, which is the same at both ends.
    fn seed(self, flow: u32) -> u64 {
        Rng::new(self.network.seed, FLOW_STREAMS + u64::from(flow)).bits()
    }
}

/// Returns the full frames that a host may have in flight over RoCE with selective retransmission: a bandwidth-delay product of the
/// empty path (BDP-FC, IRN §3.2). Sprayed frames wait on the longest of several paths, for as long as an empty round trip or the least
/// queue.
fn in_flight_limit(path: &Path, sprayed: bool) -> u32 {
    // 8e12: bits in a byte, and picoseconds in a second.
    let frames = |time: Time| {
        let bytes = u128::from(path.line_rate.0) * u128::from(time.0) / 8_000_000_000_000;
        u32::try_from(bytes.div_ceil(u128::from(path.frame.0))).unwrap_or(u32::MAX)
    };
    let product = frames(path.base_rtt);
    if sprayed { product.saturating_mul(2).max(frames(path.base_rtt + path.least_queue)) } else { product }
}

/// Returns the time of the least queue at the slowest of these ports.
fn least_queue(network: &Network, path: &[u32]) -> Time {
    let times = path.iter().map(|&port| network.ports[port as usize].rate.time_to_send(network.mtu));
    let frames = if network.balancing.sprays() { QUEUED_WHERE_SPRAYED } else { QUEUED };
    times.max().unwrap_or(Time::ZERO) * frames
}

/// Returns the round-trip time of a full frame and its acknowledgement over empty ports.
fn round_trip(network: &Network, [there, back]: &[Vec<u32>; 2]) -> Time {
    let cross = |path: &[u32], frame| {
        let ports = path.iter().map(|&port| &network.ports[port as usize]);
        ports.fold(Time::ZERO, |sum, port| sum + port.delay + Clock::new(port.rate).time(frame))
    };
    cross(there, network.mtu) + cross(back, MIN_FRAME)
}

#[cfg(test)]
mod tests {
    use shallows_cc::units::{Bytes, Rate};

    use super::*;

    /// By hand, frames of 1500 B: at 10 Gbps over links of 156.25 Mbps, where twenty frames take 1536 us, and at 100 Gbps over links of
    /// that rate. 10 Gbps send 142.5 frames in 171 us and 1422.5 in 1707 us; 100 Gbps send 100 in 12 us and 120 in 14.4 us.
    #[test]
    fn sprayed_frames_may_wait_for_as_long_as_the_least_queue() {
        for (gbps, rtt_ns, queue_ns, one_path, sprayed) in
            [(10, 171_000, 1_536_000, 143, 1423), (100, 12_000, 2400, 100, 200)]
        {
            let (line_rate, base_rtt) = (Rate::from_gbps(gbps), Time::from_nanos(rtt_ns));
            let (frame, least_queue) = (Bytes(1500), Time::from_nanos(queue_ns));
            let path = Path { frame, line_rate, base_rtt, least_queue, ..Path::default() };
            assert_eq!([false, true].map(|sprayed| in_flight_limit(&path, sprayed)), [one_path, sprayed]);
        }
    }
}
