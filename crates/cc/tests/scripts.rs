//! Every algorithm of the catalog follows its scripts ([`script`]).

mod script;

use script::{Follower, Line, all, follow, time, values};
use shallows_cc::catalog::{self, ALGORITHMS};
use shallows_cc::event::{Ack, DeliverySample, HopRecord, Loss, LossKind, LostPacket};
use shallows_cc::port::credit::CreditShaper;
use shallows_cc::receiver::{CreditEcho, CreditPath, Credits, Grant};
use shallows_cc::sender::{Path, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

const MSS: Bytes = Bytes(1460);
/// On the wire, with headers, preamble and gap.
const FRAME: Bytes = Bytes(1538);
const LINE_RATE: Rate = Rate::from_gbps(10);

/// An algorithm of the catalog: its sender, and what hands out credits if it waits for them.
struct Catalogued {
    sender: Box<dyn Sender>,
    credits: Option<Box<dyn Credits>>,
    granted: Option<(Time, Grant)>,
    mss: Bytes,
}

fn packets(line: &Line<'_>, key: &str, mss: Bytes) -> Bytes {
    mss.scale(line.value(key).map_or(0.0, |v| v.parse().expect("a number of packets")))
}

/// Of a line with `queue=`, `sent=` and `at=` for every hop, in this order.
fn records(line: &Line<'_>) -> Vec<HopRecord> {
    let bytes = |word: &str, key| Bytes(word.strip_prefix(key).expect("queue=, sent=, at=").parse().expect("bytes"));
    let record = |hop: &[&str]| HopRecord {
        rate: LINE_RATE,
        queue: bytes(hop[0], "queue="),
        sent: bytes(hop[1], "sent="),
        at: time(hop[2].strip_prefix("at=").expect("at=")),
    };
    line.words[2..].chunks(3).map(record).collect()
}

/// The delivery-rate sample of a line with `interval=`, and what else it has.
fn sample(line: &Line<'_>, mss: Bytes) -> Option<DeliverySample> {
    Some(DeliverySample {
        prior_delivered: packets(line, "prior", mss),
        prior_time: line.time("prior_at").unwrap_or_default(),
        delivered: packets(line, "delivered", mss),
        interval: line.time("interval")?,
        implausible: false,
        app_limited: line.has("app_limited"),
        in_flight: packets(line, "left_with", mss),
        lost: packets(line, "lost", mss),
    })
}

impl Follower for Catalogued {
    fn tell(&mut self, line: &Line<'_>) {
        let (sender, mss) = (&mut self.sender, self.mss);
        let packets = |key| packets(line, key, mss);
        let now = time(line.words[0]);
        match line.words[1] {
            "ack" => {
                let sent_at = line.time("sent").expect("sent=");
                let rtt = line.time("rtt").unwrap_or(now - sent_at);
                let ack = Ack {
                    sent_at,
                    rtt,
                    host_delay: line.time("held").unwrap_or_default(),
                    buffered: packets("buffered"),
                    one_way_delay: line.time("delay").unwrap_or(rtt / 2),
                    samples: line.value("samples").map_or(1, |count| count.parse().expect("a whole number")),
                    acked: packets("acked"),
                    marked: packets("marked"),
                    trimmed: packets("trimmed"),
                    in_flight: packets("in_flight"),
                    window_limited: !line.has("idle"),
                    recovering: line.has("recovering"),
                    entropy: 0,
                    delivery: sample(line, mss),
                };
                sender.on_ack(now, &ack);
            }
            "loss" => {
                let in_flight = packets("in_flight");
                sender.on_loss(now, &Loss { in_flight, ..Loss::default() });
            }
            "lost" => {
                sender.on_packet_lost(
                    now,
                    &LostPacket {
                        bytes: mss,
                        in_flight: packets("left_with"),
                        lost: packets("lost"),
                        app_limited: line.has("app_limited"),
                        delivered: packets("delivered"),
                    },
                );
            }
            "spurious" => sender.on_spurious_loss(now),
            "restart" => sender.on_restart(now),
            "sent" => {
                sender.on_sent(now, Bytes(line.value("bytes").expect("bytes=").parse().expect("a number of bytes")));
            }
            "probed" => sender.on_probed(now, line.time("rtt").expect("rtt=")),
            "notify" => sender.on_notification(now),
            "offer" => {
                let gbps: f64 = line.value("rate").expect("rate=").parse().expect("a number of Gbps");
                sender.on_offer(now, Rate((gbps * 1e9) as u64));
            }
            "set" => {
                let pace = line.value("rate").map(|gbps| gbps.parse::<u64>().expect("a whole number of Gbps"));
                assert!(sender.adopt(packets("window"), pace.map(Rate::from_gbps)));
            }
            "records" => sender.on_records(now, &records(line)),
            "grant" => {
                let credits = self.credits.as_mut().expect("an algorithm with credits");
                self.granted = Some((now, credits.grant(now, [0.5; 2])));
            }
            "data" => {
                let number = line.value("number").expect("number=").parse().expect("a whole number");
                let granted_at = line.time("granted").expect("granted=");
                self.credits.as_mut().expect("credits").on_data(now, &CreditEcho { number, granted_at });
            }
            "wake" => {
                assert_eq!(sender.decision().wake, Some(now), "it asked for another time");
                sender.on_wake(now);
            }
            "timeout" => {
                let (in_flight, lost) = (packets("in_flight"), packets("lost"));
                sender.on_loss(now, &Loss { kind: LossKind::Timeout, in_flight, lost, repeated: line.has("repeated") });
            }
            other => panic!("no event is called {other}"),
        }
    }

    /// Bytes of a window are compared to a thousandth of a byte, so that one adjustment shows.
    fn tolerance(&self, name: &str, expected: f64) -> f64 {
        if name == "cwnd_bytes" { 1e-3 } else { 1e-3 * expected.abs().max(1.0) }
    }

    fn observed(&self, name: &str) -> f64 {
        let sender = &self.sender;
        let granted = || self.granted.expect("a grant comes first");
        match name {
            "window" => return sender.decision().window / self.mss,
            "pace" => return sender.decision().pace.map_or(0.0, Rate::as_gbps),
            "credit" => return granted().1.number as f64,
            "credit_bytes" => return granted().1.size.0 as f64,
            "credit_gap_us" => return (granted().1.next - granted().0).as_secs() * 1e6,
            _ => {}
        }
        let mut found = None;
        let mut look = |probe: &'static str, value: f64| {
            if probe == name {
                found = Some(value);
            }
        };
        sender.probe(&mut look);
        if let Some(credits) = &self.credits {
            credits.probe(&mut look);
        }
        found.unwrap_or_else(|| panic!("it has no probe {name}"))
    }
}

