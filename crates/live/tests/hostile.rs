//! What a peer may put into TCP options: the programs that see packets run on crafted ones (`BPF_PROG_TEST_RUN`, as
//! root). Nothing is read or written out of bounds, packets without our option stay as they are, and checksums stay right.

#![cfg(feature = "bpf")]
#![allow(clippy::unwrap_used, reason = "a test")]

use libbpf_rs::{MapCore, MapFlags, Object, ObjectBuilder, ProgramInput};
use shallows_cc::rng::Rng;
use shallows_live::cores::InigoReceiverState;

const ETHERNET: usize = 14;
const IP: usize = 20;
const TCP: usize = ETHERNET + IP;
const OPTIONS: usize = TCP + 20;

struct Programs {
    object: Object,
}

impl Programs {
    /// DX's, which stamp.
    fn load() -> Self {
        let object = include_bytes!(concat!(env!("OUT_DIR"), "/dx.bpf.o"));
        Self { object: ObjectBuilder::default().open_memory(object).unwrap().load().unwrap() }
    }

    /// Those of Inigo's receiver, with the connection in their map that every packet here belongs to.
    fn load_receiver() -> Self {
        let object = include_bytes!(concat!(env!("OUT_DIR"), "/inigo_receiver.bpf.o"));
        let object = ObjectBuilder::default().open_memory(object).unwrap().load().unwrap();
        let flow = [0; 4].into_iter().chain([0; 4]).chain((10_u64 << 16).to_ne_bytes());
        let flow: Vec<u8> = flow.chain([0; size_of::<InigoReceiverState>() - 8]).collect();
        object.maps().find(|map| map.name() == "flows").unwrap().update(&connection(), &flow, MapFlags::ANY).unwrap();
        Self { object }
    }

    /// What the receiver has counted: bytes of the largest packet.
    fn segment(&self) -> u32 {
        let map = self.object.maps().find(|map| map.name() == "flows").unwrap();
        let flow = map.lookup(&connection(), MapFlags::ANY).unwrap().unwrap();
        let at = 8 + std::mem::offset_of!(InigoReceiverState, segment);
        u32::from_ne_bytes(flow[at..at + 4].try_into().unwrap())
    }

    /// What `leave` or `arrive` makes of a packet.
    fn run(&self, name: &str, packet: &[u8]) -> Vec<u8> {
        let program = self.object.progs_mut().find(|program| program.name() == name).unwrap();
        let mut out = vec![0; packet.len() + 256];
        let input = ProgramInput { data_in: Some(packet), data_out: Some(&mut out), ..ProgramInput::default() };
        let done = program.test_run(input).unwrap();
        assert_eq!(done.return_value.cast_signed(), -1, "{name} lets every packet go on");
        done.data.unwrap().to_vec()
    }
}

/// From 0.0.0.0, port 0, to the same, as `struct connection` of bpf/inigo_receiver.bpf.c has it.
fn connection() -> Vec<u8> {
    let address = [[0; 8].as_slice(), &[0, 0, 0xff, 0xff, 0, 0, 0, 0]].concat();
    [address.as_slice(), &address, &[0; 4]].concat()
}

/// An Ethernet, IPv4 and TCP packet with these options, whose header says it is `words` long, and 32 bytes behind.
fn packet(options: &[u8], words: u8) -> Vec<u8> {
    let mut packet = vec![0; OPTIONS];
    packet[12] = 8;
    packet[ETHERNET] = 0x45;
    packet[ETHERNET + 9] = 6;
    packet[TCP + 12] = words << 4;
    packet.extend_from_slice(options);
    packet.extend((0..32).map(|n| n * 7));
    let length = (packet.len() - ETHERNET) as u16;
    packet[ETHERNET + 2..ETHERNET + 4].copy_from_slice(&length.to_be_bytes());
    let sum = !sum(&packet[TCP..]);
    packet[TCP + 16..TCP + 18].copy_from_slice(&sum.to_be_bytes());
    packet
}

