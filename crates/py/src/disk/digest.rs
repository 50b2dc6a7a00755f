//! A digest of a whole file, in its own footer.
//!
//! It is the 128-bit XXH3 of all bytes of the file, with the digest itself as zeros. So it detects a changed bit anywhere,
//! in the footer as well.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};

use parquet::errors::{ParquetError, Result};
use parquet::file::metadata::{FooterTail, KeyValue};
use twox_hash::xxhash3_128::Hasher;

/// Key of the digest in the metadata of a file.
pub const KEY: &str = "digest";
const KIND: &str = "xxh3-128:";
const DIGITS: usize = 32;
const ZEROS: [u8; DIGITS] = [b'0'; DIGITS];
const TAIL: u64 = 8;

/// A file that is hashed as it is written.
pub struct Hashed {
    file: File,
    hasher: Hasher,
}

impl Hashed {
    pub fn new(file: File) -> Self {
        Self { file, hasher: Hasher::new() }
    }

    /// Replaces the zeros by the digest once the file is complete.
    pub fn seal(mut self) -> Result<()> {
        let place = place(&mut self.file, &unknown())?.expect("the file was written with these zeros");
        self.file.seek(SeekFrom::Start(place))?;
        Ok(self.file.write_all(&digits(&self.hasher))?)
    }
}

impl Write for Hashed {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.file.write(bytes)?;
        self.hasher.write(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

/// The metadata of a file that has no digest yet.
pub fn to_come() -> KeyValue {
    KeyValue::new(KEY.to_owned(), unknown())
}

/// Fails unless the file is as it was written; `told` is the digest in its metadata.
pub fn check(file: &mut File, told: &str) -> Result<()> {
    let changed = || ParquetError::General("it has changed since it was written".to_owned());
    let place = place(file, told)?.ok_or_else(changed)?;
    file.rewind()?;
    let mut hasher = Hasher::new();
    fold(&mut file.take(place), &mut hasher)?;
    file.seek(SeekFrom::Start(place + DIGITS as u64))?;
    hasher.write(&ZEROS);
    fold(file, &mut hasher)?;
    if told.strip_prefix(KIND).map(str::as_bytes) == Some(&digits(&hasher)) { Ok(()) } else { Err(changed()) }
}

fn unknown() -> String {
    format!("{KIND}{}", "0".repeat(DIGITS))
}

fn digits(hasher: &Hasher) -> [u8; DIGITS] {
    let text = format!("{:032x}", hasher.finish_128());
    text.as_bytes().try_into().expect("128 bits are 32 digits")
}

/// Offset of the digits of this digest in the file: in the footer, after their kind.
fn place(file: &mut File, digest: &str) -> Result<Option<u64>> {
    let end = file.seek(SeekFrom::End(0))?;
    let mut tail = [0; TAIL as usize];
    file.seek(SeekFrom::Start(end.saturating_sub(TAIL)))?;
    file.read_exact(&mut tail)?;
    let length = FooterTail::try_from(tail)?.metadata_length() as u64;
    let begin = end.saturating_sub(TAIL + length);
    file.seek(SeekFrom::Start(begin))?;
    let mut footer = Vec::new();
    file.take(length).read_to_end(&mut footer)?;
    let found = footer.windows(digest.len()).rposition(|window| window == digest.as_bytes());
    Ok(found.map(|at| begin + (at + KIND.len()) as u64))
}

fn fold(bytes: &mut impl Read, hasher: &mut Hasher) -> io::Result<()> {
    let mut piece = vec![0; 1 << 18];
    loop {
        match bytes.read(&mut piece)? {
            0 => return Ok(()),
            read => hasher.write(&piece[..read]),
        }
    }
}
