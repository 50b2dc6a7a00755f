//! Event scripts: timed events, expected decisions. Each file in `scripts/` drives one algorithm of the
//! catalog; the numbers in it are worked by hand from the algorithm's source.
//!
//! ```text
//! use dctcp g=0.0625 alpha=1          the algorithm and its parameters (SI base units)
//! path initial=10                     initial window in packets of 1460 bytes; rtt=100us: with empty queues; seed=2: of its draws; switches=5; active=3: flows of its sender;
//!                                     rate=400 in Gbps and mtu=4096, payload and frame in bytes, which are also the packets below
//! 100us ack sent=0us acked=1 -> window=11 alpha=0.9375
//! 200us loss in_flight=20 -> window=5
//! 300us timeout in_flight=20 -> window=1
//! 400us sent bytes=1500               a frame left
//! 410us notify -> pace=5              a congestion notification; the pace in Gbps
//! 420us offer rate=2                  the least rate that the ports on its way offer, in Gbps
//! 430us records queue=3000 sent=9000 at=410us     of every hop: bytes left behind, bytes gone before, when
//! 440us lost left_with=20 lost=1 delivered=90   a packet is found lost: packets in flight when it had left, lost since then, delivered by now
//! 450us spurious                      the losses were none
//! 455us restart                       the first packet after an idle time leaves
//! 465us wake                          at the very time it asked for
//! 470us grant -> credit=0 credit_gap_us=2.6   the next credit is due: its number, the time to the one after, `credit_bytes=`
//! 490us data number=0 granted=470us   data came that answers a credit
//! ```
//!
//! A timeout takes `lost=` and the word `repeated` (nothing was acknowledged since the one before). An ack also takes `rtt=` (otherwise now - sent), `delay=` (one way; otherwise half the RTT), `held=` (by the receiver's host), `samples=` (packets that it tells of), `marked=`,
//! `trimmed=`, `in_flight=`, and the words `idle` (the window did not limit the flow) and `recovering`. Sizes are in packets.
//! With `interval=` it takes a delivery-rate sample: `prior=` packets delivered when the packet left, `prior_at=`, `delivered=` since then,
//! `left_with=` in flight then, `lost=` since then, and the word `app_limited`.
//! After the arrow stand `window=` in packets, `pace=` (0: none) and any probe of the algorithm, to one
//! part in a thousand.

use std::fs;

use shallows_cc::catalog;
use shallows_cc::parameter::Values;
use shallows_cc::units::Time;

/// An event, or a line of the head.
pub struct Line<'a> {
    /// What stands before the arrow.
    pub words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    pub fn value(&self, key: &str) -> Option<&'a str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    pub fn time(&self, key: &str) -> Option<Time> {
        self.value(key).map(time)
    }

    pub fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

/// A time with its unit.
pub fn time(text: &str) -> Time {
    let (number, scale) = match text {
        t if t.ends_with("us") => (&t[..t.len() - 2], 1e-6),
        t if t.ends_with("ms") => (&t[..t.len() - 2], 1e-3),
        t => (t.strip_suffix('s').expect("a time ends in us, ms or s"), 1.0),
    };
    Time::from_secs(number.parse::<f64>().expect("a number before the unit") * scale)
}

/// What follows a script.
pub trait Follower {
    /// An event happens.
    fn tell(&mut self, line: &Line<'_>);

    /// The value of a probe, `window` or `pace`.
    fn observed(&self, name: &str) -> f64;

    /// By how much the value may be off.
    fn tolerance(&self, _name: &str, expected: f64) -> f64 {
        1e-3 * expected.abs().max(1.0)
    }
}

/// The parameters that a script uses, those of the catalog where it names none.
pub fn values(used: &Line<'_>) -> Values {
    let row = catalog::find(used.words[1]).expect("an algorithm of the catalog");
    let mut values = Values::defaults(row.parameters);
    for word in &used.words[2..] {
        let (name, value) = word.split_once('=').expect("name=value");
        values.set(name, value.parse().expect("a number")).expect("a parameter");
    }
    values
}

/// Follows a script with what `build` makes of its first two lines; whether it makes something.
pub fn follow(file: &str, script: &str, build: impl FnOnce(&Line<'_>, &Line<'_>) -> Option<Box<dyn Follower>>) -> bool {
    let lines = script.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut lines = lines.enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut header = || Line { words: lines.next().expect("use and path come first").1.split_whitespace().collect() };
    let (used, path) = (header(), header());
    let Some(mut follower) = build(&used, &path) else { return false };
    for (number, line) in lines {
        let (event, expected) = line.split_once("->").unwrap_or((line, ""));
        follower.tell(&Line { words: event.split_whitespace().collect() });
        for word in expected.split_whitespace() {
            let (name, value) = word.split_once('=').expect("name=value");
            let expected: f64 = value.parse().expect("a number");
            let got = follower.observed(name);
            let close = (got - expected).abs() <= follower.tolerance(name, expected);
            assert!(close, "{file}:{}: {name} is {got}, expected {expected}", number + 1);
        }
    }
    true
}

/// Names and texts of the scripts in a folder.
pub fn all(folder: &str) -> Vec<(String, String)> {
    let entries = fs::read_dir(folder).expect("the scripts are there").map(|entry| entry.expect("a file"));
    let read = |entry: fs::DirEntry| fs::read_to_string(entry.path()).expect("text");
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), read(entry))).collect()
}
