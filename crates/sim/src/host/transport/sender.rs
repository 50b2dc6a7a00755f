//! The sending end of a flow, whatever its transport.

use shallows_cc::catalog::Transport;
use shallows_cc::units::{Bytes, Rate, Time};

use crate::host::path_selection::PathSelection;
use crate::host::stats::RttStats;
use crate::host::transport::config::{FlowEndpoint, SenderConfig};
use crate::host::transport::flow::{Common, Reliability as _};
use crate::host::transport::gate::Gate;
use crate::host::transport::inband::InbandRequest;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::pulled::Recovery;
use crate::host::transport::reliabilities::{AnySender, of_any_sender};
use crate::host::transport::status::{Readiness, SendStatus, SenderState};
use crate::host::value_set::Verdict;
use crate::packet::header::Header;
use crate::packet::{Flags, PacketKind, Slab};
use crate::spec::network::{MIN_FRAME, Supply};

/// Sending end of a flow.
#[derive(Clone, Debug)]
pub(crate) struct FlowSender {
    pub endpoint: FlowEndpoint,
    /// Whether it is in its NIC's run queue.
    pub queued: bool,
    /// Traffic class of its packets.
    pub class: u8,
    /// Whether random gaps follow its frames.
    pub leaves_gaps: bool,
    /// Time of the next pacing timer; [`Time::MAX`] if none is set.
    pub pace_timer: Time,
    request: Option<Box<InbandRequest>>,
    /// The choice of a path for each packet, if hosts choose.
    pub paths: Option<Box<PathSelection>>,
    sender: AnySender,
}

impl FlowSender {
    pub fn new(transport: &Transport, now: Time, endpoint: FlowEndpoint, config: SenderConfig<'_>) -> Self {
        let request = InbandRequest::new(transport, &config);
        let sender = AnySender::new(transport, now, config);
        Self {
            endpoint,
            queued: false,
            class: 0,
            leaves_gaps: false,
            pace_timer: Time::MAX,
            request,
            paths: None,
            sender,
        }
    }

    /// Returns whether the flow may send.
    #[inline]
    pub(crate) fn readiness(&mut self, now: Time) -> Readiness {
        of_any_sender!(&mut self.sender, flow => flow.readiness(now))
    }

    /// Creates the next packet and returns its index and the flow's state after that; `header` is the length of a data frame
    /// without its payload.
    #[inline(always)]
    pub fn send(&mut self, now: Time, header: Bytes, packets: &mut Slab) -> (u32, SendStatus) {
        let out = &mut PacketSink::new(self.endpoint, packets);
        let (at, status) = of_any_sender!(&mut self.sender, flow => flow.send_and_report(now, header, out));
        if let Some(request) = &mut self.request {
            request.on_data(now, at, packets);
        }
        if let Some(paths) = &mut self.paths {
            let value = paths.next(now, self.endpoint.port);
            packets[at].set_entropy(value);
            let seq = || packets.header(at).numbers().0;
            of_any_sender!(&mut self.sender, flow => flow.reliability.remember(seq, value));
        }
        (at, status)
    }

