//! Packet memory of switches.
//!
//! The memory of a switch consists of pools. Ports share a pool: each may hold a multiple of the free memory (dynamic thresholds,
//! Choudhury and Hahne, IEEE/ACM ToN 6(2), 1998). A packet counts from its arrival until it begins to be sent. Of traffic classes
//! with PFC ([`super::pfc`]) only data counts, by the link that brought it.

use shallows_cc::units::Bytes;

use super::pfc::{Pfc, Placement};
use super::reverse_links::reverse_links;
use crate::packet::{Flags, NIL, Packet, PacketKind, Slab};
use crate::port::Port;
use crate::spec::network::{Network, PortSpec};
use crate::spec::ports::{SharedSpec, TrafficClass};

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

/// Where switches keep the packets of a traffic class.
#[derive(Debug)]
struct ClassMemory {
    /// Index of its pool; `None` without shared memory.
    pool: Option<usize>,
    pfc: Option<Pfc>,
}

/// A pool of memory at every switch.
#[derive(Debug)]
struct Pool {
    spec: SharedSpec,
    /// By node: memory in use, headroom apart.
    used: Vec<Bytes>,
}

/// The memories of all switches.
#[derive(Debug)]
pub struct Switches {
    pools: Vec<Pool>,
    /// By traffic class.
    classes: Vec<ClassMemory>,
    /// Memory in use by classes without a pool, whatever the switch.
    unpooled: Bytes,
    /// With PFC: by link the one in the other direction, which carries its pauses.
    reverse: Vec<u32>,
}

impl Switches {
    /// The memories of a network, or `None` if its switches share no memory and pause no links.
    ///
    /// # Errors
    /// If a link has no reverse link for its pauses.
    pub fn new(network: &Network) -> Result<Option<Self>, String> {
        if !network.shares_memory() && !network.pauses() {
            return Ok(None);
        }
        let class = |class: &TrafficClass| ClassMemory {
            pool: class.pool.map(|pool| pool as usize),
            pfc: class.pause.map(|spec| Pfc::new(spec, network)),
        };
        let pool = |&spec| Pool { spec, used: vec![Bytes::ZERO; network.nodes as usize] };
        let reverse = if network.pauses() { links_back(network)? } else { Vec::new() };
        let (pools, classes) = (network.pools.iter().map(pool).collect(), network.classes.iter().map(class).collect());
        Ok(Some(Self { pools, classes, unpooled: Bytes::ZERO, reverse }))
    }

    /// The link in the other direction, in a network with PFC.
    pub fn reverse(&self, link: u32) -> u32 {
        self.reverse.get(link as usize).copied().unwrap_or(NIL)
    }

    fn class(&self, class: u8) -> &ClassMemory {
        &self.classes[usize::from(class)]
    }

    /// How much of a class one port, or with PFC one link, may hold.
    fn threshold(&self, node: u32, class: u8) -> Bytes {
        let ClassMemory { pool, pfc } = self.class(class);
        match (pool, pfc) {
            (Some(pool), _) => {
                let pool = &self.pools[*pool];
                pool.spec.size.saturating_sub(pool.used[node as usize]).scale(pool.spec.alpha)
            }
            (None, Some(pfc)) => pfc.threshold(),
            (None, None) => Bytes::MAX,
        }
    }

    /// Whether packets with these flags count: with PFC only data does.
    #[inline]
    pub fn counts(&self, flags: Flags) -> bool {
        let ClassMemory { pool, pfc } = self.class(flags.class());
        match pfc {
            Some(_) => flags.is(PacketKind::Data),
            None => pool.is_some(),
        }
    }

    /// Whether a packet that `link` brought to `node` may be sent at once: it would be admitted to a class that holds nothing and
    /// released before anything else happens.
    #[inline(always)]
    pub fn admits(&self, node: u32, link: u32, packet: &Packet) -> bool {
        if !self.counts(packet.flags) {
            return true;
        }
        let class = packet.flags.class();
        match &self.class(class).pfc {
            Some(pfc) => pfc.admits(link, packet.bytes(), self.threshold(node, class)),
            None => packet.bytes() <= self.free(node, class).min(self.threshold(node, class)),
        }
    }

