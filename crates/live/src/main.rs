//! `shallows-live`: the kernel world as a separate program, which `shallows` starts. Requests and answers are JSON
//! (docs/crossing.md).
//!
//! Nothing of a run outlives the process: namespaces have no name, devices are open files, eBPF links are not pinned,
//! connections end with a reset. A kill -9 leaves an empty control group, which the next command removes. `attach` pins
//! its links in one directory.

/// Prints a line. The reader may have gone (`| head -1`), which changes nothing of what the command does.
macro_rules! say {
    ($($part:tt)*) => {{
        let _ = std::io::Write::write_fmt(&mut std::io::stdout(), format_args!("{}\n", format_args!($($part)*)));
    }};
}

mod active;
mod answer;
mod attach;
mod check;
mod clock;
mod control_group;
mod device;
mod emulation;
mod headroom;
mod host;
mod interface;
mod lockdir;
mod namespaces;
mod priority;
mod privileges;
mod programs;
mod request;
mod run;
mod stop;
mod traffic;
mod two_hosts;
mod wire;

use std::io::{self, Read, Write};
use std::process::ExitCode;

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The error of a command: a sentence.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

const USAGE: &str = "usage: shallows-live check | run | two-hosts | attach | detach [--force] | status | sources   (run, \
                     two-hosts and attach read a request)";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run_command(&words) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(2),
        Err(error) => {
            complain(&error.to_string());
            ExitCode::from(2)
        }
    }
}

fn run_command(words: &[&str]) -> Outcome<bool> {
    let reads_only = matches!(words, ["check" | "sources"]);
    if privileges::missing().is_none() {
        if let Err(error) = active::sweep() {
            complain(&format!("a killed command has left something: {error}"));
        }
        control_group::sweep()?;
    } else if !reads_only {
        privileges::require()?;
    }
    match words {
        ["check"] => check::check(),
        ["run"] => answer(&run::run(&read_request()?)?),
        ["two-hosts"] => answer(&two_hosts::run(&read_request()?)?),
        ["attach"] => attach::attach(&read_request()?),
        ["detach"] => attach::detach(false),
        ["detach", "--force"] => attach::detach(true),
        ["status"] => attach::status(),
        ["sources"] => answer(&shallows_contract::SOURCES),
        _ => Err(USAGE.into()),
    }
}

/// Prints a line on standard error, which the caller may have closed.
fn complain(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

fn read_request<T: DeserializeOwned>() -> Outcome<T> {
    let mut text = String::new();
    io::stdin().read_to_string(&mut text)?;
    serde_json::from_str(&text).map_err(|error| format!("request: {error}").into())
}

fn answer(outcome: &impl Serialize) -> Outcome<bool> {
    serde_json::to_writer(io::stdout().lock(), outcome)?;
    io::stdout().flush()?;
    Ok(true)
}
