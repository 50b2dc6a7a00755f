//! What hosts need to know of an algorithm that chooses a path for each packet: MRC ([`crate::sender::mrc`]).

use crate::units::Time;

/// What the path selection and the reliability of a connection need to know.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Multipath {
    /// Entropy values in use, on all planes.
    pub values: u32,
    /// Values that replace withdrawn ones, on all planes.
    pub spares: u32,
    /// Values that stay in use.
    pub min_active: u32,
    /// Losses in a row after which a value is assumed bad; none if acknowledgements withdraw no value.
    pub bad_after: Option<u32>,
    /// Time between two probes of a value; none for the initial retransmission timeout.
    pub value_probe: Option<Time>,
    /// Time without an answer after which the connection is probed.
    pub silence: Option<Time>,
    /// How much later a packet must have left that has arrived before an earlier one.
    pub reordering: Option<Time>,
    /// Whether hosts report ports that are down.
    pub port_status: bool,
}
