//! What a program sets in the ports of a run: turns of classes, and parameters of markings. A setting acts from its time on, and is a fault
//! of the request.

use shallows_cc::catalog;
use shallows_cc::parameter::Values;
use shallows_cc::port::{self, MarkAt, Mechanism};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{
    Advance, Change, ClassOf, ClassSpec, Control, Discipline, Fault, FlowSpec, Marking, Network, PACKET_KINDS,
    Progress, Simulation, TrafficClass,
};

use crate::networks::{control, flow, marking, run_open, scheduled, star, until_done};
use crate::soak::{Dice, ports};

/// Host 2 receives two flows of `external` with windows of 700 packets, in a class each. At first both classes have turns of one frame.
fn two_classes(sources: [u32; 2], targets: [u32; 2]) -> Network {
    let quantum = Some(Bytes(1500));
    let class_of = |class| ClassOf([class; PACKET_KINDS.len()]);
    let classes = vec![ClassSpec { quantum, ..ClassSpec::OPEN }; 2];
    let mut network = scheduled(star(3), Discipline::new(classes, vec![class_of(0), class_of(1)]), true);
    network.classes = vec![TrafficClass { quantum, ..TrafficClass::default() }; 2];
    let mut wide = control("external");
    wide.values.set("window", 700.0).expect("a lawful window");
    network.controls = vec![wide];
    let flows = [0, 1].map(|at| FlowSpec { class: at as u32, ..flow(sources[at], targets[at], Bytes::MAX) });
    Network { flows: flows.to_vec(), duration: Time::from_millis(4), ..network }
}

/// Frames of both flows that arrive from the clock on, up to this time.
fn arrived(run: &mut Simulation, until: u64) -> [u64; 2] {
    run.observe_flows();
    run.advance_to(Time::from_millis(until)).expect("the future");
    let rows = run.observe_flows();
    [0, 1].map(|flow| rows.iter().filter(|row| row.flow == flow).map(|row| row.delivered / 1460).sum())
}

fn link(network: &Network, from: u32, to: u32) -> u32 {
    network.ports.iter().position(|port| (port.from, port.to) == (from, to)).expect("a link") as u32
}

const fn turn(class: u8, bytes: u64) -> Change {
    Change::Turn { class, quantum: Bytes(bytes) }
}

/// A millisecond of 10 Gbps has 833.3 frames of 1500 B. Of these two classes that always wait have 416.7 each with equal turns. With turns of
/// three frames and of one they have 625 and 208.3, and with one and four 166.7 and 666.7, in whole turns. At the port of a switch both come
/// from other hosts; at a NIC they are two flows of one host.
#[test]
fn classes_share_by_new_turns_from_the_clock_on() {
    for (sources, targets, (from, to)) in [([0, 1], [2, 2], (3, 2)), ([0, 0], [1, 2], (0, 3))] {
        let network = two_classes(sources, targets);
        let link = link(&network, from, to);
        let mut run = Simulation::open(network, 1).expect("a lawful network");
        run.advance_to(Time::from_millis(1)).expect("the future");
        let near = |found: [u64; 2], expected: [u64; 2]| {
            let close = |at: usize| found[at].abs_diff(expected[at]) <= 5;
            assert!(close(0) && close(1), "{from}->{to}: {found:?}, not {expected:?}");
        };
        near(arrived(&mut run, 2), [416, 417]);
        let mut same = run.clone();
        assert_eq!(run.change_link(link, turn(0, 4500)), Ok(()));
        near(arrived(&mut run, 3), [625, 208]);
        assert_eq!(run.change_link(link, turn(0, 1500)), Ok(()));
        assert_eq!(run.change_link(link, turn(1, 6000)), Ok(()));
        near(arrived(&mut run, 4), [167, 667]);
        near(arrived(&mut same, 3), [416, 417]);
    }
}

