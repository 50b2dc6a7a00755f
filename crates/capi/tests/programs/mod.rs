//! Builds programs against the library, and runs them.

#![allow(dead_code, reason = "each test uses some of it")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What `shallows request examples/c/star.toml --no-traffic` writes.
pub fn data() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/star.json")
}

/// The static library of this build, which cargo puts beside the test or into the folder above.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a path");
    let folders = test.ancestors().skip(1).take(2);
    folders.map(|folder| folder.join("libshallows.a")).find(|path| path.exists()).expect("cargo has built it")
}

pub fn build_c(source: &Path, options: &[&str]) -> PathBuf {
    build("cc", source, &[&["-std=c11", "-pedantic"], options].concat())
}

/// Builds a program against the library, with these options of the compiler.
pub fn build(compiler: &str, source: &Path, options: &[&str]) -> PathBuf {
    let name = source.file_stem().expect("a file").display().to_string();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{}", std::process::id()));
    let mut command = Command::new(compiler);
    command.args(["-Wall", "-Wextra", "-Werror", "-I"]).arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("include"));
    command.args(options).arg(source).arg("-o").arg(&program).arg(library());
    let done = command.args(["-lm", "-lpthread", "-ldl"]).output().expect("a compiler");
    assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    program
}

/// What a program does with a request file and arguments.
pub fn run(program: &Path, file: &Path, arguments: &[&str]) -> Output {
    Command::new(program).arg(file).args(arguments).output().expect("it was built")
}

/// What it prints, if it ends well and says nothing on standard error.
pub fn printed(program: &Path, file: &Path, arguments: &[&str]) -> String {
    let done = run(program, file, arguments);
    let said = String::from_utf8_lossy(&done.stderr).into_owned();
    assert!(done.status.success(), "{:?}: {said}", done.status);
    assert_eq!(said, "");
    String::from_utf8(done.stdout).expect("text")
}
