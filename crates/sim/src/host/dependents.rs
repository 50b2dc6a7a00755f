//! Effects of the end of a task: tasks that waited for it start, and the run may end.

use shallows_cc::units::Time;

use crate::fabric::Fabric;
use crate::host::hosts::Hosts;
use crate::observe::Observer;
use crate::queue::timers::Kind;
use crate::spec::task::Numbering;

impl Hosts {
    /// Whether the last task of a run that ends with its tasks has finished here.
    pub(super) fn has_ended(&self) -> bool {
        self.network.until_done && self.unfinished == 0 && self.computations.unfinished == 0
    }

    /// Starts the dependents of an ended task whose hosts are `here`, each after its delay.
    pub(super) fn start_dependents(&mut self, now: Time, task: u32, here: impl Fn(u32) -> bool) {
        for timer in self.nics.dependencies.finish(&self.network, now, task, here) {
            self.nics.timers.set(timer);
        }
    }

    /// Handles a timer of a computation: it is ready, or it ends.
    #[cold]
    pub(super) fn on_computation_timer<O: Observer>(&mut self, fabric: &mut Fabric<O>, kind: Kind, number: u32) {
        let next = if kind == Kind::Start {
            self.computations.enqueue(&self.network, fabric.now, number)
        } else {
            let next = self.computations.finish(&self.network, fabric.now, number);
            fabric.interrupt |= self.has_ended();
            self.start_dependents(fabric.now, number | Numbering::COMPUTATION, |_| true);
            next
        };
        next.into_iter().for_each(|timer| self.nics.timers.set(timer));
    }
}
