//! On which core a thread runs. Most systems place a new thread where nothing else runs. Some, small virtual machines among them,
//! leave it on the core of the thread that made it until they balance, tens of milliseconds later: two that wait for each other
//! look idle in turns.

/// The core on which this thread runs now; none where the system does not say.
#[cfg(target_os = "linux")]
pub fn here() -> Option<usize> {
    Some(rustix::thread::sched_getcpu())
}

/// If this thread runs on that `core`, it goes on so many cores further, of those that it may run on. From there it may be moved.
#[cfg(target_os = "linux")]
pub fn part_from(core: Option<usize>, further: usize) {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let Ok(allowed) = sched_getaffinity(None) else { return };
    let cores: Vec<_> = (0..CpuSet::MAX_CPU).filter(|&core| allowed.is_set(core)).collect();
    let Some(at) = cores.iter().position(|&one| here() == Some(one) && core == Some(one)) else { return };
    let mut only = CpuSet::new();
    only.set(cores[(at + further) % cores.len()]);
    // Where that is refused, nothing has changed but time.
    let _ = sched_setaffinity(None, &only).and_then(|()| sched_setaffinity(None, &allowed));
}

/// Other systems find out by themselves, or not.
#[cfg(not(target_os = "linux"))]
pub fn here() -> Option<usize> {
    None
}

/// The same.
#[cfg(not(target_os = "linux"))]
pub fn part_from(_core: Option<usize>, _further: usize) {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

    #[test]
    fn a_thread_that_parts_may_run_where_it_might_before() {
        let allowed = sched_getaffinity(None).expect("the system says");
        std::thread::spawn(move || {
            part_from(here(), 1);
            assert_eq!(sched_getaffinity(None), Ok(allowed));
            let core = here().expect("Linux says");
            let mut only = CpuSet::new();
            only.set(core);
            sched_setaffinity(None, &only).expect("it runs there");
            part_from(Some(core), 1);
            assert_eq!((sched_getaffinity(None), here()), (Ok(only), Some(core)));
        })
        .join()
        .expect("it holds there");
    }
}