/// A class that has begun a turn of 300 frames has one of three left after the change.
#[test]
fn a_shorter_turn_ends_the_present_one() {
    let mut network = two_classes([0, 1], [2, 2]);
    let link = link(&network, 3, 2);
    network.faults = vec![Fault { at: Time::from_millis(1), link, change: turn(0, 450_000) }];
    let mut run = Simulation::open(network, 1).expect("a lawful network");
    run.advance_to(Time::from_micros(1100)).expect("the future");
    run.observe_flows();
    assert_eq!(run.change_link(link, turn(0, 4500)), Ok(()));
    run.advance_to(Time::from_micros(1124)).expect("the future");
    // 24 us carry 20 frames: 15 and 5, and one turn more or less.
    let rows = run.observe_flows();
    let second = rows.iter().find(|row| row.flow == 1).map_or(0, |row| row.delivered / 1460);
    assert!((3..=6).contains(&second), "{second} frames of the second class");
}

#[test]
fn a_turn_is_refused_where_there_is_none() {
    let network = two_classes([0, 1], [2, 2]);
    let mut strict = network.clone();
    strict.disciplines[0].classes[1].quantum = None;
    let mut run = Simulation::open(network, 1).expect("a lawful network");
    let mut refused = |change| run.change_link(4, change).expect_err("a mistake");
    assert!(refused(turn(2, 4500)).ends_with("expected a traffic class that has turns at this port"));
    assert!(refused(turn(1, 1499)).ends_with("expected a full frame or more, 1500"));
    assert!(refused(turn(1, 0)).ends_with("expected a full frame or more, 1500"));
    let mut run = Simulation::open(strict, 1).expect("a lawful network");
    assert!(run.change_link(4, turn(1, 4500)).is_err() && run.change_link(4, turn(0, 4500)).is_ok());
    let mut plain = Simulation::open(star(2), 1).expect("a lawful network");
    assert!(plain.change_link(0, turn(0, 4500)).is_err());
}

/// A driver that changes links at these times, in each way, has the run of a request with these faults. Returns the fingerprint.
fn assert_is_a_fault(name: &str, network: &Network, faults: &[Fault]) -> u64 {
    let whole = run_open(Network { faults: faults.to_vec(), ..network.clone() });
    assert_eq!(whole.problems, Vec::<String>::new(), "{name}");
    for (domains, copies) in [(1, false), (1, true), (2, false), (3, true)] {
        let mut run = Simulation::open(network.clone(), domains).expect("a lawful network");
        for fault in faults {
            assert_eq!(run.advance_to(fault.at), Ok(Advance::Reached), "{name}");
            if copies {
                let mut ahead = run.clone();
                ahead.change_link(fault.link, fault.change).expect("a lawful change");
                ahead.advance_to(fault.at + Time::from_micros(50)).expect("the future");
                run = run.clone();
            }
            assert_eq!(run.change_link(fault.link, fault.change), Ok(()), "{name}");
        }
        run.close();
        while run.advance(100_000) == Progress::Running {}
        assert_eq!(format!("{:?}", run.finish()), format!("{whole:?}"), "{name}: {domains} {copies}");
    }
    whole.fingerprint
}

#[test]
fn a_turn_that_a_program_sets_is_a_fault() {
    for (sources, targets) in [([0, 1], [2, 2]), ([0, 0], [1, 2])] {
        let network = two_classes(sources, targets);
        let links = [link(&network, 0, 3), link(&network, 3, 2)];
        let at = |us, link, change| Fault { at: Time::from_micros(us), link, change };
        let faults = [
            at(700, links[0], turn(0, 4500)),
            at(700, links[1], turn(0, 4500)),
            at(1900, links[0], turn(1, 9000)),
            at(1900, links[1], turn(1, 9000)),
        ];
        let changed = assert_is_a_fault("turns", &network, &faults);
        assert_ne!(changed, run_open(network).fingerprint);
    }
}

/// A parameter of a kind of marking, in a network where its value decides: values at first, and the other value.
struct Case {
    kind: &'static str,
    values: &'static [(&'static str, f64)],
    parameter: &'static str,
    other: f64,
}

