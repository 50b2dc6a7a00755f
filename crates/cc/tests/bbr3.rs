//! BBRv3 against traces of another implementation of its draft: states, rounds, counts and flags are the same after each of 34,033
//! acknowledgements, and rates, windows and bounds within a millionth. The folder `vectors` has them, as its README says.

#[allow(dead_code, reason = "the scripts of integers need more of it")]
mod vector;

use std::collections::{BTreeMap, BTreeSet};

use shallows_cc::event::LostPacket;
use shallows_cc::parameter::Values;
use shallows_cc::rng::Rng;
use shallows_cc::sender::Path;
use shallows_cc::sender::bbr3::law::{Law, RateSample};
use shallows_cc::sender::bbr3::{self, constants};
use shallows_cc::units::Bytes;
use vector::{Row, Script};

/// Packets of the traces.
const SMSS: Bytes = Bytes(1500);

/// What was known of a packet when it left (`P` of the draft).
#[derive(Clone, Copy)]
struct Packet {
    left: f64,
    first_left: f64,
    delivered: Bytes,
    delivered_at: f64,
    lost: Bytes,
    in_flight: Bytes,
    app_limited: bool,
}

/// A connection whose packets have numbers of their own, as in QUIC: the delivery-rate samples of §4.1, and the episodes of losses.
#[derive(Default)]
struct Connection {
    packets: BTreeMap<u64, Packet>,
    lost: BTreeSet<u64>,
    in_flight: Bytes,
    delivered: Bytes,
    delivered_at: f64,
    first_left: f64,
    bytes_lost: Bytes,
    min_rtt: Option<f64>,
    /// Packets of the present recovery that were found lost and have not arrived, and the first one that left after its begin.
    missing: BTreeSet<u64>,
    end: Option<u64>,
    next: u64,
}

fn numbers(row: &Row<'_>, column: &str) -> Vec<u64> {
    row.text(column).split_whitespace().map(|word| word.parse().expect("a packet")).collect()
}

fn real(row: &Row<'_>, column: &str) -> f64 {
    row.text(column).parse().unwrap_or_else(|_| panic!("{row}: {column}"))
}

impl Connection {
    /// Lets a packet leave; returns whether it ends an idle time.
    fn send(&mut self, now: f64, number: u64, app_limited: bool) -> bool {
        let alone = self.in_flight == Bytes::ZERO;
        if alone {
            (self.first_left, self.delivered_at) = (now, now);
        }
        self.in_flight += SMSS;
        self.next = number + 1;
        let Self { first_left, delivered, delivered_at, bytes_lost: lost, in_flight, .. } = *self;
        self.packets
            .insert(number, Packet { left: now, first_left, delivered, delivered_at, lost, in_flight, app_limited });
        alone && app_limited
    }

    /// Finds packets lost; tells the law of each.
    fn lose(&mut self, now: f64, lost: &[u64], law: &mut Law) {
        for &number in lost {
            self.bytes_lost += SMSS;
            self.in_flight -= SMSS;
            self.lost.insert(number);
            let packet = self.packets[&number];
            if self.end.is_none() {
                self.missing.clear();
                self.end = Some(self.next);
            }
            self.missing.insert(number);
            law.on_packet_lost(
                now,
                &LostPacket {
                    bytes: SMSS,
                    in_flight: packet.in_flight,
                    lost: self.bytes_lost - packet.lost,
                    app_limited: packet.app_limited,
                    delivered: self.delivered,
                },
            );
        }
    }

    /// Handles an acknowledgement.
    fn ack(&mut self, now: f64, (arrived, lost): (&[u64], &[u64]), law: &mut Law) -> RateSample {
        let mut newest: Option<(u64, Packet)> = None;
        for &number in arrived {
            let packet = self.packets.remove(&number).expect("a packet that has left");
            if !self.lost.remove(&number) {
                self.in_flight -= SMSS;
            }
            (self.delivered, self.delivered_at) = (self.delivered + SMSS, now);
            if newest.is_none_or(|(last, before)| (packet.left, number) > (before.left, last)) {
                newest = Some((number, packet));
            }
        }
        let (number, packet) = newest.expect("a packet");
        self.first_left = packet.left;
        let rtt = now - packet.left;
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
        self.lose(now, lost, law);
        let waits = !self.missing.is_empty();
        arrived.iter().for_each(|number| _ = self.missing.remove(number));
        if waits && self.missing.is_empty() {
            law.on_spurious_loss();
        }
        if self.end.is_some_and(|end| number >= end) {
            self.end = None;
        }
        let interval = (packet.left - packet.first_left).max(now - packet.delivered_at);
        let delivered = (self.delivered - packet.delivered).0 as f64;
        let usable = self.min_rtt.is_some_and(|least| interval >= least);
        RateSample {
            now,
            sent_at: packet.left,
            rtt: Some(rtt),
            prior_time: packet.delivered_at,
            prior_delivered: packet.delivered.0 as f64,
            delivered,
            delivery_rate: if usable { delivered / interval } else { 0.0 },
            is_app_limited: packet.app_limited,
            tx_in_flight: packet.in_flight.0 as f64,
            lost: (self.bytes_lost - packet.lost).0 as f64,
            newly_acked: (SMSS * arrived.len() as u64).0 as f64,
            newly_marked: 0.0,
            inflight: self.in_flight.0 as f64,
            is_cwnd_limited: false,
        }
    }
}

