//! Entropy values of an MRC connection: a set for each plane, with the state of each value.
//!
//! | event | state of the value |
//! |---|---|
//! | answer with a mark, or to a packet that was trimmed before the last hop | GOOD to SKIP: it misses one rotation |
//! | timeout of a packet, or so many losses in a row that acknowledgements show (`bad_after`) | ASSUMED_BAD: withdrawn, and replaced by a spare value of its plane |
//! | answer to a probe of a withdrawn value | GOOD, or SKIP if the probe was marked: it returns to its plane, or becomes a spare value |
//!
//! A plane is a port of the host, and its values are those which leave the same remainder. Each plane has as many values in use as others, in
//! an order that is drawn anew for each rotation, so that connections do not fall into step. `ev_min_active` values stay in use whatever they
//! lose. A plane without a value in use gets no packets, but probes.

use shallows_cc::multipath::Multipath;
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

/// Information about the path of a packet in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Clean,
    Marked,
    Trimmed,
    /// Trimmed at the last hop, where all paths meet. Only MRC tells it apart.
    TrimmedAtLastHop,
}

/// State of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In use.
    Good,
    /// In use, but not in the next rotation.
    Skip,
    /// Withdrawn.
    AssumedBad,
    /// Never used, or good again while its plane has enough values.
    Spare,
}

/// A value: its state, and how many packets it has lost since the last answer.
#[derive(Clone, Copy, Debug)]
struct Value {
    state: State,
    losses: u32,
}

/// Values of a plane.
#[derive(Clone, Debug, Default)]
struct Plane {
    /// Number of the host's port.
    port: u32,
    /// Values in use in the order of this rotation, and the place of the next one.
    order: Vec<u16>,
    at: usize,
    /// Values that replace withdrawn ones, the next one last.
    spares: Vec<u16>,
}

impl Plane {
    fn shuffle(&mut self, draws: &mut Rng) {
        self.at = 0;
        for last in (1..self.order.len()).rev() {
            self.order.swap(last, (draws.uniform() * (last + 1) as f64) as usize);
        }
    }

    fn remove(&mut self, value: u16) {
        let place = self.order.iter().position(|&other| other == value).expect("a value in use");
        self.order.remove(place);
        self.at -= usize::from(place < self.at);
    }
}

/// How a packet was found to be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Evidence {
    /// Neither it nor its header was answered in time.
    Timeout,
    /// Packets that left later have arrived.
    Acknowledgements,
}

/// All values of a connection.
#[derive(Clone, Debug)]
pub struct ValueSet {
    rules: Multipath,
    planes: Vec<Plane>,
    values: Vec<Value>,
    /// Values in use on all planes.
    active: u32,
    /// Withdrawn values, and when each is probed next.
    withdrawn: Vec<(Time, u16)>,
    probe_interval: Time,
}

impl ValueSet {
    /// Creates the values of a connection of a host with these ports. `timeout` is the initial retransmission timeout.
    pub(crate) fn new(rules: Multipath, ports: &[u32], timeout: Time, draws: &mut Rng) -> Self {
        let planes = ports.len() as u32;
        let (in_use, spares) = (rules.values.div_ceil(planes), rules.spares.div_ceil(planes));
        let value = |place: u32| Value { state: if place < in_use { State::Good } else { State::Spare }, losses: 0 };
        let plane = |(&port, number): (&u32, u32)| {
            let of_plane = |place| (place * planes + number) as u16;
            let (order, spares) =
                ((0..in_use).map(of_plane).collect(), (in_use..in_use + spares).map(of_plane).collect());
            let mut plane = Plane { port, order, at: 0, spares };
            plane.shuffle(draws);
            plane
        };
        Self {
            rules,
            planes: ports.iter().zip(0..).map(plane).collect(),
            values: (0..in_use + spares).flat_map(|place| vec![value(place); planes as usize]).collect(),
            active: in_use * planes,
            withdrawn: Vec::new(),
            probe_interval: rules.value_probe.unwrap_or(timeout),
        }
    }

    fn plane(&self, value: u16) -> usize {
        usize::from(value) % self.planes.len()
    }

    /// Returns whether no value of the plane with this port is in use.
    pub fn avoids(&self, port: u32) -> bool {
        self.planes.iter().any(|plane| plane.port == port && plane.order.is_empty())
    }

    /// Returns the value of the next packet, which leaves through this port.
    pub(crate) fn next(&mut self, port: u32, draws: &mut Rng) -> u16 {
        let number = self.planes.iter().position(|plane| plane.port == port).unwrap_or(0);
        let plane = &mut self.planes[number];
        if plane.order.is_empty() {
            // Every plane is empty or down, and the packet itself is a probe.
            return number as u16;
        }
        loop {
            if plane.at == plane.order.len() {
                plane.shuffle(draws);
            }
            let value = plane.order[plane.at];
            plane.at += 1;
            let state = &mut self.values[usize::from(value)].state;
            if std::mem::replace(state, State::Good) != State::Skip {
                return value;
            }
        }
    }

