//! Datagrams between the domains of a network, in this process and without a clock: as they are, corrupted, and malicious.
//!
//! These tests run with overflow checks and debug assertions.

use shallows_cc::catalog::{self, Algorithm};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Answer, Network, Progress, RealTimeDomain, Simulation};
use shallows_wire::check::{REJECTIONS, Rejection, Rejections, check};
use shallows_wire::header::{FIXED, decode, encode};
use shallows_wire::mac::Key;

#[allow(dead_code, reason = "networks for the tests of the simulator")]
#[path = "../../sim/tests/networks/mod.rs"]
mod networks;

/// The shortest delay of a link of the dumbbell: no packet is late.
const STEP: Time = Time::from_micros(25);

fn key() -> Key {
    Key::new(b"an ordinary key.")
}

/// The algorithms that datagrams carry: those without paths of their own.
fn algorithms() -> impl Iterator<Item = &'static Algorithm> {
    catalog::ALGORITHMS.iter().filter(|row| row.multipath.is_none())
}

fn short(name: &str, millis: u64) -> Network {
    let mut network = networks::dumbbell(name, 2, Bytes::MAX, 1);
    (network.duration, network.warmup) = (Time::from_millis(millis), Time::from_millis(millis * 2 / 3));
    if *network.controls[0].algorithm.transport == catalog::ROCE {
        // They begin at line rate and go back to the first frame lost: their papers assume that none is.
        network.ports.iter_mut().for_each(|port| port.buffer = Bytes::MAX);
    }
    network
}

/// Runs hosts and switches as two domains. `spoil` may change each datagram, which it gets with the time and the number of the domain to
/// which it goes.
fn exchange(network: Network, mut spoil: impl FnMut(Time, &mut Vec<u8>)) -> (Vec<RealTimeDomain>, Rejections) {
    let of: Vec<_> = (0..network.nodes).map(|node| u32::from(node >= network.hosts)).collect();
    let mut parts = RealTimeDomain::divide(network, &of).expect("a lawful network");
    let (mut now, mut rejections, key) = (Time::ZERO, Rejections::default(), key());
    while !parts.iter().all(RealTimeDomain::is_over) {
        now += STEP;
        let mut sent = Vec::new();
        for part in &mut parts {
            part.advance(now);
            part.depart(|to, transit| {
                let mut bytes = Vec::new();
                encode(&key, &transit.packet, &transit.header, &transit.int_stack, &mut bytes);
                spoil(now, &mut bytes);
                sent.push((to, bytes));
            });
        }
        for (to, mut bytes) in sent {
            let part = &mut parts[to as usize];
            match decode(&key, &mut bytes).and_then(|datagram| check(datagram, now, part)) {
                Ok(transit) => _ = part.arrive(transit),
                Err(why) => rejections.count(why),
            }
        }
    }
    (parts, rejections)
}

/// The same, and closes the books.
fn run(network: Network, spoil: impl FnMut(Time, &mut Vec<u8>)) -> (Answer, Rejections) {
    let (parts, rejections) = exchange(network, spoil);
    (RealTimeDomain::finish(parts), rejections)
}

/// Kinds of transport headers that have the same length: those of TCP with and without INT, two answers of RoCE, data and control of
/// credits and of pulls.
const TWINS: [(u8, u8); 7] = [(1, 5), (2, 6), (10, 11), (12, 13), (16, 19), (18, 21), (22, 23)];

/// Changes the kind of a datagram to another one of the same length.
fn swap_kind(bytes: &mut [u8]) {
    let twin = TWINS.iter().find_map(|&(a, b)| [(a, b), (b, a)].into_iter().find(|pair| pair.0 == bytes[2]));
    bytes[2] = twin.map_or(bytes[2], |(_, other)| other);
}

/// Changes one to four bytes of a datagram.
fn mutate(draws: &mut Rng, bytes: &mut [u8]) {
    for _ in 0..=draws.bits() % 4 {
        let at = draws.bits() as usize % bytes.len();
        // Extreme values are likelier to break arithmetic than random ones.
        bytes[at] = match draws.bits() % 4 {
            0 => 0,
            1 => 0xff,
            _ => draws.bits() as u8,
        };
    }
}

