//! Large arrays on large pages. An event of a large network touches arrays of many megabytes here and there, and of a page of
//! 4 KiB the processor has to look up each time where it lies, in a virtual machine twice over. Linux gives pages of 2 MiB to
//! whoever asks for them.

/// Less than a large page is found fast enough on small ones.
const LARGE: usize = 2 << 20;

/// So many items, in order.
pub fn collected<T>(count: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::with_capacity(count);
    ask_for_large(&all);
    all.extend(items);
    all
}

/// Adds one at the end.
#[inline]
pub fn push<T>(all: &mut Vec<T>, item: T) {
    if all.len() == all.capacity() {
        make_room(all);
    }
    all.push(item);
}

#[cold]
fn make_room<T>(all: &mut Vec<T>) {
    all.reserve(1);
    ask_for_large(all);
}

/// Before its room is filled for the first time: what is on small pages stays there.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a hint to the kernel, for which there is no safe call")]
fn ask_for_large<T>(all: &Vec<T>) {
    const PAGE: usize = 4096;
    let bytes = all.capacity() * size_of::<T>();
    if bytes < LARGE {
        return;
    }
    let begin = all.as_ptr() as usize;
    let (first, end) = (begin.next_multiple_of(PAGE), (begin + bytes) / PAGE * PAGE);
    // SAFETY: these are whole pages of what the vector has, and the advice changes nothing of what is in them. Where it is not
    // taken, pages stay as they are.
    unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
}

/// Other systems find out by themselves, or not.
#[cfg(not(target_os = "linux"))]
fn ask_for_large<T>(_all: &Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_pushed_is_there_on_pages_of_any_size() {
        let count = 3 * LARGE as u64;
        let mut all = Vec::new();
        (0..count).for_each(|item| push(&mut all, item));
        assert!((0..count).eq(all.iter().copied()));
        assert_eq!(collected(count as usize, 0..count), all);
    }
}