fn build(used: &Line<'_>, path: &Line<'_>) -> Box<dyn Follower> {
    let row = catalog::find(used.words[1]).expect("an algorithm of the catalog");
    let of_frame = path.value("mtu").map(|bytes| Bytes(bytes.parse().expect("a whole number")));
    let (mss, frame) = of_frame.map_or((MSS, FRAME), |bytes| (bytes, bytes));
    let line_rate =
        path.value("rate").map_or(LINE_RATE, |gbps| Rate::from_gbps(gbps.parse().expect("a whole number of Gbps")));
    let initial_window = packets(path, "initial", mss);
    let seed = path.value("seed").map_or(1, |seed| seed.parse().expect("a whole number"));
    let base_rtt = path.time("rtt").unwrap_or_default();
    let count = |key, other| path.value(key).map_or(other, |count| count.parse().expect("a whole number"));
    let fixed = Path { mss, frame, line_rate, ..Path::default() };
    let (switches, active) = (count("switches", 0), count("active", fixed.active));
    let path = Path { initial_window, base_rtt, seed, switches, active, ..fixed };
    let values = values(used);
    let shaper = || CreditShaper::new(&values, FRAME);
    let credits = row
        .credits
        .map(|build| build(&values, &CreditPath { now: Time::ZERO, line_rate: LINE_RATE, shaper: shaper() }));
    Box::new(Catalogued { sender: (row.sender)(&values, &path), credits, granted: None, mss })
}

#[test]
fn every_script_is_followed_and_every_algorithm_has_one() {
    let mut covered = Vec::new();
    for (name, script) in all(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/scripts")) {
        follow(&name, &script, |used, path| {
            covered.push(used.words[1].to_owned());
            Some(build(used, path))
        });
    }
    for row in ALGORITHMS {
        assert!(covered.iter().any(|name| name == row.name), "{} has no script", row.name);
    }
}
