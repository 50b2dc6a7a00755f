//! Networks that several tests build upon.

use shallows_cc::catalog::{self, Reliability, SendControl};
use shallows_cc::parameter::Values;
use shallows_cc::port::{self, MarkAt, credit::CreditShaper};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{
    Answer, ClassOf, ClassSpec, Control, Discipline, FlowReport, FlowSpec, GoodputSpec, HostSpec, Limit, Marking,
    Network, PACKET_KINDS, PacketKind, PortSpec, Progress, RecordSpec, Shaper, SharedSpec, Simulation,
};

pub const MTU: Bytes = Bytes(1500);
pub const RATE: Rate = Rate::from_gbps(10);

/// Runs it to its end; its books must close.
pub fn run(network: Network) -> Answer {
    let answer = run_open(network);
    assert_eq!(answer.problems, Vec::<String>::new());
    answer
}

/// Runs it to its end.
pub fn run_open(network: Network) -> Answer {
    let mut simulation = Simulation::new(network).expect("a lawful network");
    while simulation.advance(1_000_000) == Progress::Running {}
    simulation.finish()
}

/// Runs it in so many domains, if it can be parted so often, by so many threads; a turn is short.
pub fn run_parted(network: Network, domains: usize, threads: usize) -> Answer {
    let mut simulation = Simulation::parted(network, domains).expect("a lawful network");
    simulation.set_threads(threads);
    while simulation.advance(20_000) == Progress::Running {}
    simulation.finish()
}

/// Reads every queue and every sender now and then, and begins its statistics late.
pub fn recorded(mut network: Network) -> Network {
    network.warmup = Time::from_micros(90);
    network.record = RecordSpec {
        queue_interval: Time::from_micros(17),
        ports: (0..network.ports.len() as u32).collect(),
        probe_interval: Time::from_micros(50),
        flows: (0..network.flows.len() as u32).collect(),
        goodput: Some(GoodputSpec {
            interval: Time::from_nanos(100),
            flows: vec![(0..network.flows.len() as u32).collect(), vec![0]],
        }),
    };
    network
}

/// Everything that a run gives back is the same in one domain and in several, on one thread and on several.
pub fn assert_the_same_in_domains(name: &str, network: &Network, ways: &[(usize, usize)]) {
    let whole = format!("{:?}", run_open(network.clone()));
    for &(domains, threads) in ways {
        let parted = format!("{:?}", run_parted(network.clone(), domains, threads));
        if let Some(at) = whole.bytes().zip(parted.bytes()).position(|(a, b)| a != b) {
            let near = |text: &str| text[at.saturating_sub(300)..(at + 100).min(text.len())].to_owned();
            panic!("{name}: {domains} domains on {threads} threads\n{}\nnot\n{}", near(&parted), near(&whole));
        }
        assert_eq!(whole.len(), parted.len(), "{name}: {domains} domains on {threads} threads");
    }
}

pub fn control(name: &str) -> Control {
    let algorithm = catalog::find(name).expect("a row of the catalog");
    let values = Values::defaults(algorithm.parameters);
    Control { algorithm, values, receiver: None, acks_every: 1, user_algorithm: None }
}

pub fn flow(src: u32, dst: u32, bytes: Bytes) -> FlowSpec {
    FlowSpec::new(src, dst, bytes, Time::ZERO)
}

pub fn host() -> HostSpec {
    HostSpec { rto_max: Time::from_millis(1000), ..Network::bare().host }
}

/// Cables of 10 Gbps and a microsecond; hosts' ports are unlimited, switches' hold 100 frames.
pub fn network(hosts: u32, nodes: u32, cables: &[(u32, u32)]) -> Network {
    let mut ports = Vec::new();
    for &(a, b) in cables {
        for (from, to) in [(a, b), (b, a)] {
            let buffer = if from < hosts { Bytes::MAX } else { MTU * 100 };
            let delay = Time::from_micros(1);
            ports.push(PortSpec { from, to, rate: RATE, delay, buffer, marking: None, discipline: None });
        }
    }
    Network {
        hosts,
        nodes,
        ports,
        controls: vec![control("reno")],
        host: host(),
        duration: Time::from_millis(50),
        ..Network::bare()
    }
}

/// `hosts` around one switch.
pub fn star(hosts: u32) -> Network {
    let cables: Vec<_> = (0..hosts).map(|host| (host, hosts)).collect();
    network(hosts, hosts + 1, &cables)
}

