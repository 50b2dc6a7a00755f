//! RCCC: a receiver that grants credit in bytes, held against the results that the authors of Ultra Ethernet's simulator published
//! (`uet_htsim_rccc.txt`) and against what arithmetic says.

use crate::networks::{
    RATE, assert_ends_after_timeouts, assert_ends_within, assert_the_same_in_domains, control, fat_tree, flow, last,
    network, run, run_open, scheduled, star, trimming, until_done,
};
use shallows_cc::units::{Bytes, Rate, Time};
use shallows_sim::{Answer, Balancing, Change, Control, Fault, FlowSpec, Limit, Network};

const MSS: u64 = 1460;

/// A row of the file.
#[derive(Clone, Copy, Debug)]
struct Row {
    gbps: u64,
    spines: u32,
    senders: u32,
    mebibytes: u64,
    /// The starts of all senders in microseconds.
    starts: &'static str,
    /// Last completions in microseconds, of two versions.
    printed: [f64; 2],
}

fn rows() -> Vec<Row> {
    let lines = || include_str!("uet_htsim_rccc.txt").lines();
    let starts = |of: &str| lines().find_map(|line| line.strip_prefix("starts ")?.strip_prefix(of)).expect("starts");
    let results = lines().filter(|line| line.starts_with(|first: char| first.is_ascii_digit()));
    let row = |line: &str| {
        let words: Vec<_> = line.split(' ').collect();
        let number = |at: usize| words[at].parse::<u32>().expect("a number");
        let printed = [5, 6].map(|at| words[at].parse().expect("microseconds"));
        let starts = if number(4) == 0 { "" } else { starts(&format!("{} {} ", number(2), number(3))) };
        let (gbps, mebibytes) = (u64::from(number(0)), u64::from(number(3)));
        Row { gbps, spines: number(1), senders: number(2), mebibytes, starts, printed }
    };
    results.map(row).collect()
}

fn rccc(values: &[(&str, f64)]) -> Control {
    let mut control = control("rccc");
    for &(name, value) in values {
        control.values.set(name, value).expect("a parameter");
    }
    control
}

/// The incast of a row: every sender below a leaf of its own, as random ones of 8,192 hosts mostly are.
fn incast(row: Row) -> Network {
    let (hosts, leaf, spine) = (row.senders + 1, row.senders + 1, 2 * (row.senders + 1));
    let mut cables: Vec<_> = (0..hosts).map(|host| (host, leaf + host)).collect();
    cables.extend((0..hosts).flat_map(|host| (0..row.spines).map(move |up| (leaf + host, spine + up))));
    let mut network = network(hosts, spine + row.spines, &cables);
    (network.mtu, network.header) = (Bytes(4150), Bytes(64));
    network.ports.iter_mut().for_each(|port| port.rate = Rate::from_gbps(row.gbps));
    let mut queues = trimming();
    let queue = row.gbps / 4;
    (queues.classes[0].limit, queues.classes[0].turn) = (Limit::Bytes(network.mtu * (2 * queue)), Some(100_000));
    queues.classes[1].limit = Limit::Packets(queue as u32);
    let mut network = scheduled(network, queues, false);
    network.balancing = Balancing::Packet;
    network.controls = vec![rccc(&[("pull", 1.01), ("quantum", 512.0)])];
    let spread = row.starts.split_whitespace().map(|start| Time::from_micros(start.parse().expect("microseconds")));
    let starts = spread.chain(std::iter::repeat(Time::ZERO));
    let sender = |(src, start)| FlowSpec { start, ..flow(src, row.senders, Bytes(row.mebibytes << 20)) };
    network.flows = (0..row.senders).zip(starts).map(sender).collect();
    until_done(network)
}

/// When the last sender has heard that everything has arrived: 64 B over four links after the last byte.
fn last_heard(row: Row, answer: &Answer) -> f64 {
    let back = (Time::from_micros(1) + Rate::from_gbps(row.gbps).time_to_send(Bytes(64))) * 4;
    (last(answer) + back).as_micros()
}

/// In 6 of 720 results the message fits into the first window, and the second sender's last 60 packets, which the first answer finds unsent,
/// wait for slow pulls. uet-htsim's receiver enters a sender into its list of idle senders each time its demand is met, even if the list
/// has it already, and keeps it there after the last byte: the first sender has two entries and gets two of three pulls. An
/// event-by-event calculation with these rules gives 32.536 us, as printed. With one entry, for senders that have data left, it gives
/// 29.428 us.
fn is_known(row: &Row) -> bool {
    (row.gbps, row.senders, row.mebibytes, row.starts.is_empty()) == (800, 2, 1, false)
}

