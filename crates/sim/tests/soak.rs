//! Random finite scenarios over every algorithm and transport: every flow ends, and the books close.
//!
//! 200 of them in a test run; `SHALLOWS_SOAK=10000 cargo test --release -p shallows-sim --test networks soak` runs so many.
//! Each is made from its number alone: `SHALLOWS_SOAK_FROM=1234 SHALLOWS_SOAK=1` runs that one.

use std::fmt::Write;

use crate::networks::{
    MTU, assert_the_same_in_domains, control, fat_tree, flow, lossless, network, one_class, run_open, star, trimming,
    until_done,
};
use shallows_cc::catalog::{self, Marking, Reliability};
use shallows_cc::parameter::Values;
use shallows_cc::port::{self, credit::CreditShaper};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{
    Balancing, Change, ClassOf, ClassSpec, Control, Discipline, Fault, FlowSpec, Limit, Network, Nic, PACKET_KINDS,
    PacketKind, PauseSpec, Shaper, Simulation,
};

/// Rng of one scenario.
pub struct Dice(pub Rng);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.bits() % n
    }

    pub fn one_of<T: Copy>(&mut self, of: &[T]) -> T {
        of[self.below(of.len() as u64) as usize]
    }

    pub fn chance(&mut self, share: f64) -> bool {
        self.0.uniform() < share
    }
}

/// Hosts' links faster and slower than those between switches, buffers from three frames on.
fn topology(dice: &mut Dice) -> Network {
    let mut network = match dice.below(4) {
        0 => star(2 + dice.below(6) as u32),
        1 => fat_tree(4),
        _ => {
            let pairs = 1 + dice.below(5) as u32;
            let (left, right) = (2 * pairs, 2 * pairs + 1);
            let mut cables = vec![(left, right)];
            cables.extend((0..2 * pairs).map(|host| (host, if host < pairs { left } else { right })));
            network(2 * pairs, 2 * pairs + 2, &cables)
        }
    };
    let gbps = [Rate(100_000_000), Rate::from_gbps(1), Rate::from_gbps(10), Rate::from_gbps(40), Rate::from_gbps(100)];
    let (edge, core) = (dice.one_of(&gbps), dice.one_of(&gbps));
    let frames = dice.one_of(&[3, 4, 5, 7, 10, 20, 50, 100, 250]);
    let delay = Time::from_nanos(dice.one_of(&[100, 1000, 5000, 25_000, 200_000]));
    for port in &mut network.ports {
        let at_host = port.from < network.hosts || port.to < network.hosts;
        port.rate = if at_host { edge } else { core };
        port.delay = delay;
        port.buffer = if port.from < network.hosts { Bytes::MAX } else { MTU * frames };
    }
    network
}

fn flows(dice: &mut Dice, network: &Network) -> Vec<FlowSpec> {
    let hosts = u64::from(network.hosts);
    let sink = dice.chance(0.5).then(|| dice.below(hosts) as u32);
    let largest = dice.one_of(&[3000, 30_000, 300_000]);
    let mut flows: Vec<FlowSpec> = Vec::new();
    for at in 0..1 + dice.below(12) {
        let src = dice.below(hosts) as u32;
        let dst = sink.filter(|&sink| sink != src).unwrap_or((src + 1 + dice.below(hosts - 1) as u32) % network.hosts);
        let start = Time::from_nanos(dice.below(500_000));
        let ends_here = |&first: &u32| {
            let FlowSpec { src: from, dst: to, .. } = flows[first as usize];
            src == from || src == to
        };
        let after = (at > 0 && dice.chance(0.4)).then(|| dice.below(at) as u32).filter(ends_here).into_iter().collect();
        flows.push(FlowSpec { start, after, ..flow(src, dst, Bytes(1 + dice.below(largest))) });
    }
    flows
}

