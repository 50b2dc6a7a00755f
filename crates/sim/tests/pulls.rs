//! A receiver that calls, over switches that cut packets instead of dropping them (NDP), held against what its paper prints and
//! what arithmetic says. Handley et al., SIGCOMM 2017: an incast ends within 10 % of the time that its link takes for the
//! bytes; a permutation over a fat tree uses 95 % of it.

use crate::networks::{
    MTU, RATE, assert_ends_after_timeouts, assert_ends_within, control, fat_tree, flow, last, run, run_open, scheduled,
    star, trimming, until_done,
};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Answer, Balancing, Change, Fault, FlowSpec, Limit, Network, ideal_path, paths};

const MSS: u64 = 1460;

fn ndp(network: Network) -> Network {
    Network { controls: vec![control("ndp")], ..scheduled(network, trimming(), false) }
}

/// `senders` flows of so many packets into one host, all at once.
fn incast(senders: u32, packets: u64) -> Network {
    let mut network = ndp(star(senders + 1));
    network.flows = (0..senders).map(|src| flow(src, senders, Bytes(packets * MSS))).collect();
    until_done(network)
}

/// Every host to the one `apart` further on, without end.
fn permutation(k: u32, apart: u32, balancing: Balancing) -> Network {
    let mut network = wide(ndp(fat_tree(k)));
    let hosts = network.hosts;
    network.flows = (0..hosts).map(|src| flow(src, (src + apart) % hosts, Bytes::MAX)).collect();
    (network.balancing, network.warmup, network.duration) = (balancing, Time::from_millis(1), Time::from_millis(4));
    network
}

/// Frames of 9000 B, as in the paper.
fn wide(mut network: Network) -> Network {
    network.mtu = Bytes(9000);
    network.disciplines[0].classes[0].limit = Limit::Bytes(network.mtu * 16);
    network
}

fn trimmed(answer: &Answer) -> u64 {
    answer.ports.iter().map(|port| port.counters.trimmed).sum()
}

fn dropped(answer: &Answer) -> u64 {
    answer.ports.iter().map(|port| port.dropped()).sum()
}

/// The link takes 1.2 us for a frame; the first comes and the last goes within 7 us more. Headers of 64 B cost a few per cent of
/// it at first: at most one for every packet of the first windows.
#[test]
fn an_incast_takes_as_long_as_its_link_needs_for_the_bytes() {
    for (senders, packets) in [(8, 100), (32, 45), (100, 31), (100, 308), (430, 31), (1000, 10)] {
        let answer = run(incast(senders, packets));
        let needed = RATE.time_to_send(MTU * (u64::from(senders) * packets)) + Time::from_micros(7);
        let ratio = last(&answer) / needed;
        println!("{senders} x {packets}: {ratio:.4}, {} cut", trimmed(&answer));
        assert!((0.98..1.10).contains(&ratio), "{senders} of {packets} packets: {ratio}");
        assert_eq!(dropped(&answer), 0, "{senders} of {packets} packets");
        assert!(trimmed(&answer) > 0 && answer.flows.iter().all(|flow| flow.timeouts == 0));
    }
}

/// All of them begin, and end, together: the receiver calls them in turn. The paper: fair to a few per cent.
#[test]
fn those_of_an_incast_share_the_link_evenly() {
    let answer = run(incast(20, 500));
    let first = answer.flows.iter().map(|flow| flow.finish).min().expect("a flow");
    assert!((0.95..=1.0).contains(&(first / last(&answer))), "{first} {}", last(&answer));
}

#[test]
fn a_flow_alone_fills_its_path() {
    for (hosts, bytes) in [(fat_tree(4), 10_000_000), (star(2), 100 * MSS), (star(2), MSS + 1), (star(2), 1)] {
        let mut network = ndp(hosts);
        network.flows = vec![flow(0, network.hosts - 1, Bytes(bytes))];
        let answer = run(until_done(network));
        let ratio = (answer.flows[0].finish - answer.flows[0].start) / answer.flows[0].ideal;
        assert!((1.0..1.005).contains(&ratio), "{bytes}: {ratio}");
        assert_eq!((trimmed(&answer), dropped(&answer)), (0, 0));
    }
}

