//! One frame for each credit, at the sender.

use std::collections::VecDeque;

use shallows_cc::port::Ecn;
use shallows_cc::receiver::CreditEcho;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::config::SenderConfig;
use crate::host::transport::credit::CONTROL_FRAME;
use crate::host::transport::credit::request::{Action, CreditRequest};
use crate::host::transport::flow::{Common, Reliability};
use crate::host::transport::lazy_timer::LazyTimer;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::packet::Slab;
use crate::packet::header::{Credit, CreditData, Header};

/// Credit that has arrived and whose frame has not left.
#[derive(Clone, Copy, Debug)]
struct PendingCredit {
    arrived: Time,
    /// When the host has processed this credit and those before it.
    ready: Time,
    echo: CreditEcho,
}

/// Reliability and credits of one flow.
#[derive(Clone, Debug)]
pub struct Credited {
    request: CreditRequest,
    /// Request or stop that leaves before anything else.
    control_frame: Action,
    /// Credits whose frames wait for the host or the NIC.
    pending: VecDeque<PendingCredit>,
    /// When the host has processed all credits.
    busy_until: Time,
    /// Time from the newest credit that was used to its frame.
    credit_to_data: Time,
    /// When the newest credit arrived and when it was sent, and how its gap to the one before changed on the path.
    newest: Option<(Time, Time)>,
    gap_change_us: f64,
    timer: LazyTimer,
    done: bool,
    /// Payload sent since the last report.
    sent_bytes: u64,
    /// Credits that arrived when nothing was left to send.
    wasted: u64,
}

impl Credited {
    pub(crate) fn new(config: &SenderConfig<'_>, now: Time) -> Self {
        let mut request = CreditRequest::new(config.first_timeout);
        let control_frame = request.open(now);
        Self {
            request,
            control_frame,
            pending: VecDeque::new(),
            busy_until: Time::ZERO,
            credit_to_data: Time::ZERO,
            newest: None,
            gap_change_us: 0.0,
            timer: LazyTimer::DISARMED,
            done: false,
            sent_bytes: 0,
            wasted: 0,
        }
    }

    #[inline(always)]
    fn send_data(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let PendingCredit { arrived, echo, .. } = self.pending.pop_front().expect("a frame leaves only for a credit");
        self.credit_to_data = now - arrived;
        let sent_below = common.position.sent_below;
        let seq = common.position.advance();
        common.repairs.retransmits += u64::from(seq < sent_below);
        let payload = common.position.message.payload(seq);
        self.sent_bytes += payload.0;
        self.stop_if_drained(common, now);
        let length = (payload + header).max(CONTROL_FRAME);
        let (credit, granted_at) = (echo.number, echo.granted_at);
        out.put_data(length, Ecn::NotEct, Header::CreditData(CreditData { seq, credit, granted_at }))
    }

    /// Sends a stop if nothing is left to send. Pending credits are then wasted.
    fn stop_if_drained(&mut self, common: &Common, now: Time) {
        if common.position.next == common.position.message.end {
            self.control_frame = self.request.drained(now);
            self.wasted += self.pending.len() as u64;
            self.pending.clear();
        }
    }

    /// Handles a packet from the receiver.
    fn on_header(&mut self, common: &mut Common, now: Time, header: &Header) {
        match *header {
            Header::Credit(credit) => self.on_credit(common, now, credit),
            Header::CreditNack { cumulative } => self.go_back(common, now, cumulative),
            Header::CreditAck { cumulative } => self.on_ack(common, now, cumulative),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    fn on_credit(&mut self, common: &mut Common, now: Time, Credit { number, granted_at, .. }: Credit) {
        if let Some((arrived, granted)) = self.newest.replace((now, granted_at)) {
            // Floating point, because the gap is negative if a path change reorders two credits.
            let gap = |from: Time, to: Time| to.as_micros() - from.as_micros();
            self.gap_change_us = gap(arrived, now) - gap(granted, granted_at);
        }
        let left = common.position.message.end - common.position.next;
        match self.request.on_credit(now, left as usize > self.pending.len()) {
            Action::Data => {
                self.busy_until = self.busy_until.max(now + common.gate.control.answer_time());
                let echo = CreditEcho { number, granted_at };
                self.pending.push_back(PendingCredit { arrived: now, ready: self.busy_until, echo });
            }
            _ => self.wasted += 1,
        }
    }

    /// Handles the answer to a stop; it is obsolete if the sender has gone back since.
    fn on_ack(&mut self, common: &mut Common, now: Time, cumulative: u32) {
        if cumulative == common.position.message.end {
            self.request.close();
            self.control_frame = Action::Nothing;
            self.done = true;
        } else if common.position.next == common.position.message.end {
            self.go_back(common, now, cumulative);
        }
    }

    /// Sends everything from `expected` on again.
    fn go_back(&mut self, common: &mut Common, now: Time, expected: u32) {
        if expected < common.position.next {
            common.position.next = expected;
            // While credits still arrive no request is needed, and a pending stop is cancelled.
            self.control_frame = self.request.open(now);
        }
    }
}

impl Reliability for Credited {
    const HAS_GATE: bool = false;

    #[inline]
    fn readiness(&mut self, _common: &mut Common, now: Time) -> Readiness {
        match self.pending.front() {
            _ if self.control_frame != Action::Nothing => Readiness::Ready,
            None => Readiness::Blocked(BlockedBy::Answer),
            Some(credit) if credit.ready <= now => Readiness::Ready,
            Some(credit) => Readiness::HostBusy { until: credit.ready, arrived: credit.arrived },
        }
    }

    #[inline(always)]
    fn send(&mut self, common: &mut Common, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let next = common.position.next;
        match std::mem::replace(&mut self.control_frame, Action::Nothing) {
            Action::Request => out.put(CONTROL_FRAME, Header::CreditRequest { next }),
            Action::Stop => out.put(CONTROL_FRAME, Header::CreditStop { next }),
            Action::Nothing | Action::Data => self.send_data(common, now, header, out),
        }
    }

    #[inline(always)]
    fn on_packet(&mut self, common: &mut Common, now: Time, at: u32, packets: &Slab) {
        self.on_header(common, now, packets.header(at));
    }

    fn arm_timer(&mut self, _common: &Common) -> Option<Time> {
        self.timer.arm(self.request.deadline())
    }

    fn on_timer(&mut self, common: &mut Common, now: Time) {
        self.timer.expire(now);
        if self.request.deadline() <= now {
            common.repairs.on_timeout(now - self.request.timeout(), now);
            self.control_frame = self.request.on_timer(now);
        }
    }

    fn in_flight(&self, _common: &Common) -> Option<u32> {
        None
    }

    fn begun(&self, common: &Common) -> u32 {
        common.position.sent_below
    }

    fn on_stop(&mut self, common: &mut Common, now: Time) {
        self.stop_if_drained(common, now);
    }

    // The receiver says so; what the sender has not been told to send again may still be missing there.
    fn done(&self, _common: &Common) -> bool {
        self.done
    }

    fn credits_wasted(&self) -> u64 {
        self.wasted
    }

    fn probe(&mut self, _common: &mut Common, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        let sent = std::mem::take(&mut self.sent_bytes);
        if since > Time::ZERO {
            record("rate_gbps", sent as f64 * 8e3 / since.0 as f64);
        }
        record("credit_to_data_us", self.credit_to_data.as_micros());
        record("credit_gap_change_us", self.gap_change_us);
    }
}
