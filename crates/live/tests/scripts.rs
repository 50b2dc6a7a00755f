//! The C cores follow the event scripts of the algorithms of the catalog.

#![allow(clippy::unwrap_used, reason = "a test")]

#[path = "../../cc/tests/script/mod.rs"]
mod script;

use script::{Follower, Line, all, follow, time, values};
use shallows_cc::units::Time;
use shallows_live::cores::{ACK, CoreAck, CoreLoss, DctcpStep, DxStep, InigoStep, LOSS, PACKET, SenderStep};
use shallows_live::params;

/// Probes by their names in scripts.
trait Observed: SenderStep {
    fn probe(&self, name: &str) -> f64;
}

fn share(parts: u32) -> f64 {
    f64::from(parts) / f64::from(1 << 20)
}

impl Observed for DctcpStep {
    fn probe(&self, name: &str) -> f64 {
        match name {
            "alpha" => share(self.state.alpha),
            _ => panic!("it has no probe {name}"),
        }
    }
}

impl Observed for DxStep {
    fn probe(&self, name: &str) -> f64 {
        match name {
            "exact_window_pkt" => self.state.window.size as f64 / PACKET as f64,
            "base_rtt_us" => f64::from(self.state.base_rtt_ns) / 1e3,
            "queueing_delay_us" => f64::from(self.state.queueing_ns) / 1e3,
            _ => panic!("it has no probe {name}"),
        }
    }
}

impl Observed for InigoStep {
    fn probe(&self, name: &str) -> f64 {
        match name {
            "alpha" => share(self.state.alpha.max(self.state.marked_alpha)),
            "base_rtt_us" => self.state.base_rtt_us.into(),
            "dilation" => self.state.dilated.into(),
            _ => panic!("it has no probe {name}"),
        }
    }
}

struct Core<S>(S);

fn micros(time: Time) -> u64 {
    time.0 / 1_000_000
}

fn nanos(time: Time) -> u32 {
    u32::try_from(time.0 / 1000).unwrap()
}

fn packets(line: &Line<'_>, key: &str) -> u32 {
    line.value(key).map_or(0, |count| count.parse().unwrap())
}

impl<S: Observed> Follower for Core<S> {
    fn tell(&mut self, line: &Line<'_>) {
        let now = time(line.words[0]);
        let (now_us, in_flight) = (micros(now), packets(line, "in_flight"));
        let timeout = line.words[1] == "timeout";
        if line.words[1] != "ack" {
            self.0.event(LOSS, CoreAck::default(), CoreLoss { now_us, in_flight, timeout: timeout.into() });
        } else {
            let sent = line.time("sent").unwrap();
            let rtt = line.time("rtt").unwrap_or(now - sent);
            let ack = CoreAck {
                now_us,
                sent_us: micros(sent),
                acked: packets(line, "acked"),
                marked: packets(line, "marked"),
                rtt_ns: nanos(rtt),
                one_way_ns: nanos(line.time("delay").unwrap_or(rtt / 2)),
                samples: packets(line, "samples").max(1),
                round_trip_us: micros(rtt) as u32,
                window_limited: (!line.has("idle")).into(),
                recovering: line.has("recovering").into(),
            };
            self.0.event(ACK, ack, CoreLoss::default());
        }
        self.0.native();
    }

    /// Inigo's base round trip is in whole microseconds, and each dilation adds to the last.
    fn tolerance(&self, name: &str, expected: f64) -> f64 {
        let least = if S::NAME == "inigo_step" && name == "base_rtt_us" { 2.0 } else { 0.0 };
        f64::max(least, 1e-3 * expected.abs().max(1.0))
    }

    fn observed(&self, name: &str) -> f64 {
        if name == "window" { self.0.window().size as f64 / PACKET as f64 } else { self.0.probe(name) }
    }
}

fn begun<S: Observed + 'static>(params: Result<S::Params, String>, path: &Line<'_>) -> Option<Box<dyn Follower>> {
    let mut step = S::begin(params.ok()?, packets(path, "initial"), 1);
    step.native();
    Some(Box::new(Core(step)))
}

#[test]
fn cores_follow_every_script_of_their_algorithms() {
    let mut followed = Vec::new();
    for (name, script) in all(concat!(env!("CARGO_MANIFEST_DIR"), "/../cc/tests/scripts")) {
        let done = follow(&name, &script, |used, path| match used.words[1] {
            "dctcp" => begun::<DctcpStep>(params::dctcp(&values(used)), path),
            "dx" => begun::<DxStep>(params::dx(&values(used)), path),
            "inigo" => begun::<InigoStep>(params::inigo(&values(used)), path),
            _ => None,
        });
        followed.extend(done.then_some(name));
    }
    followed.sort();
    let expected = [
        "dctcp.txt",
        "dx-floor.txt",
        "dx-round.txt",
        "dx.txt",
        "inigo-dilation.txt",
        "inigo-fractions.txt",
        "inigo-least-alpha.txt",
        "inigo-major.txt",
        "inigo-window.txt",
        "inigo.txt",
    ];
    assert_eq!(followed, expected);
}
