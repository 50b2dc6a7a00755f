//! The state of a session.

use serde_json::{Map, Value, json};
use shallows_cc::units::{Bytes, Time};
use shallows_sim::{Advance, FlowSpec, Network, Simulation};

use crate::Open;
use crate::frame;
use crate::request::{AUTHORITY, Refusal, SCHEMA, Verb, digest, number, text};

/// A session and what it can open.
pub struct Session<'a, 'b> {
    open: &'a mut Open<'b>,
    state: State,
    /// Flows that were accepted.
    posts: u64,
    /// Whether a network was opened.
    constructed: bool,
    /// Whether the place of the next frame in the input is unknown.
    lost: bool,
}

enum State {
    /// Nothing is open.
    New,
    Live(Box<Live>),
    /// The client has closed it.
    Closed,
    /// An error has ended it.
    Failed,
}

impl<'a, 'b> Session<'a, 'b> {
    pub const fn new(open: &'a mut Open<'b>) -> Self {
        Self { open, state: State::New, posts: 0, constructed: false, lost: false }
    }

    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    pub const fn lost_its_place(&self) -> bool {
        self.lost
    }

    /// The answer to a body.
    pub fn answer(&mut self, body: &[u8]) -> Map<String, Value> {
        if matches!(self.state, State::Closed | State::Failed) {
            let problem = "the session has ended: expected no further frame".to_owned();
            return self.failed(&Refusal::new("post_terminal", problem));
        }
        match self.accepted(body) {
            Ok((verb, mut answer)) => {
                answer.extend(object(json!({"schema": SCHEMA, "status": "ok", "verb": verb.name()})));
                answer
            }
            Err(refusal) => {
                self.state = State::Failed;
                self.failed(&refusal)
            }
        }
    }

    /// The answer to what is no whole frame.
    pub fn refuse(&mut self, refusal: &Refusal) -> Map<String, Value> {
        (self.lost, self.state) = (true, State::Failed);
        self.failed(refusal)
    }

    fn counters(&self) -> Value {
        json!({
            "legacy_ledger_constructed": 0,
            "legacy_mutations": 0,
            "native_posts": self.posts,
            "native_session_constructed": u64::from(self.constructed),
        })
    }

    fn failed(&self, refusal: &Refusal) -> Map<String, Value> {
        object(json!({
            "authority_counters": self.counters(),
            "error_code": refusal.code,
            "message": refusal.message,
            "schema": SCHEMA,
            "status": "error",
            "terminal": true,
        }))
    }

    fn accepted(&mut self, body: &[u8]) -> Result<(Verb, Map<String, Value>), Refusal> {
        let request = frame::parse(body)?;
        let verb = Verb::of(&request)?;
        let answer = match (&mut self.state, verb) {
            (State::New, Verb::Open) => {
                let (live, answer) = Live::open(&request, self.open)?;
                self.state = State::Live(Box::new(live));
                self.constructed = true;
                answer
            }
            (State::Live(live), Verb::Inject) => {
                let answer = live.inject(&request)?;
                self.posts += 1;
                answer
            }
            (State::Live(live), Verb::Advance) => live.advance(&request)?,
            (State::Live(live), Verb::Drain) => {
                let mut answer = live.drain(&request)?;
                answer.insert("authority_counters".to_owned(), self.counters());
                answer
            }
            (State::Live(live), Verb::Close) => {
                let answer = live.close(&request)?;
                self.state = State::Closed;
                answer
            }
            (State::Live(_), Verb::Open) => {
                return Err(Refusal::new("already_open", "open: expected once in a session".to_owned()));
            }
            _ => {
                let problem = format!("{}: expected open as the first frame", verb.name());
                return Err(Refusal::new("not_open", problem));
            }
        };
        Ok((verb, answer))
    }
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        _ => unreachable!("it is written as an object"),
    }
}

/// An open network.
struct Live {
    run: Simulation,
    profile: String,
    hosts: u32,
    /// What all flows have in common: algorithm and class.
    flow: FlowSpec,
    /// The token of the first flow, which all must have.
    token: Option<u64>,
    /// By sequence, from 1.
    flows: Vec<Injected>,
    /// Places of flows that are not eligible yet.
    waiting: Vec<usize>,
    /// The time up to which everything has happened, and that time included.
    horizon: Option<u64>,
    /// By host: flows that have begun and have not arrived, and the most at one time.
    queued: Vec<(u64, u64)>,
    drained: bool,
}

/// A flow that was accepted.
struct Injected {
    /// The fields by which the client knows it.
    identity: Map<String, Value>,
    source: usize,
    eligible: u64,
    completed: Option<u64>,
    /// Whether its sender knows the end.
    ended: bool,
}

/// Phases of a flow in the order in which they are reported at one time.
const PHASES: [&str; 4] = ["accepted", "queued", "started", "completed"];
const COMPLETED: usize = 3;

