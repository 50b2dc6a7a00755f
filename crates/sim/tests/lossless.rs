//! Ports with classes, pauses and shared memory, from end to end.

use crate::networks::{MTU, control, lossless};
use shallows_cc::parameter::Values;
use shallows_cc::port::{self, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{
    Answer, ClassOf, ClassSpec, Discipline, FlowSpec, HostSpec, Limit, Marking, Network, Nic, Observer, PACKET_KINDS,
    PauseSpec, Progress, SharedSpec, Simulation,
};

/// Everything in one class: a FIFO by other means.
fn one_class(limit: Bytes) -> Discipline {
    let class = ClassSpec { limit: Limit::Bytes(limit), ..ClassSpec::OPEN };
    Discipline::new(vec![class], vec![ClassOf([0; PACKET_KINDS.len()])])
}

/// Cables of 10 Gbps and a microsecond, and a fixed window of so many packets; switches' ports hold `buffer`.
fn network(hosts: u32, nodes: u32, cables: &[(u32, u32)], buffer: Bytes, window: f64) -> Network {
    let mut network = crate::networks::network(hosts, nodes, cables);
    for port in network.ports.iter_mut().filter(|port| port.from >= hosts) {
        port.buffer = buffer;
    }
    let mut fixed = control("fixed");
    fixed.values.set("window", window).expect("a lawful window");
    network.controls = vec![fixed];
    network.host = HostSpec {
        initial_window: MTU * 10,
        rto_min: Time::from_millis(5),
        rto_max: Time::from_millis(100),
        rto_initial: Time::from_millis(5),
        ..network.host
    };
    (network.duration, network.warmup) = (Time::from_millis(5), Time::from_millis(1));
    network
}

/// A flow without end, which starts some microseconds late.
fn flow(src: u32, dst: u32) -> FlowSpec {
    FlowSpec { start: Time::from_micros(u64::from(src)), ..crate::networks::flow(src, dst, Bytes::MAX) }
}

/// `senders` hosts around one switch, all sending to the last host.
fn incast(senders: u32, buffer: Bytes, window: f64) -> Network {
    let cables: Vec<_> = (0..=senders).map(|host| (host, senders + 1)).collect();
    let mut network = network(senders + 1, senders + 2, &cables, buffer, window);
    network.flows = (0..senders).map(|host| flow(host, senders)).collect();
    network
}

fn with(mut network: Network, discipline: Discipline) -> Network {
    network.disciplines = vec![discipline];
    for port in &mut network.ports {
        port.discipline = Some(0);
    }
    network
}

const PAUSE: PauseSpec = PauseSpec::at(Bytes(30_000), Bytes(3000));

fn run(network: Network) -> Answer {
    let mut simulation = Simulation::new(network).expect("a lawful network");
    while simulation.advance(1_000_000) == Progress::Running {}
    let answer = simulation.finish();
    assert_eq!(answer.problems, Vec::<String>::new());
    answer
}

fn dropped(answer: &Answer) -> u64 {
    answer.ports.iter().map(|port| port.dropped()).sum()
}

#[test]
fn one_class_is_a_fifo() {
    let fifo = run(incast(4, MTU * 20, 8.0));
    let mut network = with(incast(4, MTU * 20, 8.0), one_class(MTU * 20));
    for port in &mut network.ports {
        if port.from < network.hosts {
            port.discipline = None;
        }
    }
    let classes = run(network);
    assert!(dropped(&fifo) > 0);
    assert_eq!(fifo.fingerprint, classes.fingerprint);
    for (a, b) in fifo.ports.iter().zip(&classes.ports) {
        assert_eq!((a.counters.dropped, a.busy, a.area, a.largest), (b.counters.dropped, b.busy, b.area, b.largest));
        assert_eq!(a.backlogs.quantile(0.9), b.backlogs.quantile(0.9));
    }
}

#[test]
fn pauses_leave_nothing_to_drop_and_keep_the_link_full() {
    let mut network = with(incast(16, MTU * 20, 1000.0), lossless());
    network.classes[0].pause = Some(PAUSE);
    let answer = run(network);
    assert_eq!(dropped(&answer), 0);
    let out = answer.ports.last().expect("the port to the receiver");
    assert_eq!(out.busy, answer.measured);
    let pauses: u64 = answer.ports.iter().flat_map(|port| &port.classes).map(|class| class.pauses).sum();
    let paused: Time = answer.ports.iter().flat_map(|port| &port.classes).map(|class| class.paused).sum();
    assert!(pauses >= 16, "{pauses}");
    // Sixteen senders share one link: each is stopped for about 15/16 of the time.
    let share = paused / answer.measured / 16.0;
    assert!((share - 15.0 / 16.0).abs() < 0.02, "{share}");
}

/// So many links that the caches are told of what comes: pauses too, which are no flow's.
#[test]
fn pauses_reach_the_hosts_of_a_large_network() {
    let hosts = 4200;
    let cables: Vec<_> = (0..hosts).map(|host| (host, hosts)).collect();
    let mut network = with(network(hosts, hosts + 1, &cables, Bytes::MAX, 1000.0), lossless());
    network.flows = (0..300).map(|host| FlowSpec { start: Time::ZERO, ..flow(host, 300) }).collect();
    (network.classes[0].pause, network.warmup) = (Some(PAUSE), Time::ZERO);
    network.duration = Time::from_millis(1);
    let answer = run(network);
    let pauses: u64 = answer.ports.iter().flat_map(|port| &port.classes).map(|class| class.pauses).sum();
    assert!(dropped(&answer) == 0 && pauses >= 300, "{pauses} pauses");
}

#[test]
fn without_headroom_what_is_on_its_way_is_dropped() {
    let mut network = with(incast(16, MTU * 20, 1000.0), lossless());
    network.classes[0].pause = Some(PauseSpec { headroom: Some(Bytes::ZERO), ..PAUSE });
    assert!(dropped(&run(network)) > 0);
}

/// Five switches in a circle, each host sending to the one two further on: every link waits for the next.
#[test]
fn a_circle_of_pauses_is_found_and_named() {
    let mut cables: Vec<_> = (0..5).map(|at| (at, 5 + at)).collect();
    cables.extend((0..5).map(|at| (5 + at, 5 + (at + 1) % 5)));
    let mut network = with(network(5, 10, &cables, Bytes::MAX, 1000.0), lossless());
    network.flows = (0..5).map(|at| flow(at, (at + 2) % 5)).collect();
    network.classes[0].pause = Some(PAUSE);
    let answer = run(network);
    let mut circle = answer.deadlock.clone().expect("a deadlock").ports;
    circle.sort_unstable();
    // The cables of the circle are numbers 5 to 9; clockwise links are the first of each.
    assert_eq!(circle, [10, 12, 14, 16, 18]);
    assert_eq!(dropped(&answer), 0);
}

/// Links that switches pause, and the ports through which most of their data goes.
#[derive(Default)]
struct Pauses(Vec<(u32, u32)>);

impl Observer for Pauses {
    fn pause_requested(&mut self, _now: Time, (link, _): (u32, u8), through: u32, pause: bool) {
        if pause {
            self.0.push((link, through));
        }
    }
}

/// Host 0 sends to host 4 as three others do, and alone to host 3: its link is paused for what waits at the port to host 4, the last one.
#[test]
fn a_pause_names_the_port_with_most_data_of_the_link() {
    let mut network = with(incast(4, Bytes::MAX, 1000.0), lossless());
    network.classes[0].pause = Some(PAUSE);
    network.flows.push(flow(0, 3));
    let out = network.ports.len() as u32 - 1;
    let mut simulation = Simulation::observed(network, Pauses::default()).expect("a lawful network");
    while simulation.advance(1_000_000) == Progress::Running {}
    let (answer, Pauses(seen)) = simulation.finish_observed();
    assert_eq!(answer.problems, Vec::<String>::new());
    assert!(seen.len() > 10 && seen.iter().all(|&(_, through)| through == out), "{seen:?}");
}

#[test]
fn no_circle_no_deadlock() {
    let mut network = with(incast(16, MTU * 20, 1000.0), lossless());
    network.classes[0].pause = Some(PAUSE);
    assert_eq!(run(network).deadlock, None);
}

/// Choudhury and Hahne: one busy port with a threshold of alpha times what is free holds
/// alpha / (1 + alpha) of the memory.
#[test]
fn one_busy_port_holds_its_share_of_the_memory() {
    for (alpha, due) in [(1.0, 0.5), (2.0, 2.0 / 3.0)] {
        let mut network = with(incast(4, Bytes::MAX, 1000.0), one_class(Bytes::MAX));
        let size = MTU * 300;
        share(&mut network, Some(SharedSpec { size, alpha }));
        let answer = run(network);
        let out = answer.ports.last().expect("the port to the receiver");
        let largest = out.clock.bytes(out.largest) / size;
        assert!((largest - due).abs() < 2.0 / 300.0 && out.dropped() > 0, "{largest}");
    }
}

fn pick<T: Copy>(draws: &mut Rng, from: &[T]) -> T {
    from[draws.bits() as usize % from.len()]
}

/// Everyone sends to everyone at once through one small memory: many pauses are decided while others are being sent.
#[test]
fn a_resume_does_not_overtake_its_pause() {
    let hosts = 12;
    let cables: Vec<_> = (0..hosts).map(|host| (host, hosts)).collect();
    let mut network = with(network(hosts, hosts + 1, &cables, Bytes::MAX, 1000.0), lossless());
    (network.mtu, network.header) = (Bytes(1000), Bytes(48));
    network.ports.iter_mut().for_each(|port| port.delay = Time::from_micros(2));
    share(&mut network, Some(SharedSpec { size: Bytes(100_000), alpha: 16.0 }));
    network.classes[0].pause = Some(PauseSpec::at(Bytes(100_000), Bytes(2000)));
    network.controls = vec![control("timely")];
    let pairs = (0..hosts).flat_map(|src| (0..hosts).filter(move |&dst| dst != src).map(move |dst| (src, dst)));
    let bytes = Bytes(95_200);
    network.flows = pairs.map(|(src, dst)| FlowSpec { bytes, start: Time::ZERO, ..flow(src, dst) }).collect();
    network.warmup = Time::ZERO;
    network.duration = Time::from_millis(20);
    let answer = run(network);
    assert!(answer.flows.iter().all(|flow| flow.finish < Time::MAX));
    assert!(answer.ports.iter().all(|port| port.classes.iter().all(|class| class.paused < Time::from_millis(2))));
}

/// A tree of switches, on which no pauses can wait for each other in a circle, with hosts at its leaves and
/// its trunk, transfers between them, and pauses of any strictness; another one for each seed.
fn any_lossless(seed: u64) -> Network {
    let mut draws = Rng::new(seed, 0);
    let (hosts, switches) = (2 + draws.bits() as u32 % 7, 1 + draws.bits() as u32 % 5);
    let mut cables: Vec<_> = (0..hosts).map(|host| (host, hosts + draws.bits() as u32 % switches)).collect();
    cables.extend((1..switches).map(|at| (hosts + at, hosts + draws.bits() as u32 % at)));
    let mut network = with(network(hosts, hosts + switches, &cables, Bytes::MAX, 1000.0), lossless());
    for cable in network.ports.chunks_mut(2) {
        let rate = Rate::from_gbps(pick(&mut draws, &[1, 10, 25, 40, 100]));
        let delay = Time::from_nanos(pick(&mut draws, &[0, 1, 100, 1000, 20_000]));
        cable.iter_mut().for_each(|port| (port.rate, port.delay) = (rate, delay));
    }
    let threshold = Bytes(pick(&mut draws, &[0, 1500, 10_000, 100_000]));
    network.classes[0].pause = Some(PauseSpec::at(threshold, Bytes(pick(&mut draws, &[0, 3000, 1_000_000]))));
    let size = Bytes(pick(&mut draws, &[3000, 60_000, 1_000_000]));
    let alpha = pick(&mut draws, &[None, Some(0.1), Some(1.0)]);
    share(&mut network, alpha.map(|alpha| SharedSpec { size, alpha }));
    network.host.nic = pick(&mut draws, &[Nic::Fair, Nic::Fifo]);
    mark(&mut network);
    network.controls = ["fixed", "dctcp", "dcqcn", "timely", "patched-timely"].map(control).to_vec();
    network.flows = (0..1 + draws.bits() % 20).map(|_| any_flow(&mut draws, &network)).collect();
    network.duration = Time::from_millis(2000);
    network.warmup = Time::ZERO;
    network
}

fn any_flow(draws: &mut Rng, network: &Network) -> FlowSpec {
    let src = draws.bits() as u32 % network.hosts;
    let dst = (src + 1 + draws.bits() as u32 % (network.hosts - 1)) % network.hosts;
    let bytes = Bytes(pick(draws, &[1, 1500, 40_000, 300_000]));
    let control = draws.bits() as u32 % network.controls.len() as u32;
    FlowSpec { bytes, control, start: Time::from_nanos(draws.bits() % 50_000), ..flow(src, dst) }
}

/// Switches mark by RED.
fn mark(network: &mut Network) {
    let mechanism = port::find("red").expect("a row of the table");
    network.markings = vec![Marking { mechanism, values: Values::defaults(mechanism.parameters), at: MarkAt::Dequeue }];
    for port in &mut network.ports {
        port.marking = (port.from >= network.hosts).then_some(0);
    }
}

fn paused(answer: &Answer) -> Time {
    answer.ports.iter().flat_map(|port| &port.classes).map(|class| class.paused).sum()
}

/// Nothing is dropped, every transfer ends, and so does every pause: a run that goes on for longer counts
/// no more paused time.
#[test]
fn on_any_tree_of_switches_pauses_lose_nothing_and_end() {
    let mut pausing = 0;
    for seed in 0..200 {
        let (short, long) = (any_lossless(seed), any_lossless(seed));
        let answer = run(short);
        assert_eq!(dropped(&answer), 0, "seed {seed}");
        assert_eq!(answer.deadlock, None, "seed {seed}");
        assert!(answer.flows.iter().all(|flow| flow.finish < Time::MAX), "seed {seed}");
        let longer = run(Network { duration: long.duration * 2, ..long });
        assert_eq!(paused(&answer), paused(&longer), "seed {seed}");
        pausing += u32::from(paused(&answer) > Time::ZERO);
    }
    assert!(pausing > 50, "only {pausing} of 200 networks paused anything");
}

/// Lets all packets share a pool of memory of each switch.
fn share(network: &mut Network, shared: Option<SharedSpec>) {
    network.pools = shared.into_iter().collect();
    network.classes[0].pool = shared.map(|_| 0);
}
