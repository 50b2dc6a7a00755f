//! The half that hands out credits.

use shallows_cc::draws::Draws;
use shallows_cc::receiver::{Answered, Credits};
use shallows_cc::units::{Bytes, Time};

use super::CONTROL_FRAME;
use crate::header::{Credit, CreditData, Header};
use crate::transport::{Expecting, Outlet, Replies, packets_in};

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    credits: Box<dyn Credits>,
    draws: Draws,
    /// CREDIT_SENDING: the sender has asked and not yet said stop.
    open: bool,
    /// When the next credit leaves.
    due: Time,
    timer_armed: bool,
    mss: Bytes,
    last_payload: Bytes,
    expected: u32,
    end: u32,
    /// When it last reported a hole: frames called before that belong to the same.
    reported: Time,
    pub delivered: u64,
    /// Credits handed out.
    pub granted: u64,
}

impl Receiving {
    pub fn new(expecting: Expecting) -> Self {
        let (end, last_payload) = packets_in(expecting.bytes, expecting.mss);
        let (credits, draws) = expecting.credits.expect("a flow over credits has some");
        Self {
            credits,
            draws,
            open: false,
            due: Time::ZERO,
            timer_armed: false,
            mss: expecting.mss,
            last_payload,
            expected: 0,
            end,
            reported: Time::ZERO,
            delivered: 0,
            granted: 0,
        }
    }

    /// A packet came from the sender.
    pub fn on_packet(&mut self, now: Time, header: &Header, out: &mut Outlet<'_>) -> Replies {
        let reply = match header {
            Header::CreditRequest { .. } => {
                if !self.open {
                    self.open = true;
                    self.due = now;
                }
                None
            }
            Header::CreditStop { .. } => {
                self.open = false;
                Some(Header::CreditAck { cumulative: self.expected })
            }
            Header::CreditData(data) => {
                self.on_data(now, data).then_some(Header::CreditNack { cumulative: self.expected })
            }
            _ => unreachable!("a packet of another transport: {header:?}"),
        };
        Replies { earlier: None, now: reply.map(|header| out.put(CONTROL_FRAME, header)) }
    }

    /// Takes a frame in; whether it shows a hole that has not been reported.
    fn on_data(&mut self, now: Time, data: &CreditData) -> bool {
        let answered = Answered { number: data.credit, granted_at: data.granted_at };
        self.credits.on_data(now, &answered);
        if data.seq == self.expected {
            self.expected += 1;
            let payload = if self.expected == self.end { self.last_payload } else { self.mss };
            self.delivered += payload.0;
            return false;
        }
        let news = data.seq > self.expected && answered.granted_at >= self.reported;
        if news {
            self.reported = now;
        }
        news
    }

    /// When the next credit is due, if the world does not know it yet.
    pub fn arm_timer(&mut self, _now: Time) -> Option<Time> {
        let wanted = self.open && !self.timer_armed;
        self.timer_armed |= wanted;
        wanted.then_some(self.due)
    }

    /// A credit is due, unless the sender has said stop meanwhile.
    pub fn on_timer(&mut self, now: Time, out: &mut Outlet<'_>) -> Replies {
        self.timer_armed = false;
        if !self.open || self.due > now {
            return Replies::default();
        }
        let grant = self.credits.grant(now, [self.draws.uniform(), self.draws.uniform()]);
        self.due = grant.next;
        self.granted += 1;
        let credit = Credit { number: grant.number, granted_at: now, cumulative: self.expected };
        Replies { earlier: None, now: Some(out.put(grant.size, Header::Credit(credit))) }
    }

    /// Whether its sender may still be granted credits.
    pub fn owes(&self) -> bool {
        self.open
    }

    pub fn complete(&self) -> bool {
        self.expected == self.end
    }

    /// Internals worth plotting.
    pub fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.credits.probe(record);
    }
}