const fn case(kind: &'static str, values: &'static [(&'static str, f64)], parameter: &'static str, other: f64) -> Case {
    Case { kind, values, parameter, other }
}

const RAMP: &[(&str, f64)] = &[("kmin", 7500.0), ("kmax", 30_000.0), ("pmax", 0.1)];
const AVERAGE: &[(&str, f64)] = &[("kmin", 7500.0), ("kmax", 30_000.0), ("pmax", 0.1), ("weight", 0.1)];
const PI: &[(&str, f64)] = &[("q_ref", 30_000.0), ("k1", 1e-3), ("k2", 10.0)];
const CODEL: &[(&str, f64)] = &[("target", 2e-5), ("interval", 2e-4)];
const DUAL: &[(&str, f64)] = &[("target", 5e-5), ("update", 5e-5), ("alpha", 400.0), ("beta", 4000.0), ("step", 2e-5)];
/// The step marks, and hardly the controller.
const CALM: &[(&str, f64)] = &[("target", 1e-3), ("update", 1e-4)];
const CALM_PACKETS: &[(&str, f64)] = &[("target", 1e-3), ("update", 1e-4), ("step_packets", 1.0)];
/// The controller marks all that it can.
const OVERLOAD: &[(&str, f64)] = &[("target", 1e-6), ("update", 1e-5), ("alpha", 1e5)];
const FLOOR: &[(&str, f64)] = &[("rtt", 1e-5), ("initial_rate", 0.1)];

/// Every parameter that a port may change.
const CASES: &[Case] = &[
    case("step", &[], "threshold", 15_000.0),
    case("phantom", &[("gamma", 1.0)], "gamma", 0.8),
    case("phantom", &[("gamma", 1.0)], "threshold", 1000.0),
    case("red", RAMP, "kmin", 15_000.0),
    case("red", RAMP, "kmin", 1500.0),
    case("red", RAMP, "kmax", 15_000.0),
    case("red", RAMP, "pmax", 0.5),
    case("red", RAMP, "extended", 1.0),
    case("red", RAMP, "gentle", 1.0),
    case("red", RAMP, "uniform", 1.0),
    case("red", AVERAGE, "kmin", 15_000.0),
    case("red", AVERAGE, "kmax", 15_000.0),
    case("red", AVERAGE, "pmax", 0.5),
    case("pi", PI, "q_ref", 90_000.0),
    case("pi", PI, "k1", 1e-2),
    case("pi", PI, "k2", 100.0),
    case("pi", PI, "interval", 5e-5),
    case("codel", CODEL, "target", 1e-4),
    case("codel", CODEL, "interval", 1e-3),
    case("dualpi2", DUAL, "target", 2e-4),
    case("dualpi2", DUAL, "update", 2e-4),
    case("dualpi2", DUAL, "alpha", 4000.0),
    case("dualpi2", DUAL, "beta", 400.0),
    case("dualpi2", DUAL, "coupling", 4.0),
    case("dualpi2", CALM, "step", 1e-6),
    case("dualpi2", CALM, "step_packets", 1.0),
    case("dualpi2", DUAL, "c_share", 60.0),
    case("dualpi2", DUAL, "limit", 20.0),
    case("dualpi2", OVERLOAD, "drop_overload", 0.0),
    case("dualpi2", CALM_PACKETS, "step_packets", 0.0),
    case("rcp", &[], "alpha", 1.0),
    case("rcp", &[], "beta", 1.0),
    case("rcp", &[], "gamma", 0.5),
    case("rcp", &[], "timeslot", 1e-6),
    case("rcp", FLOOR, "min_rate", 1.0),
];

/// Parameters that say when a port looks next: when it looks first is decided at the beginning.
const WHEN: [&str; 3] = ["interval", "update", "timeslot"];

fn mechanism(kind: &str) -> &'static Mechanism {
    port::find(kind).expect("a row of the table")
}

impl Case {
    /// Eight flows into one port, which marks by these values.
    fn network(&self, values: &Values) -> Network {
        let mechanism = mechanism(self.kind);
        let mut network = until_done(marking(star(9), self.kind, mechanism.at));
        network.markings[0].values = values.clone();
        let kinds: &[&str] = match self.kind {
            "dualpi2" => &["prague", "cubic"],
            "rcp" => &["rcp"],
            _ => &["dctcp"],
        };
        network.controls = kinds.iter().map(|name| control(name)).collect::<Vec<Control>>();
        if network.markings[0].judges_heads() {
            let count = if self.kind == "dualpi2" { 2 } else { 1 };
            let limit = shallows_sim::Limit::Bytes(Bytes(150_000));
            let classes = vec![ClassSpec { limit, ..ClassSpec::OPEN }; count];
            let class_of = ClassOf([count as u8 - 1; PACKET_KINDS.len()]);
            network = scheduled(network, Discipline::new(classes, vec![class_of]), false);
        }
        let flows = (0..8).map(|src| FlowSpec {
            control: src % network.controls.len() as u32,
            start: Time::from_micros(u64::from(src) * 37),
            ..flow(src, 8, Bytes(400_000))
        });
        network.flows = flows.collect();
        network
    }

    fn marking(&self, value: Option<f64>) -> Marking {
        let mechanism = mechanism(self.kind);
        let mut values = Values::defaults(mechanism.parameters);
        let changed = value.map(|value| (self.parameter, value));
        for (name, value) in self.values.iter().copied().chain(changed) {
            values.set(name, value).expect("a lawful value");
        }
        Marking { mechanism, values, at: mechanism.at }
    }

    /// The network, whose request has both markings.
    fn both(&self) -> Network {
        let first = self.marking(None);
        let mut network = self.network(&first.values);
        network.markings = vec![first, self.marking(Some(self.other))];
        network
    }
}

/// Each parameter acts from the time of its change on. A change at the beginning is the run with the other value. A change later is a fault
/// of the request, differs from the run without it, and leaves what was before.
#[test]
fn a_parameter_of_a_marking_acts_from_the_clock_on() {
    let later = Time::from_micros(800);
    let mut without_effect = Vec::new();
    for case in CASES {
        let name = format!("{}.{} of {:?}", case.kind, case.parameter, case.values);
        let network = case.both();
        let port = link(&network, 9, 8);
        let fault = |at| Fault { at, link: port, change: Change::Marking(1) };
        let unchanged = run_open(network.clone());
        if !WHEN.contains(&case.parameter) {
            let mut other = network.clone();
            other.ports[port as usize].marking = Some(1);
            let at_once = run_open(Network { faults: vec![fault(Time::ZERO)], ..network.clone() });
            assert_eq!(at_once.fingerprint, run_open(other).fingerprint, "{name}");
        }
        let changed = assert_is_a_fault(&name, &network, &[fault(later)]);
        if changed == unchanged.fingerprint {
            without_effect.push(name.clone());
        }
        let mut run = Simulation::open(network.clone(), 1).expect("a lawful network");
        run.close();
        run.advance_to(later).expect("the future");
        let mut copy = run.clone();
        copy.change_link(port, Change::Marking(1)).expect("a lawful change");
        assert_eq!(format!("{:?}", run.reports()), format!("{:?}", copy.reports()), "{name}");
        for (mut one, expected) in [(run, unchanged.fingerprint), (copy, changed)] {
            while one.advance(100_000) == Progress::Running {}
            assert_eq!(one.finish().fingerprint, expected, "{name}");
        }
    }
    assert!(without_effect.is_empty(), "without effect: {without_effect:#?}");
}

/// Four frames of 1500 B meet at a port of 10 Gbps at 2.2 us, which begins to send them at 2.2, 3.4, 4.6 and 5.8 us and looks at what they leave
/// behind: three frames, two, one and none. From 4 us on it marks above 1000 B: the third one alone.
#[test]
fn packets_that_have_left_are_judged_by_the_parameters_of_before() {
    let mut network = until_done(marking(star(5), "step", MarkAt::Dequeue));
    let mut values = Values::defaults(mechanism("step").parameters);
    network.controls = vec![control("dctcp")];
    network.flows = (0..4).map(|src| flow(src, 4, Bytes(1460))).collect();
    let port = link(&network, 5, 4);
    for (threshold, expected) in [(1000.0, 1), (2000.0, 0)] {
        values.set("threshold", threshold).expect("a lawful value");
        let mut run = Simulation::open(network.clone(), 1).expect("a lawful network");
        run.advance_to(Time::from_micros(4)).expect("the future");
        let marking = Marking { values: values.clone(), ..network.markings[0].clone() };
        assert_eq!(run.change_marking(&[port], marking), Ok(()));
        run.close();
        while run.advance(1000) == Progress::Running {}
        assert_eq!(run.finish().ports[port as usize].counters.marked, expected, "{threshold}");
    }
}

/// The cases are all parameters but those that are fixed; a change of these is refused with the list of the others.
#[test]
fn what_a_port_keeps_is_refused_with_what_it_may_change() {
    for mechanism in port::MECHANISMS {
        let name = mechanism.name;
        let tried: Vec<_> = CASES.iter().filter(|case| case.kind == name).map(|case| case.parameter).collect();
        let may: Vec<_> = mechanism.adjustable().map(|one| one.name).collect();
        assert!(may.iter().all(|one| tried.contains(one)), "{name}: {may:?}, not {tried:?}");
        for fixed in mechanism.parameters.iter().filter(|one| one.is_fixed) {
            let other = if fixed.default == fixed.max { fixed.min } else { fixed.max };
            let network = case(name, &[], fixed.name, other).both();
            let port = link(&network, 9, 8);
            let mut run = Simulation::open(network, 1).expect("a lawful network");
            let refused = run.change_link(port, Change::Marking(1)).expect_err("a mistake");
            let expected =
                format!("expected {name} like the marking of the port, with other values of {} alone", may.join(", "));
            assert!(refused.ends_with(&expected), "{refused}, not {expected}");
        }
    }
}

/// Every parameter of every algorithm: after the change flows that start later have it, those of a second algorithm in the request of the
/// trace, and nothing else differs.
#[test]
fn a_parameter_of_each_algorithm_holds_for_flows_that_start_later() {
    let (now, later) = (Time::from_micros(100), Time::from_micros(150));
    let (mut tried, mut acted) = (0, 0);
    for row in catalog::ALGORITHMS {
        let mut base = Network { duration: Time::from_millis(5), ..star(4) };
        ports(&mut Dice(Rng::new(1, 93)), &mut base, &control(row.name));
        base.controls = vec![control(row.name)];
        let flows = [(0, Time::ZERO), (1, later), (2, later)];
        let flows = flows.map(|(src, start)| FlowSpec { start, ..flow(src, 3, Bytes(1_000_000)) });
        let trace = |second: Control| {
            let mut flows = flows.to_vec();
            flows[1..].iter_mut().for_each(|flow| flow.control = 1);
            run_open(Network { flows, controls: vec![control(row.name), second], ..base.clone() })
        };
        let unchanged = trace(control(row.name)).fingerprint;
        for parameter in row.parameters {
            let name = format!("{}.{}", row.name, parameter.name);
            let doubled = (parameter.default * 2.0).clamp(parameter.min, parameter.max);
            let value = if doubled > parameter.default { doubled } else { parameter.min };
            let mut run = Simulation::open(base.clone(), 1).expect("a lawful network");
            assert_eq!(run.send_all(flows[..2].to_vec()), Ok(0..2), "{name}");
            assert_eq!(run.advance_to(now), Ok(Advance::Reached), "{name}");
            let values = [(parameter.name.to_owned(), value)].into();
            assert_eq!(run.change_parameters(0, &values), Ok(1), "{name}");
            assert_eq!(run.send(FlowSpec { control: 1, ..flows[2].clone() }), Ok(2), "{name}");
            run.close();
            while run.advance(100_000) == Progress::Running {}
            let mut second = control(row.name);
            second.values.set(parameter.name, value).expect("a lawful value");
            let (driven, expected) = (run.finish(), trace(second));
            assert_eq!(format!("{driven:?}"), format!("{expected:?}"), "{name}");
            (tried, acted) = (tried + 1, acted + usize::from(driven.fingerprint != unchanged));
        }
    }
    println!("{acted} of {tried} parameters act on these flows");
    assert!(acted * 3 > tried, "{acted} of {tried}");
}
