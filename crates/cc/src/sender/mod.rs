//! Reaction points, which set the window and the pace of a sender, and the table of all algorithms.
//!
//! Each algorithm has a file with `PARAMETERS`, `PRESETS`, `TRAITS`, `NOT_MODELLED`, `build` and, where it is compared line by line with
//! its paper, `DEVIATIONS`. The state is a struct with a field for each symbol of the paper; parameters are a type of their own. To add
//! one, write the file, its row here and an event script in `tests/scripts`, as CONTRIBUTING.md describes.

pub mod bbr3;
pub mod cdg;
pub mod cubic;
pub mod dcqcn;
pub mod dctcp;
pub mod dx;
pub mod expresspass;
pub mod external;
pub mod fixed;
pub mod gap;
pub mod hpcc;
pub mod hull;
pub mod inigo;
pub mod mrc;
pub mod ndp;
pub mod nscc;
pub mod patched_timely;
pub mod patched_timely_pi;
pub mod powertcp;
pub mod prague;
pub mod rccc;
pub mod rcp;
pub mod reno;
pub mod swift;
pub mod swift_roce;
pub mod theta_powertcp;
pub mod timely;
pub mod vegas;

use std::fmt::Debug;

use crate::catalog::{Algorithm, Marking, algorithms};
use crate::event::{Ack, Counts, HopRecord, Loss, LostPacket};
use crate::units::{Bytes, Rate, Time};

algorithms! {
    fixed: ACCURATE_ECHO, Marking::Unused;
        "The window never changes.", "Lee et al., SIGCOMM 2012 poster, Fig. 1 (window 1: ping-pong)";
    external: ACCURATE_ECHO, Marking::WhenFlag("ecn", "step");
        "Another program sets the window and the pace.", "none: docs/driven.md";
    reno: CLASSIC_ECHO, Marking::WhenFlag("ecn", "step");
        "Grows by a packet a round trip, halves on loss.", "RFC 5681, RFC 6582, RFC 3168";
    cubic: CLASSIC_ECHO, Marking::WhenFlag("ecn", "step");
        "Grows along a cubic of the time since the last loss.", "RFC 9438";
    vegas with DEVIATIONS: ACCURATE_ECHO, Marking::Unused;
        "Keeps one to three packets of its own in the queue.", "Brakmo and Peterson, IEEE JSAC 13(8), 1995";
    dctcp: ACCURATE_ECHO, Marking::Required("step");
        "Cuts in proportion to the share of marked packets.", "RFC 8257; Alizadeh et al., SIGCOMM 2010";
    prague with DEVIATIONS: PACKET_COUNTS, Marking::Required("step");
        "Cuts in proportion to the share of marked packets, and grows as if its round trip were a reference or more; paced.",
        "L4STeam/udp_prague; draft-briscoe-iccrg-prague-congestion-control";
    bbr3 with DEVIATIONS: ACCURATE_ECHO, Marking::WhenFlag("ecn", "step");
        "Models the path by its bandwidth, least round trip and losses, and sends at a rate and with a window that follow; paced.",
        "draft-ietf-ccwg-bbr";
    hull: ACCURATE_ECHO, Marking::Required("phantom");
        "DCTCP on marks of a virtual queue, so that the real one stays empty; paced.", "Alizadeh et al., NSDI 2012";
    hpcc: ACCURATE_ECHO, Marking::Records("int");
        "Fits what is in flight to the fullest link, which every hop's records show.", "Li et al., SIGCOMM 2019";
    hpcc as "hpcc-roce" over ROCE: COMPLETIONS, Marking::Records("int");
        "HPCC over RoCE, as in its paper: go-back-N, in a network that loses nothing.", "Li et al., SIGCOMM 2019";
    powertcp: ACCURATE_ECHO, Marking::Records("int");
        "Divides its window by the power of the fullest link, arrivals times what is in flight there, and adds a step.",
        "Addanki, Michel and Schmid, NSDI 2022";
    theta_powertcp as "theta-powertcp": ACCURATE_ECHO, Marking::Unused;
        "PowerTCP by the round trip and its gradient, without records of the hops.", "Addanki, Michel and Schmid, NSDI 2022";
    cdg: CLASSIC_ECHO, Marking::WhenFlag("ecn", "step");
        "Backs off at random as the delay's gradient rises.", "Hayes and Armitage, Networking 2011; Linux tcp_cdg.c";
    gap with DEVIATIONS: ACCURATE_ECHO, Marking::Unused;
        "Sets the time between packets by the queueing delay, also beyond a round trip.", "Lee et al., SIGCOMM 2012 poster, §3";
    inigo with DEVIATIONS: ACCURATE_ECHO, Marking::WhenFlag("ecn", "step");
        "Cuts as DCTCP does, but by the share of late round trips, several times a window.", "TCP Inigo, Algorithms 1 to 7";
    dx with DEVIATIONS: ACCURATE_ECHO, Marking::Unused;
        "Cuts by just the packets that the one-way queueing delay shows.", "Lee et al., IEEE/ACM ToN 2017";
    swift: ACCURATE_ECHO, Marking::WhenFlag("ecn", "step");
        "Cuts in proportion to the delay above a target, which is larger for small windows and long paths.",
        "Kumar et al., SIGCOMM 2020";
    swift_roce as "swift-roce" over ROCE: COMPLETIONS, Marking::WhenFlag("ecn", "step");
        "Swift over RoCE, with its selective retransmission or go-back-N.", "Kumar et al., SIGCOMM 2020";
    dcqcn over ROCE with DEVIATIONS: CNP, Marking::Required("red");
        "Cuts its rate on a congestion notification and returns by timer and byte counter.", "Zhu et al., SIGCOMM 2015";
    timely over ROCE with DEVIATIONS: COMPLETIONS, Marking::Unused;
        "Moves its rate by the gradient of the round trip.", "Mittal et al., SIGCOMM 2015";
    patched_timely as "patched-timely" over ROCE with DEVIATIONS: COMPLETIONS, Marking::Unused;
        "TIMELY with one fixed point: the round trip decides how much the rate falls.", "Zhu et al., CoNEXT 2016 §4.3";
    patched_timely_pi as "patched-timely-pi" over ROCE with DEVIATIONS: COMPLETIONS, Marking::Unused;
        "Patched TIMELY with a PI controller in each host.", "Zhu et al., CoNEXT 2016 §5.2";
    ndp over PULLED: PULLS, Marking::WhenFlag("ecn", "red");
        "Sends a first window blindly, then a packet for each pull; full ports cut packets to headers.",
        "Handley et al., SIGCOMM 2017";
    rccc over PULLED: GRANTS, Marking::WhenFlag("ecn", "red");
        "Sends a first window on speculation, then the bytes for which its receiver grants credit.",
        "Ultra Ethernet Specification 1.0; Olteanu et al., NSDI 2022 (EQDS)";
    nscc over UNORDERED: ANSWERS, Marking::Required("red");
        "Grows below a target delay, cuts above it where packets are marked, and falls at once where they are trimmed.",
        "Ultra Ethernet Specification 1.0";
    mrc over UNORDERED choosing mrc: ANSWERS, Marking::Required("red");
        "NSCC over many entropy values: passes over those that meet marks, withdraws those that lose packets, and probes them.",
        "OCP Multipath Reliable Connection 1.0; Ultra Ethernet Specification 1.0";
    rcp over RATED: ACCURATE_ECHO, Marking::Rates("rcp");
        "Sends at the least rate that the ports on its way offer.", "Dukkipati, Kobayashi, Zhang-Shen and McKeown, IWQoS 2005";
    expresspass over CREDIT granting expresspass with DEVIATIONS: CREDITS, Marking::Unused;
        "Sends a frame for each credit of the receiver, whose lost credits are the signal.", "Cho, Jang and Han, SIGCOMM 2017";
}

