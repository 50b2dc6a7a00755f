//! Jitter of feedback: each acknowledgement or notification leaves its host after a random time of its own, uniform between zero and
//! `ack_jitter`, so that a later one may overtake it ("ECN or Delay", `CoNEXT` 2016, §5.2 and
//! Fig. 20: "we inject uniformed random jitter to the feedback delay"). Credits and pulls
//! are not feedback, and leave at once.

use std::collections::BTreeMap;

use shallows_cc::event::HopRecord;
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use crate::packet::header::Header;
use crate::packet::{Packet, PacketKind, Slab};
use crate::spec::network::Network;

/// First random stream of these times; streams below belong to flows and NICs.
const STREAMS: u64 = 1 << 35;

/// Responses of the hosts of a domain that wait. They are in no slab: the host has them.
#[derive(Clone, Debug, Default)]
pub(crate) struct ResponseDelay {
    longest: Time,
    seed: u64,
    flows: BTreeMap<u32, Waiting>,
}

/// Responses of one flow, and its random stream.
#[derive(Clone, Debug)]
struct Waiting {
    draws: Rng,
    /// By time, the earliest first; and of one time in the order of their creation.
    due: BTreeMap<(Time, u64), Response>,
    count: u64,
}

/// A packet that is in no slab.
#[derive(Clone, Debug)]
struct Response {
    packet: Packet,
    header: Header,
    records: Vec<HopRecord>,
}

impl ResponseDelay {
    pub fn new(network: &Network) -> Self {
        Self { longest: network.host.ack_jitter, seed: network.seed, flows: BTreeMap::new() }
    }

    /// Whether a packet of this kind waits.
    #[inline]
    pub(crate) fn delays(&self, kind: PacketKind) -> bool {
        self.longest > Time::ZERO && matches!(kind, PacketKind::Ack | PacketKind::Nack | PacketKind::Notification)
    }

    /// Takes a response out of its slot, and returns when it leaves, and its number among those of its flow.
    pub fn take(&mut self, now: Time, at: u32, packets: &mut Slab) -> (Time, u64) {
        let records = if packets.header(at).has_int() { packets.int_stack(at).to_vec() } else { Vec::new() };
        let (packet, header) = packets.export(at);
        let stream = STREAMS + u64::from(packet.flow);
        let new = || Waiting { draws: Rng::new(self.seed, stream), due: BTreeMap::new(), count: 0 };
        let waiting = self.flows.entry(packet.flow).or_insert_with(new);
        let due = (now + self.longest.scale(waiting.draws.uniform()), waiting.count);
        waiting.due.insert(due, Response { packet, header, records });
        waiting.count += 1;
        due
    }

    /// Puts a response of a flow that leaves now into a slot. Returns the slot and the number of the response.
    pub(crate) fn put(&mut self, now: Time, flow: u32, packets: &mut Slab) -> Option<(u32, u64)> {
        let due = &mut self.flows.get_mut(&flow)?.due;
        let ((_, number), response) = due.first_entry().filter(|first| first.key().0 <= now)?.remove_entry();
        let Response { packet, header, records } = response;
        let at = packets.import(&packet, &header);
        if header.has_int() {
            *packets.int_stack_mut(at) = records;
        }
        Some((at, number))
    }

    /// Number of responses that wait.
    pub fn waiting(&self) -> u64 {
        self.flows.values().map(|flow| flow.due.len() as u64).sum()
    }

    /// Whether a random number has been drawn.
    pub(crate) fn has_drawn(&self) -> bool {
        self.flows.values().any(|flow| flow.draws.has_drawn())
    }
}
