//! The functions and types of `shallows.h`.

#![allow(unsafe_code, reason = "pointers of the caller, which C cannot describe otherwise")]
#![allow(clippy::missing_safety_doc, reason = "each description is that of the header; null is an error")]

use std::ffi::{CStr, c_char};

use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Advance, Completion, FlowObservation, FlowSpec, LinkObservation};

use crate::error;
use crate::network::{self, Open, with};

constants! {
    /// The start of a message that is sent at once.
    SHALLOWS_NOW: u64 = u64::MAX, "UINT64_MAX";
    /// The size of a message that never ends.
    SHALLOWS_UNLIMITED: u64 = u64::MAX, "UINT64_MAX";
    /// The clock is at the time that was asked for.
    SHALLOWS_REACHED: i32 = 0, "0";
    /// A message has arrived whole; the clock is 1 ps later.
    SHALLOWS_COMPLETION: i32 = 1, "1";
    /// The run has ended: its duration is over, or packets fill the memory.
    SHALLOWS_ENDED: i32 = 2, "2";
}

structs! {
    /// A message: bytes from one host to another.
    struct Message = "shallows_message" {
        /// The host that sends. Hosts are numbered as in the scenario, from 0.
        src: u32,
        /// Another host, which receives.
        dst: u32,
        /// Bytes, 1 or more, or SHALLOWS_UNLIMITED.
        bytes: u64,
        /// When it is sent, in picoseconds: the clock or later, or SHALLOWS_NOW.
        start_ps: u64,
        /// Its algorithm, by its number in the request file; `shallows request` prints them.
        algorithm: u32,
        /// Its traffic class, by its number in the request file.
        traffic_class: u32,
    }

    /// The end of a message.
    struct End = "shallows_completion" {
        /// When, in picoseconds.
        time_ps: u64,
        /// The number of the message.
        message: u32,
        /// 0: all bytes have arrived at the receiver. 1: the sender knows that.
        at_sender: u32,
    }

    /// A link at the clock.
    struct Link = "shallows_link_state" {
        /// Bytes in the queue of its port, the rest of a frame that is being sent included.
        queue_bytes: u64,
        /// Packets that have arrived at its end so far.
        delivered: u64,
        /// Packets that its port has dropped so far.
        dropped: u64,
        /// Packets that faults of the link have lost so far.
        lost: u64,
    }

    /// What a message has done since it was last observed.
    struct Progress = "shallows_progress" {
        /// Bytes that have arrived at the receiver, each counted once.
        delivered_bytes: u64,
        /// Acknowledgements that the sender has received.
        acks: u64,
        /// The mean of its smoothed round-trip time over them, in picoseconds; 0 without any.
        srtt_ps: u64,
        /// Packets sent again.
        retransmits: u64,
        /// Retransmission timeouts.
        timeouts: u64,
        /// The number of the message.
        message: u32,
        /// 1 once all bytes have arrived.
        finished: u32,
    }

    /// The result of a whole run.
    struct Outcome = "shallows_result" {
        /// A hash of everything that happened: that of `shallows run` for the same messages and the same end.
        fingerprint: u64,
        /// When the run ended, in picoseconds.
        ended_ps: u64,
        /// Packets received over one link.
        packet_hops: u64,
    }
}

functions! {
    /// Opens the network of a file that `shallows request` has written, at time 0. Returns its number, or 0 on an error.
    fn shallows_open(file: *const c_char) -> u64 {
        let file = text(file, "file")?;
        let content = std::fs::read(file).map_err(|problem| format!("{file}: {problem}"))?;
        Ok(network::keep(Open::parse(&content).map_err(|problem| format!("{file}: {problem}"))?))
    }

    /// Closes a network. Its number is an error from then on.
    fn shallows_close(network: u64) -> i32 {
        network::close(network)?;
        Ok(0)
    }

    /// Sends messages, which are numbered in the order of the calls, and writes the number of the first of them. On an error none is sent.
    fn shallows_send(network: u64, messages: *const Message, count: size_t, first: *mut u32) -> i32 {
        let messages = slice(messages, count, "messages")?;
        let first = place(first, "first")?;
        *first = with(network, |network| {
            let clock = network.time();
            network.send(messages.iter().map(|message| message.spec(clock)).collect())
        })?;
        Ok(0)
    }

    /// Executes everything before a time in picoseconds, and nothing at that time. Returns SHALLOWS_REACHED or SHALLOWS_ENDED.
    fn shallows_advance_to(network: u64, time_ps: u64) -> i32 {
        with(network, |network| network.advance(Time(time_ps), false)).map(state)
    }

    /// Like shallows_advance_to, but stops behind the instant at which a message arrives whole, and returns SHALLOWS_COMPLETION then.
    fn shallows_advance_to_completion(network: u64, limit_ps: u64) -> i32 {
        with(network, |network| network.advance(Time(limit_ps), true)).map(state)
    }

    /// Writes at most `capacity` ends of messages that were not written before, in the order of time, and returns their number.
    /// Call it now and then: messages need memory until their ends were written.
    fn shallows_completions(network: u64, ends: *mut End, capacity: size_t) -> i64 {
        let ends = slice_mut(ends, capacity, "ends")?;
        with(network, |network| Ok(fill(ends, network.completions(capacity).map(End::from))))
    }

    /// Writes the clock in picoseconds, before which everything has happened, and nothing else.
    fn shallows_time(network: u64, time_ps: *mut u64) -> i32 {
        let time = place(time_ps, "time_ps")?;
        *time = with(network, |network| Ok(network.time().0))?;
        Ok(0)
    }

    /// Copies a network as it is now, with all packets under way. Both go on by themselves. Returns the number of the copy, or 0 on an
    /// error.
    fn shallows_fork(network: u64) -> u64 {
        let copy = with(network, |network| Ok(network.clone()))?;
        Ok(network::keep(copy))
    }

    /// Writes the number of a link by its name in Shallows, such as "h0->s0".
    fn shallows_link(network: u64, name: *const c_char, link: *mut u32) -> i32 {
        let (name, link) = (text(name, "name")?, place(link, "link")?);
        *link = with(network, |network| network.link(name))?;
        Ok(0)
    }

    /// Writes the states of `count` links.
    fn shallows_observe_links(network: u64, links: *const u32, count: size_t, states: *mut Link) -> i32 {
        let (links, states) = (slice(links, count, "links")?, slice_mut(states, count, "states")?);
        let seen = with(network, |network| network.links(links))?;
        fill(states, seen.into_iter().map(Link::from));
        Ok(0)
    }

    /// Observes all messages that have started and had not ended at the last observation. Writes at most `capacity` of them and returns
    /// their number; the next calls write the others, before another observation is made. A message may have several rows.
    fn shallows_observe_messages(network: u64, rows: *mut Progress, capacity: size_t) -> i64 {
        let rows = slice_mut(rows, capacity, "rows")?;
        with(network, |network| Ok(fill(rows, network.observations(capacity).map(Progress::from))))
    }

    /// Runs a network to its end without further messages, checks that all packets and bytes are accounted for, and closes it. The end is
    /// that of the scenario, or that of the last message if the scenario has none ("until-done").
    fn shallows_finish(network: u64, result: *mut Outcome) -> i32 {
        let result = place(result, "result")?;
        with(network, |network| network.check_end())?;
        let open = network::close(network)?.ok_or("unusable since a bug")?;
        let answer = open.finish();
        *result = Outcome {
            fingerprint: answer.fingerprint,
            ended_ps: answer.ended.0,
            packet_hops: answer.packet_hops,
        };
        if answer.problems.is_empty() { Ok(0) } else { Err(answer.problems.join("; ")) }
    }
}

