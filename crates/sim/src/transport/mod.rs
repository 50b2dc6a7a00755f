//! The two halves of a flow: what its sender puts on the wire, and what its receiver answers.
//!
//! A catalog row names the transport that its algorithm runs over. Each is a folder or a file with a
//! `Sending` and a `Receiving`; to add one, write it, name it in [`shallows_cc::catalog::Transport`] and give
//! it a line in the two enums below. The simulation knows only what they share: when a flow may send and
//! what, which packets came, which timers are wanted.

use shallows_cc::catalog::Transport;
use shallows_cc::draws::Draws;
use shallows_cc::receiver::{Credits, Receiver};
use shallows_cc::sender::Sender;
use shallows_cc::units::{Bytes, Time};

use crate::measure::Measure;
use crate::network::{HostSpec, MIN_FRAME};
use crate::packet::{Flags, Packet, PacketKind};

mod alarm;
mod credit;
mod rated;
mod roce;
mod tcp;

/// Whether a flow may send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// Not before it hears something.
    No,
    /// Now.
    Now,
    /// Its pace lets it at this time.
    At(Time),
}

/// Which flow, and between whom.
#[derive(Clone, Copy, Debug)]
pub struct Ends {
    pub flow: u32,
    pub src: u32,
    pub dst: u32,
}

/// What a sending half is made from.
#[derive(Debug)]
pub struct Opening<'a> {
    pub bytes: Bytes,
    pub mss: Bytes,
    pub ecn: bool,
    pub host: &'a HostSpec,
    /// How long it waits for an answer before it has a sample of its own.
    pub first_timeout: Time,
    pub control: Box<dyn Sender>,
}

/// What a receiving half is made from.
#[derive(Debug)]
pub struct Expecting {
    pub bytes: Bytes,
    pub mss: Bytes,
    pub ack_delay: Time,
    pub notification: Box<dyn Receiver>,
    /// What stamps show, where they are not ideal.
    pub measure: Option<Box<Measure>>,
    /// What hands out credits, where those are what the flow waits for, and its draws.
    pub credits: Option<(Box<dyn Credits>, Draws)>,
}

/// What a receiver sends because of a packet or a timer, in this order.
#[derive(Clone, Copy, Debug, Default)]
pub struct Replies {
    pub earlier: Option<Packet>,
    pub now: Option<Packet>,
}

/// One flow at its sender.
#[derive(Debug)]
pub struct Sending {
    pub ends: Ends,
    /// Whether it has a place in its NIC's turn.
    pub queued: bool,
    /// Whether it goes before other flows.
    pub urgent: bool,
    /// When the world will look at its pace again; [`Time::MAX`] is never.
    pub pace_timer: Time,
    asking: Option<Box<rated::Asking>>,
    half: SendingHalf,
}

#[derive(Debug)]
enum SendingHalf {
    Tcp(tcp::Sending),
    Roce(roce::Sending),
    Credit(credit::Sending),
}

/// One flow at its receiver.
#[derive(Debug)]
pub struct Receiving {
    pub ends: Ends,
    answering: Option<Box<rated::Answering>>,
    half: ReceivingHalf,
}

#[derive(Debug)]
enum ReceivingHalf {
    Tcp(tcp::Receiving),
    Roce(roce::Receiving),
    Credit(credit::Receiving),
}

/// The same call on whichever half it is.
macro_rules! on {
    ($halves:ident, $half:expr, $it:ident => $call:expr) => {
        match $half {
            $halves::Tcp($it) => $call,
            $halves::Roce($it) => $call,
            $halves::Credit($it) => $call,
        }
    };
}

impl Sending {
    pub fn new(transport: Transport, now: Time, ends: Ends, opening: Opening<'_>) -> Self {
        let half = match transport {
            Transport::Tcp | Transport::Rated => SendingHalf::Tcp(tcp::Sending::new(opening)),
            Transport::Roce => SendingHalf::Roce(roce::Sending::new(opening)),
            Transport::Credit => SendingHalf::Credit(credit::Sending::new(&opening, now)),
        };
        let asking = (transport == Transport::Rated).then(Box::default);
        Self { ends, queued: false, urgent: false, pace_timer: Time::MAX, asking, half }
    }

