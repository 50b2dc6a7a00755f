//! An answer as a tree of values with whole columns, so that bindings to other languages need not copy them.

/// One value of an answer.
#[derive(Clone, Debug)]
pub enum Value {
    /// An absent field.
    Nothing,
    /// A truth value.
    Flag(bool),
    /// A count.
    Count(u64),
    /// A quantity.
    Real(f64),
    /// A text.
    Text(String),
    /// A column.
    U64(Vec<u64>),
    /// A column.
    U32(Vec<u32>),
    /// A column.
    U16(Vec<u16>),
    /// A column.
    F64(Vec<f64>),
    /// Rows of equal length.
    Rows(Vec<Vec<u32>>),
    /// A list of values.
    List(Vec<Value>),
    /// A table, by key.
    Table(Vec<(&'static str, Value)>),
}

/// Field of an answer.
pub trait IntoValue {
    /// The field as a value.
    fn into_value(self) -> Value;
}

macro_rules! values {
    ($($type:ty: $self:ident => $value:expr),+ $(,)?) => {
        $(impl IntoValue for $type {
            fn into_value($self) -> Value {
                $value
            }
        })+
    };
}

values! {
    bool: self => Value::Flag(self),
    u64: self => Value::Count(self),
    f64: self => Value::Real(self),
    String: self => Value::Text(self),
    Vec<u64>: self => Value::U64(self),
    Vec<u32>: self => Value::U32(self),
    Vec<u16>: self => Value::U16(self),
    Vec<f64>: self => Value::F64(self),
    Vec<Vec<u32>>: self => Value::Rows(self),
    Vec<Vec<u64>>: self => Value::List(self.into_iter().map(Value::U64).collect()),
    Vec<String>: self => Value::List(self.into_iter().map(Value::Text).collect()),
}

impl<T: IntoValue> IntoValue for Option<T> {
    fn into_value(self) -> Value {
        self.map_or(Value::Nothing, T::into_value)
    }
}

/// Defines and describes a table that is written: as JSON, or as a [`Value`].
macro_rules! answer {
    ($($(#[doc = $about:literal])+ pub struct $name:ident {
        $($(#[doc = $doc:literal])+ $field:ident: $kind:ty $(= $key:literal)?,)+
    })+) => {
        $(shallows_sim::table! {
            $(#[doc = $about])+
            #[derive(Clone, Debug, Default, serde::Serialize)]
            $name (stringify!($name)) { $($(#[doc = $doc])+ $field: $kind $(= $key)?,)+ }
        }

        impl $crate::value::IntoValue for $name {
            fn into_value(self) -> $crate::value::Value {
                $crate::value::Value::Table(vec![$(
                    (shallows_sim::key!($field $($key)?), $crate::value::IntoValue::into_value(self.$field)),
                )+])
            }
        })+
    };
}
