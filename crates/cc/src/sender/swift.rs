//! Swift: adds a packet a round trip while the delay is below a target, and cuts in proportion to the excess above it, once a round
//! trip; the delay of the fabric and that of the hosts have a window each. A window below one packet is a gap of several round trips.
//!
//! | symbol | name | meaning |
//! |---|---|---|
//! | fcwnd | `fabric.packets` | window for the fabric, in packets |
//! | ecwnd | `endpoint.packets` | window for the hosts |
//! | cwnd | `window` | the smaller of the two |
//! | `t_last_decrease` | `decreased` | when a window was last cut |
//! | ai, beta, `max_mdf` | `ai`, `beta`, `max_mdf` | additive increase, multiplicative decrease and its bound |
//! | `base_target`, h | `base_target`, `per_hop` | target delay of a path without hops, and of each hop |
//! | `fs_range`, alpha, beta | `fs_range`, `alpha`, `offset` | flow scaling: a smaller window has a larger target |
//! | `retransmit_cnt` | `timeouts` | timeouts in a row |
//! | ncwnd, level | `endpoint.packets`, `Nic` | Falcon's window for the receiver's NIC, and how full its buffer is, from 0 to 31 |
//!
//! Source: Kumar et al., SIGCOMM 2020: §3.1 (delays), §3.2 (Algorithm 1), §3.3 (endpoint window), §3.4 (pacing), §3.5 (flow and hop scaling).
//! The paper prints no values for most parameters; the defaults are those of Google's simulator of Falcon
//! (google/isekai, `rue/algorithm/swift.cc`), which names Swift as its source. With `nic_buffer` it is the Swift of Falcon:
//! OCP, Falcon Transport Protocol Rev 0.9, §9 and §10.
//!
//! | the paper | here |
//! |---|---|
//! | Algorithm 1, increase below the target | same: ai/cwnd for each packet acknowledged, ai below one packet |
//! | Algorithm 1, decrease, once a round trip | same, by the newest round trip |
//! | Algorithm 1, fast recovery and timeouts | same, for the fabric window |
//! | §3.1, endpoint delay: receiver and sender | the receiver's part; simulated senders process acknowledgements at once |
//! | §3.3, a smoothed endpoint delay and a constant target | same; gain and target are ours |
//! | §3.5, base + hops h + max(0, min(alpha/sqrt(fcwnd) + beta, `fs_range`)) | same; a hop is a switch |
//! | §3.4, pacing below one packet, by RTT/cwnd | same |
//! | - | a window of 5.7 packets is 6 in seven rounds of ten, as in [`crate::sender::dx`]: rounded down, windows of a few packets miss the target |
//! | - | `base_target` and `max_cwnd` grow with the path (below) |
//! | Falcon §10, ncwnd: adds ai below the target level, cuts by beta (level - target)/level at and above it, once a round trip; an increase also follows a cut at once | same, in place of the endpoint window; Rev 0.9 lists beta in its table and omits it in the law |
//! | Falcon §10, fcwnd: grows at the target too | same with `nic_buffer` |
//! | Falcon §10, alpha = `fs_range`/(sqrt min - sqrt max) | as in §3.5; the printed formula would be negative |
//! | Falcon, level: the fuller of two pools of the NIC | packets that wait for earlier ones, in 32nds of `nic_buffer`; hosts read others at once |
//!
//! The target has to be above the round trip of the empty path, or the window falls to its minimum. By default it is 25 us on paths of
//! up to 20 us, and 5/4 of the empty path's round trip on longer ones; but it allows at least the queue that the slowest link needs to
//! stay busy ([`Path::least_queue`]). Below 10 Gbps a quarter of the round trip holds one or two packets: 50 flows that share 100 Mbps
//! left 3.5 % of the link idle. By default the window ends at 256 packets, or at twice what the link sends in the target delay if
//! that is more.

