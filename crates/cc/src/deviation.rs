//! Differences between an algorithm and its source, as data: the command line, the documentation and the readers of a file have
//! them from one list.

/// A line of the source that the code reads in its own way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Deviation {
    /// The equation, algorithm or section, and what it says; "-" if the source says nothing.
    pub line: &'static str,
    /// What the code does.
    pub here: &'static str,
    /// The reason, and which reading the source's own figures have, where that is known.
    pub why: &'static str,
}

/// Names a line of the source, what the code does, and why.
#[must_use]
pub const fn deviation(line: &'static str, here: &'static str, why: &'static str) -> Deviation {
    Deviation { line, here, why }
}
