//! Where queueing theory has an answer, the simulator gives it.

use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Header, Incoming, Packet, Port, PortSpec, Slab};

const FRAME: Bytes = Bytes(1500);
const RATE: Rate = Rate::from_gbps(10);

/// Uniform draws in (0, 1]: a 64-bit linear congruential generator, upper bits (Knuth's constants).
struct Rng(u64);

impl Rng {
    fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }
}

/// Mean waits, in packet times, of `batches` batches of packets that arrive as a Poisson stream.
fn waits(load: f64, batches: usize, packets_a_batch: usize) -> Vec<f64> {
    let spec = PortSpec {
        from: 0,
        to: 1,
        rate: RATE,
        delay: Time::from_micros(1),
        buffer: Bytes::MAX,
        marking: None,
        discipline: None,
    };
    let mut port = Port::new(&spec, FRAME);
    let mut packets = Slab::default();
    let mut draws = Rng(1);
    let packet_time = RATE.time_to_send(FRAME);
    let mut now = Time::ZERO;
    let mut next_delivery = Time::MAX;
    let mut batch = || {
        let mut waited = Time::ZERO;
        for _ in 0..packets_a_batch {
            now += packet_time.scale(-draws.next().ln() / load);
            while next_delivery <= now {
                packets.remove(port.link.deliver(next_delivery, &packets));
                next_delivery = port.link.first_arrival(&packets).unwrap_or(Time::MAX);
            }
            waited += port.busy_until().saturating_sub(now);
            let at = packets.insert(Packet::new(0, FRAME, Ecn::NotEct, &Header::Bare), Header::Bare);
            if let Some(arrives) = port.enqueue(now, Incoming::local(at), &mut packets).arrives {
                next_delivery = arrives;
            }
        }
        waited / packet_time / packets_a_batch as f64
    };
    (0..batches).map(|_| batch()).collect()
}

/// The Pollaczek-Khinchine mean of M/D/1: load / (2 (1 - load)) packet times.
#[test]
fn poisson_arrivals_wait_as_long_as_m_d_1_says() {
    for load in [0.5, 0.8, 0.9] {
        let waits = waits(load, 40, 300_000);
        let n = waits.len() as f64;
        let mean = waits.iter().sum::<f64>() / n;
        let variance = waits.iter().map(|w| (w - mean) * (w - mean)).sum::<f64>() / (n - 1.0);
        let half_width = 2.02 * (variance / n).sqrt();
        let theory = load / (2.0 * (1.0 - load));
        println!("load {load}: waits {mean:.4} packet times, 95 % within {half_width:.4}; M/D/1: {theory:.4}");
        assert!(half_width < 0.02 * theory, "load {load}: interval of {half_width} is too wide to tell");
        assert!((mean - theory).abs() < 0.02 * theory, "load {load}: waits {mean}, M/D/1 says {theory}");
    }
}