/// Ones' complement sum, without the addresses, which do not change.
fn sum(bytes: &[u8]) -> u16 {
    let pairs = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let mut sum: u32 = pairs.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

fn option(sent: u32, echo: u32, arrived: u32) -> Vec<u8> {
    let words = [sent, echo, arrived];
    [&[254, 16, 0x53, 0x48][..], &words.map(u32::to_be_bytes).concat()].concat()
}

fn word(packet: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(packet[at..at + 4].try_into().unwrap())
}

#[test]
#[ignore = "needs root"]
fn a_stamp_is_written_wherever_the_option_stands_and_the_checksum_stays_right() {
    let stamper = Programs::load();
    for before in 0..=24 {
        let options = [&vec![1; before][..], &option(0, 1000, 51_000)].concat();
        let padding = vec![0; options.len().next_multiple_of(4) - options.len()];
        let options = [options, padding].concat();
        let sent = packet(&options, 5 + (options.len() / 4) as u8);
        assert_eq!(sum(&sent[TCP..]), 0xffff);
        let at = OPTIONS + before + 4;

        let left = stamper.run("leave", &sent);
        assert_ne!(word(&left, at), 0, "stamped at {before}");
        assert_eq!((word(&left, at + 4), word(&left, at + 8)), (1000, 51_000));
        assert_eq!(sum(&left[TCP..]), 0xffff, "checksum with the option at {before}");

        let arrived = stamper.run("arrive", &left);
        assert_eq!(word(&arrived, at), word(&left, at));
        assert_eq!(word(&arrived, at + 4), 50_000, "one-way delay of what is echoed");
        assert!(word(&arrived, at + 8).wrapping_sub(word(&left, at)) < 1_000_000_000);
        assert_eq!(sum(&arrived[TCP..]), 0xffff, "checksum with the option at {before}");
    }
}

#[test]
#[ignore = "needs root"]
fn an_echo_of_nothing_is_no_delay() {
    let stamper = Programs::load();
    for (sent, echo, arrived) in [(7, 0, 0), (0, 1000, 51_000)] {
        let arrived = stamper.run("arrive", &packet(&option(sent, echo, arrived), 9));
        assert_eq!(word(&arrived, OPTIONS + 8), 0);
    }
}

#[test]
#[ignore = "needs root"]
fn malformed_options_are_left_alone() {
    let stamper = Programs::load();
    let ours = option(1, 2, 3);
    let mut wrong_magic = ours.clone();
    wrong_magic[2] = 0;
    let mut short = ours.clone();
    short[1] = 4;
    let cases: &[(&str, Vec<u8>, u8)] = &[
        ("no options", vec![], 5),
        ("header shorter than a header", ours.clone(), 1),
        ("truncated: the header ends inside the option", ours.clone(), 8),
        ("truncated: the option reaches out of the header", [&[1; 4][..], &ours].concat(), 9),
        ("length 0", [&[8, 0][..], &[1; 2], &ours].concat(), 10),
        ("length 1", [&[8, 1][..], &[1; 2], &ours].concat(), 10),
        ("a length that leads out of the header", [&[8, 255][..], &[1; 2], &ours].concat(), 10),
        ("a length that leads into the option", [&[8, 10][..], &[1; 2], &ours].concat(), 10),
        ("end of options before ours", [&[0; 4][..], &ours].concat(), 10),
        ("another experiment", wrong_magic, 9),
        ("ours, said to be shorter", short, 9),
    ];
    for (name, options, words) in cases {
        let sent = packet(options, *words);
        for program in ["leave", "arrive"] {
            assert_eq!(stamper.run(program, &sent), sent, "{program}: {name}");
        }
    }
    let mut sent = packet(&ours, 15);
    sent.truncate(OPTIONS + 16);
    for program in ["leave", "arrive"] {
        assert_eq!(stamper.run(program, &sent), sent, "{program}: header longer than the packet");
    }
}

#[test]
#[ignore = "needs root"]
fn random_packets_keep_their_length_and_all_but_twelve_bytes_and_a_checksum() {
    let stamper = Programs::load();
    let mut draws = Rng::new(1, 0);
    let mut changed = 0;
    for _ in 0..20_000 {
        let length = (draws.bits() % 41) as usize;
        let mut options: Vec<u8> = (0..length)
            .map(|_| [0, 1, 1, 254, 16, 0x53, 0x48, draws.bits() as u8][draws.bits() as usize % 8])
            .collect();
        if length >= 16 && draws.bits().is_multiple_of(2) {
            let at = draws.bits() as usize % (length - 15);
            options[at..at + 4].copy_from_slice(&[254, 16, 0x53, 0x48]);
        }
        let mut sent = packet(&options, draws.bits() as u8 % 16);
        if draws.bits().is_multiple_of(8) {
            let at = draws.bits() as usize % sent.len();
            sent[at] = draws.bits() as u8;
        }
        if draws.bits().is_multiple_of(8) {
            sent.truncate(TCP + draws.bits() as usize % (sent.len() - TCP + 1));
        }
        for program in ["leave", "arrive"] {
            let out = stamper.run(program, &sent);
            assert_eq!(out.len(), sent.len());
            let differing: Vec<_> = (0..sent.len()).filter(|&at| out[at] != sent[at]).collect();
            changed += usize::from(!differing.is_empty());
            assert!(differing.len() <= 14, "{program} changed {differing:?}");
            assert!(differing.iter().all(|&at| at >= ETHERNET + IP), "{program} changed {differing:?}");
        }
    }
    assert!(changed > 500, "only {changed} packets had a stamp to write");
}

#[test]
#[ignore = "needs root"]
fn a_receiver_believes_whole_timestamps_only_and_changes_no_packet() {
    let timestamps = |kind, size| [&[kind, size][..], &7_u32.to_be_bytes(), &9_u32.to_be_bytes(), &[1, 1]].concat();
    let cases: &[(&str, Vec<u8>, u8, bool)] = &[
        ("timestamps", timestamps(8, 10), 8, true),
        ("no options", vec![], 5, false),
        ("truncated: the header ends inside the option", timestamps(8, 10), 7, false),
        ("too short", timestamps(8, 4), 8, false),
        ("too long", timestamps(8, 12), 8, false),
        ("length 0", timestamps(8, 0), 8, false),
        ("another kind", timestamps(9, 10), 8, false),
    ];
    for (name, options, words, counts) in cases {
        let receiver = Programs::load_receiver();
        let sent = packet(options, *words);
        for program in ["leave", "arrive"] {
            assert_eq!(receiver.run(program, &sent), sent, "{program}: {name}");
        }
        // The 32 bytes behind the header; those that a shorter header leaves are payload too.
        let payload = 32 + options.len() - (usize::from(*words) * 4 - 20);
        assert_eq!(receiver.segment(), if *counts { payload as u32 } else { 0 }, "{name}");
    }
}

#[test]
#[ignore = "needs root"]
fn a_receiver_changes_no_random_packet() {
    let receiver = Programs::load_receiver();
    let mut draws = Rng::new(2, 0);
    for _ in 0..20_000 {
        let length = (draws.bits() % 41) as usize;
        let options: Vec<u8> =
            (0..length).map(|_| [0, 1, 1, 8, 10, 10, draws.bits() as u8][draws.bits() as usize % 7]).collect();
        let mut sent = packet(&options, draws.bits() as u8 % 16);
        if draws.bits().is_multiple_of(4) {
            let at = ETHERNET + draws.bits() as usize % 12;
            sent[at] = draws.bits() as u8;
        }
        if draws.bits().is_multiple_of(8) {
            sent.truncate(TCP + draws.bits() as usize % (sent.len() - TCP + 1));
        }
        for program in ["leave", "arrive"] {
            assert_eq!(receiver.run(program, &sent), sent, "{program}");
        }
    }
    assert!(receiver.segment() > 0, "no packet was believed");
}
