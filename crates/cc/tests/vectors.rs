//! Test vectors of other implementations: every row has to give the same integers.
//!
//! The folder `vectors` has a part of them, as its README says. The variable `SHALLOWS_VECTORS` names a folder with all.

mod vector;

use shallows_cc::event::Counts;
use shallows_cc::parameter::Values;
use shallows_cc::port::Ecn;
use shallows_cc::port::dualpi2::{self, DualPi2};
use shallows_cc::receiver::packet_counter::PacketCounter;
use shallows_cc::sender::prague::{Constants, Law, Mode};
use vector::Script;

/// The twelve columns of a row of Prague's scripts.
const STATE: [&str; 12] = [
    "srtt_us",
    "vrtt_us",
    "state",
    "mode",
    "alpha_2e20",
    "rtts_to_growth",
    "rate_Bps",
    "window_uB",
    "packet_window",
    "burst_pkt",
    "packet_B",
    "send_rate_Bps",
];

fn observe(law: &Law, now: i32) -> [i64; 12] {
    let mode = i64::from(law.mode == Mode::Window);
    let Law { srtt, vrtt, alpha, wait, rate, window, packets, burst, packet, .. } = *law;
    [srtt, vrtt, law.state as i64, mode, alpha, wait, rate, window, packets, burst, packet, law.pace(now)]
}

/// udp_prague e8e3435, fed with acknowledgements: the state after each.
#[test]
fn prague_follows_the_scripts_of_udp_prague() {
    let mut rows = 0;
    for script in Script::all("prague", |name| name.starts_with(|first: char| first.is_ascii_digit())) {
        let head = |key| script.parameter(key);
        let constants = Constants::udp_prague(head("mtu_B"), head("init_rate_Bps"), head("max_rate_Bps"));
        let mut law: Option<Law> = None;
        for row in script.rows() {
            let (now, rtt) = (row.number("now_us") as i32, row.number("rtt_us"));
            let count = |key| row.number(key) as i32 as u32;
            let [received, ce, lost, sent] = ["received", "ce", "lost", "sent"].map(count);
            let law = law.get_or_insert_with(|| Law::new(constants, 0, head("init_window_pkt") * constants.mtu));
            let mut accepted = true;
            if row.text("event") == "rto" {
                law.on_timeout(now);
            } else {
                if rtt > 0 {
                    law.on_rtt(rtt);
                }
                accepted = law.on_counts(now, &Counts { received, ce, lost, sent });
            }
            assert_eq!(i64::from(accepted), row.number("accepted"), "{row}");
            if let Some(expected) = row.expected(&STATE) {
                assert_eq!(observe(law, now), expected, "{row}");
                rows += 1;
            }
        }
    }
    assert!(rows > 0, "no script");
    println!("{rows} rows");
}

/// udp_prague's receiver: gaps count as lost at once, late packets are taken back.
#[test]
fn the_counter_follows_the_receiver_of_udp_prague() {
    let script = Script::all("prague", |name| name == "receiver.csv.gz").remove(0);
    let mut counter = PacketCounter::default();
    for row in script.rows() {
        let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][row.number("ecn") as usize];
        counter.count(row.number("sequence") as u32, ecn);
        let PacketCounter { received, ce, lost, error } = counter;
        let seen = [received.into(), ce.into(), lost.into(), i64::from(error)];
        assert_eq!(Some(seen), row.expected(&["received", "ce", "lost", "error"]), "{row}");
    }
}

/// The controller of RFC 9332 in the integers of Linux `sch_dualpi2`, by delay: base, coupled and squared probability, and overload.
#[test]
fn the_controller_of_two_queues_follows_the_scripts() {
    let scripts = Script::all("dualpi2", |name| name.starts_with('p'));
    assert_eq!(scripts.len(), 8);
    for script in scripts {
        let mut values = Values::defaults(dualpi2::PARAMETERS);
        let gain = |key| script.word(key).and_then(|text| text.strip_suffix("/256")).expect("a gain in 256ths");
        let given = [
            ("target", script.parameter("target_ns") as f64 / 1e9),
            ("alpha", gain("alpha").parse::<f64>().expect("a number") / 256.0),
            ("beta", gain("beta").parse::<f64>().expect("a number") / 256.0),
            ("coupling", script.parameter("k") as f64),
            ("drop_overload", script.parameter("drop_overload") as f64),
        ];
        given.into_iter().for_each(|(name, value)| values.set(name, value).expect("a parameter"));
        let mut law = DualPi2::new(&values);
        for row in script.rows() {
            law.step_controller(row.number("delay_ns").into());
            let (coupled, overload) = law.coupled();
            let squared = (u64::from(law.p) * u64::from(law.p)) >> 32;
            let seen = [law.p.into(), coupled as i64, squared as i64, i64::from(overload)];
            assert_eq!(Some(seen), row.expected(&["p", "p_L", "p_C", "overload"]), "{row}");
        }
    }
}
