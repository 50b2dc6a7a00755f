//! The backend for ASTRA-sim (examples/astra-sim), against a stub of its interface.

mod programs;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use shallows_cc::units::{Bytes, Time};
use shallows_contract::file::RequestFile;
use shallows_sim::{FlowSpec, Progress, Simulation};

use crate::programs::{build, data, printed, root, run};

fn stub() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let folder = root().join("examples/astra-sim");
        let include = [folder.join("stub"), folder.clone()].map(|path| format!("-I{}", path.display()));
        build("c++", &folder.join("stub/main.cc"), &["-std=c++17", "-O1", "-g", &include[0], &include[1]])
    })
}

/// The request file of the tests with another number of hosts at the switch.
fn star(hosts: u64) -> PathBuf {
    let mut file: Value = serde_json::from_slice(&fs::read(data()).expect("a file")).expect("JSON");
    let (links, request) = (2 * hosts as usize, &mut file["data"]);
    let (first, second) = (|at: u64| [at, hosts], |at: u64| [hosts, at]);
    request["links"]["from"] = (0..hosts).flat_map(first).collect::<Vec<_>>().into();
    request["links"]["to"] = (0..hosts).flat_map(second).collect::<Vec<_>>().into();
    for key in ["rate_bps", "delay_ps", "buffer_bytes", "marking", "discipline"] {
        let column = request["links"][key].as_array().expect("a column").clone();
        request["links"][key] = column.into_iter().cycle().take(links).collect::<Vec<_>>().into();
    }
    (request["hosts"], request["nodes"], request["record"]["queue_links"]) =
        (hosts.into(), (hosts + 1).into(), json!([]));
    file["links"] = vec!["a link"; links].into();
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("star-{hosts}-{}.json", std::process::id()));
    fs::write(&path, file.to_string()).expect("a folder for tests");
    path
}

fn nanoseconds(file: &Path, words: &str) -> u64 {
    let words: Vec<_> = words.split(' ').collect();
    printed(stub(), file, &words).trim().parse().expect("a time")
}

/// The end of flows of the packet simulator, in ns, each of which may wait for others at the host where it starts.
fn whole(file: &Path, flows: Vec<FlowSpec>) -> f64 {
    let mut network = RequestFile::parse(&fs::read(file).expect("a file")).expect("a request").network;
    network.flows = flows;
    let mut run = Simulation::new(network).expect("a lawful network");
    while run.advance(u64::MAX) == Progress::Running {}
    let answer = run.finish();
    answer.flows.iter().map(|flow| flow.finish.0).max().expect("a flow") as f64 / 1e3
}

/// Rounds of a ring in which each rank sends on what it has received.
fn ring(ranks: u32, rounds: u32, bytes: u64, stride: u32) -> Vec<FlowSpec> {
    let flow = |at: u32| {
        let (round, rank) = (at / ranks, at % ranks);
        let before = (rank + ranks - stride) % ranks;
        let after = if round == 0 { Vec::new() } else { vec![(round - 1) * ranks + before] };
        FlowSpec { after, ..FlowSpec::new(rank, (rank + stride) % ranks, Bytes(bytes), Time::ZERO) }
    };
    (0..ranks * rounds).map(flow).collect()
}

/// All-reduce has 2 (n - 1) rounds of an n-th of the data, reduce-scatter and all-gather have n - 1. The other direction is a stride of n - 1.
#[test]
fn collectives_take_as_long_as_those_of_the_packet_simulator() {
    for ranks in [4, 8, 16] {
        let (file, bytes) = (star(ranks.into()), 1_048_576 / u64::from(ranks));
        for (rounds, stride) in [(2 * (ranks - 1), 1), (ranks - 1, 1), (2 * (ranks - 1), ranks - 1)] {
            let ours = whole(&file, ring(ranks, rounds, bytes, stride));
            let time = nanoseconds(&file, &format!("ring {ranks} {rounds} {bytes} {stride}")) as f64;
            assert!((time / ours - 1.0).abs() < 0.005, "{ranks} ranks, {rounds} rounds: {time} ns, {ours} ns");
        }
        let pair = |at: u32| FlowSpec::new(at % ranks, (at % ranks + 1 + at / ranks) % ranks, Bytes(bytes), Time::ZERO);
        let ours = whole(&file, (0..ranks * (ranks - 1)).map(pair).collect());
        let time = nanoseconds(&file, &format!("all-to-all {ranks} {bytes}")) as f64;
        assert!((time / ours - 1.0).abs() < 0.005, "all-to-all of {ranks}: {time} ns, {ours} ns");
    }
}

#[test]
fn the_interface_keeps_what_it_promises() {
    assert_eq!(printed(stub(), &data(), &["calls"]), "");
}

#[test]
fn receives_are_matched_as_a_model_of_the_rules_says() {
    assert_eq!(printed(stub(), &data(), &["matching", "10000"]), "");
}

#[test]
fn an_end_before_all_ranks_have_finished_is_an_error() {
    let done = run(stub(), &data(), &["stuck"]);
    assert_eq!(done.status.code(), Some(1));
    let expected = "shallows: nothing is left to happen at 0 ns, and 0 of 2 ranks have finished\n";
    assert_eq!(String::from_utf8_lossy(&done.stderr), expected);
    let done = run(stub(), Path::new("missing.json"), &["stuck"]);
    assert_eq!(done.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&done.stderr).starts_with("shallows: missing.json: "));
}

/// Sizes that a signed or an unsigned number of 32 bits does not hold.
#[test]
fn large_messages_have_the_goodput_of_smaller_ones() {
    let file = star(2);
    let goodput = |bytes: u64| bytes as f64 / nanoseconds(&file, &format!("ring 2 1 {bytes} 1")) as f64;
    let sizes = [i32::MAX as u64, 1 << 31, 6_000_000_000];
    let all = sizes.map(goodput);
    for (bytes, one) in sizes.into_iter().zip(all) {
        assert!((one / all[0] - 1.0).abs() < 0.001, "{bytes} B: {one} B/ns, {} B/ns", all[0]);
    }
}
