//! The number of threads of a run: as many as the user says, or as many as pay.
//!
//! The results are the same for any number. Whether threads pay depends on the network and on what else the machine does, so a run
//! measures it: packet-hops per second on one thread and on all, in alternating periods, once the workers are awake. Where threads gain
//! too little, a run without a given number starts again in one domain, which has no windows to pay for. With a given number it
//! continues on one thread if the others have no processor: then each window takes a turn of the system's scheduler.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use shallows_cc::units::Time;
use shallows_sim::{Network, Observer, Progress, Simulation};

/// The least duration of a step. Between steps a run reports its progress and handles Ctrl-C.
const STEP: Duration = Duration::from_millis(50);

/// The least duration of a period of a measurement.
const PERIOD: Duration = Duration::from_millis(10);

/// Events after which the time is read. Threads that wait for a processor in every window may need a second for so many.
const SLICE: u64 = 50_000;

/// Events after which several threads read the time first in a step or period; their number doubles up to [`SLICE`].
const FIRST_SLICE: u64 = 1_000;

/// The same for algorithms in Python, whose calls may take a millisecond each.
const FIRST_SLICE_IN_PYTHON: u64 = 100;

/// Periods in which threads may prove that they pay: in a virtual machine a core that was idle may need tens of milliseconds.
const ATTEMPTS: u32 = 4;

/// Expected packet-hops below which a run is too short to gain from threads: some seconds.
const LONG_RUN: f64 = 50e6;

/// The least speedup that pays for the windows and for the processor time of the other threads.
const MIN_GAIN: f64 = 1.2;

/// The least speedup for which a run continues on the given number of threads. It is far below what windows cost on free processors:
/// two threads whose two processors were busy were 40 times slower than one.
const MIN_GAIN_GIVEN: f64 = 0.2;

/// Steps on the given number of threads before the first measurement: a second or more.
const STEPS_BEFORE: u32 = 20;

/// Steps between two measurements.
const STEPS_BETWEEN: u32 = 200;

/// Threads that a run uses by itself, at most.
const MAX_THREADS: usize = 8;

/// Sets a run up again, in one domain.
type Restart<O> = Box<dyn FnOnce() -> Simulation<O> + Send>;

/// A simulation and its threads.
pub struct Run<O = ()> {
    pub simulation: Simulation<O>,
    threads: usize,
    /// The speedup of all threads, by the last measurement.
    pub gain: Option<f64>,
    /// The least gain for which all threads work; `None` if their number is not measured.
    least_gain: Option<f64>,
    /// For a run whose threads have not been measured yet.
    restart: Option<Restart<O>>,
    /// Steps until the next measurement.
    wait: u32,
}

impl Run {
    /// A run on this number of threads, or on as many as pay.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn new(network: Network, threads: Option<usize>) -> Result<Self, String> {
        let in_python = network.controls.iter().any(|control| control.user_algorithm.is_some());
        let cores = available_parallelism().map_or(1, NonZero::get);
        match threads {
            // Python runs one thread at a time.
            _ if in_python => Ok(Self::alone(Simulation::new(network)?)),
            Some(threads) => {
                let simulation = Simulation::parted(network, threads)?;
                let least_gain = (simulation.domains() > 1).then_some(MIN_GAIN_GIVEN);
                Ok(Self { least_gain, wait: STEPS_BEFORE, ..Self::on(simulation, threads) })
            }
            None => {
                let copy = network.clone();
                let restart = move || Simulation::new(copy).expect("the network was accepted before");
                let simulation = Simulation::parted_if_long(network, cores.min(MAX_THREADS), LONG_RUN)?;
                let is_parted = simulation.domains() > 1;
                let restart = is_parted.then(|| Box::new(restart) as Restart<()>);
                Ok(Self { least_gain: is_parted.then_some(1.0), restart, ..Self::on(simulation, cores) })
            }
        }
    }
}

impl<O: Observer> Run<O> {
    /// A run on one thread.
    pub fn alone(simulation: Simulation<O>) -> Self {
        Self::on(simulation, 1)
    }

    fn on(simulation: Simulation<O>, threads: usize) -> Self {
        let mut run = Self { simulation, threads, gain: None, least_gain: None, restart: None, wait: 0 };
        run.set_threads(threads);
        run
    }

    /// The number of threads that work on it now.
    pub fn threads(&self) -> usize {
        self.threads
    }

    fn set_threads(&mut self, threads: usize) {
        self.threads = threads.min(self.simulation.domains());
        self.simulation.set_threads(self.threads);
    }

    /// Continues for a step; `in_python` if algorithms in Python work in it.
    #[allow(clippy::disallowed_methods, reason = "it affects the length of a step, not the results")]
    pub fn step(&mut self, in_python: bool) -> Progress {
        if let Some(least_gain) = self.least_gain
            && self.wait == 0
        {
            self.choose_threads(least_gain);
        }
        self.wait = self.wait.saturating_sub(1);
        let started = Instant::now();
        let mut slice = match self.threads {
            _ if in_python => FIRST_SLICE_IN_PYTHON,
            1 => SLICE,
            _ => FIRST_SLICE,
        };
        loop {
            let progress = advance(&mut self.simulation, slice);
            if progress == Progress::Done || started.elapsed() >= STEP {
                return progress;
            }
            slice = SLICE.min(2 * slice);
        }
    }

    /// Continues for some events, but stops before the first event later than `at`; whether all events up to then are done.
    pub fn reach(&mut self, at: Time) -> bool {
        self.simulation.reach(at, SLICE)
    }

    /// Measures what threads gain, and uses all of them or one. If they gain too little in the first measurement, the run starts again
    /// where its number of threads is not given.
    fn choose_threads(&mut self, least_gain: f64) {
        let all = self.simulation.domains();
        let enough = if self.restart.is_some() { MIN_GAIN } else { least_gain };
        self.speed(all); // The workers are created, or awake.
        let mut gain = 0.0;
        for _ in 0..ATTEMPTS {
            gain = self.speed(all) / self.speed(1);
            if gain >= enough {
                break;
            }
        }
        if self.simulation.is_over() {
            return;
        }
        self.set_threads(if gain > least_gain { all } else { 1 });
        (self.gain, self.wait) = (Some(gain), STEPS_BETWEEN);
        if let Some(restart) = self.restart.take()
            && gain < MIN_GAIN
        {
            (self.simulation, self.threads, self.least_gain) = (restart(), 1, None);
        }
    }

    /// Packet-hops per second on this number of threads over a period.
    #[allow(clippy::disallowed_methods, reason = "it affects the number of threads, not the results")]
    fn speed(&mut self, threads: usize) -> f64 {
        self.set_threads(threads);
        let (before, started) = (self.simulation.packet_hops(), Instant::now());
        let mut slice = FIRST_SLICE;
        while advance(&mut self.simulation, slice) == Progress::Running && started.elapsed() < PERIOD {
            slice = SLICE.min(2 * slice);
        }
        (self.simulation.packet_hops() - before) as f64 / started.elapsed().as_secs_f64()
    }
}

/// Advances a simulation. It is never inlined because bench/instructions.py counts what happens in it.
#[inline(never)]
fn advance<O: Observer>(simulation: &mut Simulation<O>, events: u64) -> Progress {
    simulation.advance(events)
}
