//! The header of a datagram: a packet of the packet world, its transport header and its INT stack, in little-endian order.
//!
//! | bytes | field |
//! |---|---|
//! | 0, 1 | `0x53`, and the version of this format |
//! | 2 | kind of the transport header |
//! | 3 | bits 0 and 1: ECN field; 2 to 4: traffic class; 5: a port may trim the packet; 6, 7: trimmed, returned to its sender |
//! | 4 to 7 | flow |
//! | 8 to 15 | planned arrival at the end of the link, ps |
//! | 16, 17 | length of the emulated frame, bytes |
//! | 18 | number of INT records |
//! | 19 | zero |
//! | 20 to 27 | authentication code of all other bytes ([`crate::mac`]) |
//! | 28 to 35 | identity of the packet in its flow |
//! | from 36 | the transport header, of a length that its kind fixes, and the INT records, 32 bytes each |
//!
//! Bytes behind that are payload, which nobody reads. The link and the path follow from the flow, so they are not
//! sent.

use shallows_cc::event::HopRecord;
use shallows_cc::port::Ecn;
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{
    Counters, Credit, CreditData, Flags, Header, Packet, PacketKind, PulledAnswer, PulledData, RateQuery, RoceAnswer,
    RoceData, TcpAck, TcpData,
};

use crate::check::Rejection;
use crate::mac::Key;

const MAGIC: u8 = 0x53;
const VERSION: u8 = 2;
/// Place of the authentication code.
const CODE: std::ops::Range<usize> = 20..28;
/// Length before the transport header.
pub const FIXED: usize = 36;
/// Length of an INT record.
const RECORD: usize = 32;
/// The most INT records in a datagram.
pub const MAX_RECORDS: usize = 16;
/// The longest datagram without payload.
pub const LONGEST: usize = FIXED + 64 + MAX_RECORDS * RECORD;

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
    out.extend([MAGIC, VERSION, 0, bits]);
    out.extend(packet.flow.to_le_bytes());
    out.extend(packet.arrives.0.to_le_bytes());
    out.extend(packet.length.to_le_bytes());
    out.extend([records.len() as u8, 0]);
    out.extend([0; CODE.end - CODE.start]);
    out.extend(packet.identity.to_le_bytes());
    out[2] = write(header, &mut Writer(out));
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
    let body = length(kind).ok_or(Rejection::Format)?;
    let end = FIXED + body + count * RECORD;
    let bytes = bytes.get_mut(..end).ok_or(Rejection::Short)?;
    authenticate(key, bytes)?;
    let mut reader = Reader(&bytes[FIXED..]);
    let header = read(kind, &mut reader).ok_or(Rejection::Format)?;
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

/// Appends fields to a datagram.
struct Writer<'a>(&'a mut Vec<u8>);

impl Writer<'_> {
    fn times(&mut self, times: &[Time]) {
        times.iter().for_each(|time| self.u64(time.0));
    }

    fn u64(&mut self, value: u64) {
        self.0.extend(value.to_le_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.0.extend(value.to_le_bytes());
    }

    fn u16(&mut self, value: u16) {
        self.0.extend(value.to_le_bytes());
    }

    fn u8(&mut self, value: u8) {
        self.0.push(value);
    }
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

    fn u8(&mut self) -> u8 {
        let [byte] = self.take();
        byte
    }

    /// A flag, which is one byte; `None` unless it is 0 or 1.
    fn flag(&mut self) -> Option<bool> {
        let byte = self.u8();
        (byte < 2).then_some(byte == 1)
    }
}

const TCP_DATA: usize = 21;
const TCP_ACK: usize = 48;
const QUERY: usize = 16;
const COUNTERS: usize = 12;
const ROCE_DATA: usize = 14;
const ROCE_ANSWER: usize = 29;
const PULLED_ANSWER: usize = 29;

/// The length of a transport header by kind; `None` for an unknown kind.
fn length(kind: u8) -> Option<usize> {
    let lengths = [
        0,
        TCP_DATA,
        TCP_ACK,
        TCP_DATA + QUERY,
        TCP_ACK + 8,
        TCP_DATA,
        TCP_ACK,
        8 + QUERY,
        16,
        ROCE_DATA,
        ROCE_ANSWER,
        ROCE_ANSWER,
        ROCE_ANSWER + 4,
        ROCE_ANSWER + 4,
        12,
        4,
        4,
        20,
        20,
        4,
        4,
        20,
        PULLED_ANSWER,
        PULLED_ANSWER,
        16,
        TCP_DATA + 4,
        TCP_ACK + COUNTERS,
    ];
    lengths.get(usize::from(kind)).copied()
}

