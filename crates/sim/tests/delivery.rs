//! Delivery-rate samples of whole flows.

use std::sync::{Arc, Mutex};

use crate::networks::{control, flow, run, star};
use shallows_cc::event::{Ack, DeliverySample, Loss};
use shallows_cc::sender::{Decision, Sender};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Retransmission, UserAlgorithm};

/// Sends at a constant rate, and writes down its samples.
#[derive(Clone, Debug)]
struct Constant(Rate, Arc<Mutex<Vec<DeliverySample>>>);

impl Sender for Constant {
    fn on_ack(&mut self, _: Time, ack: &Ack) {
        self.1.lock().expect("no poison").extend(ack.delivery);
    }
    fn on_loss(&mut self, _: Time, _: &Loss) {}
    fn samples_delivery(&self) -> bool {
        true
    }
    fn decision(&self) -> Decision {
        Decision { pace: Some(self.0), ..Decision::window(Bytes::MAX) }
    }
}

/// 500 packets of 1,460 B payload leave in frames of 1,500 B at 1 Gbps, in 6 ms, over links of 50 us: 17 are on their way. From the first
/// flight on, what a sample says was delivered in its interval is the goodput of the flow in that time, to one packet. Over RoCE the
/// last frame of each segment of 11 is reported, 46 in all; go-back-N counts up to one segment more as in flight.
#[test]
fn samples_of_a_constant_rate_are_its_goodput() {
    const PACKETS: u64 = 500;
    let (irn, all, segments) = (Retransmission::Selective, PACKETS as usize, 46);
    for (transport, retransmission, count, most) in [
        ("fixed", irn, all, 18),
        ("nscc", irn, all, 18),
        ("dcqcn", irn, segments, 18),
        ("dcqcn", Retransmission::GoBackN, segments, 29),
    ] {
        let samples = Arc::default();
        let heard = Arc::clone(&samples);
        let mut network = star(2);
        network.ports.iter_mut().for_each(|port| port.delay = Time::from_micros(50));
        network.host.retransmission = retransmission;
        network.controls = vec![control(transport)];
        let build = move |_: &_| -> Box<dyn Sender> { Box::new(Constant(Rate::from_gbps(1), Arc::clone(&heard))) };
        network.controls[0].user_algorithm = Some(UserAlgorithm(Arc::new(build)));
        let bytes = Bytes(1460 * PACKETS);
        network.flows = vec![flow(0, 1, bytes)];
        network.duration = Time::from_millis(10);
        run(network);
        let samples = samples.lock().expect("no poison");
        let last = samples.last().map(DeliverySample::total);
        assert_eq!((samples.len(), last), (count, Some(bytes)), "{transport}, {retransmission:?}");
        for sample in samples.iter().filter(|sample| sample.prior_delivered > Bytes::ZERO) {
            let goodput = 1e9 * 1460.0 / 1500.0 / 8.0 * sample.interval.as_secs();
            assert!((sample.delivered.0 as f64 - goodput).abs() <= 1460.0, "{transport}: {goodput} B in {sample:?}");
            assert!((16..=most).contains(&(sample.in_flight.0 / 1460)), "{transport}: {sample:?}");
        }
        // The application has no more data once the last packet has left.
        assert!(samples.iter().all(|sample| !sample.app_limited && sample.lost == Bytes::ZERO));
    }
}
