//! Fingerprints on file of what one dumbbell does not have: a choice of ways, pauses, shared memory, priorities, stamps,
//! flows that wait for others, credits over a tree, lone losses. Small and quick, so that a rebuilt part is held at once.

use crate::networks::{
    MTU, assert_the_same_in_domains, control, credits_first, fat_tree, flow, lossless, marking, priority_first,
    recorded, run, scheduled, share, star, trimming, until_done,
};
use shallows_cc::port::MarkAt;
use shallows_cc::receiver::SUBSTITUTES;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{
    Answer, Balancing, FlowSpec, Limit, Network, Nic, PauseSpec, Progress, SharedSpec, Simulation, Timestamps,
    TrafficClass,
};

/// Every host to the one `apart` further on, each later than the one before.
fn shifted(mut network: Network, apart: u32, bytes: u64) -> Network {
    let hosts = network.hosts;
    let start = |src: u32| Time::from_nanos(u64::from(src) * 1700);
    let flows = (0..hosts).map(|src| FlowSpec { start: start(src), ..flow(src, (src + apart) % hosts, Bytes(bytes)) });
    network.flows.extend(flows);
    network
}

/// Sixteen hosts, three ways of sending at once, marks at the switches.
fn ecmp() -> Network {
    let mut network = marking(fat_tree(4), "step", MarkAt::Enqueue);
    network.controls = vec![control("dctcp")];
    [5, 6, 9].into_iter().fold(until_done(network), |network, apart| shifted(network, apart, 300_000))
}

/// A tree that pauses, by thresholds of its own or by a share of the memory.
fn pauses(name: &str, shared: Option<SharedSpec>) -> Network {
    let mut network = scheduled(marking(fat_tree(4), "red", MarkAt::Dequeue), lossless(), true);
    network.classes[0].pause = Some(PauseSpec::at(Bytes(30_000), Bytes(3000)));
    share(&mut network, shared);
    network.controls = vec![control(name)];
    until_done(shifted(shifted(network, 5, 100_000), 6, 70_000))
}

/// Twelve into one through a memory that they share with it, and drops where it is full.
fn shared_memory() -> Network {
    let mut network = scheduled(star(13), crate::networks::one_class(), false);
    share(&mut network, Some(SharedSpec { size: Bytes(200_000), alpha: 1.0 }));
    network.controls = vec![control("cubic")];
    network.flows = (0..12).map(|src| flow(src, 12, Bytes(200_000))).collect();
    until_done(network)
}

/// Short flows that go first, over long ones.
fn priorities() -> Network {
    let mut network = shifted(scheduled(fat_tree(4), priority_first(), false), 6, 400_000);
    let first = network.flows.clone();
    let start = |at: usize| Time::from_micros(at as u64 * 13);
    let short =
        |(at, flow): (usize, &FlowSpec)| FlowSpec { class: 0, bytes: Bytes(9000), start: start(at), ..flow.clone() };
    network.flows.iter_mut().for_each(|flow| flow.class = 1);
    network.flows.extend(first.iter().enumerate().map(short));
    network.classes = vec![TrafficClass::default(); 2];
    until_done(network)
}

/// Delays as software stamps show them, acknowledgements that wait, segments.
fn stamps() -> Network {
    let mut network = shifted(fat_tree(4), 6, 500_000);
    network.controls = vec![control("dx")];
    network.controls[0].acks_every = 2;
    network.host.segment = 4;
    network.host.timestamps = Some(Timestamps {
        burst: 44,
        bucket: 4,
        poll: Time::from_micros(6),
        stack: Time::from_micros(20),
        noise: Time::from_nanos(300),
        drift: 1e-5,
        host_delay_removed: true,
        burst_reduced: true,
        calibrated: true,
    });
    until_done(network)
}

/// Clients that ask, hear, think and ask again, over hosts with one queue each.
fn request_response() -> Network {
    let mut network = star(6);
    network.host.nic = Nic::Fifo;
    network.controls = vec![control("inigo")];
    let (substitute, values) = (&SUBSTITUTES[0], shallows_cc::parameter::Values::defaults(SUBSTITUTES[0].parameters));
    network.controls[0].receiver = Some((substitute, values));
    for client in 0..5 {
        let mut after = Vec::new();
        for exchange in 0..8 {
            let start = Time::from_micros(if exchange == 0 { u64::from(client) } else { 7 });
            network.flows.push(FlowSpec { start, after, ..flow(client, 5, Bytes(100)) });
            let request = network.flows.len() as u32 - 1;
            network.flows.push(FlowSpec {
                start: Time::from_micros(3),
                after: vec![request],
                ..flow(5, client, Bytes(40_000))
            });
            after = vec![request + 1];
        }
    }
    until_done(network)
}

