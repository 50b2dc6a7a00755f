//! Ports with two queues follow the scripts of packets in `crates/cc/tests/vectors/dualpi2`, with the generator of their heads in place of
//! the port's own.

use shallows_cc::parameter::Values;
use shallows_cc::port::{self, Ecn, MarkAt};
use shallows_cc::rng::Rng;
use shallows_cc::units::{Bytes, Rate, Time};

use super::Port;
use super::admission::{Incoming, Outcome, Removed};
use super::class::Waiting;
use super::dual::{Draws, Dual};
use crate::packet::header::Header;
use crate::packet::{PACKET_KINDS, Packet, Slab};
use crate::spec::ports::{ClassOf, ClassSpec, Discipline, Marking, PortSpec};

#[path = "../../../cc/tests/vector/mod.rs"]
mod vector;

use vector::{Row, Script};

const CODE_POINTS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];
/// State after an event.
const STATE: [&str; 6] = ["l_packets", "c_packets", "backlog_B", "credit", "p", "draws"];

struct Run {
    port: Port,
    packets: Slab,
}

impl Run {
    /// An idle port with the parameters of a script.
    fn new(script: &Script) -> Self {
        let mechanism = port::find("dualpi2").expect("a row");
        let mut values = Values::defaults(mechanism.parameters);
        let number = |key| script.parameter(key) as f64;
        let by_time = script.head().contains(" ns k=");
        let step = if by_time { ("step", number("step") / 1e9) } else { ("step_packets", number("step")) };
        let given = [
            step,
            ("limit", number("limit")),
            ("coupling", number("k")),
            ("c_share", number("wc")),
            ("target", number("target_ns") / 1e9),
            ("drop_overload", number("drop_overload")),
            ("drop_early", number("drop_early")),
        ];
        given.into_iter().for_each(|(name, value)| values.set(name, value).expect("a parameter"));
        if script.head().contains(", fixed;") {
            values.set("update", 10.0).expect("no update within the script");
        }
        let rate = Rate(after(script.head(), "# link "));
        let spec = PortSpec {
            from: 0,
            to: 1,
            rate,
            delay: Time::ZERO,
            buffer: Bytes::MAX,
            marking: None,
            discipline: Some(0),
        };
        let discipline = Discipline::new(vec![ClassSpec::OPEN; 2], vec![ClassOf([1; PACKET_KINDS.len()])]);
        let marking = Marking { mechanism, values, at: MarkAt::Dequeue };
        let port = Port::new(&spec, Bytes(script.parameter("mtu") as u64)).scheduled(&discipline, Rng::new(1, 0));
        let mut run = Self { port: port.marking(rate, &marking, Rng::new(1, 1)), packets: Slab::default() };
        run.dual().draws = Draws::Given(1, 0);
        run.dual().law.p = after(script.head(), "p at first ") as u32;
        run
    }

    fn dual(&mut self) -> &mut Dual {
        self.port.scheduler_mut().dual_mut().expect("two queues").0
    }

    /// A packet arrives; returns whether it is accepted.
    fn arrive(&mut self, now: Time, row: &Row<'_>) -> bool {
        let (number, size) = (row.number("packet") as u32, Bytes(row.number("size_B") as u64));
        let ecn = CODE_POINTS[row.number("ecn_in") as usize];
        let at = self.packets.insert(Packet::new(number, size, ecn, &Header::Bare), Header::Bare);
        !matches!(self.port.enqueue(now, Incoming::local(at), &mut self.packets).outcome, Outcome::Dropped(_))
    }

    /// The link asks for a packet: what happens to the next one, its number, code point and time in the queue in ns.
    fn serve(&mut self, now: Time) -> (&'static str, [i64; 3]) {
        assert!(self.port.busy_until() <= now, "the link is busy at {now:?}");
        let fronts = |port: &mut Port| {
            let (_, classes) = port.scheduler_mut().dual_mut().expect("two queues");
            [0, 1].map(|class: usize| classes[class].queue.front().copied())
        };
        let before = fronts(&mut self.port);
        let lengths =
            |port: &mut Port| port.scheduler_mut().classes.iter().map(|class| class.queue.len()).collect::<Vec<_>>();
        let waited = lengths(&mut self.port);
        let event = match self.port.remove_head(now, &mut self.packets) {
            Some((_, Removed::Dropped(_))) => "drop",
            Some((_, Removed::Trimmed)) => "trimmed",
            None => {
                self.port.dispatch(now, &mut self.packets).expect("a packet is due");
                // Times of the scripts are whole nanoseconds, rounded down.
                self.port.busy_until = Time(self.port.busy_until.0 / 1000 * 1000);
                self.port.scheduler_mut().invalidate_next();
                "out"
            }
        };
        let class = usize::from(waited[0] == lengths(&mut self.port)[0]);
        let Waiting { packet, since, .. } = before[class].expect("a packet left this queue");
        let Packet { flow, flags, .. } = self.packets[packet];
        (event, [i64::from(flow), flags.ecn() as i64, ((now - since).0 / 1000) as i64])
    }

    fn state(&mut self) -> [i64; 6] {
        let (bytes, dual) = (self.port.scheduler_mut().bytes, self.dual().clone());
        let Draws::Given(_, draws) = dual.draws else { panic!("the draws are those of the script") };
        let waiting = [0, 1].map(|class: usize| self.port.scheduler_mut().classes[class].queue.len() as i64);
        [waiting[0], waiting[1], bytes.0 as i64, dual.law.credit, dual.law.p.into(), draws as i64]
    }

    /// Follows the rows. Those of packets that are dropped as the link asks for one have the state after the packet that it then gets.
    fn follow(&mut self, script: &Script) {
        let mut owed: Vec<Row<'_>> = Vec::new();
        for row in script.rows() {
            let now = Time::from_nanos(row.number("time_ns") as u64);
            let event = row.text("event").to_owned();
            if !matches!(event.as_str(), "out" | "drop") {
                self.check(owed.drain(..));
            }
            match event.as_str() {
                "update" => {
                    let (dual, classes) = self.port.scheduler_mut().dual_mut().expect("two queues");
                    dual.catch_up(now, classes);
                }
                "in" => assert!(self.arrive(now, &row), "{row}"),
                "full" => assert!(!self.arrive(now, &row), "{row}"),
                event => {
                    let (what, seen) = self.serve(now);
                    let expected = ["packet", "ecn_out", "sojourn_ns"].map(|column| row.number(column));
                    assert_eq!((what, seen), (event, expected), "{row}");
                }
            }
            owed.push(row);
            if event != "drop" {
                self.check(owed.drain(..));
            }
        }
        self.check(owed.into_iter());
    }

    fn check<'a>(&mut self, rows: impl Iterator<Item = Row<'a>>) {
        let state = self.state();
        rows.for_each(|row| assert_eq!(Some(state), row.expected(&STATE), "{row}"));
    }
}

/// The whole number after these words.
fn after(head: &str, words: &str) -> u64 {
    let rest = head.split(words).nth(1).expect("the words are in the head");
    let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().expect("a whole number")
}

/// In every row the order, the marks and drops, the waits, the queues, the credit, the probability and the number of draws.
#[test]
fn two_queues_follow_the_scripts_of_packets() {
    let scripts = Script::all("dualpi2", |name| name.starts_with('d'));
    assert_eq!(scripts.len(), 13);
    for script in scripts {
        Run::new(&script).follow(&script);
    }
}