/// Writes a transport header and returns its kind.
///
/// # Panics
/// For a PFC frame: links that pause are refused before a run.
fn write(header: &Header, out: &mut Writer<'_>) -> u8 {
    match *header {
        Header::Bare => return 0,
        Header::Pause | Header::Resume => unreachable!("a network with pauses is refused before a run"),
        Header::Probe { .. } | Header::ProbeAck { .. } | Header::PortStatus { .. } => {
            unreachable!("an algorithm that chooses or probes paths is refused before a run")
        }
        Header::TcpData(data) | Header::IntData(data) => tcp_data(&data, out),
        Header::TcpAck(ack) | Header::IntAck(ack) => tcp_ack(&ack, out),
        Header::CountedData(number, data) => {
            tcp_data(&data, out);
            out.u32(number);
        }
        Header::CountedAck(Counters { received, ce, lost }, ack) => {
            tcp_ack(&ack, out);
            [received, ce, lost].into_iter().for_each(|count| out.u32(count));
        }
        Header::RatedData(data, query) => {
            tcp_data(&data, out);
            rate_query(&query, out);
        }
        Header::RatedAck(ack, offered) => {
            tcp_ack(&ack, out);
            out.u64(offered.0);
        }
        Header::RateRequest { sent, query } => {
            out.u64(sent.0);
            rate_query(&query, out);
        }
        Header::RateAnswer { sent, offered } => {
            out.u64(sent.0);
            out.u64(offered.0);
        }
        Header::RoceData(RoceData { sent, seq, asks, has_int }) => {
            out.u64(sent.0);
            out.u32(seq);
            out.u8(asks.into());
            out.u8(has_int.into());
        }
        Header::RoceAck(answer) | Header::RoceNack(answer) => roce_answer(&answer, out),
        Header::SelectiveAck { answer, seq } | Header::SelectiveNack { answer, seq } => {
            roce_answer(&answer, out);
            out.u32(seq);
        }
        Header::Notification { left, cumulative } => {
            out.u64(left.0);
            out.u32(cumulative);
        }
        Header::CreditRequest { next: number }
        | Header::CreditStop { next: number }
        | Header::CreditAck { cumulative: number }
        | Header::CreditNack { cumulative: number } => out.u32(number),
        Header::Credit(Credit { number, granted_at, cumulative }) => {
            out.u64(number);
            out.u64(granted_at.0);
            out.u32(cumulative);
        }
        Header::CreditData(CreditData { seq, credit, granted_at }) => {
            out.u64(credit);
            out.u64(granted_at.0);
            out.u32(seq);
        }
        Header::PulledData(PulledData { sent, seq, target }) => {
            out.u64(sent.0);
            out.u64(target);
            out.u32(seq);
        }
        Header::PulledAck(answer) | Header::PulledNack(answer) => pulled_answer(&answer, out),
        Header::Pull { left, number } => {
            out.u64(left.0);
            out.u64(number);
        }
    }
    kind(header)
}

/// The number of a transport header's kind in datagrams.
fn kind(header: &Header) -> u8 {
    match header {
        Header::Bare
        | Header::Pause
        | Header::Resume
        | Header::Probe { .. }
        | Header::ProbeAck { .. }
        | Header::PortStatus { .. } => 0,
        Header::TcpData(_) => 1,
        Header::TcpAck(_) => 2,
        Header::RatedData(..) => 3,
        Header::RatedAck(..) => 4,
        Header::IntData(_) => 5,
        Header::IntAck(_) => 6,
        Header::RateRequest { .. } => 7,
        Header::RateAnswer { .. } => 8,
        Header::RoceData(_) => 9,
        Header::RoceAck(_) => 10,
        Header::RoceNack(_) => 11,
        Header::SelectiveAck { .. } => 12,
        Header::SelectiveNack { .. } => 13,
        Header::Notification { .. } => 14,
        Header::CreditRequest { .. } => 15,
        Header::CreditStop { .. } => 16,
        Header::Credit(_) => 17,
        Header::CreditData(_) => 18,
        Header::CreditAck { .. } => 19,
        Header::CreditNack { .. } => 20,
        Header::PulledData(_) => 21,
        Header::PulledAck(_) => 22,
        Header::PulledNack(_) => 23,
        Header::Pull { .. } => 24,
        Header::CountedData(..) => 25,
        Header::CountedAck(..) => 26,
    }
}

