//! The text of `shallows.h`.

use std::fmt::Write as _;

use crate::declare::{Declaration, Named};
use crate::interface::{constants, functions, structs};

const ABOUT: &str = "\
/* A datacenter network that your program drives: it sends messages, advances the clock, and is told when they arrive.
 *
 * Generated from crates/capi/src/interface.rs: `cargo test -p shallows-capi -- --ignored` writes it anew. docs/driving-c.md has a tutorial.
 *
 * A function that returns int32_t or int64_t returns -1 on an error, and one that returns a network returns 0. shallows_last_error() then
 * says why; the network goes on as before. Networks are numbers: a closed one is an error. Calls of several threads on one network wait
 * for each other. */
";

const LAST_ERROR: &str = "\
/* Returns why the last call of this thread that failed did so, valid until its next call that fails. Empty if none has. */
const char *shallows_last_error(void);
";

/// The header.
#[must_use]
pub fn header() -> String {
    let declarations = constants().into_iter().chain(structs()).chain(functions());
    let mut text =
        format!("{ABOUT}\n#ifndef SHALLOWS_H\n#define SHALLOWS_H\n\n#include <stddef.h>\n#include <stdint.h>\n");
    text += "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n";
    for declaration in declarations {
        text += &format!("\n{}", declaration.in_c());
    }
    let _ = write!(text, "\n{LAST_ERROR}");
    text + "\n#ifdef __cplusplus\n}\n#endif\n\n#endif\n"
}

fn comment(about: &[&str], indent: &str) -> String {
    let lines: Vec<_> = about.iter().map(|line| line.trim()).collect();
    format!("{indent}/* {} */\n", lines.join(&format!("\n{indent} * ")))
}

/// A type and a name, with the star of a pointer beside the name.
fn named((kind, name): &Named) -> String {
    if kind.ends_with('*') { format!("{kind}{name}") } else { format!("{kind} {name}") }
}

impl Declaration {
    fn in_c(&self) -> String {
        match self {
            Self::Constant { about, name, value } => format!("{}#define {name} {value}\n", comment(about, "")),
            Self::Struct { about, name, fields, size } => {
                let field = |(about, field, _): &(&[&str], Named, usize)| {
                    format!("{}    {};\n", comment(about, "    "), named(field))
                };
                let body: String = fields.iter().map(field).collect();
                let about = comment(about, "");
                format!("{about}typedef struct {{\n{body}}} {name}; /* {size} bytes */\n")
            }
            Self::Function { about, name, returns, arguments } => {
                let list: Vec<_> = arguments.iter().map(named).collect();
                format!("{}{returns} {name}({});\n", comment(about, ""), list.join(", "))
            }
        }
    }
}

/// Assertions in C that the compiler places the fields of the structs as Rust does.
#[must_use]
pub fn layout_checks() -> String {
    let mut text = String::new();
    for declaration in structs() {
        let Declaration::Struct { name, fields, size, .. } = declaration else { continue };
        let _ = writeln!(text, "_Static_assert(sizeof({name}) == {size}, \"{name}\");");
        for (_, (_, field), place) in fields {
            let _ = writeln!(text, "_Static_assert(offsetof({name}, {field}) == {place}, \"{name}.{field}\");");
        }
    }
    text
}
