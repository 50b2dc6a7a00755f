//! Tasks that wait for others: flows and computations.

use crate::networks::{assert_the_same_in_domains, control, fat_tree, flow, run, star, until_done};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{ComputationSpec, FlowSpec, Network, Wait};

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
    let mut waiting = [dependent(0, 4, &[0, 1]), dependent(0, 4, &[1, 2]), dependent(4, 3, &[1, 0])];
    waiting[2].wait.global = true;
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

const US: fn(u64) -> Time = Time::from_micros;

/// A computation of `micros` on processor 0 that starts 7 us after `after`.
fn computation(host: u32, micros: u64, after: &[u32]) -> ComputationSpec {
    let (after, behind) = (after.to_vec(), Vec::new());
    ComputationSpec { host, duration: US(micros), start: DELAY, processor: 0, after, behind, wait: Wait::ALL }
}

fn times(network: &Network) -> Vec<(Time, Time)> {
    run(network.clone()).computations.iter().map(|one| (one.start, one.finish)).collect()
}

/// Host 0 computes, sends to host 1, which computes and answers; then host 0 computes again.
#[test]
fn messages_and_computations_follow_each_other() {
    let mut network = with_flows(star(3), vec![dependent(0, 1, &[2]), dependent(1, 0, &[3])]);
    network.computations = vec![computation(0, 10, &[]), computation(1, 20, &[0]), computation(0, 30, &[1])];
    let flows = run(network.clone()).flows;
    let (first, last) = (DELAY + US(10) + DELAY, flows[1].finish + DELAY);
    assert_eq!(flows[0].start, first);
    let between = flows[0].finish + DELAY;
    assert_eq!(flows[1].start, between + US(20) + DELAY);
    assert_eq!(times(&network), [(DELAY, DELAY + US(10)), (between, between + US(20)), (last, last + US(30))]);
    let answer = run(network);
    assert_eq!(answer.ended, last + US(30));
}

/// Two computations are ready at 7 us, a third one at 8 us; another processor does not wait.
#[test]
fn a_processor_executes_one_computation_at_a_time() {
    let mut network = with_flows(star(3), Vec::new());
    network.computations = [10, 20, 5, 1].map(|micros| computation(1, micros, &[])).to_vec();
    network.computations[1].start = US(8);
    network.computations[3].processor = 1;
    assert_eq!(times(&network), [(7, 17), (22, 42), (17, 22), (7, 8)].map(|(start, end)| (US(start), US(end))));
}

/// Of computations of 10, 20 and 30 us on processors of their own, two are enough.
#[test]
fn k_of_n_start_a_task_once() {
    let mut network = with_flows(star(3), Vec::new());
    network.computations = [(10, 1), (20, 2), (30, 3)]
        .map(|(micros, processor)| ComputationSpec { processor, ..computation(1, micros, &[]) })
        .to_vec();
    let wait = Wait { needs: 2, global: false };
    network.computations.push(ComputationSpec { wait, ..computation(1, 1, &[0, 1, 2]) });
    assert_eq!(times(&network)[3], (US(7 + 20 + 7), US(35)));
}

/// A computation may wait for the data of a flow: ten full frames of 1.2 us, of which the last begins after 10.8 us.
#[test]
fn a_computation_waits_for_data_to_be_sent() {
    let mut network = with_flows(star(3), vec![flow(0, 1, Bytes(14_600))]);
    network.computations = vec![ComputationSpec { behind: vec![0], start: Time::ZERO, ..computation(0, 5, &[]) }];
    assert_eq!(times(&network)[0].0, Time::from_nanos(9 * 1200));
}

/// Host 2 takes no part in the flow from 0 to 1, whose last byte it learns of at once.
#[test]
fn a_task_at_a_third_host_must_be_global() {
    let mut network = with_flows(star(3), vec![flow(0, 1, Bytes(14_600)), dependent(2, 1, &[0])]);
    let refused = network.check().unwrap_err().to_string();
    assert_eq!(refused, "wait.global of flow 1 = false: expected true: task 0 does not end at host 2");
    network.flows[1].wait.global = true;
    let flows = run(network.clone()).flows;
    assert_eq!(flows[1].start, flows[0].finish + DELAY);
    let domains = shallows_sim::Simulation::parted(network, 3).unwrap().domains();
    assert_eq!(domains, 1);
}

#[test]
fn what_can_never_start_is_refused() {
    let refused = |flows: Vec<FlowSpec>, computations: Vec<ComputationSpec>| {
        let network = Network { computations, ..with_flows(star(3), flows) };
        network.check().unwrap_err().to_string()
    };
    let cycle =
        "predecessors = computation 1, flow 0: expected no cycle: each waits for the next, and the last for the first";
    let computations = vec![computation(0, 1, &[]), computation(0, 1, &[0])];
    let found = refused(vec![dependent(0, 1, &[2])], computations);
    assert!(found == cycle || found == cycle.replace("computation 1, flow 0", "flow 0, computation 1"), "{found}");
    let many = ComputationSpec { wait: Wait { needs: 2, global: false }, ..computation(0, 1, &[0]) };
    let needs = "wait.needs of computation 0 = 2: expected at most its 1 predecessors";
    assert_eq!(refused(vec![flow(0, 1, Bytes(1))], vec![many]), needs);
    let endless = refused(vec![flow(0, 1, Bytes::MAX)], vec![computation(0, 1, &[0])]);
    assert_eq!(endless, "after of computation 0 = 0: expected a task below 2 with an end");
    let away = refused(vec![], vec![computation(3, 1, &[])]);
    assert_eq!(away, "computations.host[0] = 3: expected one of 3 hosts");
}

/// A cycle of which one member needs only one of its two predecessors can start.
#[test]
fn a_cycle_that_can_start_is_allowed() {
    let mut network = with_flows(star(3), Vec::new());
    let wait = Wait { needs: 1, global: false };
    network.computations =
        vec![computation(0, 1, &[]), ComputationSpec { wait, ..computation(0, 1, &[0, 2]) }, computation(0, 1, &[1])];
    assert_eq!(times(&network)[2].1, US(24));
}

/// Every host computes and sends to the next, forty times, with durations of its own: the run ends with a computation.
#[test]
fn computations_are_the_same_in_any_number_of_domains() {
    let (hosts, rounds) = (16, 40);
    let mut network = with_flows(fat_tree(4), Vec::new());
    for round in 0..rounds {
        for host in 0..hosts {
            let flows = hosts * rounds;
            let own = flows + round * hosts + host;
            let received = (round > 0).then(|| (round - 1) * hosts + (host + hosts - 1) % hosts);
            network.flows.push(dependent(host, (host + 1) % hosts, &[own]));
            let micros = u64::from(host * 3 + round * 7) % 11;
            network.computations.push(computation(host, micros, received.as_slice()));
        }
    }
    network.computations.push(computation(3, 900, &[2 * hosts * rounds - 13]));
    let answer = run(network.clone());
    assert_eq!(answer.computations.iter().map(|one| one.finish).max(), Some(answer.ended));
    assert_the_same_in_domains("rounds", &network, &[(2, 1), (4, 1), (8, 1), (2, 2), (4, 3)]);
}
