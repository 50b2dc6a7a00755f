//! Networks by their numbers. A number that was never given, or whose network was closed, is an error and not a wild pointer.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use shallows_cc::units::{Bytes, Time};
use shallows_contract::file::RequestFile;
use shallows_sim::{Advance, Answer, Completion, FlowObservation, FlowSpec, LinkObservation, Progress, Simulation};

static NETWORKS: Mutex<BTreeMap<u64, Arc<Mutex<Open>>>> = Mutex::new(BTreeMap::new());
static LAST: AtomicU64 = AtomicU64::new(0);

/// Events between two looks at whether a run that is finished has ended.
const SLICE: u64 = 1 << 20;

/// An open network.
#[derive(Clone, Debug)]
pub struct Open {
    run: Simulation,
    links: Arc<[String]>,
    duration: Time,
    /// Whether a flow without an end keeps a run without a duration from ending.
    endless: bool,
    /// Completions that the program has not taken.
    completions: VecDeque<Completion>,
    /// Observations that the program has not taken; none if it has never asked.
    observations: Option<VecDeque<FlowObservation>>,
}

fn all() -> MutexGuard<'static, BTreeMap<u64, Arc<Mutex<Open>>>> {
    // No panic can leave the table half changed.
    NETWORKS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps a network; returns its number.
pub fn keep(network: Open) -> u64 {
    let number = LAST.fetch_add(1, Ordering::Relaxed) + 1;
    all().insert(number, Arc::new(Mutex::new(network)));
    number
}

fn unknown(number: u64) -> String {
    format!("network {number}: expected a number that shallows_open or shallows_fork returned and that is not closed")
}

/// Calls `work` with a network. A second thread waits.
///
/// # Errors
/// No network has this number, a bug has left it unusable, or that of `work`.
pub fn with<T>(number: u64, work: impl FnOnce(&mut Open) -> Result<T, String>) -> Result<T, String> {
    let found = all().get(&number).cloned().ok_or_else(|| unknown(number))?;
    let mut network = found.lock().map_err(|_| format!("network {number}: unusable since a bug; close it"))?;
    work(&mut network)
}

/// Forgets a network; returns it unless a bug has left it unusable.
///
/// # Errors
/// No network has this number, or another thread uses it.
pub fn close(number: u64) -> Result<Option<Open>, String> {
    let mut networks = all();
    let found = networks.remove(&number).ok_or_else(|| unknown(number))?;
    match Arc::try_unwrap(found) {
        Ok(network) => Ok(network.into_inner().ok()),
        Err(used) => {
            networks.insert(number, used);
            Err(format!("network {number}: expected no other thread that uses it"))
        }
    }
}

impl Open {
    /// Opens the network of a request file with this text.
    ///
    /// # Errors
    /// A mistake in the file.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let RequestFile { network, links } = RequestFile::parse(text)?;
        let (duration, endless) = (network.duration, network.flows.iter().any(is_endless));
        let run = Simulation::open(network, 1)?;
        let (completions, observations) = (VecDeque::new(), None);
        Ok(Self { run, links: links.into(), duration, endless, completions, observations })
    }

    /// The time before which everything has happened.
    pub fn time(&self) -> Time {
        self.run.clock()
    }

    /// Adds flows; returns the number of the first.
    pub fn send(&mut self, flows: Vec<FlowSpec>) -> Result<u32, String> {
        let endless = flows.iter().any(is_endless);
        let numbers = self.run.send_all(flows)?;
        self.endless |= endless;
        Ok(numbers.start)
    }

    /// Advances to a time, or to a completion before it.
    pub fn advance(&mut self, to: Time, stops: bool) -> Result<Advance, String> {
        if stops { self.run.advance_to_completion(to) } else { self.run.advance_to(to) }
    }

    /// Takes at most this number of completions. What has ended and was reported needs no memory from then on.
    pub fn completions(&mut self, most: usize) -> impl Iterator<Item = Completion> {
        self.completions.extend(self.run.completions());
        if self.observations.is_some() {
            self.observe();
        }
        self.run.retire();
        self.completions.drain(..most.min(self.completions.len()))
    }

    fn observe(&mut self) {
        let new = self.run.observe_flows();
        self.observations.get_or_insert_default().extend(new);
    }

    /// Takes at most this number of observations of flows; a new observation is made when those of the last one are taken.
    pub fn observations(&mut self, most: usize) -> impl Iterator<Item = FlowObservation> {
        if self.observations.as_ref().is_none_or(VecDeque::is_empty) {
            self.observe();
        }
        let left = self.observations.get_or_insert_default();
        left.drain(..most.min(left.len()))
    }

    /// The state of some links.
    pub fn links(&self, links: &[u32]) -> Result<Vec<LinkObservation>, String> {
        self.run.observe_links(links)
    }

    /// The number of the link with this name.
    pub fn link(&self, name: &str) -> Result<u32, String> {
        let place = self.links.iter().position(|link| link == name);
        let example = self.links.first().map_or("none", String::as_str);
        place.map(|place| place as u32).ok_or_else(|| {
            format!("link {name:?}: expected one of the {} of the request file, such as {example:?}", self.links.len())
        })
    }

    /// Checks that the run ends once no flow joins any more.
    pub fn check_end(&self) -> Result<(), String> {
        if self.endless && self.duration == Time::MAX {
            return Err("a flow without an end: expected a scenario with a duration".to_owned());
        }
        Ok(())
    }

    /// Lets no further flow join, and runs to the end.
    pub fn finish(mut self) -> Answer {
        self.run.close();
        while self.run.advance(SLICE) == Progress::Running {}
        self.run.finish()
    }
}

fn is_endless(flow: &FlowSpec) -> bool {
    flow.bytes == Bytes::MAX && flow.stop == Time::MAX
}