use crate::event::{Ack, Loss, LossKind};
use crate::parameter::{Parameter, Preset, Values, flag, number, packets, time};
use crate::rng::Rng;
use crate::round::Round;
use crate::sender::{Decision, Path, Segments, Sender};
use crate::traits::Traits;
use crate::units::{Bytes, Rate, Time};

/// Source of the defaults.
const ISEKAI: &str = "Google's simulator of Falcon (google/isekai)";

/// In the order of the paper, those of the endpoint window last.
pub const PARAMETERS: &[Parameter] = &[
    packets("ai", "ai", 1.0, 1e-6..=1e3).meaning("additive increase a round trip").source(ISEKAI),
    number("beta", "beta", 0.8, 1e-9..=1.0).meaning("multiplicative decrease").source(ISEKAI),
    number("max_mdf", "max_mdf", 0.5, 1e-9..=0.999).meaning("largest cut in a round trip").source(ISEKAI),
    time("base_target", "base_target", 0.0, 0.0..=10.0)
        .meaning(
            "target delay of a path without hops; 0: 25 us, 5/4 of the empty path's round trip, or that round trip and 5 full \
             packets at its slowest link (20 if packets are sprayed), whichever is most",
        )
        .source("25 us: Google's simulator of Falcon (google/isekai); longer and slower paths: ours"),
    time("per_hop", "h", 1e-6, 0.0..=1.0).meaning("target delay of each switch on the path").source(ISEKAI),
    time("fs_range", "fs_range", 100e-6, 0.0..=10.0).meaning("largest addition of flow scaling").source(ISEKAI),
    packets("fs_min_cwnd", "fs_min_cwnd", 0.1, 1e-6..=1e6)
        .meaning("window at which flow scaling adds fs_range")
        .source(ISEKAI),
    packets("fs_max_cwnd", "fs_max_cwnd", 256.0, 1e-6..=1e6)
        .meaning("window from which on flow scaling adds nothing")
        .source(ISEKAI),
    packets("min_cwnd", "min_cwnd", 0.01, 1e-6..=1.0).meaning("smallest fabric window").source(ISEKAI),
    packets("max_cwnd", "max_cwnd", 0.0, 0.0..=1e9)
        .meaning("largest windows; 0: 256, or twice what the link sends in the target delay if that is more")
        .source("256: Google's simulator of Falcon (google/isekai); faster links: ours"),
    number("retransmit_limit", "RETX_RESET_THRESHOLD", 3.0, 1.0..=100.0)
        .meaning("timeouts in a row after which the fabric window is the smallest")
        .source(ISEKAI),
    flag("ecn", "-", false)
        .meaning("packets are ECN-capable: marks steer paths (REPS, bitmap, PLB), and the window ignores them")
        .source("ours: the paper uses no marks"),
    time("endpoint_target", "-", 100e-6, 1e-9..=10.0)
        .meaning("target of the smoothed delay in hosts")
        .source("ours: the paper and isekai print none in seconds"),
    number("endpoint_gain", "-", 0.125, 1e-6..=1.0)
        .meaning("weight of the newest delay in hosts")
        .source("ours, as in RFC 6298; the paper prints none"),
    packets("nic_buffer", "-", 0.0, 0.0..=1e6)
        .meaning("buffer of the receiver's NIC, whose level has a window in place of the delay in hosts; 0: none")
        .source("Falcon Rev 0.9 has the level"),
    number("nic_target", "-", 15.0, 1.0..=31.0)
        .meaning("level of the receiver's buffer, from 0 to 31, at which its window shrinks")
        .source(ISEKAI),
];

/// Those without the endpoint window.
pub const OF_FABRIC: &[Parameter] = PARAMETERS.split_at(PARAMETERS.len() - 4).0;

/// Variants.
pub const PRESETS: &[Preset] = &[
    OF_HTSIM,
    Preset {
        name: "falcon",
        values: &[("base_target", 25e-6), ("max_cwnd", 256.0), ("nic_buffer", 128.0)],
        source: "OCP, Falcon Transport Protocol Rev 0.9: a window of 128 data packets; values of google/isekai",
    },
];