impl Live {
    fn open(request: &Map<String, Value>, open: &mut Open<'_>) -> Result<(Self, Map<String, Value>), Refusal> {
        let (profile, nodes) = (text(request, "profile")?, number(request, "node_count", 1, u32::MAX.into())?);
        let (rate, seed) = (number(request, "link_rate_bps", 1, u64::MAX)?, number(request, "seed", 0, u64::MAX)?);
        text(request, "session_id")?;
        digest(request, "effective_hardware_sha256")?;
        let expected = format!("{profile}:nodes={nodes}");
        if text(request, "topology_identity")? != expected {
            return Err(Refusal::new("topology_mismatch", format!("topology_identity: expected {expected:?}")));
        }
        if text(request, "wqe_authority")? != AUTHORITY {
            return Err(Refusal::new("unsupported_authority", format!("wqe_authority: expected {AUTHORITY:?}")));
        }
        let refused = |problem| Refusal::new("refused_by_network", problem);
        let network = open(profile, seed, nodes).map_err(refused)?.ok_or_else(|| {
            let expected = "one of the profiles of this server, which --profile NAME=FILE gives it";
            Refusal::new("unsupported_profile", format!("profile: expected {expected}"))
        })?;
        check(&network, nodes, rate)?;
        let live = Self::of(network, profile.to_owned()).map_err(refused)?;
        let mut answer = request.clone();
        answer.insert("sequence".to_owned(), 0.into());
        Ok((live, answer))
    }

    /// The network of a scenario without its traffic, whose first flow says what the others are like.
    fn of(mut network: Network, profile: String) -> Result<Self, String> {
        let flow = network.flows.first().map_or((0, 0), |flow| (flow.control, flow.class));
        let flow = FlowSpec { control: flow.0, class: flow.1, ..FlowSpec::new(0, 0, Bytes::ZERO, Time::ZERO) };
        network.flows.clear();
        network.computations.clear();
        network.path_hashes.clear();
        network.routes.clear();
        network.record.flows.clear();
        (network.duration, network.until_done) = (Time::MAX, true);
        let hosts = network.hosts;
        let (token, horizon) = (None, None);
        let (flows, waiting, queued) = (Vec::new(), Vec::new(), vec![(0, 0); hosts as usize]);
        let run = Simulation::open(network, 1)?;
        Ok(Self { run, profile, hosts, flow, token, flows, waiting, horizon, queued, drained: false })
    }

    fn inject(&mut self, request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
        if self.drained {
            return Err(Refusal::new("post_drain_inject", "inject: expected none after drain".to_owned()));
        }
        let sequence = self.flows.len() as u64 + 1;
        if number(request, "sequence", 0, u64::MAX)? != sequence {
            return Err(Refusal::new("sequence_mismatch", format!("sequence: expected {sequence}")));
        }
        for key in ["execution_id", "operation_id", "flow_id"] {
            text(request, key)?;
        }
        let last = u64::from(self.hosts) - 1;
        let (source, to) = (number(request, "source", 0, last)?, number(request, "destination", 0, last)?);
        if source == to {
            return Err(Refusal::new("invalid_field", format!("destination: expected another host than {source}")));
        }
        number(request, "tag", 0, u32::MAX.into())?;
        let bytes = number(request, "payload_bytes", 1, u64::MAX - 1)?;
        let eligible = number(request, "eligible_at_ps", 0, u64::MAX)?;
        if let Some(horizon) = self.horizon
            && eligible <= horizon
        {
            return Err(Refusal::new("stale_eligibility", format!("eligible_at_ps: expected more than {horizon}")));
        }
        let token = number(request, "policy_context_token", 0, u64::MAX)?;
        if *self.token.get_or_insert(token) != token {
            let problem = "policy_context_token: expected that of the first flow".to_owned();
            return Err(Refusal::new("policy_context_mismatch", problem));
        }
        let start = Time(eligible);
        let flow = FlowSpec { src: source as u32, dst: to as u32, bytes: Bytes(bytes), start, ..self.flow.clone() };
        self.run.send(flow).map_err(|problem| Refusal::new("refused_by_network", problem))?;
        let known =
            ["sequence", "execution_id", "operation_id", "flow_id", "source", "destination", "tag", "payload_bytes"];
        let identity: Map<_, _> = known.iter().map(|key| ((*key).to_owned(), request[*key].clone())).collect();
        self.waiting.push(self.flows.len());
        let source = source as usize;
        self.flows.push(Injected { identity: identity.clone(), source, eligible, completed: None, ended: false });
        Ok(identity)
    }

    fn check_cursor(&self, request: &Map<String, Value>) -> Result<(), Refusal> {
        let last = self.flows.len() as u64;
        if number(request, "through_sequence", 0, u64::MAX)? == last {
            return Ok(());
        }
        Err(Refusal::new("cursor_mismatch", format!("through_sequence: expected {last}, the last one accepted")))
    }

