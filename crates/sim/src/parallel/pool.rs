//! A pool of worker threads that lives as long as a simulation. Workers are created at their first use and sleep between jobs.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{Sender, channel};
use std::thread::{JoinHandle, spawn};

type Job = Box<dyn FnOnce() -> Returned + Send>;
type Returned = Box<dyn Any + Send>;
/// What a job returned, or its panic.
type Outcome = std::thread::Result<Returned>;

/// The workers.
#[derive(Debug, Default)]
pub(crate) struct WorkerPool {
    workers: Vec<Worker>,
}

impl Clone for WorkerPool {
    /// A copy of a run creates its own workers when it needs them.
    fn clone(&self) -> Self {
        Self::default()
    }
}

#[derive(Debug)]
struct Worker {
    /// Where its jobs come from; closed to end it.
    jobs: Option<Sender<(Job, Sender<Outcome>)>>,
    thread: Option<JoinHandle<()>>,
}

impl WorkerPool {
    /// Runs all jobs at the same time, the first one on the calling thread, and returns their results in order. If jobs panic, the
    /// panic of the first of them goes on in the caller once all have ended.
    pub fn run<R: Send + 'static>(
        &mut self,
        jobs: impl IntoIterator<Item = impl FnOnce() -> R + Send + 'static>,
    ) -> Vec<R> {
        let boxed = jobs.into_iter().map(|job| Box::new(move || Box::new(job()) as Returned) as Job);
        let returned = self.run_boxed(boxed.collect());
        returned.into_iter().map(|value| *value.downcast().expect("a job returns a value of its type")).collect()
    }

    /// [`Self::run`] for jobs of any type: it and its channels are compiled once.
    fn run_boxed(&mut self, jobs: Vec<Job>) -> Vec<Returned> {
        let mut jobs = jobs.into_iter();
        let own = jobs.next();
        let mut others = Vec::new();
        for (number, job) in jobs.enumerate() {
            let (outcome, receiver) = channel();
            self.worker(number).start(job, outcome);
            others.push(receiver);
        }
        let own = own.map(run_caught);
        let others = others.into_iter().map(|outcome| outcome.recv().expect("a worker sends an outcome for each job"));
        let outcomes: Vec<Outcome> = own.into_iter().chain(others).collect();
        outcomes.into_iter().map(|outcome| outcome.unwrap_or_else(|panic| resume_unwind(panic))).collect()
    }

    fn worker(&mut self, number: usize) -> &Worker {
        if number == self.workers.len() {
            self.workers.push(Worker::new());
        }
        &self.workers[number]
    }
}

impl Worker {
    fn new() -> Self {
        let (jobs, receiver) = channel::<(Job, Sender<Outcome>)>();
        let work = move || {
            for (job, outcome) in receiver {
                outcome.send(run_caught(job)).expect("the caller waits for the outcome");
            }
        };
        Self { jobs: Some(jobs), thread: Some(spawn(work)) }
    }

    fn start(&self, job: Job, outcome: Sender<Outcome>) {
        let jobs = self.jobs.as_ref().expect("a worker lives as long as the pool");
        jobs.send((job, outcome)).expect("no job ends its worker, as its panics are caught");
    }
}

fn run_caught(job: Job) -> Outcome {
    catch_unwind(AssertUnwindSafe(job))
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            thread.join().expect("no job ends its worker, as its panics are caught");
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use std::sync::{Arc, Barrier};
    use std::thread::{ThreadId, current};

    use super::*;

    fn threads(pool: &mut WorkerPool, count: usize) -> Vec<ThreadId> {
        let barrier = Arc::new(Barrier::new(count));
        let jobs = (0..count).map(|_| Arc::clone(&barrier)).map(|barrier| {
            move || {
                // No job can end before all have started.
                barrier.wait();
                current().id()
            }
        });
        pool.run(jobs.collect::<Vec<_>>())
    }

    #[test]
    fn jobs_run_at_the_same_time_on_threads_that_stay() {
        let mut pool = WorkerPool::default();
        let first = threads(&mut pool, 4);
        assert_eq!(first[0], current().id());
        assert!((1..4).all(|at| !first[..at].contains(&first[at])), "{first:?}");
        assert_eq!([threads(&mut pool, 4), threads(&mut pool, 4)], [&first[..]; 2]);
        assert_eq!(threads(&mut pool, 2), first[..2]);
    }

    #[test]
    fn the_caller_gets_the_panic_of_a_worker_and_the_pool_stays_usable() {
        for failing in [0, 2] {
            let mut pool = WorkerPool::default();
            let job = |number| move || assert!(number != failing, "job {number} failed");
            let outcome = catch_unwind(AssertUnwindSafe(|| pool.run([0, 1, 2].map(job))));
            let panic = outcome.expect_err("a job panicked");
            assert_eq!(panic.downcast_ref::<String>(), Some(&format!("job {failing} failed")));
            assert_eq!(pool.run([1, 2, 3].map(|number| move || number * 2)), [2, 4, 6]);
        }
    }
}
