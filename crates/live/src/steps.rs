//! The memory that one step of a C core works on (`bpf/steps.h`), field by field.

use shallows_cc::event::LossKind;
use shallows_cc::integer::{self, dctcp, dx, inigo};

/// `STEP_INIT`, `STEP_ACK`, `STEP_LOSS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Kind {
    /// The flow begins.
    Init,
    /// An acknowledgement arrives.
    Ack,
    /// A loss is noticed.
    Loss,
}

/// `struct core_ack`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of integer::Ack")]
pub struct Ack {
    pub now_us: u64,
    pub sent_us: u64,
    pub acked: u32,
    pub marked: u32,
    pub rtt_ns: u32,
    pub one_way_ns: u32,
    pub samples: u32,
    pub round_trip_us: u32,
    pub window_limited: u32,
    pub recovering: u32,
}

impl From<&integer::Ack> for Ack {
    fn from(ack: &integer::Ack) -> Self {
        Self {
            now_us: ack.now_us,
            sent_us: ack.sent_us,
            acked: ack.acked,
            marked: ack.marked,
            rtt_ns: ack.rtt_ns,
            one_way_ns: ack.one_way_ns,
            samples: ack.samples,
            round_trip_us: ack.round_trip_us,
            window_limited: ack.window_limited.into(),
            recovering: ack.recovering.into(),
        }
    }
}

/// `struct core_loss`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of integer::Loss")]
pub struct Loss {
    pub now_us: u64,
    pub in_flight: u32,
    pub timeout: u32,
}

impl From<&integer::Loss> for Loss {
    fn from(loss: &integer::Loss) -> Self {
        let timeout = u32::from(loss.kind == LossKind::Timeout);
        Self { now_us: loss.now_us, in_flight: loss.in_flight, timeout }
    }
}

/// `struct core_window`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of integer::Window")]
pub struct Window {
    pub size: u64,
    pub threshold: u64,
}

/// The memory of one step of an algorithm with these parameters and this state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of bpf/steps.h")]
pub struct Step<P, S> {
    pub kind: Kind,
    pub initial_window: u32,
    pub seed: u64,
    pub params: P,
    pub ack: Ack,
    pub loss: Loss,
    pub state: S,
}

/// `struct dctcp_params`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of dctcp::Params")]
pub struct DctcpParams {
    pub g: u32,
    pub alpha: u32,
    pub min_window: u64,
}

impl From<&dctcp::Params> for DctcpParams {
    fn from(params: &dctcp::Params) -> Self {
        Self { g: params.g, alpha: params.alpha, min_window: params.min_window }
    }
}

/// `struct dctcp_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of dctcp::Dctcp")]
pub struct DctcpState {
    pub window: Window,
    pub round_us: u64,
    pub reduced_us: u64,
    pub reduced: u32,
    pub alpha: u32,
    pub acked: u32,
    pub marked: u32,
}

/// `struct dx_params`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of dx::Params")]
pub struct DxParams {
    pub headroom_ns: u32,
    pub unused: u32,
}

/// `struct dx_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of dx::Dx")]
pub struct DxState {
    pub window: Window,
    pub round_us: u64,
    pub answered_us: u64,
    pub delay_sum: i64,
    pub reference: u32,
    pub samples: u32,
    pub base_rtt_ns: u32,
    pub base_one_way_ns: u32,
    pub queueing_ns: u32,
    pub limited: u32,
    pub dither: u32,
    pub unused: u32,
    pub draws: u64,
}

impl From<&dx::Params> for DxParams {
    fn from(params: &dx::Params) -> Self {
        Self { headroom_ns: params.headroom_ns, unused: 0 }
    }
}

/// `struct inigo_params`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of inigo::Params")]
pub struct InigoParams {
    pub threshold: u32,
    pub g: u32,
    pub alpha: u32,
    pub least_alpha: u32,
    pub sub_window: u32,
    pub increase: u32,
    pub samples: u32,
    pub dilation: u32,
}

impl From<&inigo::Params> for InigoParams {
    fn from(params: &inigo::Params) -> Self {
        Self {
            threshold: params.threshold,
            g: params.g,
            alpha: params.alpha,
            least_alpha: params.least_alpha,
            sub_window: params.sub_window,
            increase: params.increase,
            samples: params.samples,
            dilation: params.dilation.into(),
        }
    }
}

/// `struct inigo_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of inigo::Inigo")]
pub struct InigoState {
    pub window: Window,
    pub round_us: u64,
    pub since_answer: u64,
    pub base_rtt_us: u32,
    pub smoothed_rtt_us: u32,
    pub observed: u32,
    pub late: u32,
    pub alpha: u32,
    pub acked: u32,
    pub marked: u32,
    pub marked_alpha: u32,
    pub dilated: u32,
    pub undilated_us: u32,
}