    /// Handles an answer to data with this value.
    pub fn on_answer(&mut self, value: u16, verdict: Verdict) {
        let value = &mut self.values[usize::from(value)];
        value.losses = 0;
        if value.state == State::Good && matches!(verdict, Verdict::Marked | Verdict::Trimmed) {
            value.state = State::Skip;
        }
    }

    /// Handles the loss of a packet with this value.
    pub(crate) fn on_lost(&mut self, now: Time, number: u16, evidence: Evidence) {
        let value = &mut self.values[usize::from(number)];
        if !matches!(value.state, State::Good | State::Skip) {
            return;
        }
        value.losses += 1;
        let is_bad = evidence == Evidence::Timeout || self.rules.bad_after.is_some_and(|least| value.losses >= least);
        if is_bad {
            self.withdraw(now, number);
        }
    }

    /// Withdraws a value, unless too few would be left in use.
    fn withdraw(&mut self, now: Time, value: u16) {
        let number = self.plane(value);
        let plane = &mut self.planes[number];
        match plane.spares.pop() {
            Some(spare) => {
                self.values[usize::from(spare)] = Value { state: State::Good, losses: 0 };
                plane.remove(value);
                plane.order.push(spare);
            }
            None if self.active > self.rules.min_active => {
                self.active -= 1;
                plane.remove(value);
            }
            None => return,
        }
        self.values[usize::from(value)].state = State::AssumedBad;
        self.withdrawn.push((now + self.probe_interval, value));
    }

    /// Handles the answer to a probe with this value, which was `marked` or not.
    pub fn on_probed(&mut self, value: u16, marked: bool) {
        let number = self.plane(value);
        if self.values[usize::from(value)].state != State::AssumedBad {
            return;
        }
        self.withdrawn.retain(|&(_, other)| other != value);
        let in_use = self.rules.values.div_ceil(self.planes.len() as u32);
        let plane = &mut self.planes[number];
        let is_full = plane.order.len() as u32 >= in_use;
        let state = if is_full {
            plane.spares.push(value);
            State::Spare
        } else {
            plane.order.push(value);
            self.active += 1;
            if marked { State::Skip } else { State::Good }
        };
        self.values[usize::from(value)] = Value { state, losses: 0 };
    }

    /// Returns when the next value is to be probed.
    pub(crate) fn next_probe(&self) -> Time {
        self.withdrawn.iter().map(|&(at, _)| at).min().unwrap_or(Time::MAX)
    }

    /// Returns the port and the value of each probe that is due.
    pub fn take_probes(&mut self, now: Time) -> Vec<(u32, u16)> {
        let mut probes = Vec::new();
        for (at, value) in self.withdrawn.iter_mut().filter(|(at, _)| *at <= now) {
            *at = now + self.probe_interval;
            probes.push((self.planes[usize::from(*value) % self.planes.len()].port, *value));
        }
        probes
    }

