//! Pauses and faults at a port with classes.

use shallows_cc::units::Time;

use super::Port;
use super::dispatch::extras;
use crate::packet::Slab;
use crate::port::admission::{Departure, DropReason, Outcome};
use crate::port::class::{Class, Waiting};
use crate::port::state::Event;
use crate::spec::fault::Change;

impl Port {
    /// The end of the rest of a link that is slower than its rate; `None` if it does not rest, or is down.
    #[must_use]
    pub fn idle_until(&self, now: Time) -> Option<Time> {
        let until = self.scheduler()?.fast.idle_until;
        (until > now && until < Time::MAX).then_some(until)
    }

    /// The slot of the frame that the port has just begun to send, and when its last bit leaves, if that does not follow from its arrival.
    pub(crate) fn take_departure(&mut self) -> Option<(u32, Time)> {
        let at = self.link.tail();
        let scheduler = &mut self.extras.as_mut()?.scheduler;
        Some((at, scheduler.arrivals()?.take_left()?))
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
            class.restriction.get_or_insert_default().resumed = now;
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

    /// Looks at a pause of a traffic class for the watchdog: a pause that lasts for `detection` begins a storm, and a storm ends when
    /// the class has not been paused for `restoration`. Returns whether one has begun or ended.
    pub fn watch(&mut self, now: Time, traffic_class: u8, detection: Time, restoration: Time) -> bool {
        let data = self.config.table.data_class(traffic_class);
        if !self.is_scheduled() {
            return false;
        }
        let scheduler = self.scheduler_mut();
        let Some(restriction) = scheduler.classes[data].restriction.as_deref_mut() else { return false };
        let storm = match restriction.paused_since {
            Some(since) => restriction.storm || now >= since + detection,
            None => restriction.storm && now < restriction.resumed + restoration,
        };
        let changed = std::mem::replace(&mut restriction.storm, storm) != storm;
        scheduler.update_eligible();
        changed
    }

    /// Whether the watchdog drops the data of this traffic class.
    #[must_use]
    pub fn is_storm(&self, traffic_class: u8) -> bool {
        let data = self.config.table.data_class(traffic_class);
        self.scheduler().is_some_and(|scheduler| scheduler.classes[data].is_storm())
    }

    /// Removes a packet that waits in the class of this data, which the watchdog drops; `None` if there is none left.
    pub fn drop_storm(&mut self, now: Time, traffic_class: u8, packets: &mut Slab) -> Option<(u32, Departure)> {
        let data = self.config.table.data_class(traffic_class);
        self.scheduler()?.classes[data].queue.front()?;
        Some(self.drop_queued(now, (data, 0), DropReason::PauseStorm, packets))
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
            Change::Rate(rate) => scheduler.change_rate(rate, config.clock),
            Change::Delay(_) | Change::Hold(_) | Change::Late(_) | Change::LateBy(_) => {
                let last = scheduler.sent_by(*busy_until) + config.delay;
                scheduler.arrivals_mut(last).change(now, change, config.delay);
            }
            Change::Turn { class, quantum } => {
                if let Some(sharing) = &mut scheduler.sharing {
                    sharing.set_quantum(config.table.data_class(class), quantum);
                }
            }
            Change::Drain
            | Change::Undrain
            | Change::Loss(_)
            | Change::BitErrors(_)
            | Change::Pause
            | Change::Resume
            | Change::Marking(_) => {}
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
        Some(self.drop_queued(now, place, DropReason::LinkFault, packets))
    }

    /// Removes the packet at this place of this class, which is dropped.
    pub(super) fn drop_queued(
        &mut self,
        now: Time,
        place: (usize, usize),
        reason: DropReason,
        packets: &mut Slab,
    ) -> (u32, Departure) {
        let Waiting { packet, from, .. } = self.remove(now, place, packets);
        self.record(place.0, Outcome::Dropped(reason), &packets[packet]);
        (packet, Departure::of(&packets[packet], from))
    }

    /// Removes the packet at this place of this class: the backlog falls by as much at once.
    pub(super) fn remove(&mut self, now: Time, (number, place): (usize, usize), packets: &mut Slab) -> Waiting {
        self.catch_up_markers(now, packets);
        let before = self.state(now);
        let Self { busy_until, config, extras: all, histogram, recorder, .. } = self;
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
        recorder.area += u128::from(sending.0) * u128::from(2 * waited.0);
        scheduler.invalidate_next();
        scheduler.stalls.open(now, scheduler.fast.work, *busy_until, histogram);
        self.assert_transition(now, before, Event::Remove);
        waiting
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

#[cfg(test)]
mod tests {
    use shallows_cc::rng::Rng;
    use shallows_cc::units::{Bytes, Rate};

    use super::*;
    use crate::packet::PACKET_KINDS;
    use crate::spec::ports::{ClassOf, ClassSpec, Discipline, PortSpec};

    /// A pause from 1 us on, a watchdog of 10 us, and 5 us until the class sends again.
    #[test]
    fn a_storm_begins_when_a_pause_is_too_long_and_ends_some_time_after_it() {
        let (rate, delay) = (Rate::from_gbps(10), Time::ZERO);
        let spec = PortSpec { from: 0, to: 1, rate, delay, buffer: Bytes::MAX, marking: None, discipline: Some(0) };
        let discipline = Discipline::new(vec![ClassSpec::OPEN], vec![ClassOf([0; PACKET_KINDS.len()])]);
        let mut port = Port::new(&spec, Bytes(1500)).scheduled(&discipline, Rng::new(1, 0));
        let us = Time::from_micros;
        let look = |port: &mut Port, at: u64| (port.watch(us(at), 0, us(10), us(5)), port.is_storm(0));
        assert_eq!(look(&mut port, 1), (false, false));
        port.pause(us(1), 0, true);
        assert_eq!(look(&mut port, 10), (false, false));
        assert_eq!(look(&mut port, 11), (true, true));
        assert_eq!(look(&mut port, 12), (false, true));
        port.pause(us(12), 0, false);
        assert_eq!(look(&mut port, 16), (false, true));
        assert_eq!(look(&mut port, 17), (true, false));
        // A pause that ends and begins again in time is a new one.
        port.pause(us(20), 0, true);
        port.pause(us(25), 0, false);
        port.pause(us(26), 0, true);
        assert_eq!(look(&mut port, 35), (false, false));
        assert_eq!(look(&mut port, 36), (true, true));
    }
}
