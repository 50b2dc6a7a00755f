//! A switch's packet memory: who may still use it, and whom it asks to stop.
//!
//! Shared memory: a port may hold a multiple of what is free (dynamic thresholds, Choudhury and Hahne,
//! IEEE/ACM ToN 6(2), 1998). Pauses (PFC, IEEE 802.1Qbb): data is counted by the link that brought it; when
//! that exceeds a threshold, the other end of the link is asked to stop, and what is still on its way goes
//! into the link's headroom.
//!
//! A packet counts from its arrival until it begins to be sent. Only data is paused and counted by link.
//!
//! Not modelled: the quanta of a pause (it holds until it is lifted), the time that a MAC takes to act on it.

use std::collections::BTreeMap;

use shallows_cc::units::{Bytes, MIN_FRAME};

use crate::packet::{Flags, NIL, Packet, PacketKind, Slab};
use crate::port::Port;
use crate::spec::network::{Network, PauseSpec, PortSpec, SharedSpec};

/// What can still arrive once a pause is due: the frame that goes before it on the way back, the pause itself,
/// the frame that the other end has begun, the one under way, and all that two delays hold.
fn headroom(pause: &PauseSpec, link: &PortSpec, mtu: Bytes) -> Bytes {
    pause.headroom.unwrap_or_else(|| link.rate.sent_in(link.delay * 2) + mtu * 3 + MIN_FRAME)
}

/// What a link brought that is still here.
#[derive(Clone, Copy, Debug, Default)]
struct Ingress {
    held: Bytes,
    /// The part that lies in headroom, and how much there is.
    in_headroom: Bytes,
    headroom: Bytes,
    pausing: bool,
}

/// What a switch tells the other end of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// There is room.
    Admit,
    /// There is, but no more may come.
    AdmitAndPause,
    /// There is none.
    Drop,
}

/// The memories of all switches.
#[derive(Debug)]
pub struct Switches {
    shared: Option<SharedSpec>,
    pause: Option<PauseSpec>,
    /// By node: what its ports hold, headroom apart.
    used: Vec<Bytes>,
    /// By link.
    ingress: Vec<Ingress>,
    /// By link: the one the other way.
    reverse: Vec<u32>,
}

impl Switches {
    /// The memories of a network; none where no switch needs one.
    ///
    /// # Errors
    /// If a link to a switch has no way back for its pauses.
    pub fn new(network: &Network) -> Result<Option<Self>, String> {
        if network.shared.is_none() && network.pause.is_none() {
            return Ok(None);
        }
        let headroom = |link| network.pause.map_or(Bytes::ZERO, |pause| headroom(&pause, link, network.mtu));
        let ingress = |link| Ingress { headroom: headroom(link), ..Ingress::default() };
        Ok(Some(Self {
            shared: network.shared,
            pause: network.pause,
            used: vec![Bytes::ZERO; network.nodes as usize],
            ingress: network.ports.iter().map(ingress).collect(),
            reverse: if network.pause.is_some() { reverse_links(&network.ports)? } else { Vec::new() },
        }))
    }

    /// The link the other way.
    pub fn reverse(&self, link: u32) -> u32 {
        self.reverse[link as usize]
    }

    /// How much one port, or one link, may hold.
    fn threshold(&self, node: u32) -> Bytes {
        match self.shared {
            Some(shared) => self.free(node).scale(shared.alpha),
            None => self.pause.map_or(Bytes::MAX, |pause| pause.threshold),
        }
    }

    /// Whether packets of this kind count: all, or only data where that can be paused.
    #[inline]
    pub fn counts(&self, flags: Flags) -> bool {
        flags.is(PacketKind::Data) || self.pause.is_none()
    }

    /// Whether a packet that `link` brought to `node` may pass through at once, for a class that holds nothing: it would
    /// be admitted, and released again before anything else happens.
    #[inline(always)]
    pub fn admits(&self, node: u32, link: u32, packet: &Packet) -> bool {
        if !self.counts(packet.flags) {
            return true;
        }
        let Some(pause) = self.pause else { return packet.bytes() <= self.free(node).min(self.threshold(node)) };
        let threshold = if self.shared.is_none() { pause.threshold } else { self.threshold(node) };
        let ingress = &self.ingress[link as usize];
        !ingress.pausing && ingress.held - ingress.in_headroom + packet.bytes() <= threshold
    }