/// By how much last completions differ from the printed ones: the median, and the most. The shortest runs come first.
fn differences(wanted: impl Fn(&Row) -> bool) -> [f64; 2] {
    let mut differences = Vec::new();
    let mut compared: Vec<_> = rows().into_iter().filter(|row| !is_known(row) && wanted(row)).collect();
    compared.sort_by_key(|row| u64::from(row.senders) * row.mebibytes);
    for row in compared {
        let ours = last_heard(row, &run(incast(row)));
        println!(
            "{} {} {} {} {} {:?} {ours:.3}",
            row.gbps,
            row.spines,
            row.senders,
            row.mebibytes,
            row.starts.is_empty(),
            row.printed
        );
        differences.extend(row.printed.map(|printed| (ours / printed - 1.0).abs()));
    }
    differences.sort_by(f64::total_cmp);
    [differences[differences.len() / 2], *differences.last().expect("rows")]
}

/// The limits of 3 and 8 % were written down before the first run. A rate of 1 instead of 0.99 moves the median by 1 %. Pulls of seven quanta
/// instead of eight let 128 senders overdraw their credit by a frame in six turns and fill the queue of 50 packets at 200 Gbps: 6 %.
#[test]
fn incasts_end_when_those_of_uet_htsim_do() {
    let many = |row: &Row| (row.gbps, row.spines, row.senders, row.mebibytes) == (200, 64, 128, 1);
    let [median, most] = differences(|row| row.mebibytes <= 2 && row.senders <= 8 || many(row));
    println!("{median} {most}");
    assert!(median < 0.005 && most < 0.03, "{median} {most}");
}

#[test]
fn slow_pulls_go_to_senders_that_have_data_left() {
    for row in rows().into_iter().filter(is_known) {
        let ours = last_heard(row, &run(incast(row)));
        assert!((ours - 29.428).abs() < 0.05, "{row:?}: {ours}");
    }
}

#[test]
#[ignore = "takes minutes"]
fn larger_incasts_end_when_those_of_uet_htsim_do() {
    let [median, most] = differences(|_| true);
    println!("{median} {most}");
    assert!(median < 0.005 && most < 0.08, "{median} {most}");
}

/// `senders` flows of so many packets into one host of a star at 10 Gbps, all at once.
fn small(senders: u32, packets: u64) -> Network {
    let mut network = scheduled(star(senders + 1), trimming(), false);
    network.controls = vec![rccc(&[])];
    network.flows = (0..senders).map(|src| flow(src, senders, Bytes(packets * MSS))).collect();
    until_done(network)
}

#[test]
fn a_flow_alone_fills_its_path_but_for_the_pull_rate() {
    for (hosts, bytes) in [(fat_tree(4), 10_000_000), (star(2), 100 * MSS), (star(2), MSS + 1), (star(2), 1)] {
        let mut network = scheduled(hosts, trimming(), false);
        network.controls = vec![rccc(&[])];
        network.flows = vec![flow(0, network.hosts - 1, Bytes(bytes))];
        let answer = run(until_done(network));
        let ratio = (answer.flows[0].finish - answer.flows[0].start) / answer.flows[0].ideal;
        println!("{bytes}: {ratio}");
        assert!((1.0..1.0 / 0.99 + 0.005).contains(&ratio), "{bytes}: {ratio}");
    }
}

/// Flows that begin together and get credit in turn end within the last pulls.
#[test]
fn those_of_an_incast_share_the_link_evenly() {
    let answer = run(small(20, 500));
    let first = answer.flows.iter().map(|flow| flow.finish).min().expect("a flow");
    assert!((0.95..=1.0).contains(&(first / last(&answer))), "{first} {}", last(&answer));
}

/// Every host of a fat tree to the one half of it further on, over so many paths that hosts choose.
fn permutation(k: u32, balancing: Balancing, entropies: u32) -> f64 {
    let mut network = scheduled(fat_tree(k), trimming(), false);
    network.mtu = Bytes(4150);
    network.header = Bytes(64);
    network.disciplines[0].classes[0].limit = Limit::Bytes(network.mtu * 64);
    network.disciplines[0].classes[1].limit = Limit::Packets(32);
    network.controls = vec![rccc(&[])];
    let hosts = network.hosts;
    network.flows = (0..hosts).map(|src| flow(src, (src + hosts / 2) % hosts, Bytes::MAX)).collect();
    (network.balancing, network.entropies) = (balancing, entropies);
    (network.warmup, network.duration) = (Time::from_millis(1), Time::from_millis(4));
    let answer = run(network);
    let goodput: u64 = answer.flows.iter().map(|flow| flow.goodput).sum();
    let link = RATE.sent_in(Time::from_millis(3)).0 as f64 * f64::from(hosts) * 4086.0 / 4150.0;
    goodput as f64 / link
}

