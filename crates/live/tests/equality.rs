//! One algorithm, many builds: the Rust twin, the C core compiled natively, and the C core as eBPF bytecode in
//! a virtual machine decide the same on random traces, in every field of their state; with the feature `bpf`, as root,
//! the kernel's own machine too.

#![allow(unsafe_code, reason = "C is called")]
#![allow(clippy::unwrap_used, reason = "a test")]

use std::fmt::Debug;

use shallows_cc::catalog::find;
use shallows_cc::draws::Draws;
use shallows_cc::event::LossKind;
use shallows_cc::integer::dctcp::{self, Dctcp};
use shallows_cc::integer::dx::{self, Dx};
use shallows_cc::integer::inigo::{self, Inigo};
use shallows_cc::integer::{Ack, Loss};
use shallows_cc::parameter::Values;
use shallows_live::steps::{self, DctcpParams, DctcpState, DxParams, DxState, InigoParams, InigoState, Kind, Step};

#[cfg(any(bytecode, feature = "bpf"))]
mod machines;

const TRACES: u64 = 400;
const EVENTS: u64 = 1000;

unsafe extern "C" {
    fn dctcp_step(step: *mut Step<DctcpParams, DctcpState>) -> u64;
    fn dx_step(step: *mut Step<DxParams, DxState>) -> u64;
    fn inigo_step(step: *mut Step<InigoParams, InigoState>) -> u64;
}

/// A core that this file drives: the Rust twin, and the C function natively.
trait Core {
    /// Name of the C function.
    const STEP: &'static str;
    type Params: Copy + Debug + PartialEq;
    type State: Copy + Default + Debug + PartialEq;

    fn new(draws: &mut Draws, initial_window: u32, seed: u64) -> Self;
    fn params(&self) -> Self::Params;
    fn on_ack(&mut self, ack: &Ack);
    fn on_loss(&mut self, loss: &Loss);
    fn window(&self) -> u32;
    /// The state as C has it; what the twin keeps to itself comes from `c`.
    fn state(&self, c: &Self::State) -> Self::State;
    fn native(step: &mut Step<Self::Params, Self::State>) -> u64;
}

struct DctcpTwin(dctcp::Params, Dctcp);

impl Core for DctcpTwin {
    const STEP: &'static str = "dctcp_step";
    type Params = DctcpParams;
    type State = DctcpState;

    fn new(draws: &mut Draws, initial_window: u32, _seed: u64) -> Self {
        let mut values = Values::defaults(find("dctcp").unwrap().parameters);
        values.set("g", [0.0625, 0.5, 1.0 / 1024.0, 1.0][below(draws, 4) as usize]).unwrap();
        values.set("alpha", draws.uniform()).unwrap();
        values.set("min_window", 1.0 + below(draws, 3) as f64).unwrap();
        let params = dctcp::Params::new(&values);
        Self(params, Dctcp::new(&params, initial_window))
    }

    fn params(&self) -> DctcpParams {
        (&self.0).into()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.1.on_ack(&self.0, ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.1.on_loss(&self.0, loss);
    }

    fn window(&self) -> u32 {
        self.1.window.packets()
    }

    fn state(&self, c: &DctcpState) -> DctcpState {
        let flow = &self.1;
        DctcpState {
            window: steps::Window { size: flow.window.size, threshold: flow.window.threshold },
            round_us: flow.round_us,
            reduced_us: flow.reduced_us.unwrap_or(c.reduced_us),
            reduced: flow.reduced_us.is_some().into(),
            alpha: flow.alpha,
            acked: flow.acked,
            marked: flow.marked,
        }
    }

    fn native(step: &mut Step<DctcpParams, DctcpState>) -> u64 {
        // SAFETY: the layout is that of bpf/steps.h, and the function keeps no pointer.
        unsafe { dctcp_step(step) }
    }
}

struct DxTwin(dx::Params, Dx);

impl Core for DxTwin {
    const STEP: &'static str = "dx_step";
    type Params = DxParams;
    type State = DxState;

    fn new(draws: &mut Draws, initial_window: u32, seed: u64) -> Self {
        let params = dx::Params { headroom_ns: below(draws, 3) as u32 * 5000 };
        Self(params, Dx::new(initial_window, seed))
    }

