//! Runs that a program drives: whatever slices they are cut into, and whichever copies replace them, they are the runs of their traces.
//!
//! `SHALLOWS_DRIVEN=200 cargo test --release -p shallows-sim --test networks driven` tries 200 random scenarios, each in about 1000 slices.

use std::collections::BTreeSet;

use shallows_cc::catalog;
use shallows_cc::port::MarkAt;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{
    Advance, Answer, Balancing, Change, ClassOf, ClassSpec, Completion, ComputationSpec, Discipline, Fault, FlowReport,
    FlowSpec, Limit, Network, PACKET_KINDS, PacketKind, PauseSpec, Progress, SenderSetting, Simulation, TrafficClass,
    Wait,
};

use crate::networks::{self, control, fat_tree, flow, marking, run_open, star, until_done};
use crate::soak::{Dice, give_class, number, ports, scenario};

/// A random scenario with computations and with acknowledgements that ride on data, whose flows are in the order in which a driver sends
/// them: first those that wait and those for which others wait, which the driver knows at the beginning; their number comes with it.
fn trace(number: u64) -> (Network, usize) {
    let mut dice = Dice(Rng::new(number, 98));
    let mut network = scenario(number);
    if dice.chance(0.1) {
        two_planes(&mut dice, &mut network);
    } else if dice.chance(0.4) && network.disciplines.iter().all(|one| one.classes.len() == 1) {
        two_classes(&mut dice, &mut network);
    }
    if !network.markings.is_empty() && dice.chance(0.5) {
        other_marking(&mut dice, &mut network);
    }
    network.faults.sort_by_key(|fault| fault.at);
    network.host.piggyback = dice.chance(0.3);
    if dice.chance(0.3) {
        compute(&mut dice, &mut network);
    }
    let places = network.flows.len() as u32;
    let waited_for = network.computations.iter().flat_map(|one| one.after.clone());
    let waited_for = waited_for.chain(network.flows.iter().flat_map(|flow| flow.after.clone()));
    let waited_for: Vec<_> = waited_for.filter(|&place| place < places).collect();
    let is_known = |at: u32| !network.flows[at as usize].starts_by_itself() || waited_for.contains(&at);
    let mut order: Vec<_> = (0..places).collect();
    order.sort_by_key(|&at| (!is_known(at), if is_known(at) { Time::ZERO } else { network.flows[at as usize].start }));
    let known = order.iter().filter(|&&at| is_known(at)).count();
    let place = |old: &u32| order.iter().position(|at| at == old).map_or(*old, |new| new as u32);
    let moved = |&at: &u32| {
        let flow = network.flows[at as usize].clone();
        FlowSpec { after: flow.after.iter().map(place).collect(), ..flow }
    };
    let flows = order.iter().map(moved).collect();
    network.computations.iter_mut().for_each(|one| one.after = one.after.iter().map(place).collect());
    network.flows = flows;
    network.sender_settings = settings(&mut dice, &network);
    (network, known)
}

/// Hosts with a port in each of two planes, over which `mrc` sends. The links of some hosts fail.
fn two_planes(dice: &mut Dice, network: &mut Network) {
    let hosts = network.hosts;
    let of_switches = network.ports.iter().find(|port| port.from >= hosts).expect("a port of a switch");
    let (rate, delay, buffer) = (of_switches.rate, of_switches.delay, of_switches.buffer);
    let cables: Vec<_> = (0..2 * hosts).map(|cable| (cable / 2, hosts + cable % 2)).collect();
    let mut planes = networks::network(hosts, hosts + 2, &cables);
    for port in &mut planes.ports {
        (port.rate, port.delay) = (rate, delay);
        port.buffer = if port.from < hosts { Bytes::MAX } else { buffer };
    }
    (network.nodes, network.ports) = (planes.nodes, planes.ports);
    (network.markings, network.disciplines, network.faults) = (Vec::new(), Vec::new(), Vec::new());
    network.classes = planes.classes;
    network.controls = vec![control("mrc")];
    ports(dice, network, &control("mrc"));
    network.balancing = Balancing::Mrc;
    for _ in 0..1 + dice.below(3) {
        let cable = 2 * dice.below(u64::from(2 * hosts)) as u32;
        let at = Time::from_nanos(dice.below(1_000_000));
        let until = at + Time::from_nanos(1 + dice.below(5_000_000));
        for link in [cable, cable + 1] {
            give_class(network, link);
            let fault = |at, change| Fault { at, link, change };
            network.faults.extend([fault(at, Change::Down), fault(until, Change::Up)]);
        }
    }
}

/// Two traffic classes that share all links by weights, of which switches may pause the second one; turns change on some links.
fn two_classes(dice: &mut Dice, network: &mut Network) {
    let pauses = dice.chance(0.3);
    let quanta = [0, 1].map(|_| Bytes(1500 * (1 + dice.below(4))));
    let pause = pauses.then(|| PauseSpec::at(Bytes(1 + dice.below(100_000)), Bytes(0)));
    network.classes = quanta.map(|quantum| TrafficClass { quantum: Some(quantum), ..TrafficClass::default() }).to_vec();
    network.classes[1].pause = pause;
    network.disciplines.clear();
    for port in &mut network.ports {
        let limit = Limit::Bytes(if pauses { Bytes::MAX } else { port.buffer });
        let of_data = quanta.map(|quantum| ClassSpec { limit, quantum: Some(quantum), ..ClassSpec::OPEN });
        let classes = std::iter::once(ClassSpec::OPEN).chain(of_data).collect();
        let class_of = |class| PACKET_KINDS.map(|kind| if kind == PacketKind::Data { class } else { 0 });
        let discipline = Discipline::new(classes, vec![ClassOf(class_of(1)), ClassOf(class_of(2))]);
        let at = network.disciplines.iter().position(|known| *known == discipline).unwrap_or_else(|| {
            network.disciplines.push(discipline);
            network.disciplines.len() - 1
        });
        port.discipline = Some(at as u32);
    }
    network.flows.iter_mut().for_each(|flow| flow.class = dice.below(2) as u32);
    for _ in 0..dice.below(10) {
        let link = dice.below(network.ports.len() as u64) as u32;
        let change = Change::Turn { class: dice.below(2) as u8, quantum: Bytes(1500 * (1 + dice.below(20))) };
        network.faults.push(Fault { at: Time::from_nanos(dice.below(2_000_000)), link, change });
    }
}

