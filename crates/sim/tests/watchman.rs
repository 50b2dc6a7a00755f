//! A run that cannot get on ends and says for whom; one that can is left alone.

mod networks;

use networks::{MTU, control, flow, network, run, run_open, star, until_done};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::network::{FlowSpec, Network};

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
        assert!(problem.starts_with("flow 0 cannot get on"), "{name}: {problem}");
        // Fifteen timeouts of at most a second each, noticed at the next look.
        assert!(answer.ended <= Time::from_secs(15.0 * 1.5 + 1.0), "{name}: {}", answer.ended);
        assert_eq!(run(narrow(name, MTU)).flows[0].delivered, 30_000, "{name}");
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
    network.host.acks_every = 2;
    network.host.ack_delay = Time::from_millis(900);
    assert_eq!(run(until_done(network)).flows[0].delivered, 200_000);
}
