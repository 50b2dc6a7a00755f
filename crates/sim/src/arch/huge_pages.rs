//! Large arrays on huge pages. An event of a large network touches a few places of arrays of many megabytes, and with pages of 4 KiB each
//! of them costs an address translation, two in a virtual machine. Linux provides pages of 2 MiB on request.

/// The size of a huge page, in bytes; smaller arrays do not need one.
const HUGE: usize = 2 << 20;

/// Collects `count` items into a vector on huge pages.
pub(crate) fn collected<T>(count: usize, items: impl Iterator<Item = T>) -> Vec<T> {
    let mut all = Vec::with_capacity(count);
    request_huge_pages(&all);
    all.extend(items);
    all
}

/// Appends an item, and requests huge pages if the vector grows.
#[inline]
pub fn push<T>(all: &mut Vec<T>, item: T) {
    if all.len() == all.capacity() {
        grow(all);
    }
    all.push(item);
}

#[cold]
fn grow<T>(all: &mut Vec<T>) {
    all.reserve(1);
    request_huge_pages(all);
}

/// Requests huge pages for a vector's memory before it is filled: what is on small pages stays there.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a hint to the kernel, for which there is no safe call")]
fn request_huge_pages<T>(all: &Vec<T>) {
    const PAGE: usize = 4096;
    let bytes = all.capacity() * size_of::<T>();
    if bytes < HUGE {
        return;
    }
    let begin = all.as_ptr() as usize;
    let (first, end) = (begin.next_multiple_of(PAGE), (begin + bytes) / PAGE * PAGE);
    // SAFETY: these are whole pages of the vector's memory, and the advice does not change their content. If it is refused, pages stay as
    // they are.
    unsafe { libc::madvise(first as *mut libc::c_void, end - first, libc::MADV_HUGEPAGE) };
}

/// Does nothing on other systems.
#[cfg(not(target_os = "linux"))]
fn request_huge_pages<T>(_all: &Vec<T>) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_are_stored_on_pages_of_any_size() {
        let count = 3 * HUGE as u64;
        let mut all = Vec::new();
        (0..count).for_each(|item| push(&mut all, item));
        assert!((0..count).eq(all.iter().copied()));
        assert_eq!(collected(count as usize, 0..count), all);
    }
}