/// Variants without the endpoint window.
pub const PRESETS_OF_FABRIC: &[Preset] = &[OF_HTSIM];

const OF_HTSIM: Preset = Preset {
    name: "htsim",
    values: &[
        ("base_target", 20e-6),
        ("per_hop", 20e-6 / 6.55),
        ("fs_max_cwnd", 100.0),
        ("max_cwnd", 1000.0),
        ("retransmit_limit", 5.0),
    ],
    source: "Broadcom/csg-htsim, swift.cpp (its authors' guesses); it has no endpoint window",
};

/// What its law is to those who run and explain it.
pub const TRAITS: Traits = Traits::on_delays().has_target_queue();

/// Known differences.
pub const NOT_MODELLED: &[&str] = &[
    "Time that the sender takes to process an acknowledgement: simulated hosts take none. Time in the receiver's host is what an \
     acknowledgement waits there (hosts.acks_every); with errors of time stamps it counts only if the host subtracts it.",
    "Rerouting of delayed flows (PLB): a choice of the network, not of this algorithm.",
    "Negative acknowledgements of Falcon and its window of 128 packets in the receiver: the buffer takes every packet. Hosts that \
     read slowly: only packets that wait for earlier ones fill the buffer.",
    "Several connections that share a machine's cores, and loss recovery of Snap: it runs over selective acknowledgements, or over \
     RoCE as swift-roce.",
];

/// Smallest endpoint window in packets, as in isekai.
const LEAST_ENDPOINT: f64 = 1.0;

/// Levels of the receiver's buffer, which Falcon's answers carry in 5 bits.
const LEVELS: f64 = 32.0;

/// Builds the sender.
#[must_use]
pub fn build(values: &Values, path: &Path) -> Box<dyn Sender> {
    let endpoint = (values.get("endpoint_target"), values.get("endpoint_gain"));
    with_endpoint(values, path, endpoint, Nic::new(values))
}

/// Builds a sender whose endpoint window has this target in seconds, and this weight of the newest delay, or follows a NIC.
pub(super) fn with_endpoint(
    values: &Values,
    path: &Path,
    (endpoint_target, endpoint_gain): (f64, f64),
    nic: Option<Nic>,
) -> Box<dyn Sender> {
    let target = Target::new(values, path);
    let holds = path.line_rate.sent_in(Time::from_secs(target.base)) / path.mss;
    let most = Some(values.get("max_cwnd")).filter(|&most| most > 0.0).unwrap_or((2.0 * holds).max(256.0)).max(1.0);
    let initial = (path.initial_window / path.mss).min(most);
    Box::new(Swift {
        ai: values.get("ai"),
        beta: values.get("beta"),
        max_mdf: values.get("max_mdf"),
        target,
        endpoint_target,
        endpoint_gain,
        least: values.get("min_cwnd"),
        most,
        retransmit_limit: values.get("retransmit_limit"),
        fabric: Window { packets: initial, decreased: None },
        endpoint: Window { packets: most, decreased: None },
        endpoint_delay: None,
        nic,
        timeouts: 0,
        rtt: path.base_rtt,
        round: Round::default(),
        draws: Rng::new(path.seed, 0),
        dither: 0.0,
        mss: path.mss,
        frame: path.frame.max(path.mss),
    })
}

/// The target delay of the fabric as a function of the window, in seconds and packets.
#[derive(Clone, Copy, Debug)]
struct Target {
    /// Base target and hops.
    base: f64,
    range: f64,
    alpha: f64,
    offset: f64,
}

impl Target {
    fn new(values: &Values, path: &Path) -> Self {
        let stated = values.get("base_target");
        let needed = (path.base_rtt + path.least_queue).as_secs();
        let base = if stated > 0.0 { stated } else { (path.base_rtt.as_secs() * 1.25).max(25e-6).max(needed) };
        let range = values.get("fs_range");
        let [least, most] = ["fs_min_cwnd", "fs_max_cwnd"].map(|name| 1.0 / values.get(name).sqrt());
        // Without a range of windows there is nothing to scale.
        let alpha = if least > most { range / (least - most) } else { 0.0 };
        Self { base: base + values.get("per_hop") * f64::from(path.switches), range, alpha, offset: -alpha * most }
    }

