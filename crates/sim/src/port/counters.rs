//! Recorder of a port: the only place that counts what becomes of packets.

use std::ops::{AddAssign, SubAssign};

use shallows_cc::units::{Bytes, Time};

use crate::packet::{Packet, PacketKind};
use crate::port::admission::{DropReason, Outcome};
use crate::port::class::ClassReport;

macro_rules! counters {
    ($($(#[$doc:meta])+ $name:ident: $type:ty,)+) => {
        /// Packets of a port, by what became of them.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct Counters {
            $($(#[$doc])+ pub $name: $type,)+
        }

        impl AddAssign for Counters {
            fn add_assign(&mut self, other: Self) {
                $(self.$name += other.$name;)+
            }
        }

        impl SubAssign for Counters {
            fn sub_assign(&mut self, other: Self) {
                $(self.$name -= other.$name;)+
            }
        }
    };
}

counters! {
    /// Packets sent.
    sent: u64,
    /// Length of the packets sent.
    sent_bytes: u64,
    /// Sum of the times from arrival to departure, in picoseconds.
    sojourn: u128,
    /// Packets newly marked.
    marked: u64,
    /// Packets that a queue, the shared memory, a congestion point or the watchdog dropped.
    dropped: u64,
    /// Packets trimmed to their header, including those whose header returned to its sender.
    trimmed: u64,
    /// Packets lost by faults of the link.
    lost: u64,
}

/// Recorder of a port. Its counters begin again at the end of the warm-up.
///
/// Fields that grow with every packet do not lie side by side: adding two of them in one vector instruction takes longer.
#[derive(Clone, Debug, Default)]
#[repr(C)]
pub(super) struct Recorder {
    /// Time to send the packets accepted.
    pub work: Time,
    /// The largest backlog.
    pub largest: Time,
    sojourn: u128,
    /// Twice the integral of the backlog over time, in square picoseconds, once every segment has ended.
    pub area: u128,
    sent: u64,
    marked: u64,
    sent_bytes: u64,
    dropped: u64,
    seldom: Option<Box<Seldom>>,
}

/// Counters that few ports need.
#[derive(Clone, Copy, Debug, Default)]
struct Seldom {
    trimmed: u64,
    lost: u64,
    warmup: Warmup,
    /// Packets accepted in the warm-up that leave after it, and those that leave after the run: a FIFO counts a packet when it joins.
    late: [Counters; 2],
}

/// What a port has recorded in the warm-up.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Warmup {
    pub counters: Counters,
    /// Packets lost on the wire, which its downstream end counts.
    pub lost_on_wire: u64,
    /// Unsent part of the frame in transmission and of those behind it, at the end.
    pub backlog: Time,
}

/// A packet of a FIFO, whose departure is known when it joins the queue.
#[derive(Clone, Copy, Debug)]
pub(super) struct Accepted {
    pub now: Time,
    pub length: Bytes,
    pub sending: Time,
    /// The time that it waits.
    pub backlog: Time,
    pub marked: bool,
}

impl Recorder {
    /// Records what became of a packet of a port and of its class, if it has classes.
    #[inline(always)]
    pub fn record(&mut self, of_class: Option<&mut ClassReport>, outcome: Outcome, packet: &Packet) {
        match outcome {
            Outcome::Queued => {}
            Outcome::Marked => {
                self.marked += 1;
                if let Some(class) = of_class {
                    class.marked += 1;
                }
            }
            _ => self.record_unqueued(of_class, outcome, packet),
        }
    }

    #[cold]
    fn record_unqueued(&mut self, of_class: Option<&mut ClassReport>, outcome: Outcome, packet: &Packet) {
        match outcome {
            Outcome::Queued | Outcome::Marked => {}
            // Another port may have trimmed the header that returns.
            Outcome::Returned if packet.flags.is(PacketKind::Trimmed) => {}
            Outcome::Trimmed | Outcome::Returned => self.seldom().trimmed += 1,
            Outcome::Dropped(DropReason::LinkFault) => self.seldom().lost += 1,
            Outcome::Dropped(_) => {
                self.dropped += 1;
                if let Some(class) = of_class {
                    class.dropped += 1;
                }
            }
        }
    }

    /// Records a packet that joins a FIFO. It begins to be sent within the `measured` time, or is counted as late.
    #[inline(always)]
    pub fn accept(&mut self, [from, to]: [Time; 2], packet: Accepted) {
        let Accepted { now, length, sending, backlog, marked } = packet;
        let (after, begins) = (backlog + sending, now + backlog);
        self.marked += u64::from(marked);
        if begins >= to || now < from && begins >= from {
            self.accept_late([now < from && begins >= from, begins >= to], packet);
        }
        self.send(length, sending, backlog, after);
        if after > self.largest {
            self.largest = after;
        }
    }

    #[cold]
    fn accept_late(&mut self, is_late: [bool; 2], packet: Accepted) {
        let Accepted { length, sending, backlog, marked, .. } = packet;
        let late = Counters {
            sent: 1,
            sent_bytes: length.0,
            sojourn: (backlog + sending).0.into(),
            marked: marked.into(),
            ..Counters::default()
        };
        let all = &mut self.seldom().late;
        all.iter_mut().zip(is_late).filter(|&(_, is_late)| is_late).for_each(|(sum, _)| *sum += late);
    }

    /// Records a packet that is sent, or will be, for `sending`, after the backlog has fallen for `waited`. It leaves `sojourn` after its
    /// arrival.
    #[inline(always)]
    pub fn send(&mut self, length: Bytes, sending: Time, waited: Time, sojourn: Time) {
        self.sent += 1;
        self.sent_bytes += length.0;
        self.sojourn += u128::from(sojourn.0);
        self.area += u128::from(sending.0) * u128::from(2 * waited.0 + sending.0);
        self.work += sending;
    }

    /// Records so many frames of this length that found the port idle.
    pub fn send_idle(&mut self, length: Bytes, sending: Time, times: u32) {
        let all = sending * u64::from(times);
        self.sent += u64::from(times);
        self.sent_bytes += length.0 * u64::from(times);
        self.sojourn += u128::from(all.0);
        self.area += u128::from(all.0) * u128::from(sending.0);
        self.largest = self.largest.max(sending);
        self.work += all;
    }

    #[cold]
    fn seldom(&mut self) -> &mut Seldom {
        self.seldom.get_or_insert_default()
    }

    /// The counters since the end of the warm-up.
    pub fn counters(&self) -> Counters {
        let Self { sojourn, sent, marked, sent_bytes, dropped, .. } = *self;
        let Seldom { trimmed, lost, .. } = self.seldom.as_deref().copied().unwrap_or_default();
        Counters { sent, sent_bytes, sojourn, marked, dropped, trimmed, lost }
    }

    /// The warm-up.
    pub fn warmup(&self) -> Warmup {
        self.seldom.as_ref().map_or_else(Warmup::default, |seldom| seldom.warmup)
    }

    /// The counters since the end of the warm-up, of packets that begin to be sent within the measured time.
    pub fn measured(&self) -> Counters {
        let mut counters = self.counters();
        if let Some(seldom) = &self.seldom {
            let [before, after] = seldom.late;
            counters += before;
            counters -= after;
        }
        counters
    }

    /// Ends the warm-up.
    pub fn end_warmup(&mut self, lost_on_wire: u64, backlog: Time) {
        let warmup = Warmup { counters: self.counters(), lost_on_wire, backlog };
        let late = self.seldom.take().unwrap_or_default().late;
        *self = Self::default();
        *self.seldom() = Seldom { warmup, late, ..Seldom::default() };
    }
}
