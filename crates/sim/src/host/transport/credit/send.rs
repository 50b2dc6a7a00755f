//! The half that sends a frame a credit.

use std::collections::VecDeque;

use shallows_cc::receiver::CreditEcho;
use shallows_cc::sender::Sender;
use shallows_cc::units::{Bytes, Time};

use crate::host::transport::credit::CONTROL_FRAME;
use crate::host::transport::credit::request::{Action, CreditRequest};
use crate::host::transport::lazy_timer::LazyTimer;
use crate::host::transport::message::Message;
use crate::host::transport::{BlockedBy, PacketSink, Readiness, SenderConfig};
use crate::packet::header::{Credit, CreditData, Header};

/// A credit that arrived and whose frame has not left.
#[derive(Clone, Copy, Debug)]
struct PendingCredit {
    arrived: Time,
    /// When the host is done with the credit, after those before it.
    ready: Time,
    answered: CreditEcho,
}

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    control: Box<dyn Sender>,
    request: CreditRequest,
    /// A request or a stop that is to leave before anything else.
    say: Action,
    /// Credits whose frames wait for the host and for the NIC.
    pending: VecDeque<PendingCredit>,
    /// When the host is done with all credits that arrived.
    busy_until: Time,
    /// From the newest answered credit to its frame.
    answered_in: Time,
    /// When the newest credit arrived and when it was handed out, and by how much its gap to the one before has changed on the way.
    newest: Option<(Time, Time)>,
    gap_change_us: f64,
    message: Message,
    next: u32,
    /// Packets below have been sent before.
    sent_below: u32,
    timer: LazyTimer,
    done: bool,
    sent_bytes: u64,
    pub retransmits: u32,
    pub timeouts: u32,
    /// Credits that found nothing to send.
    pub wasted: u64,
}

impl Sending {
    pub fn new(opening: SenderConfig<'_>, now: Time) -> Self {
        let mut request = CreditRequest::new(opening.first_timeout);
        let say = request.open(now);
        Self {
            control: opening.control,
            request,
            say,
            pending: VecDeque::new(),
            busy_until: Time::ZERO,
            answered_in: Time::ZERO,
            newest: None,
            gap_change_us: 0.0,
            message: Message::new(opening.bytes, opening.mss),
            next: 0,
            sent_below: 0,
            timer: LazyTimer::DISARMED,
            done: false,
            sent_bytes: 0,
            retransmits: 0,
            timeouts: 0,
            wasted: 0,
        }
    }

    /// Whether it may send now.
    pub fn readiness(&mut self, now: Time) -> Readiness {
        match self.pending.front() {
            _ if self.say != Action::Nothing => Readiness::Ready,
            None => Readiness::Blocked(BlockedBy::Answer),
            Some(credit) if credit.ready <= now => Readiness::Ready,
            Some(credit) => Readiness::HostBusy { until: credit.ready, arrived: credit.arrived },
        }
    }

    /// Sends the packet whose turn it is.
    #[inline(always)]
    pub fn send(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let next = self.next;
        match std::mem::replace(&mut self.say, Action::Nothing) {
            Action::Request => out.put(CONTROL_FRAME, Header::CreditRequest { next }),
            Action::Stop => out.put(CONTROL_FRAME, Header::CreditStop { next }),
            Action::Nothing | Action::Data => self.send_frame(now, header, out),
        }
    }

    #[inline(always)]
    fn send_frame(&mut self, now: Time, header: Bytes, out: &mut PacketSink<'_>) -> u32 {
        let PendingCredit { arrived, answered, .. } =
            self.pending.pop_front().expect("a frame leaves only for a credit");
        self.answered_in = now - arrived;
        let seq = self.next;
        self.next += 1;
        self.retransmits += u32::from(seq < self.sent_below);
        self.sent_below = self.sent_below.max(self.next);
        let payload = self.message.payload(seq);
        self.sent_bytes += payload.0;
        self.finish_if_drained(now);
        let length = (payload + header).max(CONTROL_FRAME);
        let (credit, granted_at) = (answered.number, answered.granted_at);
        out.put_data(length, false, Header::CreditData(CreditData { seq, credit, granted_at }))
    }

    /// Says so once nothing is left; what was still granted is in vain.
    fn finish_if_drained(&mut self, now: Time) {
        if self.next == self.message.end {
            self.say = self.request.drained(now);
            self.wasted += self.pending.len() as u64;
            self.pending.clear();
        }
    }

    /// A credit arrived, or word from the receiver.
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
            // As numbers: a way that changed may turn the order of two credits around.
            let gap = |from: Time, to: Time| to.as_micros() - from.as_micros();
            self.gap_change_us = gap(arrived, now) - gap(granted, granted_at);
        }
        let left = self.message.end - self.next;
        match self.request.on_credit(now, left as usize > self.pending.len()) {
            Action::Data => {
                self.busy_until = self.busy_until.max(now + self.control.answer_time());
                let answered = CreditEcho { number, granted_at };
                self.pending.push_back(PendingCredit { arrived: now, ready: self.busy_until, answered });
            }
            _ => self.wasted += 1,
        }
    }

    /// The answer to a stop; it means nothing where there is more to send again.
    fn on_ack(&mut self, now: Time, cumulative: u32) {
        if cumulative == self.message.end {
            self.request.close();
            self.say = Action::Nothing;
            self.done = true;
        } else if self.next == self.message.end {
            self.go_back(now, cumulative);
        }
    }

    /// Sends everything from `expected` on again.
    fn go_back(&mut self, now: Time, expected: u32) {
        if expected < self.next {
            self.next = expected;
            // While credits keep coming there is nothing to ask for, nor a stop to be said.
            self.say = self.request.open(now);
        }
    }

    /// The time to look again at what went unanswered, if no timer comes in time.
    pub fn arm_timer(&mut self) -> Option<Time> {
        self.timer.set(self.request.deadline())
    }

    /// Its algorithm never asks to be pending.
    pub const fn newly_asked(&self) -> Option<Time> {
        None
    }

    /// The world's timer ran out: says it again, if the deadline has not moved meanwhile.
    pub fn on_timer(&mut self, now: Time) {
        self.timer.ran_out(now);
        if self.request.deadline() <= now {
            self.timeouts += 1;
            self.say = self.request.on_timer(now);
        }
    }

    /// Sends nothing new from now on.
    pub fn stop(&mut self, now: Time) {
        self.message.cut(self.next.max(self.sent_below));
        self.finish_if_drained(now);
    }

    pub fn done(&self) -> bool {
        self.done
    }

    /// What it sends next of what is new.
    pub fn reached(&self) -> (u32, Option<u32>) {
        (self.sent_below, None)
    }

    /// Internals worth plotting; `since` is the span since they were last read.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        let sent = std::mem::take(&mut self.sent_bytes);
        if since > Time::ZERO {
            record("rate_gbps", sent as f64 * 8e3 / since.0 as f64);
        }
        record("credit_to_data_us", self.answered_in.as_micros());
        record("credit_gap_change_us", self.gap_change_us);
    }
}
