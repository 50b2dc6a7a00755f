//! Descriptions of tables: every key with its kind and meaning.
//!
//! The macros here define a struct and describe it at once. The documentation and the Python types of a request are generated
//! from the descriptions (`python packaging/contract.py`), so a key is written once. In a list of fields, `rate: Rate =
//! "rate_bps"` is the Rust field `rate`, which the request calls `rate_bps`.

use std::collections::BTreeMap;

use shallows_cc::port::MarkAt;
use shallows_cc::units::{Bytes, Rate, Time};

/// One field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// Its kind: `u64`, `[u32]` (a list or a column), the name of a table, or the words that it may be.
    pub kind: String,
    /// True if the key may be left out.
    pub optional: bool,
    /// Its meaning.
    pub about: String,
}

/// Tables by name, each after those that refer to it.
pub type Tables = Vec<(&'static str, Vec<Field>)>;

/// Type of a field.
pub trait Kind {
    /// True if the key may be left out.
    const OPTIONAL: bool = false;

    /// The name of the kind.
    fn kind() -> String;

    /// The name of the kind of a list of these.
    fn list() -> String {
        format!("[{}]", Self::kind())
    }

    /// Adds the tables that the kind consists of.
    fn collect(_: &mut Tables) {}
}

macro_rules! plain {
    ($($type:ty => $name:literal),+ $(,)?) => {
        $(impl Kind for $type {
            fn kind() -> String {
                $name.to_owned()
            }
        })+
    };
}

plain!(bool => "bool", u8 => "u8", u16 => "u16", u32 => "u32", u64 => "u64", f64 => "f64", String => "str");
plain!(&'static str => "str", BTreeMap<String, f64> => "{str: f64}", MarkAt => r#""enqueue" or "dequeue""#);
plain!(Time => "u64", Bytes => "u64", Rate => "u64");

impl<T: Kind> Kind for Option<T> {
    const OPTIONAL: bool = true;

    fn kind() -> String {
        T::kind()
    }

    fn collect(all: &mut Tables) {
        T::collect(all);
    }
}

impl<T: Kind> Kind for Vec<T> {
    fn kind() -> String {
        T::list()
    }

    fn collect(all: &mut Tables) {
        T::collect(all);
    }
}

/// Description of a table.
pub trait Shape {
    /// Its name.
    const NAME: &'static str;

    /// Its fields, in order.
    fn fields() -> Vec<Field>;

    /// Adds it once, then the tables that its fields refer to.
    fn collect(all: &mut Tables);
}

/// The key of a field: its name, unless another one follows.
#[doc(hidden)]
#[macro_export]
macro_rules! key {
    ($name:ident) => {
        stringify!($name)
    };
    ($name:ident $key:literal) => {
        $key
    };
}

/// Implements [`Shape`] and [`Kind`] for a struct.
#[doc(hidden)]
#[macro_export]
macro_rules! describe {
    ($type:ident ($shape:expr) { $([$($doc:literal)+] $field:ident $kind:ty $(= $key:literal)?,)+ }) => {
        impl $crate::Shape for $type {
            const NAME: &'static str = $shape;

            fn fields() -> Vec<$crate::Field> {
                vec![$($crate::Field {
                    name: $crate::key!($field $($key)?),
                    kind: <$kind as $crate::Kind>::kind(),
                    optional: <$kind as $crate::Kind>::OPTIONAL,
                    about: [$($doc),+].map(str::trim).join(" ").trim_end_matches('.').to_owned(),
                },)+]
            }

            fn collect(all: &mut $crate::Tables) {
                if all.iter().any(|(name, _)| *name == Self::NAME) {
                    return;
                }
                all.push((Self::NAME, Self::fields()));
                $(<$kind as $crate::Kind>::collect(all);)+
            }
        }

        impl $crate::Kind for $type {
            fn kind() -> String {
                <Self as $crate::Shape>::NAME.to_owned()
            }

            fn collect(all: &mut $crate::Tables) {
                <Self as $crate::Shape>::collect(all);
            }
        }
    };
}

/// Defines and describes a struct.
#[doc(hidden)]
#[macro_export]
macro_rules! table {
    ($(#[$about:meta])* $name:ident ($shape:expr) {
        $($(#[doc = $doc:literal])+ $(#[serde($($serde:tt)+)])? $field:ident: $kind:ty $(= $key:literal)?,)+
    } $({ $($(#[doc = $also:literal])+ $skipped:ident: $type:ty,)+ })?) => {
        $(#[$about])*
        pub struct $name {
            $($(#[doc = $doc])+ $(#[serde($($serde)+)])? $(#[serde(rename = $key)])? pub $field: $kind,)+
            $($($(#[doc = $also])+ #[serde(skip)] pub $skipped: $type,)+)?
        }

        $crate::describe!($name ($shape) { $([$($doc)+] $field $kind $(= $key)?,)+ });
    };
}

/// Defines a table that is read; an unknown key is an error. A second list has fields that are not keys.
#[macro_export]
macro_rules! request {
    ($(#[$about:meta])* pub struct $name:ident as $shape:literal { $($fields:tt)+ } $({ $($skipped:tt)+ })?) => {
        $crate::table! {
            $(#[$about])*
            #[derive(Clone, Debug, serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            $name ($shape) { $($fields)+ } $({ $($skipped)+ })?
        }
    };
}

/// Defines an enum whose variants are words.
#[macro_export]
macro_rules! choice {
    ($(#[$about:meta])* pub enum $name:ident { $($(#[$doc:meta])+ $word:ident = $text:literal,)+ }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        pub enum $name {
            $($(#[$doc])+ #[serde(rename = $text)] $word,)+
        }

        impl $name {
            /// Every value, in the order of their declaration.
            pub const ALL: &[Self] = &[$(Self::$word,)+];

            /// The word of a request.
            #[must_use]
            pub const fn text(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)+
                }
            }
        }

        impl $crate::Kind for $name {
            fn kind() -> String {
                [$(concat!("\"", $text, "\"")),+].join(" or ")
            }
        }
    };
}
