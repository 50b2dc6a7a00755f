//! Conservative parallel simulation: domains advance in windows and exchange packets through mailboxes.

mod affinity;
mod barrier;
mod mailbox;
pub mod network;
pub mod partition;
mod status;
mod sync;
