//! The decision about a packet that arrives at a port, whatever its kind.

use crate::packet::Slab;
use crate::port::admission::DropReason;
use crate::port::config::PortConfig;
use crate::port::marker::{Look, Marker};
use crate::port::scheduler::{FastPath, Scheduler};
use shallows_cc::port::MarkAt;

/// What judges the packets that join a queue: its marker, or the step of the port.
pub(super) struct Judge<'a> {
    pub config: &'a PortConfig,
    pub marker: Option<&'a mut Marker>,
    /// Frames that were only counted; `None` at a FIFO.
    pub fast: Option<&'a FastPath>,
}

impl<'a> Judge<'a> {
    /// What judges the packets of a class of this scheduler, or of a port with this marker.
    #[inline(always)]
    pub fn of_class(
        class: usize,
        config: &'a PortConfig,
        of_port: &'a mut Option<Marker>,
        scheduler: &'a mut Scheduler,
    ) -> Self {
        let Scheduler { fast, classes, has_markers, .. } = scheduler;
        let marker = if *has_markers { classes[class].marker.as_deref_mut().or(of_port.as_mut()) } else { None };
        Self { config, marker, fast: Some(fast) }
    }

    /// Decides about a packet that would join the queue, in which there may be no room. Returns whether it is newly marked.
    #[inline(always)]
    pub fn judge(&mut self, look: Look, has_room: bool, (at, packets): (u32, &mut Slab)) -> Result<bool, DropReason> {
        if let Some(marker) = &mut self.marker {
            // The marker of a FIFO draws for a packet that finds no room as well.
            let draws = has_room || self.fast.is_none();
            if draws && marker.rejects(look, &packets[at], || counted(self.fast)) {
                return Err(DropReason::NotEcnCapable);
            }
        }
        if !has_room {
            return Err(DropReason::QueueFull);
        }
        if self.marker.is_none()
            && self.config.marking.marks(look.queue)
            && packets[at].is_dropped_by(self.config.drops)
        {
            return Err(DropReason::NotEcnCapable);
        }
        Ok(self.marks(look, (at, packets)))
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
