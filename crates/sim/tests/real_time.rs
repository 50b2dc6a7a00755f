//! Domains in real time, without a clock: they exchange packets in this process, in steps of simulated time.

use shallows_cc::catalog;
use shallows_cc::port::MarkAt;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Answer, Network, RealTimeDomain};

use crate::networks::{control, dumbbell, flow, marking, network, recorded, run_open, star, until_done};

/// The shortest delay of a link in [`dumbbell`]. In a step of this length no packet reaches another domain.
const STEP: Time = Time::from_micros(25);

/// Runs the network in these domains, which exchange packets after each step. Returns the answer, and the sum of all lateness.
fn run_in_steps(network: Network, of: &[u32], step: Time) -> (Answer, Time) {
    let mut parts = RealTimeDomain::divide(network, of).expect("a lawful network");
    let (mut now, mut late) = (Time::ZERO, Time::ZERO);
    while !parts.iter().all(RealTimeDomain::is_over) {
        now += step;
        let mut sent = Vec::new();
        for part in &mut parts {
            part.advance(now);
            part.depart(|to, transit| sent.push((to, transit)));
        }
        sent.into_iter().for_each(|(to, transit)| late += parts[to as usize].arrive(transit));
    }
    (RealTimeDomain::finish(parts), late)
}

/// By node: hosts in domain 0, switches in domain 1.
fn hosts_and_switches(network: &Network) -> Vec<u32> {
    (0..network.nodes).map(|node| u32::from(node >= network.hosts)).collect()
}

/// By node: the first half of the hosts, the other half, switches.
fn three_parts(network: &Network) -> Vec<u32> {
    let of = |node| if node >= network.hosts { 2 } else { u32::from(node >= network.hosts / 2) };
    (0..network.nodes).map(of).collect()
}

/// Four flows for 6 ms, of which the last 5 ms are measured.
fn short(name: &str) -> Network {
    let mut network = recorded(dumbbell(name, 4, Bytes::MAX, 1));
    (network.duration, network.warmup) = (Time::from_millis(6), Time::from_millis(1));
    network.record.goodput = None;
    network
}

/// Everything but the number of events: each domain executes the tasks of its driver.
fn text(answer: &Answer) -> String {
    format!("{:?}", Answer { events: 0, ..answer.clone() })
}

#[test]
fn every_algorithm_gives_the_answer_of_the_packet_world() {
    for row in catalog::ALGORITHMS {
        let network = short(row.name);
        let whole = run_open(network.clone());
        assert_eq!(whole.problems, Vec::<String>::new(), "{}", row.name);
        let (parts, late) = run_in_steps(network.clone(), &hosts_and_switches(&network), STEP);
        assert!(text(&parts) == text(&whole) && late == Time::ZERO, "{}: hosts and switches", row.name);
        let (parts, _) = run_in_steps(network.clone(), &three_parts(&network), STEP);
        assert_eq!((parts.fingerprint, &parts.flows), (whole.fingerprint, &whole.flows), "{}", row.name);
        assert_eq!(parts.problems, Vec::<String>::new(), "{}", row.name);
    }
}

/// Between two domains of hosts the packets of a port that marks at dequeue stay with the port until they are sent.
#[test]
fn ports_that_mark_at_dequeue_send_packets_when_their_marks_are_known() {
    let mut network = marking(dumbbell("dctcp", 4, Bytes::MAX, 1), "step", MarkAt::Dequeue);
    network.duration = Time::from_millis(6);
    network.warmup = Time::from_millis(1);
    let whole = run_open(network.clone());
    assert!(whole.ports[0].counters.marked > 0);
    let (parts, late) = run_in_steps(network.clone(), &hosts_and_switches(&network), STEP);
    assert_eq!((text(&parts), late), (text(&whole), Time::ZERO));
}

/// Steps of 150 us are longer than the delay between a host and its switch, so nearly every packet is late. No packet gets lost.
#[test]
fn late_packets_arrive_at_the_present_and_the_books_close() {
    for name in ["dctcp", "hpcc", "expresspass", "ndp"] {
        let network = short(name);
        let (answer, late) = run_in_steps(network.clone(), &hosts_and_switches(&network), Time::from_micros(150));
        assert_eq!(answer.problems, Vec::<String>::new(), "{name}");
        assert!(late > Time::from_millis(1), "{name}: {late}");
        assert!(answer.flows.iter().all(|flow| flow.delivered > 0), "{name}");
        assert_ne!(answer.fingerprint, run_open(network).fingerprint, "{name}");
    }
}

/// A host of 10 Gbps that sends at its own rate keeps it however coarse the steps are: its pacing timers work at their own times.
#[test]
fn the_pace_of_a_late_domain_is_that_of_its_timers() {
    let mut network = short("dcqcn");
    network.flows.truncate(1);
    network.record.flows = vec![0];
    network.ports.iter_mut().for_each(|port| (port.buffer, port.marking) = (Bytes::MAX, None));
    let nic = network.ports.iter().position(|port| port.from == 0).expect("host 0 has a port");
    let (answer, _) = run_in_steps(network.clone(), &hosts_and_switches(&network), Time::from_micros(500));
    // 5 ms of 10 Gbps are 4166.7 frames of 1500 B.
    assert!((4125..=4167).contains(&answer.ports[nic].counters.sent), "{}", answer.ports[nic].counters.sent);
}

#[test]
fn a_run_may_end_early_in_all_domains_at_once() {
    let network = short("dctcp");
    let of = hosts_and_switches(&network);
    let mut parts = RealTimeDomain::divide(network, &of).expect("a lawful network");
    parts.iter_mut().for_each(|part| part.end_at(Time::from_millis(3)));
    while !parts.iter().all(RealTimeDomain::is_over) {
        let mut sent = Vec::new();
        for part in &mut parts {
            part.advance(part.now() + STEP);
            part.depart(|to, transit| sent.push((to, transit)));
        }
        sent.into_iter().for_each(|(to, transit)| _ = parts[to as usize].arrive(transit));
    }
    let answer = RealTimeDomain::finish(parts);
    assert_eq!((answer.ended, answer.measured), (Time::from_millis(3), Time::from_millis(2)));
    assert_eq!(answer.problems, Vec::<String>::new());
}

#[test]
fn a_domain_knows_when_it_has_something_to_do() {
    let mut one = star(2);
    one.flows = vec![flow(0, 1, Bytes(1460))];
    one.controls = vec![control("reno")];
    let mut parts = RealTimeDomain::divide(one, &[0, 0, 1]).expect("a lawful network");
    // The flow starts at once; the switch waits for packets until the run ends after 50 ms.
    assert_eq!([parts[0].next(), parts[1].next()], [Time::ZERO, Time::from_millis(50)]);
    parts[0].advance(Time::ZERO);
    let mut sent = Vec::new();
    parts[0].depart(|to, transit| sent.push((to, transit.packet.arrives)));
    // 1.2 us at 10 Gbps and 1 us of propagation.
    assert_eq!(sent, [(1, Time::from_nanos(2200))]);
}

#[test]
fn what_needs_all_domains_at_once_is_refused() {
    let mut network = network(2, 3, &[(0, 2), (1, 2)]);
    network.flows = vec![flow(0, 1, Bytes(1460))];
    let refused = |network: &Network| RealTimeDomain::divide(network.clone(), &[0, 0, 1]).expect_err("refused");
    assert!(refused(&until_done(network.clone())).starts_with("duration"));
    assert!(RealTimeDomain::divide(network, &[0, 0]).expect_err("refused").contains("2 domains given for 3 nodes"));
}