/// A fat tree of `k` pods (Al-Fares, SIGCOMM 2008): hosts first, then edge, aggregation and core switches.
pub fn fat_tree(k: u32) -> Network {
    let half = k / 2;
    let (hosts, tier) = (k * half * half, k * half);
    let (edge, aggregation, core) = (hosts, hosts + tier, hosts + 2 * tier);
    let mut cables: Vec<_> = (0..hosts).map(|host| (host, edge + host / half)).collect();
    for at in 0..tier {
        let (pod, place) = (at / half, at % half);
        cables.extend((0..half).map(|up| (edge + at, aggregation + pod * half + up)));
        cables.extend((0..half).map(|up| (aggregation + at, core + place * half + up)));
    }
    network(hosts, core + half * half, &cables)
}

fn default_marking(mechanism: &'static port::Mechanism) -> Marking {
    Marking { mechanism, values: Values::defaults(mechanism.parameters), at: mechanism.at }
}

/// Senders 0..n and receivers n..2n around two switches; 10 Gbps everywhere, 200 us there and back.
pub fn dumbbell(name: &str, flows: u32, bytes: Bytes, seed: u64) -> Network {
    let row = catalog::find(name).expect("an algorithm of the catalog");
    let mechanism = match row.marking {
        catalog::Marking::Required(kind) | catalog::Marking::Rates(kind) | catalog::Marking::Records(kind) => {
            port::find(kind)
        }
        _ => None,
    };
    let (left, right) = (2 * flows, 2 * flows + 1);
    let mut ports = Vec::new();
    let mut cable = |a, b, micros, buffer_a, buffer_b| {
        for (from, to, buffer) in [(a, b, buffer_a), (b, a, buffer_b)] {
            let delay = Time::from_micros(micros);
            let marking = (buffer != Bytes::MAX && mechanism.is_some()).then_some(0);
            ports.push(PortSpec { from, to, rate: RATE, delay, buffer, marking, discipline: None });
        }
    };
    cable(left, right, 50, MTU * 250, MTU * 250);
    for host in 0..2 * flows {
        cable(host, if host < flows { left } else { right }, 25, Bytes::MAX, MTU * 250);
    }
    let flow = |at| FlowSpec { start: Time::from_micros(u64::from(at) * 100), ..flow(at, flows + at, bytes) };
    let discipline = match row.transport.leave {
        SendControl::OnCredits => {
            let mut discipline = credits_first(&control(name));
            discipline.classes[1].limit = Limit::Bytes(Bytes::MAX);
            Some(discipline)
        }
        _ if row.transport.reliability == Reliability::Unordered => Some(trimming()),
        _ => None,
    };
    if discipline.is_some() {
        // Credits are shaped at hosts too; what is cut, switches cut.
        let everywhere = row.transport.leave == SendControl::OnCredits;
        ports.iter_mut().for_each(|port| port.discipline = (everywhere || port.buffer != Bytes::MAX).then_some(0));
    }
    Network {
        hosts: 2 * flows,
        nodes: 2 * flows + 2,
        ports,
        markings: mechanism.into_iter().map(default_marking).collect(),
        disciplines: discipline.into_iter().collect(),
        flows: (0..flows).map(flow).collect(),
        controls: vec![control(name)],
        host: host(),
        duration: Time::from_millis(50),
        warmup: Time::from_millis(10),
        seed,
        ..Network::bare()
    }
}

/// Ends when all flows have.
pub fn until_done(mut network: Network) -> Network {
    (network.duration, network.until_done) = (Time::MAX, true);
    network
}

/// All ports of switches mark by this row.
pub fn marking(mut network: Network, kind: &str, at: MarkAt) -> Network {
    let mechanism = port::find(kind).expect("a row of the table");
    network.markings = vec![Marking { mechanism, values: Values::defaults(mechanism.parameters), at }];
    for port in &mut network.ports {
        port.marking = (port.from >= network.hosts).then_some(0);
    }
    network
}

/// All ports have this discipline, hosts' too where `nics`.
pub fn scheduled(mut network: Network, discipline: Discipline, nics: bool) -> Network {
    network.disciplines = vec![discipline];
    for port in &mut network.ports {
        port.discipline = (nics || port.from >= network.hosts).then_some(0);
    }
    network
}

