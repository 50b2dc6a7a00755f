//! What ports, receivers and what hands out credits must do whatever comes: random lawful events, no panic, the same
//! again from the same events, and what whoever drives them relies on. (`conformance.rs` has the senders.)

use shallows_cc::catalog::{ALGORITHMS, RATED, TCP};
use shallows_cc::parameter::{Parameter, Values};
use shallows_cc::port::credit::CreditShaper;
use shallows_cc::port::{Arrival, CongestionPoint, Ecn, Feedback, MECHANISMS, Mechanism};
use shallows_cc::receiver::{CreditEcho, CreditPath, Data, Receiver, SUBSTITUTES};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, MIN_FRAME, Rate, Time};

const SEEDS: u64 = 40;
const EVENTS: u32 = 400;
const FRAME: Bytes = Bytes(1538);
const LINE_RATE: Rate = Rate::from_gbps(10);

fn below(draws: &mut Rng, most: u64) -> u64 {
    (draws.uniform() * most as f64) as u64
}

/// The defaults, then every parameter alone at each end of its range.
fn ends(parameters: &'static [Parameter]) -> Vec<(String, Values)> {
    let mut all = vec![("its defaults".to_owned(), Values::defaults(parameters))];
    for parameter in parameters {
        for end in [parameter.min, parameter.max] {
            let mut values = Values::defaults(parameters);
            values.set(parameter.name, end).expect("an end of a range lies in it");
            all.push((format!("{} = {end}", parameter.name), values));
        }
    }
    all
}

/// An ECN-capable full frame that meets this queue.
fn arrival(now: Time, queue: Bytes) -> Arrival {
    Arrival { now, queue, class: 0, length: FRAME, ecn: Ecn::Ect0 }
}

/// One life of a port of 10 Gbps: what it answered to each packet, and what it offered.
fn port(row: &Mechanism, values: &Values, seed: u64, about: &str) -> Vec<(bool, Option<Rate>)> {
    let mut point = (row.build)(values, LINE_RATE);
    let mut draws = Rng::new(seed, 1);
    let (mut now, mut answers) = (Time::ZERO, Vec::new());
    for _ in 0..EVENTS {
        let queue = Bytes(if draws.uniform() < 0.3 { 0 } else { below(&mut draws, 400_000) });
        let until = now + Time::from_nanos(1 + below(&mut draws, 40_000));
        if draws.uniform() < 0.1 {
            point.skip_idle(until);
        }
        wake(point.as_mut(), until, queue, about);
        now = until;
        let rtt = (draws.uniform() < 0.5).then(|| Time::from_nanos(1_000 + below(&mut draws, 1_000_000)));
        point.on_arrival(FRAME, rtt);
        let met = queue + FRAME;
        let probability = point.mark_probability(&arrival(now, met));
        let silent = point.never_marks_up_to().is_some_and(|longest| met <= longest);
        assert!(!silent || probability <= 0.0, "{about}: marks at {met:?}, of which it takes no notice");
        let marked = draws.uniform() < probability;
        if let Some(step) = point.as_step() {
            assert_eq!(step.marks(met), marked, "{about}: a step, and not its own answer");
        }
        assert_eq!(
            point.offered_rate().is_some(),
            row.tells == Feedback::Rates,
            "{about}: offers what it does not tell"
        );
        assert!(!marked || row.tells == Feedback::Marks, "{about}: marks, though it tells rates");
        assert_eq!(
            point.record(now, met).is_some(),
            row.tells == Feedback::Records,
            "{about}: records what it does not tell"
        );
        if let Some(offer) = point.offered_rate() {
            assert!(offer.0 > 0 && offer <= LINE_RATE, "{about}: offers {offer:?} of a link of {LINE_RATE:?}");
        }
        answers.push((marked, point.offered_rate()));
    }
    answers
}

/// Its wakes up to `until`, each of which has to be followed by a later one.
fn wake(point: &mut dyn CongestionPoint, until: Time, queue: Bytes, about: &str) {
    while let Some(at) = point.next_wake().filter(|&at| at <= until) {
        point.on_wake(at, queue);
        assert!(point.next_wake().is_some_and(|next| next > at), "{about}: woken at {at:?}, and again then or never");
    }
}

#[test]
fn every_port_lives_any_life_twice_alike() {
    for row in MECHANISMS {
        for (what, values) in ends(row.parameters) {
            for seed in 0..SEEDS {
                let about = format!("{} seed {seed}, {what}", row.name);
                assert_eq!(port(row, &values, seed, &about), port(row, &values, seed, &about), "{about}");
            }
        }
    }
}

#[test]
fn a_port_that_marks_does_so_under_a_long_queue_and_never_by_default_under_an_empty_one() {
    for row in MECHANISMS.iter().filter(|row| row.tells == Feedback::Marks && row.name != "phantom") {
        for (queue, marks) in [(Bytes(1_500), false), (Bytes(4_000_000), true)] {
            let mut point = (row.build)(&Values::defaults(row.parameters), LINE_RATE);
            if point.judges_heads() {
                continue; // its marks depend on the time in the queue: the tests are beside it
            }
            let (mut marked, mut draws) = (0, Rng::new(1, 0));
            for packet in 0..20_000 {
                let now = Time::from_nanos(1_200) * packet;
                wake(point.as_mut(), now, queue, row.name);
                marked += u32::from(draws.uniform() < point.mark_probability(&arrival(now, queue)));
            }
            assert_eq!(marked > 0, marks, "{}: {marked} marks of 20,000 at {queue:?}", row.name);
        }
    }
}

