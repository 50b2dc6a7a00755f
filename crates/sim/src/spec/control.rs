//! Algorithms as a request names them, and as the simulator builds their senders and receivers.

use std::collections::BTreeMap;
use std::sync::Arc;

use shallows_cc::catalog::{self, Algorithm, Marking, SendControl};
use shallows_cc::multipath::Multipath;
use shallows_cc::parameter::{Parameter, Values};
use shallows_cc::port::credit::CreditShaper;
use shallows_cc::receiver::{AlternateReceiver, CreditPath, Credits, Grants, Receiver, SUBSTITUTES};
use shallows_cc::sender::{Path, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

request! {
    /// An algorithm by name.
    pub struct ControlSpec as "Control" {
        /// A row of `catalog()`.
        name: String,
        /// Some of the row's parameters, in SI base units (s, bytes, bit/s) or dimensionless; a flag is 0 or 1. The others have
        /// the defaults of the row.
        parameters: BTreeMap<String, f64>,
        /// A receiver instead of the algorithm's own.
        receiver: Option<ReceiverSpec>,
        /// Data packets that an acknowledgement of its receivers covers, 1 to 255. Left out: 1.
        acks_every: Option<u32>,
        /// A Python class (docs/algorithms.md) instead of the row's sender; packet world only. It is passed as its number among
        /// the classes of the request.
        user_algorithm: Option<u32>,
    }
}

request! {
    /// A receiver by name.
    pub struct ReceiverSpec as "Receiver" {
        /// A row of `receivers()`.
        kind: String,
        /// Some of the row's parameters, in SI base units.
        parameters: BTreeMap<String, f64>,
    }
}

/// The values of a row's parameters: those that are given, and the defaults of the others.
///
/// # Errors
/// An unknown parameter, or a value out of range.
pub fn values(name: &str, parameters: &'static [Parameter], given: &BTreeMap<String, f64>) -> Result<Values, String> {
    let mut values = Values::defaults(parameters);
    for (key, &value) in given {
        values.set(key, value).map_err(|problem| format!("{name}: {problem}"))?;
    }
    Ok(values)
}

impl ControlSpec {
    /// Data packets that an acknowledgement of its receivers covers.
    #[must_use]
    pub fn acks_every(&self) -> u32 {
        self.acks_every.unwrap_or(1)
    }

    /// The algorithm; `user_algorithm` finds a Python class by its number.
    ///
    /// # Errors
    /// An unknown name, parameter or class.
    pub fn resolve(&self, user_algorithm: &dyn Fn(u32) -> Option<UserAlgorithm>) -> Result<Control, String> {
        let algorithm = catalog::find(&self.name).ok_or_else(|| format!("no algorithm is called {:?}", self.name))?;
        let find = |number| user_algorithm(number).ok_or_else(|| format!("user_algorithm: no class {number}"));
        Ok(Control {
            algorithm,
            values: values(&self.name, algorithm.parameters, &self.parameters)?,
            receiver: self.receiver.as_ref().map(ReceiverSpec::resolve).transpose()?,
            acks_every: self.acks_every(),
            user_algorithm: self.user_algorithm.map(find).transpose()?,
        })
    }
}

impl ReceiverSpec {
    fn resolve(&self) -> Result<(&'static AlternateReceiver, Values), String> {
        let known = SUBSTITUTES.iter().find(|receiver| receiver.name == self.kind);
        let receiver = known.ok_or_else(|| format!("no receiver is called {:?}", self.kind))?;
        Ok((receiver, values(&self.kind, receiver.parameters, &self.parameters)?))
    }
}

/// An algorithm with its parameters.
#[derive(Clone, Debug)]
pub struct Control {
    /// Row of the catalog.
    pub algorithm: &'static Algorithm,
    /// Values of its parameters.
    pub values: Values,
    /// Receiver that replaces the algorithm's own, with its parameters.
    pub receiver: Option<(&'static AlternateReceiver, Values)>,
    /// Data packets that an acknowledgement of its receivers covers.
    pub acks_every: u32,
    /// Sender that replaces the algorithm's own.
    pub user_algorithm: Option<UserAlgorithm>,
}

/// Makes the senders of an algorithm that is not in the catalog.
#[derive(Clone)]
pub struct UserAlgorithm(pub Arc<MakeSender>);

/// Makes the sender of one flow.
pub type MakeSender = dyn Fn(&Path) -> Box<dyn Sender> + Send + Sync;

impl std::fmt::Debug for UserAlgorithm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("UserAlgorithm")
    }
}

impl Control {
    /// The sender of a flow.
    #[must_use]
    pub fn sender(&self, path: &Path) -> Box<dyn Sender> {
        match &self.user_algorithm {
            Some(UserAlgorithm(make)) => make(path),
            None => (self.algorithm.sender)(&self.values, path),
        }
    }

    /// The receiver of a flow.
    #[must_use]
    pub fn notification(&self) -> Box<dyn Receiver> {
        match &self.receiver {
            Some((alternate, values)) => (alternate.build)(values, self.acks_every),
            None => (self.algorithm.receiver.build)(&self.values, self.acks_every),
        }
    }

    /// True if its flows send only on credits.
    #[must_use]
    pub fn waits_for_credits(&self) -> bool {
        self.algorithm.transport.leave == SendControl::OnCredits
    }

    /// How its receivers grant credit in bytes, if they do.
    #[must_use]
    pub fn grants(&self) -> Option<Grants> {
        if self.waits_for_pulls() { self.notification().grants() } else { None }
    }

    /// How its flows choose among entropy values and find losses, if they do so themselves; `base_rtt` is the empty round trip.
    #[must_use]
    pub fn multipath(&self, base_rtt: Time) -> Option<Multipath> {
        self.algorithm.multipath.map(|read| read(&self.values, base_rtt))
    }

    /// True if its flows send only on pulls.
    #[must_use]
    pub fn waits_for_pulls(&self) -> bool {
        self.algorithm.transport.leave == SendControl::OnPulls
    }

    /// True if it can fill a queue until packets are lost. A sender that replaces that of the catalog may do so unless its packets can
    /// be marked.
    #[must_use]
    pub fn fills_queues(&self) -> bool {
        self.algorithm.fills_queues() || self.user_algorithm.is_some() && !self.algorithm.ecn_capable(&self.values)
    }

    /// True if its data collects telemetry records of the hops.
    #[must_use]
    pub fn asks_for_records(&self) -> bool {
        matches!(self.algorithm.marking, Marking::Records(_))
    }

    /// True if its receivers count packets. A receiver that replaces them reports what it marks instead.
    #[must_use]
    pub fn counts_packets(&self) -> bool {
        self.algorithm.counts_packets() && self.receiver.is_none() && self.user_algorithm.is_none()
    }

    /// True if its senders probe their paths ([`Sender::probe_interval`]).
    #[must_use]
    pub fn probes(&self) -> bool {
        let on = |(flag, interval)| self.values.flag(flag) && self.values.time(interval) > Time::ZERO;
        self.user_algorithm.is_none() && self.algorithm.traits.probes.is_some_and(on)
    }

    /// The source of credits of a flow that starts now; none if it needs no credits. `frame` is a full frame.
    #[must_use]
    pub fn credits(&self, now: Time, line_rate: Rate, frame: Bytes) -> Option<Box<dyn Credits>> {
        let build = self.algorithm.credits?;
        Some(build(&self.values, &CreditPath { now, line_rate, shaper: CreditShaper::new(&self.values, frame) }))
    }
}
