//! A request as JSON: what becomes of it, and what is refused.

use serde_json::{Value, json};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Change, ClassOf, Fault, Limit, Network, PACKET_KINDS, PacketKind, Wait};

/// Two hosts at a switch, a marking port and a flow.
fn two_hosts() -> Value {
    json!({
        "hosts": 2, "nodes": 3,
        "links": {
            "from": [0, 2, 1, 2], "to": [2, 0, 2, 1],
            "rate_bps": [1_000_000_000_u64, 1_000_000_000_u64, 1_000_000_000_u64, 1_000_000_000_u64],
            "delay_ps": [5_000_000, 5_000_000, 5_000_000, 5_000_000],
            "buffer_bytes": [u64::MAX, 150_000, u64::MAX, 150_000],
            "marking": [0, 1, 0, 1], "discipline": [0, 0, 0, 0],
        },
        "markings": [{"kind": "step", "at": "enqueue", "parameters": {"threshold": 30_000.0}}],
        "disciplines": [], "classes": [{}], "pools": [], "balancing": "flow", "entropies": 0, "flowlet_gap_ps": 0,
        "faults": [], "changing": [], "convergence_ps": u64::MAX,
        "sender_settings": {"flow": [], "time_ps": [], "window_bytes": [], "rate_bps": []},
        "flows": {
            "src": [0], "dst": [1], "bytes": [u64::MAX], "start_ps": [0], "stop_ps": [u64::MAX], "class": [0], "cc": [0],
        },
        "path_hashes": {"flow": [], "hash": []}, "routes": {"flow": [], "link": []},
        "computations": {"host": [], "duration_ps": [], "start_ps": [], "processor": []},
        "ccs": [{"name": "dctcp", "parameters": {"g": 0.125}}],
        "host": {
            "nic": "fair", "initial_window_bytes": 14_600, "rto_min_ps": 1_000_000_000_u64, "rto_max_ps": 100_000_000_000_u64,
            "rto_initial_ps": 10_000_000_000_u64, "ack_delay_ps": 500_000_000, "segment": 1, "loss_detection": "duplicate-acks",
            "retransmission": "go-back-n",
            "gap": 0.0,
        },
        "mtu_bytes": 1500, "header_bytes": 40, "duration_ps": 1_000_000_000_u64, "until_done": false, "warmup_ps": 0, "seed": 7,
        "record": {"queue_interval_ps": 0, "queue_links": [], "probe_interval_ps": 0, "probe_flows": []},
        "max_packets": 1000,
    })
}

fn network(request: Value) -> Result<Network, String> {
    let mut network: Network = serde_json::from_value(request).map_err(|error| error.to_string())?;
    network.resolve(&|_| None)?;
    Ok(network)
}

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let mut request = two_hosts();
    change(&mut request);
    network(request).expect_err("it is refused")
}

#[test]
fn a_request_becomes_a_network() {
    let network = network(two_hosts()).unwrap();
    assert!(network.check().is_ok());
    assert_eq!((network.ports[1].from, network.ports[1].rate), (2, Rate::from_gbps(1)));
    assert_eq!((network.ports[0].buffer, network.ports[1].buffer), (Bytes::MAX, Bytes(150_000)));
    assert_eq!([0, 1, 2, 3].map(|at| network.ports[at].marking), [None, Some(0), None, Some(0)]);
    assert_eq!((network.markings.len(), network.markings[0].mechanism.name), (1, "step"));
    assert_eq!((network.flows[0].bytes, &network.flows[0].after), (Bytes::MAX, &Vec::new()));
    assert_eq!((network.host.rto_initial, network.seed), (Time::from_millis(10), 7));
}

#[test]
fn classes_have_limits_shapers_and_kinds_of_packets() {
    let mut request = two_hosts();
    let pacer = json!({"eta": 0.5, "beta": 1.0, "period_ps": 7, "least_bps": 2000, "most_bps": 1000});
    let shaper = json!({"rate_bps": 1000, "burst_bytes": 2, "pacer": pacer});
    request["disciplines"] = json!([{
        "classes": [
            {"limit": {"packets": 8}, "shaper": shaper, "trims": false},
            {"limit": {"bytes": 9}, "trims": true, "turn": 3, "policer": {"rate_bps": 4000, "burst_bytes": 1500}},
        ],
        "class_of": [{"credit": 0, "other": 1}], "paced": 0,
    }]);
    request["links"]["discipline"] = json!([0, 1, 0, 1]);
    let network = network(request).unwrap();
    let discipline = &network.disciplines[0];
    assert_eq!([0, 1].map(|at| discipline.classes[at].limit), [Limit::Packets(8), Limit::Bytes(Bytes(9))]);
    assert_eq!(
        [0, 1].map(|at| (discipline.classes[at].trims, discipline.classes[at].turn)),
        [(false, None), (true, Some(3))]
    );
    let shaper = discipline.classes[0].shaper.unwrap();
    assert_eq!((shaper.rate, shaper.burst), (Rate(1000), Bytes(2)));
    let policer = discipline.classes[1].policer.unwrap();
    assert_eq!((policer.rate, policer.burst), (Rate(4000), Bytes(1500)));
    // The lowest rate of a pacer is at most its highest one.
    assert_eq!(shaper.pacer.map(|pacer| (pacer.least, pacer.most)), Some((Rate(1000), Rate(1000))));
    let classes = PACKET_KINDS.map(|kind| u8::from(kind != PacketKind::Credit));
    assert_eq!((&discipline.class_of, discipline.paced), (&vec![ClassOf(classes)], Some(0)));
    assert_eq!([0, 1].map(|at| network.ports[at].discipline), [None, Some(0)]);
}

