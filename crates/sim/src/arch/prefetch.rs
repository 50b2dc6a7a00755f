//! Prefetch hints to the processor.

/// Bytes of a cache line.
const LINE: usize = 64;

/// Prefetches the cache line in which a value begins.
#[inline]
pub(crate) fn prefetch<T>(value: &T) {
    prefetch_line(std::ptr::from_ref(value).cast());
}

/// Prefetches all cache lines of a value.
#[inline]
pub fn prefetch_all<T>(value: &T) {
    let begin = std::ptr::from_ref(value).cast::<u8>();
    (0..size_of::<T>()).step_by(LINE).for_each(|at| prefetch_line(begin.wrapping_add(at)));
}

#[cfg(target_arch = "x86_64")]
#[inline]
#[allow(unsafe_code, reason = "a hint to the processor, for which there is no safe call")]
fn prefetch_line(at: *const u8) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: a prefetch only affects time, whatever the address.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(at.cast()) }
}

/// Does nothing: stable Rust has no such hint for other processors.
#[cfg(not(target_arch = "x86_64"))]
fn prefetch_line(_at: *const u8) {}
