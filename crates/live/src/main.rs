//! `shallows-live`: the kernel world as a program of its own. `shallows` starts it; what goes in and comes out is
//! JSON, as docs/crossing.md has it.
//!
//! Nothing outlives the process that is not written down: namespaces have no name, devices are held open, eBPF links
//! are not pinned. A kill -9 leaves an empty cgroup, which the next start removes.

mod answer;
mod check;
mod clock;
mod control_group;
mod host;
mod interface;
mod programs;
mod request;
mod run;
mod traffic;
mod wire;

use std::io::{self, Read, Write};
use std::process::ExitCode;

/// What every command may fail with: a sentence.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: shallows-live check | run (a request on stdin, the answer on stdout)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let outcome = match words[..] {
        ["check"] => check::check(),
        ["run"] => run_request(),
        _ => Err(USAGE.into()),
    };
    match outcome {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}

fn run_request() -> Outcome<bool> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    let request = serde_json::from_str(&text).map_err(|error| format!("request: {error}"))?;
    let answer = run::run(&request)?;
    serde_json::to_writer(io::stdout().lock(), &answer)?;
    io::stdout().flush()?;
    Ok(true)
}
