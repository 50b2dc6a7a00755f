//! The sources of random numbers from which a run has drawn. Without any, its results do not depend on the seed.

use std::collections::BTreeSet;

/// Sources that were used. A draw may have changed nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Randomness {
    /// Paths: switches chose among several ports by a hash, or hosts drew entropy values.
    pub balancing: bool,
    /// The marking of ports without traffic classes of their own.
    pub marking: bool,
    /// Traffic classes whose own marking drew.
    pub classes: BTreeSet<u32>,
    /// The choice of the packet that is trimmed.
    pub trimming: bool,
    /// The times for which token buckets of ports held back packets.
    pub shaping: bool,
    /// Gaps after frames.
    pub gap: bool,
    /// Times for which hosts held back acknowledgements.
    pub ack_jitter: bool,
    /// Errors of timestamps.
    pub timestamps: bool,
    /// Algorithms, by number.
    pub controls: BTreeSet<u32>,
    /// Faults that lost packets at random, or might have, by number.
    pub faults: BTreeSet<u32>,
}

impl Randomness {
    /// Adds the sources of another part of the run.
    #[must_use]
    pub fn and(mut self, other: &Self) -> Self {
        self.balancing |= other.balancing;
        self.marking |= other.marking;
        self.classes.extend(&other.classes);
        self.trimming |= other.trimming;
        self.shaping |= other.shaping;
        self.gap |= other.gap;
        self.ack_jitter |= other.ack_jitter;
        self.timestamps |= other.timestamps;
        self.controls.extend(&other.controls);
        self.faults.extend(&other.faults);
        self
    }
}
