//! Hosts with several ports, parallel links and planes (separate fabrics that share hosts). Expected values are counted by hand, or
//! come from a network with one faster port a host.

use crate::networks::{
    MTU, RATE, assert_the_same_in_domains, control, flow, network, recorded, run, scheduled, trimming, until_done,
};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Answer, Balancing, Change, Fault, FlowSpec, Network, paths};

const MSS: u64 = 1460;
const LEAVES: u32 = 4;
const SPINES: u32 = 4;
const PER_LEAF: u32 = 4;
const HOSTS: u32 = LEAVES * PER_LEAF;

/// Planes of four leaves and four spines below which each host has one port a plane. Cables of a plane follow each other: those of
/// hosts first.
fn planes(count: u32, rate: Rate) -> Network {
    let mut cables = Vec::new();
    for plane in 0..count {
        let leaf = HOSTS + plane * (LEAVES + SPINES);
        cables.extend((0..HOSTS).map(|host| (host, leaf + host / PER_LEAF)));
        cables.extend((0..LEAVES).flat_map(|at| (0..SPINES).map(move |spine| (leaf + at, leaf + LEAVES + spine))));
    }
    let mut network = network(HOSTS, HOSTS + count * (LEAVES + SPINES), &cables);
    network.ports.iter_mut().for_each(|port| port.rate = rate);
    network
}

/// Every host sends to the one opposite without end; each packet takes its own path.
fn sprayed(network: Network) -> Network {
    let mut network = Network { controls: vec![control("ndp")], ..scheduled(network, trimming(), false) };
    network.flows = (0..HOSTS).map(|src| flow(src, (src + HOSTS / 2) % HOSTS, Bytes::MAX)).collect();
    (network.balancing, network.warmup) = (Balancing::Packet, Time::from_micros(500));
    network.duration = Time::from_millis(3);
    network
}

fn goodput(answer: &Answer) -> f64 {
    answer.flows.iter().map(|flow| flow.goodput).sum::<u64>() as f64
}

/// At 1 and 800 Gbps a port, over three seeds. A frame has 4000 B: of 1500 B the separate pulls of 64 B take 1 % more where
/// acknowledgements of two planes arrive in pairs.
#[test]
fn two_planes_carry_what_one_of_twice_the_rate_carries() {
    for gbps in [1, 800] {
        let of = |count, rate| -> f64 {
            let carried = |seed| {
                let mut network = Network { seed, mtu: Bytes(4000), ..sprayed(planes(count, rate)) };
                // 3,000 frames a host, of which an eighth is the warm-up.
                network.duration = Time::from_millis(48) / gbps;
                network.warmup = network.duration / 8;
                goodput(&run(network))
            };
            (1..=3).map(carried).sum()
        };
        let (one, two) = (of(1, Rate::from_gbps(2 * gbps)), of(2, Rate::from_gbps(gbps)));
        println!("{gbps} Gbps: {one} {:.4}", two / one);
        assert!((two / one - 1.0).abs() < 0.01, "{gbps} Gbps: {two} of {one}");
    }
}

/// All links of the second plane of two.
fn second_plane(network: &Network) -> std::ops::Range<u32> {
    let links = network.ports.len() as u32;
    links / 2..links
}

fn with_classes_at_hosts(mut network: Network) -> Network {
    network.ports.iter_mut().for_each(|port| port.discipline = Some(0));
    network
}

/// The second plane is down from 2 to 4 ms. Goodput is counted in three runs that end at 2, 4 and 6 ms and begin half a millisecond
/// after the change before.
#[test]
fn a_plane_that_fails_takes_half_of_the_rate_and_gives_it_back() {
    let between = |from: u64, until: u64| {
        let mut network = with_classes_at_hosts(sprayed(planes(2, RATE)));
        let change = |at, change| move |link| Fault { at: Time::from_millis(at), link, change };
        network.faults = second_plane(&network).map(change(2, Change::Down)).collect();
        network.faults.extend(second_plane(&network).map(change(4, Change::Up)));
        network.convergence = Time::from_micros(50);
        // Packets that the fault destroys are repaired by a timeout.
        network.host.rto_initial = Time::from_millis(1);
        (network.warmup, network.duration) = (Time::from_micros(from), Time::from_micros(until));
        goodput(&run(network)) / (until - from) as f64
    };
    let (before, during, after) = (between(500, 2000), between(2500, 4000), between(4500, 6000));
    println!("{:.4} {:.4}", during / before, after / before);
    assert!((during / before - 0.5).abs() < 0.01, "{during} of {before}");
    assert!((after / before - 1.0).abs() < 0.01, "{after} of {before}");
}