/// The pull rate is 0.99 of the link. Of 4150 B and 64 B for the answer the other way 98.5 % are data, and pulls need 0.4 %: at most 0.981,
/// where no packet waits behind another. At random two of four packets may choose one link.
#[test]
fn a_permutation_fills_a_fat_tree() {
    for (balancing, entropies, least) in [
        (Balancing::Queue, 0, 0.965),
        (Balancing::Packet, 0, 0.9),
        (Balancing::Reps, 64, 0.95),
        (Balancing::Bitmap, 64, 0.9),
    ] {
        let share = permutation(4, balancing, entropies);
        println!("{balancing:?} {entropies}: {share:.4}");
        assert!((least..0.99).contains(&share), "{balancing:?} {entropies}: {share}");
    }
}

/// One packet in ten thousand, and one in a hundred, of whatever kind, each way. The bytes take 2.4 ms, and a packet four timeouts of 10,
/// 20, 40 and 80 ms with a probability of 5e-3 at most.
#[test]
fn what_is_lost_is_sent_again() {
    for (share, most) in [(1e-4, 13.0), (0.01, 73.0)] {
        let mut network = small(20, 100);
        let loss = |link| Fault { at: Time::ZERO, link, change: Change::Loss(share) };
        network.faults = (0..network.ports.len() as u32).map(loss).collect();
        let answer = run_open(network);
        assert!(answer.problems.is_empty(), "{:?}", answer.problems);
        assert!(answer.flows.iter().all(|flow| flow.delivered == 100 * MSS));
        assert_ends_within(&answer, 2.4..most);
    }
}

/// Ports that do not cut drop instead, and only timeouts help, of 10 ms for the first windows at least. A flow does not wait longer for
/// its timeouts than it lasts, and otherwise for the bytes of all, which take 9.6 ms, and for copies of as many at most.
#[test]
fn without_trimming_flows_end_by_timeouts() {
    let mut network = Network { controls: vec![rccc(&[])], ..star(81) };
    network.flows = (0..80).map(|src| flow(src, 80, Bytes(100 * MSS))).collect();
    let answer = run(until_done(network));
    assert_ends_after_timeouts(&answer, |_| 2.0 * 9.6);
    assert!(last(&answer) > Time::from_millis(10));
}

/// Timeouts below the round trip in full queues: late answers hide losses of the copies that carried the newest target. Whoever waits for
/// credit without a packet in flight has to ask again. The bytes take 228 ms, and copies as long again at most.
#[test]
fn early_timeouts_and_losses_starve_no_flow() {
    let mut network = Network { controls: vec![rccc(&[])], ..star(20) };
    network.ports.iter_mut().for_each(|port| {
        port.rate = Rate(100_000_000);
        port.delay = Time::from_micros(250);
        port.buffer = Bytes(8 * 1500);
    });
    (network.host.rto_initial, network.host.rto_max) = (Time::from_millis(1), Time::from_millis(2));
    network.flows = (0..19).map(|src| flow(src, 19, Bytes(100 * MSS))).collect();
    let answer = run_open(until_done(network));
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    assert!(answer.flows.iter().all(|flow| flow.delivered == 100 * MSS));
    assert_ends_within(&answer, 228.0..456.0);
}

/// The link to the receiver goes down and comes back three times, for 0.3 ms in each 0.9 ms. The bytes take 9.6 ms, and timeouts 10, and 20
/// for packets that are lost again.
#[test]
fn a_link_that_flaps_ends_no_flow() {
    let mut network = small(4, 2000);
    let into = network.ports.iter().position(|port| port.to == 4).expect("a port") as u32;
    let change = |(at, change)| Fault { at: Time::from_micros(at), link: into, change };
    let down = (0..3).flat_map(|n| [(100 + 900 * n, Change::Down), (400 + 900 * n, Change::Up)]);
    network.faults = down.map(change).collect();
    let answer = run_open(network);
    assert!(answer.problems.is_empty(), "{:?}", answer.problems);
    assert!(answer.flows.iter().all(|flow| flow.delivered == 2000 * MSS));
    assert_ends_within(&answer, 10.0..40.0);
}

#[test]
fn it_is_the_same_on_any_number_of_threads() {
    let mut network = scheduled(fat_tree(4), trimming(), false);
    network.controls = vec![rccc(&[])];
    network.balancing = Balancing::Packet;
    network.flows = (0..16).flat_map(|src| [5, 7].map(|to| flow(src, (src + to) % 16, Bytes(200 * MSS)))).collect();
    assert_the_same_in_domains("rccc", &until_done(network), &[(4, 1), (4, 3)]);
}
