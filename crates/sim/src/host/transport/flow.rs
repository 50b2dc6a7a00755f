//! The sender of a flow: what every sender keeps, and a reliability, which says what has arrived, what is lost and what leaves next.

use std::fmt::Debug;

use shallows_cc::event::Ack;
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Time};

use crate::host::stats::RttStats;
use crate::host::transport::config::SenderConfig;
use crate::host::transport::delivery::Delivery;
use crate::host::transport::gate::Gate;
use crate::host::transport::inband::InbandRequest;
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::position::Position;
use crate::host::transport::pulled::Recovery;
use crate::host::transport::selective::Arrivals;
use crate::host::transport::status::{Readiness, SendStatus};
use crate::host::waits::Waits;
use crate::packet::{Packet, PacketKind, Slab};
use crate::spec::network::{MIN_FRAME, Supply};

/// Retransmissions and timeouts of a flow.
#[derive(Clone, Debug, Default)]
pub(crate) struct Repairs {
    pub retransmits: u64,
    pub timeouts: u64,
    pub waits: Waits,
}

impl Repairs {
    /// Counts a timeout for which the flow has waited since then.
    pub(crate) fn on_timeout(&mut self, since: Time, now: Time) {
        self.timeouts += 1;
        self.waits.add(since, now);
    }
}

/// What the sender of a flow keeps, whatever its reliability.
#[derive(Clone, Debug)]
pub(crate) struct Common {
    pub gate: Gate,
    pub position: Position,
    pub repairs: Repairs,
    /// ECN field of its data.
    pub ecn: Ecn,
    /// Delivery-rate samples, if the algorithm asks for them.
    delivery: Option<Box<Delivery>>,
}

impl Common {
    fn new(config: SenderConfig<'_>) -> Self {
        Self {
            delivery: config.control.samples_delivery().then(Delivery::new),
            gate: Gate::new(config.control),
            position: Position::new(Message::new(config.bytes, config.mss)),
            repairs: Repairs::default(),
            ecn: config.ecn,
        }
    }

    /// Returns the length of the frame of a packet; `header` is what it has besides its payload.
    #[inline]
    pub(crate) fn length(&self, seq: u32, header: Bytes) -> Bytes {
        (self.position.message.payload(seq) + header).max(MIN_FRAME)
    }

    /// Returns the payload of so many full packets.
    #[inline]
    pub(crate) fn payload(&self, packets: u32) -> Bytes {
        self.position.message.mss * u64::from(packets)
    }

    /// Returns what a flow waits for that has nothing to send, new or again, while so many packets are in flight.
    #[inline]
    pub(crate) fn has_no_data(&mut self, in_flight: u32) -> Readiness {
        if self.delivery.is_some() {
            self.note_app_limited(in_flight);
        }
        Readiness::Blocked(self.position.message.blocked_by())
    }

    /// Notes that the application has no data, unless the window has no space.
    #[inline(never)]
    fn note_app_limited(&mut self, in_flight: u32) {
        let in_flight = self.payload(in_flight);
        if let Some(delivery) = &mut self.delivery
            && in_flight < self.gate.window
        {
            delivery.on_app_limited(in_flight);
        }
    }

    /// Notes for delivery-rate samples that a packet leaves, before and after which so many are in flight.
    #[inline]
    pub(crate) fn stamp(&mut self, now: Time, seq: u32, (before, after): (u32, u32)) {
        if self.delivery.is_some() {
            self.stamp_delivery(now, seq, (before, after));
        }
    }

    #[inline(never)]
    fn stamp_delivery(&mut self, now: Time, seq: u32, (before, after): (u32, u32)) {
        let in_flight = self.payload(after);
        if let Some(delivery) = &mut self.delivery {
            if before == 0 && delivery.is_idle() {
                self.gate.control.on_restart(now);
                self.gate.decide();
            }
            delivery.on_sent(now, seq, (in_flight, before == 0));
        }
    }

    /// Tells the algorithm of a frame of data that has left, and reads its decision if that has changed it.
    #[inline]
    fn report_departure(&mut self, now: Time, packet: &Packet) {
        if packet.flags.is(PacketKind::Data) && self.gate.control.on_sent(now, packet.bytes()) {
            self.gate.decide();
        }
    }

    /// Records for delivery-rate samples the arrivals that an acknowledgement reports, whose newest packet left at `answered`. Tells the
    /// algorithm of packets that it shows to be `lost`, and of losses that were none.
    #[inline]
    pub(crate) fn record_delivery(
        &mut self,
        now: Time,
        arrivals: Arrivals,
        answered: Time,
        lost: impl FnOnce(&Position) -> Vec<u32>,
    ) {
        if self.delivery.is_some() {
            let lost = lost(&self.position);
            self.record_arrivals(now, arrivals, answered, lost);
        }
    }

