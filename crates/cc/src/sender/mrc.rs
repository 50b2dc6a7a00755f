//! MRC (Multipath Reliable Connection): the window of [`nscc`] over many entropy values, each of which stands for a path.
//! The parameters of the values, of probes and of loss detection are here; [`Values`](Multipath) are kept by the path selection of hosts.
//!
//! | MRC | name | meaning |
//! |---|---|---|
//! | entropy values (EV) | `values`, `spares` | values of a connection, and those that replace withdrawn ones of the same plane |
//! | `ev_min_active` | `ev_min_active` | values that stay in use whatever is assumed of them |
//! | SKIP | - | a value whose packet was marked, or trimmed before the last hop, misses one rotation |
//! | ASSUMED_BAD | `bad_after` | a value whose packets were lost is withdrawn until a probe of it is answered |
//! | EV probe | `value_probe` | time between the probes of a withdrawn value |
//! | reliability probe | `silence` | time without an answer after which the connection is probed |
//! | SACK | `reordering` | how much later a packet must have left whose answer shows that an earlier one is lost |
//! | port status update | `port_status` | hosts tell their peers which of their ports are down |
//!
//! Source: OCP Multipath Reliable Connection 1.0 (2026-03-21), from its control interface (`mrc_ctl.h`) and public descriptions; Ultra Ethernet
//! Specification 1.0 for the window.

use crate::multipath::Multipath;
use crate::parameter::{Parameter, Values, flag, number, time};
use crate::sender::nscc;
pub use crate::sender::nscc::{PRESETS, TRAITS, build};
use crate::units::Time;

/// Source of values that the public descriptions leave open.
const OPEN: &str = "ours: the public descriptions of MRC 1.0 leave it open";

/// Parameters of values, probes and loss detection.
const OWN: &[Parameter] = &[
    number("values", "-", 128.0, 1.0..=16384.0)
        .meaning("entropy values of a connection, equally many for each plane")
        .source("MRC 1.0: 128 to 256"),
    number("spares", "-", 32.0, 0.0..=16384.0)
        .meaning("further values, equally many for each plane, which replace withdrawn ones of their plane")
        .source(OPEN),
    number("ev_min_active", "ev_min_active", 0.0, 0.0..=16384.0)
        .meaning("values that stay in use, however many are assumed bad; 0: half of them")
        .source("MRC 1.0 has the bound; half: ours"),
    number("bad_after", "-", 2.0, 0.0..=1000.0)
        .meaning("packets with a value in a row, found lost by acknowledgements, after which it is assumed bad; 0: never. A timeout suffices")
        .source("timeouts: MRC 1.0; two packets: ours, so that random loss withdraws few values"),
    time("value_probe", "-", 0.0, 0.0..=1000.0)
        .meaning("time between two probes of a value that is assumed bad; 0: the initial retransmission timeout")
        .source("left open by MRC 1.0; the timeout: an ns-3 model of it (BulkyCI)"),
    number("silence", "-", 4.0, 0.0..=1e6)
        .meaning("time without an answer after which the connection is probed, in base_rtt, doubled for each probe; 0: never")
        .source(OPEN),
    number("reordering", "-", 1.5, 0.0..=1e6)
        .meaning(
            "a packet is lost if one has arrived that left later by more than this, in base_rtt; 0: losses are found by timeouts only",
        )
        .source("ours: the queue at which the last hop of Ultra Ethernet trims delays a packet for so long"),
    flag("port_status", "-", true)
        .meaning("hosts tell their peers which of their ports are down, and peers send nothing there")
        .source("MRC 1.0: port status update"),
];

/// Those of NSCC, then those of MRC.
pub const PARAMETERS: &[Parameter] = &joined();

const fn joined() -> [Parameter; nscc::PARAMETERS.len() + OWN.len()] {
    let mut all = [OWN[0]; nscc::PARAMETERS.len() + OWN.len()];
    let mut at = 0;
    while at < all.len() {
        all[at] = if at < nscc::PARAMETERS.len() { nscc::PARAMETERS[at] } else { OWN[at - nscc::PARAMETERS.len()] };
        at += 1;
    }
    all
}

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Answers to several packets at once: each packet is answered by itself, with the cumulative number and the next 64 packets.",
    "The receiver's penalty, the probe of base_rtt and the rate of the receiver, as of NSCC.",
    "The state DENIED, by which a controller withdraws values; values that are fields of bits a tier, and static routes (SRv6): \
     switches hash values.",
    "A set of values for answers, and its probes: answers have the value of the packet that they answer, and leave by the port of their \
     host that is free first and that the peer has not reported down.",
    "Probes that a node answers: the flow answers all of them.",
    "Probes in the class of data where a flow of gap probes before data in the same network: there all probes go before it.",
    "Negative answers other than those of trimmed packets (no bitmap, no buffer, out of the window), and a limit of 64 packets behind the \
     first missing one: receivers have room for every packet.",
    "The code point of retransmissions: they are in the class of data.",
    "Writes with immediate data, whose completions are in order: a flow is complete when all its bytes have arrived.",
];

/// Reads the parameters for a path with this empty round trip.
#[must_use]
pub fn multipath(values: &Values, base_rtt: Time) -> Multipath {
    let count = |name| values.get(name) as u32;
    let above_zero = |time: Time| Some(time).filter(|&time| time > Time::ZERO);
    let base_rtt = above_zero(values.time("base_rtt")).unwrap_or(base_rtt);
    let in_base_rtt = |name| above_zero(base_rtt.scale(values.get(name)));
    let min_active = Some(count("ev_min_active")).filter(|&least| least > 0);
    Multipath {
        values: count("values"),
        spares: count("spares"),
        min_active: min_active.unwrap_or(count("values") / 2),
        bad_after: Some(count("bad_after")).filter(|&losses| losses > 0),
        value_probe: above_zero(values.time("value_probe")),
        silence: in_base_rtt("silence"),
        reordering: in_base_rtt("reordering"),
        port_status: values.flag("port_status"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Half of 256 values; 8 us times 4 and 1.5; the initial timeout stands for no time of probes.
    #[test]
    fn times_follow_the_base_round_trip() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("values", 256.0).expect("a parameter");
        values.set("base_rtt", 8e-6).expect("a parameter");
        let rules = multipath(&values, Time::from_micros(100));
        assert_eq!((rules.values, rules.spares, rules.min_active, rules.bad_after), (256, 32, 128, Some(2)));
        assert_eq!((rules.silence, rules.reordering), (Some(Time::from_micros(32)), Some(Time::from_micros(12))));
        assert_eq!((rules.value_probe, rules.port_status), (None, true));
        for name in ["bad_after", "silence", "reordering"] {
            values.set(name, 0.0).expect("a parameter");
        }
        let rules = multipath(&values, Time::from_micros(100));
        assert_eq!((rules.bad_after, rules.silence, rules.reordering), (None, None, None));
    }
}