/// Frames of 9000 B. Of each the payload is 8960 B, and an answer of 64 B goes the other way: at most 98.9 % of the link. At
/// random two of four packets may choose one link; by the shortest queue none need wait.
#[test]
fn a_permutation_fills_a_fat_tree_where_switches_spray() {
    for (k, balancing, least) in [(4, Balancing::Packet, 0.9), (8, Balancing::Packet, 0.9), (8, Balancing::Queue, 0.98)]
    {
        let hosts = k * k * k / 4;
        let answer = run(permutation(k, hosts / 2, balancing));
        let goodput: u64 = answer.flows.iter().map(|flow| flow.goodput).sum();
        let most = RATE.sent_in(Time::from_millis(3)).0 as f64 * f64::from(hosts) * 8960.0 / 9000.0;
        let share = goodput as f64 / most;
        let least_flow =
            answer.flows.iter().map(|flow| flow.goodput).min().unwrap_or(0) as f64 * f64::from(hosts) / most;
        println!("k = {k}, {balancing:?}: {share:.4}, the slowest {least_flow:.4}, {} cut", trimmed(&answer));
        assert!((least..0.995).contains(&share), "k = {k}, {balancing:?}: {share}");
        assert_eq!(dropped(&answer), 0);
        assert!(answer.flows.iter().all(|flow| flow.timeouts == 0));
    }
}

/// One packet in a hundred, of whatever kind, each way: data and answers wait for timeouts, pulls are counted and made up for. The bytes
/// take 2.4 ms. One of 2000 packets in 25 is lost or not answered: the timeout of 10 ms expires, but not four times for one packet,
/// which would take 150 ms.
#[test]
fn what_is_lost_is_sent_again() {
    let mut network = incast(20, 100);
    let loss = |link| Fault { at: Time::ZERO, link, change: Change::Loss(0.01) };
    network.faults = (0..network.ports.len() as u32).map(loss).collect();
    let answer = run_open(network);
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    assert!(answer.flows.iter().all(|flow| flow.delivered == 100 * MSS && flow.finish < Time::MAX));
    assert!(answer.flows.iter().map(|flow| flow.timeouts).sum::<u64>() > 0);
    assert_ends_within(&answer, 10.0..73.0);
}

/// Ports that do not cut drop instead, and only timeouts help: k in a row take 10 (2^k - 1) ms, and the packets of a window leave within
/// .1 ms. All missing packets leave together then, of which a buffer of 100 packets takes as many: each timeout after the first follows
/// 100 drops fewer. The bytes take 2.4 ms, and the way .1 at most.
#[test]
fn without_trimming_flows_end_by_timeouts() {
    let mut network = Network { controls: vec![control("ndp")], ..star(21) };
    network.flows =
        (0..20).map(|src| FlowSpec { start: Time::from_micros(1), ..flow(src, 20, Bytes(100 * MSS)) }).collect();
    let answer = run(until_done(network));
    assert!(dropped(&answer) > 0);
    assert_ends_after_timeouts(&answer, |_| 2.4 + 0.1);
    for flow in &answer.flows {
        let waited = flow.timeout_wait.as_secs() * 1e3;
        let in_a_row = (waited / 10.0 + 1.0).log2().floor();
        let law = 10.0 * (in_a_row.exp2() - 1.0);
        assert!((law..law + 0.1).contains(&waited), "{waited} ms are not {in_a_row} timeouts in a row");
        assert!((in_a_row - 1.0) * 100.0 <= dropped(&answer) as f64, "{in_a_row} timeouts");
    }
    assert!(last(&answer) > Time::from_millis(10));
}

/// A path of ideal completion is that of the flow: what the other tests compare with.
#[test]
fn the_ideal_of_a_packet_alone() {
    let network = incast(1, 1);
    let hops = ideal_path(&network, 0, &paths(&network, &[0]).expect("a path")[0]);
    let total = hops.iter().fold(Time::ZERO, |sum, (_, hop)| sum + hop.waits + hop.sending + hop.delay);
    assert_eq!(total, Time::from_nanos(2 * 1200 + 2000));
}
