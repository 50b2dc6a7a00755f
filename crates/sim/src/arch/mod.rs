//! Help for the processor's caches on large networks: prefetching and huge pages. It changes no result.

pub mod huge_pages;
pub mod prefetch;
