//! Runs over loopback, in real time. A busy machine makes packets late, so these tests check only that flows complete and that
//! the books close.

#![cfg(target_os = "linux")]

use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::Network;
use shallows_wire::calibration::datagrams_per_s;
use shallows_wire::emulation::{Outcome, Progress, run};
use shallows_wire::judge::judge;

#[allow(dead_code, reason = "networks for the tests of the simulator")]
#[path = "../../sim/tests/networks/mod.rs"]
mod networks;

/// Two flows of 60 packets at 50 Mbps with a round trip of 4 ms.
fn slow(name: &str) -> Network {
    let mut network = networks::dumbbell(name, 2, Bytes(87_600), 1);
    for port in &mut network.ports {
        port.rate = Rate(if port.from >= network.hosts && port.to >= network.hosts { 50_000_000 } else { 200_000_000 });
        port.delay = port.delay * 20;
    }
    network.host.rto_initial = Time::from_millis(20);
    network.host.rto_min = Time::from_millis(10);
    (network.duration, network.warmup) = (Time::from_millis(400), Time::ZERO);
    network
}

/// The network is idle after less than 100 ms, so that a late run has time to complete.
#[test]
fn flows_complete_over_loopback_and_the_books_close() {
    for name in ["dctcp", "dcqcn", "expresspass", "hpcc", "rcp", "ndp"] {
        let outcome = run(slow(name), &Progress::default()).expect("it runs");
        let judged = judge(&slow(name), &outcome).expect("there are paths");
        let Outcome { answer, lateness, datagrams, lost, .. } = outcome;
        // 100 us of propagation both ways, twenty times as long, and some queue.
        assert!(judged.round_trip_us >= 4000.0 && judged.accepted == judged.reason.is_none(), "{name}");
        assert_eq!((lost, &answer.problems), (0, &Vec::new()), "{name}");
        assert!(answer.flows.iter().all(|flow| flow.finish < Time::MAX && flow.finish >= flow.ideal), "{name}");
        // Each of the 120 packets enters and leaves the switches.
        assert!(datagrams >= 240 && lateness.deliveries.count() == datagrams, "{name}: {datagrams}");
        println!("{name}: {datagrams} datagrams, mean lateness {} ns", lateness.deliveries.mean());
    }
}

#[test]
fn a_machine_carries_some_datagrams() {
    let rate = datagrams_per_s(100_000_000, &AtomicBool::new(false)).expect("loopback is there");
    println!("{rate:.0} datagrams/s");
    assert!((1e3..1e8).contains(&rate), "{rate}");
}

#[test]
fn a_run_can_be_stopped() {
    let mut network = slow("dctcp");
    network.flows.iter_mut().for_each(|flow| flow.bytes = Bytes::MAX);
    network.duration = Time::from_millis(60_000);
    let progress = Progress::default();
    let outcome = thread::scope(|scope| {
        let running = scope.spawn(|| run(network, &progress));
        while progress.now_ps.load(Ordering::Relaxed) < Time::from_millis(100).0 {
            thread::yield_now();
        }
        progress.stop.store(true, Ordering::Relaxed);
        running.join().expect("no panic")
    });
    let answer = outcome.expect("it runs").answer;
    assert!(answer.ended > Time::from_millis(100) && answer.ended < Time::from_millis(59_000), "{}", answer.ended);
    assert_eq!(answer.problems, Vec::<String>::new());
}