/// Returns why the last call of this thread that failed did so, valid until its next call that fails. Empty if none has.
#[unsafe(no_mangle)]
pub extern "C" fn shallows_last_error() -> *const c_char {
    error::last()
}

#[allow(non_camel_case_types, reason = "as in the header")]
type size_t = usize;

impl Message {
    fn spec(&self, clock: Time) -> FlowSpec {
        let start = if self.start_ps == SHALLOWS_NOW { clock } else { Time(self.start_ps) };
        let (control, class) = (self.algorithm, self.traffic_class);
        FlowSpec { control, class, ..FlowSpec::new(self.src, self.dst, Bytes(self.bytes), start) }
    }
}

impl From<Completion> for End {
    fn from(one: Completion) -> Self {
        Self { time_ps: one.at.0, message: one.flow, at_sender: one.at_sender.into() }
    }
}

impl From<LinkObservation> for Link {
    fn from(one: LinkObservation) -> Self {
        Self { queue_bytes: one.queue.0, delivered: one.delivered, dropped: one.dropped, lost: one.lost }
    }
}

impl From<FlowObservation> for Progress {
    fn from(one: FlowObservation) -> Self {
        Self {
            delivered_bytes: one.delivered,
            acks: one.acks,
            srtt_ps: one.srtt.0,
            retransmits: one.retransmits,
            timeouts: one.timeouts,
            message: one.flow,
            finished: one.finished.into(),
        }
    }
}

fn state(advance: Advance) -> i32 {
    match advance {
        Advance::Reached => SHALLOWS_REACHED,
        Advance::Completion => SHALLOWS_COMPLETION,
        Advance::Ended => SHALLOWS_ENDED,
        Advance::Paused => unreachable!("there is no limit of events"),
    }
}

/// Writes rows into the first places; returns their number.
fn fill<T>(places: &mut [T], rows: impl Iterator<Item = T>) -> i64 {
    places.iter_mut().zip(rows).map(|(place, row)| *place = row).count() as i64
}

fn text<'a>(pointer: *const c_char, name: &str) -> Result<&'a str, String> {
    if pointer.is_null() {
        return Err(format!("{name}: expected a text, not a null pointer"));
    }
    // SAFETY: the caller promises a text that ends with a zero byte and stays as it is during the call.
    unsafe { CStr::from_ptr(pointer) }.to_str().map_err(|_| format!("{name}: expected UTF-8"))
}

fn place<'a, T>(pointer: *mut T, name: &str) -> Result<&'a mut T, String> {
    // SAFETY: the caller promises that it points to a value of this type, which no other thread uses during the call.
    unsafe { pointer.as_mut() }.ok_or_else(|| format!("{name}: expected an address for the result, not a null pointer"))
}

fn slice<'a, T>(pointer: *const T, count: usize, name: &str) -> Result<&'a [T], String> {
    check_array(pointer, count, name)?;
    // SAFETY: not null or without elements; the caller promises so many elements.
    Ok(if count == 0 { &[] } else { unsafe { std::slice::from_raw_parts(pointer, count) } })
}

fn slice_mut<'a, T>(pointer: *mut T, count: usize, name: &str) -> Result<&'a mut [T], String> {
    check_array(pointer, count, name)?;
    // SAFETY: as in `slice`, and no other thread uses them during the call.
    Ok(if count == 0 { &mut [] } else { unsafe { std::slice::from_raw_parts_mut(pointer, count) } })
}

fn check_array<T>(pointer: *const T, count: usize, name: &str) -> Result<(), String> {
    if pointer.is_null() && count > 0 {
        return Err(format!("{name}: expected {count} elements, not a null pointer"));
    }
    if count > isize::MAX as usize / size_of::<T>() {
        return Err(format!("{name}: {count} elements: expected what fits into memory"));
    }
    Ok(())
}
