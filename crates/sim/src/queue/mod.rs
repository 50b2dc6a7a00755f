//! Pending events and timers, in a total order.

mod calendar;
pub mod event_queue;
mod heap;
pub(crate) mod timers;