/// Gives a datagram the code that the other end would.
fn sign(bytes: &mut [u8]) {
    if bytes.len() >= FIXED {
        bytes[20..28].fill(0);
        let code = key().code(bytes);
        bytes[20..28].copy_from_slice(&code.to_le_bytes());
    }
}

/// Encoding, decoding and the checks change nothing in a run without errors: for no algorithm, in no field.
#[test]
fn a_run_over_datagrams_is_that_of_the_packet_world() {
    for row in algorithms() {
        let network = short(row.name, 6);
        let mut whole = Simulation::new(network.clone()).expect("a lawful network");
        while whole.advance(1 << 20) == Progress::Running {}
        let (whole, (answer, rejections)) = (whole.finish(), run(network, |_, _| {}));
        assert_eq!(rejections, Rejections::default(), "{}", row.name);
        assert_eq!((answer.fingerprint, answer.flows), (whole.fingerprint, whole.flows), "{}", row.name);
        assert_eq!(answer.problems, Vec::<String>::new(), "{}", row.name);
    }
}

#[test]
fn random_datagrams_are_rejected() {
    let mut draws = Rng::new(1, 0);
    for round in 0..100_000 {
        let mut bytes: Vec<u8> = (0..draws.bits() % 200).map(|_| draws.bits() as u8).collect();
        if round % 2 == 0 && bytes.len() > 2 {
            bytes[..2].copy_from_slice(&[0x53, 3]);
        }
        assert!(decode(&key(), &mut bytes).is_err());
    }
}

#[test]
fn mutated_datagrams_are_rejected() {
    let mut samples = Vec::new();
    for name in ["dctcp", "hpcc", "hpcc-roce", "rcp", "dcqcn", "expresspass", "ndp", "rccc"] {
        let count = samples.len();
        run(short(name, 1), |_, bytes| {
            if samples.len() < count + 500 {
                samples.push(bytes.clone());
            }
        });
    }
    let mut draws = Rng::new(2, 0);
    for round in 0..100_000 {
        let sample = &samples[round % samples.len()];
        let mut bytes = sample.clone();
        mutate(&mut draws, &mut bytes);
        let same = bytes == *sample;
        assert!(same || decode(&key(), &mut bytes).is_err(), "{sample:?} became {bytes:?}");
    }
}

/// A peer that knows the key sends one datagram in a hundred with wrong fields. Its flows may suffer; this process does not panic.
#[test]
fn wrong_fields_with_a_right_code_do_no_harm_to_the_process() {
    let mut seen = Rejections::default();
    for (row, seed) in algorithms().flat_map(|row| (0..2).map(move |seed| (row, seed))) {
        let mut draws = Rng::new(seed, 3);
        // A forged packet has left no port, so the books cannot close.
        let (_, rejections) = exchange(short(row.name, 12), |_, bytes| {
            if draws.bits().is_multiple_of(100) {
                if draws.bits().is_multiple_of(8) {
                    swap_kind(bytes)
                } else {
                    mutate(&mut draws, bytes)
                }
                sign(bytes);
            }
        });
        REJECTIONS.iter().for_each(|&why| (0..rejections.of(why)).for_each(|_| seen.count(why)));
    }
    // Every check has rejected something. The code is right except where the length no longer fits.
    let never: Vec<_> = REJECTIONS.iter().filter(|&&why| seen.of(why) == 0 && why != Rejection::Code).collect();
    assert!(never.is_empty(), "{never:?} of {seen:?}");
}

/// In the first third one datagram in a hundred is corrupted. All flows deliver in the last third.
#[test]
fn flows_deliver_again_after_corrupted_datagrams() {
    for (row, seed) in algorithms().flat_map(|row| (0..1).map(move |seed| (row, seed))) {
        let (mut draws, mut spoiled) = (Rng::new(seed, 4), 0);
        let (answer, rejections) = run(short(row.name, 90), |now, bytes| {
            if now < Time::from_millis(30) && draws.bits().is_multiple_of(100) {
                let before = bytes.clone();
                mutate(&mut draws, bytes);
                spoiled += u64::from(*bytes != before);
            }
        });
        assert_eq!(rejections.total(), spoiled, "{}", row.name);
        assert!(answer.flows.iter().all(|flow| flow.goodput > 0), "{} with seed {seed}: {:?}", row.name, answer.flows);
    }
}
