//! Every algorithm of the catalog follows its scripts ([`script`]).

mod script;

use script::{Follower, Line, all, follow, time, values};
use shallows_cc::catalog::{self, ALGORITHMS};
use shallows_cc::event::{Ack, Loss, LossKind};
use shallows_cc::sender::{Path, Sender};
use shallows_cc::units::{Bytes, Rate};

const MSS: Bytes = Bytes(1460);

struct Catalogued(Box<dyn Sender>);

fn packets(line: &Line<'_>, key: &str) -> Bytes {
    MSS.scale(line.value(key).map_or(0.0, |v| v.parse().expect("a number of packets")))
}

impl Follower for Catalogued {
    fn tell(&mut self, line: &Line<'_>) {
        let sender = &mut self.0;
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
                    acked: packets(line, "acked"),
                    marked: packets(line, "marked"),
                    in_flight: packets(line, "in_flight"),
                    window_limited: !line.has("idle"),
                    recovering: line.has("recovering"),
                };
                sender.on_ack(now, &ack);
            }
            "loss" => {
                let in_flight = packets(line, "in_flight");
                sender.on_loss(now, &Loss { kind: LossKind::FastRetransmit, in_flight, repeated: false });
            }
            "sent" => {
                sender.on_sent(now, Bytes(line.value("bytes").expect("bytes=").parse().expect("a number of bytes")))
            }
            "notify" => sender.on_notification(now),
            "offer" => {
                let gbps: f64 = line.value("rate").expect("rate=").parse().expect("a number of Gbps");
                sender.on_offer(now, Rate((gbps * 1e9) as u64));
            }
            "wake" => {
                assert_eq!(sender.decision().wake, Some(now), "it asked for another time");
                sender.on_wake(now);
            }
            "timeout" => {
                let (in_flight, repeated) = (packets(line, "in_flight"), line.has("repeated"));
                sender.on_loss(now, &Loss { kind: LossKind::Timeout, in_flight, repeated });
            }
            other => panic!("no event is called {other}"),
        }
    }

    fn observed(&self, name: &str) -> f64 {
        let sender = &self.0;
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
}

fn build(used: &Line<'_>, path: &Line<'_>) -> Box<dyn Follower> {
    let row = catalog::find(used.words[1]).expect("an algorithm of the catalog");
    let initial_window = packets(path, "initial");
    let seed = path.value("seed").map_or(1, |seed| seed.parse().expect("a whole number"));
    let path = Path { mss: MSS, initial_window, line_rate: Rate::from_gbps(10), seed, active: 0 };
    Box::new(Catalogued((row.sender)(&values(used), &path)))
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