    fn params(&self) -> DxParams {
        (&self.0).into()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.1.on_ack(&self.0, ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.1.on_loss(loss);
    }

    fn window(&self) -> u32 {
        self.1.packets()
    }

    fn state(&self, c: &DxState) -> DxState {
        let flow = &self.1;
        DxState {
            window: steps::Window { size: flow.window.size, threshold: flow.window.threshold },
            round_us: flow.round_us,
            answered_us: flow.answered_us,
            delay_sum: flow.delay_sum,
            reference: flow.reference,
            samples: flow.samples,
            base_rtt_ns: flow.base_rtt_ns,
            base_one_way_ns: flow.base_one_way_ns,
            queueing_ns: flow.queueing_ns,
            limited: flow.limited.into(),
            dither: flow.dither,
            unused: 0,
            draws: c.draws,
        }
    }

    fn native(step: &mut Step<DxParams, DxState>) -> u64 {
        // SAFETY: the layout is that of bpf/steps.h, and the function keeps no pointer.
        unsafe { dx_step(step) }
    }
}

struct InigoTwin(inigo::Params, Inigo);

impl Core for InigoTwin {
    const STEP: &'static str = "inigo_step";
    type Params = InigoParams;
    type State = InigoState;

    fn new(draws: &mut Draws, initial_window: u32, _seed: u64) -> Self {
        let mut values = Values::defaults(find("inigo").unwrap().parameters);
        values.set("threshold", [0.0, 0.17, 1.5][below(draws, 3) as usize]).unwrap();
        values.set("alpha", draws.uniform()).unwrap();
        values.set("sub_window", [0.0, 1.0, 3.0, 10.0][below(draws, 4) as usize]).unwrap();
        values.set("increase", 1.0 + draws.uniform()).unwrap();
        values.set("dilation", below(draws, 2) as f64).unwrap();
        let params = inigo::Params::new(&values).unwrap();
        Self(params, Inigo::new(&params, initial_window))
    }

    fn params(&self) -> InigoParams {
        (&self.0).into()
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.1.on_ack(&self.0, ack);
    }

    fn on_loss(&mut self, loss: &Loss) {
        self.1.on_loss(loss);
    }

    fn window(&self) -> u32 {
        self.1.window.packets()
    }

    fn state(&self, _c: &InigoState) -> InigoState {
        let flow = &self.1;
        InigoState {
            window: steps::Window { size: flow.window.size, threshold: flow.window.threshold },
            round_us: flow.round_us,
            since_answer: flow.since_answer,
            base_rtt_us: flow.base_rtt_us,
            smoothed_rtt_us: flow.smoothed_rtt_us,
            observed: flow.observed,
            late: flow.late,
            alpha: flow.alpha,
            acked: flow.acked,
            marked: flow.marked,
            marked_alpha: flow.marked_alpha,
            dilated: flow.dilated,
            undilated_us: flow.undilated_us,
        }
    }

    fn native(step: &mut Step<InigoParams, InigoState>) -> u64 {
        // SAFETY: the layout is that of bpf/steps.h, and the function keeps no pointer.
        unsafe { inigo_step(step) }
    }
}

fn below(draws: &mut Draws, end: u64) -> u64 {
    draws.bits() % end
}

/// A flow's clock and network, random: round trips from 20 us to 20 ms, clocks that wrap, stretched acks, marks,
/// losses, and now and then anything at all.
struct Trace {
    draws: Draws,
    now_us: u64,
    rtt_us: u64,
    clock_offset: u32,
}

enum Event {
    Ack(Ack),
    Loss(Loss),
}

impl Trace {
    fn new(seed: u64) -> Self {
        let mut draws = Draws::new(seed, 1);
        let rtt_us = 20 + below(&mut draws, 1 << (5 + seed % 10));
        let clock_offset = draws.bits() as u32;
        Self { draws, now_us: seed * 1_000_003, rtt_us, clock_offset }
    }