/// Credits cross the same links as what they call, also where there are several ways.
fn credits() -> Network {
    let credit = control("expresspass");
    let mut network = scheduled(fat_tree(4), credits_first(&credit), true);
    network.controls = vec![credit];
    until_done(shifted(shifted(network, 5, 60_000), 6, 100_000))
}

/// Rates that ports offer, over a tree.
fn rates() -> Network {
    let mut network = marking(fat_tree(4), "rcp", MarkAt::Dequeue);
    network.controls = vec![control("rcp")];
    until_done(shifted(shifted(network, 6, 300_000), 9, 30_000))
}

/// Records that every hop writes, over a tree; and what waits for acknowledgements that cover two.
fn records() -> Network {
    let mut network = marking(fat_tree(4), "int", MarkAt::Dequeue);
    network.controls = vec![control("hpcc")];
    network.controls[0].acks_every = 2;
    until_done(shifted(shifted(network, 6, 300_000), 9, 30_000))
}

/// The same through ports with classes that pause.
fn records_paused() -> Network {
    let mut network = pauses("hpcc", None);
    network.markings[0].mechanism = shallows_cc::port::find("int").expect("a row of the table");
    network
}

/// Fifteen into one, and everybody to somebody, over ports that cut all but eight packets and hold ten headers: some find no
/// room and go back.
fn trims(balancing: Balancing) -> Network {
    let mut discipline = trimming();
    discipline.classes[0].limit = Limit::Bytes(Bytes(64 * 10));
    let mut network = scheduled(fat_tree(4), discipline, false);
    network.controls = vec![control("ndp")];
    network.flows = (0..15).map(|src| flow(src, 15, Bytes(90_000))).collect();
    until_done(shifted(Network { balancing, ..network }, 6, 120_000))
}

/// Ports of four frames: timeouts and repairs, of which some are not needed and come after their flow is done.
fn losses(name: &str) -> Network {
    let mut network = shifted(shifted(fat_tree(4), 6, 120_000), 9, 50_000);
    for port in &mut network.ports {
        port.buffer = if port.from < network.hosts { Bytes::MAX } else { MTU * 4 };
    }
    network.controls = vec![control(name)];
    network.duration = Time::from_millis(40);
    network
}

fn all() -> Vec<(&'static str, Network)> {
    let shared = SharedSpec { size: Bytes(120_000), alpha: 0.5 };
    vec![
        ("ecmp", ecmp()),
        ("pauses", pauses("timely", None)),
        ("pauses-dcqcn", pauses("dcqcn", None)),
        ("pauses-shared", pauses("dcqcn", Some(shared))),
        ("shared-memory", shared_memory()),
        ("priorities", priorities()),
        ("stamps", stamps()),
        ("request-response", request_response()),
        ("credits", credits()),
        ("rates", rates()),
        ("records", records()),
        ("records-paused", records_paused()),
        ("trims", trims(Balancing::Flow)),
        ("trims-sprayed", trims(Balancing::Packet)),
        ("losses", losses("reno")),
        ("losses-cubic", losses("cubic")),
        ("losses-roce", losses("dcqcn")),
    ]
}

#[test]
fn every_fabric_gives_the_fingerprint_on_file() {
    let now: Vec<_> = all().into_iter().map(|(name, it)| format!("{name} {:016x}\n", run(it).fingerprint)).collect();
    assert_eq!(
        now.concat(),
        include_str!("fabrics.txt"),
        "if a change of behaviour is meant, put these lines into fabrics.txt"
    );
}

#[test]
fn every_fabric_is_the_same_in_any_number_of_domains() {
    for (name, network) in all() {
        assert_the_same_in_domains(name, &network, &[(2, 1), (3, 1), (4, 1), (8, 1), (2, 2), (4, 3)]);
        assert_the_same_in_domains(name, &recorded(network), &[(3, 1), (4, 2)]);
    }
}

/// Of 8748 links one domain asks for what is to come, and each of two has too few for that.
#[test]
fn what_a_large_network_asks_for_early_changes_nothing() {
    let mut network = marking(fat_tree(18), "step", MarkAt::Enqueue);
    network.controls = vec![control("dctcp")];
    let network = until_done(shifted(shifted(network, 100, 15_000), 5, 3000));
    assert!(network.ports.len() > 8192 && network.ports.len() / 2 < 8192);
    assert_the_same_in_domains("large", &network, &[(2, 1)]);
}

