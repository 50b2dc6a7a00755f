//! What a table of the contract is made of: fields with a kind and a meaning, which documents and Python are held to.

use std::collections::BTreeMap;

/// One field of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Its key.
    pub name: &'static str,
    /// What it holds: `u64`, `[u32]`, the name of a table, or the words that it may be.
    pub kind: String,
    /// Whether it may be left out.
    pub optional: bool,
    /// What it means.
    pub about: String,
}

/// Something that a field may hold.
pub trait Kind {
    /// Whether it may be left out.
    const OPTIONAL: bool = false;

    /// Its name.
    fn kind() -> String;

    /// Adds the tables that it is made of.
    fn collect(_: &mut Vec<(&'static str, Vec<Field>)>) {}
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

plain!(bool => "bool", u16 => "u16", u32 => "u32", u64 => "u64", f64 => "f64", String => "str", &'static str => "str");
plain!(BTreeMap<String, f64> => "{str: f64}");

impl<T: Kind> Kind for Option<T> {
    const OPTIONAL: bool = true;

    fn kind() -> String {
        T::kind()
    }

    fn collect(all: &mut Vec<(&'static str, Vec<Field>)>) {
        T::collect(all);
    }
}

impl<T: Kind> Kind for Vec<T> {
    fn kind() -> String {
        format!("[{}]", T::kind())
    }

    fn collect(all: &mut Vec<(&'static str, Vec<Field>)>) {
        T::collect(all);
    }
}

/// A table.
pub trait Shape {
    /// Its name.
    const NAME: &'static str;

    /// Its fields, in order.
    fn fields() -> Vec<Field>;

    /// Adds it, then the tables that its fields hold, each once.
    fn collect(all: &mut Vec<(&'static str, Vec<Field>)>);
}

/// A table with what says of what it is made; `request!` and `answer!` derive the rest.
macro_rules! table {
    ($(#[$about:meta])* $name:ident { $($(#[doc = $doc:literal])+ $field:ident: $kind:ty,)+ }) => {
        $(#[$about])*
        pub struct $name {
            $($(#[doc = $doc])+ pub $field: $kind,)+
        }

        impl $crate::shape::Shape for $name {
            const NAME: &'static str = stringify!($name);

            fn fields() -> Vec<$crate::shape::Field> {
                vec![$($crate::shape::Field {
                    name: stringify!($field),
                    kind: <$kind as $crate::shape::Kind>::kind(),
                    optional: <$kind as $crate::shape::Kind>::OPTIONAL,
                    about: [$($doc),+].map(str::trim).join(" "),
                },)+]
            }

            fn collect(all: &mut Vec<(&'static str, Vec<$crate::shape::Field>)>) {
                if all.iter().any(|(name, _)| *name == Self::NAME) {
                    return;
                }
                all.push((Self::NAME, Self::fields()));
                $(<$kind as $crate::shape::Kind>::collect(all);)+
            }
        }

        impl $crate::shape::Kind for $name {
            fn kind() -> String {
                <Self as $crate::shape::Shape>::NAME.to_owned()
            }

            fn collect(all: &mut Vec<(&'static str, Vec<$crate::shape::Field>)>) {
                <Self as $crate::shape::Shape>::collect(all);
            }
        }
    };
}

/// A table that is read, and in which an unknown field is an error.
macro_rules! request {
    ($($(#[doc = $about:literal])+ pub struct $name:ident { $($fields:tt)+ })+) => {
        $(table! {
            $(#[doc = $about])+
            #[derive(Clone, Debug, serde::Deserialize)]
            #[serde(deny_unknown_fields)]
            $name { $($fields)+ }
        })+
    };
}

/// A table that is written: as JSON, or as a [`crate::Value`].
macro_rules! answer {
    ($($(#[doc = $about:literal])+ pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $kind:ty,)+
    })+) => {
        $(table! {
            $(#[doc = $about])+
            #[derive(Clone, Debug, Default, serde::Serialize)]
            $name { $($(#[doc = $doc])+ $field: $kind,)+ }
        }

        impl $crate::value::IntoValue for $name {
            fn into_value(self) -> $crate::value::Value {
                $crate::value::Value::Table(vec![$(
                    (stringify!($field), $crate::value::IntoValue::into_value(self.$field)),
                )+])
            }
        })+
    };
}

/// A word out of a few.
macro_rules! choice {
    ($($(#[doc = $about:literal])+ pub enum $name:ident { $($(#[doc = $doc:literal])+ $word:ident = $said:literal,)+ })+) => {
        $($(#[doc = $about])+
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
        pub enum $name {
            $($(#[doc = $doc])+ #[serde(rename = $said)] $word,)+
        }

        impl $crate::shape::Kind for $name {
            fn kind() -> String {
                [$(concat!("\"", $said, "\"")),+].join(" or ")
            }
        })+
    };
}