    fn at(&self, packets: f64) -> f64 {
        self.base + (self.alpha / packets.sqrt() + self.offset).min(self.range).max(0.0)
    }
}

/// One of the two windows, in packets.
#[derive(Clone, Copy, Debug)]
struct Window {
    packets: f64,
    decreased: Option<Time>,
}

impl Window {
    /// Returns whether a round trip has passed since the last decrease.
    fn may_decrease(&self, now: Time, rtt: Time) -> bool {
        self.decreased.is_none_or(|at| now - at >= rtt)
    }

    /// Multiplies by `factor` if the last decrease is a round trip ago.
    fn decrease(&mut self, now: Time, rtt: Time, factor: f64) {
        if self.may_decrease(now, rtt) {
            self.packets *= factor;
            self.decreased = Some(now);
        }
    }
}

/// State of Falcon's window for the receiver's NIC.
#[derive(Clone, Copy, Debug)]
pub(super) struct Nic {
    /// Packets of the receiver's buffer, and the level at which the window shrinks.
    buffer: f64,
    target: f64,
    /// The last change of the window, and whether it was an increase.
    changed: Option<Time>,
    has_grown: bool,
}

impl Nic {
    fn new(values: &Values) -> Option<Self> {
        let (buffer, target) = (values.get("nic_buffer"), values.get("nic_target"));
        (buffer > 0.0).then_some(Self { buffer, target, changed: None, has_grown: false })
    }

    /// Returns the level of a buffer with so many packets.
    fn level(&self, packets: f64) -> f64 {
        (LEVELS * packets / self.buffer).floor().min(LEVELS - 1.0)
    }

    /// Notes the level, and returns whether the window changes.
    fn changes(&mut self, now: Time, rtt: Time, level: f64) -> bool {
        let grows = level < self.target;
        let due = self.changed.is_none_or(|at| now - at >= rtt) || grows && !self.has_grown;
        if due {
            (self.changed, self.has_grown) = (Some(now), grows);
        }
        due
    }
}

/// State of one flow; delays in seconds.
// The parameters of Algorithm 1, its state for two windows, and what turns a window into packets.
#[derive(Clone, Copy, Debug)]
struct Swift {
    ai: f64,
    beta: f64,
    max_mdf: f64,
    target: Target,
    endpoint_target: f64,
    endpoint_gain: f64,
    least: f64,
    most: f64,
    retransmit_limit: f64,
    fabric: Window,
    endpoint: Window,
    /// Smoothed.
    endpoint_delay: Option<f64>,
    /// The buffer of the receiver, whose level governs the endpoint window in place of the delay.
    nic: Option<Nic>,
    timeouts: u32,
    /// The newest round trip, time in hosts included.
    rtt: Time,
    round: Round,
    draws: Rng,
    /// Added to the window of this round before it is rounded down: uniform in [0, 1).
    dither: f64,
    mss: Bytes,
    frame: Bytes,
}

impl Swift {
    /// Algorithm 1 on an acknowledgement of so many packets.
    fn react(&self, mut window: Window, now: Time, acked: f64, (delay, target): (f64, f64)) -> Window {
        if delay < target || self.nic.is_some() && delay <= target {
            window.packets += self.ai * acked / window.packets.max(1.0);
        } else {
            window.decrease(now, self.rtt, self.factor(delay, target));
        }
        window
    }

    /// Returns the factor of a decrease.
    fn factor(&self, signal: f64, target: f64) -> f64 {
        (1.0 - self.beta * ((signal - target) / signal)).max(1.0 - self.max_mdf)
    }

