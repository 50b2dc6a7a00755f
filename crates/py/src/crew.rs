//! How many threads go through a run: as many as its user says, or by itself as many as pay.
//!
//! What comes out is the same for any number; only how fast it comes is not, and depends on the network and on what else the
//! machine does. So a run tries, some turns on all threads and some on one, and goes on with what is faster; again now and then,
//! and at once where all threads become slower than one was: machines get busy, and quiet again. One that has only to promise
//! to be long begins in domains; where threads gain too little there, it begins again in one, which has no windows to pay for.

use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use shallows_cc::units::Time;
use shallows_sim::engine::simulation::{Progress, Simulation};
use shallows_sim::observe::Observer;
use shallows_sim::spec::network::Network;

/// Events between two looks at Ctrl-C.
const EVENTS_A_TURN: u64 = 500_000;

/// And of turns that only try: short ones first, for a machine on which threads that wait for each other hardly get on.
const SHORT_TRIAL: u64 = 10_000;
const TRIAL: u64 = 200_000;

/// Several threads go on for longer, as they have to be made for each turn: about so many seconds, up to so many events.
const SECONDS_A_TURN: f64 = 0.1;
const MOST_A_TURN: u64 = 4_000_000;

/// With all threads so much slower than one they do not get on.
const TOO_SLOW: f64 = 2.0;

/// And with so much slower they will not.
const HOPELESS: f64 = 20.0;

/// For so long, and so many turns, they may: in some virtual machines a core that has been idle needs tens of milliseconds.
const START: (Duration, u32) = (Duration::from_millis(40), 3);

/// Threads that gained nothing are tried again after a turn, then after two, four and so on. A run for which it is open whether it
/// needs domains gives up before it would wait for so many.
const GIVE_UP: u32 = 4;

/// Packet-hops from which a run is long: some seconds, of which a trial takes a hundredth.
const LONG: f64 = 50e6;

/// Threads that a run takes by itself, at most.
const MOST: usize = 8;

/// What threads have to gain: windows cost up to a tenth.
const WORTH: f64 = 1.2;

/// Turns after which both ways are tried again.
const PATIENCE: u32 = 100;

/// Turns between two trials at least.
const AT_LEAST: u32 = 10;

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
    /// How much faster all are than one, and packet-hops a second of one, by the last trial.
    pub gain: Option<f64>,
    alone: f64,
    /// How many those that work on it went through in the last turn.
    speed: f64,
    /// Turns until the next trial.
    patience: u32,
    /// How many that was after the last trial, where threads gained nothing but may yet.
    wait: u32,
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
        let open = open.filter(|_| most > 1);
        Self { simulation, open, threads: most, most, gain: None, alone: 0.0, speed: 0.0, patience: 0, wait: 0 }
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
        if self.most > 1 && self.patience == 0 {
            return self.try_both();
        }
        let events = if self.threads == 1 { 0 } else { (self.speed * SECONDS_A_TURN) as u64 };
        self.speed = self.speed_of(self.threads, events.clamp(EVENTS_A_TURN, MOST_A_TURN));
        let is_slow = self.threads > 1 && self.speed < self.alone && self.patience < PATIENCE - AT_LEAST;
        self.patience = if is_slow { 0 } else { self.patience.saturating_sub(1) };
        self.progress()
    }

    fn progress(&self) -> Progress {
        if self.simulation.is_over() { Progress::Done } else { Progress::Running }
    }

    /// The same, up to a time; whether it has come there.
    pub fn reach(&mut self, at: Time) -> bool {
        self.simulation.reach(at, EVENTS_A_TURN)
    }

    /// Some turns on all threads and some on one. Where it is open whether threads pay and they gain too little, the run begins
    /// again without.
    fn try_both(&mut self) -> Progress {
        let mut one = self.speed_of(1, SHORT_TRIAL);
        let mut all = self.start(one);
        if all * TOO_SLOW >= one && !self.simulation.is_over() {
            (all, one) = (self.speed_of(self.most, TRIAL), self.speed_of(1, TRIAL));
        }
        if self.simulation.is_over() {
            self.threads = self.most;
            return Progress::Done;
        }
        let gain = all / one;
        let may_yet = gain <= 1.0 && gain * HOPELESS >= 1.0;
        self.wait = if may_yet { (2 * self.wait).clamp(1, PATIENCE) } else { 0 };
        (self.gain, self.alone, self.patience) = (Some(gain), one, if may_yet { self.wait } else { PATIENCE });
        self.set_threads(if gain > 1.0 { self.most } else { 1 });
        if may_yet && self.wait < GIVE_UP {
            return Progress::Running;
        }
        if let Some(again) = self.open.take().filter(|_| gain < WORTH) {
            self.simulation = again();
            (self.threads, self.most) = (1, 1);
            // Whoever stops it here has something, too.
            return turn(&mut self.simulation, EVENTS_A_TURN);
        }
        Progress::Running
    }

    /// How fast all threads are as soon as they get on, beside a speed of one; the fastest that was seen if they do not.
    #[allow(clippy::disallowed_methods, reason = "who works on it, not what comes out")]
    fn start(&mut self, one: f64) -> f64 {
        let (mut all, mut turns, started) = (0.0_f64, 0, Instant::now());
        let (long, several) = START;
        while all * TOO_SLOW < one && (turns < several || started.elapsed() < long) && !self.simulation.is_over() {
            all = all.max(self.speed_of(self.most, SHORT_TRIAL));
            turns += 1;
            if turns >= several && all * HOPELESS < one {
                break;
            }
        }
        all
    }

    /// Packet-hops a second over a turn on so many threads.
    #[allow(clippy::disallowed_methods, reason = "who works on it, not what comes out")]
    fn speed_of(&mut self, threads: usize, events: u64) -> f64 {
        self.set_threads(threads);
        let (before, started) = (self.simulation.packet_hops(), Instant::now());
        turn(&mut self.simulation, events);
        (self.simulation.packet_hops() - before).max(1) as f64 / started.elapsed().as_secs_f64().max(1e-9)
    }
}

/// A function of its own, whatever the compiler finds: `make counts` counts what happens in it.
#[inline(never)]
fn turn<O: Observer + Send>(simulation: &mut Simulation<O>, events: u64) -> Progress {
    simulation.advance(events)
}
