//! Directories with a lock that tells whether their owner lives, so that leftovers of a kill -9 are recognised. A lock
//! ends with its process.

use std::fs::{self, DirBuilder, File, TryLockError};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use crate::Outcome;

/// A directory and its lock. Dropping it releases the lock and keeps the directory.
#[derive(Debug)]
pub struct LockDir {
    pub path: PathBuf,
    pub file: File,
}

impl LockDir {
    /// Creates the directory if necessary, for its owner only, and locks it; `None` while another process holds it.
    pub fn make(path: &Path) -> Outcome<Option<Self>> {
        loop {
            DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(path)
                .map_err(|error| format!("{}: {error}", path.display()))?;
            match Self::take(path)? {
                Taken::Gone => {}
                Taken::Busy => return Ok(None),
                Taken::Ours(lock) => return Ok(Some(lock)),
            }
        }
    }

    /// Locks a directory without a living owner.
    pub fn abandoned(path: &Path) -> Outcome<Option<Self>> {
        Ok(if let Taken::Ours(lock) = Self::take(path)? { Some(lock) } else { None })
    }

    fn take(path: &Path) -> Outcome<Taken> {
        let Ok(file) = File::open(path) else { return Ok(Taken::Gone) };
        match file.try_lock() {
            Err(TryLockError::WouldBlock) => return Ok(Taken::Busy),
            Err(TryLockError::Error(error)) => return Err(format!("{}: {error}", path.display()).into()),
            Ok(()) => {}
        }
        // The last owner may have removed it between the two calls, and another process recreated it.
        let same = fs::metadata(path).is_ok_and(|now| file.metadata().is_ok_and(|then| now.ino() == then.ino()));
        Ok(if same { Taken::Ours(Self { path: path.to_owned(), file }) } else { Taken::Gone })
    }
}

enum Taken {
    Ours(LockDir),
    Busy,
    Gone,
}
