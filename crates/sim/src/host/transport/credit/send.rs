//! Sender that sends one frame for each credit.

use std::collections::VecDeque;

use shallows_cc::port::Ecn;
use shallows_cc::receiver::CreditEcho;
use shallows_cc::sender::Sender;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::config::SenderConfig;
use crate::host::transport::credit::CONTROL_FRAME;
use crate::host::transport::credit::request::{Action, CreditRequest};
use crate::host::transport::lazy_timer::LazyTimer;
use crate::host::transport::message::Message;
use crate::host::transport::packet_sink::PacketSink;
use crate::host::transport::status::{BlockedBy, Readiness};
use crate::host::transport::traits::TransportSender;
use crate::host::waits::{TotalWait, Waits};
use crate::packet::header::{Credit, CreditData, Header};

/// Credit that has arrived and whose frame has not left.
#[derive(Clone, Copy, Debug)]
struct PendingCredit {
    arrived: Time,
    /// When the host has processed this credit and those before it.
    ready: Time,
    echo: CreditEcho,
}

/// Sender of one flow.
#[derive(Clone, Debug)]
pub struct CreditSender {
    control: Box<dyn Sender>,
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
    message: Message,
    next: u32,
    /// Packets below have been sent before.
    highest_sent: u32,
    timer: LazyTimer,
    done: bool,
    /// Payload sent since the last report.
    sent_bytes: u64,
    retransmits: u64,
    timeouts: u64,
    waits: Waits,
    /// Credits that arrived when nothing was left to send.
    wasted: u64,
}

impl CreditSender {
    pub(crate) fn new(config: SenderConfig<'_>, now: Time) -> Self {
        let mut request = CreditRequest::new(config.first_timeout);
        let control_frame = request.open(now);
        Self {
            control: config.control,
            request,
            control_frame,
            pending: VecDeque::new(),
            busy_until: Time::ZERO,
            credit_to_data: Time::ZERO,
            newest: None,
            gap_change_us: 0.0,
            message: Message::new(config.bytes, config.mss),
            next: 0,
            highest_sent: 0,
            timer: LazyTimer::DISARMED,
            done: false,
            sent_bytes: 0,
            retransmits: 0,
            timeouts: 0,
            waits: Waits::default(),
            wasted: 0,
        }
    }

    #[inline(always)]
    fn send_data(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let PendingCredit { arrived, echo, .. } = self.pending.pop_front().expect("a frame leaves only for a credit");
        self.credit_to_data = now - arrived;
        let seq = self.next;
        self.next += 1;
        self.retransmits += u64::from(seq < self.highest_sent);
        self.highest_sent = self.highest_sent.max(self.next);
        let payload = self.message.payload(seq);
        self.sent_bytes += payload.0;
        self.stop_if_drained(now);
        let length = (payload + header).max(CONTROL_FRAME);
        let (credit, granted_at) = (echo.number, echo.granted_at);
        out.put_data(length, Ecn::NotEct, Header::CreditData(CreditData { seq, credit, granted_at }))
    }

    /// Sends a stop if nothing is left to send. Pending credits are then wasted.
    fn stop_if_drained(&mut self, now: Time) {
        if self.next == self.message.end {
            self.control_frame = self.request.drained(now);
            self.wasted += self.pending.len() as u64;
            self.pending.clear();
        }
    }

    /// Handles a packet from the receiver.
    pub fn on_packet(&mut self, now: Time, header: &Header) {
        match *header {
            Header::Credit(credit) => self.on_credit(now, credit),
            Header::CreditNack { cumulative } => self.go_back(now, cumulative),
            Header::CreditAck { cumulative } => self.on_ack(now, cumulative),
            _ => unreachable!("a packet of another transport: {header:?}"),
        }
    }

    fn on_credit(&mut self, now: Time, Credit { number, granted_at, .. }: Credit) {
        if let Some((arrived, granted)) = self.newest.replace((now, granted_at)) {
            // Floating point, because the gap is negative if a path change reorders two credits.
            let gap = |from: Time, to: Time| to.as_micros() - from.as_micros();
            self.gap_change_us = gap(arrived, now) - gap(granted, granted_at);
        }
        let left = self.message.end - self.next;
        match self.request.on_credit(now, left as usize > self.pending.len()) {
            Action::Data => {
                self.busy_until = self.busy_until.max(now + self.control.answer_time());
                let echo = CreditEcho { number, granted_at };
                self.pending.push_back(PendingCredit { arrived: now, ready: self.busy_until, echo });
            }
            _ => self.wasted += 1,
        }
    }

    /// Handles the answer to a stop; it is obsolete if the sender has gone back since.
    fn on_ack(&mut self, now: Time, cumulative: u32) {
        if cumulative == self.message.end {
            self.request.close();
            self.control_frame = Action::Nothing;
            self.done = true;
        } else if self.next == self.message.end {
            self.go_back(now, cumulative);
        }
    }

    /// Sends everything from `expected` on again.
    fn go_back(&mut self, now: Time, expected: u32) {
        if expected < self.next {
            self.next = expected;
            // While credits still arrive no request is needed, and a pending stop is cancelled.
            self.control_frame = self.request.open(now);
        }
    }
}

impl TransportSender for CreditSender {
    #[inline]
    fn readiness(&mut self, now: Time) -> Readiness {
        match self.pending.front() {
            _ if self.control_frame != Action::Nothing => Readiness::Ready,
            None => Readiness::Blocked(BlockedBy::Answer),
            Some(credit) if credit.ready <= now => Readiness::Ready,
            Some(credit) => Readiness::HostBusy { until: credit.ready, arrived: credit.arrived },
        }
    }

    #[inline(always)]
    fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let next = self.next;
        match std::mem::replace(&mut self.control_frame, Action::Nothing) {
            Action::Request => out.put(CONTROL_FRAME, Header::CreditRequest { next }),
            Action::Stop => out.put(CONTROL_FRAME, Header::CreditStop { next }),
            Action::Nothing | Action::Data => self.send_data(now, header, out),
        }
    }

    fn arm_timer(&mut self) -> Option<Time> {
        self.timer.arm(self.request.deadline())
    }

    fn on_timer(&mut self, now: Time) {
        self.timer.expire(now);
        if self.request.deadline() <= now {
            self.timeouts += 1;
            self.waits.add(now - self.request.timeout(), now);
            self.control_frame = self.request.on_timer(now);
        }
    }

    fn stop(&mut self, now: Time) {
        self.message.truncate(self.next.max(self.highest_sent));
        self.stop_if_drained(now);
    }

    fn done(&self) -> bool {
        self.done
    }

    fn progress(&self) -> (u32, Option<u32>) {
        (self.highest_sent, None)
    }

    fn repairs(&self) -> (u64, u64) {
        (self.retransmits, self.timeouts)
    }

    fn timeout_wait(&self) -> TotalWait {
        self.waits.total()
    }

    fn has_drawn(&self) -> bool {
        self.control.has_drawn()
    }

    fn credits_wasted(&self) -> u64 {
        self.wasted
    }

    fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        let sent = std::mem::take(&mut self.sent_bytes);
        if since > Time::ZERO {
            record("rate_gbps", sent as f64 * 8e3 / since.0 as f64);
        }
        record("credit_to_data_us", self.credit_to_data.as_micros());
        record("credit_gap_change_us", self.gap_change_us);
    }
}