    /// What nobody holds of the memory of a switch.
    fn free(&self, node: u32) -> Bytes {
        self.shared.map_or(Bytes::MAX, |shared| shared.size.saturating_sub(self.used[node as usize]))
    }

    /// Whether a packet that `link` brought to `node`, for a class that holds as much as `held` says, finds room.
    #[inline(always)]
    pub fn admit(&mut self, node: u32, link: u32, length: Bytes, held: impl FnOnce() -> Bytes) -> Verdict {
        let threshold = self.threshold(node);
        if self.pause.is_some() {
            return self.admit_lossless(node, link, length, threshold);
        }
        if length > self.free(node) || held() + length > threshold {
            return Verdict::Drop;
        }
        self.used[node as usize] += length;
        Verdict::Admit
    }

    fn admit_lossless(&mut self, node: u32, link: u32, length: Bytes, threshold: Bytes) -> Verdict {
        let ingress = &mut self.ingress[link as usize];
        let within = ingress.held - ingress.in_headroom + length <= threshold;
        if within && !ingress.pausing {
            ingress.held += length;
            self.used[node as usize] += length;
            return Verdict::Admit;
        }
        if ingress.in_headroom + length > ingress.headroom {
            return Verdict::Drop;
        }
        ingress.held += length;
        ingress.in_headroom += length;
        if std::mem::replace(&mut ingress.pausing, true) { Verdict::Admit } else { Verdict::AdmitAndPause }
    }

    /// A packet that `link` had brought begins to leave `node`. Headroom empties first.
    pub fn release(&mut self, node: u32, link: u32, length: Bytes) {
        let ingress = &mut self.ingress[link as usize];
        let from_headroom = length.min(ingress.in_headroom);
        ingress.in_headroom -= from_headroom;
        if self.pause.is_some() {
            ingress.held -= length;
        }
        self.used[node as usize] -= length - from_headroom;
    }

    /// Whether `link` was paused and may go on; it then does.
    #[inline(always)]
    pub fn resumes(&mut self, node: u32, link: u32) -> bool {
        let threshold = self.resumes_at(node);
        let ingress = &mut self.ingress[link as usize];
        let resumes = ingress.pausing && ingress.in_headroom == Bytes::ZERO && ingress.held <= threshold;
        ingress.pausing &= !resumes;
        resumes
    }

    /// What is counted, and what of the packets that wait should be.
    pub fn balance(&self, ports: &[Port], packets: &Slab) -> (Bytes, Bytes) {
        let data_only = self.pause.is_some();
        let waiting = ports.iter().flat_map(|port| port.waiting(packets));
        let counted = waiting.filter(|w| w.from != NIL && (w.kind == PacketKind::Data || !data_only));
        let headroom: Bytes = self.ingress.iter().map(|ingress| ingress.in_headroom).sum();
        (self.used.iter().copied().sum::<Bytes>() + headroom, counted.map(|w| w.length).sum())
    }

    /// Whether `link` has been asked to stop.
    pub fn is_pausing(&self, link: u32) -> bool {
        self.ingress[link as usize].pausing
    }

    /// A paused link to `node` stays so while more than this of what it brought is there.
    pub fn resumes_at(&self, node: u32) -> Bytes {
        self.threshold(node).saturating_sub(self.pause.map_or(Bytes::ZERO, |pause| pause.hysteresis))
    }
}

/// By link: the one the other way; parallel links pair up in their order.
fn reverse_links(ports: &[PortSpec]) -> Result<Vec<u32>, String> {
    let mut links: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
    let mut places = Vec::with_capacity(ports.len());
    for (at, port) in ports.iter().enumerate() {
        let parallel = links.entry((port.from, port.to)).or_default();
        places.push(parallel.len());
        parallel.push(at as u32);
    }
    let back = |(at, port): (usize, &PortSpec)| {
        let others = links.get(&(port.to, port.from));
        let other = others.and_then(|others| others.get(places[at]).copied());
        other.ok_or_else(|| format!("link {at} has no way back for pauses"))
    };
    ports.iter().enumerate().map(back).collect()
}