/// Facts that a sender knows before its first packet.
#[derive(Clone, Copy, Debug, Default)]
pub struct Path {
    /// Payload of a full packet.
    pub mss: Bytes,
    /// Length of a full packet on the wire.
    pub frame: Bytes,
    /// Payload that it may send before the first acknowledgement.
    pub initial_window: Bytes,
    /// Rate of the host's own link, or the sum of those over which it spreads the flow's packets.
    pub line_rate: Rate,
    /// Number of these links; 0 stands for one.
    pub ports: u32,
    /// Number of switches between the hosts.
    pub switches: u32,
    /// Round trip of a full packet and its acknowledgement, with all queues empty.
    pub base_rtt: Time,
    /// Queue that the slowest link of the path needs to stay busy, as a time: that of a few full packets, and of more where the
    /// network sprays packets.
    pub least_queue: Time,
    /// Seed of the flow's random draws ([`crate::rng`]).
    pub seed: u64,
    /// Other active flows of the same sender.
    pub active: u32,
    /// When the flow starts.
    pub now: Time,
}

/// Limits of a sender until its next decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decision {
    /// Payload that may be in flight, over any transport but credits. A flow with nothing in flight may always send one
    /// packet.
    pub window: Bytes,
    /// The rate at which packets leave, headers included; without one they leave when the window lets them.
    pub pace: Option<Rate>,
    /// When [`Sender::on_wake`] is to be called; a later decision replaces it.
    pub wake: Option<Time>,
}

impl Decision {
    /// Creates a decision with a window only.
    #[must_use]
    pub const fn window(window: Bytes) -> Self {
        Self { window, pace: None, wake: None }
    }
}

