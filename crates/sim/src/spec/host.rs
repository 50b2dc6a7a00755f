//! Hosts: network interfaces, transport and time stamps.

use shallows_cc::units::{Bytes, Time};

choice! {
    /// How a host's network interface takes packets.
    pub enum Nic {
        /// Pulls one data packet at a time from its flows in turn when it is idle, as Linux does with TCP small
        /// queues and fair queueing. Acknowledgements go straight to the device.
        Fair = "fair",
        /// One queue, into which flows put all that their windows allow.
        Fifo = "fifo",
    }
}

choice! {
    /// How a sender with selective acknowledgements detects losses.
    pub enum LossDetection {
        /// Three later packets have arrived (RFC 6675).
        DuplicateAcks = "duplicate-acks",
        /// A later packet has arrived, and a reordering window has passed (RACK, RFC 8985).
        Rack = "rack",
    }
}

choice! {
    /// What a RoCE sender retransmits after a loss.
    pub enum Retransmission {
        /// Everything from the first lost frame on.
        GoBackN = "go-back-n",
        /// The lost frames (IRN, SIGCOMM 2018).
        Selective = "selective",
    }
}

request! {
    /// Settings of all hosts. Each field is a key of the request.
    #[derive(Copy)]
    pub struct HostSpec as "Host" {
        /// How the network interface takes packets: from its flows in turn, or from one queue.
        nic: Nic,
        /// Payload that a flow may send before the first acknowledgement.
        initial_window: Bytes = "initial_window_bytes",
        /// Shortest retransmission timeout.
        rto_min: Time = "rto_min_ps",
        /// Longest retransmission timeout.
        rto_max: Time = "rto_max_ps",
        /// Retransmission timeout before the first round-trip sample; at least three times the round trip of an empty path.
        rto_initial: Time = "rto_initial_ps",
        /// How long an acknowledgement waits for the packets that it should cover.
        ack_delay: Time = "ack_delay_ps",
        /// Spread a cut of the window over a round trip (proportional rate reduction, RFC 9937). Left out: no.
        #[serde(default)]
        prr: bool,
        /// Largest number of packets of a flow that are handed to the network interface together (TSO).
        segment: u32,
        /// How senders with selective acknowledgements detect losses: three later packets have arrived (RFC 6675), or one has and a
        /// reordering window has passed (RFC 8985).
        loss_detection: LossDetection,
        /// What RoCE senders retransmit: everything from the first lost frame on, or the lost frames (IRN), with at most a
        /// bandwidth-delay product in flight.
        retransmission: Retransmission,
        /// Largest random gap between two frames of a busy network interface, as a share of the time to send a full frame: uniform
        /// between 0 and this, after data of algorithms that fill queues until packets are lost; 0 is none.
        gap: f64,
        /// Options in the headers of TCP, which acknowledgements carry as well; `header_bytes` has them for data. Left out: 0.
        #[serde(default)]
        option: Bytes = "option_bytes",
        /// Time between two polls of the token bucket through which the data of a host leaves at the rate of its link; left out: 0,
        /// data leaves as soon as the link is free.
        #[serde(default)]
        poll: Time = "poll_ps",
        /// Largest number of full frames that leave at one poll.
        #[serde(default)]
        batch: u32,
        /// Data of this time at the rate of a flow is handed to the network interface together, two packets at least and `segment` at
        /// most (TSO autosizing); left out: 0, always `segment` packets.
        #[serde(default)]
        segment_time: Time = "segment_time_ps",
        /// Let acknowledgements of TCP ride on data that goes the other way between the same hosts; left out: no.
        #[serde(default)]
        piggyback: bool,
        /// Longest random time for which a host holds back an acknowledgement or notification; left out: 0.
        #[serde(default)]
        ack_jitter: Time = "ack_jitter_ps",
        /// Errors of time stamps; without this table stamps are exact.
        timestamps: Option<Timestamps>,
    }
}

request! {
    /// Errors of the time stamps that hosts and their network interfaces take.
    #[derive(Copy, PartialEq)]
    pub struct Timestamps as "Timestamps" {
        /// Largest number of packets that are handed to the network interface at once without burst reduction.
        burst: u32,
        /// The same with burst reduction: what the token bucket releases at one poll.
        bucket: u32,
        /// Time between two polls of received packets.
        poll: Time = "poll_ps",
        /// Largest processing time of the stack between data and acknowledgement.
        stack: Time = "stack_ps",
        /// `hosts.timestamps.noise`.
        noise: Time = "noise_ps",
        /// `hosts.timestamps.drift`.
        drift: f64,
        /// Subtract the receiver's processing time from the round trip.
        host_delay_removed: bool,
        /// Pace bursts at the rate of the link.
        burst_reduced: bool,
        /// `hosts.timestamps.calibrated`.
        calibrated: bool,
    }
}