/// A second marking, which differs in one parameter that ports may change, and ports that have it for some time.
fn other_marking(dice: &mut Dice, network: &mut Network) {
    let mut other = network.markings[0].clone();
    let may: Vec<_> = other.mechanism.adjustable().collect();
    let links: Vec<_> = (0..).zip(&network.ports).filter(|(_, port)| port.marking.is_some()).collect();
    if may.is_empty() || links.is_empty() {
        return;
    }
    let parameter = dice.one_of(&may);
    let value = (parameter.default * dice.one_of(&[0.1, 0.5, 2.0])).clamp(parameter.min, parameter.max);
    other.values.set(parameter.name, value).expect("a lawful value");
    let links: Vec<u32> = links.into_iter().map(|(link, _)| link).collect();
    for _ in 0..1 + dice.below(4) {
        let link = dice.one_of(&links);
        for number in [1, 0] {
            let at = Time::from_nanos(dice.below(2_000_000));
            network.faults.push(Fault { at, link, change: Change::Marking(number) });
        }
    }
    network.markings.push(other);
}

/// Windows and paces of flows whose algorithm a program drives, at times after their starts.
fn settings(dice: &mut Dice, network: &Network) -> Vec<SenderSetting> {
    let driven = |flow: &FlowSpec| network.controls[flow.control as usize].algorithm.traits.is_driven;
    let mut all = Vec::new();
    for (flow, number) in network.flows.iter().zip(0..).filter(|(flow, _)| driven(flow)) {
        for _ in 0..3 {
            let bits = dice.below(24);
            let at = flow.start + Time::from_nanos(dice.below(1 << bits));
            let (window, rate) = (1 + dice.below(100_000), dice.below(2) * (1 + dice.below(10_000)) * 1_000_000);
            all.push(SenderSetting { flow: number, at, window: Bytes(window), rate: Rate(rate) });
        }
    }
    all.sort_by_key(|one| one.at);
    all
}

/// A chain of three computations behind the first flow, at the host where it arrives.
fn compute(dice: &mut Dice, network: &mut Network) {
    let flows = network.flows.len() as u32;
    for at in 0..3 {
        network.computations.push(ComputationSpec {
            host: network.flows[0].dst,
            duration: Time::from_nanos(dice.below(100_000)),
            start: Time::from_nanos(dice.below(1000)),
            processor: 0,
            after: vec![if at == 0 { 0 } else { flows + at - 1 }],
            behind: Vec::new(),
            wait: Wait::ALL,
        });
    }
}

/// How a run is driven.
#[derive(Clone, Copy, Debug)]
struct Way {
    domains: usize,
    threads: usize,
    /// Whether copies replace the run, of which some ran ahead.
    copies: bool,
}

impl Way {
    const fn plain(domains: usize, threads: usize) -> Self {
        Self { domains, threads, copies: false }
    }
}

/// What a driver does.
enum Step {
    Send(FlowSpec),
    Change(Fault),
    Set(SenderSetting),
}

