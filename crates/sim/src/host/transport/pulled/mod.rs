//! A transport in which every packet is answered by itself and order means nothing: its first window leaves unsolicited, at the
//! rate of the link; then every packet is pulled by a pull of the receiver, which paces them for all its flows together
//! ([`crate::host::pull_pacer`]).
//!
//! What comes whole is acknowledged, what comes cut to its header is asked for again; either earns its flow a pull, which may
//! call what is missing before what is new. The answer itself is that pull while nobody else waits for a turn. A header that
//! no port had room for comes back to its sender. That keeps it for the next pull, unless no pull is to be expected: then it
//! leaves at once.
//!
//! PullPacer are counted from the first on, so that one makes up for those before it that were lost. What is not answered at
//! all for the initial retransmission timeout, doubled each time, is sent again unsolicited; a receiver that has pulled and
//! hears nothing for as long says again how many it has pulled.

mod receive;
mod send;

pub use receive::Receiving;
pub use send::Sending;