    /// Reports how many values are in use and how many are withdrawn.
    pub(crate) fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("values_in_use", f64::from(self.active));
        record("values_assumed_bad", self.withdrawn.len() as f64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TIMEOUT: Time = Time::from_millis(1);
    const PORTS: [u32; 2] = [40, 41];

    fn rules(values: u32, spares: u32, min_active: u32) -> Multipath {
        let (bad_after, port_status) = (Some(2), true);
        Multipath {
            values,
            spares,
            min_active,
            bad_after,
            value_probe: None,
            silence: None,
            reordering: None,
            port_status,
        }
    }

    /// A connection with two planes.
    fn set(values: u32, spares: u32, min_active: u32) -> (ValueSet, Rng) {
        let mut draws = Rng::new(1, 0);
        (ValueSet::new(rules(values, spares, min_active), &PORTS, TIMEOUT, &mut draws), draws)
    }

    /// Values of the next packets through a port, in order of their numbers.
    fn rotation(set: &mut ValueSet, draws: &mut Rng, port: u32, count: usize) -> Vec<u16> {
        let mut values: Vec<_> = (0..count).map(|_| set.next(port, draws)).collect();
        values.sort_unstable();
        values
    }

    /// Eight values on two planes: the even ones leave through the first port. Orders differ from rotation to rotation.
    #[test]
    fn each_plane_has_values_of_its_own_and_takes_them_in_turn() {
        let (mut set, mut draws) = set(8, 4, 4);
        assert_eq!(rotation(&mut set, &mut draws, 40, 4), [0, 2, 4, 6]);
        assert_eq!(rotation(&mut set, &mut draws, 41, 4), [1, 3, 5, 7]);
        let orders: Vec<Vec<_>> = (0..8).map(|_| (0..4).map(|_| set.next(40, &mut draws)).collect()).collect();
        assert!(orders.iter().any(|order| *order != orders[0]));
    }

    #[test]
    fn a_value_with_a_mark_or_a_trimmed_packet_misses_one_rotation() {
        for (verdict, skips) in [
            (Verdict::Marked, true),
            (Verdict::Trimmed, true),
            (Verdict::TrimmedAtLastHop, false),
            (Verdict::Clean, false),
        ] {
            let (mut set, mut draws) = set(8, 4, 4);
            rotation(&mut set, &mut draws, 40, 4);
            set.on_answer(4, verdict);
            let without = if skips { vec![0, 2, 6] } else { vec![0, 2, 4, 6] };
            assert_eq!(rotation(&mut set, &mut draws, 40, without.len()), without, "{verdict:?}");
            assert_eq!(rotation(&mut set, &mut draws, 40, 4), [0, 2, 4, 6]);
        }
    }

    /// If every value was marked, all of them miss one rotation, which ends at once.
    #[test]
    fn marks_on_all_values_stop_nothing() {
        let (mut set, mut draws) = set(8, 0, 4);
        for value in [0, 2, 4, 6] {
            set.on_answer(value, Verdict::Marked);
        }
        assert_eq!(rotation(&mut set, &mut draws, 40, 4), [0, 2, 4, 6]);
    }

    /// A timeout suffices, and two losses in a row without an answer between them. The spare values of the plane are 8 and 10.
    #[test]
    fn a_value_that_loses_packets_is_replaced_by_a_spare_of_its_plane() {
        let (mut set, mut draws) = set(8, 4, 4);
        set.on_lost(Time::ZERO, 0, Evidence::Timeout);
        set.on_lost(Time::ZERO, 2, Evidence::Acknowledgements);
        set.on_answer(2, Verdict::Clean);
        set.on_lost(Time::ZERO, 2, Evidence::Acknowledgements);
        assert_eq!(rotation(&mut set, &mut draws, 40, 4), [2, 4, 6, 10]);
        set.on_lost(Time::ZERO, 2, Evidence::Acknowledgements);
        // The spare ends the rotation in which it comes.
        assert_eq!(rotation(&mut set, &mut draws, 40, 1), [8]);
        assert_eq!(rotation(&mut set, &mut draws, 40, 4), [4, 6, 8, 10]);
        assert_eq!(rotation(&mut set, &mut draws, 41, 4), [1, 3, 5, 7]);
    }

    /// Of four values in use on two planes three have to stay. Without values a plane gets no packets.
    #[test]
    fn so_many_values_stay_in_use() {
        let (mut set, _) = set(4, 0, 3);
        set.on_lost(Time::ZERO, 0, Evidence::Timeout);
        set.on_lost(Time::ZERO, 2, Evidence::Timeout);
        assert!(!set.avoids(40), "the second one stays");
        let (mut set, _) = self::set(4, 0, 2);
        set.on_lost(Time::ZERO, 0, Evidence::Timeout);
        set.on_lost(Time::ZERO, 2, Evidence::Timeout);
        assert_eq!(PORTS.map(|port| set.avoids(port)), [true, false]);
    }

    /// Probes leave once a timeout. An answer makes the value good, or lets it miss a rotation; with a spare in its place it becomes
    /// the spare.
    #[test]
    fn an_answered_probe_returns_a_value() {
        let ms = Time::from_millis;
        let (mut set, mut draws) = set(4, 2, 0);
        set.on_lost(ms(5), 0, Evidence::Timeout);
        set.on_lost(ms(5), 2, Evidence::Timeout);
        assert_eq!(set.next_probe(), ms(6));
        assert_eq!((set.take_probes(ms(5)), set.take_probes(ms(6))), (vec![], vec![(40, 0), (40, 2)]));
        assert_eq!(set.next_probe(), ms(7));
        // Value 4 had taken the place of 0; data that was answered late says nothing of a path that loses packets.
        set.on_answer(2, Verdict::Clean);
        assert_eq!(rotation(&mut set, &mut draws, 40, 1), [4]);
        set.on_probed(2, true);
        assert_eq!(rotation(&mut set, &mut draws, 40, 3), [2, 4, 4]);
        set.on_probed(0, false);
        assert_eq!((rotation(&mut set, &mut draws, 40, 2), set.next_probe()), (vec![2, 4], Time::MAX));
        set.on_lost(ms(9), 4, Evidence::Timeout);
        assert_eq!(rotation(&mut set, &mut draws, 40, 2), [0, 2]);
    }
}
