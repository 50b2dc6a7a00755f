//! Requests to the program of the kernel world, `shallows-live`.

use shallows_sim::{ControlSpec, Network, ReceiverSpec, request};

request! {
    /// A run in real time.
    pub struct Run as "Run" {
        /// The scenario, as the packet world has it.
        request: Network,
        /// True if the network's thread asks for SCHED_DEADLINE.
        real_time: bool,
    }
}

request! {
    /// An algorithm for what a real host sends, a receiver for what it is sent, or both.
    pub struct Attachment as "Attachment" {
        /// The algorithm.
        control: Option<ControlSpec>,
        /// The receiver.
        receiver: Option<ReceiverSpec>,
        /// The device that its packets take.
        interface: String,
        /// Attach to the sockets of this control group: its directory.
        control_group: Option<String>,
        /// Attach to all sockets of this host, if no control group is named.
        host: Option<bool>,
        /// Only report what would be done.
        dry_run: Option<bool>,
    }
}

request! {
    /// A quick test of two hosts.
    pub struct Cable as "Cable" {
        /// The algorithm.
        control: ControlSpec,
        /// Duration of the test.
        seconds: f64,
        /// Rate limit of the sender; 0 is none.
        rate_bps: u64,
        /// True if iperf3 generates the traffic.
        iperf3: bool,
    }
}
