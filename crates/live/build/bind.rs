//! Reads the structures of the C cores, so that they are written once: integers and other such structures, a field a
//! line, as `bpf/core.h` says. `Step` and its like follow from the macro of `bpf/steps.h`.

use std::collections::BTreeMap;

/// Rust for every structure of these headers, in order.
pub fn bind(headers: &[String]) -> String {
    let text = headers.iter().map(|header| expanded(header)).collect::<Vec<_>>().join("\n");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find("struct ") {
        rest = &rest[at + "struct ".len()..];
        let Some((name, body)) = rest.split_once(" {\n").filter(|(name, _)| name.chars().all(is_of_name)) else {
            continue;
        };
        let (fields, after) = body.split_once("};").expect("a structure ends");
        rest = after;
        structure(&mut out, name, fields);
    }
    out
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// With macros of one argument, which paste it to names, where they are used on a line of their own.
fn expanded(header: &str) -> String {
    let joined = header.replace("\\\n", "\u{1}");
    let mut macros = BTreeMap::new();
    let mut lines = Vec::new();
    for line in joined.lines() {
        let used = line.strip_suffix(")").and_then(|line| line.split_once('('));
        if let Some((name, body)) = line.strip_prefix("#define ").and_then(|line| line.split_once("(name)")) {
            macros.insert(name, body.replace('\u{1}', "\n"));
        } else if let Some(body) = used.and_then(|(name, argument)| Some(macros.get(name)?.replace("name##", argument)))
        {
            lines.push(body);
        } else {
            lines.push(line.replace('\u{1}', "\n"));
        }
    }
    lines.join("\n").lines().map(str::trim_end).collect::<Vec<_>>().join("\n")
}

fn structure(out: &mut String, name: &str, fields: &str) {
    let derived = "Clone, Copy, Debug, Default, PartialEq, Eq, FromBytes, Immutable, IntoBytes, KnownLayout";
    let heads = format!("/// `struct {name}`.\n#[derive({derived})]\n#[repr(C)]\npub struct {} {{\n", camel(name));
    out.push_str(&heads);
    for field in fields.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with(['*', '/'])) {
        let (declared, comment) =
            field.split_once(';').unwrap_or_else(|| panic!("struct {name}: a field a line: {field}"));
        let (kind, field) = declared.rsplit_once(' ').expect("a type and a name");
        let comment = comment.trim().trim_start_matches("/*").trim_end_matches("*/").trim();
        let comment = if comment.is_empty() { field } else { comment };
        out.push_str(&format!("    /// {comment}\n    pub {field}: {},\n", rust(kind.trim())));
    }
    out.push_str("}\n\n");
}

fn rust(kind: &str) -> String {
    match kind {
        "u8" | "u16" | "u32" | "u64" => kind.to_owned(),
        "s32" => "i32".to_owned(),
        "s64" => "i64".to_owned(),
        _ => camel(kind.strip_prefix("struct ").unwrap_or_else(|| panic!("{kind} in a core"))),
    }
}

fn camel(name: &str) -> String {
    name.split('_').map(|word| word[..1].to_uppercase() + &word[1..]).collect()
}
