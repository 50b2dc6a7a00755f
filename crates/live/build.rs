//! Compiles the integer cores of `bpf/` natively and, where there is a clang, to bytecode.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rustc-check-cfg=cfg(bytecode)");
    println!("cargo::rerun-if-changed=../../bpf");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../bpf");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it"));
    cc::Build::new().file(source.join("steps.c")).warnings_into_errors(true).compile("steps");
    if compile(&source.join("steps.c"), &out.join("steps.o")) {
        println!("cargo::rustc-cfg=bytecode");
    } else {
        println!("cargo::warning=no clang with an eBPF target: bytecode is not tested");
    }
}

/// Compiles one file to bytecode; whether that worked.
fn compile(source: &Path, object: &Path) -> bool {
    let mut clang = Command::new("clang");
    clang.args(["-O2", "-g", "-Wall", "-Wextra", "-Werror", "-target", "bpf", "-mcpu=v3", "-ffunction-sections", "-c"]);
    let there = Command::new("clang").arg("--print-targets").stdout(Stdio::null()).stderr(Stdio::null()).status();
    there.is_ok_and(|status| status.success())
        && clang.arg(source).arg("-o").arg(object).status().is_ok_and(|status| status.success())
}
