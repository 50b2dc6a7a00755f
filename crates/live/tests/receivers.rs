//! TCP Inigo's receiver: the C core compiled natively, as eBPF bytecode in a virtual machine and, with the feature `bpf` as
//! root, in the kernel decide the same on random packets, in every byte of their state.

#![allow(clippy::unwrap_used, reason = "a test")]
#![cfg(any(bytecode, feature = "bpf"))]

use shallows_cc::parameter::Values;
use shallows_cc::receiver::inigo::PARAMETERS;
use shallows_cc::rng::Rng;
use shallows_live::cores::{ACK, InigoReceiverData, InigoReceiverParams, InigoReceiverStep, LOSS, Step};
use shallows_live::params;

mod machines;

const TRACES: u64 = 400;
const EVENTS: u64 = 1500;

fn below(draws: &mut Rng, end: u64) -> u64 {
    draws.bits() % end
}

fn drawn(draws: &mut Rng) -> InigoReceiverParams {
    let mut values = Values::defaults(PARAMETERS);
    values.set("mark", below(draws, 2) as f64).unwrap();
    values.set("threshold", [0.0, 0.17, 1.5][below(draws, 3) as usize]).unwrap();
    values.set("g", [0.0625, 0.5, 1.0][below(draws, 3) as usize]).unwrap();
    values.set("sub_window", [0.0, 1.0, 10.0][below(draws, 3) as usize]).unwrap();
    values.set("initial", 2.0 + below(draws, 20) as f64).unwrap();
    values.set("resolution", [1e-6, 1e-4, 1e-3][below(draws, 3) as usize]).unwrap();
    params::inigo_receiver(&values).unwrap()
}

/// A connection's clocks and delays, random: ticks that wrap, queues that come and go, packets that overtake one another,
/// several in one, and now and then anything at all.
struct Trace {
    draws: Rng,
    now_us: u64,
    tick_us: u64,
    offset: u32,
    queue_us: u64,
}

impl Trace {
    fn new(seed: u64) -> Self {
        let mut draws = Rng::new(seed, 2);
        let offset = if seed.is_multiple_of(4) { 0_u32.wrapping_sub(500) } else { draws.bits() as u32 };
        let (now_us, tick_us) = (1_000_000 + seed * 1_000_003, 1);
        Self { draws, now_us, tick_us, offset, queue_us: 0 }
    }

    fn timestamp(&self, time_us: u64) -> u32 {
        self.offset.wrapping_add((time_us / self.tick_us) as u32)
    }

    fn data(&mut self) -> InigoReceiverData {
        let draws = &mut self.draws;
        self.now_us += below(draws, 300);
        self.queue_us = (self.queue_us + below(draws, 200)).saturating_sub(below(draws, 205)).min(20_000);
        let overtaken_us = if below(draws, 30) == 0 { below(draws, 3000) } else { 0 };
        let wild = below(draws, 200) == 0;
        let segment = 536 + below(draws, 2000) as u32;
        let payload = if below(draws, 20) == 0 { 0 } else { segment * (1 + below(draws, 20) as u32 / 15) };
        let anything = (draws.bits() as u32, draws.bits() as u32, draws.bits() as u32);
        let sent_us = self.now_us - 400 - self.queue_us - overtaken_us;
        let (sent, answers) = (self.timestamp(sent_us), self.timestamp(sent_us - 400));
        let data = InigoReceiverData { now_us: self.now_us, sent, answers, payload, segment };
        if wild {
            InigoReceiverData { sent: anything.0, payload: anything.1, segment: anything.2, ..data }
        } else {
            data
        }
    }
}

/// Takes the same steps natively and on another machine.
fn assert_equal(mut other: impl FnMut(&mut InigoReceiverStep) -> u64) {
    let (mut packets, mut late) = (0, 0);
    for seed in 0..TRACES {
        let mut trace = Trace::new(seed);
        let params = drawn(&mut trace.draws);
        trace.tick_us = params.tick_us.into();
        let mut native = InigoReceiverStep { params, ..InigoReceiverStep::default() };
        let mut step = native;
        for event in 0..EVENTS {
            // The kernel returns 32 bits, of which a caller sees the sign.
            let told = native.native() as u32;
            assert_eq!(told, other(&mut step) as u32, "trace {seed} event {event}");
            assert_eq!(native, step, "trace {seed} event {event}");
            late += u64::from(native.kind == ACK && (told >> 31 == 1 || native.state.late > 0));
            if below(&mut trace.draws, 3) == 0 {
                (native.kind, native.timestamp) = (LOSS, trace.timestamp(trace.now_us));
                native.data.now_us = trace.now_us;
            } else {
                (native.kind, native.data) = (ACK, trace.data());
                packets += 1;
            }
            step = native;
        }
    }
    assert!(packets >= 300_000, "{packets} packets are too few");
    assert!(late > packets / 20 && late < packets * 19 / 20, "{late} of {packets} packets in late rounds");
}

#[cfg(bytecode)]
#[test]
fn inigos_receiver_is_the_same_in_bytecode() {
    assert_equal(machines::virtual_machine());
}

#[cfg(feature = "bpf")]
#[test]
#[ignore = "needs root"]
fn inigos_receiver_is_the_same_in_the_kernel() {
    assert_equal(machines::kernel());
}
