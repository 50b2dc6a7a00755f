//! The slab that stores the packets of a domain.

use shallows_cc::event::HopRecord;

use super::{NIL, Packet};
use crate::arch::huge_pages;
use crate::packet::header::Header;

/// A header in a cache line of its own.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct HeaderLine(Header);

const _: () = assert!(size_of::<HeaderLine>() == 64);

/// Memory of a packet and its header, in bytes.
pub const PACKET_SIZE: usize = size_of::<Packet>() + size_of::<HeaderLine>();

/// Packets in flight at which a run stops: 2 GiB of memory. As full frames they are 34 GB on the wire, 340 for each host of a fat
/// tree with k = 64.
pub(crate) const MAX_PACKETS: u64 = (2 << 30) / PACKET_SIZE as u64;

/// All packets of a domain. The slot that was freed last is used next.
#[derive(Clone, Debug)]
pub struct Slab {
    packets: Vec<Packet>,
    /// By slot: the header.
    headers: Vec<HeaderLine>,
    /// By slot: the records of the hops, if [`Header::has_int`]. Empty in a run without INT.
    int_stacks: Vec<Vec<HopRecord>>,
    free: u32,
    /// Packets stored so far, created here or imported from another slab.
    inserted: u64,
    imported: u64,
    /// Packets removed so far.
    removed: u64,
}

impl Default for Slab {
    fn default() -> Self {
        Self {
            packets: Vec::new(),
            headers: Vec::new(),
            int_stacks: Vec::new(),
            free: NIL,
            inserted: 0,
            imported: 0,
            removed: 0,
        }
    }
}

impl Slab {
    /// Stores a packet that was exported from another slab.
    #[inline(always)]
    pub fn import(&mut self, packet: &Packet, header: &Header) -> u32 {
        self.imported += 1;
        self.insert(*packet, *header)
    }

    /// Stores a packet and returns its slot.
    #[inline(always)]
    pub fn insert(&mut self, packet: Packet, header: Header) -> u32 {
        self.inserted += 1;
        if self.free == NIL {
            self.add_slot();
        }
        let at = self.free;
        let slot = &mut self.packets[at as usize];
        self.free = slot.next;
        *slot = packet;
        self.headers[at as usize].0 = header;
        at
    }

    #[cold]
    fn add_slot(&mut self) {
        self.free = self.packets.len() as u32;
        huge_pages::push(&mut self.packets, Packet { next: NIL, ..Packet::default() });
        huge_pages::push(&mut self.headers, HeaderLine(Header::Bare));
    }

    /// Frees a slot. The packet stays readable until the next insertion.
    #[inline]
    pub fn remove(&mut self, at: u32) {
        self.removed += 1;
        self.packets[at as usize].next = self.free;
        self.free = at;
    }

    /// Removes a packet that another slab imports.
    #[inline]
    pub fn export(&mut self, at: u32) -> (Packet, Header) {
        let taken = (self[at], *self.header(at));
        self.remove(at);
        taken
    }

    /// The header of a packet.
    #[inline]
    #[must_use]
    pub fn header(&self, at: u32) -> &Header {
        &self.headers[at as usize].0
    }

    /// The header of a packet, to be changed.
    #[inline]
    pub fn header_mut(&mut self, at: u32) -> &mut Header {
        &mut self.headers[at as usize].0
    }

    /// The records that hops wrote into a packet with INT.
    #[must_use]
    pub fn int_stack(&self, at: u32) -> &[HopRecord] {
        &self.int_stacks[at as usize]
    }

    /// The same records, to be changed. The sender of a packet clears them, since the slot may have been used before.
    pub fn int_stack_mut(&mut self, at: u32) -> &mut Vec<HopRecord> {
        if self.int_stacks.len() <= at as usize {
            self.int_stacks.resize(self.packets.len(), Vec::new());
        }
        &mut self.int_stacks[at as usize]
    }

    /// Packets stored now.
    #[must_use]
    pub fn live(&self) -> u64 {
        self.inserted - self.removed
    }

    /// Packets imported from other slabs.
    #[must_use]
    pub fn imported(&self) -> u64 {
        self.imported
    }

    /// Packets created here.
    #[must_use]
    pub fn created(&self) -> u64 {
        self.inserted - self.imported
    }
}

/// All slots, used or free.
impl std::ops::Deref for Slab {
    type Target = [Packet];
    #[inline]
    fn deref(&self) -> &[Packet] {
        &self.packets
    }
}

impl std::ops::DerefMut for Slab {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Packet] {
        &mut self.packets
    }
}

impl std::ops::Index<u32> for Slab {
    type Output = Packet;
    #[inline]
    fn index(&self, at: u32) -> &Packet {
        &self.packets[at as usize]
    }
}

impl std::ops::IndexMut<u32> for Slab {
    #[inline]
    fn index_mut(&mut self, at: u32) -> &mut Packet {
        &mut self.packets[at as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::PacketKind;

    #[test]
    fn a_freed_slot_is_used_again() {
        let mut slab = Slab::default();
        let first = slab.insert(Packet::default(), Header::Bare);
        let second = slab.insert(Packet::default(), Header::Pause);
        slab.remove(first);
        assert_eq!(slab.insert(Packet { flow: 7, ..Packet::default() }, Header::Resume), first);
        assert_eq!((slab[first].flow, slab[second].flow, slab.live(), slab.created()), (7, 0, 2, 3));
        assert_eq!([first, second].map(|at| slab.header(at).kind()), [PacketKind::Resume, PacketKind::Pause]);
    }
}
