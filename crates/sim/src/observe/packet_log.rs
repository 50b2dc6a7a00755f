//! Packet log: one line of text for each event of a packet or flow.

use std::io::Write;

use shallows_cc::units::Time;

use super::{Hop, Observer};
use crate::port::admission::DropReason;
use crate::port::admission::Outcome;

/// Writer of lines with the time in picoseconds, the event, the link and the packet, such as
/// `1200000 queued 3 flow 0 data 7 1500 B`.
#[derive(Debug)]
pub struct PacketLog<W> {
    to: W,
    /// First error of the writer; nothing is written after it.
    pub error: Option<std::io::Error>,
}

impl<W: Write> PacketLog<W> {
    /// Creates a log that writes to `to`.
    pub fn new(to: W) -> Self {
        Self { to, error: None }
    }

    /// Returns the writer.
    pub fn into_inner(self) -> W {
        self.to
    }

    fn line(&mut self, now: Time, event: &str, Hop { link, packet, header, .. }: Hop<'_>) {
        let (flow, kind, length) = (packet.flow, packet.flags.kind().name(), packet.length);
        let (number, ack_number) = header.numbers();
        let number = if packet.flags.for_sender() { ack_number } else { number };
        self.write(format_args!("{} {event} {link} flow {flow} {kind} {number} {length} B", now.0));
    }

    fn write(&mut self, line: std::fmt::Arguments<'_>) {
        if self.error.is_none() {
            self.error = writeln!(self.to, "{line}").err();
        }
    }
}

impl<W: Write + Send + 'static> Observer for PacketLog<W> {
    fn offered(&mut self, now: Time, hop: Hop<'_>, outcome: Outcome) {
        let event = match outcome {
            Outcome::Queued => "queued",
            Outcome::Marked => "marked",
            Outcome::Trimmed => "trimmed",
            Outcome::Returned => "returned",
            Outcome::Dropped(_) => "dropped",
        };
        self.line(now, event, hop);
    }

    fn trimmed(&mut self, now: Time, hop: Hop<'_>) {
        self.line(now, "trimmed", hop);
    }

    fn delivered(&mut self, now: Time, hop: Hop<'_>) {
        self.line(now, "delivered", hop);
    }

    fn lost(&mut self, now: Time, hop: Hop<'_>, reason: DropReason) {
        self.line(now, if reason == DropReason::LinkFault { "lost" } else { "dropped" }, hop);
    }

    fn started(&mut self, now: Time, flow: u32) {
        self.write(format_args!("{} began flow {flow}", now.0));
    }

    fn finished(&mut self, now: Time, flow: u32) {
        self.write(format_args!("{} finished flow {flow}", now.0));
    }
}
