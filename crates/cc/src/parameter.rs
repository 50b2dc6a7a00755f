//! Parameters as data: one table that the command line, the documentation, the Python package and the algorithm read.

use std::ops::RangeInclusive;

use crate::units::{Bytes, Rate, Time};

/// Unit of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A share, a gain, a count.
    One,
    /// Seconds.
    Time,
    /// Bytes.
    Bytes,
    /// Bits per second.
    Rate,
    /// Full-sized packets.
    Packets,
    /// 0 or 1.
    Flag,
}

impl Unit {
    /// Returns the unit as tables print it.
    #[must_use]
    pub const fn symbol(self) -> &'static str {
        match self {
            Self::One => "1",
            Self::Time => "s",
            Self::Bytes => "B",
            Self::Rate => "bit/s",
            Self::Packets => "pkt",
            Self::Flag => "flag",
        }
    }
}

/// One parameter of an algorithm.
#[derive(Clone, Copy, Debug)]
pub struct Parameter {
    /// Its name in a scenario.
    pub name: &'static str,
    /// Its symbol in the source.
    pub symbol: &'static str,
    /// Its unit; `default`, `min` and `max` are in SI base units.
    pub unit: Unit,
    /// Its value unless a scenario sets it.
    pub default: f64,
    /// The smallest allowed value.
    pub min: f64,
    /// The largest allowed value.
    pub max: f64,
    /// What it does, in a sentence.
    pub meaning: &'static str,
    /// Source of the default.
    pub source: &'static str,
    /// The rule by which the default follows the network, by its name in `shallows.algorithms.defaults`.
    pub follows: Option<&'static str>,
    /// Whether it is a length of a port's queue, with which a marking compares that queue.
    pub is_threshold: bool,
    /// Whether a port keeps it for the whole run, because what it decided has happened or is a property of the port.
    pub is_fixed: bool,
    /// The flag without which it acts on nothing.
    pub needs: Option<&'static str>,
}

/// A share, a gain or a count with its default and its allowed values.
#[must_use]
pub const fn number(name: &'static str, symbol: &'static str, default: f64, lawful: RangeInclusive<f64>) -> Parameter {
    Parameter::new(name, symbol, default, lawful)
}

/// A span of time, in seconds.
#[must_use]
pub const fn time(name: &'static str, symbol: &'static str, default: f64, lawful: RangeInclusive<f64>) -> Parameter {
    Parameter { unit: Unit::Time, ..Parameter::new(name, symbol, default, lawful) }
}

/// A size, in bytes.
#[must_use]
pub const fn bytes(name: &'static str, symbol: &'static str, default: f64, lawful: RangeInclusive<f64>) -> Parameter {
    Parameter { unit: Unit::Bytes, ..Parameter::new(name, symbol, default, lawful) }
}

/// A rate, in bits per second.
#[must_use]
pub const fn rate(name: &'static str, symbol: &'static str, default: f64, lawful: RangeInclusive<f64>) -> Parameter {
    Parameter { unit: Unit::Rate, ..Parameter::new(name, symbol, default, lawful) }
}

/// A size, in full packets.
#[must_use]
pub const fn packets(name: &'static str, symbol: &'static str, default: f64, lawful: RangeInclusive<f64>) -> Parameter {
    Parameter { unit: Unit::Packets, ..Parameter::new(name, symbol, default, lawful) }
}

/// A yes or no.
#[must_use]
pub const fn flag(name: &'static str, symbol: &'static str, default: bool) -> Parameter {
    Parameter { unit: Unit::Flag, ..Parameter::new(name, symbol, if default { 1.0 } else { 0.0 }, 0.0..=1.0) }
}

impl Parameter {
    const fn new(name: &'static str, symbol: &'static str, default: f64, lawful: RangeInclusive<f64>) -> Self {
        let (min, max) = (*lawful.start(), *lawful.end());
        Self {
            name,
            symbol,
            unit: Unit::One,
            default,
            min,
            max,
            meaning: "",
            source: "",
            follows: None,
            is_threshold: false,
            is_fixed: false,
            needs: None,
        }
    }

    /// Adds what it does, in a sentence.
    #[must_use]
    pub const fn meaning(self, meaning: &'static str) -> Self {
        Self { meaning, ..self }
    }

    /// Adds the source of its default.
    #[must_use]
    pub const fn source(self, source: &'static str) -> Self {
        Self { source, ..self }
    }

    /// Adds the rule by which its default follows the network.
    #[must_use]
    pub const fn follows(self, rule: &'static str) -> Self {
        Self { follows: Some(rule), ..self }
    }

    /// Says that it acts on nothing without this flag.
    #[must_use]
    pub const fn needs(self, flag: &'static str) -> Self {
        Self { needs: Some(flag), ..self }
    }

    /// Says that it is a length of a port's queue, with which a marking compares that queue.
    #[must_use]
    pub const fn threshold(self) -> Self {
        Self { is_threshold: true, ..self }
    }

    /// Says that a port keeps it for the whole run.
    #[must_use]
    pub const fn fixed(self) -> Self {
        Self { is_fixed: true, ..self }
    }
}

/// A named set of values that belongs to a paper or an implementation, as in `vegas@ns-2`.
#[derive(Clone, Copy, Debug)]
pub struct Preset {
    /// The part after the `@`.
    pub name: &'static str,
    /// The values that differ from the defaults.
    pub values: &'static [(&'static str, f64)],
    /// Their source.
    pub source: &'static str,
}

/// The values an algorithm is built with: one for each of its parameters.
#[derive(Clone, Debug)]
pub struct Values {
    parameters: &'static [Parameter],
    values: Vec<f64>,
}

impl Values {
    /// Creates the defaults of all parameters.
    #[must_use]
    pub fn defaults(parameters: &'static [Parameter]) -> Self {
        Self { parameters, values: parameters.iter().map(|p| p.default).collect() }
    }

    /// Sets one parameter.
    ///
    /// # Errors
    /// A message that names the parameter and the expected values.
    pub fn set(&mut self, name: &str, value: f64) -> Result<(), String> {
        let Some(at) = self.parameters.iter().position(|p| p.name == name) else {
            let known: Vec<_> = self.parameters.iter().map(|p| p.name).collect();
            return Err(format!("no parameter {name:?}; it has {known:?}"));
        };
        let p = &self.parameters[at];
        if !(p.min..=p.max).contains(&value) {
            return Err(format!("{name} = {value}: expected {} to {} {}", p.min, p.max, p.unit.symbol()));
        }
        self.values[at] = value;
        Ok(())
    }

    /// A value in SI base units.
    ///
    /// # Panics
    /// If the algorithm asks for a parameter it did not declare.
    #[must_use]
    pub fn get(&self, name: &str) -> f64 {
        let at = self.parameters.iter().position(|p| p.name == name);
        self.values[at.expect("an algorithm reads only the parameters it declares")]
    }

    /// A value as a span of time.
    #[must_use]
    pub fn time(&self, name: &str) -> Time {
        Time::from_secs(self.get(name))
    }

    /// A value as a size.
    #[must_use]
    pub fn bytes(&self, name: &str) -> Bytes {
        Bytes(self.get(name) as u64)
    }

    /// A value as a rate.
    #[must_use]
    pub fn rate(&self, name: &str) -> Rate {
        Rate(self.get(name) as u64)
    }

    /// A value as a yes or no.
    #[must_use]
    pub fn flag(&self, name: &str) -> bool {
        self.get(name) != 0.0
    }
}
