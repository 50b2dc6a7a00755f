//! A stalled run stops and names a flow; a run that makes progress does not.

use crate::networks::{MTU, control, flow, network, run, run_open, star, until_done};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Balancing, Change, Fault, FlowSpec, Network, Nic, Progress, Simulation};

/// From host 0 to 1; the switch's port towards host 1 holds `buffer`.
fn narrow(name: &str, buffer: Bytes) -> Network {
    let mut network = star(2);
    network.ports[3].buffer = buffer;
    network.controls = vec![control(name)];
    network.flows = vec![flow(0, 1, Bytes(30_000))];
    until_done(network)
}

/// A port that holds no full frame drops every one of them, for ever.
#[test]
fn retransmissions_that_repeat_for_ever_end_the_run() {
    for name in ["reno", "timely", "dcqcn"] {
        let answer = run_open(narrow(name, Bytes(1000)));
        let [problem] = &answer.problems[..] else { panic!("{name}: {:?}", answer.problems) };
        assert!(problem.starts_with("flow 0 cannot make progress"), "{name}: {problem}");
        // Fifteen timeouts of at most a second each, noticed at the next look.
        assert!(answer.ended <= Time::from_secs(15.0 * 1.5 + 1.0), "{name}: {}", answer.ended);
        assert_eq!(run(narrow(name, MTU)).flows[0].delivered, 30_000, "{name}");
    }
}

/// Two paths lead there and back, and each packet takes one at random. One link loses all packets, and the buffer beside it holds none:
/// the run names the link that fails, whichever of the two the flow's own path is, and on the way back too.
#[test]
fn a_sprayed_flow_that_is_stuck_names_the_link_on_any_of_its_paths() {
    let cables = [(0, 2), (2, 3), (2, 4), (3, 5), (4, 5), (5, 1)];
    for (fails, narrow) in [(2, 4), (4, 2), (7, 9), (9, 7)] {
        let mut network = network(2, 6, &cables);
        network.ports[narrow].buffer = Bytes(20);
        network.balancing = Balancing::Packet;
        network.controls = vec![control("reno")];
        network.faults = vec![Fault { at: Time::ZERO, link: fails, change: Change::Loss(1.0) }];
        network.flows = vec![flow(0, 1, Bytes(30_000))];
        let answer = run_open(until_done(network));
        let [problem] = &answer.problems[..] else { panic!("{fails}: {:?}", answer.problems) };
        let named = format!("; link {fails}, on the path of flow 0, loses all packets");
        assert!(problem.starts_with("flow 0 cannot make progress") && problem.ends_with(&named), "{fails}: {problem}");
    }
}

/// While others get on, or are still to begin, nothing is stuck for good; a lone flow in time is not either.
#[test]
fn who_waits_beside_others_is_left_alone() {
    let mut network = narrow("reno", Bytes(1000));
    (network.duration, network.until_done) = (Time::from_secs(51.0), false);
    network.flows.push(FlowSpec { start: Time::from_secs(50.0), ..flow(1, 0, Bytes(30_000)) });
    let answer = run(network);
    assert_eq!(answer.ended, Time::from_secs(51.0));
    assert_eq!(answer.flows[1].delivered, 30_000);
}

/// A timer that begins at its longest, an acknowledgement that waits, a packet a second: slow, and lawful.
#[test]
fn slow_is_not_stuck() {
    let mut network = network(2, 3, &[(0, 2), (1, 2)]);
    network.ports.iter_mut().for_each(|port| (port.rate, port.delay) = (Rate(1_000_000), Time::from_millis(1900)));
    network.flows = vec![flow(0, 1, Bytes(200_000))];
    network.host.rto_initial = Time::from_millis(1000);
    network.controls[0].acks_every = 2;
    network.host.ack_delay = Time::from_millis(900);
    assert_eq!(run(until_done(network)).flows[0].delivered, 200_000);
}

/// A NIC accepts a whole window, ten times what its link carries: the run stops at the limit, names the flow, and keeps its results.
#[test]
fn packets_that_would_fill_the_memory_end_the_run() {
    let mut network = star(2);
    network.host.nic = Nic::Fifo;
    network.host.initial_window = Bytes(1460 * 2000);
    network.flows = vec![flow(0, 1, Bytes(1460 * 50)), flow(1, 0, Bytes(1460 * 100_000))];
    let network = until_done(network);
    let ending_at = |most| {
        let limited = Network { max_packets: most, ..network.clone() };
        let mut simulation = Simulation::new(limited).expect("a lawful network");
        while simulation.advance(1_000_000) == Progress::Running {}
        simulation.finish()
    };
    let crowded = ending_at(1000);
    let [problem] = &crowded.problems[..] else { panic!("{:?}", crowded.problems) };
    assert!(problem.starts_with("1000 packets are in flight (0 MiB), the limit of a run; "), "{problem}");
    assert!(
        problem.contains(
            "; 950 of them are at the NIC of host 1, 950 of these from flow 1 (reno); expected hosts.nic = \"fair\""
        ),
        "{problem}"
    );
    assert_eq!(crowded.ports[2].in_flight, 950);
    run(network);
}

/// A turn ends while a NIC takes one window after the other: who wants to stop the run waits for a million packets at most,
/// and those of one window more. Several domains stop between what they go through together.
#[test]
fn a_turn_ends_while_a_nic_takes_millions() {
    const WINDOW: u64 = 300_000;
    let mut network = star(2);
    network.host.nic = Nic::Fifo;
    network.host.initial_window = Bytes(1460 * WINDOW);
    let starts = (0..8).map(|number| Time::from_micros(100 * number));
    network.flows = starts.map(|start| FlowSpec { start, ..flow(0, 1, Bytes(1460 * WINDOW)) }).collect();
    for domains in [1, 2] {
        let mut simulation = Simulation::parted(until_done(network.clone()), domains).expect("a lawful network");
        assert_eq!(simulation.advance(1_000_000), Progress::Running);
        let sent: u64 = simulation.finish().ports.iter().map(|port| port.in_flight).sum();
        assert!((1 << 20..(1 << 20) + 2 * WINDOW).contains(&sent), "{domains} domains: {sent}");
    }
}
