//! Compiles the integer cores of `bpf/` natively and, where there is a clang, to bytecode, and binds their structures;
//! with the feature `bpf` it compiles the programs for the kernel too.

mod bind;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::{env, fs};

/// What the structures of cores are read from, in the order in which they need one another.
const CORES: [&str; 6] = ["core.h", "dctcp_core.h", "dx_core.h", "inigo_core.h", "inigo_receiver_core.h", "steps.h"];
/// The programs around the cores.
const PROGRAMS: [&str; 6] = ["dctcp", "dx", "ecn", "inigo", "inigo_receiver", "steps"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(bytecode)");
    println!("cargo::rerun-if-changed=../../bpf");
    let folder = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let (source, out) = (folder("CARGO_MANIFEST_DIR").join("../../bpf"), folder("OUT_DIR"));
    let steps = source.join("steps.c");
    cc::Build::new().file(steps).flag("-Wno-unused-parameter").warnings_into_errors(true).compile("steps");
    let headers = CORES.map(|name| fs::read_to_string(source.join(name)).expect("a header of bpf/"));
    fs::write(out.join("cores.rs"), bind::bind(&headers)).expect("cargo gives a folder to write to");
    if !clang_is_there() {
        if env::var_os("CARGO_FEATURE_BPF").is_some() {
            // A sentence for the user, without a stack.
            println!("cargo::error=the feature bpf needs clang with an eBPF target (Debian: apt install clang)");
            return;
        }
        println!("cargo::warning=no clang with an eBPF target: bytecode is not tested");
        return;
    }
    compile(&source.join("steps.c"), &out.join("steps.o"));
    println!("cargo::rustc-cfg=bytecode");
    if env::var_os("CARGO_FEATURE_BPF").is_some() {
        for name in PROGRAMS {
            compile(&source.join(format!("{name}.bpf.c")), &out.join(format!("{name}.bpf.o")));
        }
    }
}

fn clang_is_there() -> bool {
    let targets = Command::new("clang").arg("--print-targets").stderr(Stdio::null()).output();
    targets.is_ok_and(|told| told.status.success() && String::from_utf8_lossy(&told.stdout).contains("bpf"))
}

fn compile(source: &Path, object: &Path) {
    let mut clang = Command::new("clang");
    clang.args(["-O2", "-g", "-Wall", "-Wextra", "-Wno-unused-parameter", "-Werror"]);
    clang.args(["-target", "bpf", "-mcpu=v3", "-ffunction-sections"]);
    // Debian keeps asm/types.h where only a native compiler looks.
    let machine = env::var_os("CARGO_CFG_TARGET_ARCH").expect("cargo sets it");
    clang.arg(format!("-I/usr/include/{}-linux-gnu", machine.display()));
    let status = clang.arg("-c").arg(source).arg("-o").arg(object).status();
    assert!(status.is_ok_and(|status| status.success()), "{} does not compile (libbpf-dev?)", source.display());
}
