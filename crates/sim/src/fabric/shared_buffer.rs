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

/// Memory in which switches keep the packets of a traffic class.
#[derive(Clone, Debug)]
struct ClassMemory {
    /// Its pool at each switch, and the place of the pool among those of a switch; `None` if its packets share no memory.
    pool: Option<(SharedSpec, usize)>,
    pfc: Option<Pfc>,
}

impl ClassMemory {
    fn new(class: &TrafficClass, network: &Network) -> Self {
        let pool = class.pool.map(|pool| (network.pools[pool as usize], pool as usize));
        Self { pool, pfc: class.pause.map(|spec| Pfc::new(spec, network)) }
    }

    /// Whether packets with these flags count: with PFC only data does.
    #[inline(always)]
    fn counts(&self, flags: Flags) -> bool {
        if self.pfc.is_some() { flags.is(PacketKind::Data) } else { self.pool.is_some() }
    }

    /// How much of the class one port, or with PFC one link, may hold, where so much memory is free.
    #[inline(always)]
    fn threshold(&self, free: Bytes) -> Bytes {
        match (&self.pool, &self.pfc) {
            (Some((pool, _)), _) => free.scale(pool.alpha),
            (None, Some(pfc)) => pfc.threshold(),
            (None, None) => Bytes::MAX,
        }
    }

    /// Bytes of the class that no pool counts: those in headroom, and without a pool all that PFC counts.
    fn uncounted(&self) -> Bytes {
        match (&self.pool, &self.pfc) {
            (_, None) => Bytes::ZERO,
            (Some(_), Some(pfc)) => pfc.in_headroom(),
            (None, Some(pfc)) => pfc.held(),
        }
    }

    /// A paused link resumes when at most this much of what it brought is there.
    fn resumes_at(&self, free: Bytes) -> Bytes {
        let hysteresis = self.pfc.as_ref().map_or(Bytes::ZERO, Pfc::hysteresis);
        self.threshold(free).saturating_sub(hysteresis)
    }
}

/// The memories of all switches.
#[derive(Clone, Debug)]
pub(crate) struct Switches {
    /// By traffic class.
    classes: Vec<ClassMemory>,
    /// Number of pools of each switch.
    pools: usize,
    /// Memory in use, headroom apart, of each pool of node 0, then of node 1, and so on.
    used: Vec<Bytes>,
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
        let classes = network.classes.iter().map(|class| ClassMemory::new(class, network)).collect();
        let pools = network.pools.len();
        let reverse = if network.pauses() { links_back(network)? } else { Vec::new() };
        Ok(Some(Self { classes, pools, used: vec![Bytes::ZERO; pools * network.nodes as usize], reverse }))
    }

    /// The link in the other direction, in a network with PFC.
    pub(crate) fn reverse(&self, link: u32) -> u32 {
        self.reverse.get(link as usize).copied().unwrap_or(NIL)
    }

    /// The memory of a class, and how much of its pool is in use at a switch.
    #[inline(always)]
    fn at(&mut self, node: u32, class: u8) -> (&mut ClassMemory, Option<&mut Bytes>) {
        let memory = &mut self.classes[usize::from(class)];
        let used = memory.pool.map(|(_, place)| &mut self.used[node as usize * self.pools + place]);
        (memory, used)
    }

    /// Free memory of a switch for a class; [`Bytes::MAX`] without a pool.
    #[inline(always)]
    fn free(&self, node: u32, memory: &ClassMemory) -> Bytes {
        let free = |(pool, place): (SharedSpec, usize)| {
            pool.size.saturating_sub(self.used[node as usize * self.pools + place])
        };
        memory.pool.map_or(Bytes::MAX, free)
    }

    /// Whether packets with these flags count: with PFC only data does.
    #[inline]
    pub fn counts(&self, flags: Flags) -> bool {
        self.classes[usize::from(flags.class())].counts(flags)
    }

    /// Whether a packet that `link` brought to `node` may be sent at once: it would be admitted to a class that holds nothing and
    /// released before anything else happens.
    #[inline(always)]
    pub(crate) fn admits(&self, node: u32, link: u32, packet: &Packet) -> bool {
        let memory = &self.classes[usize::from(packet.flags.class())];
        if !memory.counts(packet.flags) {
            return true;
        }
        let free = self.free(node, memory);
        match &memory.pfc {
            Some(pfc) => pfc.admits(link, packet.bytes(), memory.threshold(free)),
            None => packet.bytes() <= free.min(memory.threshold(free)),
        }
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
        let free = self.free(node, &self.classes[usize::from(class)]);
        let (memory, used) = self.at(node, class);
        let threshold = memory.threshold(free);
        let placement = match &mut memory.pfc {
            Some(pfc) => pfc.place(link, length, threshold),
            None if length > free || held() + length > threshold => Placement::Drop,
            None => Placement::Shared,
        };
        match placement {
            Placement::Shared => {
                if let Some(used) = used {
                    *used += length;
                }
                Verdict::Admit
            }
            Placement::Headroom { pause: false } => Verdict::Admit,
            Placement::Headroom { pause: true } => Verdict::AdmitAndPause,
            Placement::Drop => Verdict::Drop,
        }
    }

    /// Releases the memory of a packet of a class that `link` brought and that begins to leave `node`. Returns whether that ends the
    /// pause of the class of `link`, because its switch has room again.
    #[inline(always)]
    pub(crate) fn release(&mut self, node: u32, link: u32, class: u8, length: Bytes) -> bool {
        let (memory, used) = self.at(node, class);
        let from_headroom = memory.pfc.as_mut().map_or(Bytes::ZERO, |pfc| pfc.release(link, length));
        if let Some(used) = used {
            *used -= length - from_headroom;
        }
        if !memory.pfc.as_ref().is_some_and(|pfc| pfc.may_resume(link)) {
            return false;
        }
        let threshold = self.resumes_at(node, class);
        self.classes[usize::from(class)].pfc.as_mut().is_some_and(|pfc| pfc.resume(link, threshold))
    }

    /// The memory in use by the counts, and by the packets that wait in ports.
    pub fn balance(&self, ports: &[Port], packets: &Slab) -> (Bytes, Bytes) {
        let waiting = ports.iter().flat_map(|port| port.waiting(packets));
        let counted = waiting.filter(|w| w.from != NIL && self.counts(Flags::of(w.kind).with_class(w.class)));
        let uncounted = self.classes.iter().map(ClassMemory::uncounted).sum::<Bytes>();
        (self.used.iter().copied().sum::<Bytes>() + uncounted, counted.map(|w| w.length).sum())
    }

    /// Whether the switch at the end of `link` pauses a class of it.
    pub(crate) fn is_pausing(&self, link: u32, class: u8) -> bool {
        self.classes[usize::from(class)].pfc.as_ref().is_some_and(|pfc| pfc.is_pausing(link))
    }

    /// Lets the host at the end of a link pause all lossless classes, or end this.
    pub(crate) fn storm(&mut self, link: u32, pauses: bool) {
        self.classes.iter_mut().filter_map(|class| class.pfc.as_mut()).for_each(|pfc| pfc.storm(link, pauses));
    }

    /// A paused class of a link to `node` resumes when at most this much of what the link brought is there.
    pub fn resumes_at(&self, node: u32, class: u8) -> Bytes {
        let memory = &self.classes[usize::from(class)];
        memory.resumes_at(self.free(node, memory))
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
