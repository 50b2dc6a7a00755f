//! What happens to wires, held against arithmetic and theory.

use crate::networks::{assert_ends_within, flow, leaf_spine, network, one_class, run, run_open, scheduled, up};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Answer, Balancing, Change, Fault, Network};

fn fault(micros: u64, link: u32, change: Change) -> Fault {
    Fault { at: Time::from_micros(micros), link, change }
}

fn lost(answer: &Answer) -> Vec<usize> {
    (0..answer.ports.len()).filter(|&port| answer.ports[port].lost() > 0).collect()
}

/// Its one way is down from 0.2 to 3.2 ms: what goes there meanwhile is lost there and nowhere else, and sent again. Timeouts
/// of 1 ms double, so that one expires within the 3 ms after the link came up; the bytes take 1.2 ms, from a window of a packet on 2.
#[test]
fn a_link_that_is_down_loses_what_goes_there() {
    let mut network = scheduled(leaf_spine(1), one_class(), false);
    network.host.rto_min = Time::from_millis(1);
    network.faults = vec![fault(200, up(0), Change::Down), fault(3200, up(0), Change::Up)];
    let answer = run(network);
    assert_eq!(lost(&answer), [up(0) as usize]);
    assert_eq!(answer.ports.iter().map(|port| port.dropped()).sum::<u64>(), 0);
    assert!(answer.flows[0].timeouts > 0);
    assert_ends_within(&answer, 3.2..8.2);
}

/// A link at a quarter of its rate is a link of that rate.
#[test]
fn a_slower_link_is_as_slow_as_one_that_was_made_so() {
    let slow = Rate(2_500_000_000);
    let mut born = scheduled(leaf_spine(1), one_class(), false);
    born.ports[up(0) as usize].rate = slow;
    let mut became = scheduled(leaf_spine(1), one_class(), false);
    became.faults = vec![fault(0, up(0), Change::Rate(slow))];
    let [born, became] = [born, became].map(|network| run(network).flows[0]);
    assert_eq!(born.finish, became.finish);
    let frames = Time::from_nanos(4800) * 1000;
    assert!(born.finish > frames && born.finish < frames + Time::from_micros(400), "{}", born.finish);
}

/// A slow link that is told to come up while it is up stays as slow, and no frame overtakes another.
#[test]
fn a_link_that_is_up_does_not_change_when_it_comes_up() {
    let slow = fault(0, up(0), Change::Rate(Rate(2_500_000_000)));
    let [once, again] = [1, 1000].map(|ups| {
        let mut network = scheduled(leaf_spine(1), one_class(), false);
        network.faults = std::iter::once(slow).chain((1..ups).map(|at| fault(4 * at + 1, up(0), Change::Up))).collect();
        run(network).flows[0].finish
    });
    assert_eq!(once, again);
}

/// A slow link goes down for an instant in the rest after a frame of 24 us: the frames that come behind it leave when the rest ends.
#[test]
fn a_rest_goes_on_after_a_failure_that_is_shorter() {
    for at in 1..20 {
        let mut network = scheduled(leaf_spine(1), one_class(), false);
        network.host.rto_min = Time::from_millis(1);
        network.flows[0].bytes = Bytes(14_600);
        network.faults = vec![fault(0, up(0), Change::Rate(Rate(500_000_000)))];
        network.faults.extend([fault(at, up(0), Change::Down), fault(at, up(0), Change::Up)]);
        let answer = run(network);
        let sent = answer.ports[up(0) as usize].counters.sent;
        assert!(
            answer.flows[0].finish >= Time::from_micros(24) * sent,
            "{at} us: {sent} until {}",
            answer.flows[0].finish
        );
    }
}

/// A NIC that is slow, down, and itself again: what its flows have waits at their host.
#[test]
fn a_nic_that_takes_in_turn_loses_only_what_is_on_its_wire() {
    let mut network = scheduled(leaf_spine(1), one_class(), true);
    network.faults = vec![
        fault(100, 0, Change::Rate(Rate::from_gbps(1))),
        fault(200, 0, Change::Down),
        fault(900, 0, Change::Up),
        fault(1000, 0, Change::Rate(Rate::from_gbps(10))),
    ];
    let answer = run(network);
    assert_eq!(lost(&answer), [0]);
    // A frame of 12 us and a delay of 1 us: one being sent, and one on the wire at most.
    assert!(answer.ports[0].lost() <= 2, "{}", answer.ports[0].lost());
}

