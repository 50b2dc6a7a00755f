//! Ports with several traffic classes against queueing theory and their weights.

use shallows_cc::port::Ecn;
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{
    ClassOf, ClassReport, ClassSpec, Discipline, Header, Incoming, PACKET_KINDS, Packet, Port, PortSpec, Slab,
};

/// A port with a class for the data of each traffic class; those with a quantum share what the others leave.
struct Link {
    port: Port,
    packets: Slab,
    next_delivery: Time,
}

impl Link {
    fn new(rate: Rate, quanta: &[Option<u64>]) -> Self {
        let class = |&quantum: &Option<u64>| ClassSpec { quantum: quantum.map(Bytes), ..ClassSpec::OPEN };
        let of = |class: usize| ClassOf([class as u8; PACKET_KINDS.len()]);
        let discipline = Discipline::new(quanta.iter().map(class).collect(), (0..quanta.len()).map(of).collect());
        let (delay, buffer) = (Time::from_micros(1), Bytes::MAX);
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer, marking: None, discipline: Some(0) };
        let port = Port::new(&spec, Bytes(1500)).scheduled(&discipline, Rng::new(1, 0));
        Self { port, packets: Slab::default(), next_delivery: Time::MAX }
    }

    /// Begins to send what is due up to `now`, and takes what has arrived off the link.
    fn advance(&mut self, now: Time) {
        while self.port.busy_until() <= now && self.port.is_due(self.port.busy_until()) {
            let sent = self.port.dispatch(self.port.busy_until(), &mut self.packets).expect("a class may send");
            self.next_delivery = sent.arrives.unwrap_or(self.next_delivery);
        }
        while self.next_delivery <= now {
            self.packets.remove(self.port.link.deliver(self.next_delivery, &self.packets));
            self.next_delivery = self.port.link.first_arrival(&self.packets).unwrap_or(Time::MAX);
        }
    }

    fn offer(&mut self, now: Time, class: usize, length: u64) {
        let mut packet = Packet::new(0, Bytes(length), Ecn::NotEct, &Header::Bare);
        packet.flags = packet.flags.with_class(class as u8);
        let at = Incoming::local(self.packets.insert(packet, Header::Bare));
        let sent = self.port.send_if_idle(now, at, &mut self.packets);
        let enqueued = sent.unwrap_or_else(|| self.port.enqueue(now, at, &mut self.packets));
        self.next_delivery = enqueued.arrives.unwrap_or(self.next_delivery);
    }

    fn report(mut self, now: Time) -> Vec<ClassReport> {
        self.port.report(now, now, self.port.carried(), &self.packets).classes
    }
}

/// Mean waits by class, in packet times, of Poisson streams with these loads.
fn waits(rate: Rate, loads: &[f64], arrivals: usize) -> Vec<f64> {
    let mut link = Link::new(rate, &vec![None; loads.len()]);
    let (mut draws, packet_time) = (Rng::new(7, 0), rate.time_to_send(Bytes(1500)));
    let total: f64 = loads.iter().sum();
    let mut now = Time::ZERO;
    for _ in 0..arrivals {
        now += packet_time.scale(-(1.0 - draws.uniform()).ln() / total);
        link.advance(now);
        let mut at = draws.uniform() * total;
        let class = loads.iter().position(|load| {
            at -= load;
            at < 0.0
        });
        link.offer(now, class.unwrap_or(loads.len() - 1), 1500);
    }
    now += packet_time * 1_000_000;
    link.advance(now);
    let wait = |class: &ClassReport| class.sojourn as f64 / class.sent as f64 / packet_time.0 as f64 - 1.0;
    link.report(now).iter().map(wait).collect()
}

/// Cobham 1954: with fixed service times S and loads rho, class k waits W0 / ((1 - sigma(k - 1)) (1 - sigma(k))), where
/// W0 = rho S / 2 is the rest of the packet in transmission and sigma(k) is the load of the classes up to k.
#[test]
fn strict_priority_waits_as_cobham_says() {
    let cases: [(u64, &[f64]); 4] = [
        (100_000_000, &[0.3, 0.4]),
        (10_000_000_000, &[0.1, 0.2, 0.2, 0.25]),
        (1_600_000_000_000, &[0.1; 8]),
        (400_000_000_000, &[0.05, 0.2, 0.02, 0.13, 0.1, 0.1, 0.1, 0.05]),
    ];
    for (rate, loads) in cases {
        let found = waits(Rate(rate), loads, 3_000_000);
        let (rest, mut before) = (loads.iter().sum::<f64>() / 2.0, 0.0);
        for (class, (wait, load)) in found.iter().zip(loads).enumerate() {
            let due = rest / ((1.0 - before) * (1.0 - before - load));
            before += load;
            assert!((wait / due - 1.0).abs() < 0.02, "{rate} bit/s, {loads:?}, class {class}: {wait}, not {due}");
        }
    }
}

/// Shares of classes that never run empty, by bytes, from the time at which the last of them joins.
fn shares(rate: Rate, quanta: &[u64], lengths: &[&[u64]], joins_late: bool) -> Vec<f64> {
    let mut link = Link::new(rate, &quanta.iter().map(|&quantum| Some(quantum)).collect::<Vec<_>>());
    let mut draws = Rng::new(3, 0);
    let mut now = Time::ZERO;
    let steps = 400_000;
    let mut waiting = vec![0; quanta.len()];
    for step in 0..steps {
        if step == steps / 4 {
            link.port.end_warmup(now, 0);
        }
        for class in 0..quanta.len() {
            let joined = !joins_late || class > 0 || step >= steps / 8;
            while joined && waiting[class] < 3 {
                let length = lengths[class][(draws.uniform() * lengths[class].len() as f64) as usize];
                link.offer(now, class, length);
                waiting[class] += 1;
            }
        }
        now = link.port.busy_until();
        link.advance(now);
        waiting.fill(0);
        link.port.waiting(&link.packets).for_each(|packet| waiting[usize::from(packet.class)] += 1);
    }
    let sent: Vec<f64> = link.report(now).iter().map(|class| class.sent_bytes.0 as f64).collect();
    let total: f64 = sent.iter().sum();
    sent.iter().map(|bytes| bytes / total).collect()
}

/// Shreedhar and Varghese 1995: the shares of backlogged classes are their weights, whatever the lengths of their frames, at any rate
/// and after a late join.
#[test]
fn weighted_classes_share_the_link_by_bytes() {
    let mixed: &[u64] = &[64, 577, 1500, 9000];
    let cases: [(&[u64], &[&[u64]]); 6] = [
        (&[1, 1], &[&[64], &[64]]),
        (&[3, 2], &[&[1500], &[1500]]),
        (&[1, 4], &[&[9000], &[9000]]),
        (&[3, 1], &[&[64], &[9000]]),
        (&[5, 3, 2], &[mixed, &[64], mixed]),
        (&[1, 1, 2, 3, 1, 4, 2, 6], &[mixed, &[64], &[1500], &[9000], mixed, &[9000, 64], &[1500, 64], mixed]),
    ];
    for (rate, late) in [(100_000_000, false), (1_600_000_000_000, true), (10_000_000_000, true)] {
        for (weights, lengths) in cases {
            let quanta: Vec<u64> = weights.iter().map(|weight| weight * 9000).collect();
            let whole: u64 = weights.iter().sum();
            for (share, weight) in shares(Rate(rate), &quanta, lengths, late).into_iter().zip(weights) {
                let due = *weight as f64 / whole as f64;
                assert!((share / due - 1.0).abs() < 0.01, "{rate} bit/s, {weights:?}, {lengths:?}: {share}, not {due}");
            }
        }
    }
}