    #[inline(never)]
    fn record_arrivals(&mut self, now: Time, arrivals: Arrivals, answered: Time, lost: Vec<u32>) {
        let Some(delivery) = &mut self.delivery else { return };
        delivery.record_arrivals(now, arrivals, answered, &self.position.message);
        self.report_lost_packets(now, |_| lost);
        if self.delivery.as_mut().is_some_and(|delivery| delivery.takes_back_losses()) {
            self.gate.control.on_spurious_loss(now);
        }
    }

    /// Adds to an acknowledgement the delivery-rate sample of the packets that have been recorded since the last one. Others keep it as it
    /// is: to copy an empty sample would take time.
    #[inline]
    pub(crate) fn add_sample(&mut self, ack: &mut Ack) {
        if let Some(delivery) = &mut self.delivery {
            ack.delivery = delivery.sample();
        }
    }

    /// Tells the algorithm of those packets that are newly known to be lost, if it takes delivery-rate samples.
    #[inline]
    pub(crate) fn report_lost_packets(&mut self, now: Time, lost: impl FnOnce(&Position) -> Vec<u32>) {
        let Some(delivery) = &mut self.delivery else { return };
        for seq in lost(&self.position) {
            if let Some(lost) = delivery.on_lost(seq, self.position.next, &self.position.message) {
                self.gate.control.on_packet_lost(now, &lost);
            }
        }
    }

    /// Reads the decision of an algorithm that has been told of lost packets and of nothing else.
    pub(crate) fn decide_after_lost_packets(&mut self) {
        if self.delivery.is_some() {
            self.gate.decide();
        }
    }
}

/// How a transport detects and repairs losses, and what lets its packets leave. A part has the state that only its transport needs.
pub(crate) trait Reliability: Clone + Debug {
    /// Whether packets leave by the window and pace of the algorithm.
    const HAS_GATE: bool = true;

    /// Returns whether the flow may send.
    fn readiness(&mut self, common: &mut Common, now: Time) -> Readiness;