/// What the algorithm needs of ports: marks, rates, a class of credits; pauses, where data may wait.
pub fn ports(dice: &mut Dice, network: &mut Network, control: &Control) {
    let kind = match control.algorithm.marking {
        Marking::Required(kind) | Marking::Rates(kind) | Marking::Records(kind) => Some(kind),
        _ => None,
    };
    if let Some(mechanism) = kind.and_then(port::find) {
        let values = Values::defaults(mechanism.parameters);
        network.markings = vec![shallows_sim::Marking { mechanism, values, at: mechanism.at }];
        let hosts = network.hosts;
        network.ports.iter_mut().for_each(|port| port.marking = (port.from >= hosts).then_some(0));
    }
    if control.waits_for_credits() {
        share_with_credits(network, control);
    } else if control.algorithm.transport.reliability == Reliability::Unordered {
        if dice.chance(0.8) {
            trim(dice, network);
        }
    } else if dice.chance(0.3) {
        let threshold = Bytes(1 + dice.below(100_000));
        let hysteresis = Bytes(dice.below(threshold.0.min(10_000)));
        network.disciplines = vec![lossless()];
        network.ports.iter_mut().for_each(|port| port.discipline = Some(0));
        network.classes[0].pause = Some(PauseSpec::at(threshold, hysteresis));
    }
}

/// A class of credits before everything else, shaped by each link's own rate.
fn share_with_credits(network: &mut Network, control: &Control) {
    let shaper = CreditShaper::new(&control.values, MTU);
    for port in &mut network.ports {
        let tokens =
            Shaper { rate: shaper.rate(port.rate), burst: shaper.burst_bytes(), jitter: Time::ZERO, pacer: None };
        let credits = ClassSpec { limit: Limit::Packets(shaper.queue), shaper: Some(tokens), ..ClassSpec::OPEN };
        let rest = ClassSpec { limit: Limit::Bytes(port.buffer), ..ClassSpec::OPEN };
        let class_of = PACKET_KINDS.map(|kind| u8::from(kind != PacketKind::Credit));
        let discipline = Discipline::new(vec![credits, rest], vec![ClassOf(class_of)]);
        let at = network.disciplines.iter().position(|known| *known == discipline).unwrap_or_else(|| {
            network.disciplines.push(discipline);
            network.disciplines.len() - 1
        });
        port.discipline = Some(at as u32);
    }
}

/// Switches cut what finds more than a few packets, and hold a few headers.
fn trim(dice: &mut Dice, network: &mut Network) {
    let mut discipline = trimming();
    discipline.classes[0].limit = Limit::Bytes(Bytes(64) * (1 + dice.below(400)));
    discipline.classes[1].limit = Limit::Packets(1 + dice.below(12) as u32);
    network.disciplines = vec![discipline];
    let hosts = network.hosts;
    network.ports.iter_mut().for_each(|port| port.discipline = (port.from >= hosts).then_some(0));
    network.balancing = dice.one_of(&[Balancing::Flow, Balancing::Packet, Balancing::Queue]);
}

/// Links that lose a share of their packets, half of them at most; one that goes down and comes up, one that slows down.
fn faults(dice: &mut Dice, network: &mut Network) {
    let links = network.ports.len() as u64;
    if dice.chance(0.5) {
        let loss = Change::Loss(dice.one_of(&[1e-4, 1e-3, 1e-2]));
        let lossy: Vec<_> = (0..links as u32).filter(|_| dice.chance(0.5)).collect();
        network.faults.extend(lossy.into_iter().map(|link| Fault { at: Time::ZERO, link, change: loss }));
    }
    for (share, down) in [(0.3, true), (0.2, false)] {
        if !dice.chance(share) {
            continue;
        }
        let (link, at) = (dice.below(links) as u32, Time::from_nanos(dice.below(1_000_000)));
        let until = at + Time::from_nanos(1 + dice.below(20_000_000));
        give_class(network, link);
        let rate = network.ports[link as usize].rate;
        let (first, last) =
            if down { (Change::Down, Change::Up) } else { (Change::Rate(Rate(rate.0 / 4)), Change::Rate(rate)) };
        network.faults.extend([Fault { at, link, change: first }, Fault { at: until, link, change: last }]);
    }
    network.faults.sort_by_key(|fault| fault.at);
    network.convergence = dice.one_of(&[Time::MAX, Time::from_micros(100), Time::from_millis(2)]);
}