    /// Free memory of a switch for a class.
    fn free(&self, node: u32, class: u8) -> Bytes {
        self.class(class).pool.map_or(Bytes::MAX, |pool| {
            let pool = &self.pools[pool];
            pool.spec.size.saturating_sub(pool.used[node as usize])
        })
    }

    /// Reserves memory at `node` for a packet of a class that `link` brought, for a queue that holds `held`.
    #[inline(always)]
    pub fn admit(
        &mut self,
        node: u32,
        link: u32,
        (class, length): (u8, Bytes),
        held: impl FnOnce() -> Bytes,
    ) -> Verdict {
        let (threshold, free) = (self.threshold(node, class), self.free(node, class));
        let placement = match &mut self.classes[usize::from(class)].pfc {
            Some(pfc) => pfc.place(link, length, threshold),
            None if length > free || held() + length > threshold => Placement::Drop,
            None => Placement::Shared,
        };
        match placement {
            Placement::Shared => {
                *self.used(node, class) += length;
                Verdict::Admit
            }
            Placement::Headroom { pause: false } => Verdict::Admit,
            Placement::Headroom { pause: true } => Verdict::AdmitAndPause,
            Placement::Drop => Verdict::Drop,
        }
    }

    /// Memory of a switch that counts the packets of a class.
    fn used(&mut self, node: u32, class: u8) -> &mut Bytes {
        match self.classes[usize::from(class)].pool {
            Some(pool) => &mut self.pools[pool].used[node as usize],
            None => &mut self.unpooled,
        }
    }

    /// Releases the memory of a packet of a class that `link` brought and that begins to leave `node`.
    pub fn release(&mut self, node: u32, link: u32, class: u8, length: Bytes) {
        let pfc = self.classes[usize::from(class)].pfc.as_mut();
        let from_headroom = pfc.map_or(Bytes::ZERO, |pfc| pfc.release(link, length));
        *self.used(node, class) -= length - from_headroom;
    }

    /// Ends the pause of a class of `link` if its switch has room again. Returns whether it ended.
    #[inline(always)]
    pub fn resume(&mut self, node: u32, link: u32, class: u8) -> bool {
        let threshold = self.resumes_at(node, class);
        self.classes[usize::from(class)].pfc.as_mut().is_some_and(|pfc| pfc.resume(link, threshold))
    }

    /// The memory in use by the counts, and by the packets that wait in ports.
    pub fn balance(&self, ports: &[Port], packets: &Slab) -> (Bytes, Bytes) {
        let waiting = ports.iter().flat_map(|port| port.waiting(packets));
        let counted = waiting.filter(|w| w.from != NIL && self.counts(Flags::of(w.kind).with_class(w.class)));
        let headroom = self.classes.iter().filter_map(|class| class.pfc.as_ref()).map(Pfc::in_headroom).sum::<Bytes>();
        let used = self.pools.iter().flat_map(|pool| &pool.used).copied().sum::<Bytes>();
        (used + self.unpooled + headroom, counted.map(|w| w.length).sum())
    }

    /// Whether the switch at the end of `link` pauses a class of it.
    pub fn is_pausing(&self, link: u32, class: u8) -> bool {
        self.class(class).pfc.as_ref().is_some_and(|pfc| pfc.is_pausing(link))
    }

    /// A paused class of a link to `node` resumes when at most this much of what the link brought is there.
    pub fn resumes_at(&self, node: u32, class: u8) -> Bytes {
        let hysteresis = self.class(class).pfc.as_ref().map_or(Bytes::ZERO, Pfc::hysteresis);
        self.threshold(node, class).saturating_sub(hysteresis)
    }
}

/// By link the one in the other direction.
fn links_back(network: &Network) -> Result<Vec<u32>, String> {
    let reverse = reverse_links(&network.ports);
    if let Some(link) = reverse.iter().position(|&reverse| reverse == NIL) {
        let PortSpec { from, to, .. } = network.ports[link];
        return Err(format!("link {link}: pauses need a link back, expected one from node {to} to {from}"));
    }
    Ok(reverse)
}
