//! What `shallows-live` is asked besides runs: to put an algorithm on a real host, and to try one between two.

use crate::request::{Control, Receiver};

request! {
    /// What is put on a real host: an algorithm for what it sends, a receiver for what it is sent, or both.
    pub struct Attachment {
        /// The algorithm
        control: Option<Control>,
        /// The receiver
        receiver: Option<Receiver>,
        /// The device that its packets take
        interface: String,
        /// Whose sockets: a control group's directory
        control_group: Option<String>,
        /// Whether everyone's on this host are meant, where no control group is named
        host: Option<bool>,
        /// Whether to say what would be done, and do nothing
        dry_run: Option<bool>,
    }

    /// A quick test of two hosts.
    pub struct Cable {
        /// The algorithm
        control: Control,
        /// How long
        seconds: f64,
        /// What the sender keeps to; 0: as fast as it goes
        rate_bps: u64,
        /// Whether iperf3 makes the traffic
        iperf3: bool,
    }
}
