//! How long each transport takes to repair what a link loses, within the bands of `recovery.txt`.

use std::ops::Range;

use crate::networks::{dumbbell, last, one_class, run, scheduled, until_done};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Balancing, Change, Fault, LossDetection, Network, Retransmission};

/// Links between the switches: from the sender's to the receiver's, and back.
const FORWARD: u32 = 0;
const REVERSE: u32 = 1;

/// One flow of 1,000 frames over three links of 10 Gbps and 1 us each, with the options of a row.
fn network(options: &[&str]) -> Network {
    let (name, options) = options.split_first().expect("a row names an algorithm");
    let mut network = until_done(dumbbell(name, 1, Bytes(1_460_000), 1));
    if network.disciplines.is_empty() {
        // Links that fail need classes.
        network = scheduled(network, one_class(), false);
    }
    network.warmup = Time::ZERO;
    network.ports.iter_mut().for_each(|port| port.delay = Time::from_micros(1));
    (network.host.rto_min, network.host.rto_initial) = (Time::from_millis(1), Time::from_millis(1));
    for option in options {
        match *option {
            "rack" => network.host.loss_detection = LossDetection::Rack,
            "prr" => network.host.prr = true,
            "irn" => network.host.retransmission = Retransmission::Selective,
            "mrc" => network.balancing = Balancing::Mrc,
            _ => panic!("{option}: expected rack, prr, irn or mrc"),
        }
    }
    network
}

/// The links are down between these times, in microseconds.
fn down(links: &[u32], times: impl Iterator<Item = (u64, u64)>) -> Vec<Fault> {
    let fault = |micros, link, change| Fault { at: Time::from_micros(micros), link, change };
    times
        .flat_map(|(from, to)| [(from, Change::Down), (to, Change::Up)])
        .flat_map(|(at, change)| links.iter().map(move |&link| fault(at, link, change)))
        .collect()
}

/// What the columns of the table do to links.
fn harms() -> [(&'static str, Vec<Fault>); 4] {
    let loss = |link| Fault { at: Time::ZERO, link, change: Change::Loss(0.01) };
    [
        ("forward", down(&[FORWARD], [(200, 3200)].into_iter())),
        ("reverse", down(&[REVERSE], [(200, 3200)].into_iter())),
        ("flapping", down(&[FORWARD, REVERSE], (1..=4).map(|period| (200 * period, 200 * period + 50)))),
        ("lossy", vec![loss(FORWARD), loss(REVERSE)]),
    ]
}

/// Reads a band in milliseconds, as `4.2..8.7`.
fn band(text: &str) -> Range<f64> {
    let (least, most) = text.split_once("..").expect("two numbers");
    least.parse().expect("a number")..most.parse().expect("a number")
}

#[test]
fn every_transport_recovers_within_its_bands() {
    let rows = include_str!("recovery.txt").lines().filter(|line| !line.starts_with('#') && !line.is_empty());
    let (mut runs, mut wrong) = (0, Vec::new());
    for row in rows {
        let (transport, bands) = row.split_once('|').expect("a transport and its bands");
        let options: Vec<_> = transport.split_whitespace().collect();
        for ((harm, faults), within) in harms().into_iter().zip(bands.split_whitespace().map(band)) {
            let answer = run(Network { faults, ..network(&options) });
            let (end, flow) = (last(&answer).as_secs() * 1e3, answer.flows[0]);
            println!("{transport} {harm}: {end:.2} ms, {} timeouts, {} again", flow.timeouts, flow.retransmits);
            if !within.contains(&end) || flow.delivered != 1_460_000 {
                wrong.push(format!("{transport} {harm}: {end:.2} ms, not {within:?}"));
            }
            runs += 1;
        }
    }
    assert_eq!((runs, wrong), (4 * 13, Vec::new()));
}