    fn advance(&mut self, request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
        if self.drained {
            return Err(Refusal::new("post_drain_advance", "advance: expected none after drain".to_owned()));
        }
        self.check_cursor(request)?;
        let through = number(request, "through_ps", 0, u64::MAX - 1)?;
        if let Some(horizon) = self.horizon
            && through < horizon
        {
            return Err(Refusal::new("stale_horizon", format!("through_ps: expected {horizon} or more")));
        }
        let outcome = self.run.advance_to(Time(through + 1));
        match outcome.map_err(|problem| Refusal::new("refused_by_network", problem))? {
            Advance::Ended => {
                let problem = format!("the network has ended at {}: packets fill the memory", self.run.now());
                return Err(Refusal::new("refused_by_network", problem));
            }
            Advance::Reached | Advance::Completion | Advance::Paused => self.horizon = Some(through),
        }
        let projections: Vec<_> = self.events(through).into_iter().map(|event| self.projection(event)).collect();
        self.run.retire();
        let mut answer = request.clone();
        answer.insert("projections".to_owned(), projections.into());
        Ok(answer)
    }

    /// What became visible: (time, place of the flow, phase).
    fn events(&mut self, through: u64) -> Vec<(u64, usize, usize)> {
        let mut events = Vec::new();
        let (begun, waiting) = self.waiting.iter().partition(|&&place| self.flows[place].eligible <= through);
        self.waiting = waiting;
        let begun: Vec<usize> = begun;
        for place in begun {
            events.extend((0..COMPLETED).map(|phase| (self.flows[place].eligible, place, phase)));
        }
        for one in self.run.completions() {
            let flow = &mut self.flows[one.flow as usize];
            if one.at_sender {
                flow.ended = true;
            } else {
                flow.completed = Some(one.at.0);
                events.push((one.at.0, one.flow as usize, COMPLETED));
            }
        }
        // A flow that begins when another one completes waits behind it.
        events.sort_unstable_by_key(|&(at, place, phase)| (at, phase, place));
        for &(_, place, phase) in &events {
            let (now, most) = &mut self.queued[self.flows[place].source];
            match phase {
                1 => (*now, *most) = (*now + 1, (*most).max(*now + 1)),
                COMPLETED => *now -= 1,
                _ => {}
            }
        }
        events.sort_unstable();
        events
    }

    fn projection(&self, (at, place, phase): (u64, usize, usize)) -> Value {
        let mut row = self.flows[place].identity.clone();
        row.insert("phase".to_owned(), PHASES[phase].into());
        row.insert("timestamp_ps".to_owned(), at.into());
        row.into()
    }

    fn drain(&mut self, request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
        if self.drained {
            return Err(Refusal::new("already_drained", "drain: expected once".to_owned()));
        }
        self.check_cursor(request)?;
        let under_way = self.flows.iter().filter(|flow| flow.completed.is_none() || !flow.ended).count();
        if under_way > 0 {
            let problem = format!("{under_way} flows are under way: expected an advance to their ends before drain");
            return Err(Refusal::new("not_quiescent", problem));
        }
        self.drained = true;
        let rows: Vec<_> = self.flows.iter().filter_map(|flow| self.completion_row(flow)).collect();
        let most: Vec<_> = self.queued.iter().map(|(_, most)| *most).collect();
        Ok(object(json!({
            "completion_rows": rows,
            "quiescent": true,
            "sq_high_watermarks": most,
            "through_sequence": self.flows.len(),
        })))
    }

    fn completion_row(&self, flow: &Injected) -> Option<Value> {
        let completed = flow.completed?;
        let mut row = flow.identity.clone();
        row.extend(object(json!({
            "completion_time_ps": completed,
            "fct_ps": completed - flow.eligible,
            "profile": self.profile,
            "start_time_ps": flow.eligible,
        })));
        Some(row.into())
    }

    fn close(&self, request: &Map<String, Value>) -> Result<Map<String, Value>, Refusal> {
        self.check_cursor(request)?;
        if self.drained {
            return Ok(request.clone());
        }
        Err(Refusal::new("not_drained", "close: expected drain before".to_owned()))
    }
}

/// Checks that the network is that of which the client knows the size and the rate.
fn check(network: &Network, nodes: u64, rate: u64) -> Result<(), Refusal> {
    let hosts = network.hosts;
    if u64::from(hosts) != nodes {
        return Err(Refusal::new(
            "node_count_mismatch",
            format!("node_count: expected {hosts}, the hosts of the profile"),
        ));
    }
    let mut links = network.ports.iter().filter(|port| port.from < hosts);
    match links.find(|port| port.rate.0 != rate) {
        Some(other) => {
            let expected = format!("link_rate_bps: expected {}, the rate of the hosts of the profile", other.rate.0);
            Err(Refusal::new("link_rate_mismatch", expected))
        }
        None => Ok(()),
    }
}
