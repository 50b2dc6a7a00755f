//! The C cores are the algorithms of the catalog, rounded: on the same random acknowledgements both keep the same
//! window, to a few hundredths of a packet.

#![allow(clippy::unwrap_used, reason = "a test")]

use shallows_cc::catalog::find;
use shallows_cc::event::{self, LossKind};
use shallows_cc::parameter::Values;
use shallows_cc::receiver;
use shallows_cc::rng::Rng;
use shallows_cc::sender::{Path, Sender};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_live::cores::{
    ACK, CoreAck, CoreLoss, DctcpStep, DxStep, InigoReceiverData, InigoReceiverStep, InigoStep, LOSS, PACKET,
    SenderStep, Step,
};
use shallows_live::params;

const MSS: Bytes = Bytes(1460);
const RTT_US: u64 = 200;

/// An acknowledgement a packet, every `RTT_US / 20`, of a network with 40 us of queueing now and then.
fn acks(seed: u64) -> impl Iterator<Item = CoreAck> {
    let mut draws = Rng::new(seed, 0);
    let mut now_us = 1_000_000;
    (0..4000).map(move |n| {
        now_us += 1 + draws.bits() % (RTT_US / 10);
        let late_us = if n / 400 % 2 == 0 { 0 } else { draws.bits() % 40 };
        CoreAck {
            now_us,
            sent_us: now_us - RTT_US - late_us,
            acked: 1,
            marked: u32::from(late_us > 36),
            rtt_ns: ((RTT_US + late_us) * 1000) as u32,
            one_way_ns: ((RTT_US / 2 + late_us) * 1000) as u32,
            samples: 1,
            round_trip_us: (RTT_US + late_us) as u32,
            window_limited: (n % 400 > 20).into(),
            ..CoreAck::default()
        }
    })
}

fn exact(ack: &CoreAck) -> event::Ack {
    event::Ack {
        sent_at: Time::from_micros(ack.sent_us),
        rtt: Time::from_nanos(ack.rtt_ns.into()),
        one_way_delay: Time::from_nanos(ack.one_way_ns.into()),
        samples: ack.samples,
        acked: MSS * u64::from(ack.acked),
        marked: MSS * u64::from(ack.marked),
        window_limited: ack.window_limited != 0,
        ..event::Ack::default()
    }
}

fn sender(name: &str, seed: u64) -> Box<dyn Sender> {
    let row = find(name).expect("an algorithm of the catalog");
    let path = Path { mss: MSS, initial_window: MSS * 10, line_rate: Rate::from_gbps(1), seed, ..Path::default() };
    (row.sender)(&Values::defaults(row.parameters), &path)
}

/// Mean distance of the windows in packets.
fn distance(
    sender: &mut dyn Sender,
    seed: u64,
    window: impl Fn(&dyn Sender) -> f64,
    mut core: impl FnMut(&CoreAck) -> f64,
) -> f64 {
    let mut sum = 0.0;
    let mut count = 0.0;
    for ack in acks(seed) {
        sender.on_ack(Time::from_micros(ack.now_us), &exact(&ack));
        sum += (window(sender) - core(&ack)).abs();
        count += 1.0;
    }
    sum / count
}

fn probe(sender: &dyn Sender, wanted: &str) -> f64 {
    let mut found = f64::NAN;
    sender.probe(&mut |name, value| {
        if name == wanted {
            found = value;
        }
    });
    found
}

/// The window of a core after each acknowledgement, in packets.
fn core<S: SenderStep>(params: S::Params, seed: u64) -> impl FnMut(&CoreAck) -> f64 {
    let mut step = S::begin(params, 10, seed);
    step.native();
    move |ack| {
        step.event(ACK, *ack, CoreLoss::default());
        step.native();
        step.window().size as f64 / PACKET as f64
    }
}

#[test]
fn dctcp_keeps_its_window_in_integers() {
    let params = params::dctcp(&Values::defaults(find("dctcp").unwrap().parameters)).unwrap();
    for seed in 0..20 {
        let core = core::<DctcpStep>(params, seed);
        let far = distance(&mut *sender("dctcp", seed), seed, |s| s.decision().window / MSS, core);
        assert!(far < 0.1, "seed {seed}: {far} packets apart");
    }
}

#[test]
fn dx_keeps_its_window_in_integers() {
    let params = params::dx(&Values::defaults(find("dx").unwrap().parameters)).unwrap();
    for seed in 0..20 {
        let core = core::<DxStep>(params, seed);
        let far = distance(&mut *sender("dx", seed), seed, |s| probe(s, "exact_window_pkt"), core);
        assert!(far < 0.01, "seed {seed}: {far} packets apart");
    }
}

#[test]
fn inigo_keeps_its_window_in_integers() {
    let params = params::inigo(&Values::defaults(find("inigo").unwrap().parameters)).unwrap();
    for seed in 0..20 {
        let core = core::<InigoStep>(params, seed);
        let far = distance(&mut *sender("inigo", seed), seed, |s| s.decision().window / MSS, core);
        assert!(far < 0.1, "seed {seed}: {far} packets apart");
    }
}

