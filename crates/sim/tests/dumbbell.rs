//! A small network from end to end: the same run twice, the numbers that a closed loop must give, and the
//! fingerprint that every build and machine must give.

use crate::networks::{MTU, dumbbell};
use shallows_cc::catalog::{self, ROCE};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Answer, Network, Progress, Simulation};

fn run(network: Network) -> Answer {
    let mut simulation = Simulation::new(network).expect("a lawful network");
    while simulation.advance(1_000_000) == Progress::Running {}
    let answer = simulation.finish();
    assert_eq!(answer.problems, Vec::<String>::new());
    answer
}

#[test]
fn the_same_run_twice_is_the_same_run() {
    let (first, second) = (run(dumbbell("dctcp", 4, Bytes::MAX, 1)), run(dumbbell("dctcp", 4, Bytes::MAX, 1)));
    assert_eq!((first.fingerprint, first.events, first.flows), (second.fingerprint, second.events, second.flows));
}

#[test]
fn it_does_not_matter_how_the_run_is_cut_into_pieces() {
    let mut simulation = Simulation::new(dumbbell("dctcp", 4, Bytes::MAX, 1)).expect("a lawful network");
    while simulation.advance(7) == Progress::Running {}
    assert_eq!(simulation.finish().fingerprint, run(dumbbell("dctcp", 4, Bytes::MAX, 1)).fingerprint);
}

#[test]
fn an_undisturbed_flow_takes_the_ideal_time() {
    // Ten packets fit the initial window: nothing waits for an acknowledgement.
    let answer = run(dumbbell("reno", 1, Bytes(14_600), 1));
    // Three hops of 1.2 us, nine more packets behind the first, 100 us of propagation.
    let ideal = Time::from_nanos(3 * 1200 + 9 * 1200 + 100_000);
    assert_eq!((answer.flows[0].finish, answer.flows[0].ideal), (ideal, ideal));
}

#[test]
fn reno_fills_the_buffer_and_repairs_what_is_lost() {
    let answer = run(dumbbell("reno", 2, Bytes(20_000_000), 1));
    assert!(answer.ports[0].dropped() > 0, "two Reno flows overflow 250 packets");
    assert!(answer.flows.iter().all(|flow| flow.finish < Time::MAX && flow.delivered == 20_000_000));
    assert!(answer.flows.iter().any(|flow| flow.retransmits > 0));
}

#[test]
fn without_a_route_the_network_is_refused() {
    let mut network = dumbbell("reno", 1, Bytes::MAX, 1);
    network.ports.retain(|port| !(port.from == 2 && port.to == 3));
    let error = Simulation::new(network).expect_err("there is no way");
    assert_eq!(error, "flow 0: no path from host 0 to 1");
}

/// One line an algorithm: four flows from the start and a fifth that joins after 20 ms, 10 Gbps, 200 us, 250 packets
/// (without a limit over a transport that expects no loss).
fn one_link(name: &str) -> String {
    let mut network = dumbbell(name, 5, Bytes::MAX, 1);
    let joins = Time::from_millis(20);
    let interval = Time::from_millis(1);
    network.flows[4].start = joins;
    if *network.controls[0].algorithm.transport == ROCE {
        // They begin at line rate and go back to the first frame lost: their papers assume that none is.
        network.ports.iter_mut().for_each(|port| port.buffer = Bytes::MAX);
    }
    network.duration = Time::from_millis(80);
    network.record.probe_interval = interval;
    network.record.flows = vec![4];
    let answer = run(network);
    let port = &answer.ports[0];
    let frame = port.clock.time(MTU).0 as f64;
    let queue = port.area as f64 / answer.measured.0 as f64 / frame;
    let goodput: Vec<_> = answer.flows[..4].iter().map(|flow| flow.goodput as f64).collect();
    let sum: f64 = goodput.iter().sum();
    let fair = sum * sum / (4.0 * goodput.iter().map(|g| g * g).sum::<f64>());
    let probes = &answer.probes;
    let rate = probes.names.iter().position(|&name| name == "rate_gbps");
    let share = (0..probes.time.len())
        .find(|&at| Some(usize::from(probes.name[at])) == rate && probes.value[at] >= 0.8 * 2.0)
        .map_or_else(|| "-".to_owned(), |at| format!("{}", (probes.time[at] - joins.0) / 1_000_000_000));
    let used = port.busy / answer.measured;
    let p99 = port.backlogs.quantile(0.99) / frame;
    format!("{name:<18}{used:>6.3}{queue:>8.1}{p99:>8.1}{fair:>7.3}{share:>7}")
}

/// What stands on file of an algorithm: the fingerprint of four flows, and that line.
fn on_file(name: &str) -> String {
    format!("{}  {:016x}", one_link(name), run(dumbbell(name, 4, Bytes::MAX, 1)).fingerprint)
}

const HEAD: &str = "algorithm           used   queue     p99   fair  share  fingerprint";

/// The closed loop of every algorithm in one table: share of the link used, mean and 99th percentile of the queue in
/// packets, Jain's index of the four, milliseconds until the fifth has four fifths of its share; and a fingerprint, which release
/// builds are held against too (tests/test_fingerprints.py). A changed constant shows here. If the change is
/// meant: `cargo test -p shallows-sim --test networks dumbbell -- --ignored`, and look at the diff.
#[test]
fn every_algorithm_does_what_is_on_file() {
    let file = include_str!("algorithms.txt");
    let now: Vec<_> = catalog::ALGORITHMS.iter().map(|row| on_file(row.name)).collect();
    let changed: Vec<_> = now.iter().filter(|line| !file.lines().any(|old| old == line.as_str())).collect();
    assert_eq!(changed, Vec::<&String>::new(), "lines that algorithms.txt has otherwise, or not");
    let names = |line: &str| line.split_whitespace().next().map(str::to_owned);
    assert!(file.lines().skip(1).map(names).eq(now.iter().map(|line| names(line))), "algorithms.txt: another order");
}

#[test]
#[ignore = "writes algorithms.txt"]
fn write_what_is_on_file() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/algorithms.txt");
    let rows = catalog::ALGORITHMS.iter().map(|row| on_file(row.name));
    let table: String = std::iter::once(HEAD.to_owned()).chain(rows).map(|line| line + "\n").collect();
    std::fs::write(path, table).expect("the folder is there");
}
