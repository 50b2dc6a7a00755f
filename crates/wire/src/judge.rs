//! The verdict on a run over loopback: the machine kept up, or the run is rejected.

use shallows_contract::answer;
use shallows_contract::lateness::{Allowance, Lateness};
use shallows_sim::{Network, PortReport, paths};

use crate::emulation::Outcome;

/// The verdict, with the record on which it rests.
///
/// # Errors
/// A sentence about a flow without a path.
pub fn judge(network: &Network, outcome: &Outcome) -> Result<answer::Lateness, String> {
    let Outcome { answer, lateness, lost, datagrams, .. } = outcome;
    let round_trip = longest_round_trip(network, &answer.ports)?;
    let lost = (*lost > 0).then(|| {
        format!(
            "{lost} of {datagrams} datagrams were lost between the hosts and the switches: a socket's buffer was full"
        )
    });
    let reason = lost.or_else(|| lateness.reject(Allowance { round_trip, span: answer.measured.0 / 1000 }));
    let Lateness { deliveries, looks, longest_gap, stalled } = lateness;
    Ok(answer::Lateness {
        accepted: reason.is_none(),
        reason,
        round_trip_us: round_trip as f64 / 1000.0,
        deliveries: deliveries.into(),
        looks: looks.into(),
        stamps: None,
        given_up: 0.0,
        seen_round_trip_us: None,
        network_round_trip_us: None,
        headroom_us: None,
        longest_gap_us: *longest_gap as f64 / 1000.0,
        stalled_us: *stalled as f64 / 1000.0,
        unroutable: 0,
    })
}

/// Propagation of the longest flow in both directions and the longest mean delay of a port, ns.
fn longest_round_trip(network: &Network, ports: &[PortReport]) -> Result<u64, String> {
    let flows: Vec<_> = (0..network.flows.len() as u32).collect();
    let paths = paths(network, &flows)?;
    let delay = |ports: &[u32]| ports.iter().map(|&port| network.ports[port as usize].delay.0).sum::<u64>();
    let longest = paths.iter().map(|both| both.iter().map(|path| delay(&path.ports)).sum::<u64>()).max();
    let waits = |port: &PortReport| port.counters.sojourn as f64 / (port.counters.sent as f64).max(1.0);
    let wait = ports.iter().map(waits).fold(0.0, f64::max);
    Ok((longest.unwrap_or(0) + wait as u64) / 1000)
}
