//! Directories that say by a lock whether their maker lives: what a kill -9 leaves behind can be told from what is in
//! use. A lock goes with its process, however that ends.

use std::fs::{self, File, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::Outcome;

/// A directory and the lock on it; dropping lets go, and leaves the directory.
#[derive(Debug)]
pub struct Held {
    pub path: PathBuf,
    pub file: File,
}

impl Held {
    /// Makes the directory, if need be, and takes it; nothing while someone else has it.
    pub fn make(path: &Path) -> Outcome<Option<Self>> {
        loop {
            fs::create_dir_all(path).map_err(|error| format!("{}: {error}", path.display()))?;
            match Self::take(path)? {
                Taken::Gone => {}
                Taken::Busy => return Ok(None),
                Taken::Ours(held) => return Ok(Some(held)),
            }
        }
    }

    /// Takes a directory that nobody living has.
    pub fn abandoned(path: &Path) -> Outcome<Option<Self>> {
        Ok(if let Taken::Ours(held) = Self::take(path)? { Some(held) } else { None })
    }

    fn take(path: &Path) -> Outcome<Taken> {
        let Ok(file) = File::open(path) else { return Ok(Taken::Gone) };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Taken::Busy),
            Err(TryLockError::Error(error)) => return Err(format!("{}: {error}", path.display()).into()),
            Ok(()) => {}
        }
        // Its last owner may have removed it between the two calls, and someone made it anew.
        let same = fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|then| now.ino() == then.ino()));
        Ok(if same { Taken::Ours(Self { path: path.to_owned(), file }) } else { Taken::Gone })
    }
}

enum Taken {
    Ours(Held),
    Busy,
    Gone,
}
