//! Hints to the processor and the kernel: prefetching and huge pages. They affect the speed of large networks, but no result.

pub(crate) mod huge_pages;
pub mod prefetch;
