//! Tap: records every frame at chosen ports with the fields of its header, as a capture on these links would
//! (docs/timelines.md).

use shallows_cc::port::Ecn;
use shallows_cc::units::Time;

use super::links::{Frame, LinkRow, LinkTimes};
use super::{Hop, Observer};
use crate::packet::Packet;
use crate::packet::header::{Header, RoceData};
use crate::port::admission::{DropReason, Outcome};
use crate::spec::fault::Change;
use crate::spec::network::Network;

/// Frame at a tapped port, with fields of its header.
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// The frame.
    pub frame: Frame,
    /// What the port did with it; a frame that was lost on the link has left the port.
    pub outcome: Outcome,
    /// Sequence number; of an acknowledgement, that of its SACK block.
    pub number: u32,
    /// Acknowledgement number: the next expected sequence number, or the number of a credit.
    pub ack_number: u32,
    /// Length of the SACK block of an acknowledgement, in packets.
    pub block: u16,
    /// Receive window of an acknowledgement in 16ths of a full payload; zero is no limit.
    pub window: u16,
    /// Flags of the frame when it left, by [`Frames::BITS`].
    pub bits: u8,
}

/// Links to tap, and the time for which they are tapped.
#[derive(Clone, Debug)]
pub struct Tap {
    /// Numbers of the links.
    pub links: Vec<u32>,
    /// Frames that left before this time are not recorded.
    pub from: Time,
    /// Frames that are offered after this time are not recorded.
    pub until: Time,
    /// Maximum number of recorded frames.
    pub max_frames: usize,
}

/// Recorder of tapped frames, with the tables that it has recorded.
#[derive(Clone, Debug)]
pub struct Frames {
    /// Frames in the order in which they left or were dropped, then those that never left.
    pub frames: Vec<FrameRow>,
    /// Events of links.
    pub links: Vec<LinkRow>,
    /// Whether there were more frames than [`Tap::max_frames`].
    pub full: bool,
    tap: Tap,
    times: Vec<LinkTimes>,
    /// For each link whether it is tapped.
    tapped: Vec<bool>,
    /// For each slab index the row of its packet, if that is at a tapped link.
    in_transit: Vec<Option<FrameRow>>,
}

impl Frames {
    /// Names of the bits of `FrameRow::bits`, from the least significant one on.
    pub const BITS: [&str; 6] = ["ect", "ce", "ece", "cwr", "asks", "ect1"];

    /// Creates a recorder for a run of this network.
    ///
    /// # Errors
    /// If `tap` names a link that the network does not have.
    pub fn new(network: &Network, tap: Tap) -> Result<Self, String> {
        let mut tapped = vec![false; network.ports.len()];
        for &link in &tap.links {
            let entry = tapped.get_mut(link as usize);
            *entry.ok_or_else(|| format!("tapped link {link}: expected one of {}", network.ports.len()))? = true;
        }
        let (frames, links, in_transit) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { frames, links, full: false, tap, times: LinkTimes::all(network), tapped, in_transit })
    }

    /// Returns the tables, and whether frames are missing from them. Frames that still wait come last.
    #[must_use]
    pub fn into_rows(mut self) -> (Vec<FrameRow>, Vec<LinkRow>, bool) {
        for row in std::mem::take(&mut self.in_transit).into_iter().flatten() {
            self.keep(row);
        }
        (self.frames, self.links, self.full)
    }

    fn keep(&mut self, row: FrameRow) {
        if row.frame.ended < self.tap.from {
            return;
        }
        self.full |= self.frames.len() >= self.tap.max_frames;
        if !self.full {
            self.frames.push(row);
        }
    }

    /// Completes the row of a frame that has left, and whose arrival time is known.
    fn take_sent(&mut self, Hop { place, packet, header, .. }: Hop<'_>) -> Option<FrameRow> {
        let mut row = self.in_transit.get_mut(place as usize)?.take()?;
        let frame = &mut row.frame;
        (frame.begun, frame.ended) = self.times[frame.link as usize].sent((place, packet.arrives), packet.bytes());
        let bits = bits(packet, header);
        // A port that marks at dequeue had not marked the packet when it was offered.
        if bits & 2 > row.bits & 2 && row.outcome == Outcome::Queued {
            row.outcome = Outcome::Marked;
        }
        row.bits = bits;
        Some(row)
    }

    fn keep_event(&mut self, row: LinkRow) {
        if self.tapped[row.link as usize] {
            self.links.push(row);
        }
    }
}

