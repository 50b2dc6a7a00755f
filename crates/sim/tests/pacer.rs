//! The pacer of a host: one bucket of tokens for all its paced flows, which the others pass (HULL, NSDI 2012 §3.3).

use std::sync::Arc;

use crate::networks::{MTU, assert_the_same_in_domains, control, fat_tree, flow, marking, run, star, until_done};
use shallows_cc::event::{Ack, Loss};
use shallows_cc::pacer::PacerSpec;
use shallows_cc::port::MarkAt;
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{ClassOf, ClassSpec, Discipline, FlowSpec, Network, PACKET_KINDS, Shaper, UserAlgorithm};

/// Sends all it has, through the pacer.
#[derive(Clone, Debug)]
struct Paced;

impl Sender for Paced {
    fn on_ack(&mut self, _: Time, _: &Ack) {}
    fn on_loss(&mut self, _: Time, _: &Loss) {}
    fn decision(&self) -> Decision {
        Decision::window(Bytes::MAX)
    }
    fn goes_through_pacer(&self, _: Time) -> bool {
        true
    }
}

/// Every host has a pacer.
fn with_pacers(mut network: Network, rate: Rate, spec: PacerSpec) -> Network {
    let open = ClassSpec::OPEN;
    let shaper = Shaper { rate, burst: MTU * 2, jitter: Time::ZERO, pacer: Some(spec) };
    let classes = vec![open, ClassSpec { shaper: Some(shaper), ..open }];
    network.disciplines =
        vec![Discipline { paced: Some(1), ..Discipline::new(classes, vec![ClassOf([0; PACKET_KINDS.len()])]) }];
    for port in &mut network.ports {
        port.discipline = (port.from < network.hosts).then_some(0);
    }
    network
}

fn fixed_at(rate: Rate) -> PacerSpec {
    PacerSpec { eta: 0.0, beta: 0.0, period: Time::from_micros(7), least: rate, most: rate }
}

/// Two flows of four packets of 1500 B share tokens at 2.5 Gbps, 4.8 us a packet, two at once: they leave at 0, 1.2, 4.8,
/// 9.6, ..., the eighth at 28.8 us, and it takes 1.2 us a link and 1 us of wire, twice. A flow of one packet that comes at
/// 10 us waits for the one on the wire, which left at 9.6, and for no tokens.
#[test]
fn all_paced_flows_of_a_host_share_its_tokens_and_others_pass() {
    let rate = Rate(2_500_000_000);
    let mut network = with_pacers(star(2), rate, fixed_at(rate));
    network.controls = vec![control("fixed"), control("reno")];
    network.controls[0].user_algorithm = Some(UserAlgorithm(Arc::new(|_| Box::new(Paced))));
    let one = FlowSpec { control: 1, start: Time::from_micros(10), ..flow(0, 1, Bytes(1460)) };
    network.flows = vec![flow(0, 1, Bytes(4 * 1460)), flow(0, 1, Bytes(4 * 1460)), one];
    let answer = run(until_done(network));
    let mut finish: Vec<_> = answer.flows.iter().map(|flow| flow.finish.0 / 1000).collect();
    finish[..2].sort_unstable();
    assert_eq!((finish[1], finish[2]), (33_200, 10_800 + 4400));
    assert_eq!(answer.flows[2].start, Time::from_micros(10));
}

/// Without a reason to pace, nobody is: the same finish as without pacers.
#[test]
fn flows_that_are_not_paced_do_not_feel_it() {
    let finish = |network: Network| {
        let mut network = until_done(network);
        network.flows = (0..4).map(|at| flow(at % 2, 2, Bytes(90_000))).collect();
        run(network).flows.iter().map(|flow| flow.finish).collect::<Vec<_>>()
    };
    let slow = Rate(100_000_000);
    assert_eq!(finish(star(3)), finish(with_pacers(star(3), slow, fixed_at(slow))));
}

/// HULL with pacers of hosts whose rates move, over a fat tree.
#[test]
fn pacers_are_the_same_in_domains() {
    let line = Rate::from_gbps(10);
    let spec = PacerSpec { eta: 0.125, beta: 3000.0, period: Time(7_200_000), least: Rate(100_000_000), most: line };
    let mut network = with_pacers(marking(fat_tree(4), "phantom", MarkAt::Dequeue), line, spec);
    network.controls = vec![control("hull")];
    network.controls[0].values.set("per_server", 1.0).expect("a parameter of hull");
    network.flows =
        (0..48).map(|n| flow(n % 16, (n * 5 + 3 + n / 16) % 16, Bytes(200_000))).filter(|f| f.src != f.dst).collect();
    assert_the_same_in_domains("pacers", &until_done(network), &[(2, 1), (4, 2)]);
}