    /// Handles a packet for the sender and returns the flow's state after that, or none if the flow is done. Slot `at` is
    /// already free, but valid until the next insertion.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, now: Time, at: u32, packets: &Slab) -> Option<SendStatus> {
        let queued = self.queued;
        if self.paths.is_some() {
            self.learn_path(now, at, packets);
        }
        of_any_sender!(&mut self.sender, flow => {
            flow.on_packet(now, (at, packets), self.request.as_deref_mut());
            if let Some(recovery) = flow.reliability.recovery()
                && let Some(paths) = &mut self.paths
            {
                report_losses(now, recovery, paths);
            }
            flow.status_unless_done(now, queued)
        })
    }

    /// Tells the choice of paths what a packet for the sender says about one.
    #[inline(never)]
    fn learn_path(&mut self, now: Time, at: u32, packets: &Slab) {
        let (packet, header) = (&packets[at], packets.header(at));
        let (last_hop, marked) = (packet.flags.has(Flags::LAST_HOP), packet.flags.has(Flags::ECHOES_MARK));
        let verdict = match header {
            _ if packet.flags.is(PacketKind::Returned) => Verdict::Trimmed,
            _ if !packet.flags.has(Flags::ECHOES) => return,
            Header::ProbeAck { .. } => {
                let values = self.paths.as_mut().and_then(|paths| paths.values());
                return values.into_iter().for_each(|values| values.on_probed(packet.entropy(), marked));
            }
            Header::PulledNack(_) if last_hop => Verdict::TrimmedAtLastHop,
            Header::PulledNack(_) => Verdict::Trimmed,
            _ if marked => Verdict::Marked,
            _ => Verdict::Clean,
        };
        if let Some(paths) = &mut self.paths {
            paths.on_answer(now, (packet.entropy(), header.stamp()), verdict);
        }
    }

    /// Returns the flow's state.
    pub fn status(&mut self, now: Time) -> SendStatus {
        let queued = self.queued;
        of_any_sender!(&mut self.sender, flow => flow.status(now, queued))
    }

    /// Returns the time of the next request or probe without data, if it is before the next `data`.
    pub(crate) fn request_due(&self, data: Time) -> Option<Time> {
        self.request.as_deref().and_then(|request| request.due(data))
    }

    /// Creates a request or a probe without data and returns its index.
    pub fn request(&mut self, now: Time, packets: &mut Slab) -> Option<u32> {
        let out = &mut PacketSink::new(self.endpoint, packets);
        self.request.as_deref_mut().and_then(|request| request.request(now, out))
    }

    /// Returns the payload that the window allows in flight, if the flow has one.
    #[inline]
    pub(crate) fn window(&self) -> Option<Bytes> {
        self.gate().map(|gate| gate.window)
    }

    /// Returns true if data goes through the hardware pacer of the host.
    pub fn goes_through_pacer(&self, now: Time) -> bool {
        self.gate().is_some_and(|gate| gate.control.goes_through_pacer(now))
    }

    /// Handles a wake timer, unless the algorithm has asked for another time since. Returns true if it was handled.
    pub(crate) fn on_wake(&mut self, now: Time) -> bool {
        let gate = of_any_sender!(&mut self.sender, flow => flow.gate_mut()).filter(|gate| gate.wake == now);
        gate.map(|gate| gate.on_wake(now)).is_some()
    }

    /// Passes a window and a pace that another program sets to the algorithm.
    pub(crate) fn adopt(&mut self, window: Bytes, pace: Option<Rate>) {
        if let Some(gate) = of_any_sender!(&mut self.sender, flow => flow.gate_mut()) {
            gate.adopt(window, pace);
        }
    }

    /// Handles a timer of kind `Timeout`.
    pub fn on_timer(&mut self, now: Time) {
        let expired = of_any_sender!(&mut self.sender, flow => flow.on_timer(now));
        let Some(paths) = &mut self.paths else { return };
        if expired {
            paths.on_timeout(now);
        }
        if let Some(recovery) = of_any_sender!(&mut self.sender, flow => flow.reliability.recovery()) {
            report_losses(now, recovery, paths);
        }
    }

    /// Returns whether the flow sends nothing through this port of its host.
    #[inline]
    pub(crate) fn avoids(&self, port: u32) -> bool {
        self.paths.as_deref().is_some_and(|paths| paths.avoids(port))
    }

    /// Returns whether the flow may send probes.
    #[inline]
    pub fn probes(&self) -> bool {
        of_any_sender!(&self.sender, flow => flow.reliability.has_recovery())
    }

    /// Creates the probes that are due, those of the connection through `port`, unless their ports are down. Returns the port and the index
    /// of each.
    pub(crate) fn take_probes(
        &mut self,
        now: Time,
        (port, is_down): (u32, &dyn Fn(u32) -> bool),
        packets: &mut Slab,
    ) -> Vec<(u32, u32)> {
        let (recovery, ecn) = of_any_sender!(&mut self.sender, flow => (flow.reliability.recovery(), flow.common.ecn));
        let Some(recovery) = recovery else { return Vec::new() };
        let mut probes = Vec::new();
        if let Some(paths) = &mut self.paths {
            probes = paths.values().map_or_else(Vec::new, |values| values.take_probes(now));
            recovery.value_probe = paths.next_probe();
        }
        if recovery.takes_probe() {
            let value = self.paths.as_mut().map_or(0, |paths| paths.next(now, port));
            probes.push((port, value));
        }
        let out = &mut PacketSink::new(self.endpoint, packets);
        let create = |(port, value)| {
            let at = out.put_data(MIN_FRAME, ecn, Header::Probe { sent: now });
            out.packets[at].set_entropy(value);
            (port, at)
        };
        probes.into_iter().filter(|&(port, _)| !is_down(port)).map(create).collect()
    }

    /// Returns the state for a snapshot.
    pub fn snapshot(&mut self, now: Time) -> SenderState {
        let (next, in_flight) = self.progress();
        let readiness = if self.queued { Readiness::Ready } else { self.readiness(now) };
        SenderState { next, in_flight, readiness }
    }

    /// Returns what every sender keeps.
    #[inline]
    pub(crate) fn common(&self) -> &Common {
        of_any_sender!(&self.sender, flow => &flow.common)
    }

    /// Returns the congestion window and pace, unless credits replace them.
    #[inline]
    fn gate(&self) -> Option<&Gate> {
        of_any_sender!(&self.sender, flow => flow.gate())
    }

    /// Makes data of the application available.
    pub(crate) fn write(&mut self, supply: Supply) {
        of_any_sender!(&mut self.sender, flow => flow.write(supply));
    }

    /// Sends no new data from now on. Returns true if the sender knows that every byte has arrived.
    pub(crate) fn stop(&mut self, now: Time) -> bool {
        of_any_sender!(&mut self.sender, flow => {
            flow.stop(now);
            flow.done()
        })
    }

    /// Returns the number of the next new packet, and the packets in flight unless credits count them.
    pub(crate) fn progress(&self) -> (u32, Option<u32>) {
        of_any_sender!(&self.sender, flow => flow.progress())
    }

    /// Returns the smoothed round-trip times, if the transport computes them.
    pub(crate) fn rtt(&self) -> RttStats {
        of_any_sender!(&self.sender, flow => flow.reliability.rtt())
    }

    /// Returns the number of credits that arrived when nothing was left to send.
    pub(crate) fn credits_wasted(&self) -> u64 {
        of_any_sender!(&self.sender, flow => flow.reliability.credits_wasted())
    }

    /// Reports internal variables; `since` is the time since the last report.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        let has_rates = matches!(self.request.as_deref(), Some(InbandRequest::Rates(_)));
        of_any_sender!(&mut self.sender, flow => flow.probe(since, has_rates, record));
        if let Some(values) = self.paths.as_mut().and_then(|paths| paths.values()) {
            values.probe(record);
        }
    }
}

/// Tells the choice of paths of lost packets, and the transport when a value is to be probed.
#[inline]
fn report_losses(now: Time, recovery: &mut Recovery, paths: &mut PathSelection) {
    if recovery.has_lost() {
        recovery.take_lost().into_iter().for_each(|(value, evidence)| paths.on_lost(now, value, evidence));
    }
    recovery.value_probe = paths.next_probe();
}
