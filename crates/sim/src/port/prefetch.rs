//! Prefetching of the parts of a port, in the order in which one leads to the next.

use shallows_cc::units::{Bytes, Time};

use super::Port;
use crate::arch::prefetch::prefetch;
use crate::packet::{Flags, Packet};
use crate::port::admission::ClassOverride;
use crate::port::class::{Class, Waiting};

impl Port {
    /// Prefetches what a packet needs that finds the port idle.
    pub(crate) fn prefetch(&self) {
        prefetch(&self.busy_until);
    }

    /// Prefetches what a packet that arrives at `then` needs if it finds a queue, or what leads to that.
    pub(crate) fn prefetch_queue(&self, then: Time, packet: &Packet) {
        if let Some(extras) = &self.extras {
            extras.scheduler.prefetch();
            prefetch(&self.histogram);
        } else if self.busy_until > then {
            prefetch(&self.recorder);
            self.prefetch_bins(self.busy_until - then, packet.bytes());
        }
    }

    fn prefetch_bins(&self, backlog: Time, length: Bytes) {
        self.histogram.prefetch(backlog);
        self.histogram.prefetch(backlog + self.config.clock.time(length));
    }

    /// Prefetches the class of a packet that arrives at `then`, if it will have to wait there.
    pub(crate) fn prefetch_class(&self, then: Time, packet: &Packet) {
        if let Some(class) = self.class_to_join(then, packet.flags) {
            class.prefetch();
            self.prefetch_bins(self.backlog(then), packet.bytes());
        }
    }

    /// Prefetches the end of the queue of that class.
    pub(crate) fn prefetch_end_of_class(&self, then: Time, packet: &Packet) {
        self.class_to_join(then, packet.flags).and_then(|class| class.queue.back()).map(prefetch);
    }

    fn class_to_join(&self, then: Time, flags: Flags) -> Option<&Class> {
        let scheduler = self.scheduler().filter(|_| self.busy_until > then)?;
        scheduler.classes.get(self.class_for(flags, ClassOverride::None))
    }

    /// Prefetches what sending a packet of a class changes, besides that class.
    pub(crate) fn prefetch_scheduler(&self) {
        prefetch(&self.recorder);
        prefetch(&self.recorder.area);
        // Whether it has classes is in memory that has not arrived yet.
        if let Some(extras) = &self.extras {
            extras.scheduler.prefetch();
        }
    }

    /// Prefetches the first class in which a packet waits.
    pub(crate) fn prefetch_waiting_class(&self) {
        self.waiting_class().map(Class::prefetch);
    }

    /// The first packet of that class.
    pub(crate) fn first_waiting(&self) -> Option<&Waiting> {
        self.waiting_class()?.queue.front()
    }

    fn waiting_class(&self) -> Option<&Class> {
        let scheduler = self.scheduler()?;
        scheduler.classes.get(scheduler.waiting.trailing_zeros() as usize)
    }
}
