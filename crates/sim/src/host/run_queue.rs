//! Run queue of a NIC: the flows that are ready to send through it, in round-robin order within each traffic class.
//!
//! Hosts serve classes as ports do ([`crate::port::pick`]): by strict priority, or in turns in proportion to their weights.

use std::collections::VecDeque;

use shallows_cc::units::Bytes;

use crate::port::pick::Rounds;
use crate::spec::network::TrafficClass;

/// Flows that are ready to send through a NIC.
#[derive(Clone, Debug, Default)]
pub struct RunQueue {
    /// All of them, if there is one class.
    flows: VecDeque<u32>,
    /// Those of each class, if there are several.
    classes: Option<Box<Classes>>,
}

#[derive(Clone, Debug)]
struct Classes {
    queues: Vec<VecDeque<u32>>,
    /// `None` if every class has strict priority.
    rounds: Option<Box<Rounds>>,
    /// The classes of which flows wait, a bit each.
    waiting: u8,
}

impl RunQueue {
    /// An empty run queue.
    pub(crate) fn new(classes: &[TrafficClass]) -> Self {
        let several = || Classes {
            queues: vec![VecDeque::new(); classes.len()],
            rounds: Rounds::of(classes.iter().map(|class| class.quantum)),
            waiting: 0,
        };
        Self { flows: VecDeque::new(), classes: (classes.len() > 1).then(|| Box::new(several())) }
    }

    /// Number of flows.
    pub fn len(&self) -> usize {
        self.classes.as_ref().map_or(self.flows.len(), |classes| classes.queues.iter().map(VecDeque::len).sum())
    }

    #[inline(always)]
    pub(crate) fn is_empty(&self) -> bool {
        self.flows.is_empty() && self.classes.as_ref().is_none_or(|classes| classes.waiting == 0)
    }

    /// Traffic classes of which flows wait, a bit for each.
    pub fn waiting_classes(&self) -> u8 {
        self.classes.as_ref().map_or(u8::from(!self.flows.is_empty()), |classes| classes.waiting)
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, flow: u32, class: u8) {
        match &mut self.classes {
            None => self.flows.push_back(flow),
            Some(classes) => classes.push(flow, class),
        }
    }

    /// The flow that is served next, if every class may send.
    pub fn first(&self) -> Option<u32> {
        let queues = self.classes.as_ref().map_or(std::slice::from_ref(&self.flows), |classes| &classes.queues);
        queues.iter().find_map(|queue| queue.front()).copied()
    }

    /// Removes the flow that is served next if there is one class.
    #[inline(always)]
    pub(crate) fn pop(&mut self) -> Option<u32> {
        self.flows.pop_front()
    }

    /// Removes the flow that is served next among the classes that may send, with frames of at most `longest`; `None` if there is
    /// one class.
    pub fn pop_of_classes(&mut self, longest: Bytes, may_send: impl Fn(u8) -> bool) -> Option<u32> {
        self.classes.as_mut()?.pop(longest, may_send)
    }

    /// Counts a frame of a class that has been sent, for the turns of the classes.
    pub(crate) fn charge(&mut self, class: u8, length: Bytes) {
        if let Some(Classes { queues, rounds: Some(rounds), .. }) = self.classes.as_deref_mut() {
            rounds.charge(class.into(), length, queues[usize::from(class)].is_empty());
        }
    }

    /// Sets the bytes in a turn of a class that has one.
    pub fn set_quantum(&mut self, class: u8, quantum: Bytes) {
        if let Some(rounds) = self.classes.as_mut().and_then(|classes| classes.rounds.as_mut()) {
            rounds.set_quantum(class.into(), quantum);
        }
    }

    /// Removes a flow.
    pub fn remove(&mut self, flow: u32) {
        self.flows.retain(|&ready| ready != flow);
        if let Some(classes) = &mut self.classes {
            classes.queues.iter_mut().for_each(|queue| queue.retain(|&ready| ready != flow));
            (0..classes.queues.len()).for_each(|class| classes.note_empty(class));
        }
    }

    /// Removes all flows, those of the first class first.
    pub(crate) fn take(&mut self) -> Vec<u32> {
        let mut all: Vec<u32> = self.flows.drain(..).collect();
        if let Some(classes) = &mut self.classes {
            classes.queues.iter_mut().for_each(|queue| all.extend(queue.drain(..)));
            classes.waiting = 0;
        }
        all
    }
}

impl Classes {
    #[cold]
    fn push(&mut self, flow: u32, class: u8) {
        self.queues[usize::from(class)].push_back(flow);
        self.waiting |= 1 << class;
    }

    /// Notes that the queue of a class is empty, if it is.
    fn note_empty(&mut self, class: usize) {
        self.waiting &= !(u8::from(self.queues[class].is_empty()) << class);
    }

    fn pop(&mut self, longest: Bytes, may_send: impl Fn(u8) -> bool) -> Option<u32> {
        let Self { queues, rounds, waiting } = self;
        let length = |class: usize| (*waiting >> class & 1 > 0 && may_send(class as u8)).then_some(longest);
        let first = (0..queues.len()).find(|&class| length(class).is_some())?;
        let class = rounds.as_ref().map_or(first, |rounds| rounds.next(first, length));
        let flow = queues[class].pop_front();
        self.note_empty(class);
        flow
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classes(quanta: &[Option<u64>]) -> Vec<TrafficClass> {
        let class = |&quantum: &Option<u64>| TrafficClass { quantum: quantum.map(Bytes), ..TrafficClass::default() };
        quanta.iter().map(class).collect()
    }

    /// Strict priority, and a class that may not send leaves the link to the next one.
    #[test]
    fn the_first_class_that_may_send_goes() {
        let mut queue = RunQueue::new(&classes(&[None, None, None]));
        for (flow, class) in [(7, 2), (8, 1), (9, 1), (5, 0)] {
            queue.push(flow, class);
        }
        assert_eq!((queue.len(), queue.first(), queue.waiting_classes()), (4, Some(5), 7));
        assert_eq!(queue.pop_of_classes(Bytes(1500), |class| class != 0), Some(8));
        assert_eq!(queue.pop_of_classes(Bytes(1500), |_| true), Some(5));
        queue.remove(9);
        assert_eq!((queue.waiting_classes(), queue.pop_of_classes(Bytes(1500), |_| false)), (4, None));
        assert_eq!((queue.take(), queue.is_empty()), (vec![7], true));
    }

    /// Weights 3 to 1 with frames of 1500 B and 64 B: 3 to 1 in bytes.
    #[test]
    fn classes_with_weights_share_the_bytes() {
        let mut queue = RunQueue::new(&classes(&[Some(4500), Some(1500)]));
        queue.push(0, 0);
        queue.push(1, 1);
        let mut sent = [0; 2];
        for _ in 0..100_000 {
            let flow = queue.pop_of_classes(Bytes(1500), |_| true).expect("a flow waits");
            let length = [1500, 64][flow as usize];
            sent[flow as usize] += length;
            queue.push(flow, flow as u8);
            queue.charge(flow as u8, Bytes(length));
        }
        let ratio = sent[0] as f64 / sent[1] as f64;
        assert!((ratio / 3.0 - 1.0).abs() < 0.01, "{ratio}");
    }
}
