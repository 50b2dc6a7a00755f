//! The decision about a packet that arrives at a port, whatever its kind.

use super::Port;
use super::dispatch::extras;
use crate::packet::{Packet, Slab};
use crate::port::admission::DropReason;
use crate::port::config::PortConfig;
use crate::port::marker::{Look, Marker};
use crate::port::scheduler::FastPath;
use shallows_cc::port::MarkAt;

/// What judges the packets that join a queue: its marker, or the step of the port.
pub(super) struct Judge<'a> {
    pub config: &'a PortConfig,
    pub marker: Option<&'a mut Marker>,
    /// Frames that were only counted; `None` at a FIFO.
    pub fast: Option<&'a FastPath>,
}

impl Judge<'_> {
    /// Decides about a packet that would join the queue, in which there may be no room. Returns whether it is newly marked.
    #[inline(always)]
    pub fn judge(&mut self, look: Look, has_room: bool, (at, packets): (u32, &mut Slab)) -> Result<bool, DropReason> {
        // The marker of a FIFO draws for a packet that finds no room as well.
        let draws = has_room || self.fast.is_none() && self.marker.is_some();
        if draws && self.refuses(look, &packets[at]) {
            return Err(DropReason::NotEcnCapable);
        }
        if !has_room {
            return Err(DropReason::QueueFull);
        }
        Ok(self.marks(look, (at, packets)))
    }

    /// Whether the packet is dropped because it would have to be marked and is not ECN-capable.
    #[inline(always)]
    fn refuses(&mut self, look: Look, packet: &Packet) -> bool {
        let Self { config, marker, fast } = self;
        match marker {
            Some(marker) => marker.rejects(look, packet, || counted(*fast)),
            None => config.marking.marks(look.queue) && packet.is_dropped_by(config.drops),
        }
    }

    /// Marks an accepted packet, if the queue asks for it as packets join. Returns whether it is newly marked.
    #[inline(always)]
    pub fn marks(&mut self, look: Look, (at, packets): (u32, &mut Slab)) -> bool {
        let Self { config, marker, fast } = self;
        match marker {
            Some(marker) => marker.at == MarkAt::Enqueue && marker.marks(look, (at, packets), || counted(*fast)),
            None => config.marking.marks(look.queue) && packets[at].mark(),
        }
    }
}

#[inline(always)]
fn counted(fast: Option<&FastPath>) -> u32 {
    fast.map_or(0, FastPath::counted)
}

impl Port {
    /// What judges the packets of a class.
    #[inline(always)]
    pub(super) fn judge_of(&mut self, class: usize) -> Judge<'_> {
        let (of_port, scheduler) = extras(&mut self.extras);
        let marker = if scheduler.has_markers {
            scheduler.classes[class].marker.as_deref_mut().or(of_port.as_mut())
        } else {
            None
        };
        Judge { config: &self.config, marker, fast: Some(&scheduler.fast) }
    }
}
