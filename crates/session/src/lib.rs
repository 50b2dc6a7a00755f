//! A session over two streams: another program opens a network, injects flows, and advances it.
//!
//! The protocol is `simllm-htsim-flow-session-v1`, which SimLLM froze in its `examples/persistent_session_v1/expectations.md`: frames with a
//! length, each a canonical JSON object (`frame`), with the verbs open, inject, advance, drain and close (`session`). docs/flow-session.md has
//! the fields. An error ends a session; the server then refuses whole frames until its input ends.

mod frame;
mod request;
mod session;

use std::io::{self, Read, Write};

use shallows_sim::Network;

use crate::frame::Frame;
use crate::request::Refusal;
use crate::session::Session;

/// Finds the network of a profile for a seed and, if it can have it, a number of hosts; none if there is no such profile.
pub type Open<'a> = dyn FnMut(&str, u64, u64) -> Result<Option<Network>, String> + 'a;

/// Serves one session, until its input ends. Whether the client closed it in order.
///
/// # Errors
/// The streams cannot be read or written.
pub fn serve(input: &mut dyn Read, output: &mut dyn Write, open: &mut Open<'_>) -> io::Result<bool> {
    let mut session = Session::new(open);
    loop {
        let answer = match frame::read(input)? {
            Frame::Body(body) => session.answer(&body),
            Frame::End => return Ok(session.is_closed()),
            Frame::Broken(reason) => session.refuse(&reason),
            Frame::TooLong(length) => session.refuse(&Refusal::new(
                "oversized_frame",
                format!("a frame of {length} B: expected at most {} B", frame::LONGEST),
            )),
        };
        frame::write(output, &answer)?;
        if session.lost_its_place() {
            return Ok(false);
        }
    }
}
