//! Pending events and timers, in a total order.

pub mod calendar;
pub mod event_queue;
pub mod heap;
pub(crate) mod timers;
