//! How many threads go through a run: as many as its user says, or by itself as many as pay.
//!
//! What comes out is the same for any number; only how fast it comes is not, and depends on the network and on what else the
//! machine does. So a run that promises to be long begins in domains and tries, some turns on all threads and some on one. Where
//! threads gain too little it begins again in one domain, which has no windows to pay for. Later it tries the other way now and
//! then: machines get busy, and quiet again.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::Instant;

use shallows_cc::units::Time;
use shallows_sim::network::Network;
use shallows_sim::observe::Observer;
use shallows_sim::simulation::{Progress, Simulation};

/// Events between two looks at Ctrl-C.
const EVENTS_A_TURN: u64 = 500_000;

/// And of a turn that only tries.
const EVENTS_A_TRIAL: u64 = 100_000;

/// Packet-hops from which a run is long: some seconds, of which a trial takes a hundredth.
const LONG: f64 = 50e6;

/// Threads that a run takes by itself, at most.
const MOST: usize = 8;

/// What threads have to gain: windows cost up to a tenth.
const WORTH: f64 = 1.2;

/// Turns after which the other way is tried again.
const PATIENCE: u32 = 100;

/// Makes a run once more, in one domain.
type Again<O> = Box<dyn FnOnce() -> Simulation<O> + Send>;

/// A run and who works on it.
pub struct Crew<O = ()> {
    pub simulation: Simulation<O>,
    /// While it is open whether it needs domains.
    open: Option<Again<O>>,
    threads: usize,
    /// All that there may be.
    most: usize,
    /// How much faster all are than one.
    pub gain: Option<f64>,
    turns: u32,
}

impl Crew {
    /// For so many threads, or for as many as pay.
    ///
    /// # Errors
    /// See [`Simulation::new`].
    pub fn new(network: Network, threads: Option<usize>) -> Result<Self, String> {
        // Python runs one thread at a time.
        let in_python = network.controls.iter().any(|control| control.written.is_some());
        let cores = available_parallelism().map_or(1, NonZero::get).min(MOST);
        let most = if in_python { 1 } else { threads.unwrap_or(cores).max(1) };
        if most == 1 {
            return Ok(Self::alone(Simulation::new(network)?));
        }
        if threads.is_some() {
            return Ok(Self::of(Simulation::parted(network, most)?, most, None));
        }
        let again = network.clone();
        let again = move || Simulation::new(again).expect("a network that has been set up before");
        Ok(Self::of(Simulation::parted_if_long(network, most, LONG)?, most, Some(Box::new(again))))
    }
}

impl<O: Observer + Send> Crew<O> {
    /// One thread.
    pub fn alone(simulation: Simulation<O>) -> Self {
        Self::of(simulation, 1, None)
    }

    fn of(mut simulation: Simulation<O>, most: usize, open: Option<Again<O>>) -> Self {
        let most = most.min(simulation.domains());
        simulation.set_threads(most);
        Self { simulation, open: open.filter(|_| most > 1), threads: most, most, gain: None, turns: 0 }
    }

    /// How many threads work on it now.
    pub fn threads(&self) -> usize {
        self.threads
    }

    fn set_threads(&mut self, threads: usize) {
        self.threads = threads;
        self.simulation.set_threads(threads);
    }

    /// Goes on for a while.
    pub fn turn(&mut self) -> Progress {
        if let Some(again) = self.open.take() {
            return self.begin(again);
        }
        self.turns += 1;
        if self.gain.is_none() || !self.turns.is_multiple_of(PATIENCE) {
            return turn(&mut self.simulation, EVENTS_A_TURN);
        }
        let [one, all] = [1, self.most].map(|threads| self.speed_of(threads));
        self.decide(all / one);
        if self.simulation.is_over() { Progress::Done } else { Progress::Running }
    }

    /// The same, up to a time; whether it has come there.
    pub fn reach(&mut self, at: Time) -> bool {
        self.simulation.reach(at, EVENTS_A_TURN)
    }

    /// The first turns, after which it goes on in domains or begins again without.
    fn begin(&mut self, again: Again<O>) -> Progress {
        let (mut one, mut all) = (0.0_f64, 0.0_f64);
        for _ in 0..2 {
            all = all.max(self.speed_of(self.most));
            one = one.max(self.speed_of(1));
        }
        if self.simulation.is_over() {
            return Progress::Done;
        }
        if all < one * WORTH {
            self.simulation = again();
            (self.threads, self.most) = (1, 1);
            // Whoever stops it here has something, too.
            return turn(&mut self.simulation, EVENTS_A_TURN);
        }
        self.decide(all / one);
        Progress::Running
    }

    fn decide(&mut self, gain: f64) {
        self.gain = Some(gain);
        self.set_threads(if gain > 1.0 { self.most } else { 1 });
    }

    /// Packet-hops a second over a short turn on so many threads.
    #[allow(clippy::disallowed_methods, reason = "who works on it, not what comes out")]
    fn speed_of(&mut self, threads: usize) -> f64 {
        self.set_threads(threads);
        let (before, started) = (self.simulation.packet_hops(), Instant::now());
        turn(&mut self.simulation, EVENTS_A_TRIAL);
        (self.simulation.packet_hops() - before) as f64 / started.elapsed().as_secs_f64().max(1e-9)
    }
}

/// A function of its own, whatever the compiler finds: `make counts` counts what happens in it.
#[inline(never)]
fn turn<O: Observer + Send>(simulation: &mut Simulation<O>, events: u64) -> Progress {
    simulation.advance(events)
}
