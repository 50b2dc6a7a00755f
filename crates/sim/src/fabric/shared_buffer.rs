//! Packet memory of switches.
//!
//! Ports share the memory of their switch: each may hold a multiple of the free memory (dynamic thresholds, Choudhury and Hahne,
//! IEEE/ACM ToN 6(2), 1998). A packet counts from its arrival until it begins to be sent. With PFC ([`super::pfc`]) only data
//! counts, by the link that brought it.

use shallows_cc::units::Bytes;

use super::pfc::{Pfc, Placement};
use crate::packet::{Flags, NIL, Packet, PacketKind, Slab};
use crate::port::Port;
use crate::spec::network::Network;
use crate::spec::ports::SharedSpec;

/// Whether a switch accepts a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet is accepted.
    Admit,
    /// The packet is accepted, and its link has to be paused.
    AdmitAndPause,
    /// There is no memory for the packet.
    Drop,
}

/// The memories of all switches.
#[derive(Debug)]
pub struct Switches {
    shared: Option<SharedSpec>,
    /// By node: memory in use, headroom apart.
    used: Vec<Bytes>,
    pfc: Option<Pfc>,
}

impl Switches {
    /// The memories of a network, or `None` if its switches share no memory and pause no links.
    ///
    /// # Errors
    /// If a link has no reverse link for its pauses.
    pub fn new(network: &Network) -> Result<Option<Self>, String> {
        if network.shared.is_none() && network.pause.is_none() {
            return Ok(None);
        }
        let pfc = network.pause.map(|spec| Pfc::new(spec, network)).transpose()?;
        Ok(Some(Self { shared: network.shared, used: vec![Bytes::ZERO; network.nodes as usize], pfc }))
    }

    /// The link in the other direction, in a network with PFC.
    pub fn reverse(&self, link: u32) -> u32 {
        self.pfc.as_ref().map_or(NIL, |pfc| pfc.reverse(link))
    }

    /// How much one port, or with PFC one link, may hold.
    fn threshold(&self, node: u32) -> Bytes {
        match self.shared {
            Some(shared) => self.free(node).scale(shared.alpha),
            None => self.pfc.as_ref().map_or(Bytes::MAX, |pfc| pfc.spec.threshold),
        }
    }

    /// Whether packets of this kind count: with PFC only data does.
    #[inline]
    pub fn counts(&self, flags: Flags) -> bool {
        flags.is(PacketKind::Data) || self.pfc.is_none()
    }

    /// Whether a packet that `link` brought to `node` may be sent at once: it would be admitted to a class that holds nothing and
    /// released before anything else happens.
    #[inline(always)]
    pub fn admits(&self, node: u32, link: u32, packet: &Packet) -> bool {
        if !self.counts(packet.flags) {
            return true;
        }
        match &self.pfc {
            Some(pfc) => pfc.admits(link, packet.bytes(), self.threshold(node)),
            None => packet.bytes() <= self.free(node).min(self.threshold(node)),
        }
    }

    /// Free memory of a switch.
    fn free(&self, node: u32) -> Bytes {
        self.shared.map_or(Bytes::MAX, |shared| shared.size.saturating_sub(self.used[node as usize]))
    }

    /// Reserves memory at `node` for a packet that `link` brought, for a class that holds `held`.
    #[inline(always)]
    pub fn admit(&mut self, node: u32, link: u32, length: Bytes, held: impl FnOnce() -> Bytes) -> Verdict {
        let (threshold, free) = (self.threshold(node), self.free(node));
        let placement = match &mut self.pfc {
            Some(pfc) => pfc.place(link, length, threshold),
            None if length > free || held() + length > threshold => Placement::Drop,
            None => Placement::Shared,
        };
        match placement {
            Placement::Shared => {
                self.used[node as usize] += length;
                Verdict::Admit
            }
            Placement::Headroom { pause: false } => Verdict::Admit,
            Placement::Headroom { pause: true } => Verdict::AdmitAndPause,
            Placement::Drop => Verdict::Drop,
        }
    }

    /// Releases the memory of a packet that `link` brought and that begins to leave `node`.
    pub fn release(&mut self, node: u32, link: u32, length: Bytes) {
        let from_headroom = self.pfc.as_mut().map_or(Bytes::ZERO, |pfc| pfc.release(link, length));
        self.used[node as usize] -= length - from_headroom;
    }

    /// Ends the pause of `link` if its switch has room again. Returns whether it ended.
    #[inline(always)]
    pub fn resume(&mut self, node: u32, link: u32) -> bool {
        let threshold = self.resumes_at(node);
        self.pfc.as_mut().is_some_and(|pfc| pfc.resume(link, threshold))
    }

    /// The memory in use by the counts, and by the packets that wait in ports.
    pub fn balance(&self, ports: &[Port], packets: &Slab) -> (Bytes, Bytes) {
        let data_only = self.pfc.is_some();
        let waiting = ports.iter().flat_map(|port| port.waiting(packets));
        let counted = waiting.filter(|w| w.from != NIL && (w.kind == PacketKind::Data || !data_only));
        let headroom = self.pfc.as_ref().map_or(Bytes::ZERO, Pfc::in_headroom);
        (self.used.iter().copied().sum::<Bytes>() + headroom, counted.map(|w| w.length).sum())
    }

    /// Whether the switch at the end of `link` pauses it.
    pub fn is_pausing(&self, link: u32) -> bool {
        self.pfc.as_ref().is_some_and(|pfc| pfc.is_pausing(link))
    }

    /// A paused link to `node` resumes when at most this much of what it brought is there.
    pub fn resumes_at(&self, node: u32) -> Bytes {
        let hysteresis = self.pfc.as_ref().map_or(Bytes::ZERO, |pfc| pfc.spec.hysteresis);
        self.threshold(node).saturating_sub(hysteresis)
    }
}
