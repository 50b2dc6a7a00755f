//! The counters of ports against the events that an observer sees, over random networks and all kinds of ports.

use crate::networks::{control, fat_tree, flow, one_class, priority_first, scheduled, trimming, until_done};
use crate::soak::{Dice, number, scenario};
use shallows_cc::parameter::Values;
use shallows_cc::port::{self, Feedback, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{
    DropReason, Hop, Limit, Marking, Network, Observer, Outcome, PacketKind, Progress, SharedSpec, Simulation,
};

/// Marked, dropped, trimmed and lost packets of each link, as their events tell.
#[derive(Default)]
struct Events {
    of_links: Vec<[u64; 4]>,
    /// By slab index: whether the packet was marked when it was last seen.
    was_marked: Vec<bool>,
    /// The links of hosts, at which packets begin.
    of_hosts: Vec<bool>,
}

impl Events {
    fn of(network: &Network) -> Self {
        let of_hosts: Vec<_> = network.ports.iter().map(|port| port.from < network.hosts).collect();
        Self { of_links: vec![[0; 4]; of_hosts.len()], was_marked: Vec::new(), of_hosts }
    }

    fn count(&mut self, hop: Hop<'_>, column: usize) {
        self.of_links[hop.link as usize][column] += 1;
    }

    /// A packet that carries a mark and did not when it was last seen has been marked by the port of this link.
    fn see(&mut self, hop: Hop<'_>) {
        let at = hop.place as usize;
        self.was_marked.resize(self.was_marked.len().max(at + 1), false);
        let marked = hop.packet.flags.is_ce();
        if marked && !std::mem::replace(&mut self.was_marked[at], marked) {
            self.count(hop, 0);
        }
    }

    fn drop(&mut self, hop: Hop<'_>, reason: DropReason) {
        self.see(hop);
        self.count(hop, if reason == DropReason::LinkFault { 3 } else { 1 });
    }
}

impl Observer for Events {
    fn offered(&mut self, _now: Time, hop: Hop<'_>, outcome: Outcome) {
        if self.of_hosts[hop.link as usize]
            && let Some(was) = self.was_marked.get_mut(hop.place as usize)
        {
            *was = false;
        }
        match outcome {
            Outcome::Dropped(reason) => return self.drop(hop, reason),
            Outcome::Trimmed => self.count(hop, 2),
            Outcome::Returned if !hop.packet.flags.is(PacketKind::Trimmed) => self.count(hop, 2),
            _ => {}
        }
        self.see(hop);
    }

    fn trimmed(&mut self, _now: Time, hop: Hop<'_>) {
        self.see(hop);
        self.count(hop, 2);
    }

    fn delivered(&mut self, _now: Time, hop: Hop<'_>) {
        self.see(hop);
    }

    fn lost(&mut self, _now: Time, hop: Hop<'_>, reason: DropReason) {
        self.drop(hop, reason);
    }

    fn in_flight_at_end(&mut self, _now: Time, hop: Hop<'_>) {
        self.see(hop);
    }
}

/// Fifteen senders to one receiver over switches that hold few packets and trim the rest, and hold few headers.
fn trims(dice: &mut Dice) -> Network {
    let mut discipline = trimming();
    discipline.classes[0].limit = Limit::Bytes(Bytes(64) * (1 + dice.below(40)));
    discipline.classes[1].limit = Limit::Packets(1 + dice.below(12) as u32);
    let mut network = scheduled(fat_tree(4), discipline, false);
    network.controls = vec![control("ndp")];
    network.flows = (0..15).map(|src| flow(src, 15, Bytes(10_000 + dice.below(50_000)))).collect();
    until_done(network)
}

/// A random network whose ports mark by a random mechanism, of their own or of a class, share memory, or stay as they are. Every
/// tenth one trims packets.
fn network(number: u64) -> Network {
    let mut dice = Dice(Rng::new(number, 9));
    let has_trims = number.is_multiple_of(10);
    let mut network = if has_trims { trims(&mut dice) } else { scenario(number) };
    if network.markings.iter().any(|marking| marking.mechanism.tells != Feedback::Marks) {
        return network;
    }
    network.ports.iter_mut().for_each(|port| port.marking = None);
    // The two queues of dualpi2 hold no headers of trimmed packets.
    let kinds = ["step", "red", "pi", "codel", "phantom", "dualpi2"];
    let kinds = &kinds[..kinds.len() - usize::from(has_trims)];
    let mechanism = port::find(dice.one_of(kinds)).expect("a row");
    let mut values = Values::defaults(mechanism.parameters);
    for (key, value) in [("threshold", 4500.0), ("min", 3000.0), ("max", 15000.0)] {
        // A mechanism without this key keeps its defaults.
        let _unknown = values.set(key, value);
    }
    let mut marking = Marking { mechanism, values, at: dice.one_of(&[MarkAt::Enqueue, MarkAt::Dequeue]) };
    if marking.judges_heads() {
        marking.at = mechanism.at;
    }
    let dual = mechanism.name == "dualpi2";
    if (dual || marking.judges_heads() || dice.chance(0.3)) && network.disciplines.is_empty() && !network.pauses() {
        network.disciplines = vec![if dual || dice.chance(0.5) { priority_first() } else { one_class() }];
        if dual {
            network.classes.truncate(1);
        }
        let hosts = network.hosts;
        network.ports.iter_mut().for_each(|port| port.discipline = (port.from >= hosts).then_some(0));
    }
    network.markings = vec![marking];
    if !network.disciplines.is_empty() && !dual && dice.chance(0.3) {
        let classes = &mut network.disciplines[0].classes;
        classes.last_mut().expect("a class").marking = Some(0);
    }
    // Shared memory counts packets whole.
    let is_whole = network.disciplines.iter().flat_map(|discipline| &discipline.classes).all(|class| !class.trims);
    if !network.disciplines.is_empty() && !network.pauses() && is_whole && !dual && dice.chance(0.3) {
        network.pools = vec![SharedSpec { size: Bytes(30_000), alpha: 1.0 }];
        network.classes[0].pool = Some(0);
    }
    let (hosts, share) = (network.hosts, dice.one_of(&[0.5, 1.0]));
    for port in network.ports.iter_mut().filter(|port| port.from >= hosts && (dual || dice.chance(share))) {
        port.marking = Some(0);
    }
    network
}

/// Of these 640 networks more than 500 are valid; `SHALLOWS_COUNTS=5000` tries so many.
#[test]
fn columns_of_ports_are_the_sums_of_events() {
    let (from, count) = (number("SHALLOWS_SOAK_FROM", 0), number("SHALLOWS_COUNTS", 640));
    let (mut all, mut refused) = ([0; 4], 0);
    for number in from..from + count {
        let network = network(number);
        let events = Events::of(&network);
        let mut simulation = match Simulation::observed(network, events) {
            Ok(simulation) => simulation,
            Err(reason) => {
                println!("{number}: {reason}");
                refused += 1;
                continue;
            }
        };
        while simulation.advance(1_000_000) == Progress::Running {}
        let (answer, events) = simulation.finish_observed();
        assert_eq!(answer.problems, Vec::<String>::new(), "scenario {number}");
        for (link, (port, &seen)) in answer.ports.iter().zip(&events.of_links).enumerate() {
            let of = &port.counters;
            let counted = [of.marked, of.dropped, of.trimmed, of.lost];
            assert_eq!(counted, seen, "scenario {number}, link {link}: marked, dropped, trimmed, lost");
            let of_classes = |count: fn(&shallows_sim::ClassReport) -> u64| port.classes.iter().map(count).sum::<u64>();
            let sums = [of_classes(|class| class.marked), of_classes(|class| class.dropped)];
            assert!(port.classes.is_empty() || sums == counted[..2], "scenario {number}, link {link}: {sums:?}");
        }
        for (sum, column) in all.iter_mut().zip(0..) {
            *sum += events.of_links.iter().map(|link| link[column]).sum::<u64>();
        }
    }
    println!("{count} networks, {refused} of them refused; {all:?} marked, dropped, trimmed, lost");
    assert!(refused < count / 5 && all.iter().all(|&sum| sum > 0), "{refused} refused, {all:?}");
}
