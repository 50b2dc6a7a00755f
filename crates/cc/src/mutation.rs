//! Mutations: changes of one equation each, which `python -m validation mutations` holds the claims of the papers against.
//!
//! With the feature `mutations` the environment variable `SHALLOWS_MUTATION` names the one that acts in this process. Without
//! the feature none acts, and the compiler removes all of them. The list is validation/mutations.toml.

/// The printed expression, or in a process with the mutation `$name` the changed one.
macro_rules! mutated {
    ($name:literal, $printed:expr, $changed:expr) => {
        if $crate::mutation::acts($name) { $changed } else { $printed }
    };
}

/// Returns whether the mutation `name` acts. The environment is read once.
#[cfg(feature = "mutations")]
#[must_use]
pub fn acts(name: &str) -> bool {
    static CHOSEN: std::sync::OnceLock<Option<String>> = std::sync::OnceLock::new();
    #[expect(clippy::disallowed_methods, reason = "the mutation of a process is no input of its runs")]
    let chosen = CHOSEN.get_or_init(|| std::env::var("SHALLOWS_MUTATION").ok());
    chosen.as_deref() == Some(name)
}

/// Returns false: no mutation acts.
#[cfg(not(feature = "mutations"))]
#[must_use]
#[inline(always)]
pub const fn acts(_name: &str) -> bool {
    false
}