    fn event(&mut self) -> Event {
        let draws = &mut self.draws;
        self.now_us += below(draws, self.rtt_us / 4 + 2);
        let in_flight = below(draws, 500) as u32;
        if below(draws, 100) == 0 {
            let kind = [LossKind::FastRetransmit, LossKind::Timeout][below(draws, 2) as usize];
            return Event::Loss(Loss { now_us: self.now_us, in_flight, kind });
        }
        let late_us = below(draws, 3) * below(draws, self.rtt_us);
        let acked = 1 + (below(draws, 4) * below(draws, 12)) as u32;
        let wild = below(draws, 200) == 0;
        let rtt_ns = ((self.rtt_us + late_us) * 1000 + below(draws, 1000)) as u32;
        let one_way_ns = self.clock_offset.wrapping_add(rtt_ns - self.rtt_us as u32 * 500);
        Event::Ack(Ack {
            now_us: self.now_us,
            sent_us: self.now_us.saturating_sub(self.rtt_us + late_us),
            acked,
            marked: if below(draws, 3) == 0 { below(draws, u64::from(acked) + 1) as u32 } else { 0 },
            rtt_ns: if wild { draws.bits() as u32 } else { rtt_ns },
            one_way_ns: if wild { draws.bits() as u32 } else { one_way_ns },
            samples: below(draws, 3) as u32,
            round_trip_us: if below(draws, 4) == 0 { 0 } else { rtt_ns / 1000 },
            window_limited: below(draws, 5) > 0,
            recovering: below(draws, 10) == 0,
        })
    }
}

/// Drives the twin and `other` with the same events; gives how many acks there were and how many events left
/// the two in different states, and prints the first.
fn drive<C: Core>(mut other: impl FnMut(&mut Step<C::Params, C::State>) -> u64) -> (u64, u64) {
    let (mut acks, mut mismatches) = (0, 0);
    for seed in 0..TRACES {
        let mut trace = Trace::new(seed);
        let initial_window = 1 + below(&mut trace.draws, 20) as u32;
        let mut twin = C::new(&mut trace.draws, initial_window, seed);
        let mut step = Step {
            kind: Kind::Init,
            initial_window,
            seed,
            params: twin.params(),
            ack: steps::Ack::default(),
            loss: steps::Loss::default(),
            state: C::State::default(),
        };
        other(&mut step);
        for event in 0..EVENTS {
            match trace.event() {
                Event::Ack(ack) => {
                    acks += 1;
                    twin.on_ack(&ack);
                    (step.kind, step.ack) = (Kind::Ack, (&ack).into());
                }
                Event::Loss(loss) => {
                    twin.on_loss(&loss);
                    (step.kind, step.loss) = (Kind::Loss, (&loss).into());
                }
            }
            let window = other(&mut step);
            let expected = twin.state(&step.state);
            if window != u64::from(twin.window()) || step.state != expected {
                if mismatches == 0 {
                    eprintln!("{} trace {seed} event {event}: twin {expected:?}, C {step:?}", C::STEP);
                }
                mismatches += 1;
            }
        }
    }
    (acks, mismatches)
}

fn assert_equal<C: Core>(other: impl FnMut(&mut Step<C::Params, C::State>) -> u64) {
    let (acks, mismatches) = drive::<C>(other);
    assert!(acks >= 300_000, "{acks} acks are too few");
    assert_eq!(mismatches, 0, "of {acks} acks");
}

#[test]
fn dctcp_in_rust_is_dctcp_in_c() {
    assert_equal::<DctcpTwin>(DctcpTwin::native);
}

#[test]
fn dx_in_rust_is_dx_in_c() {
    assert_equal::<DxTwin>(DxTwin::native);
}

#[test]
fn inigo_in_rust_is_inigo_in_c() {
    assert_equal::<InigoTwin>(InigoTwin::native);
}

#[cfg(bytecode)]
mod bytecode {
    use super::machines::virtual_machine;
    use super::*;

    #[test]
    fn dctcp_in_rust_is_dctcp_in_bytecode() {
        assert_equal::<DctcpTwin>(virtual_machine(DctcpTwin::STEP));
    }

    #[test]
    fn dx_in_rust_is_dx_in_bytecode() {
        assert_equal::<DxTwin>(virtual_machine(DxTwin::STEP));
    }

    #[test]
    fn inigo_in_rust_is_inigo_in_bytecode() {
        assert_equal::<InigoTwin>(virtual_machine(InigoTwin::STEP));
    }
}

#[cfg(feature = "bpf")]
mod kernel {
    use super::machines::kernel;
    use super::*;

    #[test]
    #[ignore = "needs root"]
    fn dctcp_in_rust_is_dctcp_in_the_kernel() {
        assert_equal::<DctcpTwin>(kernel(DctcpTwin::STEP));
    }

    #[test]
    #[ignore = "needs root"]
    fn dx_in_rust_is_dx_in_the_kernel() {
        assert_equal::<DxTwin>(kernel(DxTwin::STEP));
    }

    #[test]
    #[ignore = "needs root"]
    fn inigo_in_rust_is_inigo_in_the_kernel() {
        assert_equal::<InigoTwin>(kernel(InigoTwin::STEP));
    }
}

#[cfg(not(bytecode))]
#[test]
#[ignore = "needs a clang with an eBPF target"]
fn bytecode() {}
