//! Reports of messages that have ended, on disk, so that the memory of an open run follows the messages that are alive.

use std::fs::{File, OpenOptions};
use std::io::{Error, Read, Result, Seek, SeekFrom, Write};
use std::sync::{Arc, Mutex, PoisonError};

use shallows_cc::units::Time;
use shallows_sim::FlowReport;

/// Whole numbers of a report.
const FIELDS: usize = 14;

/// A file without a name, and the process that made it.
#[derive(Debug)]
struct Store {
    process: u32,
    file: Mutex<File>,
}

/// Reports in the file of a store: the offset in bytes, and their number.
#[derive(Clone, Debug)]
struct Place {
    store: Arc<Store>,
    begin: u64,
    count: usize,
}

/// Reports in the order in which they were added. Copies share the file; a process that was forked begins one of its own.
#[derive(Clone, Debug, Default)]
pub struct RetiredReports {
    places: Vec<Place>,
    /// Reports that could not be written yet.
    unwritten: Vec<FlowReport>,
}

impl RetiredReports {
    /// Adds reports and writes them.
    ///
    /// # Errors
    /// That the file cannot be made or written. The reports wait in memory for the next call.
    pub fn add(&mut self, reports: Vec<FlowReport>) -> Result<()> {
        self.unwritten.extend(reports);
        if self.unwritten.is_empty() {
            return Ok(());
        }
        let process = std::process::id();
        let store = match self.places.last().map(|place| &place.store).filter(|store| store.process == process) {
            Some(store) => Arc::clone(store),
            None => Arc::new(Store { process, file: Mutex::new(unnamed()?) }),
        };
        let bytes: Vec<u8> = self.unwritten.iter().flat_map(fields).flat_map(u64::to_le_bytes).collect();
        let (begin, count) = (store.append(&bytes)?, self.unwritten.len());
        match self.places.last_mut().filter(|last| Arc::ptr_eq(&last.store, &store)) {
            Some(last) if last.begin + length(last.count) == begin => last.count += count,
            _ => self.places.push(Place { store, begin, count }),
        }
        self.unwritten.clear();
        Ok(())
    }

    /// All reports.
    ///
    /// # Errors
    /// That a file cannot be read.
    pub fn read(&self) -> Result<Vec<FlowReport>> {
        let mut all = Vec::with_capacity(self.places.iter().map(|place| place.count).sum());
        for place in &self.places {
            let bytes = place.store.read(place.begin, length(place.count) as usize)?;
            all.extend(bytes.chunks_exact(FIELDS * 8).map(report));
        }
        all.extend(&self.unwritten);
        Ok(all)
    }
}

impl Store {
    /// Writes behind everything else, and returns the offset.
    fn append(&self, bytes: &[u8]) -> Result<u64> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let begin = file.seek(SeekFrom::End(0))?;
        file.write_all(bytes)?;
        Ok(begin)
    }

    fn read(&self, begin: u64, length: usize) -> Result<Vec<u8>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        file.seek(SeekFrom::Start(begin))?;
        let mut bytes = vec![0; length];
        file.read_exact(&mut bytes)?;
        Ok(bytes)
    }
}

/// Bytes of some reports.
const fn length(count: usize) -> u64 {
    (count * FIELDS * 8) as u64
}

fn fields(one: &FlowReport) -> [u64; FIELDS] {
    let reordering = u64::from(one.reordering);
    [
        one.start.0,
        one.finish.0,
        one.ideal.0,
        one.delivered,
        one.goodput,
        one.goodput_by_stop,
        one.retransmits,
        one.timeouts,
        one.timeout_wait.0,
        one.credits,
        one.credits_wasted,
        one.srtt_mean.0,
        one.srtt_most.0,
        reordering,
    ]
}

fn report(bytes: &[u8]) -> FlowReport {
    let mut values =
        bytes.chunks_exact(8).map(|one| one.iter().rev().fold(0, |value, &byte| value << 8 | u64::from(byte)));
    let mut next = || values.next().unwrap_or_default();
    FlowReport {
        start: Time(next()),
        finish: Time(next()),
        ideal: Time(next()),
        delivered: next(),
        goodput: next(),
        goodput_by_stop: next(),
        retransmits: next(),
        timeouts: next(),
        timeout_wait: Time(next()),
        credits: next(),
        credits_wasted: next(),
        srtt_mean: Time(next()),
        srtt_most: Time(next()),
        reordering: next() as u32,
    }
}

/// A new file that only this process knows: its name is removed at once where the system allows that.
fn unnamed() -> Result<File> {
    let folder = std::env::temp_dir();
    let mut last = Error::other("no name is free");
    for number in 0..1000 {
        let path = folder.join(format!("shallows-{}-{number}.rows", std::process::id()));
        match private(&path) {
            Ok(file) => {
                let _ = std::fs::remove_file(&path);
                return Ok(file);
            }
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// A new file, for its owner alone.
fn private(path: &std::path::Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}
