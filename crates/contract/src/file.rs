//! A request on disk, for programs without Python: the envelope of `shallows ... --json` with the names of the links.
//!
//! `shallows request` writes it (python/shallows/export/request_file.py). It is data: it names no other file, and no program.

use serde::Deserialize;
use serde_json::value::RawValue;
use shallows_sim::Network;

/// The version of the form. A change of the request that an older reader would refuse or misread raises it.
pub const VERSION: u64 = 1;

const ANEW: &str = "expected a file that `shallows request` of this version writes";

/// A request with what names its parts.
#[derive(Clone, Debug)]
pub struct RequestFile {
    /// The request.
    pub network: Network,
    /// The name of each link, such as `h0->s0`.
    pub links: Vec<String>,
}

/// What an envelope of this version has besides.
#[derive(Deserialize)]
struct Envelope<'a> {
    links: Vec<String>,
    #[serde(borrow)]
    data: &'a RawValue,
}

/// What an envelope of any version has.
#[derive(Deserialize)]
struct Version {
    kind: String,
    version: u64,
}

impl RequestFile {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// A text that is damaged, of another kind or of another version, an unknown algorithm, or an algorithm in Python.
    pub fn parse(text: &[u8]) -> Result<Self, String> {
        let Version { kind, version } =
            serde_json::from_slice(text).map_err(|error| format!("no request file ({error}): {ANEW}"))?;
        if kind != "request" {
            return Err(format!("kind = {kind:?}: {ANEW}"));
        }
        if version != VERSION {
            return Err(format!("version = {version}: expected {VERSION}; {ANEW}"));
        }
        let Envelope { links, data } =
            serde_json::from_slice(text).map_err(|error| format!("a damaged request file ({error}): {ANEW}"))?;
        let mut network: Network =
            serde_json::from_str(data.get()).map_err(|error| format!("a damaged request ({error}): {ANEW}"))?;
        network.resolve(&|_| None)?;
        if links.len() != network.ports.len() {
            let (names, count) = (links.len(), network.ports.len());
            return Err(format!("links: {names} names of {count} links: {ANEW}"));
        }
        Ok(Self { network, links })
    }
}
