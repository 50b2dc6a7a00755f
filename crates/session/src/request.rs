//! Requests: their fields, and errors.

use serde_json::{Map, Value};

/// The protocol.
pub const SCHEMA: &str = "simllm-htsim-flow-session-v1";

/// The only authority over work queue elements that the protocol has.
pub const AUTHORITY: &str = "simllm-native-rnic-session";

/// Why a request is refused.
#[derive(Clone, Debug)]
pub struct Refusal {
    /// A stable name.
    pub code: &'static str,
    /// A sentence for people.
    pub message: String,
}

impl Refusal {
    pub const fn new(code: &'static str, message: String) -> Self {
        Self { code, message }
    }
}

/// A verb of the protocol with the fields of its requests besides `schema` and `verb`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    Open,
    Inject,
    Advance,
    Drain,
    Close,
}

impl Verb {
    const ALL: [Self; 5] = [Self::Open, Self::Inject, Self::Advance, Self::Drain, Self::Close];

    pub const fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Inject => "inject",
            Self::Advance => "advance",
            Self::Drain => "drain",
            Self::Close => "close",
        }
    }

    const fn fields(self) -> &'static [&'static str] {
        match self {
            Self::Open => &[
                "session_id",
                "profile",
                "topology_identity",
                "node_count",
                "link_rate_bps",
                "seed",
                "effective_hardware_sha256",
                "wqe_authority",
            ],
            Self::Inject => &[
                "sequence",
                "execution_id",
                "operation_id",
                "flow_id",
                "source",
                "destination",
                "tag",
                "payload_bytes",
                "eligible_at_ps",
                "policy_context_token",
            ],
            Self::Advance => &["through_sequence", "through_ps"],
            Self::Drain | Self::Close => &["through_sequence"],
        }
    }

    /// The verb of a request that has all its fields and no others.
    pub fn of(request: &Map<String, Value>) -> Result<Self, Refusal> {
        if request.get("schema").and_then(Value::as_str) != Some(SCHEMA) {
            return Err(Refusal::new("unsupported_schema", format!("schema: expected {SCHEMA:?}")));
        }
        let name = request.get("verb").and_then(Value::as_str);
        let verb = Self::ALL.into_iter().find(|verb| Some(verb.name()) == name);
        let verb = verb.ok_or_else(|| {
            Refusal::new("unknown_verb", "verb: expected open, inject, advance, drain or close".to_owned())
        })?;
        let known = |key: &str| key == "schema" || key == "verb" || verb.fields().contains(&key);
        if let Some(key) = request.keys().find(|key| !known(key)) {
            let problem = format!("{key}: expected none in {}", verb.name());
            return Err(Refusal::new("unknown_field", problem));
        }
        match verb.fields().iter().find(|key| !request.contains_key(**key)) {
            Some(key) => Err(Refusal::new("missing_field", format!("{key}: expected one in {}", verb.name()))),
            None => Ok(verb),
        }
    }
}

fn invalid(key: &str, expected: &str) -> Refusal {
    Refusal::new("invalid_field", format!("{key}: expected {expected}"))
}

/// A text that is not blank.
pub fn text<'a>(request: &'a Map<String, Value>, key: &str) -> Result<&'a str, Refusal> {
    let text = request[key].as_str().filter(|text| !text.trim().is_empty());
    text.ok_or_else(|| invalid(key, "a text that is not blank"))
}

/// A whole number from `least` to `most`.
pub fn number(request: &Map<String, Value>, key: &str, least: u64, most: u64) -> Result<u64, Refusal> {
    let number = request[key].as_u64().filter(|number| (least..=most).contains(number));
    number.ok_or_else(|| invalid(key, &format!("a whole number from {least} to {most}")))
}

/// A digest in lower-case hexadecimal.
pub fn digest(request: &Map<String, Value>, key: &str) -> Result<(), Refusal> {
    let is_digit = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let is_digest = request[key].as_str().is_some_and(|text| text.len() == 64 && text.bytes().all(is_digit));
    if is_digest { Ok(()) } else { Err(invalid(key, "64 digits of lower-case hexadecimal")) }
}