const OPEN: ClassSpec = ClassSpec::OPEN;

/// Pauses first, then what comes back, then data.
pub fn lossless() -> Discipline {
    let class_of = PACKET_KINDS.map(|kind| match kind {
        PacketKind::Pause | PacketKind::Resume => 0,
        PacketKind::Data => 2,
        _ => 1,
    });
    Discipline::new(vec![OPEN; 3], vec![ClassOf(class_of)])
}

/// One class of everything, and one before it for flows with a priority; each holds 100 frames.
pub fn priority_first() -> Discipline {
    let class = ClassSpec { limit: Limit::Bytes(MTU * 100), ..ClassSpec::OPEN };
    Discipline::new(vec![class; 2], [0, 1].map(|class| ClassOf([class; PACKET_KINDS.len()])).to_vec())
}

/// A shaped class of credits before one of everything else.
pub fn credits_first(control: &Control) -> Discipline {
    assert!(control.waits_for_credits());
    let shaper = CreditShaper::new(&control.values, MTU);
    let tokens = Shaper { rate: shaper.rate(RATE), burst: shaper.burst_bytes(), jitter: Time::ZERO, pacer: None };
    let credits = ClassSpec { limit: Limit::Packets(shaper.queue), shaper: Some(tokens), ..ClassSpec::OPEN };
    let rest = ClassSpec { limit: Limit::Bytes(MTU * 100), ..ClassSpec::OPEN };
    let class_of = PACKET_KINDS.map(|kind| u8::from(kind != PacketKind::Credit));
    Discipline::new(vec![credits, rest], vec![ClassOf(class_of)])
}

/// Headers and answers first, then data, of which a port holds eight packets and cuts what comes beyond (NDP).
pub fn trimming() -> Discipline {
    let headers = ClassSpec { limit: Limit::Bytes(MTU * 16), turn: Some(10), ..ClassSpec::OPEN };
    let data = ClassSpec { limit: Limit::Packets(8), trims: true, ..ClassSpec::OPEN };
    let class_of = PACKET_KINDS.map(|kind| u8::from(kind == PacketKind::Data));
    Discipline::new(vec![headers, data], vec![ClassOf(class_of)])
}

/// Lets all packets share a pool of memory of each switch.
pub fn share(network: &mut Network, shared: Option<SharedSpec>) {
    network.pools = shared.into_iter().collect();
    network.classes[0].pool = shared.map(|_| 0);
}

/// Everything in one class.
pub fn one_class() -> Discipline {
    Discipline::new(vec![OPEN], vec![ClassOf([0; PACKET_KINDS.len()])])
}

/// Two hosts below two leaves, `spines` between them; cables 0 and 1 are the hosts', then two a spine. One flow of 1000 packets.
pub fn leaf_spine(spines: u32) -> Network {
    let between = (0..spines).flat_map(|spine| [(2, 4 + spine), (3, 4 + spine)]);
    let cables: Vec<_> = [(0, 2), (1, 3)].into_iter().chain(between).collect();
    let mut network = network(2, 4 + spines, &cables);
    network.flows = vec![flow(0, 1, Bytes(1_460_000))];
    until_done(network)
}

/// When the last flow ends.
pub fn last(answer: &Answer) -> Time {
    answer.flows.iter().map(|flow| flow.finish).max().expect("a flow")
}

/// Panics unless the last flow ends between these times, in milliseconds.
pub fn assert_ends_within(answer: &Answer, milliseconds: std::ops::Range<f64>) {
    let end = last(answer).as_secs() * 1e3;
    assert!(milliseconds.contains(&end), "the last flow ends after {end} ms, not {milliseconds:?}");
}

/// Panics unless each flow ends after its timeouts, and at most as many milliseconds later as `busy` says of it.
pub fn assert_ends_after_timeouts(answer: &Answer, busy: impl Fn(&FlowReport) -> f64) {
    for flow in &answer.flows {
        let (took, waited) = [flow.finish - flow.start, flow.timeout_wait].map(|time| time.as_secs() * 1e3).into();
        let most = waited + busy(flow);
        assert!((waited..most).contains(&took), "a flow ends after {took} ms, not {waited} to {most}");
    }
}

/// The link from its first leaf up to a spine.
pub fn up(spine: u32) -> u32 {
    2 * (2 + 2 * spine)
}
