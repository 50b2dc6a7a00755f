//! A request as JSON: what becomes of it, and what is refused.

use serde_json::{Value, json};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_contract::request::Request;
use shallows_sim::spec::network::{Limit, Network};

/// Two hosts at a switch, a marking port and a flow.
fn two_hosts() -> Value {
    json!({
        "hosts": 2, "nodes": 3,
        "links": {
            "from": [0, 2, 1, 2], "to": [2, 0, 2, 1],
            "rate_bps": [1_000_000_000_u64, 1_000_000_000_u64, 1_000_000_000_u64, 1_000_000_000_u64],
            "delay_ps": [5_000_000, 5_000_000, 5_000_000, 5_000_000],
            "buffer_bytes": [u64::MAX, 150_000, u64::MAX, 150_000],
            "marking": [0, 1, 0, 1],
        },
        "markings": [{"kind": "none"}, {"kind": "step", "parameters": {"threshold": 30_000.0}}],
        "flows": {
            "src": [0], "dst": [1], "bytes": [0], "start_ps": [0], "stop_ps": [u64::MAX], "cc": [0],
        },
        "ccs": [{"name": "dctcp", "parameters": {"g": 0.125}}],
        "host": {
            "nic": "fair", "initial_window_bytes": 14_600, "rto_min_ps": 1_000_000_000_u64, "rto_max_ps": 100_000_000_000_u64,
            "rto_initial_ps": 10_000_000_000_u64, "acks_every": 1, "ack_delay_ps": 500_000_000, "segment": 1,
        },
        "mtu_bytes": 1500, "header_bytes": 40, "duration_ps": 1_000_000_000_u64, "until_done": false, "warmup_ps": 0, "seed": 7,
        "record": {"queue_interval_ps": 0, "queue_links": [], "probe_interval_ps": 0, "probe_flows": []},
    })
}

fn network(told: Value) -> Result<Network, String> {
    let request: Request = serde_json::from_value(told).map_err(|error| error.to_string())?;
    request.network(&|_| None)
}

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    let mut told = two_hosts();
    change(&mut told);
    network(told).expect_err("it is refused")
}

#[test]
fn a_request_becomes_a_network() {
    let network = network(two_hosts()).unwrap();
    assert!(network.check().is_ok());
    assert_eq!((network.ports[1].from, network.ports[1].rate), (2, Rate::from_gbps(1)));
    assert_eq!((network.ports[0].buffer, network.ports[1].buffer), (Bytes::MAX, Bytes(150_000)));
    // Ports that do not mark have no marking, and the others count without them.
    assert_eq!([0, 1, 2, 3].map(|at| network.ports[at].marking), [None, Some(0), None, Some(0)]);
    assert_eq!((network.markings.len(), network.markings[0].mechanism.name), (1, "step"));
    assert_eq!((network.flows[0].bytes, network.flows[0].after.len()), (Bytes::MAX, 0));
    assert_eq!((network.host.rto_initial, network.seed), (Time::from_millis(10), 7));
}

#[test]
fn a_class_is_limited_in_packets_where_both_limits_are_told() {
    let mut told = two_hosts();
    told["disciplines"] = json!([[
        {"carries": ["credit"], "limit_packets": 8, "limit_bytes": 9, "shaper_bps": 1000, "shaper_burst_bytes": 2},
        {"carries": ["other"], "limit_bytes": 9},
    ]]);
    told["links"]["discipline"] = json!([0, 1, 0, 1]);
    let network = network(told).unwrap();
    let classes = &network.disciplines[0].classes;
    assert_eq!([classes[0].limit, classes[1].limit], [Limit::Packets(8), Limit::Bytes(Bytes(9))]);
    assert_eq!((network.ports[0].discipline, network.ports[1].discipline), (None, Some(0)));
}

#[test]
fn a_field_that_nobody_knows_is_refused() {
    for table in ["links", "flows", "host", "record"] {
        assert!(refusal(|told| told[table]["colour"] = json!(1)).contains("unknown field `colour`"));
    }
    assert!(refusal(|told| told["colour"] = json!(1)).contains("unknown field `colour`"));
    assert!(refusal(|told| told["ccs"][0]["colour"] = json!(1)).contains("unknown field `colour`"));
}

#[test]
fn what_contradicts_itself_is_refused_by_name() {
    let cases: [(&str, &str, Value); 8] = [
        ("/links/to", "links: columns of lengths [4, 1, 4, 4, 4, 4, 4]", json!([1])),
        ("/links/marking", "links.marking[2]: no such marking", json!([0, 1, 2, 1])),
        ("/flows/cc", "flows: columns of lengths [1, 1, 1, 1, 1, 0, 1, 1]", json!([])),
        ("/markings/1/kind", "no marking is called \"stop\"", json!("stop")),
        ("/markings/1/at", "unknown variant `exit`", json!("exit")),
        ("/ccs/0/name", "no algorithm is called \"dctpc\"", json!("dctpc")),
        ("/ccs/0/parameters", "dctcp: no parameter \"beta\"", json!({"beta": 1})),
        ("/host/nic", "unknown variant `fast`, expected `fair` or `fifo`", json!("fast")),
    ];
    for (path, expected, value) in cases {
        let said = refusal(|told| {
            let (parent, key) = path.rsplit_once('/').unwrap();
            told.pointer_mut(parent).unwrap()[key] = value;
        });
        assert!(said.contains(expected), "{path}: {said}");
    }
    let classes = json!([[{"carries": ["data"], "limit_bytes": 1}]]);
    assert!(refusal(|told| told["disciplines"] = classes).contains("no class for \"ack\""));
    assert!(refusal(|told| told["ccs"][0]["written"] = json!(0)).contains("no class 0"));
}
