//! The integer twins are the algorithms of the catalog, rounded: on the same random acknowledgements both keep
//! the same window, to a few hundredths of a packet.

use shallows_cc::catalog::find;
use shallows_cc::draws::Draws;
use shallows_cc::event::{self, LossKind};
use shallows_cc::integer::{self, PACKET, dctcp, dx, inigo, inigo_receiver};
use shallows_cc::parameter::Values;
use shallows_cc::receiver;
use shallows_cc::sender::{Path, Sender};
use shallows_cc::units::{Bytes, Rate, Time};

const MSS: Bytes = Bytes(1460);
const RTT_US: u64 = 200;

/// An acknowledgement a packet, every `RTT_US / 20`, of a network with 40 us of queueing now and then.
fn acks(seed: u64) -> impl Iterator<Item = integer::Ack> {
    let mut draws = Draws::new(seed, 0);
    let mut now_us = 1_000_000;
    (0..4000).map(move |n| {
        now_us += 1 + draws.bits() % (RTT_US / 10);
        let late_us = if n / 400 % 2 == 0 { 0 } else { draws.bits() % 40 };
        integer::Ack {
            now_us,
            sent_us: now_us - RTT_US - late_us,
            acked: 1,
            marked: u32::from(late_us > 36),
            rtt_ns: ((RTT_US + late_us) * 1000) as u32,
            one_way_ns: ((RTT_US / 2 + late_us) * 1000) as u32,
            samples: 1,
            round_trip_us: (RTT_US + late_us) as u32,
            window_limited: n % 400 > 20,
            ..integer::Ack::default()
        }
    })
}

fn exact(ack: &integer::Ack) -> event::Ack {
    event::Ack {
        sent_at: Time::from_micros(ack.sent_us),
        rtt: Time::from_nanos(ack.rtt_ns.into()),
        one_way_delay: Time::from_nanos(ack.one_way_ns.into()),
        samples: ack.samples,
        acked: MSS * u64::from(ack.acked),
        marked: MSS * u64::from(ack.marked),
        in_flight: Bytes::ZERO,
        window_limited: ack.window_limited,
        recovering: false,
    }
}

fn sender(name: &str, seed: u64) -> Box<dyn Sender> {
    let row = find(name).expect("an algorithm of the catalog");
    let path = Path { mss: MSS, initial_window: MSS * 10, line_rate: Rate::from_gbps(1), active: 0, seed };
    (row.sender)(&Values::defaults(row.parameters), &path)
}

/// Mean distance of the windows in packets.
fn distance(
    sender: &mut dyn Sender,
    seed: u64,
    window: impl Fn(&dyn Sender) -> f64,
    mut twin: impl FnMut(&integer::Ack) -> f64,
) -> f64 {
    let mut sum = 0.0;
    let mut count = 0.0;
    for ack in acks(seed) {
        sender.on_ack(Time::from_micros(ack.now_us), &exact(&ack));
        sum += (window(sender) - twin(&ack)).abs();
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

#[test]
fn dctcp_keeps_its_window_in_integers() {
    let params = dctcp::Params::new(&Values::defaults(find("dctcp").unwrap().parameters));
    for seed in 0..20 {
        let mut flow = dctcp::Dctcp::new(&params, 10);
        let twin = |ack: &integer::Ack| {
            flow.on_ack(&params, ack);
            flow.window.size as f64 / PACKET as f64
        };
        let far = distance(&mut *sender("dctcp", seed), seed, |s| s.decision().window / MSS, twin);
        assert!(far < 0.1, "seed {seed}: {far} packets apart");
    }
}

#[test]
fn dx_keeps_its_window_in_integers() {
    let params = dx::Params { headroom_ns: 0 };
    for seed in 0..20 {
        let mut flow = dx::Dx::new(10, seed);
        let twin = |ack: &integer::Ack| {
            flow.on_ack(&params, ack);
            flow.window.size as f64 / PACKET as f64
        };
        let far = distance(&mut *sender("dx", seed), seed, |s| probe(s, "exact_window_pkt"), twin);
        assert!(far < 0.01, "seed {seed}: {far} packets apart");
    }
}

#[test]
fn inigo_keeps_its_window_in_integers() {
    let params = inigo::Params::new(&Values::defaults(find("inigo").unwrap().parameters)).unwrap();
    for seed in 0..20 {
        let mut flow = inigo::Inigo::new(&params, 10);
        let twin = |ack: &integer::Ack| {
            flow.on_ack(&params, ack);
            flow.window.size as f64 / PACKET as f64
        };
        let far = distance(&mut *sender("inigo", seed), seed, |s| s.decision().window / MSS, twin);
        assert!(far < 0.1, "seed {seed}: {far} packets apart");
    }
}

#[test]
fn a_loss_cuts_both_alike() {
    let values = Values::defaults(find("dctcp").unwrap().parameters);
    let params = dctcp::Params::new(&values);
    for (kind, packets) in [(LossKind::FastRetransmit, 5), (LossKind::Timeout, 1)] {
        let mut flow = dctcp::Dctcp::new(&params, 10);
        flow.on_loss(&params, &integer::Loss { now_us: 5, in_flight: 8, kind });
        let mut sender = sender("dctcp", 1);
        sender.on_loss(Time::from_micros(5), &event::Loss { kind, in_flight: MSS * 8 });
        assert_eq!(flow.window.packets(), packets);
        assert_eq!(sender.decision().window, MSS * u64::from(packets));
    }
}

/// A flow of ten packets in flight, each sent as the tenth before it is acknowledged, whose queue grows and shrinks;
/// timestamps tick every microsecond.
#[test]
fn inigos_receiver_keeps_its_window_in_integers() {
    let values = Values::defaults(receiver::inigo::PARAMETERS);
    let params = inigo_receiver::Params::new(&values).unwrap();
    for seed in 0..20 {
        let mut draws = Draws::new(seed, 0);
        let mut exact = receiver::inigo::boxed(&values, 1);
        let mut flow = inigo_receiver::InigoReceiver::new(&params);
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
            let told = inigo_receiver::Data {
                now_us,
                sent: sent_us as u32,
                answers: answers as u32,
                payload: MSS.0 as u32,
                segment: MSS.0 as u32,
            };
            exact.on_data(Time::from_micros(now_us), &data);
            flow.on_data(&params, &told);
            flow.on_ack(now_us, now_us as u32);
            sum += (exact.window().unwrap() / MSS - flow.window as f64 / PACKET as f64).abs();
        }
        assert!(sum / 4000.0 < 0.05, "seed {seed}: {} packets apart", sum / 4000.0);
    }
}
