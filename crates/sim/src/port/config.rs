//! Fixed properties of a port.

use shallows_cc::port::Drops;
use shallows_cc::port::step::Step;
use shallows_cc::units::{Bytes, MIN_FRAME, Time};

use crate::port::class::ClassTable;
use crate::port::clock::Clock;
use crate::spec::ports::PortSpec;

/// Index of the full frame among the common lengths.
pub(super) const FULL: usize = 0;

/// Fixed properties of a port. Ports with equal properties share one value, so that it stays in the cache.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PortConfig {
    pub(super) clock: Clock,
    pub(super) delay: Time,
    pub(super) buffer: Bytes,
    /// When the warm-up ends, zero without one, and when the run does, if that is known.
    pub(super) measured: [Time; 2],
    /// The step that marks packets as they join the queue.
    pub(super) marking: Step,
    /// The data that the step drops where it would mark other data.
    pub(super) drops: Drops,
    /// The most common lengths, full and shortest frames, and the time to send each. A length is zero if the port drops or marks
    /// such a frame even when it is idle.
    common: [(Bytes, Time); 2],
    /// The class of a packet, at a port with classes.
    pub(super) table: ClassTable,
}

impl PortConfig {
    pub(super) fn new(&PortSpec { rate, delay, buffer, .. }: &PortSpec, mtu: Bytes) -> Self {
        let clock = Clock::new(rate);
        let common = [mtu, MIN_FRAME].map(|length| (length, clock.time(length)));
        let (marking, drops, table) = (Step::NEVER, Drops::Nothing, ClassTable::default());
        let measured = [Time::ZERO, Time::MAX];
        let mut config = Self { clock, delay, buffer, measured, marking, drops, common, table };
        config.keep_common(|length| length <= buffer);
        config
    }

    /// Sets the step that marks packets as they join the queue.
    pub(super) fn set_marking(&mut self, step: Step, drops: Drops) {
        self.marking = step;
        self.drops = drops;
        self.keep_common(|length| !step.marks(length));
    }

    /// Sets another step, in a network with this `mtu`.
    pub(super) fn change_marking(&mut self, step: Step, mtu: Bytes) {
        let (buffer, drops) = (self.buffer, self.drops);
        self.common = [mtu, MIN_FRAME].map(|length| (length, self.clock.time(length)));
        self.keep_common(|length| length <= buffer);
        self.set_marking(step, drops);
    }

    fn keep_common(&mut self, keep: impl Fn(Bytes) -> bool) {
        for common in self.common.iter_mut().filter(|common| !keep(common.0)) {
            *common = (Bytes::ZERO, Time::ZERO);
        }
    }

    /// The index of this length among the common ones and the time to send it; `None` for other lengths.
    #[inline(always)]
    pub(super) fn common(&self, length: Bytes) -> Option<(usize, Time)> {
        let place = usize::from(length == MIN_FRAME);
        let (common, sending) = self.common[place];
        (length == common).then_some((place, sending))
    }

    /// The common lengths.
    pub(super) fn common_lengths(&self) -> [Bytes; 2] {
        self.common.map(|common| common.0)
    }
}
