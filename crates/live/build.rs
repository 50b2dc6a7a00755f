//! Compiles the integer cores of `bpf/` natively and, where there is a clang, to bytecode; with the feature `bpf`
//! the programs for the kernel too.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The programs around the cores.
const PROGRAMS: [&str; 5] = ["dctcp", "dx", "inigo", "inigo_receiver", "steps"];

fn main() {
    println!("cargo::rustc-check-cfg=cfg(bytecode)");
    println!("cargo::rerun-if-changed=../../bpf");
    let folder = |name| PathBuf::from(env::var_os(name).expect("cargo sets it"));
    let (source, out) = (folder("CARGO_MANIFEST_DIR").join("../../bpf"), folder("OUT_DIR"));
    cc::Build::new().file(source.join("steps.c")).warnings_into_errors(true).compile("steps");
    if !clang_is_there() {
        assert!(env::var_os("CARGO_FEATURE_BPF").is_none(), "the feature bpf needs clang with an eBPF target");
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