/// A port to which something happens has classes: one, where it has none, that holds as much.
pub fn give_class(network: &mut Network, link: u32) {
    let port = &mut network.ports[link as usize];
    if port.discipline.is_none() {
        let mut discipline = one_class();
        discipline.classes[0].limit = Limit::Bytes(port.buffer);
        port.discipline = Some(network.disciplines.len() as u32);
        network.disciplines.push(discipline);
    }
}

pub fn scenario(number: u64) -> Network {
    let mut dice = Dice(Rng::new(number, 7));
    let mut network = topology(&mut dice);
    network.seed = number;
    network.flows = flows(&mut dice, &network);
    let names: Vec<_> = catalog::ALGORITHMS.iter().map(|row| row.name).collect();
    let mut control = control(dice.one_of(&names));
    ports(&mut dice, &mut network, &control);
    control.acks_every = dice.one_of(&[1, 1, 2, 4]);
    network.controls = vec![control];
    network.host.nic = dice.one_of(&[Nic::Fair, Nic::Fifo]);
    network.host.initial_window = Bytes(1460 * (1 + dice.below(20)));
    network.host.segment = dice.one_of(&[1, 1, 2, 8]);
    network.host.rto_initial = Time::from_millis(dice.one_of(&[1, 10, 100]));
    faults(&mut dice, &mut network);
    until_done(network)
}

#[allow(clippy::disallowed_methods, reason = "which scenarios run, not what they give")]
pub fn number(variable: &str, otherwise: u64) -> u64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().expect("a whole number"))
}

#[test]
fn every_flow_of_a_random_scenario_ends() {
    let (from, count) = (number("SHALLOWS_SOAK_FROM", 0), number("SHALLOWS_SOAK", 200));
    let (mut wrong, mut dropped, mut lost, mut timeouts) = (String::new(), 0, 0, 0);
    for number in from..from + count {
        let network = scenario(number);
        let name = network.controls[0].algorithm.name;
        let bytes: Vec<_> = network.flows.iter().map(|flow| flow.bytes.0).collect();
        let answer = run_open(network);
        dropped += answer.ports.iter().map(|port| port.dropped()).sum::<u64>();
        lost += answer.ports.iter().map(|port| port.lost()).sum::<u64>();
        timeouts += answer.flows.iter().map(|flow| flow.timeouts).sum::<u64>();
        let ended =
            answer.flows.iter().zip(&bytes).all(|(flow, &all)| flow.finish < Time::MAX && flow.delivered == all);
        if !ended || !answer.problems.is_empty() || answer.deadlock.is_some() {
            writeln!(wrong, "{number} ({name}): {:?} {:?}", answer.problems, answer.deadlock).expect("text grows");
        }
    }
    println!("{count} scenarios, {dropped} drops, {lost} lost on links, {timeouts} timeouts");
    assert!(wrong.is_empty(), "{wrong}");
}

/// `SHALLOWS_DOMAINS=500` tries so many.
#[test]
fn a_random_scenario_is_the_same_in_any_number_of_domains() {
    let (from, count) = (number("SHALLOWS_SOAK_FROM", 0), number("SHALLOWS_DOMAINS", 40));
    for number in from..from + count {
        let network = scenario(number);
        let name = format!("{number} ({})", network.controls[0].algorithm.name);
        assert_the_same_in_domains(&name, &network, &[(2, 1), (3, 2), (4, 1), (8, 4)]);
    }
}

/// Ctrl-C at any moment, in any number of domains: the books close over what there is.
#[test]
fn a_random_scenario_that_is_stopped_closes_its_books() {
    for number in 0..number("SHALLOWS_DOMAINS", 40) {
        let mut dice = Dice(Rng::new(number, 8));
        let (domains, threads) = (1 + dice.below(5) as usize, 1 + dice.below(2) as usize);
        let mut simulation = Simulation::parted(scenario(number), domains).expect("a lawful network");
        simulation.set_threads(threads);
        for _ in 0..=dice.below(6) {
            simulation.advance(1 + dice.below(3000));
        }
        let answer = simulation.finish();
        assert_eq!(answer.problems, Vec::<String>::new(), "{number} in {domains} domains on {threads} threads");
    }
}
