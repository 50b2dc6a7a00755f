//! Exact counts of packets: each transmission has a number, from which the receiver counts packets that arrive, are marked, and are
//! missing ([`PacketCounter`]); acknowledgements return the counters.

use shallows_cc::event::Counts;
use shallows_cc::port::Ecn;
use shallows_cc::receiver::packet_counter::PacketCounter;
use shallows_cc::units::Time;

use crate::host::transport::gate::Gate;
use crate::packet::header::{Counters, Header};

/// Numbers of the transmissions of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub struct Numbering {
    sent: u32,
}

impl Numbering {
    /// Numbers a data packet that is about to leave; the first one has 1.
    pub(crate) fn on_data(&mut self, header: &mut Header) {
        self.sent = self.sent.wrapping_add(1);
        if let Header::TcpData(data) = *header {
            *header = Header::CountedData(self.sent, data);
        }
    }

    /// Passes the counters of an acknowledgement to the algorithm.
    pub fn on_answer(&self, now: Time, &Counters { received, ce, lost }: &Counters, gate: &mut Gate) {
        gate.control.on_counts(now, &Counts { received, ce, lost, sent: self.sent });
    }
}

/// Counters of a receiver.
#[derive(Clone, Copy, Debug, Default)]
pub struct CountEcho(PacketCounter);

impl CountEcho {
    /// Counts a data packet.
    pub(crate) fn record(&mut self, number: u32, ecn: Ecn) {
        self.0.count(number, ecn);
    }

    /// Adds the counters to an acknowledgement.
    pub(crate) fn attach(&self, header: &mut Header) {
        let PacketCounter { received, ce, lost, .. } = self.0;
        if let Header::TcpAck(ack) = *header {
            *header = Header::CountedAck(Counters { received, ce, lost }, ack);
        }
    }
}
