//! The packet simulator: a discrete-event simulation of every packet.
//!
//! [`Network`] describes what is simulated, [`Simulation`] runs it, and [`Answer`] holds the results. [`Simulation::open`] starts a run that
//! another program drives: it sends flows, advances to a time or to the next [`Completion`], observes links and flows, changes links and
//! algorithms, and copies the run with `clone`. The names below are all that other crates use. Dependencies point one way: `engine` and `parallel` use `fabric` and `host`, which use `port` and `packet`;
//! all use `spec`.

mod arch;
mod engine;
mod fabric;
mod host;
mod lists;
mod observe;
mod packet;
mod parallel;
mod port;
mod queue;
mod randomness;
mod spec;

pub use engine::answer::{Answer, ComputationReport, FlowReport, GoodputTable, ProbeTable, QueueTable, Randomness};
pub use engine::driven::Advance;
pub use engine::ideal::ideal_path;
pub use engine::observation::{FlowObservation, LinkObservation};
pub use engine::real_time::{RealTimeDomain, Transit};
pub use engine::simulation::{Progress, Simulation};
pub use engine::snapshot::Snapshot;
pub use engine::task_chain::{Need, longest_chain};
pub use fabric::route::{flows_over, paths};
pub use host::hosts::Completion;
pub use host::timestamps::TimestampModel;
pub use host::transport::exchanges;
pub use observe::causes::{Causes, Watched};
pub use observe::frames::{Frames, Tap};
pub use observe::links::{Frame, LinkRow};
pub use observe::packet_log::PacketLog;
pub use observe::record::Record;
pub use observe::{Hop, Observer, OfManyPlaces};
pub use packet::header::{
    Counters, Credit, CreditData, Header, PulledAnswer, PulledData, RateQuery, RoceAnswer, RoceData, TcpAck, TcpData,
};
pub use packet::{Flags, PACKET_KINDS, Packet, PacketKind, Slab};
pub use port::admission::{DropReason, Incoming, Outcome};
pub use port::clock::Clock;
pub use port::{ClassReport, Port, PortReport};
pub use spec::check::Mistake;
pub use spec::control::{ControlSpec, ReceiverSpec, values};
pub use spec::fault::{Change, Fault};
pub use spec::flow::GoodputSpec;
pub use spec::host::{LossDetection, Timestamps};
pub use spec::network::{
    Application, Balancing, ClassOf, ClassSpec, ComputationSpec, Control, Discipline, FlowSpec, HostSpec, Limit,
    Marking, Network, Nic, PauseSpec, PortSpec, RecordSpec, Retransmission, Shaper, SharedSpec, TrafficClass,
    UserAlgorithm, Wait,
};
pub use spec::setting::SenderSetting;
pub use spec::shape::{Field, Kind, Shape, Tables};
