//! Gives the core and the kernel world's program a checksum of the Rust sources that both are built from (`SOURCES`).
//!
//! python/shallows/base/version.py compares that of the core with the sources beside a checkout: a core that was not rebuilt
//! must not pass for the commit that is checked out. python/shallows/worlds/live.py compares the program's with the core's.

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    // Not by `env!`: checkouts that share a folder for builds share this program.
    let own = env::var_os("CARGO_MANIFEST_DIR").expect("cargo says which crate is built");
    let crates = Path::new(&own).parent().expect("crates/contract lies in crates");
    let mut files = Vec::new();
    for entry in fs::read_dir(crates).expect("crates can be read") {
        let folder = entry.expect("crates can be read").path();
        // The kernel world is a program of its own.
        if folder.join("src").is_dir() && !folder.ends_with("live") {
            println!("cargo::rerun-if-changed={}", folder.join("src").display());
            collect(&folder.join("src"), &mut files);
        }
    }
    let mut named: Vec<(String, PathBuf)> = files
        .into_iter()
        .map(|path| {
            let name = path.strip_prefix(crates).expect("found in crates").to_str().expect("names are ASCII");
            (name.replace('\\', "/"), path.clone())
        })
        .collect();
    named.sort();
    let mut sum = !0;
    for (name, path) in named {
        sum = crc32(crc32(sum, name.as_bytes()), &fs::read(path).expect("sources can be read"));
    }
    println!("cargo::rustc-env=SHALLOWS_SOURCES={:08x}", !sum);
}

/// All Rust files below `folder`.
fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("sources can be read") {
        let path = entry.expect("sources can be read").path();
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
}

/// One more piece of a CRC-32 as in zlib, bit by bit.
fn crc32(sum: u32, bytes: &[u8]) -> u32 {
    bytes.iter().fold(sum, |sum, &byte| {
        (0..8).fold(sum ^ u32::from(byte), |sum, _| (sum >> 1) ^ if sum & 1 == 1 { 0xedb8_8320 } else { 0 })
    })
}