#[test]
fn a_loss_cuts_both_alike() {
    let params = params::dctcp(&Values::defaults(find("dctcp").unwrap().parameters)).unwrap();
    for (kind, packets) in [(LossKind::FastRetransmit, 5), (LossKind::Timeout, 1)] {
        let mut core = DctcpStep::begin(params, 10, 1);
        core.native();
        let timeout = (kind == LossKind::Timeout).into();
        core.event(LOSS, CoreAck::default(), CoreLoss { now_us: 5, in_flight: 8, timeout });
        let told = core.native();
        let mut sender = sender("dctcp", 1);
        sender.on_loss(Time::from_micros(5), &event::Loss { kind, in_flight: MSS * 8, ..event::Loss::default() });
        assert_eq!(told, packets);
        assert_eq!(sender.decision().window, MSS * packets);
    }
}

/// A flow of ten packets in flight, each sent as the tenth before it is acknowledged, whose queue grows and shrinks;
/// timestamps tick every microsecond.
#[test]
fn inigos_receiver_keeps_its_window_in_integers() {
    let mut values = Values::defaults(receiver::inigo::PARAMETERS);
    values.set("resolution", 1e-6).unwrap();
    let params = params::inigo_receiver(&values).unwrap();
    for seed in 0..20 {
        let mut draws = Rng::new(seed, 0);
        let mut exact = receiver::inigo::boxed(&values, 1);
        let mut core = InigoReceiverStep { params, ..InigoReceiverStep::default() };
        core.native();
        let (mut sum, mut queue_us) = (0.0, 0_u64);
        let mut acked_us: Vec<u64> = (0..10).map(|n| 10_000 + 12 * n).collect();
        for n in 0..4000 {
            let answers = acked_us[n];
            let sent_us = answers + RTT_US / 2;
            queue_us = (queue_us + draws.bits() % 4).saturating_sub(if n / 400 % 2 == 0 { 2 } else { 1 });
            let now_us = (sent_us + RTT_US / 2 + queue_us).max(acked_us[n + 9] + 1);
            acked_us.push(now_us);
            let data = receiver::Data {
                sent_at: Time::from_micros(sent_us),
                answers: Some(Time::from_micros(answers)),
                payload: MSS,
                in_order: true,
                ..receiver::Data::default()
            };
            core.data = InigoReceiverData {
                now_us,
                sent: sent_us as u32,
                answers: answers as u32,
                payload: MSS.0 as u32,
                segment: MSS.0 as u32,
            };
            exact.on_data(Time::from_micros(now_us), &data);
            core.kind = ACK;
            core.native();
            (core.kind, core.timestamp) = (LOSS, now_us as u32);
            core.native();
            sum += (exact.window().unwrap() / MSS - core.state.window as f64 / PACKET as f64).abs();
        }
        assert!(sum / 4000.0 < 0.05, "seed {seed}: {} packets apart", sum / 4000.0);
    }
}

/// The numbers of `dx.txt`, with a clock at the receiver that wraps in between: 40 - 39 * 20/200 = 36.1 packets.
#[test]
fn clocks_of_dx_need_not_agree() {
    let params = params::dx(&Values::defaults(find("dx").unwrap().parameters)).unwrap();
    let mut core = DxStep::begin(params, 10, 1);
    core.native();
    let empty = 0_u32.wrapping_sub(5_000);
    for (now_us, sent_us, late, acked) in [(200, 0, 0, 10), (420, 200, 20_000, 20)] {
        let (rtt_ns, one_way_ns) = (200_000 + late, empty.wrapping_add(late));
        let ack =
            CoreAck { now_us, sent_us, acked, rtt_ns, one_way_ns, samples: 1, window_limited: 1, ..CoreAck::default() };
        core.event(ACK, ack, CoreLoss::default());
        core.native();
    }
    assert_eq!(core.state.queueing_ns, 20_000);
    assert_eq!(core.window().size, 40 * PACKET - 39 * PACKET / 10);
}

/// Packets every 120 us whose timestamps tick each millisecond, behind a queue that grows by 12 us a packet from the 50th
/// on. The threshold is 0.17 of 4 ms: 680 us of queue, and the 132 us between two arrivals that may not be queue. The
/// packet of a tick leaves up to 120 us after it, which looks like queue, and comes every ninth packet.
#[test]
fn inigos_receiver_sees_a_delay_through_timestamps_of_a_millisecond_once_it_is_one() {
    let mut values = Values::defaults(receiver::inigo::PARAMETERS);
    values.set("mark", 1.0).unwrap();
    values.set("resolution", 1e-3).unwrap();
    let params = params::inigo_receiver(&values).unwrap();
    let mut core = InigoReceiverStep { params, ..InigoReceiverStep::default() };
    core.native();
    (core.kind, core.timestamp, core.data.now_us) = (LOSS, 1, 1_000_000);
    core.native();
    core.kind = ACK;
    let late: Vec<bool> = (0..200_u64)
        .map(|n| {
            let sent_us = 1_002_000 + 120 * n;
            let (now_us, sent) = (sent_us + 2000 + 12 * n.saturating_sub(50), (sent_us / 1000) as u32);
            core.data = InigoReceiverData { now_us, sent, answers: 1, payload: 1448, segment: 1448 };
            core.native() as u32 >> 31 == 1
        })
        .collect();
    assert_eq!(core.state.rtt_min_us, 4000);
    let first = late.iter().position(|late| *late).unwrap();
    assert!((50 + 57..=50 + 77).contains(&first), "{first}");
    assert!(late[first..].iter().all(|late| *late));
}
