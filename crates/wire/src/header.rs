//! The header of a datagram: a packet of the packet world, its transport header and its INT stack, in little-endian order.
//!
//! | bytes | field |
//! |---|---|
//! | 0, 1 | `0x53`, and the version of this format |
//! | 2 | number of the transport header ([`Header::number`]) |
//! | 3 | bits 0 and 1: ECN field; 2 to 4: traffic class; 5: a port may trim the packet; 6, 7: trimmed, returned to its sender |
//! | 4 to 7 | flow |
//! | 8 to 15 | planned arrival at the end of the link, ps |
//! | 16, 17 | length of the emulated frame, bytes |
//! | 18 | number of INT records |
//! | 19 | zero |
//! | 20 to 27 | authentication code of all other bytes ([`crate::mac`]) |
//! | 28 to 35 | identity of the packet in its flow |
//! | from 36 | the fields of the transport header in the order of its definition, and the INT records, 32 bytes each |
//!
//! Bytes behind that are payload, which nobody reads. The link and the path follow from the flow, so they are not
//! sent.

use shallows_cc::event::HopRecord;
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Flags, Header, Packet, PacketKind};

use crate::check::Rejection;
use crate::mac::Key;

const MAGIC: u8 = 0x53;
const VERSION: u8 = 3;
/// Place of the authentication code.
const CODE: std::ops::Range<usize> = 20..28;
/// Length before the transport header.
pub const FIXED: usize = 36;
/// Length of an INT record.
const RECORD: usize = 32;
/// The most INT records in a datagram.
pub const MAX_RECORDS: usize = 16;

/// A packet as a datagram carries it.
#[derive(Clone, Debug)]
pub struct Datagram {
    /// The packet, without its path and its place in a slab.
    pub packet: Packet,
    /// Its transport header.
    pub header: Header,
    /// The records of its hops.
    pub int_stack: Vec<HopRecord>,
}

/// Writes a packet into `out`, which is emptied first.
///
/// # Panics
/// If the packet has more than [`MAX_RECORDS`] records.
pub fn encode(key: &Key, packet: &Packet, header: &Header, int_stack: &[HopRecord], out: &mut Vec<u8>) {
    let records = if header.has_int() { int_stack } else { &[] };
    assert!(records.len() <= MAX_RECORDS, "a path of more than {MAX_RECORDS} hops is refused before a run");
    let flags = packet.flags;
    let fate = match flags.kind() {
        PacketKind::Trimmed => 1,
        PacketKind::Returned => 2,
        _ => 0,
    };
    let bits = flags.ecn() as u8 | flags.class() << 2 | u8::from(flags.has(Flags::TRIMS)) << 5 | fate << 6;
    out.clear();
    out.extend([MAGIC, VERSION, header.number(), bits]);
    out.extend(packet.flow.to_le_bytes());
    out.extend(packet.arrives.0.to_le_bytes());
    out.extend(packet.length.to_le_bytes());
    out.extend([records.len() as u8, 0]);
    out.extend([0; CODE.end - CODE.start]);
    out.extend(packet.identity.to_le_bytes());
    header.write(out);
    for record in records {
        let HopRecord { rate, queue, sent, at } = record;
        [rate.0, queue.0, sent.0, at.0].into_iter().for_each(|word| out.extend(word.to_le_bytes()));
    }
    let code = key.code(out);
    out[CODE].copy_from_slice(&code.to_le_bytes());
}

/// Reads a datagram. Values of its fields are not checked yet ([`crate::check`]).
///
/// # Errors
/// If it is not one that [`encode`] wrote with this key.
pub fn decode(key: &Key, bytes: &mut [u8]) -> Result<Datagram, Rejection> {
    let fixed = bytes.get(..FIXED).ok_or(Rejection::Short)?;
    if fixed[..2] != [MAGIC, VERSION] {
        return Err(Rejection::Format);
    }
    let (kind, bits, count) = (fixed[2], fixed[3], usize::from(fixed[18]));
    let body = Header::length(kind).ok_or(Rejection::Format)?;
    let end = FIXED + body + count * RECORD;
    let bytes = bytes.get_mut(..end).ok_or(Rejection::Short)?;
    authenticate(key, bytes)?;
    let mut reader = Reader(&bytes[FIXED..]);
    let header = Header::read(kind, &mut reader.0).ok_or(Rejection::Format)?;
    if count > 0 && !header.has_int() || count > MAX_RECORDS || bytes[19] != 0 {
        return Err(Rejection::Format);
    }
    let record = |_| HopRecord {
        rate: Rate(reader.u64()),
        queue: Bytes(reader.u64()),
        sent: Bytes(reader.u64()),
        at: reader.time(),
    };
    let int_stack = (0..count).map(record).collect();
    let mut fixed = Reader(&bytes[4..18]);
    let (flow, arrives, length) = (fixed.u32(), fixed.time(), fixed.u16());
    let identity = Reader(&bytes[CODE.end..]).u64();
    let packet = Packet::new(flow, Bytes(length.into()), Ecn::from_bits(bits), &header);
    let flags = flags(&header, bits).ok_or(Rejection::Format)?;
    Ok(Datagram { packet: Packet { arrives, identity, flags, ..packet }, header, int_stack })
}

/// Checks the code, whose bytes count as zero.
fn authenticate(key: &Key, bytes: &mut [u8]) -> Result<(), Rejection> {
    let code: [u8; 8] = bytes[CODE].try_into().expect("eight bytes");
    bytes[CODE].fill(0);
    if key.code(bytes) == u64::from_le_bytes(code) { Ok(()) } else { Err(Rejection::Code) }
}

/// The flags of a packet with this header; `None` if no port could have made it so.
fn flags(header: &Header, bits: u8) -> Option<Flags> {
    let pulled = matches!(header, Header::PulledData(_));
    let kind = match bits >> 6 {
        0 => header.kind(),
        1 if pulled => PacketKind::Trimmed,
        2 if pulled => PacketKind::Returned,
        _ => return None,
    };
    let trims = bits & 32 != 0;
    if trims && !(pulled && kind == PacketKind::Data) {
        return None;
    }
    let flags = Flags::of(kind).with_ecn(Ecn::from_bits(bits)).with_class(bits >> 2 & 7);
    Some(flags.with(Flags::TRIMS, trims))
}

/// Takes fields from a datagram that is long enough.
struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (first, rest) = self.0.split_first_chunk().expect("the length was checked");
        self.0 = rest;
        *first
    }

    fn time(&mut self) -> Time {
        Time(self.u64())
    }

    fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }
}