    /// Creates the next packet and returns its index; `header` is the length of a data frame without its payload.
    fn send(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32;

    /// Handles a packet for the sender. Slot `at` is already free, but valid until the next insertion.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    fn on_packet(&mut self, common: &mut Common, now: Time, at: u32, packets: &Slab);

    /// Returns the time for a new timer, if no earlier one is set.
    fn arm_timer(&mut self, common: &Common) -> Option<Time>;

    /// Handles a timer set by [`Self::arm_timer`]; the deadline may have moved since.
    fn on_timer(&mut self, common: &mut Common, now: Time);

    /// Returns the number of packets in flight, unless credits count them.
    fn in_flight(&self, common: &Common) -> Option<u32>;

    /// Returns the number after the last packet that leaves even if the flow is stopped.
    #[inline]
    fn begun(&self, common: &Common) -> u32 {
        common.position.next
    }

    /// Handles the stop of a flow, whose message has been truncated.
    fn on_stop(&mut self, _common: &mut Common, _now: Time) {}

    /// Returns whether the sender knows that every byte has arrived.
    #[inline]
    fn done(&self, common: &Common) -> bool {
        common.position.unacked == common.position.message.end
    }

    /// Returns the smoothed round-trip times, if the transport computes them.
    fn rtt(&self) -> RttStats {
        RttStats::NONE
    }

    /// Returns the number of credits that arrived when nothing was left to send.
    fn credits_wasted(&self) -> u64 {
        0
    }

    /// Returns whether the window says what may be in flight, for reports.
    fn shows_window(&self) -> bool {
        false
    }

    /// Reports internal variables; `since` is the time since the last report.
    fn probe(&mut self, common: &mut Common, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        common.gate.probe(since, record);
    }

    /// Remembers the entropy value with which the packet `seq` has left.
    #[inline]
    fn remember(&mut self, _seq: impl FnOnce() -> u32, _value: u16) {}

    /// Returns whether it finds losses by selective acknowledgements of single packets.
    #[inline]
    fn has_recovery(&self) -> bool {
        false
    }

    /// Returns the loss detection by selective acknowledgements of single packets, if it has it.
    #[inline]
    fn recovery(&mut self) -> Option<&mut Recovery> {
        None
    }
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub(crate) struct Flow<R> {
    pub common: Common,
    pub reliability: R,
}

impl<R: Reliability> Flow<R> {
    pub(crate) fn new(reliability: R, config: SenderConfig<'_>) -> Self {
        Self { reliability, common: Common::new(config) }
    }

    /// Handles a packet for the sender, and what it answers to an in-band `request`. Slot `at` is already free, but valid until the next
    /// insertion.
    ///
    /// # Panics
    /// If the packet belongs to another transport.
    #[inline(always)]
    pub(crate) fn on_packet(&mut self, now: Time, (at, packets): (u32, &Slab), request: Option<&mut InbandRequest>) {
        if let Some(request) = request
            && packets.header(at).answers_request()
        {
            request.on_ack(now, packets.header(at), (at, packets), &mut self.common.gate);
        }
        self.reliability.on_packet(&mut self.common, now, at, packets);
    }

    /// Returns whether the flow may send.
    #[inline(always)]
    pub(crate) fn readiness(&mut self, now: Time) -> Readiness {
        self.reliability.readiness(&mut self.common, now)
    }

    /// Creates the next packet and returns its index; `header` is the length of a data frame without its payload.
    #[inline(always)]
    pub(crate) fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let at = self.reliability.send(&mut self.common, now, header, out);
        if self.common.gate.hears_departures {
            self.common.report_departure(now, &out.packets[at]);
        }
        at
    }

    /// Returns the time for a new timer, if no earlier one is set.
    #[inline(always)]
    pub(crate) fn arm_timer(&mut self) -> Option<Time> {
        self.reliability.arm_timer(&self.common)
    }

    /// Handles a timer set by [`Self::arm_timer`]. Returns true if a timeout has expired.
    pub(crate) fn on_timer(&mut self, now: Time) -> bool {
        let timeouts = self.common.repairs.timeouts;
        self.reliability.on_timer(&mut self.common, now);
        self.common.repairs.timeouts > timeouts
    }

    /// Sends no new data from now on.
    pub(crate) fn stop(&mut self, now: Time) {
        let begun = self.reliability.begun(&self.common);
        self.common.position.message.truncate(begun);
        self.reliability.on_stop(&mut self.common, now);
    }

    /// Makes data of the application available.
    pub(crate) fn write(&mut self, supply: Supply) {
        let begun = self.reliability.begun(&self.common);
        self.common.position.message.write(supply, begun);
    }

    /// Returns true if the sender knows that every byte has arrived.
    #[inline(always)]
    pub(crate) fn done(&self) -> bool {
        self.reliability.done(&self.common)
    }

    /// Returns the number of the next new packet, and the packets in flight unless credits count them.
    pub(crate) fn progress(&self) -> (u32, Option<u32>) {
        (self.common.position.sent_below, self.reliability.in_flight(&self.common))
    }

    /// Returns the congestion window and pace, unless credits replace them.
    #[inline]
    pub(crate) fn gate(&self) -> Option<&Gate> {
        R::HAS_GATE.then_some(&self.common.gate)
    }

    /// Returns the congestion window and pace, unless credits replace them.
    #[inline]
    pub(crate) fn gate_mut(&mut self) -> Option<&mut Gate> {
        R::HAS_GATE.then_some(&mut self.common.gate)
    }

    /// Reports internal variables; `since` is the time since the last report, and `has_rates` says whether switches announce rates.
    pub(crate) fn probe(&mut self, since: Time, has_rates: bool, record: &mut dyn FnMut(&'static str, f64)) {
        // The window of a flow with explicit rates says only whether it has received one.
        if self.reliability.shows_window() && !has_rates {
            record("window_pkt", self.common.gate.window / self.common.position.message.mss);
        }
        self.reliability.probe(&mut self.common, since, record);
    }

    /// Returns the state after an event. A deadline that has passed, because fewer packets in flight have a shorter timeout, is now.
    #[inline(always)]
    pub(crate) fn status(&mut self, now: Time, queued: bool) -> SendStatus {
        SendStatus {
            readiness: if queued { None } else { Some(self.readiness(now)) },
            timeout: self.arm_timer().map(|deadline| deadline.max(now)),
            wake: self.gate_mut().and_then(Gate::arm_wake),
        }
    }

    /// Returns the state after an event, or none if the flow is done.
    #[inline(always)]
    pub(crate) fn status_unless_done(&mut self, now: Time, queued: bool) -> Option<SendStatus> {
        if self.done() { None } else { Some(self.status(now, queued)) }
    }

    /// Sends a packet and returns its index and the state after that.
    #[inline(always)]
    pub(crate) fn send_and_report(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> (u32, SendStatus) {
        let at = self.send(now, header, out);
        (at, self.status(now, false))
    }
}
