//! Flows whose applications pause: over two links of 10 Gbps and a microsecond each, where a frame of 1500 B takes 1.2 us.

use crate::networks::{assert_the_same_in_domains, control, fat_tree, flow, run, star, until_done};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Application, FlowSpec, Network};

fn one(cc: &str, bytes: Bytes, application: Application) -> Network {
    let mut network = star(2);
    network.controls = vec![control(cc)];
    network.flows = vec![FlowSpec { application, ..flow(0, 1, bytes) }];
    network
}

/// A window of one packet: there 2 (1.2 + 1) us, back 2 (0.0512 + 1) us, one each 6.5024 us. In 20 us of each 100 four are sent.
#[test]
fn a_flow_sends_while_its_application_writes() {
    let us = Time::from_micros;
    let turns = Application { on: us(20), off: us(80), ..Application::EAGER };
    let mut network = one("fixed", Bytes::MAX, turns);
    network.controls[0].values.set("window", 1.0).expect("a parameter of fixed");
    network.duration = us(1000);
    let answer = run(network);
    assert_eq!(answer.flows[0].delivered, 10 * 4 * 1460);
    assert_eq!((answer.flows[0].retransmits, answer.flows[0].timeouts), (0, 0));
}

/// 3000 B are three packets; the other two of a window of ten leave from 500 us on: 500 + 2 * 1.2 + 1 + 1.2 + 1.
#[test]
fn a_first_exchange_comes_before_the_rest() {
    let first = Application { first: Bytes(3000), resumes: Time::from_micros(500), ..Application::EAGER };
    let network = until_done(one("reno", Bytes(5 * 1460), first));
    let early = Network { until_done: false, duration: Time::from_micros(499), ..network.clone() };
    assert_eq!(run(early).flows[0].delivered, 3 * 1460);
    assert_eq!(run(network).flows[0].finish, Time::from_nanos(505_600));
}

/// Of a segment of eleven frames three are written before the pause, and the last of those is answered: nothing is sent twice.
/// The segment goes on at line rate: 500 + 17 * 1.2 + 1 + 1.2 + 1.
#[test]
fn over_roce_the_last_frame_before_a_pause_asks() {
    let first = Application { first: Bytes(3000), resumes: Time::from_micros(500), ..Application::EAGER };
    let answer = run(until_done(one("dcqcn", Bytes(20 * 1460), first)));
    assert_eq!((answer.flows[0].finish, answer.flows[0].timeouts), (Time::from_nanos(523_600), 0));
}

/// Pauses of two seconds, longer than fifteen longest timeouts of 100 ms: the run is not stuck.
#[test]
fn a_pause_is_no_standstill() {
    let first = Application { first: Bytes(3000), resumes: Time::from_secs_whole(2), ..Application::EAGER };
    let mut network = until_done(one("reno", Bytes(9000), first));
    network.host.rto_max = Time::from_millis(100);
    assert!(run(network).flows[0].finish > Time::from_secs_whole(2));
}

#[test]
fn what_cannot_be_is_refused() {
    let first = Application { first: Bytes(3000), resumes: Time::from_micros(500), ..Application::EAGER };
    let refused = |network: Network| network.check().expect_err("what cannot be").to_string();
    assert!(refused(one("expresspass", Bytes(9000), first)).contains("does not pause"));
    let for_ever = Application { off: Time::from_micros(1), ..Application::EAGER };
    assert!(refused(one("reno", Bytes(9000), for_ever)).contains("pauses forever"));
}

#[test]
fn pauses_are_the_same_in_domains() {
    let us = Time::from_micros;
    let mut network = fat_tree(4);
    network.controls = vec![control("reno")];
    let spec = |n: u32| {
        let application = Application {
            first: Bytes(5000),
            resumes: us(70 + u64::from(n)),
            on: us(30),
            off: us(9),
            ..Application::EAGER
        };
        FlowSpec { application, start: us(u64::from(n % 7)), ..flow(n % 16, (n + 5) % 16, Bytes(90_000)) }
    };
    network.flows = (0..32).map(spec).collect();
    assert_the_same_in_domains("applications", &until_done(network), &[(2, 1), (4, 2)]);
}
