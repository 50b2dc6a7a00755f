//! Algorithms written in Python: a class behind the same trait as the algorithms of the catalog.
//!
//! Quantities are floats: seconds, packets of payload, bits per second. If a call raises an exception, the flow keeps its
//! last decision, and the run ends at the next report of progress with the exception and its traceback.

use std::collections::BTreeSet;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use shallows_cc::event::{Ack, Loss, LostPacket};
use shallows_cc::sender::{Decision, Path, Segments, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

use crate::raised::{Leaf, Raised};
use crate::user_events::{PyAck, PyLoss, PyLostPacket};

/// Largest number of different names of probes in a process: each stays in memory.
const MOST_NAMES: usize = 1000;

/// One flow of an algorithm in Python.
#[derive(Debug)]
pub struct UserAlgorithm {
    object: Option<Py<PyAny>>,
    mss: Bytes,
    raised: Raised,
    decision: Decision,
    asks: Asks,
}

/// Events of which an algorithm hears only if it asks for them.
#[derive(Clone, Copy, Debug, Default)]
struct Asks {
    /// Delivery-rate samples: by a method that needs them, or `samples_delivery = True`.
    delivery: bool,
    /// Departures: by a method `on_sent`.
    departures: bool,
    /// Which of the other methods exist.
    packet_lost: bool,
    spurious_loss: bool,
    restart: bool,
    notification: bool,
}

impl Asks {
    /// Reads for which events an object asks.
    fn of(object: &Bound<'_, PyAny>) -> PyResult<Self> {
        let has = |method| object.hasattr(method);
        let said = object.getattr_opt("samples_delivery")?.map(|value| value.is_truthy()).transpose()?;
        let departures = has("on_sent")?;
        let (packet_lost, spurious_loss) = (has("on_packet_lost")?, has("on_spurious_loss")?);
        let (restart, notification) = (has("on_restart")?, has("on_notification")?);
        let delivery = said.unwrap_or(false) || packet_lost || spurious_loss || restart;
        Ok(Self { delivery, departures, packet_lost, spurious_loss, restart, notification })
    }
}

impl UserAlgorithm {
    /// Creates an instance of `class` with the initial window in packets and the host's rate in bits per second.
    pub fn boxed(class: &Py<PyAny>, path: &Path, raised: &Raised) -> Box<dyn Sender> {
        let arguments = (path.initial_window / path.mss, path.line_rate.0 as f64);
        let (decision, mut asks) = (Decision::window(path.mss), Asks::default());
        let mut written = Self { object: None, mss: path.mss, raised: raised.clone(), decision, asks };
        written.keep(|_, py| {
            let object = class.call1(py, arguments)?;
            asks = Asks::of(object.bind(py))?;
            Ok(Some(object))
        });
        written.asks = asks;
        written.decide(path.now);
        Box::new(written)
    }

    /// Calls into Python unless a call has raised before; replaces the object if `call` returns one.
    fn keep(&mut self, call: impl FnOnce(&Self, Python<'_>) -> PyResult<Option<Py<PyAny>>>) {
        if let Some(Some(object)) = self.raised.call(|py| call(self, py)) {
            self.object = Some(object);
        }
    }

    /// Tells of an event at `now`, of which the method gets the time and `event`, and asks for the decision.
    fn tell(&mut self, method: &str, now: Time, event: impl for<'py> IntoPyObject<'py>) {
        self.call(now, |object| object.call_method1(method, (now.as_secs(), event)));
    }

    /// Tells of an event at `now` of which the method gets the time alone, and asks for the decision.
    fn tell_time(&mut self, method: &str, now: Time) {
        self.call(now, |object| object.call_method1(method, (now.as_secs(),)));
    }

    fn call(&mut self, now: Time, call: impl for<'py> FnOnce(&Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>>) {
        self.keep(|this, py| {
            if let Some(object) = &this.object {
                call(object.bind(py))?;
            }
            Ok(None)
        });
        self.decide(now);
    }

    /// Asks for the decision. If the answer is none, an error is raised and the last decision stays.
    fn decide(&mut self, now: Time) {
        let mut decided = None;
        self.keep(|this, py| {
            if let Some(object) = &this.object {
                let answer = object.bind(py).call_method0("decision")?;
                decided = Some(read(&answer, now).map_err(|wrong| refused(object.bind(py), &answer, &wrong))?);
            }
            Ok(None)
        });
        if let Some((window, pace, wake)) = decided {
            self.decision = Decision {
                window: self.mss.scale(window),
                pace: pace.map(|rate| Rate((rate as u64).max(1))),
                wake: wake.map(Time::from_secs),
            };
        }
    }
}

/// A window in packets, a pace in bits per second and the time of the next call.
type Decided = (f64, Option<f64>, Option<f64>);

/// Reads a decision: a window alone, or all three, of which pace and time may be None.
fn read(answer: &Bound<'_, PyAny>, now: Time) -> Result<Decided, String> {
    let decided: Decided = match answer.extract::<f64>() {
        Ok(window) => (window, None, None),
        Err(_) => answer.extract().map_err(|_| "it is neither a number nor three".to_owned())?,
    };
    let (window, pace, wake) = decided;
    if !window.is_finite() || window < 0.0 {
        return Err(format!("a window of {window} packets"));
    }
    if let Some(pace) = pace.filter(|pace| !pace.is_finite() || *pace <= 0.0) {
        return Err(format!("a pace of {pace} bit/s"));
    }
    if let Some(wake) = wake.filter(|wake| !wake.is_finite() || Time::from_secs(wake.max(0.0)) <= now) {
        return Err(format!("to be called at {wake} s, which is not later than now, {} s", now.as_secs()));
    }
    Ok(decided)
}

/// The error that names the class, what it returned, and what it may return.
fn refused(object: &Bound<'_, PyAny>, answer: &Bound<'_, PyAny>, wrong: &str) -> PyErr {
    let class = object.get_type().name().map_or_else(|_| "decision".to_owned(), |name| name.to_string());
    let returned = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
    let said = format!("{class}.decision() returned {returned}: {wrong}");
    let expected =
        "a window in packets, 0 or more, or (window, pace above 0 in bit/s or None, a time to come in seconds or None)";
    mistake(object.py(), &said, expected)
}

/// A `shallows.errors.ScenarioError` with one sentence about the user's mistake.
fn mistake(py: Python<'_>, said: &str, expected: &str) -> PyErr {
    let error = py.import("shallows.errors").and_then(|errors| errors.getattr("ScenarioError"));
    error.and_then(|error| error.call1((said, py.None(), expected))).map_or_else(|other| other, PyErr::from_value)
}

/// The result of `probe()`, if the object has it: a dict of names and numbers.
fn probed(object: &Bound<'_, PyAny>) -> PyResult<Vec<(&'static str, f64)>> {
    if !object.hasattr("probe")? {
        return Ok(Vec::new());
    }
    let answer = object.call_method0("probe")?;
    let probes = answer.cast::<PyDict>().ok().and_then(|probes| {
        probes.iter().map(|(name, value)| Some((name.extract::<String>().ok()?, value.extract().ok()?))).collect()
    });
    let probes: Vec<(String, f64)> = probes.ok_or_else(|| {
        let class = object.get_type().name().map_or_else(|_| "probe".to_owned(), |name| name.to_string());
        let returned = answer.repr().map_or_else(|_| "something".to_owned(), |text| text.to_string());
        mistake(object.py(), &format!("{class}.probe() returned {returned}"), "a dict of names and numbers")
    })?;
    probes.into_iter().map(|(name, value)| Ok((lasting(object.py(), &name)?, value))).collect()
}

/// A name that lasts as long as the process, as those of the catalog's algorithms do. Equal names are stored once.
fn lasting(py: Python<'_>, name: &str) -> PyResult<&'static str> {
    static NAMES: Leaf<BTreeSet<&'static str>> = Leaf::new(BTreeSet::new());
    let known = NAMES.with(|names| {
        if names.len() < MOST_NAMES && !names.contains(name) {
            names.insert(Box::leak(name.to_owned().into_boxed_str()));
        }
        names.get(name).copied()
    });
    known.ok_or_else(|| {
        let expected = format!("the same few names every time, {MOST_NAMES} at most");
        mistake(py, &format!("probe() named {name:?}"), &expected)
    })
}

impl Clone for UserAlgorithm {
    /// A deep copy of the object. If Python cannot copy it, the run ends with the exception.
    fn clone(&self) -> Self {
        let (mss, raised) = (self.mss, self.raised.clone());
        let mut copy = Self { object: None, mss, raised, decision: self.decision, asks: self.asks };
        copy.keep(|_, py| {
            let Some(object) = &self.object else { return Ok(None) };
            Ok(Some(py.import("copy")?.call_method1("deepcopy", (object,))?.unbind()))
        });
        copy
    }
}

impl Sender for UserAlgorithm {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.tell("on_ack", now, PyAck::of(ack, self.mss));
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        self.tell("on_loss", now, PyLoss::of(loss, self.mss));
    }

    fn hears_departures(&self) -> bool {
        self.asks.departures
    }

    fn on_sent(&mut self, now: Time, sent: Bytes) -> bool {
        self.tell("on_sent", now, sent.0);
        true
    }

    fn samples_delivery(&self) -> bool {
        self.asks.delivery
    }

    fn on_packet_lost(&mut self, now: Time, lost: &LostPacket) {
        if self.asks.packet_lost {
            self.tell("on_packet_lost", now, PyLostPacket::of(lost, self.mss));
        }
    }

    fn on_spurious_loss(&mut self, now: Time) {
        if self.asks.spurious_loss {
            self.tell_time("on_spurious_loss", now);
        }
    }

    fn on_restart(&mut self, now: Time) {
        if self.asks.restart {
            self.tell_time("on_restart", now);
        }
    }

    fn on_notification(&mut self, now: Time) {
        if self.asks.notification {
            self.tell_time("on_notification", now);
        }
    }

    fn on_wake(&mut self, now: Time) {
        self.tell_time("on_wake", now);
    }

    fn decision(&self) -> Decision {
        self.decision
    }

    /// Over RoCE each frame is answered: a window of less than a segment would wait for ever.
    fn segments(&self) -> Segments {
        Segments { size: self.mss, at_once: false, burst_rate: None }
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        let Some(object) = &self.object else { return };
        let probes = self.raised.call(|py| probed(object.bind(py)));
        probes.into_iter().flatten().for_each(|(name, value)| record(name, value));
    }
}