    /// Whether it may send now.
    #[inline]
    pub fn turn(&mut self, now: Time) -> Turn {
        on!(SendingHalf, &mut self.half, half => half.turn(now))
    }

    /// When it is to ask for a rate by a request, where its next data leaves later than that.
    pub fn request_due(&self, data: Time) -> Option<Time> {
        self.asking.as_ref().and_then(|asking| asking.due(data))
    }

    /// That request.
    pub fn request(&mut self, now: Time) -> Option<Packet> {
        self.asking.as_mut().map(|asking| asking.request(now, &self.ends))
    }

    /// Takes the packet that is to leave now.
    #[inline]
    pub fn take(&mut self, now: Time, header: Bytes) -> Packet {
        let mut packet = on!(SendingHalf, &mut self.half, half => half.take(now, &self.ends, header));
        if let Some(asking) = &mut self.asking {
            asking.on_data(now, &mut packet);
        }
        packet
    }

    /// Something came back: an acknowledgement, a notification.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &mut Packet) {
        if let (Some(asking), SendingHalf::Tcp(half)) = (&mut self.asking, &mut self.half) {
            asking.hear(now, packet, half);
            if packet.flags.is(PacketKind::RateAnswer) {
                return;
            }
            packet.delay = Time::ZERO;
        }
        on!(SendingHalf, &mut self.half, half => half.on_packet(now, packet));
    }

    /// When the algorithm asked to be called.
    #[inline]
    pub fn wake(&self) -> Option<Time> {
        on!(SendingHalf, &self.half, half => half.wake())
    }

    /// That time has come.
    pub fn on_wake(&mut self, now: Time) {
        on!(SendingHalf, &mut self.half, half => half.on_wake(now));
    }

    /// The time to look again at the retransmission timer, if none is set that comes in time.
    #[inline]
    pub fn arm_timer(&mut self) -> Option<Time> {
        on!(SendingHalf, &mut self.half, half => half.arm_timer())
    }

    /// That time has come.
    pub fn on_timer(&mut self, now: Time) {
        on!(SendingHalf, &mut self.half, half => half.on_timer(now));
    }

    /// Sends nothing new from now on.
    pub fn stop(&mut self, now: Time) {
        match &mut self.half {
            SendingHalf::Tcp(half) => half.stop(),
            SendingHalf::Roce(half) => half.stop(),
            SendingHalf::Credit(half) => half.stop(now),
        }
    }

    /// Whether its receiver has everything and it knows.
    #[inline]
    pub fn done(&self) -> bool {
        on!(SendingHalf, &self.half, half => half.done())
    }

    /// Packets sent again, and how often it gave up waiting.
    pub fn repairs(&self) -> (u32, u32) {
        on!(SendingHalf, &self.half, half => (half.retransmits, half.timeouts))
    }

    /// Credits that came and found nothing to send.
    pub fn wasted(&self) -> u64 {
        if let SendingHalf::Credit(half) = &self.half { half.wasted } else { 0 }
    }

    /// Internals worth plotting; `since` is the span since they were last read.
    pub fn probe(&mut self, since: Time, record: &mut dyn FnMut(&'static str, f64)) {
        // The window of a flow that asks for rates only says whether it has heard one.
        let windowless = self.asking.is_some();
        let mut told = |name, value| {
            if !(windowless && name == "window_pkt") {
                record(name, value);
            }
        };
        on!(SendingHalf, &mut self.half, half => half.probe(since, &mut told));
    }
}

