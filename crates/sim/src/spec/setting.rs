//! Windows and paces that another program sets while a run goes on.

use shallows_cc::units::{Bytes, Rate, Time};

columns! {
    /// A window and a pace of a flow of `external`, which a program has set at a time. One that is set before the flow starts holds from its
    /// start on.
    #[derive(Copy, PartialEq, Eq)]
    pub struct SenderSetting as "SenderSettings" in SenderSettingColumns {
        /// The flow.
        flow: u32,
        /// When it is set.
        at: Time = "time_ps",
        /// Payload that may be in flight.
        window: Bytes = "window_bytes",
        /// Rate at which packets leave, headers included; 0 leaves the window alone.
        rate: Rate = "rate_bps",
    }
}

impl SenderSetting {
    /// The pace.
    #[must_use]
    pub fn pace(&self) -> Option<Rate> {
        (self.rate > Rate::ZERO).then_some(self.rate)
    }
}
