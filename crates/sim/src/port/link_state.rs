//! Pauses and faults at a port with classes.

use shallows_cc::units::Time;

use super::Port;
use super::dispatch::extras;
use crate::packet::Slab;
use crate::port::admission::Departure;
use crate::port::class::{Class, Waiting};
use crate::port::clock::Clock;
use crate::port::state::Event;
use crate::spec::fault::Change;

impl Port {
    /// The end of the rest of a link that is slower than its rate; `None` if it does not rest, or is down.
    #[must_use]
    pub fn idle_until(&self, now: Time) -> Option<Time> {
        let until = self.scheduler()?.fast.idle_until;
        (until > now && until < Time::MAX).then_some(until)
    }

    /// Whether the link is down.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.scheduler().is_some_and(|scheduler| scheduler.fast.idle_until == Time::MAX)
    }

    /// Pauses or resumes the data of a traffic class.
    pub fn pause(&mut self, now: Time, traffic_class: u8, pause: bool) {
        let before = self.state(now);
        let data = self.config.table.data_class(traffic_class);
        let scheduler = self.scheduler_mut();
        let class = &mut scheduler.classes[data];
        let paused_since = &mut class.restriction.get_or_insert_default().paused_since;
        if pause && paused_since.is_none() {
            *paused_since = Some(now);
            class.report.pauses += 1;
            scheduler.next_class = None;
        } else if !pause && let Some(since) = paused_since.take() {
            class.report.paused += scheduler.stalls.waited(now, since);
            scheduler.invalidate_next();
        }
        scheduler.update_eligible();
        self.assert_transition(now, before, Event::Change);
    }

    /// Whether the data of a traffic class is paused.
    #[must_use]
    pub fn is_paused(&self, traffic_class: u8) -> bool {
        let data = self.config.table.data_class(traffic_class);
        self.scheduler().is_some_and(|scheduler| scheduler.classes[data].is_paused())
    }

    /// Whether the data of any traffic class is paused.
    #[must_use]
    pub fn pauses_any(&self) -> bool {
        self.scheduler().is_some_and(|scheduler| scheduler.classes.iter().any(Class::is_paused))
    }

    /// Applies a fault of the link.
    pub fn change(&mut self, now: Time, change: Change) {
        let before = self.state(now);
        let Self { busy_until, config, extras: all, histogram, .. } = self;
        let (_, scheduler) = extras(all);
        scheduler.stalls.close(now, scheduler.fast.work, *busy_until, histogram);
        match change {
            Change::Down => scheduler.take_down(),
            Change::Up => scheduler.bring_up(),
            Change::Rate(rate) => {
                scheduler.slower = Some(Box::new(Clock::new(rate))).filter(|slower| slower.is_slower(config.clock))
            }
            Change::Drain | Change::Undrain | Change::Loss(_) | Change::BitErrors(_) => {}
        }
        scheduler.update_eligible();
        scheduler.invalidate_next();
        scheduler.stalls.open(now, scheduler.fast.work, *busy_until, histogram);
        self.assert_transition(now, before, Event::Change);
    }

    /// Removes a packet that waits for a link that is down and is lost with it; `None` if there is none left.
    pub fn lose_queued(&mut self, now: Time, packets: &mut Slab) -> Option<(u32, Departure)> {
        let is_lost = |waiting: &Waiting| !packets[waiting.packet].flags.for_neighbour();
        let position = |class: &Class| class.queue.iter().position(is_lost);
        let mut classes = self.scheduler_mut().classes.iter().enumerate();
        let place = classes.find_map(|(number, class)| Some((number, position(class)?)))?;
        let Waiting { packet, from, .. } = self.remove(now, place, packets);
        self.scheduler_mut().lost += 1;
        Some((packet, Departure::of(&packets[packet], from)))
    }

    /// Removes the packet at this place of this class: the backlog falls by as much at once.
    pub(super) fn remove(&mut self, now: Time, (number, place): (usize, usize), packets: &mut Slab) -> Waiting {
        self.catch_up(now, packets);
        let before = self.state(now);
        let Self { busy_until, config, extras: all, histogram, counters, .. } = self;
        let (_, scheduler) = extras(all);
        scheduler.stalls.close(now, scheduler.fast.work, *busy_until, histogram);
        let class = &mut scheduler.classes[number];
        let waiting = class.queue.remove(place).expect("a packet waits there");
        let length = packets[waiting.packet].bytes();
        let (sending, waited) = (config.clock.time(length), scheduler.stalls.waited(now, waiting.since));
        class.bytes -= length;
        if class.queue.is_empty() {
            scheduler.waiting &= !(1 << number);
        }
        scheduler.fast.work -= sending;
        scheduler.bytes -= length;
        counters.area += u128::from(sending.0) * u128::from(2 * waited.0);
        scheduler.invalidate_next();
        scheduler.stalls.open(now, scheduler.fast.work, *busy_until, histogram);
        self.assert_transition(now, before, Event::Remove);
        waiting
    }

    /// Counts a packet that is dropped because the link is down.
    pub fn drop_link_down(&mut self) {
        self.scheduler_mut().lost += 1;
    }

    /// Packets lost or dropped so far because the link was down.
    pub(super) fn lost_at_port(&self) -> u64 {
        self.scheduler().map_or(0, |scheduler| scheduler.lost)
    }

    fn queued(&self) -> impl Iterator<Item = &Waiting> {
        self.scheduler().into_iter().flat_map(|scheduler| &scheduler.classes).flat_map(|class| &class.queue)
    }

    /// Every packet that waits in a class.
    pub fn waiting<'a>(&'a self, packets: &'a Slab) -> impl Iterator<Item = Departure> + 'a {
        self.queued().map(|waiting| Departure::of(&packets[waiting.packet], waiting.from))
    }

    /// The slot of every packet that waits in a class.
    pub fn in_classes(&self) -> impl Iterator<Item = u32> {
        self.queued().map(|waiting| waiting.packet)
    }
}
