//! What every algorithm of the catalog must do whatever happens to it: random lawful events, no panic, a window or a rate
//! that lets something through, numbers that are numbers, and the same again from the same events.
//!
//! The seed of a failing case is in its message: `EVENTS` from that seed are the case.

use shallows_cc::catalog::{ALGORITHMS, Algorithm, Marking, RATED, ROCE, Reliability, TCP};
use shallows_cc::event::{Ack, DeliverySample, HopRecord, Loss, LossKind, LostPacket};
use shallows_cc::parameter::Values;
use shallows_cc::rng::Rng;
use shallows_cc::sender::{Decision, Path, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

const MSS: Bytes = Bytes(1460);
/// Payload of the smallest frame that a scenario may have.
const LEAST: Bytes = Bytes(1);
const SEEDS: u64 = 60;
const EVENTS: u32 = 400;

/// One flow under a random life: a path with a base RTT, queueing that comes and goes, losses, silences, marks.
struct Life {
    draws: Rng,
    mss: Bytes,
    now: Time,
    base: Time,
    sent_at: Time,
    delivered: Bytes,
}

impl Life {
    fn new(seed: u64, mss: Bytes) -> Self {
        let mut draws = Rng::new(seed, 0);
        let base = Time::from_micros(5).scale(1.0 + draws.uniform() * 2000.0);
        Self { draws, mss, now: base, base, sent_at: Time::ZERO, delivered: Bytes::ZERO }
    }

    fn below(&mut self, most: u64) -> u64 {
        (self.draws.uniform() * most as f64) as u64
    }

    fn chance(&mut self, share: f64) -> bool {
        self.draws.uniform() < share
    }

    /// Time passes; the sender is called exactly when it asks to be.
    fn pass(&mut self, until: Time, sender: &mut dyn Sender, row: &Algorithm) {
        while let Some(wake) = sender.decision().wake.filter(|&wake| wake <= until) {
            assert!(wake >= self.now, "{}: asks to be called in the past", row.name);
            self.now = wake;
            sender.on_wake(wake);
        }
        self.now = until;
    }

    fn ack(&mut self, sender: &mut dyn Sender, row: &Algorithm) -> Ack {
        let rtt = self.base + self.base.scale(if self.chance(0.5) { 0.0 } else { self.draws.uniform() * 3.0 });
        let later = self.now + Time::from_nanos(100).scale(1.0 + self.draws.uniform() * 20_000.0);
        self.pass(later.max(self.sent_at + rtt), sender, row);
        self.sent_at = self.sent_at.max(self.now - rtt);
        let payload = self.mss * self.below(30);
        let trims = row.transport.reliability == Reliability::Unordered && self.chance(0.1);
        let (acked, trimmed) = if trims { (Bytes::ZERO, payload) } else { (payload, Bytes::ZERO) };
        Ack {
            sent_at: self.sent_at,
            rtt,
            host_delay: Time::from_micros(3).scale(self.draws.uniform()),
            one_way_delay: rtt / 2,
            samples: 1 + self.below(4) as u32,
            acked,
            marked: if self.chance(0.2) { payload } else { Bytes::ZERO },
            trimmed,
            buffered: self.mss * self.below(200),
            in_flight: self.mss * self.below(200),
            window_limited: self.chance(0.7),
            recovering: self.chance(0.1),
            entropy: 0,
            delivery: if sender.samples_delivery() { self.sample(acked, rtt) } else { None },
        }
    }

    /// The delivery-rate sample of an acknowledgement of so much, after a round trip.
    fn sample(&mut self, acked: Bytes, rtt: Time) -> Option<DeliverySample> {
        let prior_delivered = self.delivered.saturating_sub(self.mss * self.below(30));
        self.delivered += acked;
        (acked > Bytes::ZERO).then(|| DeliverySample {
            prior_delivered,
            prior_time: self.sent_at.saturating_sub(rtt),
            delivered: self.delivered - prior_delivered,
            interval: rtt.scale(self.draws.uniform()),
            implausible: self.chance(0.1),
            app_limited: self.chance(0.2),
            in_flight: self.mss * (1 + self.below(200)),
            lost: self.mss * self.below(10),
        })
    }

    /// A packet is found lost, or losses are taken back, or an idle time ends.
    fn surprise(&mut self, sender: &mut dyn Sender) {
        match self.below(4) {
            0 => sender.on_spurious_loss(self.now),
            1 => sender.on_restart(self.now),
            _ => {
                let (in_flight, lost) = (self.mss * (1 + self.below(200)), self.mss * (1 + self.below(10)));
                let (bytes, app_limited, delivered) = (self.mss, self.chance(0.2), self.delivered);
                sender.on_packet_lost(self.now, &LostPacket { bytes, in_flight, lost, app_limited, delivered });
            }
        }
    }

    /// What two or three hops wrote; now and then the same as before, or of another path.
    fn records(&mut self) -> Vec<HopRecord> {
        let at = self.sent_at + Time::from_nanos(self.below(500));
        let hops = if self.chance(0.95) { 2 } else { 3 };
        let record = |hop| HopRecord {
            rate: Rate::from_gbps(10),
            queue: self.mss * self.below(100),
            sent: Rate::from_gbps(10).sent_in(at).scale(self.draws.uniform()),
            at: at + Time::from_nanos(hop),
        };
        (0..hops).map(record).collect()
    }

    /// Something happens; gives what the algorithm then decides.
    fn step(&mut self, sender: &mut dyn Sender, row: &Algorithm) -> Decision {
        match self.below(100) {
            0..4 => {
                let kind = if self.chance(0.3) { LossKind::Timeout } else { LossKind::FastRetransmit };
                let repeated = kind == LossKind::Timeout && self.chance(0.5);
                let in_flight = self.mss * (1 + self.below(200));
                sender.on_loss(self.now, &Loss { kind, in_flight, lost: self.mss * self.below(3), repeated });
            }
            4..15 if sender.samples_delivery() => self.surprise(sender),
            4..10 if *row.transport == ROCE => sender.on_notification(self.now),
            10..40 if *row.transport == ROCE => {
                let before = sender.decision();
                let changes = sender.on_sent(self.now, self.mss);
                assert!(changes || sender.decision() == before, "{} decides anew and does not say so", row.name);
            }
            43..60 if *row.transport == RATED => sender.on_offer(self.now, Rate(self.below(40_000_000_000))),
            40..43 => {
                let later = self.now + Time::from_millis(self.below(20));
                self.pass(later, sender, row);
            }
            _ => {
                let ack = self.ack(sender, row);
                if matches!(row.marking, Marking::Records(_)) {
                    let hops = self.records();
                    sender.on_records(self.now, &hops);
                }
                sender.on_ack(self.now, &ack);
            }
        }
        sender.decision()
    }
}

fn check(row: &Algorithm, seed: u64, decision: &Decision, sender: &dyn Sender) {
    let Decision { window, pace, .. } = *decision;
    assert!(window.0 > 0 || *row.transport != TCP, "{} seed {seed}: a window of nothing", row.name);
    assert!(window <= Bytes(1 << 60) || window == Bytes::MAX, "{} seed {seed}: a window of {}", row.name, window.0);
    assert!(pace.is_none_or(|rate| rate.0 > 0), "{} seed {seed}: a rate of nothing", row.name);
    let sane = Rate::from_gbps(1_000_000);
    assert!(pace.is_none_or(|rate| rate <= sane), "{} seed {seed}: a rate of {pace:?}", row.name);
    sender.probe(&mut |name, value| assert!(!value.is_nan(), "{} seed {seed}: {name} is no number", row.name));
}

fn live(row: &Algorithm, values: &Values, mss: Bytes, seed: u64) -> Vec<Decision> {
    live_with_draws(row, values, mss, [seed; 2]).0
}

/// A life of the events of one seed and the draws of the other: the decisions, the time to answer a credit after them, and whether
/// the sender says that it has drawn.
fn live_with_draws(
    row: &Algorithm,
    values: &Values,
    mss: Bytes,
    [events, seed]: [u64; 2],
) -> (Vec<Decision>, Time, bool) {
    let mut life = Life::new(events, mss);
    let path = Path {
        now: life.now,
        mss,
        frame: mss + Bytes(40),
        initial_window: mss * 10,
        line_rate: Rate::from_gbps(10),
        base_rtt: Time::from_micros(50),
        seed,
        ..Path::default()
    };
    let mut sender = (row.sender)(values, &path);
    let mut decisions = vec![sender.decision()];
    for _ in 0..EVENTS {
        let decision = life.step(sender.as_mut(), row);
        check(row, events, &decision, sender.as_ref());
        decisions.push(decision);
    }
    let answer_time = sender.answer_time();
    (decisions, answer_time, sender.has_drawn())
}

/// The defaults, and every preset.
fn variants(row: &Algorithm) -> Vec<Values> {
    let preset = |values: &[(&str, f64)]| {
        let mut all = Values::defaults(row.parameters);
        for &(name, value) in values {
            all.set(name, value).expect("a preset sets parameters of its algorithm, within their ranges");
        }
        all
    };
    std::iter::once(preset(&[])).chain(row.presets.iter().map(|p| preset(p.values))).collect()
}

#[test]
fn every_algorithm_survives_a_random_life_and_lives_it_the_same_again() {
    for row in ALGORITHMS {
        for values in variants(row) {
            for seed in 0..SEEDS {
                let (once, again) = (live(row, &values, MSS, seed), live(row, &values, MSS, seed));
                assert_eq!(once, again, "{} seed {seed}: two lives", row.name);
            }
        }
    }
}

/// Of the same events with other draws, every sender that says that it drew none decides the same; and those that toss coins say so.
#[test]
fn a_sender_that_depends_on_its_seed_says_that_it_has_drawn() {
    for row in ALGORITHMS {
        let mut drew = false;
        for values in variants(row) {
            for seed in 0..SEEDS {
                let [one, other] = [seed, seed + SEEDS].map(|draws| live_with_draws(row, &values, MSS, [seed, draws]));
                assert!(one == other || one.2 && other.2, "{} seed {seed}", row.name);
                drew |= one.2;
            }
        }
        assert_eq!(drew, row.draws(), "{}", row.name);
    }
}

#[test]
fn every_parameter_may_be_at_either_end_of_its_range() {
    for row in ALGORITHMS {
        for parameter in row.parameters {
            for end in [parameter.min, parameter.max] {
                println!("{} with {} = {end}", row.name, parameter.name);
                let mut values = Values::defaults(row.parameters);
                values.set(parameter.name, end).expect("an end of a range lies in it");
                for seed in 0..SEEDS / 10 {
                    live(row, &values, MSS, seed);
                    live(row, &values, LEAST, seed);
                }
            }
        }
    }
}

#[test]
fn defaults_lie_within_their_ranges_and_everything_has_a_source() {
    for row in ALGORITHMS {
        assert!(!row.source.is_empty() && !row.summary.is_empty(), "{}", row.name);
        for p in row.parameters {
            assert!((p.min..=p.max).contains(&p.default), "{}.{}", row.name, p.name);
            assert!(!p.source.is_empty() && !p.meaning.is_empty(), "{}.{}", row.name, p.name);
        }
        for preset in row.presets {
            assert!(!preset.source.is_empty(), "{}@{}", row.name, preset.name);
        }
        for one in row.deviations {
            assert!([one.line, one.here, one.why].iter().all(|text| !text.is_empty()), "{}: {one:?}", row.name);
        }
    }
}

/// The algorithms of the five papers are compared with them line by line.
#[test]
fn the_algorithms_of_the_five_papers_say_where_they_differ() {
    let silent = |name: &&str| shallows_cc::catalog::find(name).is_none_or(|row| row.deviations.is_empty());
    let papers =
        ["dx", "vegas", "gap", "dcqcn", "timely", "patched-timely", "patched-timely-pi", "inigo", "expresspass"];
    assert_eq!(papers.iter().find(|name| silent(name)), None);
}
