//! One text, many machines: a C core compiled natively, as eBPF bytecode in a virtual machine and, with the feature `bpf`
//! as root, in the kernel's own decide the same on random traces, in every byte of their state.

#![allow(clippy::unwrap_used, reason = "a test")]
#![cfg(any(bytecode, feature = "bpf"))]

use shallows_cc::catalog::find;
use shallows_cc::parameter::Values;
use shallows_cc::rng::Rng;
use shallows_live::cores::{ACK, CoreAck, CoreLoss, DctcpStep, DxStep, InigoStep, LOSS, SenderStep};
use shallows_live::params;

mod machines;

const TRACES: u64 = 400;
const EVENTS: u64 = 1000;

/// A sender with random parameters.
trait Drawn: SenderStep {
    fn drawn(draws: &mut Rng) -> Self::Params;
}

impl Drawn for DctcpStep {
    fn drawn(draws: &mut Rng) -> Self::Params {
        let mut values = Values::defaults(find("dctcp").unwrap().parameters);
        values.set("g", [0.0625, 0.5, 1.0 / 1024.0, 1.0][below(draws, 4) as usize]).unwrap();
        values.set("alpha", draws.uniform()).unwrap();
        values.set("min_window", 1.0 + below(draws, 3) as f64).unwrap();
        params::dctcp(&values).unwrap()
    }
}

impl Drawn for DxStep {
    fn drawn(draws: &mut Rng) -> Self::Params {
        let mut values = Values::defaults(find("dx").unwrap().parameters);
        values.set("headroom", below(draws, 3) as f64 * 5e-6).unwrap();
        params::dx(&values).unwrap()
    }
}

impl Drawn for InigoStep {
    fn drawn(draws: &mut Rng) -> Self::Params {
        let mut values = Values::defaults(find("inigo").unwrap().parameters);
        values.set("threshold", [0.0, 0.17, 1.5][below(draws, 3) as usize]).unwrap();
        values.set("alpha", draws.uniform()).unwrap();
        values.set("sub_window", [0.0, 1.0, 3.0, 10.0][below(draws, 4) as usize]).unwrap();
        values.set("increase", 1.0 + draws.uniform()).unwrap();
        values.set("dilation", below(draws, 2) as f64).unwrap();
        params::inigo(&values).unwrap()
    }
}

fn below(draws: &mut Rng, end: u64) -> u64 {
    draws.bits() % end
}

/// A flow's clock and network, random: round trips from 20 us to 20 ms, clocks that wrap, stretched acks, marks,
/// losses, and now and then anything at all.
struct Trace {
    draws: Rng,
    now_us: u64,
    rtt_us: u64,
    clock_offset: u32,
}

impl Trace {
    fn new(seed: u64) -> Self {
        let mut draws = Rng::new(seed, 1);
        let rtt_us = 20 + below(&mut draws, 1 << (5 + seed % 10));
        let clock_offset = draws.bits() as u32;
        Self { draws, now_us: seed * 1_000_003, rtt_us, clock_offset }
    }

    /// An acknowledgement or a loss.
    fn event(&mut self) -> (u32, CoreAck, CoreLoss) {
        let draws = &mut self.draws;
        self.now_us += below(draws, self.rtt_us / 4 + 2);
        let in_flight = below(draws, 500) as u32;
        if below(draws, 100) == 0 {
            let timeout = below(draws, 2) as u32;
            return (LOSS, CoreAck::default(), CoreLoss { now_us: self.now_us, in_flight, timeout });
        }
        let late_us = below(draws, 3) * below(draws, self.rtt_us);
        let acked = 1 + (below(draws, 4) * below(draws, 12)) as u32;
        let wild = below(draws, 200) == 0;
        let rtt_ns = ((self.rtt_us + late_us) * 1000 + below(draws, 1000)) as u32;
        let one_way_ns = self.clock_offset.wrapping_add(rtt_ns - self.rtt_us as u32 * 500);
        let ack = CoreAck {
            now_us: self.now_us,
            sent_us: self.now_us.saturating_sub(self.rtt_us + late_us),
            acked,
            marked: if below(draws, 3) == 0 { below(draws, u64::from(acked) + 1) as u32 } else { 0 },
            rtt_ns: if wild { draws.bits() as u32 } else { rtt_ns },
            one_way_ns: if wild { draws.bits() as u32 } else { one_way_ns },
            samples: below(draws, 3) as u32,
            round_trip_us: if below(draws, 4) == 0 { 0 } else { rtt_ns / 1000 },
            window_limited: (below(draws, 5) > 0).into(),
            recovering: (below(draws, 10) == 0).into(),
        };
        (ACK, ack, CoreLoss::default())
    }
}

/// Takes the same steps natively and on another machine.
fn assert_equal<S: Drawn>(mut other: impl FnMut(&mut S) -> u64) {
    let mut acks = 0;
    for seed in 0..TRACES {
        let mut trace = Trace::new(seed);
        let initial_window = 1 + below(&mut trace.draws, 20) as u32;
        let mut native = S::begin(S::drawn(&mut trace.draws), initial_window, seed);
        let mut step = native.clone();
        for event in 0..EVENTS {
            // The kernel returns 32 bits.
            assert_eq!(native.native() as u32, other(&mut step) as u32, "{} trace {seed} event {event}", S::NAME);
            assert_eq!(native, step, "{} trace {seed} event {event}", S::NAME);
            let (kind, ack, loss) = trace.event();
            acks += u64::from(kind == ACK);
            native.event(kind, ack, loss);
            step.event(kind, ack, loss);
        }
    }
    assert!(acks >= 300_000, "{acks} acks are too few");
}

#[cfg(bytecode)]
mod bytecode {
    use super::machines::virtual_machine;
    use super::*;

    #[test]
    fn dctcp_is_the_same_in_bytecode() {
        assert_equal(virtual_machine::<DctcpStep>());
    }

    #[test]
    fn dx_is_the_same_in_bytecode() {
        assert_equal(virtual_machine::<DxStep>());
    }

    #[test]
    fn inigo_is_the_same_in_bytecode() {
        assert_equal(virtual_machine::<InigoStep>());
    }
}

#[cfg(feature = "bpf")]
mod kernel {
    use super::machines::kernel;
    use super::*;

    #[test]
    #[ignore = "needs root"]
    fn dctcp_is_the_same_in_the_kernel() {
        assert_equal(kernel::<DctcpStep>());
    }

    #[test]
    #[ignore = "needs root"]
    fn dx_is_the_same_in_the_kernel() {
        assert_equal(kernel::<DxStep>());
    }

    #[test]
    #[ignore = "needs root"]
    fn inigo_is_the_same_in_the_kernel() {
        assert_equal(kernel::<InigoStep>());
    }
}