    /// Adjusts the endpoint window to the smoothed delay in hosts.
    fn react_to_hosts(&mut self, now: Time, acked: f64, newest: f64) {
        let smoothed = self.endpoint_delay.map_or(newest, |old| old + self.endpoint_gain * (newest - old));
        self.endpoint_delay = Some(smoothed);
        self.endpoint = self.react(self.endpoint, now, acked, (smoothed, self.endpoint_target));
    }

    /// Adjusts the endpoint window to the level of the receiver's buffer.
    fn react_to_level(&mut self, now: Time, mut nic: Nic, buffered: f64) {
        let level = nic.level(buffered);
        if nic.changes(now, self.rtt, level) {
            let window = self.endpoint.packets;
            self.endpoint.packets =
                if level < nic.target { window + self.ai } else { window * self.factor(level, nic.target) };
        }
        self.nic = Some(nic);
    }

    fn clamp(&mut self) {
        self.fabric.packets = self.fabric.packets.clamp(self.least, self.most);
        self.endpoint.packets = self.endpoint.packets.clamp(LEAST_ENDPOINT, self.most);
    }

    /// cwnd.
    fn window(&self) -> f64 {
        self.fabric.packets.min(self.endpoint.packets)
    }
}

impl Sender for Swift {
    fn on_ack(&mut self, now: Time, ack: &Ack) {
        self.timeouts = 0;
        self.rtt = ack.rtt + ack.host_delay;
        let acked = ack.acked / self.mss;
        self.fabric = self.react(self.fabric, now, acked, (ack.rtt.as_secs(), self.target.at(self.fabric.packets)));
        match self.nic {
            None => self.react_to_hosts(now, acked, ack.host_delay.as_secs()),
            Some(nic) => self.react_to_level(now, nic, ack.buffered / self.mss),
        }
        self.clamp();
        if self.round.ends(now, ack) {
            self.dither = self.draws.uniform();
        }
    }

    fn on_loss(&mut self, now: Time, loss: &Loss) {
        match loss.kind {
            LossKind::FastRetransmit => self.timeouts = 0,
            LossKind::Timeout => self.timeouts += 1,
        }
        if f64::from(self.timeouts) >= self.retransmit_limit {
            self.fabric = Window { packets: self.least, decreased: Some(now) };
        } else {
            self.fabric.decrease(now, self.rtt, 1.0 - self.max_mdf);
        }
        self.clamp();
    }

    fn decision(&self) -> Decision {
        let window = self.window();
        if window >= 1.0 {
            return Decision::window(self.mss.scale((window + self.dither).floor()));
        }
        let pace = self.frame.0 as f64 * 8.0 * window / self.rtt.max(Time(1)).as_secs();
        Decision { window: self.mss, pace: Some(Rate(pace as u64).max(Rate(1))), wake: None }
    }

    /// Every packet is acknowledged.
    fn segments(&self) -> Segments {
        Segments { size: self.mss, at_once: false, burst_rate: None }
    }

    fn has_drawn(&self) -> bool {
        self.draws.has_drawn()
    }

