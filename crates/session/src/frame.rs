//! Frames: a length of 32 bits in network byte order, and a canonical JSON object.
//!
//! Canonical is: UTF-8, keys in ascending order and each once, no spaces, the shortest escapes, and integers for all numbers.

use std::io::{self, Read, Write};

use serde_json::{Map, Value};

use crate::request::Refusal;

/// The longest body in bytes.
pub const LONGEST: u32 = 1 << 20;

/// What a stream has next.
pub enum Frame {
    /// A whole body.
    Body(Vec<u8>),
    /// Nothing.
    End,
    /// A part of a frame.
    Broken(Refusal),
    /// A frame of this length, which is not read.
    TooLong(u32),
}

/// Reads the next frame.
pub fn read(input: &mut dyn Read) -> io::Result<Frame> {
    let mut length = [0; 4];
    match read_some(input, &mut length)? {
        0 => return Ok(Frame::End),
        4 => {}
        read => return Ok(Frame::Broken(truncated(read, 4, "the length of a frame"))),
    }
    let length = u32::from_be_bytes(length);
    if length > LONGEST {
        return Ok(Frame::TooLong(length));
    }
    let mut body = vec![0; length as usize];
    let read = read_some(input, &mut body)?;
    Ok(if read < body.len() { Frame::Broken(truncated(read, body.len(), "a frame")) } else { Frame::Body(body) })
}

fn truncated(read: usize, length: usize, what: &str) -> Refusal {
    Refusal::new("truncated_frame", format!("the input ends after {read} of {length} B of {what}"))
}

/// Fills the buffer as far as the input goes; returns the number of bytes.
fn read_some(input: &mut dyn Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match input.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Writes an object as a frame.
pub fn write(output: &mut dyn Write, object: &Map<String, Value>) -> io::Result<()> {
    let body = serde_json::to_vec(object)?;
    let length = u32::try_from(body.len()).map_err(|_| io::Error::other("an answer of 4 GiB or more"))?;
    output.write_all(&length.to_be_bytes())?;
    output.write_all(&body)?;
    output.flush()
}

/// The object of a body.
pub fn parse(body: &[u8]) -> Result<Map<String, Value>, Refusal> {
    let noncanonical = |why: &str| Refusal::new("noncanonical_json", format!("{why}: expected canonical JSON"));
    let value: Value = serde_json::from_slice(body).map_err(|error| noncanonical(&error.to_string()))?;
    if !has_integers(&value) {
        return Err(noncanonical("a number that is no integer of 64 bits"));
    }
    // The map of serde_json has its keys in order and each once.
    if value.to_string().as_bytes() != body {
        return Err(noncanonical("spaces, an escape, or keys that are repeated or not in order"));
    }
    match value {
        Value::Object(object) => Ok(object),
        _ => Err(Refusal::new("not_an_object", "expected an object".to_owned())),
    }
}

fn has_integers(value: &Value) -> bool {
    match value {
        Value::Number(number) => !number.is_f64(),
        Value::Array(values) => values.iter().all(has_integers),
        Value::Object(fields) => fields.values().all(has_integers),
        _ => true,
    }
}