/// One life of a receiver that owes an acknowledgement for at most `acks_every` packets.
fn receiver(mut receiver: Box<dyn Receiver>, acks_every: u32, owes: bool, seed: u64, about: &str) -> Vec<String> {
    let mut draws = Rng::new(seed, 2);
    let (mut now, mut waiting, mut heard) = (Time::from_micros(50), 0, Vec::new());
    for _ in 0..EVENTS {
        now += Time::from_nanos(1 + below(&mut draws, 30_000));
        let data = Data {
            marked: draws.uniform() < 0.2,
            window_reduced: draws.uniform() < 0.05,
            in_order: draws.uniform() < 0.9,
            sent_at: now - Time::from_nanos(5_000 + below(&mut draws, 40_000)),
            answers: (draws.uniform() < 0.8).then(|| now - Time::from_micros(50)),
            payload: Bytes(below(&mut draws, 1_460)),
        };
        let notice = receiver.notification(now, &data);
        assert!(notice.is_none_or(|at| at >= now), "{about}: a notification in the past");
        let reply = receiver.on_data(now, &data);
        let before = if reply.earlier.is_some() { 0 } else { waiting };
        waiting = if reply.now.is_some() { 0 } else { before + 1 };
        if owes {
            assert!(reply.now.is_some() || data.in_order, "{about}: a gap is not told at once (RFC 5681 §4.2)");
            assert!(waiting < acks_every, "{about}: {waiting} packets wait for an acknowledgement");
        }
        let timer = (waiting > 0 && draws.uniform() < 0.2).then(|| receiver.on_timer(now));
        if timer.is_some() {
            waiting = 0;
        }
        assert!(receiver.window().is_none_or(|window| window.0 > 0), "{about}: advertises a window of nothing");
        heard.push(format!("{notice:?} {reply:?} {timer:?} {:?}", receiver.window()));
    }
    heard
}

#[test]
fn every_receiver_acknowledges_and_lives_any_life_twice_alike() {
    for acks_every in [1, 2, 16] {
        for row in ALGORITHMS {
            let owes = [TCP, RATED].contains(row.transport);
            for seed in 0..SEEDS {
                let about = format!("{} of {}, seed {seed}, an ack for {acks_every}", row.receiver.name, row.name);
                let build = || (row.receiver.build)(&Values::defaults(row.parameters), acks_every);
                let lives = [(); 2].map(|()| receiver(build(), acks_every, owes, seed, &about));
                assert_eq!(lives[0], lives[1], "{about}");
            }
        }
        for row in SUBSTITUTES {
            for (what, values) in ends(row.parameters) {
                for seed in 0..SEEDS {
                    let about = format!("{}, seed {seed}, {what}, an ack for {acks_every}", row.name);
                    let lives =
                        [(); 2].map(|()| receiver((row.build)(&values, acks_every), acks_every, true, seed, &about));
                    assert_eq!(lives[0], lives[1], "{about}");
                }
            }
        }
    }
}

/// One life of a flow's credits over a path that loses some: its grants.
fn credits(row: &shallows_cc::catalog::Algorithm, values: &Values, seed: u64, about: &str) -> Vec<(u64, Time)> {
    let shaper = CreditShaper::new(values, FRAME);
    let build = row.credits.expect("a row with credits");
    let mut credits = build(values, &CreditPath { now: Time::ZERO, line_rate: LINE_RATE, shaper });
    let mut draws = Rng::new(seed, 3);
    let rtt = Time::from_micros(5 + below(&mut draws, 500));
    let (mut now, mut on_the_way, mut grants) = (Time::ZERO, Vec::new(), Vec::new());
    for number in 0..EVENTS {
        on_the_way.retain(|&(due, answered)| {
            if due <= now {
                credits.on_data(due, &answered);
            }
            due > now
        });
        let grant = credits.grant(now, [draws.uniform(), draws.uniform()]);
        assert_eq!(grant.number, u64::from(number), "{about}: numbers have a gap");
        assert!(grant.next > now, "{about}: the next credit is due at once, for ever");
        assert!(
            grant.size >= MIN_FRAME && grant.size.0 <= shaper.credit.0 + 64,
            "{about}: a credit of {:?}",
            grant.size
        );
        credits.probe(&mut |name, value| assert!(value.is_finite(), "{about}: {name} is {value}"));
        if draws.uniform() < 0.7 {
            on_the_way.push((now + rtt, CreditEcho { number: grant.number, granted_at: now }));
        }
        grants.push((grant.size.0, grant.next - now));
        now = grant.next;
    }
    grants
}

#[test]
fn every_algorithm_with_credits_lives_any_life_twice_alike() {
    let rows: Vec<_> = ALGORITHMS.iter().filter(|row| row.credits.is_some()).collect();
    assert!(!rows.is_empty());
    for row in rows {
        for (what, values) in ends(row.parameters) {
            for seed in 0..SEEDS {
                let about = format!("{} seed {seed}, {what}", row.name);
                assert_eq!(credits(row, &values, seed, &about), credits(row, &values, seed, &about), "{about}");
            }
        }
    }
}
