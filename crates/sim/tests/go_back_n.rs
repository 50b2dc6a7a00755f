//! RoCE-like flows where buffers drop: every one ends.

use crate::networks::{MTU, assert_ends_after_timeouts, control, flow, last, marking, network, run, until_done};
use shallows_cc::port::MarkAt;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::Network;

/// `senders` at one switch, a receiver at the other, 10 Gbps between them; every switch's port holds `frames`.
fn incast(name: &str, senders: u32, edge: Rate, frames: u64, bytes: u64) -> Network {
    let (left, right) = (senders + 1, senders + 2);
    let mut cables: Vec<_> = (0..senders).map(|host| (host, left)).collect();
    cables.extend([(senders, right), (left, right)]);
    let mut network = network(senders + 1, senders + 3, &cables);
    for port in &mut network.ports {
        let at_host = port.from <= senders || port.to <= senders;
        (port.rate, port.delay) =
            if at_host { (edge, Time::from_micros(2)) } else { (port.rate, Time::from_micros(6)) };
        port.buffer = if port.from <= senders { Bytes::MAX } else { MTU * frames };
    }
    network.controls = vec![control(name)];
    network.flows = (0..senders).map(|sender| flow(sender, senders, Bytes(bytes))).collect();
    let network = if name == "dcqcn" { marking(network, "red", MarkAt::Enqueue) } else { network };
    until_done(network)
}

/// Where hosts are faster than the core, their bursts lose the same frames again and again. 288 runs. None ends before the core can have
/// sent the bytes. A timeout takes a second at most; but for those each frame and each copy leaves at 10 Mbps, the least rate, or faster, which
/// is 1.2 ms, and the last one arrives within .1 ms.
#[test]
fn every_flow_ends_whatever_is_dropped() {
    let mut dropped = 0;
    for name in ["timely", "dcqcn"] {
        for gbps in [40, 100] {
            for frames in [5, 6, 8, 10, 12, 15, 20, 30, 50] {
                for (senders, bytes) in [2, 3, 4, 8].into_iter().flat_map(|n| [(n, 30_000), (n, 300_000)]) {
                    let answer = run(incast(name, senders, Rate::from_gbps(gbps), frames, bytes));
                    let all = answer.flows.iter().all(|flow| flow.delivered == bytes);
                    assert!(last(&answer).as_secs() * 1e3 > (u64::from(senders) * bytes) as f64 * 8e-7);
                    assert_ends_after_timeouts(&answer, |flow| {
                        assert!(flow.timeout_wait <= Time::from_millis(1000) * flow.timeouts);
                        (bytes.div_ceil(1460) + flow.retransmits) as f64 * 1.2 + 0.1
                    });
                    assert!(all, "{name}, {senders} of {bytes} B at {gbps} Gbps into {frames} frames");
                    dropped += answer.ports.iter().map(|port| port.dropped()).sum::<u64>();
                }
            }
        }
    }
    assert!(dropped > 10_000, "{dropped}");
}
