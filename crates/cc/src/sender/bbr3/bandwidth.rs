//! The bandwidth filter (§5.5.3 to §5.5.6).

/// `BBR.max_bw_filter`: the largest delivery rates of this cycle of probes and the one before, B/s.
#[derive(Clone, Copy, Debug, Default)]
pub struct BandwidthFilter {
    /// `BBR.max_bw`, B/s.
    pub max_bw: f64,
    /// `BBR.cycle_count`.
    pub cycle_count: u64,
    previous: f64,
    present: f64,
}

impl BandwidthFilter {
    /// `UpdateWindowedMaxFilter()` with a sample of this cycle.
    pub(super) fn update(&mut self, rate: f64) {
        self.present = self.present.max(rate);
        self.max_bw = self.present.max(self.previous);
    }

    /// `AdvanceMaxBwFilter()`. The maximum changes with the next sample.
    pub(super) fn advance(&mut self) {
        self.cycle_count += 1;
        (self.previous, self.present) = (self.present, 0.0);
    }
}