    fn probe(&self, record: &mut dyn FnMut(&'static str, f64)) {
        record("fabric_window_pkt", self.fabric.packets);
        record("endpoint_window_pkt", self.endpoint.packets);
        record("target_us", self.target.at(self.fabric.packets) * 1e6);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By hand from §3.5, five switches: windows in packets and targets in microseconds.
    #[test]
    fn small_windows_have_large_targets() {
        let path = Path { switches: 5, base_rtt: Time::from_micros(15), ..Path::default() };
        let defaults = [
            (0.01, 130.0),
            (0.1, 130.0),
            (0.5, 73.607),
            (1.0, 60.244),
            (4.0, 44.114),
            (16.0, 36.049),
            (64.0, 32.016),
            (256.0, 30.0),
            (1000.0, 30.0),
        ];
        let htsim = [(1.0, 64.657), (12.0, 41.429), (100.0, 35.268)];
        for (preset, expected) in [(&[][..], &defaults[..]), (PRESETS[0].values, &htsim[..])] {
            let mut values = Values::defaults(PARAMETERS);
            preset.iter().for_each(|&(name, value)| values.set(name, value).expect("a parameter"));
            let target = Target::new(&values, &path);
            for &(window, us) in expected {
                assert!((target.at(window) * 1e6 - us).abs() < 2e-3, "{window}: {}", target.at(window) * 1e6);
            }
        }
    }

    /// 1.25 * 100 us of a long path, and a hop.
    #[test]
    fn the_target_is_above_the_empty_path() {
        let path = Path { switches: 1, base_rtt: Time::from_micros(100), ..Path::default() };
        let target = Target::new(&Values::defaults(PARAMETERS), &path);
        assert!((target.at(256.0) - 126e-6).abs() < 1e-9);
    }

    /// 32 us of an empty path and 20 packets of 1500 B at 1.5 Gbps, 8 us each, and a hop; a stated target stays.
    #[test]
    fn the_target_allows_the_queue_of_a_slow_link() {
        let (base_rtt, least_queue) = (Time::from_micros(32), Time::from_micros(160));
        let path = Path { switches: 1, base_rtt, least_queue, ..Path::default() };
        let mut values = Values::defaults(PARAMETERS);
        assert!((Target::new(&values, &path).at(256.0) - 193e-6).abs() < 1e-9);
        values.set("base_target", 50e-6).expect("a parameter");
        assert!((Target::new(&values, &path).at(256.0) - 51e-6).abs() < 1e-9);
    }

    /// By hand: hosts take 10 ms, which cuts their window by half, from 256 to 128 and 64 packets. That of the fabric grows from 100.
    #[test]
    fn the_smaller_window_counts() {
        let mss = Bytes(1000);
        let path = Path { mss, initial_window: mss * 100, line_rate: Rate::from_gbps(10), ..Path::default() };
        let mut swift = build(&Values::defaults(PARAMETERS), &path);
        let packets: Vec<_> = [20, 40]
            .map(|ms| {
                let (rtt, host_delay, acked) = (Time::from_micros(20), Time::from_millis(10), mss);
                swift.on_ack(Time::from_millis(ms), &Ack { rtt, host_delay, acked, ..Ack::default() });
                swift.decision().window.0 / mss.0
            })
            .into();
        assert_eq!(packets, [100, 64]);
    }

    /// By hand from Falcon Rev 0.9 with isekai's values: alpha is 100 us / (1/sqrt 0.1 - 1/sqrt 256), of which the text prints
    /// 100 us / (sqrt 0.1 - sqrt 256) = -6376 ns.
    #[test]
    fn the_scaling_of_falcon_is_that_of_the_paper() {
        let mut values = Values::defaults(PARAMETERS);
        PRESETS[1].values.iter().for_each(|&(name, value)| values.set(name, value).expect("a parameter"));
        let target = Target::new(&values, &Path { switches: 5, ..Path::default() });
        assert!((target.alpha * 1e9 - 32_260.0).abs() < 0.5 && (target.offset * 1e9 + 2016.0).abs() < 0.5);
        assert!((target.at(1.0) * 1e6 - 60.244).abs() < 5e-4);
    }

    /// Half a packet at a round trip of 20 us: a frame each 40 us, and not 80 us at the next call.
    #[test]
    fn the_gap_of_a_small_window_does_not_grow_by_itself() {
        let mut values = Values::defaults(PARAMETERS);
        values.set("min_cwnd", 0.5).expect("a parameter");
        let mut swift = build(&values, &Path { mss: Bytes(1000), line_rate: Rate::from_gbps(100), ..Path::default() });
        let (at, rtt) = (Time::from_micros(20), Time::from_micros(20));
        for kind in [LossKind::Timeout; 3] {
            swift.on_loss(at, &Loss { kind, ..Loss::default() });
        }
        swift.on_ack(at, &Ack { rtt, ..Ack::default() });
        for _ in 0..2 {
            let pace = swift.decision().pace.expect("a window below a packet");
            assert_eq!(pace.time_to_send(Bytes(1000)), Time::from_micros(40));
        }
    }
}
