//! Writes down every frame at chosen ports, with what its header says: what a tap on these links would have seen, and what
//! waited there when (docs/timelines.md).

use shallows_cc::port::Ecn;
use shallows_cc::units::Time;

use super::wires::{Frame, LinkRow, Wire};
use super::{Hop, Observer};
use crate::packet::Packet;
use crate::packet::header::{Header, RoceData};
use crate::port::admission::{DropReason, Outcome};
use crate::spec::fault::Change;
use crate::spec::network::Network;

/// Bits of [`FrameRow::bits`], by name: the first is 1, the next 2, then 4.
pub const BITS: [&str; 5] = ["ect", "ce", "ece", "cwr", "asks"];

/// A frame at a port that is tapped, with what its header says.
#[derive(Clone, Copy, Debug)]
pub struct FrameRow {
    /// The frame.
    pub frame: Frame,
    /// What became of it there; a frame lost on the wire has left.
    pub outcome: Outcome,
    /// The number of what it carries, or of what it asks for; of an acknowledgement, that of a block that came early.
    pub number: u32,
    /// The number that it speaks of: the one expected next, or a credit's.
    pub speaks_of: u32,
    /// Length of an acknowledgement's block.
    pub block: u16,
    /// What an acknowledgement's receiver allows, in 16ths of a full payload; zero is no limit.
    pub window: u16,
    /// What it says yes to, of [`BITS`], as it left.
    pub bits: u8,
}

/// Which links, and what of their lives.
#[derive(Clone, Debug)]
pub struct Tap {
    /// The links.
    pub links: Vec<u32>,
    /// Frames that had left before are left out,
    pub from: Time,
    /// and those that come later.
    pub until: Time,
    /// No more of them than this are kept.
    pub most: usize,
}

/// What the taps saw.
#[derive(Debug)]
pub struct Frames {
    /// Frames, each once it had left or was dropped, then those that never left.
    pub frames: Vec<FrameRow>,
    /// What happened to links.
    pub links: Vec<LinkRow>,
    /// Whether there were more frames than were to be kept.
    pub full: bool,
    tap: Tap,
    wires: Vec<Wire>,
    /// By link.
    tapped: Vec<bool>,
    /// By place of a packet: its row, if it is at a link that is tapped.
    here: Vec<Option<FrameRow>>,
}

impl Frames {
    /// Nothing yet, of a run of this network.
    ///
    /// # Errors
    /// A sentence about a link that the network does not have.
    pub fn new(network: &Network, tap: Tap) -> Result<Self, String> {
        let mut tapped = vec![false; network.ports.len()];
        for &link in &tap.links {
            *tapped.get_mut(link as usize).ok_or_else(|| format!("there is no link {link} to tap"))? = true;
        }
        let (frames, links, here) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { frames, links, full: false, tap, wires: Wire::all(network), tapped, here })
    }

    /// All of them: what was still waiting when the run ended comes last.
    #[must_use]
    pub fn into_rows(mut self) -> (Vec<FrameRow>, Vec<LinkRow>, bool) {
        for row in std::mem::take(&mut self.here).into_iter().flatten() {
            self.keep(row);
        }
        (self.frames, self.links, self.full)
    }

    fn keep(&mut self, row: FrameRow) {
        if row.frame.ended < self.tap.from {
            return;
        }
        self.full |= self.frames.len() >= self.tap.most;
        if !self.full {
            self.frames.push(row);
        }
    }

    /// The frame has left, so that its last bit comes to the other end when the packet says.
    fn left(&mut self, Hop { place, packet, header, .. }: Hop<'_>) -> Option<FrameRow> {
        let mut row = self.here.get_mut(place as usize)?.take()?;
        let frame = &mut row.frame;
        (frame.begun, frame.ended) = self.wires[frame.link as usize].sent(packet.arrives, packet.bytes());
        let bits = bits(packet, header);
        // A port that marks what leaves had not told it as it came.
        if bits & 2 > row.bits & 2 && row.outcome == Outcome::Queued {
            row.outcome = Outcome::Marked;
        }
        row.bits = bits;
        Some(row)
    }

    fn happens(&mut self, row: LinkRow) {
        if self.tapped[row.link as usize] {
            self.links.push(row);
        }
    }
}

