//! The memory that one step of a C core works on (`bpf/steps.h`), field by field.

use shallows_cc::event::LossKind;
use shallows_cc::integer::{self, dctcp, dx, inigo, inigo_receiver};

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

/// `STEP_INIT`, `STEP_DATA`, `STEP_LEAVES`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ReceiverKind {
    /// The flow begins.
    Init,
    /// A packet arrives.
    Data,
    /// An acknowledgement leaves.
    Leaves,
}

/// The memory of one step of a receiver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of bpf/steps.h")]
pub struct InigoReceiverStep {
    pub kind: ReceiverKind,
    pub timestamp: u32,
    pub params: InigoReceiverParams,
    pub data: ReceiverData,
    pub state: InigoReceiverState,
}

/// `struct inigo_receiver_params`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of inigo_receiver::Params")]
pub struct InigoReceiverParams {
    pub threshold: u32,
    pub g: u32,
    pub sub_window: u32,
    pub initial: u32,
    pub tick_us: u32,
    pub mark: u32,
}

impl From<&inigo_receiver::Params> for InigoReceiverParams {
    fn from(params: &inigo_receiver::Params) -> Self {
        Self {
            threshold: params.threshold,
            g: params.g,
            sub_window: params.sub_window,
            initial: params.initial,
            tick_us: params.tick_us,
            mark: params.mark.into(),
        }
    }
}

/// `struct inigo_receiver_data`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of inigo_receiver::Data")]
pub struct ReceiverData {
    pub now_us: u64,
    pub sent: u32,
    pub answers: u32,
    pub payload: u32,
    pub segment: u32,
}

impl From<&inigo_receiver::Data> for ReceiverData {
    fn from(data: &inigo_receiver::Data) -> Self {
        let &inigo_receiver::Data { now_us, sent, answers, payload, segment } = data;
        Self { now_us, sent, answers, payload, segment }
    }
}

/// `struct inigo_receiver_state`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
#[allow(missing_docs, reason = "the fields of inigo_receiver::InigoReceiver")]
pub struct InigoReceiverState {
    pub window: u64,
    pub since_answer: u64,
    pub bytes: u64,
    pub late: u64,
    pub arrived_us: u64,
    pub compared_us: u64,
    pub asked_us: u64,
    pub total_us: i64,
    pub compared: u32,
    pub begun: u32,
    pub unsure_us: u32,
    pub asked: u32,
    pub asking: u32,
    pub left: u32,
    pub rtt_min_us: u32,
    pub segment: u32,
    pub alpha: u32,
    pub late_since_answer: u32,
    pub slow_start: u32,
    pub used: u32,
}

impl From<&inigo_receiver::InigoReceiver> for InigoReceiverState {
    fn from(flow: &inigo_receiver::InigoReceiver) -> Self {
        Self {
            window: flow.window,
            since_answer: flow.since_answer,
            bytes: flow.bytes,
            late: flow.late,
            arrived_us: flow.arrived_us,
            compared_us: flow.compared_us,
            asked_us: flow.asked_us,
            total_us: flow.total_us,
            compared: flow.compared,
            begun: flow.begun.into(),
            unsure_us: flow.unsure_us,
            asked: flow.asked,
            asking: flow.asking.into(),
            left: flow.left,
            rtt_min_us: flow.rtt_min_us,
            segment: flow.segment,
            alpha: flow.alpha,
            late_since_answer: flow.late_since_answer.into(),
            slow_start: flow.slow_start.into(),
            used: flow.used.into(),
        }
    }
}

/// A step as the bytes that a machine works on. Only for the structures of this file: integers without padding.
#[allow(unsafe_code, reason = "a view of memory")]
pub fn bytes<S>(step: &mut S) -> &mut [u8] {
    // SAFETY: as many bytes as the structure has, which the borrow keeps others from.
    unsafe { std::slice::from_raw_parts_mut((&raw mut *step).cast(), size_of::<S>()) }
}