/// Returns the flags of a packet.
fn bits(packet: &Packet, header: &Header) -> u8 {
    let ece = header.tcp_ack().is_some_and(|ack| ack.marked);
    let cwr = header.tcp_data().is_some_and(|data| data.window_reduced);
    let asks = matches!(header, Header::RoceData(RoceData { asks: true, .. }));
    let ecn = packet.flags.ecn();
    let all = [ecn != Ecn::NotEct, packet.flags.is_ce(), ece, cwr, asks, ecn == Ecn::Ect1];
    all.into_iter().zip(0..).map(|(yes, bit)| u8::from(yes) << bit).sum()
}

impl Observer for Frames {
    fn offered(&mut self, now: Time, Hop { link, place, packet, header }: Hop<'_>, outcome: Outcome) {
        let at = place as usize;
        if at >= self.in_transit.len() {
            self.in_transit.resize(at + 1, None);
        }
        self.in_transit[at] = None;
        if !self.tapped[link as usize] || now > self.tap.until {
            return;
        }
        let (number, ack_number) = header.numbers();
        let (block, window) = header.tcp_ack().map_or((0, 0), |ack| (ack.block, ack.window));
        let (flow, kind, length) = (packet.flow, packet.flags.kind(), packet.length);
        let frame = Frame { link, flow, kind, length, offered: now, begun: Time::MAX, ended: Time::MAX };
        let row = FrameRow { frame, outcome, number, ack_number, block, window, bits: bits(packet, header) };
        if let Outcome::Dropped(_) | Outcome::Returned = outcome {
            if now >= self.tap.from {
                self.keep(row);
            }
        } else {
            self.in_transit[at] = Some(row);
        }
    }

    fn trimmed(&mut self, _now: Time, Hop { place, packet, .. }: Hop<'_>) {
        if let Some(row) = self.in_transit.get_mut(place as usize).and_then(Option::as_mut) {
            (row.frame.kind, row.frame.length) = (packet.flags.kind(), packet.length);
            row.outcome = Outcome::Trimmed;
        }
    }

    fn departs(&mut self, Hop { link, place, .. }: Hop<'_>, ended: Time) {
        self.times[link as usize].departs(place, ended);
    }

    fn delivered(&mut self, _now: Time, hop: Hop<'_>) {
        if let Some(row) = self.take_sent(hop) {
            self.keep(row);
        }
    }

    fn in_flight_at_end(&mut self, _now: Time, hop: Hop<'_>) {
        if let Some(row) = self.take_sent(hop) {
            self.keep(row);
        }
    }

    fn lost(&mut self, now: Time, hop: Hop<'_>, reason: DropReason) {
        let on_link = hop.packet.arrives == now;
        let row = if on_link { self.take_sent(hop) } else { self.in_transit[hop.place as usize].take() };
        if let Some(row) = row {
            self.keep(FrameRow { outcome: Outcome::Dropped(reason), ..row });
        }
    }

    fn pause_requested(&mut self, now: Time, link: (u32, u8), through: u32, pause: bool) {
        self.keep_event(LinkRow::pause_requested(now, link, through, pause));
    }

    fn paused(&mut self, now: Time, link: (u32, u8), pause: bool) {
        self.keep_event(LinkRow::paused(now, link, pause));
    }

    fn link_changed(&mut self, now: Time, link: u32, change: Change, sent_by: Time) {
        LinkRow::changed(now, link, change).into_iter().for_each(|row| self.keep_event(row));
        self.times[link as usize].change(change, sent_by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::header::{RoceAnswer, TcpAck, TcpData};
    use shallows_cc::units::Bytes;

    /// ECT and CE of the port, ECE of an acknowledgement: 1 + 2, 4, 1 + 16 of a frame that asks, and 1 + 32 of ECT(1).
    #[test]
    fn flags_are_a_sum_of_bits() {
        let data = |header| (Packet::new(0, Bytes(1500), Ecn::Ect0, &header), header);
        let answer = |header| (Packet::new(0, Bytes(64), Ecn::NotEct, &header), header);
        let mut marked = data(Header::TcpData(TcpData::default()));
        marked.0.flags = marked.0.flags.with_ecn(Ecn::Ce);
        let ack = Header::TcpAck(TcpAck { marked: true, ..TcpAck::default() });
        let asks = Header::RoceData(RoceData { asks: true, ..RoceData::default() });
        let traced = Header::IntAck(TcpAck { marked: true, ..TcpAck::default() });
        let bare = Header::RoceAck(RoceAnswer::default());
        let mut scalable = data(Header::TcpData(TcpData::default()));
        scalable.0.flags = scalable.0.flags.with_ecn(Ecn::Ect1);
        let of = [marked, answer(ack), answer(traced), data(asks), answer(bare), scalable];
        assert_eq!(of.map(|(packet, header)| bits(&packet, &header)), [3, 4, 4, 17, 0, 33]);
    }
}
