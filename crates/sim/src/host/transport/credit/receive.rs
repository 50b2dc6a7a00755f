//! The half that hands out credits.

use shallows_cc::receiver::{CreditEcho, Credits};
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use crate::host::transport::credit::CONTROL_FRAME;
use crate::host::transport::message::Message;
use crate::host::transport::{PacketSink, ReceiverConfig, Responses};
use crate::packet::header::{Credit, CreditData, Header};

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    credits: Box<dyn Credits>,
    draws: Rng,
    /// CREDIT_SENDING: the sender has asked and not yet said stop.
    open: bool,
    /// When the next credit leaves.
    due: Time,
    timer_armed: bool,
    message: Message,
    expected: u32,
    /// When it last reported a hole: frames called before that belong to the same.
    reported: Time,
    pub delivered: u64,
    /// Credits handed out.
    pub granted: u64,
}

impl Receiving {
    pub fn new(expecting: ReceiverConfig) -> Self {
        let (credits, draws) = expecting.credits.expect("a flow over credits has some");
        Self {
            credits,
            draws,
            open: false,
            due: Time::ZERO,
            timer_armed: false,
            message: Message::new(expecting.bytes, expecting.mss),
            expected: 0,
            reported: Time::ZERO,
            delivered: 0,
            granted: 0,
        }
    }

    /// A packet came from the sender.
    #[inline(always)]
    pub fn on_packet(&mut self, now: Time, header: &Header, out: &mut PacketSink<'_>) -> Responses {
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
        Responses::new(None, reply.map(|header| out.put(CONTROL_FRAME, header)))
    }

    /// Takes a frame in; whether it shows a hole that has not been reported.
    #[inline(always)]
    fn on_data(&mut self, now: Time, data: &CreditData) -> bool {
        let answered = CreditEcho { number: data.credit, granted_at: data.granted_at };
        self.credits.on_data(now, &answered);
        if data.seq == self.expected {
            self.delivered += self.message.payload(self.expected).0;
            self.expected += 1;
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
    #[inline(always)]
    pub fn on_timer(&mut self, now: Time, out: &mut PacketSink<'_>) -> Responses {
        self.timer_armed = false;
        if !self.open || self.due > now {
            return Responses::NONE;
        }
        let grant = self.credits.grant(now, [self.draws.uniform(), self.draws.uniform()]);
        self.due = grant.next;
        self.granted += 1;
        let credit = Credit { number: grant.number, granted_at: now, cumulative: self.expected };
        Responses::new(None, Some(out.put(grant.size, Header::Credit(credit))))
    }

    /// Whether its sender may still be granted credits.
    pub fn ack_pending(&self) -> bool {
        self.open
    }

    pub fn complete(&self) -> bool {
        self.expected == self.message.end
    }

    /// Internals worth plotting.
    pub fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        self.credits.probe(record);
    }
}