/// Drives a network in about 100 random slices, or 1000, and returns their number. The first `known` flows are there from the beginning, the
/// others join at their starts; the run of the trace has `ended` then.
fn drive(
    network: &Network,
    (known, ended): (usize, Time),
    way: Way,
    dice: &mut Dice,
) -> (Answer, Vec<Completion>, usize) {
    let mut base = network.clone();
    let slices = number("SHALLOWS_DRIVEN", 0).min(1) * 900 + 100;
    // The trace of a driven run has the numbers of the tasks that its request has.
    let later = base.flows.split_off(known);
    base.computations.iter_mut().flat_map(|one| &mut one.after).for_each(|place| {
        *place = if *place as usize >= network.flows.len() { *place - later.len() as u32 } else { *place };
    });
    // The driver may change links in place of the request.
    let (given, changes) =
        base.faults.iter().partition(|fault| fault.at == Time::ZERO || network.seed.is_multiple_of(2));
    base.faults = given;
    let settings = std::mem::take(&mut base.sender_settings);
    let changes: Vec<Fault> = changes;
    let changing = changes.iter().filter(|fault| fault.change.is_of_link()).map(|fault| fault.link).collect();
    let mut run = Simulation::open_with_changing(base, way.domains, changing).expect("a lawful network");
    run.set_threads(way.threads);
    let (mut completions, mut count) = (Vec::new(), 0);
    let mut slice = |run: &mut Simulation, limit: Time| {
        let bits = dice.below(24);
        let longest = 2 * ended.0 / slices;
        let length = if dice.chance(0.2) { dice.below(1000 << bits).min(longest) } else { dice.below(longest) };
        let to = (run.clock() + Time(1 + length)).min(limit);
        count += 1;
        let outcome = match dice.below(6) {
            0 | 1 => run.advance_to_completion(to),
            2 => run.advance_some(to, false, 1 + dice.below(100)),
            _ => run.advance_to(to),
        };
        match outcome.expect("the time is not past") {
            Advance::Reached => assert_eq!(run.clock(), to),
            _ => assert!(run.is_over() || run.clock() <= to),
        }
        if way.copies && dice.chance(10.0 / slices as f64) {
            let mut ahead = run.clone();
            if dice.chance(0.5) {
                ahead.advance_to(run.clock() + Time::from_micros(100)).expect("the time is not past");
                ahead = run.clone();
            }
            *run = ahead;
        }
        completions.extend(run.completions());
    };
    let sends = later.into_iter().map(|flow| (flow.start, Step::Send(flow)));
    let steps = sends.chain(changes.into_iter().map(|fault| (fault.at, Step::Change(fault))));
    let steps = steps.chain(settings.into_iter().map(|one| (one.at, Step::Set(one))));
    let mut steps: Vec<_> = steps.collect();
    steps.sort_by_key(|&(at, _)| at);
    let last_send = steps.iter().rposition(|(_, step)| matches!(step, Step::Send(_)));
    if last_send.is_none() {
        run.close();
    }
    for (number, (at, step)) in steps.into_iter().enumerate() {
        while run.clock() < at && !run.is_over() {
            slice(&mut run, at);
        }
        run.advance_to(at.max(run.clock())).expect("the time is not past");
        match step {
            Step::Send(flow) => assert!(run.send(flow).is_ok()),
            Step::Change(fault) if !run.is_over() => {
                assert_eq!(run.change_link(fault.link, fault.change), Ok(()));
            }
            Step::Set(setting) if !run.is_over() => assert_eq!(run.set_senders(vec![setting]), Ok(())),
            Step::Change(_) | Step::Set(_) => {}
        }
        if Some(number) == last_send {
            run.close();
        }
    }
    while !run.is_over() {
        slice(&mut run, Time(MAX));
    }
    completions.extend(run.completions());
    (run.finish(), completions, count)
}

/// Compares all that a driven run returns with what the run of its trace returns.
fn assert_the_same(scenarios: u64, ways: &[Way]) {
    let (from, mut slices) = (number("SHALLOWS_SOAK_FROM", 0), 0);
    for number in from..from + scenarios {
        let (network, known) = trace(number);
        let expected = run_open(network.clone());
        for &way in ways {
            let dice = &mut Dice(Rng::new(number, 99));
            let (answer, completions, count) = drive(&network, (known, expected.ended), way, dice);
            slices += count;
            let name = network.controls[0].algorithm.name;
            assert_eq!(format!("{answer:#?}"), format!("{expected:#?}"), "{number} ({name}) {way:?}");
            let finishes = |at: usize| completions.iter().filter(move |one| one.flow as usize == at && !one.at_sender);
            for (at, flow) in expected.flows.iter().enumerate() {
                let reported: Vec<_> = finishes(at).map(|one| one.at).collect();
                let finished: Vec<_> = Some(flow.finish).filter(|&at| at < Time::MAX).into_iter().collect();
                assert_eq!(reported, finished, "{number} ({name}) {way:?}: flow {at}");
            }
        }
    }
    println!("{scenarios} scenarios, {} slices each", slices / (scenarios as usize * ways.len()));
}

/// The number of random scenarios.
fn scenarios() -> u64 {
    number("SHALLOWS_DRIVEN", 16)
}

