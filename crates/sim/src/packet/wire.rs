//! Bytes of headers in datagrams, in little-endian order, as the definitions of their fields give them.

use shallows_cc::units::{Rate, Time};

/// A field of a header, or a struct of fields.
pub(super) trait Wire: Sized {
    /// Its bytes in a datagram.
    const LENGTH: usize;

    /// Appends it to a datagram.
    fn write(&self, out: &mut Vec<u8>);

    /// Takes it from the front of a datagram; `None` if the bytes end, or are no value of its type.
    fn read(from: &mut &[u8]) -> Option<Self>;
}

macro_rules! integers {
    ($($type:ty)*) => {$(
        impl Wire for $type {
            const LENGTH: usize = size_of::<Self>();

            fn write(&self, out: &mut Vec<u8>) {
                out.extend(self.to_le_bytes());
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                let (first, rest) = from.split_first_chunk()?;
                *from = rest;
                Some(Self::from_le_bytes(*first))
            }
        }
    )*};
}

integers!(u8 u16 u32 u64 i64);

/// A flag is a byte of 0 or 1.
impl Wire for bool {
    const LENGTH: usize = 1;

    fn write(&self, out: &mut Vec<u8>) {
        out.push((*self).into());
    }

    fn read(from: &mut &[u8]) -> Option<Self> {
        let byte = u8::read(from)?;
        (byte < 2).then_some(byte == 1)
    }
}

macro_rules! quantities {
    ($($type:ident)*) => {$(
        impl Wire for $type {
            const LENGTH: usize = u64::LENGTH;

            fn write(&self, out: &mut Vec<u8>) {
                self.0.write(out);
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                u64::read(from).map($type)
            }
        }
    )*};
}

quantities!(Time Rate);

/// Defines a struct of fields, which datagrams have in the same order.
macro_rules! fields {
    ($($(#[$meta:meta])* pub struct $name:ident { $($(#[$note:meta])* pub $field:ident: $type:ty,)* })*) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default)]
        pub struct $name { $($(#[$note])* pub $field: $type,)* }

        impl $crate::packet::wire::Wire for $name {
            const LENGTH: usize = 0 $(+ <$type as $crate::packet::wire::Wire>::LENGTH)*;

            fn write(&self, out: &mut Vec<u8>) {
                $($crate::packet::wire::Wire::write(&self.$field, out);)*
            }

            fn read(from: &mut &[u8]) -> Option<Self> {
                Some(Self { $($field: $crate::packet::wire::Wire::read(from)?,)* })
            }
        }
    )*};
}

/// Defines the enum of headers. A row has the number of the header in datagrams, its fields, the kind of its packets, its sequence and
/// acknowledgement number, and its departure.
macro_rules! headers {
    ($($(#[$meta:meta])* $number:literal $name:ident
        $(($($part:ident: $type:ty),*))? $({$($(#[$note:meta])* $field:ident: $of:ty,)*})?
        => $kind:ident, $numbers:expr, $stamp:expr;)*
    ) => {
        /// The header of a packet.
        #[derive(Clone, Copy, Debug, Default)]
        // An explicit tag, instead of the spare values of a field, distinguishes kinds in one comparison.
        #[repr(u8)]
        pub enum Header {
            $($(#[$meta])* $name $(($($type),*))? $({$($(#[$note])* $field: $of,)*})?,)*
        }

        impl Header {
            // These two are for new packets, whose header is known where they are made: there they cost nothing if they are inlined.

            /// The kind of a packet with this header.
            #[inline(always)]
            #[must_use]
            pub const fn kind(&self) -> PacketKind {
                match self { $(Self::$name { .. } => PacketKind::$kind,)* }
            }

            /// Sequence and acknowledgement number; zero if the header has none. For data sent for a credit the second is the number of the
            /// credit; for an acknowledgement the first is that of the block. Of credits and pulls these are the low 32 bits.
            #[inline(always)]
            #[must_use]
            #[allow(unused_variables, reason = "a row uses some of its fields")]
            pub const fn numbers(&self) -> (u32, u32) {
                match *self { $(Self::$name $(($($part),*))? $({$($field),*})? => $numbers,)* }
            }

            /// Departure of the packet, or of the packet that it answers, which distinguishes transmissions of the same number; zero if the
            /// header has no time.
            #[must_use]
            #[allow(unused_variables, reason = "a row uses some of its fields")]
            pub const fn stamp(&self) -> Time {
                match *self { $(Self::$name $(($($part),*))? $({$($field),*})? => $stamp,)* }
            }

            /// Its number among headers, in datagrams.
            #[must_use]
            pub const fn number(&self) -> u8 {
                match self { $(Self::$name { .. } => $number,)* }
            }

            /// The bytes of a header in a datagram, by its number; `None` if there is no such header.
            #[must_use]
            pub const fn length(number: u8) -> Option<usize> {
                match number {
                    $($number => Some(0 $($(+ <$type as Wire>::LENGTH)*)? $($(+ <$of as Wire>::LENGTH)*)?),)*
                    _ => None,
                }
            }

            /// Appends it to a datagram.
            pub fn write(&self, out: &mut Vec<u8>) {
                match self {
                    $(Self::$name $(($($part),*))? $({$($field),*})? => {
                        $($($part.write(out);)*)?
                        $($($field.write(out);)*)?
                    })*
                }
            }

            /// Reads the header of this number from a datagram; `None` if a field has a value that its type does not have.
            #[must_use]
            pub fn read(number: u8, from: &mut &[u8]) -> Option<Self> {
                Some(match number {
                    $($number => Self::$name $(($(<$type as Wire>::read(from)?),*))? $({$($field: Wire::read(from)?),*})?,)*
                    _ => return None,
                })
            }
        }
    };
}

pub(super) use {fields, headers};