impl Receiving {
    pub fn new(transport: Transport, ends: Ends, expecting: Expecting) -> Self {
        let half = match transport {
            Transport::Tcp | Transport::Rated => ReceivingHalf::Tcp(tcp::Receiving::new(expecting)),
            Transport::Roce => ReceivingHalf::Roce(roce::Receiving::new(expecting)),
            Transport::Credit => ReceivingHalf::Credit(credit::Receiving::new(expecting)),
        };
        let answering = (transport == Transport::Rated).then(Box::default);
        Self { ends, answering, half }
    }

    /// A packet came from the sender.
    #[inline]
    pub fn on_packet(&mut self, now: Time, packet: &Packet) -> Replies {
        if let Some(answering) = &mut self.answering
            && let Some(replies) = answering.hear(packet, &self.ends)
        {
            return replies;
        }
        let mut replies = on!(ReceivingHalf, &mut self.half, half => half.on_packet(now, packet, &self.ends));
        if let Some(answering) = &self.answering {
            answering.answer(&mut replies);
        }
        replies
    }

    /// The time to call [`Self::on_timer`], if the world does not know it yet.
    #[inline]
    pub fn arm_timer(&mut self, now: Time) -> Option<Time> {
        on!(ReceivingHalf, &mut self.half, half => half.arm_timer(now))
    }

    /// That time has come.
    pub fn on_timer(&mut self, now: Time) -> Replies {
        let mut replies = on!(ReceivingHalf, &mut self.half, half => half.on_timer(now, &self.ends));
        if let Some(answering) = &self.answering {
            answering.answer(&mut replies);
        }
        replies
    }

    /// Whether every byte is there.
    #[inline]
    pub fn complete(&self) -> bool {
        on!(ReceivingHalf, &self.half, half => half.complete())
    }

    /// Whether every byte is there and it owes the sender nothing: what still comes is answered without it.
    #[inline]
    pub fn may_close(&self) -> bool {
        self.complete() && !on!(ReceivingHalf, &self.half, half => half.owes())
    }

    /// Credits handed out.
    pub fn granted(&self) -> u64 {
        if let ReceivingHalf::Credit(half) = &self.half { half.granted } else { 0 }
    }

    /// Internals worth plotting, where it is the receiver that decides.
    pub fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        if let ReceivingHalf::Credit(half) = &self.half {
            half.probe(record);
        }
    }

    /// In-order payload.
    pub fn delivered(&self) -> u64 {
        on!(ReceivingHalf, &self.half, half => half.delivered)
    }
}

/// What a receiver that has closed answers to a packet of its flow: all `bytes` are there.
pub fn late_answer(transport: Transport, now: Time, packet: &Packet, (bytes, mss): (Bytes, Bytes)) -> Option<Packet> {
    let (cumulative, _) = packets_in(bytes, mss);
    let flags = Flags::of(PacketKind::Ack);
    let (length, sent, flow) = (MIN_FRAME.0 as u16, packet.sent, packet.flow);
    let answer = Packet { sent, delay: now - sent, flow, cumulative, samples: 1, length, flags, ..Packet::default() };
    match transport {
        Transport::Tcp => Some(answer),
        Transport::Rated => Some(rated::late_answer(packet, answer)),
        Transport::Roce => packet.flags.has(Flags::LAST).then_some(answer),
        Transport::Credit => credit::late_answer(now, packet, answer),
    }
}

/// How many packets carry `bytes`, and the payload of the last.
fn packets_in(bytes: Bytes, mss: Bytes) -> (u32, Bytes) {
    if bytes == Bytes::MAX {
        return (u32::MAX, mss);
    }
    let packets = bytes.0.div_ceil(mss.0);
    (packets as u32, bytes - mss * (packets - 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_become_packets() {
        let mss = Bytes(1460);
        assert_eq!(packets_in(Bytes(1), mss), (1, Bytes(1)));
        assert_eq!(packets_in(Bytes(1460), mss), (1, mss));
        assert_eq!(packets_in(Bytes(1461), mss), (2, Bytes(1)));
    }
}