/// The flow's own way goes down at 100 us for good. Switches that never hear of it lose all of it; 500 us later they send it the
/// other way, and back 500 us after the link is up.
#[test]
fn a_flow_goes_round_once_switches_have_heard() {
    let of = |change: &dyn Fn(&mut Network, u32)| {
        let mut network = scheduled(leaf_spine(2), one_class(), false);
        network.flows[0].bytes = Bytes(14_600_000);
        let own = (0..2).find(|&spine| run(network.clone()).ports[up(spine) as usize].counters.sent > 0).unwrap();
        network.faults = vec![fault(100, up(own), Change::Down)];
        change(&mut network, up(own));
        (run_open(network), own)
    };
    let (stuck, _) = of(&|_, _| {});
    assert!(
        stuck.problems.len() == 1 && stuck.problems[0].starts_with("flow 0 cannot make progress"),
        "{:?}",
        stuck.problems
    );

    let (round, own) = of(&|network, _| network.convergence = Time::from_micros(500));
    let sent = |answer: &Answer, spine: u32| answer.ports[up(spine) as usize].counters.sent;
    assert_eq!(round.problems, Vec::<String>::new());
    // 100 us hold 83 frames of 1.2 us; 10,000 are sent in all.
    assert!(sent(&round, own) < 83 && sent(&round, 1 - own) > 9900, "{} {}", sent(&round, own), sent(&round, 1 - own));

    let (back, own) = of(&|network, link| {
        network.convergence = Time::from_micros(500);
        network.faults.push(fault(4500, link, Change::Up));
    });
    assert_eq!(back.problems, Vec::<String>::new());
    // From 5 ms on it has its own way again: what took the other was sent between 0.6 and 5 ms, 3666 frames at most.
    assert!(sent(&back, 1 - own) < 3700 && sent(&back, own) > 6000, "{} {}", sent(&back, own), sent(&back, 1 - own));
}

/// An operator drains the flow's own way at 100 us: switches do so at once, whatever their convergence time, and nothing is lost. It
/// has its way back when that is over.
#[test]
fn a_drained_link_loses_nothing_and_is_left() {
    let mut network = scheduled(leaf_spine(2), one_class(), false);
    network.flows[0].bytes = Bytes(14_600_000);
    let own = (0..2).find(|&spine| run(network.clone()).ports[up(spine) as usize].counters.sent > 0).unwrap();
    network.faults = vec![fault(100, up(own), Change::Drain), fault(4500, up(own), Change::Undrain)];
    let answer = run(network);
    assert_eq!(lost(&answer), Vec::<usize>::new());
    assert_eq!(answer.flows[0].retransmits, 0);
    // 10,000 frames of 1.2 us: 83 fit before 100 us, and 3667 between.
    let sent = |spine: u32| answer.ports[up(spine) as usize].counters.sent;
    assert!((3500..3700).contains(&sent(1 - own)) && sent(own) > 6000, "{} {}", sent(own), sent(1 - own));
}

/// A flowlet that goes on without a pause leaves a drained link too. The flow has the one way or the other from its beginning.
#[test]
fn a_flowlet_leaves_a_drained_link() {
    for spine in 0..2 {
        let mut network = scheduled(leaf_spine(2), one_class(), false);
        (network.balancing, network.flowlet_gap) = (Balancing::Flowlet, Time::from_millis(100));
        network.flows[0].bytes = Bytes(14_600_000);
        network.faults = vec![fault(100, up(spine), Change::Drain)];
        let answer = run(network);
        // 100 us hold 83 frames of 1.2 us.
        assert!(answer.ports[up(spine) as usize].counters.sent < 90);
        assert_eq!(answer.flows[0].timeouts, 0);
    }
}

/// Routes do not react to a link that seems to work, and the run says who waits for what.
#[test]
fn a_link_that_loses_all_packets_is_named() {
    let mut network = scheduled(leaf_spine(1), one_class(), false);
    network.convergence = Time::from_micros(10);
    network.faults = vec![fault(100, up(0), Change::Loss(1.0))];
    let answer = run_open(network);
    let clause = format!("; link {}, on the path of flow 0, loses all packets", up(0));
    assert!(answer.problems.len() == 1 && answer.problems[0].ends_with(&clause), "{:?}", answer.problems);
}

/// Both ends draw from the seed of the run and the number of the link alone.
#[test]
fn losses_follow_from_the_seed() {
    let of = |seed| {
        let mut network = leaf_spine(1);
        network.seed = seed;
        network.faults = vec![fault(0, up(0), Change::Loss(0.01))];
        run(network).fingerprint
    };
    assert_eq!(of(1), of(1));
    assert_ne!(of(1), of(2));
}

/// Segments of a round trip that Reno has under way where a share p of them is lost at random and each is acknowledged:
/// 1.31 / sqrt(p), table 1 of Mathis, Semke, Mahdavi and Ott, CCR 27(3), 1997 (sqrt(3/2) = 1.22 where losses are periodic). Within
/// 10 %; 15 % at the last point, where several losses share a window.
#[test]
fn reno_under_random_loss_is_as_fast_as_theory_has_it() {
    for (loss, tolerance, seconds) in [(5e-4, 0.1, 600), (2e-3, 0.1, 300), (8e-3, 0.15, 150)] {
        let mut network = network(2, 3, &[(0, 2), (1, 2)]);
        network.ports.iter_mut().for_each(|port| port.delay = Time::from_micros(2500));
        network.flows = vec![flow(0, 1, Bytes::MAX)];
        network.host.rto_min = Time::from_millis(200);
        (network.warmup, network.duration) = (Time::from_millis(5000), Time::from_millis(seconds * 1000));
        // From the switch to the receiver.
        network.faults = vec![fault(0, 3, Change::Loss(loss))];
        let answer = run(network);
        let round_trips = (answer.measured.0 / Time::from_millis(10).0) as f64;
        let window = answer.flows[0].goodput as f64 / 1460.0 / (1.0 - loss) / round_trips;
        let expected = 1.31 / loss.sqrt();
        println!("{loss}: {window:.2} of {expected:.2}");
        assert!((window / expected - 1.0).abs() < tolerance, "{loss}: {window:.2}, expected {expected:.2}");
    }
}