/// What a packet says yes to.
fn bits(packet: &Packet, header: &Header) -> u8 {
    let ece = header.tcp_ack().is_some_and(|ack| ack.marked);
    let cwr = header.tcp_data().is_some_and(|data| data.window_reduced);
    let asks = matches!(header, Header::RoceData(RoceData { asks: true, .. }));
    let all = [packet.flags.ecn() != Ecn::NotEct, packet.flags.is_ce(), ece, cwr, asks];
    all.into_iter().zip(0..).map(|(yes, bit)| u8::from(yes) << bit).sum()
}

impl Observer for Frames {
    fn offered(&mut self, now: Time, Hop { link, place, packet, header }: Hop<'_>, outcome: Outcome) {
        let at = place as usize;
        if at >= self.here.len() {
            self.here.resize(at + 1, None);
        }
        self.here[at] = None;
        if !self.tapped[link as usize] || now > self.tap.until {
            return;
        }
        let (number, speaks_of) = header.numbers();
        let (block, window) = header.tcp_ack().map_or((0, 0), |ack| (ack.block, ack.window));
        let (flow, kind, length) = (packet.flow, packet.flags.kind(), packet.length);
        let frame = Frame { link, flow, kind, length, offered: now, begun: Time::MAX, ended: Time::MAX };
        let row = FrameRow { frame, outcome, number, speaks_of, block, window, bits: bits(packet, header) };
        if let Outcome::Dropped(_) | Outcome::Returned = outcome {
            if now >= self.tap.from {
                self.keep(row);
            }
        } else {
            self.here[at] = Some(row);
        }
    }

    fn trimmed(&mut self, _now: Time, Hop { place, packet, .. }: Hop<'_>) {
        if let Some(row) = self.here.get_mut(place as usize).and_then(Option::as_mut) {
            (row.frame.kind, row.frame.length) = (packet.flags.kind(), packet.length);
            row.outcome = Outcome::Trimmed;
        }
    }

    fn delivered(&mut self, _now: Time, hop: Hop<'_>) {
        if let Some(row) = self.left(hop) {
            self.keep(row);
        }
    }

    fn remains(&mut self, _now: Time, hop: Hop<'_>) {
        if let Some(row) = self.left(hop) {
            self.keep(row);
        }
    }

    fn lost(&mut self, now: Time, hop: Hop<'_>) {
        let on_the_wire = hop.packet.arrives == now;
        let row = if on_the_wire { self.left(hop) } else { self.here[hop.place as usize].take() };
        if let Some(row) = row {
            self.keep(FrameRow { outcome: Outcome::Dropped(DropReason::LinkFault), ..row });
        }
    }

    fn asked(&mut self, now: Time, link: u32, through: u32, pause: bool) {
        self.happens(LinkRow::asked(now, link, through, pause));
    }

    fn paused(&mut self, now: Time, link: u32, pause: bool) {
        self.happens(LinkRow::paused(now, link, pause));
    }

    fn changed(&mut self, now: Time, link: u32, change: Change, sent_by: Time) {
        LinkRow::changed(now, link, change).into_iter().for_each(|row| self.happens(row));
        self.wires[link as usize].change(change, sent_by);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::header::{RoceAnswer, TcpAck, TcpData};
    use shallows_cc::units::Bytes;

    /// ECT and CE of the port, ECE of an acknowledgement: 1 + 2, 4, and 1 + 16 of a frame that asks.
    #[test]
    fn what_a_packet_says_yes_to_is_a_sum_of_bits() {
        let data = |header| (Packet::new(0, Bytes(1500), Ecn::Ect0, &header), header);
        let answer = |header| (Packet::new(0, Bytes(64), Ecn::NotEct, &header), header);
        let mut marked = data(Header::TcpData(TcpData::default()));
        marked.0.flags = marked.0.flags.with_ecn(Ecn::Ce);
        let ack = Header::TcpAck(TcpAck { marked: true, ..TcpAck::default() });
        let asks = Header::RoceData(RoceData { asks: true, ..RoceData::default() });
        let traced = Header::IntAck(TcpAck { marked: true, ..TcpAck::default() });
        let bare = Header::RoceAck(RoceAnswer::default());
        let of = [marked, answer(ack), answer(traced), data(asks), answer(bare)];
        assert_eq!(of.map(|(packet, header)| bits(&packet, &header)), [3, 4, 4, 17, 0]);
    }
}
