//! The C cores of `bpf/`, called natively. `build/bind.rs` generates their structures from the C headers.

#![allow(unsafe_code, reason = "C is called")]

use std::fmt::Debug;

use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

include!(concat!(env!("OUT_DIR"), "/cores.rs"));

/// One packet of window.
pub const PACKET: u64 = 65_536;
/// The step at the start of a flow.
pub const INIT: u32 = 0;
/// An acknowledgement arrives; at a receiver, a packet.
pub const ACK: u32 = 1;
/// A loss is detected; at a receiver, an acknowledgement leaves.
pub const LOSS: u32 = 2;

/// The memory of one step of a core.
pub trait Step: Clone + Debug + PartialEq + FromBytes + IntoBytes + Immutable + KnownLayout {
    /// Name of the C function.
    const NAME: &'static str;

    /// Calls the step natively and returns its result.
    fn native(&mut self) -> u64;
}

/// The step of a sender.
pub trait SenderStep: Step {
    /// The parameters of the algorithm.
    type Params: Copy + IntoBytes + Immutable;

    /// The state of a new flow.
    fn begin(params: Self::Params, initial_window: u32, seed: u64) -> Self;

    /// Sets the event of the next step.
    fn event(&mut self, kind: u32, ack: CoreAck, loss: CoreLoss);

    /// The exact window, not rounded to whole packets.
    fn window(&self) -> CoreWindow;
}

macro_rules! step {
    ($step:ident, $function:ident, $size:ident) => {
        impl Step for $step {
            const NAME: &'static str = stringify!($function);

            fn native(&mut self) -> u64 {
                unsafe extern "C" {
                    fn $function(step: *mut $step) -> u64;
                    static $size: u64;
                }
                // SAFETY: a constant. The structure has no padding here (`IntoBytes`), and so none in C either where
                // it is as long there; its fields are those of C, in their order.
                assert_eq!(unsafe { $size }, size_of::<$step>() as u64, "{} as C has it", Self::NAME);
                // SAFETY: the function works within the structure and keeps no pointer.
                unsafe { $function(self) }
            }
        }
    };
}

macro_rules! sender {
    ($step:ident, $params:ident, $function:ident, $size:ident) => {
        step!($step, $function, $size);

        impl SenderStep for $step {
            type Params = $params;

            fn begin(params: $params, initial_window: u32, seed: u64) -> Self {
                Self { kind: INIT, params, initial_window, seed, ..Self::default() }
            }

            fn event(&mut self, kind: u32, ack: CoreAck, loss: CoreLoss) {
                (self.kind, self.ack, self.loss) = (kind, ack, loss);
            }

            fn window(&self) -> CoreWindow {
                self.state.window
            }
        }
    };
}

sender!(DctcpStep, DctcpParams, dctcp_step, dctcp_step_size);
sender!(DxStep, DxParams, dx_step, dx_step_size);
sender!(InigoStep, InigoParams, inigo_step, inigo_step_size);
step!(InigoReceiverStep, inigo_receiver_step, inigo_receiver_step_size);
