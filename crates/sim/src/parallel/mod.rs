//! Conservative parallel simulation: domains advance in windows and exchange packets through mailboxes.

mod barrier;
mod inspection;
mod mailbox;
pub mod network;
pub(crate) mod partition;
mod pool;
pub mod run;
mod status;
mod sync;
mod window;