/// The state after an acknowledgement, in the order of [`COLUMNS`].
fn observe(law: &Law, rs: &RateSample) -> [f64; 17] {
    let flag = |set| f64::from(u8::from(set));
    [
        law.rounds.count as f64,
        flag(law.rounds.start),
        rs.delivery_rate,
        law.bandwidth.max_bw,
        law.bw,
        law.signals.bw_shortterm,
        law.inflight_longterm,
        law.signals.inflight_shortterm,
        law.round_trips.min_rtt,
        law.cwnd,
        law.pacing_rate,
        f64::from(law.full_pipe.count),
        flag(law.full_pipe.reached),
        flag(law.undo.recovering_since.is_some()),
        law.aggregation.extra_acked,
        law.bandwidth.cycle_count as f64,
        rs.inflight,
    ]
}

const COLUMNS: [&str; 17] = [
    "round",
    "round_start",
    "delivery_rate",
    "max_bw",
    "bw",
    "bw_shortterm",
    "inflight_longterm",
    "inflight_shortterm",
    "min_rtt",
    "cwnd",
    "pacing_rate",
    "full_bw_count",
    "full_bw_reached",
    "in_recovery",
    "extra_acked",
    "cycle_count",
    "inflight",
];

/// Panics unless the law is in the state of the row. Whole numbers below a million have to be the same, since they differ by more than the
/// tolerance.
fn compare(law: &Law, rs: &RateSample, row: &Row<'_>) {
    assert_eq!(law.state.name(), row.text("state"), "{row}");
    for (column, seen) in COLUMNS.into_iter().zip(observe(law, rs)) {
        let expected = real(row, column);
        let close = seen == expected || (seen - expected).abs() <= 1e-6 * expected.abs();
        assert!(close, "{column} is {seen}, not {expected}, in {row}");
    }
}

fn replay(script: &Script) -> usize {
    let path = Path { mss: SMSS, frame: SMSS, initial_window: SMSS * 10, ..Path::default() };
    let mut law = Law::new(constants(&Values::defaults(bbr3::PARAMETERS), &path), 0.0, Rng::new(1, 0));
    let (mut connection, mut acknowledgements) = (Connection::default(), 0);
    for row in script.rows() {
        let now = real(&row, "time_s");
        let packets = numbers(&row, "packets");
        match row.text("event") {
            "send" => {
                if connection.send(now, packets[0], row.number("app_limited") == 1) {
                    law.on_restart(now);
                }
            }
            "rto" => {
                connection.lose(now, &numbers(&row, "lost"), &mut law);
                connection.end = Some(connection.next);
                law.on_timeout(now);
                assert_eq!(law.cwnd, real(&row, "cwnd"), "{row}");
            }
            _ => {
                // The traces give both draws of a wait.
                (law.constants.probe_wait, law.constants.probe_wait_random) = (real(&row, "wait_ns") * 1e-9, 0.0);
                let lost = numbers(&row, "lost");
                let is_cwnd_limited = row.number("cwnd_limited") == 1;
                let rs = RateSample { is_cwnd_limited, ..connection.ack(now, (&packets, &lost), &mut law) };
                law.on_ack(&rs);
                if law.probe.cycle_stamp == now {
                    law.probe.rounds_since_up = row.number("first_round") as u64;
                }
                compare(&law, &rs, &row);
                acknowledgements += 1;
            }
        }
    }
    acknowledgements
}

#[test]
fn the_law_follows_the_traces_of_another_implementation() {
    let scripts = Script::all("bbr3", |name| name.starts_with('t'));
    assert_eq!(scripts.len(), 10);
    let rows: usize = scripts.iter().map(replay).sum();
    assert_eq!(rows, 34_033);
}
