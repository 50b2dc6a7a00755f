//! Event scripts: timed events, expected decisions. Each file in `scripts/` drives one algorithm of the
//! catalog; the numbers in it are worked by hand from the algorithm's source.
//!
//! ```text
//! use dctcp g=0.0625 alpha=1          the algorithm and its parameters (SI base units)
//! path initial=10                     initial window in packets of 1460 bytes; seed=2: of its draws
//! 100us ack sent=0us acked=1 -> window=11 alpha=0.9375
//! 200us loss in_flight=20 -> window=5
//! 300us timeout in_flight=20 -> window=1
//! 400us sent bytes=1500               a frame left
//! 410us notify -> pace=5              a congestion notification; the pace in Gbps
//! 420us offer rate=2                  the least rate that the ports on its way offer, in Gbps
//! 465us wake                          at the very time it asked for
//! ```
//!
//! An ack also takes `rtt=` (otherwise now - sent), `delay=` (one way; otherwise half the RTT), `marked=`,
//! `in_flight=`, and the words `idle` (the window did not limit the flow) and `recovering`. Sizes are in packets.
//! After the arrow stand `window=` in packets, `pace=` (0: none) and any probe of the algorithm, to one
//! part in a thousand.

use std::fs;

use shallows_cc::catalog::{self, ALGORITHMS};
use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::parameter::Values;
use shallows_cc::sender::{Path, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

const MSS: Bytes = Bytes(1460);

struct Line<'a> {
    words: Vec<&'a str>,
}

impl<'a> Line<'a> {
    fn value(&self, key: &str) -> Option<&'a str> {
        self.words.iter().find_map(|word| word.strip_prefix(key)?.strip_prefix('='))
    }

    fn packets(&self, key: &str) -> Bytes {
        MSS.scale(self.value(key).map_or(0.0, |v| v.parse().expect("a number of packets")))
    }

    fn time(&self, key: &str) -> Option<Time> {
        self.value(key).map(time)
    }

    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }
}

fn time(text: &str) -> Time {
    let (number, scale) = match text {
        t if t.ends_with("us") => (&t[..t.len() - 2], 1e-6),
        t if t.ends_with("ms") => (&t[..t.len() - 2], 1e-3),
        t => (t.strip_suffix('s').expect("a time ends in us, ms or s"), 1.0),
    };
    Time::from_secs(number.parse::<f64>().expect("a number before the unit") * scale)
}

fn build(used: &Line<'_>, path: &Line<'_>) -> Box<dyn Sender> {
    let row = catalog::find(used.words[1]).expect("an algorithm of the catalog");
    let mut values = Values::defaults(row.parameters);
    for word in &used.words[2..] {
        let (name, value) = word.split_once('=').expect("name=value");
        values.set(name, value.parse().expect("a number")).expect("a parameter");
    }
    let initial_window = path.packets("initial");
    let seed = path.value("seed").map_or(1, |seed| seed.parse().expect("a whole number"));
    (row.sender)(&values, &Path { mss: MSS, initial_window, line_rate: Rate::from_gbps(10), seed, active: 0 })
}

fn tell(sender: &mut dyn Sender, line: &Line<'_>) {
    let now = time(line.words[0]);
    match line.words[1] {
        "ack" => {
            let sent_at = line.time("sent").expect("sent=");
            let rtt = line.time("rtt").unwrap_or(now - sent_at);
            let ack = Ack {
                sent_at,
                rtt,
                one_way_delay: line.time("delay").unwrap_or(rtt / 2),
                samples: 1,
                acked: line.packets("acked"),
                marked: line.packets("marked"),
                in_flight: line.packets("in_flight"),
                window_limited: !line.has("idle"),
                recovering: line.has("recovering"),
            };
            sender.on_ack(now, &ack);
        }
        "loss" => {
            let loss = Loss { kind: LossKind::FastRetransmit, in_flight: line.packets("in_flight") };
            sender.on_loss(now, &loss);
        }
        "sent" => sender.on_sent(now, Bytes(line.value("bytes").expect("bytes=").parse().expect("a number of bytes"))),
        "notify" => sender.on_notification(now),
        "offer" => {
            let gbps: f64 = line.value("rate").expect("rate=").parse().expect("a number of Gbps");
            sender.on_offer(now, Rate((gbps * 1e9) as u64));
        }
        "wake" => {
            assert_eq!(sender.decision().wake, Some(now), "it asked for another time");
            sender.on_wake(now);
        }
        "timeout" => sender.on_loss(now, &Loss { kind: LossKind::Timeout, in_flight: line.packets("in_flight") }),
        other => panic!("no event is called {other}"),
    }
}

fn observed(sender: &dyn Sender, name: &str) -> f64 {
    match name {
        "window" => return sender.decision().window / MSS,
        "pace" => return sender.decision().pace.map_or(0.0, Rate::as_gbps),
        _ => {}
    }
    let mut found = None;
    sender.probe(&mut |probe, value| {
        if probe == name {
            found = Some(value);
        }
    });
    found.unwrap_or_else(|| panic!("it has no probe {name}"))
}

fn run(file: &str, script: &str) {
    let lines = script.lines().map(|line| line.split('#').next().unwrap_or_default());
    let mut lines = lines.enumerate().filter(|(_, line)| !line.trim().is_empty());
    let mut header = || Line { words: lines.next().expect("use and path come first").1.split_whitespace().collect() };
    let (used, path) = (header(), header());
    let mut sender = build(&used, &path);
    for (number, line) in lines {
        let (event, expected) = line.split_once("->").unwrap_or((line, ""));
        tell(sender.as_mut(), &Line { words: event.split_whitespace().collect() });
        for word in expected.split_whitespace() {
            let (name, value) = word.split_once('=').expect("name=value");
            let expected: f64 = value.parse().expect("a number");
            let got = observed(sender.as_ref(), name);
            let close = (got - expected).abs() <= 1e-3 * expected.abs().max(1.0);
            assert!(close, "{file}:{}: {name} is {got}, expected {expected}", number + 1);
        }
    }
}

#[test]
fn every_script_is_followed_and_every_algorithm_has_one() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts");
    let mut covered = Vec::new();
    for entry in fs::read_dir(folder).expect("the scripts are there") {
        let path = entry.expect("a file").path();
        let script = fs::read_to_string(&path).expect("text");
        let name = path.file_name().expect("a name").to_string_lossy().into_owned();
        run(&name, &script);
        covered.push(script.lines().find_map(|l| l.strip_prefix("use ")?.split(' ').next().map(str::to_owned)));
    }
    for row in ALGORITHMS {
        assert!(covered.contains(&Some(row.name.to_owned())), "{} has no script", row.name);
    }
}
