//! TCP Inigo's receiver: the Rust twin and the C core, natively, as bytecode and in the kernel, decide the same on
//! random packets, in every field of their state.

#![allow(unsafe_code, reason = "C is called")]
#![allow(clippy::unwrap_used, reason = "a test")]

use shallows_cc::draws::Draws;
use shallows_cc::integer::inigo_receiver::{Data, InigoReceiver, Params};
use shallows_cc::parameter::Values;
use shallows_cc::receiver::inigo::PARAMETERS;
use shallows_live::steps::{InigoReceiverState, InigoReceiverStep, ReceiverData, ReceiverKind};

#[cfg(any(bytecode, feature = "bpf"))]
mod machines;

const TRACES: u64 = 400;
const EVENTS: u64 = 1500;
#[cfg(any(bytecode, feature = "bpf"))]
const STEP: &str = "inigo_receiver_step";

unsafe extern "C" {
    fn inigo_receiver_step(step: *mut InigoReceiverStep) -> u64;
}

fn native(step: &mut InigoReceiverStep) -> u64 {
    // SAFETY: the layout is that of bpf/steps.h, and the function keeps no pointer.
    unsafe { inigo_receiver_step(step) }
}

fn below(draws: &mut Draws, end: u64) -> u64 {
    draws.bits() % end
}

fn params(draws: &mut Draws) -> Params {
    let mut values = Values::defaults(PARAMETERS);
    values.set("mark", below(draws, 2) as f64).unwrap();
    values.set("threshold", [0.0, 0.17, 1.5][below(draws, 3) as usize]).unwrap();
    values.set("g", [0.0625, 0.5, 1.0][below(draws, 3) as usize]).unwrap();
    values.set("sub_window", [0.0, 1.0, 10.0][below(draws, 3) as usize]).unwrap();
    values.set("initial", 2.0 + below(draws, 20) as f64).unwrap();
    values.set("resolution", [1e-6, 1e-4, 1e-3][below(draws, 3) as usize]).unwrap();
    Params::new(&values).unwrap()
}

/// A connection's clocks and delays, random: ticks that wrap, queues that come and go, packets that overtake one another,
/// several in one, and now and then anything at all.
struct Trace {
    draws: Draws,
    now_us: u64,
    tick_us: u64,
    offset: u32,
    queue_us: u64,
}

impl Trace {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, 2);
        let offset = if seed.is_multiple_of(4) { 0_u32.wrapping_sub(500) } else { draws.bits() as u32 };
        let (now_us, tick_us) = (1_000_000 + seed * 1_000_003, 1);
        Self { draws, now_us, tick_us, offset, queue_us: 0 }
    }

    fn timestamp(&self, time_us: u64) -> u32 {
        self.offset.wrapping_add((time_us / self.tick_us) as u32)
    }

    fn data(&mut self) -> Data {
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
        let data = Data { now_us: self.now_us, sent, answers, payload, segment };
        if wild { Data { sent: anything.0, payload: anything.1, segment: anything.2, ..data } } else { data }
    }
}

/// How many packets there were, and after how many events the twin and `other` differed.
fn drive(mut other: impl FnMut(&mut InigoReceiverStep) -> u64) -> (u64, u64) {
    let (mut packets, mut late, mut mismatches) = (0, 0, 0);
    for seed in 0..TRACES {
        let mut trace = Trace::new(seed);
        let params = params(&mut trace.draws);
        trace.tick_us = params.tick_us.into();
        let mut twin = InigoReceiver::new(&params);
        let mut step = InigoReceiverStep {
            kind: ReceiverKind::Init,
            timestamp: 0,
            params: (&params).into(),
            data: ReceiverData::default(),
            state: InigoReceiverState::default(),
        };
        other(&mut step);
        for event in 0..EVENTS {
            let mut mark = false;
            if below(&mut trace.draws, 3) == 0 {
                let timestamp = trace.timestamp(trace.now_us);
                twin.on_ack(trace.now_us, timestamp);
                (step.kind, step.timestamp, step.data.now_us) = (ReceiverKind::Leaves, timestamp, trace.now_us);
            } else {
                let data = trace.data();
                packets += 1;
                mark = twin.on_data(&params, &data);
                late += u64::from(mark || twin.late > 0);
                (step.kind, step.data) = (ReceiverKind::Data, (&data).into());
            }
            // The kernel returns 32 bits, of which a caller sees the sign.
            let told = other(&mut step) as u32;
            let expected = InigoReceiverState::from(&twin);
            if told != twin.bytes() | u32::from(mark) << 31 || step.state != expected {
                if mismatches == 0 {
                    eprintln!("trace {seed} event {event}: twin {expected:?}, C {step:?}");
                }
                mismatches += 1;
            }
        }
    }
    assert!(late > packets / 20 && late < packets * 19 / 20, "{late} of {packets} packets in late rounds");
    (packets, mismatches)
}

fn assert_equal(other: impl FnMut(&mut InigoReceiverStep) -> u64) {
    let (packets, mismatches) = drive(other);
    assert!(packets >= 300_000, "{packets} packets are too few");
    assert_eq!(mismatches, 0, "of {packets} packets");
}

#[test]
fn inigos_receiver_in_rust_is_inigos_receiver_in_c() {
    assert_equal(native);
}

#[cfg(bytecode)]
#[test]
fn inigos_receiver_in_rust_is_inigos_receiver_in_bytecode() {
    assert_equal(machines::virtual_machine(STEP));
}

#[cfg(feature = "bpf")]
#[test]
#[ignore = "needs root"]
fn inigos_receiver_in_rust_is_inigos_receiver_in_the_kernel() {
    assert_equal(machines::kernel(STEP));
}