#[test]
fn tasks_wait_for_several_and_links_change() {
    let mut request = two_hosts();
    for (key, value) in [("src", json!([0, 0, 0])), ("dst", json!([1, 1, 1])), ("bytes", json!([5, 6, 7]))] {
        request["flows"][key] = value;
    }
    for key in ["start_ps", "cc"] {
        request["flows"][key] = json!([0, 0, 0]);
    }
    request["flows"]["stop_ps"] = json!([u64::MAX, u64::MAX, u64::MAX]);
    request["flows"]["class"] = json!([1, 0, 1]);
    request["classes"] = json!([{"quantum_bytes": 1500}, {"pause": {"threshold_bytes": 1, "hysteresis_bytes": 0}}]);
    request["flows"]["after"] = json!({"flow": [2, 1, 2], "predecessor": [0, 0, 1]});
    request["flows"]["wait"] = json!({"needs": [0, 0, 1], "global": [false, true, false]});
    request["computations"] = json!({
        "host": [1], "duration_ps": [9], "start_ps": [0], "processor": [2],
        "after": {"flow": [0], "predecessor": [1]}, "behind": null,
    });
    request["faults"] = json!([
        {"time_ps": 3, "link": 1, "change": {"rate_bps": 500_000_000}},
        {"time_ps": 4, "link": 1, "change": "down"},
        {"time_ps": 5, "link": 2, "change": {"loss": 0.25}},
    ]);
    let network = network(request).unwrap();
    assert_eq!([0, 1, 2].map(|at| network.flows[at].after.clone()), [vec![], vec![0], vec![0, 1]]);
    let wait = |needs, global| Wait { needs, global };
    assert_eq!([0, 1, 2].map(|at| network.flows[at].wait), [wait(0, false), wait(0, true), wait(1, false)]);
    let one = &network.computations[0];
    assert_eq!((one.host, one.duration, one.processor, &one.after), (1, Time(9), 2, &vec![1]));
    assert_eq!((one.wait, &one.behind), (Wait::ALL, &vec![]));
    assert_eq!([0, 1, 2].map(|at| network.flows[at].class), [1, 0, 1]);
    assert_eq!(
        (network.classes[0].quantum, network.classes[1].pause.map(|pause| pause.threshold.0)),
        (Some(Bytes(1500)), Some(1))
    );
    let fault = |at, link, change| Fault { at: Time(at), link, change };
    let expected =
        [fault(3, 1, Change::Rate(Rate(500_000_000))), fault(4, 1, Change::Down), fault(5, 2, Change::Loss(0.25))];
    assert_eq!(network.faults, expected);
}

#[test]
fn an_unknown_key_is_refused() {
    for table in ["links", "flows", "computations", "host", "record"] {
        assert!(refusal(|request| request[table]["colour"] = json!(1)).contains("unknown field `colour`"));
    }
    assert!(refusal(|request| request["colour"] = json!(1)).contains("unknown field `colour`"));
    assert!(refusal(|request| request["ccs"][0]["colour"] = json!(1)).contains("unknown field `colour`"));
}

#[test]
fn a_contradiction_is_refused_by_key() {
    let cases: [(&str, &str, Value); 9] = [
        ("/links/to", "columns of different lengths (from has 4, to has 1, rate_bps has 4", json!([1])),
        ("/flows/cc", "class has 1, cc has 0): expected an entry a row", json!([])),
        ("/flows/after", "after, behind: row 1 is not one of 1", json!({"flow": [1], "predecessor": [0]})),
        ("/flows/application", "application: 0 rows, expected 1", {
            json!({"first_bytes": [], "resume_ps": [], "on_ps": [], "off_ps": [], "every_ps": []})
        }),
        ("/markings/0/kind", "no marking is called \"stop\"", json!("stop")),
        ("/markings/0/at", "unknown variant `exit`", json!("exit")),
        ("/ccs/0/name", "no algorithm is called \"dctpc\"", json!("dctpc")),
        ("/ccs/0/parameters", "dctcp: no parameter \"beta\"", json!({"beta": 1})),
        ("/host/nic", "unknown variant `fast`, expected `fair` or `fifo`", json!("fast")),
    ];
    for (path, expected, value) in cases {
        let said = refusal(|request| {
            let (parent, key) = path.rsplit_once('/').unwrap();
            request.pointer_mut(parent).unwrap()[key] = value;
        });
        assert!(said.contains(expected), "{path}: {said}");
    }
    let discipline = |class_of| json!([{"classes": [{"limit": {"bytes": 1}, "trims": false}], "class_of": [class_of]}]);
    let refused = |class_of| refusal(|request| request["disciplines"] = discipline(class_of));
    assert!(refused(json!({"data": 0})).contains("no class for \"ack\""));
    assert!(refused(json!({"other": 0, "beer": 0})).contains("no packet is called \"beer\""));
    assert!(refusal(|request| request["ccs"][0]["user_algorithm"] = json!(0)).contains("no class 0"));
}