/// Reads a transport header of this kind; `None` if a field has a value that its type does not have.
fn read(kind: u8, from: &mut Reader<'_>) -> Option<Header> {
    Some(match kind {
        0 => Header::Bare,
        1 => Header::TcpData(read_tcp_data(from)?),
        2 => Header::TcpAck(read_tcp_ack(from)?),
        3 => Header::RatedData(read_tcp_data(from)?, read_rate_query(from)),
        4 => Header::RatedAck(read_tcp_ack(from)?, Rate(from.u64())),
        5 => Header::IntData(read_tcp_data(from)?),
        6 => Header::IntAck(read_tcp_ack(from)?),
        7 => Header::RateRequest { sent: from.time(), query: read_rate_query(from) },
        8 => Header::RateAnswer { sent: from.time(), offered: Rate(from.u64()) },
        9 => {
            Header::RoceData(RoceData { sent: from.time(), seq: from.u32(), asks: from.flag()?, has_int: from.flag()? })
        }
        10 => Header::RoceAck(read_roce_answer(from)?),
        11 => Header::RoceNack(read_roce_answer(from)?),
        12 => Header::SelectiveAck { answer: read_roce_answer(from)?, seq: from.u32() },
        13 => Header::SelectiveNack { answer: read_roce_answer(from)?, seq: from.u32() },
        14 => Header::Notification { left: from.time(), cumulative: from.u32() },
        15 => Header::CreditRequest { next: from.u32() },
        16 => Header::CreditStop { next: from.u32() },
        17 => Header::Credit(Credit { number: from.u64(), granted_at: from.time(), cumulative: from.u32() }),
        18 => Header::CreditData(CreditData { credit: from.u64(), granted_at: from.time(), seq: from.u32() }),
        19 => Header::CreditAck { cumulative: from.u32() },
        20 => Header::CreditNack { cumulative: from.u32() },
        21 => Header::PulledData(PulledData { sent: from.time(), target: from.u64(), seq: from.u32() }),
        22 => Header::PulledAck(read_pulled_answer(from)?),
        23 => Header::PulledNack(read_pulled_answer(from)?),
        24 => Header::Pull { left: from.time(), number: from.u64() },
        25 => {
            let data = read_tcp_data(from)?;
            Header::CountedData(from.u32(), data)
        }
        26 => {
            let ack = read_tcp_ack(from)?;
            Header::CountedAck(Counters { received: from.u32(), ce: from.u32(), lost: from.u32() }, ack)
        }
        _ => return None,
    })
}

fn tcp_data(data: &TcpData, out: &mut Writer<'_>) {
    out.times(&[data.sent, data.heard]);
    out.u32(data.seq);
    out.u8(data.window_reduced.into());
}

fn read_tcp_data(from: &mut Reader<'_>) -> Option<TcpData> {
    Some(TcpData { sent: from.time(), heard: from.time(), seq: from.u32(), window_reduced: from.flag()? })
}

fn tcp_ack(ack: &TcpAck, out: &mut Writer<'_>) {
    out.times(&[ack.sent, ack.left, ack.delay]);
    out.u64(ack.held.cast_unsigned());
    out.u32(ack.cumulative);
    out.u32(ack.block_from);
    out.u16(ack.block);
    out.u16(ack.window);
    out.u16(ack.buffered);
    out.u8(ack.samples);
    out.u8(ack.marked.into());
}

fn read_tcp_ack(from: &mut Reader<'_>) -> Option<TcpAck> {
    Some(TcpAck {
        sent: from.time(),
        left: from.time(),
        delay: from.time(),
        held: from.u64().cast_signed(),
        cumulative: from.u32(),
        block_from: from.u32(),
        block: from.u16(),
        window: from.u16(),
        buffered: from.u16(),
        samples: from.u8(),
        marked: from.flag()?,
    })
}

fn rate_query(query: &RateQuery, out: &mut Writer<'_>) {
    out.u64(query.rtt.0);
    out.u64(query.offered.0);
}

fn read_rate_query(from: &mut Reader<'_>) -> RateQuery {
    RateQuery { rtt: from.time(), offered: Rate(from.u64()) }
}

fn roce_answer(answer: &RoceAnswer, out: &mut Writer<'_>) {
    out.times(&[answer.sent, answer.delay]);
    out.u64(answer.held.cast_unsigned());
    out.u32(answer.cumulative);
    out.u8(answer.has_int.into());
}

fn read_roce_answer(from: &mut Reader<'_>) -> Option<RoceAnswer> {
    Some(RoceAnswer {
        sent: from.time(),
        delay: from.time(),
        held: from.u64().cast_signed(),
        cumulative: from.u32(),
        has_int: from.flag()?,
    })
}

fn pulled_answer(answer: &PulledAnswer, out: &mut Writer<'_>) {
    out.times(&[answer.sent, answer.delay]);
    out.u64(answer.pulled);
    out.u32(answer.seq);
    out.u8(u8::from(answer.is_pull) | u8::from(answer.marked) << 1);
}

fn read_pulled_answer(from: &mut Reader<'_>) -> Option<PulledAnswer> {
    let (sent, delay) = (from.time(), from.time());
    let (pulled, seq, bits) = (from.u64(), from.u32(), from.u8());
    let (is_pull, marked) = (bits & 1 > 0, bits & 2 > 0);
    (bits < 4).then_some(PulledAnswer { sent, delay, pulled, seq, is_pull, marked, ..PulledAnswer::default() })
}
