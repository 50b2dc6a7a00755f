//! Ports with two queues: L for packets of L4S, C for all others, which [`DualPi2`] serves and judges.
//!
//! The queues are the classes 0 (L) and 1 (C) of a port with classes. A packet is judged as it leaves its queue, and a dropped one changes
//! no credit. The link asks for a packet when it becomes free and after each departure.

use shallows_cc::parameter::Values;
use shallows_cc::port::HeadAction;
use shallows_cc::port::dualpi2::{DualPi2, Judged};
use shallows_cc::rng::Rng;
use shallows_cc::units::Time;

use super::Port;
use super::config::FULL;
use crate::packet::Slab;
use crate::port::admission::{DropReason, Enqueued, Incoming, Removed};
use crate::port::class::{Class, Waiting};
use crate::port::dual::{Draws, Dual, queue_of};
use crate::port::scheduler::Scheduler;
use crate::port::sharing::Sharing;

impl Scheduler {
    /// The law and the queues of a port with two queues.
    fn two_queues(&mut self) -> (&mut Dual, &mut [Class]) {
        self.dual_mut().expect("only ports with two queues are asked")
    }
}

impl Port {
    /// The same port, whose two classes are its queues; `draws` are for it alone.
    pub(super) fn with_dual_queue(mut self, law: DualPi2, draws: Rng) -> Self {
        let law = law.with_frame(self.config.common_lengths()[FULL]);
        let scheduler = self.scheduler_mut();
        scheduler.sharing = Some(Box::new(Sharing::Dual(Dual { law, draws: Draws::Own(draws), drawn: false })));
        scheduler.judges_heads = true;
        self.with_fast_path()
    }

    /// Serves and judges its two queues with these values of the parameters from `now` on. Returns false for a port without them.
    pub(super) fn retune_dual_queue(&mut self, now: Time, values: &Values) -> bool {
        let extras = self.extras.as_deref_mut();
        let Some((dual, classes)) = extras.and_then(|extras| extras.scheduler.dual_mut()) else { return false };
        dual.catch_up(Time(now.0.saturating_sub(1)), classes);
        dual.law.retune(values);
        true
    }

    /// Puts a packet into the queue of its code point, if there is room in both together.
    #[inline(never)]
    pub(super) fn enqueue_dual(&mut self, now: Time, incoming: Incoming, packets: &mut Slab) -> Enqueued {
        let (length, ecn) = (packets[incoming.packet].bytes(), packets[incoming.packet].flags.ecn());
        let (busy_until, clock) = (self.busy_until, self.config.clock);
        let scheduler = self.scheduler_mut();
        let bytes = scheduler.bytes;
        let (dual, classes) = scheduler.two_queues();
        dual.catch_up(now, classes);
        let waiting: usize = classes.iter().map(|class| class.queue.len()).sum();
        if waiting == 0 && busy_until < now {
            // The link became free, asked, and found nothing.
            dual.law.reset_credit();
        }
        let queue = dual.law.queue_of(ecn);
        let class = queue as usize;
        let held = bytes + clock.bytes(busy_until.saturating_sub(now)) + length;
        if !dual.law.has_room(waiting as u64) || !classes[class].has_room(held, 0) {
            return self.refuse(now, (class, incoming), DropReason::QueueFull, packets);
        }
        let action = if dual.law.drops_early {
            let behind = (bytes, classes[0].queue.len() as u64);
            dual.judge(&Judged { queue, waited: Time::ZERO, behind, ecn }, DualPi2::judge_by_probability)
        } else {
            HeadAction::Send
        };
        let of_class = classes[class].bytes + length;
        if action == HeadAction::Drop {
            return self.refuse(now, (class, incoming), DropReason::StandingQueue, packets);
        }
        let marked = action == HeadAction::Mark && packets[incoming.packet].mark();
        self.join(now, (class, of_class), (incoming, marked), packets)
    }

    /// Judges the packet that is about to be sent, and removes it if it is dropped.
    #[inline(never)]
    pub(super) fn judge_dual(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, Removed)> {
        let scheduler = self.scheduler_mut();
        let bytes = scheduler.bytes;
        let (dual, classes) = scheduler.two_queues();
        dual.catch_up(now, classes);
        let chosen = usize::from(scheduler.pick_now(now, packets)? as u8);
        let (dual, classes) = scheduler.two_queues();
        let Waiting { packet, since, .. } = *classes[chosen].queue.front()?;
        let (length, ecn) = (packets[packet].bytes(), packets[packet].flags.ecn());
        let behind = (bytes - length, classes[0].queue.len() as u64 - u64::from(chosen == 0));
        let judged = Judged { queue: queue_of(chosen), waited: now - since, behind, ecn };
        match dual.judge(&judged, DualPi2::judge) {
            HeadAction::Send => return None,
            HeadAction::Mark => {
                self.mark_queued(chosen, &mut packets[packet]);
                return None;
            }
            HeadAction::Drop => {}
        }
        let (packet, dropped) = self.drop_queued(now, (chosen, 0), DropReason::StandingQueue, packets);
        let scheduler = self.scheduler_mut();
        if scheduler.waiting == 0 {
            scheduler.two_queues().0.law.reset_credit();
        }
        Some((packet, Removed::Dropped(dropped)))
    }
}
