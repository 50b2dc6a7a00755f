//! Swift over RoCE: [`swift`](super::swift) without the endpoint window. Receivers acknowledge every packet at once, so that no time
//! passes in hosts.

pub use super::swift::{NOT_MODELLED, OF_FABRIC as PARAMETERS, PRESETS_OF_FABRIC as PRESETS, TRAITS};
use crate::parameter::Values;
use crate::sender::swift::with_endpoint;
use crate::sender::{Path, Sender};

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    with_endpoint(values, path, (f64::INFINITY, 1.0), None)
}
