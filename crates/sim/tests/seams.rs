//! The seams of the network, each by a small use of it: packets that are sprayed, links that fail, somebody who looks on.

use crate::networks::{MTU, control, fat_tree, flow, leaf_spine, one_class, run, scheduled, until_done, up};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Answer, Balancing, Change, Fault, FlowSpec, Network, PacketLog, Progress, Simulation};

fn sent_up(answer: &Answer, spines: u32) -> Vec<u64> {
    (0..spines).map(|spine| answer.ports[up(spine) as usize].counters.sent).collect()
}

/// A flow of 1000 packets: ECMP sends all of them one way; at random each of four gets 250, within five deviations of 13.7.
#[test]
fn packets_are_sprayed_over_equal_paths() {
    let of = |balancing| sent_up(&run(Network { balancing, ..leaf_spine(4) }), 4);
    let mut flow = of(Balancing::Flow);
    flow.sort_unstable();
    assert_eq!(flow, [0, 0, 0, 1000]);
    for balancing in [Balancing::Packet, Balancing::Queue] {
        let sent = of(balancing);
        // What overtakes is sent again: more than 1000 in all.
        assert!(sent.iter().sum::<u64>() >= 1000, "{sent:?}");
        let all: u64 = sent.iter().sum();
        assert!(sent.iter().all(|&n| n.abs_diff(all / 4) < 70), "{balancing:?}: {sent:?}");
    }
}

/// Sixteen hosts, each to the one in the next pod: by flows some links carry two, sprayed all carry the same.
#[test]
fn spraying_leaves_no_link_out() {
    let of = |balancing| {
        let mut network = fat_tree(4);
        network.controls = vec![control("dctcp")];
        network.flows = (0..16).map(|src| flow(src, (src + 4) % 16, Bytes(300_000))).collect();
        run(Network { balancing, ..until_done(network) })
    };
    let idle = |answer: &Answer| answer.ports.iter().filter(|port| port.delivered == 0).count();
    assert!(idle(&of(Balancing::Flow)) > 0);
    assert_eq!(idle(&of(Balancing::Packet)), 0);
}

/// One of two ways goes down for good: who chooses for each packet takes the other at once.
#[test]
fn sprayed_packets_go_round_a_link_that_is_down() {
    for spine in [0, 1] {
        let mut network = scheduled(leaf_spine(2), one_class(), false);
        network.balancing = Balancing::Packet;
        network.faults = vec![Fault { at: Time::from_micros(100), link: up(spine), change: Change::Down }];
        let answer = run(network);
        assert_eq!(answer.flows[0].delivered, 1_460_000);
        let sent = sent_up(&answer, 2);
        assert!(sent[spine as usize] < 100 && sent[1 - spine as usize] > 900, "{sent:?}");
    }
}

fn logged(network: Network) -> (Answer, String) {
    let mut simulation = Simulation::observed(network, PacketLog::new(Vec::new())).expect("a lawful network");
    while simulation.advance(1000) == Progress::Running {}
    let (answer, log) = simulation.finish_observed();
    assert!(log.error.is_none());
    (answer, String::from_utf8(log.into_inner()).expect("lines of text"))
}

/// Two packets over four links and their acknowledgements back: each is queued and delivered four times.
#[test]
fn who_looks_on_hears_everything_and_changes_nothing() {
    let two = |mut network: Network| {
        network.flows = vec![FlowSpec { start: Time::from_micros(3), ..flow(0, 1, Bytes(2000)) }];
        (network.until_done, network.duration) = (false, Time::from_millis(1));
        network
    };
    let (answer, log) = logged(two(leaf_spine(1)));
    assert_eq!(answer.fingerprint, run(two(leaf_spine(1))).fingerprint);
    let count = |what: &str| log.lines().filter(|line| line.contains(what)).count() as u64;
    assert_eq!((count(" queued "), count(" delivered "), answer.packet_hops), (16, 16, 16));
    assert!(log.starts_with("3000000 began flow 0\n3000000 queued 0 flow 0 data 0 1500 B\n"), "{log}");
    assert!(log.contains(" finished flow 0"), "{log}");
    let mut narrow = two(leaf_spine(1));
    narrow.ports[up(0) as usize].buffer = MTU - Bytes(1);
    assert!(logged(narrow).1.contains(&format!(" dropped {} flow 0 data 0 1500 B", up(0))));
}
