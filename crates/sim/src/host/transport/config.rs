//! Parameters from which the two ends of a flow are created.

use shallows_cc::multipath::Multipath;
#[cfg(test)]
use shallows_cc::parameter::Values;
use shallows_cc::port::Ecn;
#[cfg(test)]
use shallows_cc::receiver::ecn_echo::Accurate;
use shallows_cc::receiver::{Credits, Grants, Receiver};
use shallows_cc::rng::Rng;
use shallows_cc::sender::Sender;
use shallows_cc::units::{Bytes, Time};

use crate::host::timestamps::TimestampModel;
use crate::spec::network::{HostSpec, Retransmission};

/// One end of a flow: which flow it is, and where the packets of this end leave.
#[derive(Clone, Copy, Debug)]
pub(crate) struct FlowEndpoint {
    pub flow: u32,
    /// Index of this end's NIC.
    pub nic: u32,
    /// Egress port of that NIC.
    pub port: u32,
    /// Path of this end's packets ([`crate::fabric::route::Routes::first_hop`]).
    pub path: u32,
}

/// Parameters of a sender.
#[derive(Clone, Debug)]
pub struct SenderConfig<'a> {
    pub bytes: Bytes,
    pub mss: Bytes,
    /// ECN field of its data.
    pub ecn: Ecn,
    /// Whether its data carries an INT stack, to which every hop adds a record.
    pub has_int: bool,
    /// Whether its packets are numbered, for a receiver that counts them.
    pub has_counts: bool,
    /// Whether switches or hosts choose a path for each packet.
    pub sprayed: bool,
    pub host: &'a HostSpec,
    /// Round trip of a full frame and its acknowledgement over the empty path.
    pub base_rtt: Time,
    /// Largest number of full frames in flight over RoCE with selective retransmission.
    pub in_flight_limit: u32,
    /// Retransmission timeout before the first round-trip sample.
    pub first_timeout: Time,
    /// How its receiver grants credit in bytes, if it does.
    pub grants: Option<Grants>,
    /// How it finds losses by selective acknowledgements of single packets, if it does.
    pub multipath: Option<Multipath>,
    pub control: Box<dyn Sender>,
}

/// Parameters of a receiver.
#[derive(Clone, Debug)]
pub(crate) struct ReceiverConfig {
    pub bytes: Bytes,
    pub mss: Bytes,
    /// Length of a full frame, and of an acknowledgement of TCP.
    pub frame: Bytes,
    pub tcp_ack: Bytes,
    /// Credit that the receiver may grant before the sender asks for it, if it grants credit in bytes.
    pub credit_ahead: Bytes,
    /// Maximum delay of an acknowledgement.
    pub ack_delay: Time,
    /// First and longest time without a packet after which a receiver that sends pulls repeats the newest.
    pub pull_timeout: (Time, Time),
    pub notification: Box<dyn Receiver>,
    /// What its sender retransmits over RoCE.
    pub retransmission: Retransmission,
    /// Whether its data carries an INT stack.
    pub has_int: bool,
    /// Whether it counts packets.
    pub has_counts: bool,
    /// Whether each answer carries a selective acknowledgement.
    pub has_sack: bool,
    /// Errors of timestamps; none if timestamps are exact.
    pub timestamps: Option<Box<TimestampModel>>,
    /// The credit algorithm and its random stream, where flows wait for credits.
    pub credits: Option<(Box<dyn Credits>, Rng)>,
}

#[cfg(test)]
impl<'a> SenderConfig<'a> {
    /// Returns the parameters of a flow of so many full packets, over one path of an empty round trip of 100 us.
    pub(crate) fn sample(host: &'a HostSpec, (packets, mss): (u64, Bytes), control: Box<dyn Sender>) -> Self {
        Self {
            bytes: mss * packets,
            mss,
            ecn: Ecn::Ect0,
            has_int: false,
            has_counts: false,
            sprayed: false,
            host,
            base_rtt: Time::from_micros(100),
            in_flight_limit: 100,
            first_timeout: host.rto_initial,
            grants: None,
            multipath: None,
            control,
        }
    }
}

#[cfg(test)]
impl ReceiverConfig {
    /// Returns the parameters of a flow of so many bytes, whose receiver echoes the mark of each packet.
    pub(crate) fn sample(bytes: Bytes, mss: Bytes) -> Self {
        Self {
            bytes,
            mss,
            frame: Bytes(1500),
            tcp_ack: Bytes(64),
            credit_ahead: Bytes::ZERO,
            ack_delay: Time::from_micros(500),
            pull_timeout: (Time::from_millis(1), Time::from_millis(1)),
            notification: Accurate::boxed(&Values::defaults(&[]), 1),
            retransmission: Retransmission::GoBackN,
            has_int: false,
            has_counts: false,
            has_sack: false,
            timestamps: None,
            credits: None,
        }
    }
}
