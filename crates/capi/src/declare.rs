//! Declares functions, structs and constants of the interface once: for Rust, and for `shallows.h`.

use std::ffi::c_char;

/// A type that C has, by its name there.
pub trait InC {
    /// The name, which ends with a star for a pointer.
    fn name() -> String;
}

macro_rules! in_c {
    ($($type:ty = $name:literal),+ $(,)?) => {
        $(impl InC for $type {
            fn name() -> String {
                $name.to_owned()
            }
        })+
    };
}
in_c! { u32 = "uint32_t", i32 = "int32_t", u64 = "uint64_t", i64 = "int64_t", usize = "size_t", c_char = "char" }

impl<T: InC> InC for *const T {
    fn name() -> String {
        format!("const {} *", T::name())
    }
}

impl<T: InC> InC for *mut T {
    fn name() -> String {
        format!("{} *", T::name())
    }
}

/// What a function returns where it fails.
pub trait Failure {
    /// That value.
    const FAILURE: Self;
}

impl Failure for i32 {
    const FAILURE: Self = -1;
}

impl Failure for i64 {
    const FAILURE: Self = -1;
}

impl Failure for u64 {
    const FAILURE: Self = 0;
}

/// A field or an argument: its type in C and its name.
pub type Named = (String, &'static str);

/// A declaration for the header.
#[derive(Debug)]
pub enum Declaration {
    /// A number with a name.
    Constant { about: &'static [&'static str], name: &'static str, value: String },
    /// A struct: its fields with their descriptions, and its size and their places in bytes.
    Struct {
        about: &'static [&'static str],
        name: &'static str,
        fields: Vec<(&'static [&'static str], Named, usize)>,
        size: usize,
    },
    /// A function.
    Function { about: &'static [&'static str], name: &'static str, returns: String, arguments: Vec<Named> },
}

/// Defines constants, whose declarations `CONSTANTS` returns.
macro_rules! constants {
    ($($(#[doc = $about:literal])+ $name:ident: $type:ty = $value:expr, $text:literal;)+) => {
        $($(#[doc = $about])+ pub const $name: $type = $value;)+

        pub(crate) fn constants() -> Vec<$crate::declare::Declaration> {
            vec![$($crate::declare::Declaration::Constant {
                about: &[$($about),+],
                name: stringify!($name),
                value: $text.to_owned(),
            },)+]
        }
    };
}

/// Defines structs with the layout of C, whose declarations `structs` returns.
macro_rules! structs {
    ($($(#[doc = $about:literal])+ struct $name:ident = $in_c:literal {
        $($(#[doc = $field_about:literal])+ $field:ident: $type:ty,)+
    })+) => {
        $(
            $(#[doc = $about])+
            #[repr(C)]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
            pub struct $name {
                $($(#[doc = $field_about])+ pub $field: $type,)+
            }

            impl $crate::declare::InC for $name {
                fn name() -> String {
                    $in_c.to_owned()
                }
            }
        )+

        pub(crate) fn structs() -> Vec<$crate::declare::Declaration> {
            vec![$($crate::declare::Declaration::Struct {
                about: &[$($about),+],
                name: $in_c,
                fields: vec![$((
                    &[$($field_about),+],
                    (<$type as $crate::declare::InC>::name(), stringify!($field)),
                    std::mem::offset_of!($name, $field),
                ),)+],
                size: size_of::<$name>(),
            },)+]
        }
    };
}

/// Defines functions that C calls, whose declarations `functions` returns. The body is a `Result`; an error, or a panic, becomes the last
/// error of the thread and the value of a failure.
macro_rules! functions {
    ($($(#[doc = $about:literal])+ fn $name:ident($($argument:ident: $type:ty),* $(,)?) -> $returns:ty $body:block)+) => {
        $(
            $(#[doc = $about])+
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($argument: $type),*) -> $returns {
                $crate::error::reported(|| -> Result<$returns, String> { $body })
            }
        )+

        pub(crate) fn functions() -> Vec<$crate::declare::Declaration> {
            vec![$($crate::declare::Declaration::Function {
                about: &[$($about),+],
                name: stringify!($name),
                returns: <$returns as $crate::declare::InC>::name(),
                arguments: vec![$((<$type as $crate::declare::InC>::name(), stringify!($argument)),)*],
            },)+]
        }
    };
}
