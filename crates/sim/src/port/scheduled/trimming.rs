//! A port that cuts packets to their headers where it would drop them (NDP's switch).
//!
//! A packet that finds its class full is cut, or by the toss of a coin the last one of that class is, and the one that came
//! takes its place: so that nobody's packets always come just too late. The header joins the class of headers, and has
//! overtaken the data by then. Where that is full too, the header that came goes back to its sender.
//!
//! Source: Handley et al., SIGCOMM 2017 §3.1; the authors' simulator (compositequeue.cpp). Differs: where the class of
//! headers is full, it is always the packet that came which goes back.

use shallows_cc::units::Time;

use super::{Joining, Lane, Waiting};
use crate::network::MIN_FRAME;
use crate::packet::{Flags, PacketKind, Slab};
use crate::port::Port;
use crate::port::admission::{Offered, Outcome, Reason};

impl Port {
    /// A packet finds its class full, which may be cut in its place.
    #[cold]
    pub(super) fn overflow(&mut self, now: Time, joining: Joining, packets: &mut Slab) -> Offered {
        let packet = &packets[joining.packet];
        let kind = packet.flags.kind();
        let number = self.room().class_for(kind, joining.lane);
        if kind == PacketKind::Trimmed {
            return Offered::returned();
        }
        if self.room().classes[number].spec.trims && packet.flags.has(Flags::TRIMS) {
            return self.trim(now, number, joining, packets);
        }
        self.room().classes[number].report.dropped += 1;
        self.counters.dropped += 1;
        Offered::dropped(Reason::Full)
    }

    /// One packet of class `number` is cut: the one that comes, or the last one that waits.
    fn trim(&mut self, now: Time, number: usize, joining: Joining, packets: &mut Slab) -> Offered {
        self.counters.trimmed += 1;
        if !self.has_room_for_header(now) {
            return Offered::returned();
        }
        let room = self.room();
        let last = room.classes[number].queue.len().checked_sub(1).filter(|_| room.draws.uniform() < 0.5);
        let Some(last) = last else {
            packets[joining.packet].cut(PacketKind::Trimmed);
            let offered = self.enter(now, joining, packets);
            return Offered { outcome: Outcome::Trimmed, ..offered };
        };
        let Waiting { packet, from, .. } = self.take_out(now, (number, last), packets);
        packets[packet].cut(PacketKind::Trimmed);
        self.enter(now, Joining { packet, from, lane: Lane::Own }, packets);
        self.room().newly_cut = Some(packet);
        self.enter(now, joining, packets)
    }

    fn has_room_for_header(&mut self, now: Time) -> bool {
        let held = self.held(now, PacketKind::Trimmed, Lane::Own) + MIN_FRAME;
        let busy = self.busy_until > now;
        let room = self.room();
        let headers = room.class_for(PacketKind::Trimmed, Lane::Own);
        room.classes[headers].has_room(held, usize::from(busy && room.sending == headers))
    }

    /// The packet that has been cut while it waited, told once.
    pub fn newly_cut(&mut self) -> Option<u32> {
        self.room().newly_cut.take()
    }

    /// A header found no room, and there is no way back for it.
    pub fn refuse_header(&mut self) {
        self.counters.dropped += 1;
    }
}