/// Flows with one path each keep to a plane; those of the plane that fails take the other one once switches know.
#[test]
fn flows_with_one_path_leave_a_plane_that_fails() {
    let mut network = with_classes_at_hosts(scheduled(planes(2, RATE), crate::networks::one_class(), false));
    network.flows = (0..HOSTS).map(|src| flow(src, (src + HOSTS / 2) % HOSTS, Bytes(200 * MSS))).collect();
    let down = |link| Fault { at: Time::from_micros(30), link, change: Change::Down };
    network.faults = second_plane(&network).map(down).collect();
    network.convergence = Time::from_millis(1);
    let answer = run(until_done(network));
    assert!(answer.flows.iter().all(|flow| flow.delivered == 200 * MSS));
    let later = answer.flows.iter().filter(|flow| flow.finish > Time::from_millis(1)).count();
    assert!((1..HOSTS as usize).contains(&later), "{later} flows waited for the other plane");
}

/// The chi-square statistic of counts that should be equal.
fn chi_square(counts: &[u32]) -> f64 {
    let expected = f64::from(counts.iter().sum::<u32>()) / counts.len() as f64;
    counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
}

/// Two hosts with two cables each to their leaf, and four cables between two leaves. The 0.999 quantiles of chi-square with 1, 3
/// and 7 degrees of freedom are 10.8, 16.3 and 24.3. Choices at two nodes are independent.
#[test]
fn a_flow_chooses_parallel_links_uniformly() {
    let cables = [(0, 2), (0, 2), (1, 3), (1, 3), (2, 3), (2, 3), (2, 3), (2, 3)];
    let mut network = Network { flows: vec![flow(0, 1, Bytes(MSS))], ..network(2, 4, &cables) };
    let (mut first, mut middle, mut last, mut both) = ([0; 2], [0; 4], [0; 2], [0; 8]);
    for seed in 0..3000 {
        network.seed = seed;
        let all = paths(&network, &[0]).expect("paths");
        let [there, back] = all[0].each_ref().map(|path| &path.ports);
        let cable = |port: u32| port as usize / 2;
        first[cable(there[0])] += 1;
        middle[cable(there[1]) - 4] += 1;
        last[cable(there[2]) - 2] += 1;
        both[cable(there[0]) * 4 + cable(there[1]) - 4] += 1;
        assert_eq!(cable(back[0]), cable(there[2]), "answers leave by the port at which data arrives");
    }
    println!("{first:?} {middle:?} {last:?} {both:?}");
    assert!(chi_square(&first) < 10.8 && chi_square(&last) < 10.8, "{first:?} {last:?}");
    assert!(chi_square(&middle) < 16.3, "{middle:?}");
    assert!(chi_square(&both) < 24.3, "{both:?}");
}

/// One flow over three cables a host. Packets of 1500 B take 1.2 us at 10 Gbps, and 3 x 100 packets leave in 120 us.
#[test]
fn a_flow_alone_fills_all_ports_of_its_host() {
    let cables = [(0, 2), (0, 2), (0, 2), (1, 2), (1, 2), (1, 2)];
    let network = Network { controls: vec![control("ndp")], ..network(2, 3, &cables) };
    let mut network = Network { balancing: Balancing::Packet, ..scheduled(network, trimming(), false) };
    network.flows = vec![flow(0, 1, Bytes(300 * MSS))];
    let answer = run(until_done(network));
    let (taken, ideal) = (answer.flows[0].finish - answer.flows[0].start, answer.flows[0].ideal);
    assert_eq!(ideal, MTU_TIME * 101 + Time::from_micros(2));
    assert!((1.0..1.3).contains(&(taken / ideal)), "{taken} of {ideal}");
    let sent: Vec<_> = [0, 2, 4].map(|port| answer.ports[port].counters.sent).to_vec();
    assert!(sent.iter().max() <= sent.iter().min().map(|least| least + 2).as_ref(), "{sent:?}");
}

const MTU_TIME: Time = Time::from_nanos(1200);

/// Hosts that choose ports, faults and detours included, give the same in any number of domains on any number of threads.
#[test]
fn several_domains_give_the_same() {
    for balancing in [Balancing::Flow, Balancing::Packet, Balancing::Queue] {
        let mut network = with_classes_at_hosts(sprayed(planes(2, RATE)));
        network.flows = (0..3 * HOSTS)
            .map(|at| FlowSpec {
                start: Time::from_nanos(u64::from(at) * 700),
                ..flow(at % HOSTS, (at + 5) % HOSTS, Bytes(40 * MSS))
            })
            .collect();
        let fault = |at, change| move |link| Fault { at: Time::from_micros(at), link, change };
        network.faults = second_plane(&network).filter(|link| link % 3 == 0).map(fault(60, Change::Down)).collect();
        network.faults.extend(second_plane(&network).filter(|link| link % 3 == 0).map(fault(400, Change::Up)));
        network.convergence = Time::from_micros(40);
        network.balancing = balancing;
        network.duration = Time::from_millis(20);
        assert_eq!(network.ports[0].rate.time_to_send(MTU), MTU_TIME);
        assert_the_same_in_domains(&format!("{balancing:?}"), &recorded(network), &[(2, 1), (2, 2), (3, 3), (4, 2)]);
    }
}