/// A flow of ten packets from each pod to each other one, in two domains of two pods: of the twelve flows eight go from one to the
/// other. Core switches are divided, so each of their packets and answers changes domains once, and none of the other four ever does.
#[test]
fn packets_change_domains_once_and_only_if_they_have_to() {
    let between = |(from, to): (u32, u32)| flow(4 * from + to, 4 * to + from, Bytes(10 * 1460));
    let pairs = (0..4).flat_map(|from| (0..4).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let mut network = marking(fat_tree(4), "step", MarkAt::Enqueue);
    network.flows = pairs.map(between).collect();
    let crossed = |network: Network| {
        let mut simulation = Simulation::parted(network, 2).expect("a lawful network");
        while simulation.advance(20_000) == Progress::Running {}
        simulation.crossed()
    };
    assert_eq!(crossed(network.clone()), 8 * (10 + 10));
    // With the same ways, but core switches that choose among ports, and so have each one owner.
    let whole = crossed(Network { balancing: Balancing::Packet, ..network });
    assert!(whole > 8 * (10 + 10), "{whole}");
}

/// A permutation of 300 frames of 1.2 us: two domains work one after the other until all flows have started and one lookahead of 1.05 us has
/// passed, in which each of 16 hosts sends one frame, and at the end, when the last frames are on their way: they cross six links
/// of a microsecond, of 370 us.
#[test]
fn domains_wait_for_each_other_only_at_the_beginning_and_at_the_end() {
    let mut network = Network { balancing: Balancing::Packet, ..fat_tree(4) };
    network.controls = vec![control("ndp")];
    network.flows = (0..16).map(|src| flow(src, (src + 5) % 16, Bytes(300 * 1460))).collect();
    let mut simulation = Simulation::parted(until_done(network), 2).expect("a lawful network");
    while !simulation.reach(Time::from_micros(15), 20_000) {}
    let early = simulation.outside_windows();
    while simulation.advance(20_000) == Progress::Running {}
    let (outside, all) = (simulation.outside_windows(), simulation.finish().events);
    println!("{early} early, {outside} of {all}");
    assert!((16..=16 * 6).contains(&early), "{early} events in the first lookaheads");
    assert!(outside * 100 < all * 6, "{outside} of {all}");
}

#[test]
fn sprayed_packets_are_the_same_in_any_number_of_domains() {
    use Balancing::{Bitmap, Flowlet, Packet, Plb, Queue, Reps, RoundRobin};
    for balancing in [Packet, Queue, RoundRobin, Flowlet, Bitmap, Reps, Plb] {
        let flowlet_gap = Time::from_nanos(500);
        let network = recorded(Network { balancing, flowlet_gap, ..ecmp() });
        assert_the_same_in_domains("sprayed", &network, &[(2, 1), (4, 2), (8, 1)]);
    }
}

/// What the fingerprints are to hold does happen in these runs.
#[test]
fn the_fabrics_have_what_they_are_for() {
    let dropped = |it: Network| run(it).ports.iter().map(|port| port.dropped()).sum::<u64>();
    assert!(dropped(shared_memory()) > 0 && dropped(losses("reno")) > 0 && dropped(losses("dcqcn")) > 0);
    for balancing in [Balancing::Flow, Balancing::Packet] {
        let answer = run(trims(balancing));
        let headers = |answer: &Answer| answer.ports.iter().map(|port| port.counters.trimmed).sum::<u64>();
        let kept = answer.ports.iter().filter_map(|port| port.classes.first()).map(|class| class.largest).max();
        assert!(headers(&answer) > 100 && kept > Some(Bytes(64 * 9)));
    }
    let marked = run(ecmp()).ports.iter().map(|port| port.counters.marked).sum::<u64>();
    assert!(marked > 0);
    let paused =
        |it: Network| run(it).ports.iter().flat_map(|port| &port.classes).map(|class| class.pauses).sum::<u64>();
    assert!(paused(pauses("timely", None)) > 0 && paused(pauses("dcqcn", None)) > 0);
    let used = run(ecmp()).ports.iter().filter(|port| port.delivered > 0).count();
    assert!(used > 80, "{used} of 96 links");
    assert!([rates(), records()].into_iter().all(|it| run(it).flows.iter().all(|flow| flow.finish < Time::MAX)));
}
