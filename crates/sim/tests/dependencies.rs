//! Flows that wait for several other flows.

mod networks;

use networks::{assert_the_same_in_domains, control, fat_tree, flow, run, star, until_done};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::spec::network::{FlowSpec, Network};

const DELAY: Time = Time::from_micros(7);

/// A flow that starts 7 us after all of `after`.
fn dependent(src: u32, dst: u32, after: &[u32]) -> FlowSpec {
    FlowSpec { start: DELAY, after: after.to_vec(), ..flow(src, dst, Bytes(30_000)) }
}

fn with_flows(mut network: Network, flows: Vec<FlowSpec>) -> Network {
    network.controls = vec![control("dctcp")];
    network.flows = flows;
    until_done(network)
}

/// Flows 0 and 1 end at host 0, and flow 2 begins there and is the longest. Its sender knows the end when the acknowledgement of
/// 64 B has crossed two links of 10 Gbps and 1 us: 2 * (51.2 ns + 1 us) after the last byte arrived.
#[test]
fn a_flow_starts_when_the_last_of_its_predecessors_has_finished_at_its_host() {
    let first = [flow(1, 0, Bytes(30_000)), flow(2, 0, Bytes(90_000)), flow(0, 3, Bytes(3_000_000))];
    let waiting = [dependent(0, 4, &[0, 1]), dependent(0, 4, &[1, 2]), dependent(4, 3, &[1, 0])];
    let flows = run(with_flows(star(5), [first, waiting].concat())).flows;
    let received = flows[0].finish.max(flows[1].finish);
    let known = flows[2].finish + Time::from_nanos(2102) + Time(400);
    assert!(known > received);
    let starts = [3, 4, 5].map(|flow: usize| flows[flow].start);
    assert_eq!(starts, [received, known, received].map(|time| time + DELAY));
}

/// A reduction over a tree: each host of a group of four sends to the first, which then sends on, and so does the last one.
#[test]
fn dependencies_are_the_same_in_any_number_of_domains() {
    let mut flows: Vec<_> = (0..16)
        .filter(|src| src % 4 > 0)
        .map(|src| flow(src, src / 4 * 4, Bytes(20_000 + u64::from(src) * 999)))
        .collect();
    for group in 1..4 {
        flows.push(dependent(group * 4, 0, &[group * 3, group * 3 + 1, group * 3 + 2]));
    }
    flows.push(dependent(0, 9, &[0, 1, 2, 12, 13, 14]));
    flows.push(dependent(0, 6, &[15]));
    let network = with_flows(fat_tree(4), flows);
    assert!(run(network.clone()).flows.iter().all(|flow| flow.finish < Time::MAX));
    assert_the_same_in_domains("reduction", &network, &[(2, 1), (4, 1), (8, 1), (2, 2), (4, 3)]);
}
