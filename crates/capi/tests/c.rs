//! The header and the library as C sees them: programs that the C compiler builds and that this runs.

mod programs;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Time};
use shallows_contract::file::RequestFile;
use shallows_sim::{FlowSpec, Progress, Simulation};

use crate::programs::{build_c as build, data, printed, root};

fn header_file() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("include/shallows.h")
}

#[test]
fn the_header_is_current() {
    let written = fs::read_to_string(header_file()).unwrap_or_default();
    let command = "cargo test -p shallows-capi -- --ignored";
    assert!(written == shallows::header(), "include/shallows.h: expected what `{command}` writes");
}

#[test]
#[ignore = "writes include/shallows.h"]
fn write_the_header() {
    fs::write(header_file(), shallows::header()).expect("a folder include");
}

#[test]
fn c_places_fields_as_rust_does() {
    let source = Path::new(env!("CARGO_TARGET_TMPDIR")).join("layout.c");
    let main = "int main(void) { return 0; }";
    let text = format!("#include <shallows.h>\n{}{main}\n", shallows::layout_checks());
    fs::write(&source, text).expect("a folder for tests");
    build(&source, &[]);
}

/// 400 Gbps, two links of 1 us, frames of 4160 B with headers of 64 B: a frame takes 4160 B * 8 / 400 Gbps = 83,200 ps, and the first one
/// arrives after 2 us + 2 * 83,200 ps; each further one a frame later.
#[test]
fn the_example_prints_what_arithmetic_says() {
    let program = build(&root().join("examples/c/transfers.c"), &[]);
    let expected = "message 0: 4096 B after 2166400 ps\nmessage 1: 8192 B after 2249600 ps\n";
    assert_eq!(printed(&program, &data(), &[]), expected);
}

#[test]
fn wrong_use_is_an_error_and_the_network_goes_on() {
    let program = build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/wrong.c"), &[]);
    assert_eq!(printed(&program, &data(), &[]), "");
}

/// `SHALLOWS_SEQUENCES=2000 cargo test -p shallows-capi sequences` tries 2000.
#[test]
fn random_sequences_of_calls_survive_the_address_sanitizer() {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sequences.c");
    let program = build(&source, &["-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"]);
    #[allow(clippy::disallowed_methods, reason = "the number of sequences, not what one does")]
    let count = std::env::var("SHALLOWS_SEQUENCES").unwrap_or_else(|_| "100".to_owned());
    assert_eq!(printed(&program, &data(), &[&count]), format!("{count} sequences\n"));
}

/// Messages between random hosts, in the order of their starts: (src, dst, bytes, start).
fn random_trace(seed: u64) -> Vec<(u32, u32, u64, u64)> {
    let mut rng = Rng::new(seed, 0);
    let mut start = 0;
    let mut message = |_| {
        let mut below = |most: u64| rng.bits() % most;
        let src = below(4) as u32;
        start += below(3_000_000);
        let size = 1 << (1 + below(20));
        (src, (src + 1 + below(3) as u32) % 4, 1 + below(size), start)
    };
    (0..60).map(&mut message).collect()
}

/// What `trace.c` prints, by the packet simulator that runs all messages whole.
fn whole(trace: &[(u32, u32, u64, u64)]) -> String {
    let mut network = RequestFile::parse(&fs::read(data()).expect("a file")).expect("a request").network;
    let flow = |&(src, dst, bytes, start): &(u32, u32, u64, u64)| FlowSpec::new(src, dst, Bytes(bytes), Time(start));
    network.flows = trace.iter().map(flow).collect();
    let mut run = Simulation::new(network).expect("a lawful network");
    while run.advance(u64::MAX) == Progress::Running {}
    let answer = run.finish();
    let mut ends: Vec<_> = answer.flows.iter().map(|flow| flow.finish.0).zip(0..).collect();
    ends.sort_unstable();
    let lines: String = ends.iter().map(|(end, number)| format!("{number} {end}\n")).collect();
    format!("{lines}fingerprint {:016x}\n", answer.fingerprint)
}

#[test]
fn messages_arrive_as_in_a_run_that_knows_all_of_them() {
    let program = build(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trace.c"), &[]);
    for seed in 0..20 {
        let trace = random_trace(seed);
        let lines: String =
            trace.iter().map(|(src, dst, bytes, start)| format!("{src} {dst} {bytes} {start}\n")).collect();
        let mut process = Command::new(&program);
        let process = process.arg(data()).arg(seed.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut process = process.spawn().expect("it was built");
        process.stdin.take().expect("a pipe").write_all(lines.as_bytes()).expect("it reads");
        let done = process.wait_with_output().expect("it ends");
        assert_eq!(sorted(&String::from_utf8_lossy(&done.stdout)), sorted(&whole(&trace)), "seed {seed}");
    }
}

/// Lines in an order that does not depend on that of ends at the same time.
fn sorted(text: &str) -> Vec<&str> {
    let mut lines: Vec<_> = text.lines().collect();
    lines.sort_unstable();
    lines
}
