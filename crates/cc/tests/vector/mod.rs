//! Reads test vectors: files of comma-separated numbers, compressed with gzip. Lines that begin with `#` say what a file is, and set
//! parameters as `name=value`; the next line names the columns. A row without the last columns has inputs only.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

/// A file of vectors.
pub struct Script {
    name: String,
    head: String,
    columns: Vec<String>,
    rows: Vec<String>,
}

/// A row of a file.
pub struct Row<'a> {
    script: &'a Script,
    line: usize,
    values: Vec<&'a str>,
}

fn folder() -> PathBuf {
    let all = std::env::var_os("SHALLOWS_VECTORS").filter(|folder| !folder.is_empty());
    all.map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../cc/tests/vectors"), PathBuf::from)
}

impl Script {
    /// The files of a folder whose names `is_chosen`, in the order of their names.
    pub fn all(part: &str, is_chosen: impl Fn(&str) -> bool) -> Vec<Self> {
        let folder = folder().join(part);
        let entries = std::fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let name = |entry: std::io::Result<std::fs::DirEntry>| entry.expect("a file").file_name().into_string();
        let mut names: Vec<_> = entries.map(|entry| name(entry).expect("a name in ASCII")).collect();
        names.retain(|name| is_chosen(name));
        names.sort();
        names.iter().map(|name| Self::read(&folder.join(name))).collect()
    }

    fn read(path: &Path) -> Self {
        let unpacked = Command::new("gzip").args(["--decompress", "--stdout"]).arg(path).output().expect("gzip");
        assert!(unpacked.status.success(), "{}: gzip fails", path.display());
        let text = String::from_utf8(unpacked.stdout).expect("text");
        let (head, rest): (Vec<_>, Vec<_>) = text.lines().partition(|line| line.starts_with('#'));
        Self {
            name: path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default(),
            head: head.join(" "),
            columns: rest[0].split(',').map(str::to_owned).collect(),
            rows: rest[1..].iter().map(|&line| line.to_owned()).collect(),
        }
    }

    /// A whole number that the head sets.
    pub fn parameter(&self, key: &str) -> i64 {
        let value = self.word(key).unwrap_or_else(|| panic!("{}: no {key}", self.name));
        value.parse().unwrap_or_else(|_| panic!("{}: {key}={value}", self.name))
    }

    /// The text that the head sets.
    pub fn word(&self, key: &str) -> Option<&str> {
        let words = self.head.split([' ', ';']);
        words.filter_map(|word| word.split_once('=')).find(|(name, _)| *name == key).map(|(_, value)| value)
    }

    /// The head.
    #[allow(dead_code, reason = "some tests read words that stand without a name")]
    pub fn head(&self) -> &str {
        &self.head
    }

    /// The rows.
    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().enumerate().map(|(line, row)| Row { script: self, line, values: row.split(',').collect() })
    }
}

impl Row<'_> {
    /// The text of a column.
    pub fn text(&self, column: &str) -> &str {
        let at = self.script.columns.iter().position(|name| name == column);
        self.values[at.unwrap_or_else(|| panic!("{self}: no {column}"))]
    }

    /// The number in a column; rates and windows count as 0 and 1.
    pub fn number(&self, column: &str) -> i64 {
        match self.text(column) {
            "rate" => 0,
            "window" => 1,
            text => text.parse().unwrap_or_else(|_| panic!("{self}: {column} is {text}")),
        }
    }

    /// The numbers of these columns; none if the row has inputs only.
    pub fn expected<const N: usize>(&self, columns: &[&str; N]) -> Option<[i64; N]> {
        (self.values.len() == self.script.columns.len()).then(|| columns.map(|column| self.number(column)))
    }
}

impl fmt::Display for Row<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}, row {}: {}", self.script.name, self.line + 1, self.values.join(","))
    }
}