/// The 200 scenarios have every algorithm, and every part of which a copy or a slice might lose something.
#[test]
fn the_scenarios_have_every_part() {
    let all: Vec<_> = (0..200).map(|number| trace(number).0).collect();
    let has = |part: fn(&Network) -> bool| all.iter().filter(|network| part(network)).count();
    let counts = [
        has(|network| network.classes.len() > 1),
        has(|network| network.classes.iter().any(|class| class.pause.is_some())),
        has(|network| network.faults.iter().any(|fault| fault.change.is_of_link())),
        has(|network| network.faults.iter().any(|fault| matches!(fault.change, Change::Turn { .. }))),
        has(|network| network.faults.iter().any(|fault| matches!(fault.change, Change::Marking(_)))),
        has(|network| network.flows.iter().any(|flow| !flow.after.is_empty())),
        has(|network| !network.computations.is_empty()),
        has(|network| network.host.piggyback),
        has(|network| network.balancing == Balancing::Mrc),
        has(|network| !network.sender_settings.is_empty()),
    ];
    println!("{counts:?}");
    assert!(counts.iter().all(|&count| count >= 3), "{counts:?}");
    let names: BTreeSet<_> = all.iter().map(|network| network.controls[0].algorithm.name).collect();
    let missing: Vec<_> = catalog::ALGORITHMS.iter().map(|row| row.name).filter(|name| !names.contains(name)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[test]
fn a_driven_run_is_the_run_of_its_trace() {
    assert_the_same(scenarios(), &[Way::plain(1, 1)]);
}

#[test]
fn a_driven_run_is_the_same_in_domains() {
    assert_the_same(scenarios(), &[Way::plain(2, 1), Way::plain(3, 1)]);
}

#[test]
fn a_copy_goes_on_as_the_original_does() {
    let copies = |domains| Way { copies: true, ..Way::plain(domains, 1) };
    assert_the_same(scenarios(), &[1, 2, 3].map(copies));
}

#[test]
fn a_driven_run_is_the_same_on_threads() {
    if number("SHALLOWS_DRIVEN", 0) > 0 {
        assert_the_same(scenarios().div_ceil(10), &[Way::plain(2, 2), Way::plain(3, 3)]);
    }
}

/// Each completion sends the next flow, from its receiver on to a random host.
fn closed_loop(number: u64, domains: usize, messages: usize) -> (Answer, Vec<FlowSpec>) {
    let mut dice = Dice(Rng::new(number, 97));
    let (mut network, hosts) = (until_done(fat_tree(4)), 16);
    network.controls = vec![control("dctcp")];
    let mut run = Simulation::open(network, domains).expect("a lawful network");
    let mut sent: Vec<FlowSpec> = Vec::new();
    let mut send = |run: &mut Simulation, src: u32| {
        let dst = (src + 1 + dice.below(u64::from(hosts) - 1) as u32) % hosts;
        let flow = FlowSpec { start: run.clock(), ..flow(src, dst, Bytes(1 + dice.below(20_000))) };
        assert_eq!(run.send(flow.clone()), Ok(sent.len() as u32));
        sent.push(flow);
        sent.len()
    };
    (0..10).for_each(|src| assert!(send(&mut run, src) > 0));
    let (mut done, mut count) = (0, 10);
    while done < messages {
        let stop = run.advance_to_completion(Time::from_secs_whole(1)).expect("the time is not past");
        assert_eq!(stop, Advance::Completion, "{done} of {count}, {:?}", run.clock());
        for one in run.completions().into_iter().filter(|one| !one.at_sender) {
            assert_eq!(run.clock(), one.at + Time(1));
            done += 1;
            if count < messages {
                let from = (one.flow * 7 + 3) % hosts;
                count = send(&mut run, from);
            }
        }
    }
    run.close();
    while run.advance(1 << 20) == Progress::Running {}
    (run.finish(), sent)
}

#[test]
fn a_closed_loop_is_the_run_of_its_trace() {
    for number in 0..number("SHALLOWS_DRIVEN", 30).min(200) / 10 {
        let (answer, sent) = closed_loop(number, 1, 200);
        let mut network = until_done(fat_tree(4));
        network.controls = vec![control("dctcp")];
        network.flows = sent;
        assert_eq!(format!("{answer:#?}"), format!("{:#?}", run_open(network)));
        assert_eq!(format!("{answer:#?}"), format!("{:#?}", closed_loop(number, 3, 200).0));
    }
}

/// Messages of 1 KB between 128 hosts, of which 100 are alive: each that completes sends the next one. Flows retire. Returns the rows of all
/// flows that have not retired, and the rest of the answer.
fn messages(count: u32, domains: usize, log: &mut dyn Log) -> Answer {
    let network = fabric();
    let (hosts, mut dice) = (network.hosts, Dice(Rng::new(1, 96)));
    let mut run = Simulation::open(network, domains).expect("a lawful network");
    let mut send = |run: &mut Simulation, src: u32, log: &mut dyn Log| {
        let dst = (src + 1 + dice.below(u64::from(hosts) - 1) as u32) % hosts;
        let message = FlowSpec { start: run.clock(), ..flow(src, dst, Bytes(1000)) };
        log.sent(&message);
        run.send(message).expect("a lawful flow");
    };
    (0..100).for_each(|src| send(&mut run, src, log));
    let mut completed = 0;
    while completed < count {
        assert_eq!(run.advance_to_completion(Time(MAX)), Ok(Advance::Completion));
        for one in run.completions().into_iter().filter(|one| !one.at_sender) {
            completed += 1;
            if run.flows().end < count {
                send(&mut run, one.flow % hosts, log);
            }
        }
        let rows = run.retire();
        log.retired(&rows, run.flows().len());
        run.release_retired();
    }
    run.close();
    while run.advance(1 << 20) == Progress::Running {}
    run.restore_retired(log.kept());
    let (held, answer) = (run.flows().len(), run.finish());
    assert_eq!((answer.problems.len(), answer.flows.len()), (0, held));
    answer
}

fn fabric() -> Network {
    let mut network = until_done(fat_tree(8));
    network.controls = vec![control("dctcp")];
    network
}

/// What a driver notes about its messages.
trait Log {
    fn sent(&mut self, message: &FlowSpec);
    /// Rows of flows that have retired, and the number of those that have not.
    fn retired(&mut self, rows: &[FlowReport], held: usize);
    /// All rows, from which the fingerprint follows; none without a need for it.
    fn kept(&self) -> &[FlowReport];
}

/// All messages and their rows.
#[derive(Debug, Default)]
struct All {
    messages: Vec<FlowSpec>,
    rows: Vec<FlowReport>,
    most_held: usize,
}

impl Log for All {
    fn sent(&mut self, message: &FlowSpec) {
        self.messages.push(message.clone());
    }

    fn retired(&mut self, rows: &[FlowReport], held: usize) {
        self.rows.extend_from_slice(rows);
        self.most_held = self.most_held.max(held);
    }

    fn kept(&self) -> &[FlowReport] {
        &self.rows
    }
}

/// The tables of a run follow the flows that are alive: 100, and those of which a packet is left, up to the thousand that retire at once.
#[test]
fn a_flow_that_has_ended_retires() {
    let drive = |domains| {
        let mut all = All::default();
        let answer = messages(6000, domains, &mut all);
        assert!(all.rows.len() > 3000 && all.most_held < 3000, "{} held, {} retired", all.most_held, all.rows.len());
        all.rows.extend(answer.flows);
        (answer.fingerprint, all)
    };
    let (fingerprint, all) = drive(1);
    let (in_domains, same) = drive(3);
    assert_eq!((fingerprint, &all.rows), (in_domains, &same.rows));
    let whole = run_open(Network { flows: all.messages, ..fabric() });
    assert_eq!((fingerprint, all.rows), (whole.fingerprint, whole.flows));
}

/// Memory at each tenth of the messages.
struct Memory {
    sent: usize,
    rows: usize,
    every: usize,
    bytes: Vec<u64>,
}

impl Log for Memory {
    fn sent(&mut self, _: &FlowSpec) {
        if self.sent.is_multiple_of(self.every) {
            self.bytes.push(resident());
        }
        self.sent += 1;
    }

    fn retired(&mut self, rows: &[FlowReport], _: usize) {
        self.rows += rows.len();
    }

    fn kept(&self) -> &[FlowReport] {
        &[]
    }
}

/// A number of a file about this process.
fn of_process(file: &str, place: usize) -> u64 {
    let text = std::fs::read_to_string(format!("/proc/{file}")).expect("Linux");
    text.split_whitespace().nth(place).expect("so many numbers").parse().expect("a number")
}

/// Bytes that this process has in memory.
fn resident() -> u64 {
    of_process("self/statm", 1) * 4096
}

fn mib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}

/// Nanoseconds of processor time of this thread.
fn processor_time() -> u64 {
    of_process("thread-self/schedstat", 0)
}

/// `SHALLOWS_ROUNDS=12 cargo test --release -p shallows-sim --test networks slices_take` alone: a run in 1,000 slices, whose flows join at their
/// starts, takes at most 1.05 times the processor time of the whole run, least of as many rounds each.
#[test]
fn slices_take_little_time() {
    let rounds = number("SHALLOWS_ROUNDS", 0);
    if rounds > 0 {
        let mut dice = Dice(Rng::new(1, 94));
        let mut network = until_done(fat_tree(4));
        network.controls = vec![control("dctcp")];
        let flows = (0..400).map(|at| {
            let src = dice.below(16) as u32;
            let dst = (src + 1 + dice.below(15) as u32) % 16;
            FlowSpec { start: Time::from_micros(at * 25), ..flow(src, dst, Bytes(1_000_000)) }
        });
        network.flows = flows.collect();
        let ended = run_open(network.clone()).ended;
        let mut least = [u64::MAX; 2];
        for _ in 0..rounds {
            let started = processor_time();
            let mut whole = Simulation::new(network.clone()).expect("a lawful network");
            while whole.advance(1 << 20) == Progress::Running {}
            let whole = whole.finish();
            let between = processor_time();
            let mut base = network.clone();
            let mut later = std::mem::take(&mut base.flows).into_iter().peekable();
            let mut run = Simulation::open(base, 1).expect("a lawful network");
            for slice in 1..=1000 {
                let end = Time(ended.0 * slice / 1000);
                while let Some(next) = later.next_if(|flow| flow.start < end) {
                    run.advance_to(next.start).expect("the future");
                    run.send(next).expect("a lawful flow");
                }
                run.advance_to(end).expect("the future");
                run.completions();
            }
            run.close();
            while run.advance(1 << 20) == Progress::Running {}
            let driven = run.finish();
            let end = processor_time();
            assert_eq!((driven.fingerprint, driven.events), (whole.fingerprint, whole.events));
            least = [least[0].min(between - started), least[1].min(end - between)];
        }
        let ratio = least[1] as f64 / least[0] as f64;
        println!("{:.1} ms whole, {ratio:.3} times that in slices", least[0] as f64 / 1e6);
        assert!(ratio <= 1.05, "{ratio}");
    }
}

/// `SHALLOWS_COPIES=10000 cargo test --release -p shallows-sim --test networks copies_take` alone: a fat tree of 128 hosts with 2,000 live
/// flows. A copy takes at most 10 ms of processor time and 1.5 times the memory that the run has taken, and dropped copies leave none.
#[test]
fn copies_take_little_time_and_no_memory_after_their_end() {
    let count = number("SHALLOWS_COPIES", 0);
    if count > 0 {
        let (before, mut dice) = (resident(), Dice(Rng::new(1, 95)));
        let network = fabric();
        let hosts = network.hosts;
        let to = |src: u32, dice: &mut Dice| (src + 1 + dice.below(u64::from(hosts) - 1) as u32) % hosts;
        let flows = (0..2000).map(|at| flow(at % hosts, to(at % hosts, &mut dice), Bytes(1_000_000)));
        let flows = flows.collect();
        let mut run = Simulation::open(network, 1).expect("a lawful network");
        run.send_all(flows).expect("lawful flows");
        run.advance_to(Time::from_micros(100)).expect("the future");
        assert_eq!(run.unfinished(), 2000);
        let (state, started) = (resident() - before, processor_time());
        let held: Vec<_> = (0..100).map(|_| run.clone()).collect();
        let took = (processor_time() - started) as f64 / 1e6 / held.len() as f64;
        let copy = (resident() - before - state) / held.len() as u64;
        drop(held);
        let few = resident();
        (0..count).for_each(|_| drop(run.clone()));
        let grown = resident().saturating_sub(few);
        let (run, copy, grown) = (mib(state), mib(copy), mib(grown));
        println!("{took:.2} ms a copy, {copy:.2} MiB of {run:.2} MiB, {grown:.2} MiB after {count} copies");
        assert!(took <= 10.0 && copy <= 1.5 * run && grown < 1.0);
    }
}

/// `SHALLOWS_MESSAGES=1000000 cargo test --release -p shallows-sim --test networks memory_follows` alone: the memory of this process less
/// than 64 MiB above that at the first message, and the second half of the messages needs no more than the first.
#[test]
fn memory_follows_what_is_alive() {
    let count = number("SHALLOWS_MESSAGES", 0);
    if count > 0 {
        let mut memory = Memory { sent: 0, rows: 0, every: count as usize / 10, bytes: Vec::new() };
        let rest = messages(count as u32, 1, &mut memory).flows.len();
        assert_eq!(memory.rows + rest, count as usize);
        let above: Vec<_> = memory.bytes.iter().map(|&bytes| mib(bytes.saturating_sub(memory.bytes[0]))).collect();
        println!("MiB above the first message: {above:.1?}");
        assert!(above.iter().all(|&above| above < 64.0));
        assert!(above[9] - above[5] < 0.5, "the last half needs no more");
    }
}

/// Flows that start later have other parameters: those of a second algorithm in the request of the trace. Both are `dctcp` over a full queue.
#[test]
fn an_algorithm_changes_for_flows_that_start_later() {
    let slow = || {
        let mut slow = control("dctcp");
        slow.values.set("g", 1.0 / 256.0).expect("a lawful value");
        slow
    };
    let network = || {
        let mut network = until_done(marking(star(4), "step", MarkAt::Enqueue));
        network.controls = vec![control("dctcp")];
        network
    };
    let (now, later) = (Time::from_micros(100), Time::from_micros(150));
    let mut flows = [(0, Time::ZERO), (1, later), (2, later)]
        .map(|(src, start)| FlowSpec { start, ..flow(src, 3, Bytes(300_000)) });
    let mut run = Simulation::open(network(), 1).expect("a lawful network");
    assert_eq!(run.send_all(flows[..2].to_vec()), Ok(0..2));
    assert_eq!(run.advance_to(now), Ok(Advance::Reached));
    assert!(run.change_algorithm(1, slow()).unwrap_err().contains("expected one of 1 algorithms"));
    assert!(run.change_algorithm(0, control("cubic")).unwrap_err().contains("expected parameters of dctcp"));
    assert_eq!(run.change_algorithm(0, slow()), Ok(1));
    flows[2].control = 1;
    assert_eq!(run.send(flows[2].clone()), Ok(2));
    run.close();
    while run.advance(1000) == Progress::Running {}
    let answer = run.finish();
    flows[1].control = 1;
    let trace = Network { flows: flows.to_vec(), controls: vec![control("dctcp"), slow()], ..network() };
    assert_eq!(format!("{answer:?}"), format!("{:?}", run_open(trace.clone())));
    let unchanged = Network { controls: vec![control("dctcp"), control("dctcp")], ..trace };
    assert_ne!(answer.fingerprint, run_open(unchanged).fingerprint);
}

/// A program sets the pace of a flow. At 1 Gbps a frame of 1500 B leaves each 12 us, at 5 Gbps each 2.4 us, and arrives 2 x 1.2 us and two
/// delays later. A flow whose next packet would leave in 12 ms leaves at once by its new pace.
#[test]
fn a_program_sets_the_pace_of_a_live_flow() {
    let mut run =
        Simulation::open(Network { duration: Time::from_millis(7), ..open_star() }, 1).expect("a lawful network");
    let setting = |flow, window, mbps: u64| SenderSetting {
        flow,
        at: Time::ZERO,
        window: Bytes(window),
        rate: Rate(mbps * 1_000_000),
    };
    let wide = 1_000_000;
    let mut arrived = |settings: Vec<SenderSetting>| {
        run.set_senders(settings).expect("a lawful setting");
        run.advance_to(run.clock() + Time::from_millis(1)).expect("the future");
        run.observe_flows().iter().filter(|one| one.flow == 0).map(|one| one.delivered / 1460).sum::<u64>()
    };
    let packets = [1000, 5000, 1, 1000, 1].map(|mbps| arrived(vec![setting(0, wide, mbps)]));
    for (packets, expected) in packets.into_iter().zip([83, 416, 0, 83, 0]) {
        assert!((expected..=expected + 3).contains(&packets), "{packets}, not {expected}");
    }
    // Without a pace the window of two packets decides, and nothing is left of the last pace.
    assert!(arrived(vec![setting(0, 3000, 0)]) > 83);
    let packets = arrived(vec![setting(0, wide, 1000)]);
    assert!((83..=86).contains(&packets), "{packets}");
    let mut run = Simulation::open(Network { duration: Time::from_millis(9), ..open_star() }, 1).expect("lawful");
    let mut refused = |setting| run.set_senders(vec![setting]).expect_err("a mistake");
    assert!(refused(setting(1, wide, 1)).contains("a flow whose algorithm a program drives, not dctcp"));
    assert!(refused(setting(2, wide, 1)).contains("one of the flows from 0 on, to 2"));
    assert!(refused(setting(0, 0, 1)).contains("1 or more"));
    let slow = SenderSetting { rate: Rate(1), ..setting(0, 1, 0) };
    assert!(refused(slow).contains("0, or 1000000 or more"));
}

/// The same settings as a request are the same run; without them it is another. The window of one packet has a packet each round trip.
#[test]
fn settings_of_senders_are_those_of_a_request() {
    let setting =
        |at, rate| SenderSetting { flow: 0, at: Time::from_micros(at), window: Bytes(3000), rate: Rate(rate) };
    let settings = vec![setting(0, 0), setting(100, 2_000_000_000), setting(100, 3_000_000_000), setting(250, 0)];
    let whole = Network { sender_settings: settings.clone(), ..open_star() };
    let mut run = Simulation::open(open_star(), 1).expect("a lawful network");
    for one in settings {
        run.advance_to(one.at).expect("the future");
        run.set_senders(vec![one]).expect("a lawful setting");
    }
    run.close();
    while run.advance(1000) == Progress::Running {}
    let (driven, expected) = (run.finish(), run_open(whole));
    assert_eq!(format!("{driven:?}"), format!("{expected:?}"));
    assert_ne!(driven.fingerprint, run_open(open_star()).fingerprint);
}

/// Two flows to one host, of which a program drives the first.
fn open_star() -> Network {
    let mut network = star(3);
    network.controls = vec![control("external"), control("dctcp")];
    network.flows = vec![flow(0, 2, Bytes::MAX), FlowSpec { control: 1, ..flow(1, 2, Bytes(1000)) }];
    Network { duration: Time::from_micros(600), ..network }
}

/// Two flows into one port of 10 Gbps: what they deliver in each 100 us adds up to all bytes, the port is never faster than its link, and the
/// queue that the driver sees is that of a snapshot. Observing changes nothing.
#[test]
fn a_driver_observes_queues_and_flows() {
    let mut network = until_done(marking(star(3), "step", MarkAt::Enqueue));
    network.controls = vec![control("dctcp")];
    network.flows = [0, 1].map(|src| flow(src, 2, Bytes(1_000_000))).to_vec();
    let expected = run_open(network.clone());
    let port = network.ports.iter().position(|port| port.to == 2).expect("a link to host 2") as u32;
    let mut run = Simulation::open(network, 1).expect("a lawful network");
    run.close();
    let (mut delivered, mut acks, mut seen, mut packets) = ([0, 0], 0, 0, 0);
    while !run.is_over() {
        run.advance_to(run.clock() + Time::from_micros(100)).expect("the future");
        let [link] = run.observe_links(&[port]).expect("a link")[..] else { panic!("one row") };
        assert_eq!(link.queue, run.snapshot(run.clock()).ports[port as usize].queue);
        // 100 us carry 125,000 B, and a full frame has 1460 B of 1500 B.
        assert!(link.delivered - packets <= 84);
        packets = link.delivered;
        let rows = run.observe_flows();
        assert!(rows.iter().map(|row| row.delivered).sum::<u64>() <= 84 * 1460);
        for row in rows {
            delivered[row.flow as usize] += row.delivered;
            acks += row.acks;
            assert_eq!(row.acks > 0, row.srtt > Time::ZERO);
            assert_eq!(row.finished, delivered[row.flow as usize] == 1_000_000);
        }
        seen += 1;
    }
    assert_eq!(delivered, [1_000_000; 2]);
    // 685 packets each, and the acknowledgements of the last ones are still under way at the end.
    assert!(seen > 16 && (1300..=1370).contains(&acks), "{seen}, {acks}");
    assert!(run.observe_links(&[99]).is_err());
    assert_eq!(format!("{:?}", run.finish()), format!("{expected:?}"));
}

/// Ports of two markings and one without any: a change of all of them is refused, wherever the odd one stands, and changes none.
#[test]
fn a_change_of_markings_is_of_all_ports_or_none() {
    let mut network = until_done(marking(star(5), "step", MarkAt::Enqueue));
    network.controls = vec![control("dctcp")];
    network.flows = [0, 1].map(|src| flow(src, 4, Bytes(1_000_000))).to_vec();
    let ramp = marking(star(5), "red", MarkAt::Enqueue).markings[0].clone();
    network.markings.push(ramp);
    let to = |host| network.ports.iter().position(|port| port.to == host).expect("a link to the host");
    let (none, ramp) = (to(0), to(1));
    network.ports[none].marking = None;
    network.ports[ramp].marking = Some(1);
    let expected = run_open(network.clone());
    let step = network.markings[0].clone();
    let mut run = Simulation::open(network.clone(), 1).expect("a lawful network");
    run.advance_to(Time::from_micros(10)).expect("the future");
    let steps: Vec<_> = (0..network.ports.len()).filter(|&link| network.ports[link].marking == Some(0)).collect();
    for (odd, expected) in [(none, "a link whose port marks"), (ramp, "like the marking of the port")] {
        for place in [0, 1, steps.len()] {
            let mut links: Vec<_> = steps.iter().map(|&link| link as u32).collect();
            links.insert(place, odd as u32);
            let refused = run.change_marking(&links, step.clone()).unwrap_err();
            assert!(refused.contains(expected), "{refused}");
        }
    }
    run.close();
    while run.advance(1000) == Progress::Running {}
    assert_eq!(format!("{:?}", run.finish()), format!("{expected:?}"));
}

/// A link that was not named cannot change, and the sentence lists those that can.
#[test]
fn only_named_links_change() {
    let mut network = until_done(star(3));
    network.controls = vec![control("dctcp")];
    let mut run = Simulation::open_with_changing(network.clone(), 1, vec![4, 2]).expect("a lawful network");
    assert_eq!(run.change_link(4, Change::Loss(0.5)), Ok(()));
    let mut refused = |link, change| run.change_link(link, change).expect_err("a mistake");
    assert!(refused(3, Change::Loss(0.5)).ends_with("named at the opening, {2, 4}"));
    assert!(refused(99, Change::Loss(0.5)).contains("expected one of 6 links"));
    assert!(refused(2, Change::Loss(1.5)).contains("a share from 0 to 1"));
    assert!(refused(2, Change::Down).contains("a link whose port has classes"));
    assert!(Simulation::open_with_changing(network, 1, vec![6]).is_err());
}

/// A network that is open may be idle, and two flows may join at one time. 1460 B take 2 hops of 1.2 us at 10 Gbps and 2 delays.
#[test]
fn an_idle_network_stays_open() {
    let mut network = until_done(star(3));
    network.controls = vec![control("dctcp")];
    let delay: Time = network.ports[..1].iter().map(|port| port.delay).sum::<Time>();
    assert_eq!(network.ports[0].rate, Rate::from_gbps(10));
    let mut run = Simulation::open(network, 1).expect("a lawful network");
    let second = Time::from_secs_whole(1);
    assert_eq!(run.advance_to(second), Ok(Advance::Reached));
    assert_eq!(run.clock(), second);
    let flows = [(0, 2), (1, 0)].map(|(src, dst)| FlowSpec { start: second, ..flow(src, dst, Bytes(1460)) });
    assert_eq!(run.send_all(flows.to_vec()), Ok(0..2));
    let expected = second + Time::from_nanos(2400) + delay * 2;
    assert_eq!(run.advance_to(expected), Ok(Advance::Reached));
    assert!(run.completions().is_empty());
    assert_eq!(run.advance_to(expected + Time(1)), Ok(Advance::Reached));
    let done = run.completions();
    assert_eq!(
        done.iter().map(|one| (one.at, one.flow, one.at_sender)).collect::<Vec<_>>(),
        [(expected, 0, false), (expected, 1, false)]
    );
    assert!(run.is_open());
    run.close();
    while run.advance(1000) == Progress::Running {}
    assert_eq!(run.finish().problems, Vec::<String>::new());
}

/// A flow in the other direction that starts when everything is over takes no acknowledgement: until then there is no data to ride on.
#[test]
fn acknowledgements_do_not_wait_for_a_flow_of_the_future() {
    let run = |src: u32| {
        let later = FlowSpec { start: Time::from_secs_whole(1), ..flow(src, 0, Bytes(1)) };
        let mut network = until_done(star(3));
        network.controls = vec![control("dctcp")];
        network.host.piggyback = true;
        network.flows = vec![flow(0, 1, Bytes(50_000)), later];
        run_open(network).flows[0]
    };
    assert_eq!(run(1), run(2));
}

/// Each mistake is one sentence, and the run goes on as if there had been none.
#[test]
fn a_mistake_leaves_the_run_as_it_was() {
    let network = || {
        let mut network = until_done(star(3));
        network.controls = vec![control("dctcp")];
        network
    };
    let us = Time::from_micros;
    let drive = |wrong: bool| {
        let mut run = Simulation::open(network(), 1).expect("a lawful network");
        let mut errors = Vec::new();
        let mut note = |error: Result<(), String>| errors.push(error.expect_err("a mistake"));
        run.advance_to(us(3)).expect("the future");
        run.send(FlowSpec { start: us(3), ..flow(0, 1, Bytes(100_000)) }).expect("a lawful flow");
        if wrong {
            note(run.advance_to(us(2)).map(drop));
            note(run.advance_to_completion(Time(MAX + 1)).map(drop));
            let late = |flow| FlowSpec { start: us(3), ..flow };
            for flow in [
                flow(0, 1, Bytes(1)),
                late(flow(3, 1, Bytes(1))),
                late(flow(1, 1, Bytes(1))),
                late(flow(0, 1, Bytes(0))),
                late(flow(0, 1, Bytes(u64::MAX - 1))),
                late(FlowSpec { control: 7, ..flow(0, 1, Bytes(1)) }),
                late(FlowSpec { class: 7, ..flow(0, 1, Bytes(1)) }),
                late(FlowSpec { after: vec![0], ..flow(0, 1, Bytes(1)) }),
                FlowSpec { start: Time(MAX + 1), ..flow(0, 1, Bytes(1)) },
            ] {
                note(run.send_all(vec![late(self::flow(0, 2, Bytes(1))), flow]).map(drop));
            }
        }
        run.advance_to_completion(Time(MAX)).expect("the future");
        run.close();
        if wrong {
            note(run.send(FlowSpec { start: run.clock(), ..flow(0, 1, Bytes(1)) }).map(drop));
        }
        while run.advance(1000) == Progress::Running {}
        (format!("{:?}", run.finish()), errors)
    };
    let (answer, errors) = drive(true);
    assert_eq!(answer, drive(false).0);
    let expected = [
        "time 2us is in the past: expected 3us, the clock, or later",
        "expected at most 1000000000000us, the longest simulated time",
        "flows.start_ps[2] = 0us: expected 3us",
        "flows.src[2] = 3: expected one of 3 hosts",
        "flows.dst[2] = 1: expected another one of 3 hosts",
        "flows.bytes[2] = 0: expected 1 to",
        "flows.bytes[2] = 18446744073709551614: expected 1 to",
        "flows.cc[2] = 7: expected one of 1 algorithms",
        "flows.class[2] = 7: expected one of 1 classes",
        "flows.after[2], flows.behind[2]: expected none",
        "flows.start_ps[2] = 1000000000000000001: expected at most 1000000000000000000",
        "the run is closed",
    ];
    assert_eq!(errors.len(), expected.len());
    for (error, part) in errors.iter().zip(expected) {
        assert!(error.contains(part), "{error}\nnot\n{part}");
    }
    let mut whole = Simulation::new(network()).expect("a lawful network");
    assert!(whole.send(flow(0, 1, Bytes(1))).is_err() && whole.advance_to(us(1)).is_err());
}

/// The longest simulated time, 1e6 s, in picoseconds.
const MAX: u64 = 1_000_000_000_000_000_000;