/// Pieces of data that are acknowledged as one, for transports without a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segments {
    /// Payload of each.
    pub size: Bytes,
    /// Whether the frames of a segment leave in a burst, and the pace only spaces segments.
    pub at_once: bool,
    /// The rate of such a burst if it is below that of the link; never less than the pace.
    pub burst_rate: Option<Rate>,
}

/// A reaction point: a pure state machine.
///
/// The caller calls it in time order, reads [`Sender::decision`] after each call, and calls `on_wake` exactly at the
/// requested time.
pub trait Sender: Debug + Send + dyn_clone::DynClone {
    /// Handles an acknowledgement, or the answer to a packet that was trimmed ([`Ack::trimmed`]).
    fn on_ack(&mut self, now: Time, ack: &Ack);

    /// Handles a loss: called once for each window of data, and at every timeout.
    fn on_loss(&mut self, now: Time, loss: &Loss);

    /// Returns whether [`Self::on_sent`] is to be called. The transport asks once, before the first packet.
    fn hears_departures(&self) -> bool {
        false
    }

    /// Handles a frame of data that left the host, whose length it gets, after the pace has fixed the departure of the next one. Returns
    /// whether the decision changed.
    fn on_sent(&mut self, _now: Time, _sent: Bytes) -> bool {
        false
    }

    /// Returns whether it asks for delivery-rate samples ([`Ack::delivery`]) and for the three events below, which cost memory for each
    /// packet in flight. The transport asks once, before the first packet. Credits have no samples.
    fn samples_delivery(&self) -> bool {
        false
    }

    /// Handles the loss of a packet: called for each one, before [`Self::on_loss`] and before [`Self::on_ack`].
    fn on_packet_lost(&mut self, _now: Time, _lost: &LostPacket) {}

    /// Takes back the losses since the last window reduction or timeout: every packet that was thought lost has arrived without its
    /// retransmission. Called before [`Self::on_ack`].
    fn on_spurious_loss(&mut self, _now: Time) {}

    /// Handles the departure of the first packet after an idle time: the application had no data, and nothing was in flight. Called before
    /// the pace of that packet is computed.
    fn on_restart(&mut self, _now: Time) {}

    /// Returns the time between two probes of its path, if it asks for some: frames as long as those of its data, which go before data at
    /// every port. The transport asks once, before the first packet. Only TCP with a pace sends them.
    fn probe_interval(&self) -> Option<Time> {
        None
    }

    /// Handles the answer to a probe, with its round trip.
    fn on_probed(&mut self, _now: Time, _rtt: Time) {}

    /// Handles the least rate that the ports on the path offer. Called only if ports offer rates.
    fn on_offer(&mut self, _now: Time, _rate: Rate) {}

    /// Returns whether its packets leave through the pacer of its server. Called only by hosts with a pacer.
    fn goes_through_pacer(&self, _now: Time) -> bool {
        false
    }

    /// Handles the records of all hops in the newest acknowledged packet, before [`Self::on_ack`]. Called only if ports write
    /// records.
    fn on_records(&mut self, _now: Time, _hops: &[HopRecord]) {}

    /// Handles the counters of packets in an acknowledgement, before [`Self::on_ack`]. Called only if the receiver counts packets.
    fn on_counts(&mut self, _now: Time, _counts: &Counts) {}

    /// Returns how long the host takes to answer a credit. Called only by transports that send on credits.
    fn answer_time(&mut self) -> Time {
        Time::ZERO
    }

    /// Handles a congestion notification.
    fn on_notification(&mut self, _now: Time) {}

    /// Called at the time of [`Decision::wake`].
    fn on_wake(&mut self, _now: Time) {}

    /// Takes a window and a pace that another program sets; returns whether it does, which [`Traits::is_driven`] says as well.
    ///
    /// [`Traits::is_driven`]: crate::traits::Traits::is_driven
    fn adopt(&mut self, _window: Bytes, _pace: Option<Rate>) -> bool {
        false
    }

    /// Returns the present decision.
    fn decision(&self) -> Decision;

    /// Handles an acknowledgement and returns the decision: one virtual call for the most frequent event.
    fn decide_on(&mut self, now: Time, ack: &Ack) -> Decision {
        self.on_ack(now, ack);
        self.decision()
    }

    /// Returns how a transport without a window divides its data.
    fn segments(&self) -> Segments {
        Segments { size: Bytes(16_000), at_once: false, burst_rate: None }
    }

    /// Returns true once it has drawn a random number from the seed of its flow.
    fn has_drawn(&self) -> bool {
        false
    }

    /// Reports internal values for plots; a name ends in its unit.
    fn probe(&self, _record: &mut dyn FnMut(&'static str, f64)) {}
}

dyn_clone::clone_trait_object!(Sender);
